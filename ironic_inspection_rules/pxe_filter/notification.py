# SPDX-License-Identifier: Apache-2.0

"""Messages from Ironic's services to the PXE filters: what has changed.

A notification driver of oslo.messaging sends them, so it needs no change of
Ironic: the operator names it in ``[oslo_messaging_notifications]driver`` of
the API and the conductors, beside any others.

They spare a filter the wait for its next look into the database, no more:
only that is authoritative, and a message may get lost.

Source: spec 001 "Pub-sub Channels": whitelist and blacklist, add and remove,
port ID and MAC address. The channels keep those names.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ironic.common import states
from oslo_config import cfg
import oslo_messaging
from oslo_messaging.notify import notifier

from ironic_inspection_rules.coordination import watchdog

TOPIC = 'ironic_inspection_pxe_filter'
VERSION = '1.0'

ALLOWLIST = 'whitelist'
DENYLIST = 'blacklist'

ADD = 'add'
REMOVE = 'remove'


class Change(NamedTuple):
    """One port, or the ports of one node, join or leave one of the lists.

    :param channel: ``ALLOWLIST`` (the node is in inspection) or
        ``DENYLIST`` (Ironic knows the port).
    :param action: ``ADD`` or ``REMOVE``.
    """

    channel: str
    action: str
    port: str | None
    mac: str | None


class Sender:
    """Sends changes to all filters, once or not at all."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._client = oslo_messaging.get_rpc_client(
            oslo_messaging.get_rpc_transport(conf),
            oslo_messaging.Target(topic=TOPIC, fanout=True, version=VERSION),
            retry=1)

    def send(self, change: Change) -> None:
        """Send one change.

        :raises: oslo_messaging.MessagingException when it cannot be sent.
        """
        self._client.cast({}, 'announce', **change._asdict())


class Endpoint:
    """Receiver of the messages of a :class:`Sender`.

    :param handle: called with each change, from any thread.
    """

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, handle: Callable[[Change], None]) -> None:
        self._handle = handle

    def announce(self, context: dict[str, Any], channel: str, action: str,
                 port: str | None, mac: str | None) -> None:
        """Take one message in."""
        self._handle(Change(channel, action, port, mac))


def listen(conf: cfg.ConfigOpts, host: str, handle: Callable[[Change], None]
           ) -> oslo_messaging.MessageHandlingServer:
    """Receive messages from now on, in threads of oslo.messaging.

    Returns when the message broker is reached, however long that takes.
    """
    server = oslo_messaging.get_rpc_server(
        oslo_messaging.get_rpc_transport(conf),
        oslo_messaging.Target(topic=TOPIC, server=host), [Endpoint(handle)],
        executor='threading')
    server.start()
    return server


_INSPECTION = (states.INSPECTING, states.INSPECTWAIT)

_PORT_EVENTS = {
    f'baremetal.{kind}.{event}.end': action
    for kind in ('port', 'portgroup')
    for event, action in (('create', ADD), ('update', ADD),
                          ('delete', REMOVE))}


class PxeFilterDriver(notifier.Driver):
    """Sends ports that come and go, inspections that begin and end.

    :param sender: how; made when it is needed first, for drivers are loaded
        while the configuration is still being read.
    """

    def __init__(self, conf: cfg.ConfigOpts, topics: list[str],
                 transport: Any, sender: Sender | None = None) -> None:
        super().__init__(conf, topics, transport)
        self._sender = sender
        self._outage = watchdog.Outage(
            'The message broker by which PXE filters learn of changes', 10)

    def notify(self, ctxt: dict[str, Any], msg: dict[str, Any],
               priority: str, retry: int) -> None:
        """Take one notification of Ironic."""
        for change in _changes(msg['event_type'], msg['payload']):
            try:
                if self._sender is None:
                    self._sender = Sender(self.conf)
                self._sender.send(change)
            except oslo_messaging.MessagingException as exc:
                self._outage.failed(exc)
            else:
                self._outage.over()


def _changes(event: str, payload: dict[str, Any]) -> Iterator[Change]:
    """Convert a notification to changes for a filter."""
    if event in _PORT_EVENTS:
        port = payload['ironic_object.data']
        if port['address'] is not None:
            yield Change(DENYLIST, _PORT_EVENTS[event], port['uuid'],
                         port['address'])
    elif event.startswith('baremetal.node.provision_set.'):
        node = payload['ironic_object.data']
        if node['provision_state'] in _INSPECTION:
            yield Change(ALLOWLIST, ADD, None, None)
        elif node['previous_provision_state'] in _INSPECTION:
            yield Change(ALLOWLIST, REMOVE, None, None)
