# SPDX-License-Identifier: Apache-2.0

"""Messages from Ironic's services to the PXE filters: what has changed.

They spare a filter the wait for its next look into the database, no more:
only that is authoritative, and a message may get lost.

Source: spec 001 "Pub-sub Channels": whitelist and blacklist, add and remove,
port ID and MAC address. The channels keep those names.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from oslo_config import cfg
import oslo_messaging

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
    :param port: UUID of the port, None for those of a node.
    :param mac: address of the port, None as above.
    """

    channel: str
    action: str
    port: str | None
    mac: str | None


class Sender:
    """Sends changes to all filters, once or not at all.

    :param conf: configuration of oslo.messaging.
    """

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


def listen(conf: cfg.ConfigOpts, host: str,
           handle: Callable[[Change], None]
           ) -> oslo_messaging.MessageHandlingServer:
    """Receive messages from now on, in threads of oslo.messaging.

    Returns when the message broker is reached, however long that takes.

    :param conf: configuration of oslo.messaging.
    :param host: name of this listener.
    :param handle: called with each change.
    :returns: the listener, which may be stopped.
    """
    server = oslo_messaging.get_rpc_server(
        oslo_messaging.get_rpc_transport(conf),
        oslo_messaging.Target(topic=TOPIC, server=host), [Endpoint(handle)],
        executor='threading')
    server.start()
    return server
