# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Words between Ironic's services and the PXE filters: what has changed.

They spare a filter the wait for its next look into the database, no more:
that alone is the truth, and a message may get lost.

Source: spec 001 "Pub-sub Channels": whitelist and blacklist, add and remove,
port ID and MAC address.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from oslo_config import cfg
import oslo_messaging

TOPIC = 'ironic_inspection_pxe_filter'
VERSION = '1.0'

WHITELIST = 'whitelist'
BLACKLIST = 'blacklist'

ADD = 'add'
REMOVE = 'remove'


class Announcement(NamedTuple):
    """One port joins or leaves one of the lists.

    :param channel: ``WHITELIST`` (its node is in inspection) or
        ``BLACKLIST`` (Ironic knows it).
    :param action: ``ADD`` or ``REMOVE``.
    :param port: UUID of the port, None for a node without ports.
    :param mac: address of the port, None as above.
    """

    channel: str
    action: str
    port: str | None
    mac: str | None


class Announcer:
    """Tells all filters; messages are sent once or not at all.

    :param conf: configuration of oslo.messaging.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._client = oslo_messaging.get_rpc_client(
            oslo_messaging.get_rpc_transport(conf),
            oslo_messaging.Target(topic=TOPIC, fanout=True, version=VERSION),
            retry=1)

    def announce(self, announcement: Announcement) -> None:
        """Tell one change.

        :raises: oslo_messaging.MessagingException when it cannot be sent.
        """
        self._client.cast({}, 'announce', **announcement._asdict())


class Endpoint:
    """What the messages of an :class:`Announcer` arrive at.

    :param heard: called with each announcement, from any thread.
    """

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, heard: Callable[[Announcement], None]) -> None:
        self._heard = heard

    def announce(self, context: dict[str, Any], channel: str, action: str,
                 port: str | None, mac: str | None) -> None:
        """Take one message in."""
        self._heard(Announcement(channel, action, port, mac))


def listen(conf: cfg.ConfigOpts, host: str,
           heard: Callable[[Announcement], None]
           ) -> oslo_messaging.MessageHandlingServer:
    """Hear the announcements from now on, in threads of oslo.messaging.

    Returns when the message bus is reached, which may take for ever.

    :param conf: configuration of oslo.messaging.
    :param host: name of this listener.
    :param heard: called with each announcement.
    :returns: the listener, which may be stopped.
    """
    server = oslo_messaging.get_rpc_server(
        oslo_messaging.get_rpc_transport(conf),
        oslo_messaging.Target(topic=TOPIC, server=host), [Endpoint(heard)],
        executor='threading')
    server.start()
    return server
