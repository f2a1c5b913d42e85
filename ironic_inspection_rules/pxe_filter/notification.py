# SPDX-License-Identifier: Apache-2.0

"""Messages that inform PXE filters about changes in Ironic.

A filter lets machines in inspection pass and blocks the other known machines.
It reads both lists from the database from time to time. A message makes it see
a change earlier: it says that the list of known machines has changed (channel
``blacklist``), or the list of machines in inspection (channel ``whitelist``).
Messages may get lost.

Ironic sends *notifications* through drivers of oslo.messaging.
:class:`PxeFilterDriver` is a driver that sends our messages instead. The
operator adds it to ``[oslo_messaging_notifications]driver`` of Ironic's API
and conductors.

Source: spec 001 "Pub-sub Channels": whitelist and blacklist, add and remove,
port ID and MAC address.
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

DRIVER = 'inspection-pxe-filter'
"""Name of the notification driver."""

SHORT_PERIOD = 5.0
"""Longest whitelist_period that needs no messages, in seconds.

A fast machine asks for an address eight seconds after its inspection begins,
and iPXE gives up seven seconds later.
"""

_DEFAULT_BUS = 'rabbit://'
"""Default of [DEFAULT]transport_url."""

ALLOWLIST = 'whitelist'
DENYLIST = 'blacklist'

ADD = 'add'
REMOVE = 'remove'


class ListChange(NamedTuple):
    """A change of one of the lists.

    :param channel: ``ALLOWLIST`` for the ports of a node whose inspection
        begins or ends. ``DENYLIST`` for a port that is created, changed or
        deleted.
    :param action: ``ADD`` or ``REMOVE``.
    :param port: UUID of the port or port group, None for ``ALLOWLIST``.
    :param mac: its MAC address, None for ``ALLOWLIST``.
    """

    channel: str
    action: str
    port: str | None
    mac: str | None


class Sender:
    """Sends changes to all filters, at most once."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._client = oslo_messaging.get_rpc_client(
            oslo_messaging.get_rpc_transport(conf),
            oslo_messaging.Target(topic=TOPIC, fanout=True, version=VERSION),
            retry=1,
        )

    def send(self, change: ListChange) -> None:
        """Send one change.

        :raises: oslo_messaging.MessagingException if it cannot be sent.
        """
        self._client.cast({}, 'announce', **change._asdict())


class Endpoint:
    """Receives the messages of a :class:`Sender`.

    :param handle: called with every change, from any thread.
    """

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, handle: Callable[[ListChange], None]) -> None:
        self._handle = handle

    def announce(
        self,
        context: dict[str, Any],
        channel: str,
        action: str,
        port: str | None,
        mac: str | None,
    ) -> None:
        """Receive one message."""
        self._handle(ListChange(channel, action, port, mac))


def receives_messages(conf: cfg.ConfigOpts) -> bool:
    """Return whether a filter with this configuration receives messages."""
    return conf.rpc_transport == 'oslo' or conf.transport_url != _DEFAULT_BUS


def may_let_pass_too_late(conf: cfg.ConfigOpts) -> bool:
    """Return whether a machine may boot before the filter lets it pass.

    The command of the filter then logs a warning. The filter learns of an
    inspection in time if it reads the database often, or if it gets messages:

    - If it reads the database often, there is no problem.
    - If it reads the database only after messages, it must be able to receive
      messages.
    - If it seldom reads the database, it must be able to receive messages, and
      the driver that sends them must be configured.
    """
    period = conf.inspection_pxe_filter.whitelist_period
    if period == 0:
        # The filter reads the database only after messages, so the operator
        # relies on them. The driver that sends them may be named only in the
        # configuration of the other services.
        return not receives_messages(conf)
    if period <= SHORT_PERIOD:
        return False
    is_driver_configured = DRIVER in conf.oslo_messaging_notifications.driver
    gets_messages = is_driver_configured and receives_messages(conf)
    return not gets_messages


def listen(
    conf: cfg.ConfigOpts, host: str, handle: Callable[[ListChange], None]
) -> oslo_messaging.MessageHandlingServer:
    """Start receiving messages, in threads of oslo.messaging.

    It returns as soon as the message broker can be reached.

    :param host: name of this host.
    :param handle: called with every change, from any thread.
    :returns: the server, which runs until it is stopped.
    """
    server = oslo_messaging.get_rpc_server(
        oslo_messaging.get_rpc_transport(conf),
        oslo_messaging.Target(topic=TOPIC, server=host),
        [Endpoint(handle)],
        executor='threading',
    )
    server.start()
    return server


_INSPECTION = (states.INSPECTING, states.INSPECTWAIT)

# The old address of an updated port stays known until the next read of all
# ports, because its notification has only the new address.
_PORT_EVENTS = {
    'baremetal.port.create.end': ADD,
    'baremetal.port.update.end': ADD,
    'baremetal.port.delete.end': REMOVE,
    'baremetal.portgroup.create.end': ADD,
    'baremetal.portgroup.update.end': ADD,
    'baremetal.portgroup.delete.end': REMOVE,
}


class PxeFilterDriver(notifier.Driver):
    """Notifies filters of changed ports and of inspections.

    :param sender: sends the changes. None builds it on first use, because
        drivers are loaded before the configuration is complete.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        topics: list[str],
        transport: Any,
        sender: Sender | None = None,
    ) -> None:
        super().__init__(conf, topics, transport)
        self._sender = sender
        self._outage = watchdog.Outage(
            'The message broker by which PXE filters learn of changes', 10
        )

    def notify(
        self,
        ctxt: dict[str, Any],
        msg: dict[str, Any],
        priority: str,
        retry: int,
    ) -> None:
        """Send messages to the PXE filters about a notification of Ironic.

        oslo.messaging calls this in Ironic's API and conductors, for every
        notification. An error of the message broker is only logged, so that
        Ironic's request or inspection continues.

        :param msg: the notification, with ``event_type`` and ``payload``.
        """
        for change in _find_list_changes(msg['event_type'], msg['payload']):
            try:
                if self._sender is None:
                    self._sender = Sender(self.conf)
                self._sender.send(change)
            except oslo_messaging.MessagingException as exc:
                # This logs the failure, but not every time during an outage.
                self._outage.failed(exc)
            else:
                self._outage.over()


def _find_list_changes(
    event: str, payload: dict[str, Any]
) -> Iterator[ListChange]:
    """Yield the changes of the filter's lists that a notification reports.

    - A port or port group with an address was created, updated or deleted: the
      list of known machines changes.
    - An inspection begins or ends: the list of machines in inspection changes.
    - Any other notification: there is no change.

    :param event: ``event_type`` of the notification, e.g.
        ``baremetal.port.create.end``.
    :param payload: ``payload`` of the notification.
    """
    if event in _PORT_EVENTS:
        port = payload['ironic_object.data']
        # The address of a port group is optional.
        if port['address'] is not None:
            yield ListChange(
                DENYLIST, _PORT_EVENTS[event], port['uuid'], port['address']
            )
    elif event.startswith('baremetal.node.provision_set.'):
        # The last part of the event, "start" or "end", does not matter,
        # because Ironic sends both when the node has the new state.
        node = payload['ironic_object.data']
        # A notification about a node does not contain its ports, so the
        # message has none. A filter that gets it reads the ports of all nodes
        # in inspection from the database.
        if node['provision_state'] in _INSPECTION:
            yield ListChange(ALLOWLIST, ADD, port=None, mac=None)
        elif node['previous_provision_state'] in _INSPECTION:
            yield ListChange(ALLOWLIST, REMOVE, port=None, mac=None)
