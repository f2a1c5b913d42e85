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

"""Turns what Ironic notifies about into words to the PXE filters.

A notification driver of oslo.messaging, so it needs no change of Ironic: the
operator names it in ``[oslo_messaging_notifications]driver`` of the API and
the conductors, beside any others.
"""

from collections.abc import Iterator
from typing import Any

from ironic.common import states
from oslo_config import cfg
from oslo_log import log
import oslo_messaging
from oslo_messaging.notify import notifier

from ironic_inspection_rules.adapters import port as ports
from ironic_inspection_rules.ha import announcement

LOG = log.getLogger(__name__)

_INSPECTION = (states.INSPECTING, states.INSPECTWAIT)

_PORT_EVENTS = {
    f'baremetal.{kind}.{event}.end': action
    for kind in ('port', 'portgroup')
    for event, action in (('create', announcement.ADD),
                          ('update', announcement.ADD),
                          ('delete', announcement.REMOVE))}


class AnnouncingDriver(notifier.Driver):
    """Announces ports that come and go, inspections that begin and end.

    :param announcer: how; made when it is needed first, for drivers are
        loaded while the configuration is still being read.
    """

    def __init__(self, conf: cfg.ConfigOpts, topics: list[str],
                 transport: Any,
                 announcer: announcement.Announcer | None = None) -> None:
        super().__init__(conf, topics, transport)
        self._announcer = announcer

    def notify(self, ctxt: dict[str, Any], msg: dict[str, Any],
               priority: str, retry: int) -> None:
        """Take one notification of Ironic."""
        try:
            for change in _announcements(msg['event_type'], msg['payload']):
                self._announce(change)
        except oslo_messaging.MessagingException as exc:
            LOG.warning('The PXE filters have to find out by themselves '
                        'about %(event)s: %(reason)s',
                        {'event': msg['event_type'], 'reason': exc})

    def _announce(self, change: announcement.Announcement) -> None:
        if self._announcer is None:
            self._announcer = announcement.Announcer(self.conf)
        self._announcer.announce(change)


def _announcements(event: str, payload: dict[str, Any]
                   ) -> Iterator[announcement.Announcement]:
    """What a notification means to a filter.

    :param event: such as ``baremetal.port.create.end``.
    :param payload: a versioned object as plain data.
    """
    if event in _PORT_EVENTS:
        port = payload['ironic_object.data']
        if port['address'] is not None:
            yield announcement.Announcement(
                announcement.BLACKLIST, _PORT_EVENTS[event], port['uuid'],
                port['address'])
    elif event.startswith('baremetal.node.provision_set.'):
        node = payload['ironic_object.data']
        if node['provision_state'] in _INSPECTION:
            action = announcement.ADD
        elif node['previous_provision_state'] in _INSPECTION:
            action = announcement.REMOVE
        else:
            return
        rows: list[Any] = ports.ports_of_node(node['uuid'])
        for uuid, address in rows or [(None, None)]:
            yield announcement.Announcement(
                announcement.WHITELIST, action, uuid, address)
