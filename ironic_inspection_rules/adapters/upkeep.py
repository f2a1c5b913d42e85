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

"""What one worker process does for the whole cluster, now and again."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator

from ironic import objects
from ironic.common import context as ironic_context
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import inspection
from ironic_inspection_rules.ha import database_queue
from ironic_inspection_rules.ha import queue

LOG = log.getLogger(__name__)

_CHUNK = 500
"""How many values one query is given at most."""


class Upkeep:
    """Singleton tasks (spec 001 "HA singleton periodic task decomposition").

    Should two processes do them at once for a moment, no harm is done.

    :param requests: the queue.
    :param inspection_timeout: seconds that a node may be in "inspect wait".
    :param report_expiration: seconds that requests outlive their end.
    :param announce: tells the workers that there is work.
    """

    def __init__(self, requests: database_queue.DatabaseQueue,
                 inspection_timeout: float, report_expiration: float,
                 announce: Callable[[], None]) -> None:
        self._queue = requests
        self._inspection_timeout = inspection_timeout
        self._report_expiration = report_expiration
        self._announce = announce

    @property
    def tasks(self) -> tuple[Callable[[], None], ...]:
        """All tasks, in the order in which to do them."""
        return (self.return_requests, self.put_timeouts, self.forget_requests,
                self.remove_deleted_nodes)

    def return_requests(self) -> None:
        """Return what dead workers held, and unlock their nodes."""
        lapses = self._queue.expire()
        for lapse in lapses:
            if not lapse.done:
                LOG.warning('Request %(request)s of node %(node)s is '
                            'returned, worker %(worker)s gives no sign of '
                            'life', {'request': lapse.uuid,
                                     'node': lapse.node_uuid,
                                     'worker': lapse.worker})
        self._unlock_nodes({lapse.worker for lapse in lapses})
        if not all(lapse.done for lapse in lapses):
            self._announce()

    def _unlock_nodes(self, workers: Collection[str]) -> None:
        context = ironic_context.get_admin_context()
        for chunk in _chunks(workers):
            for node in objects.Node.list(
                    context, fields=['uuid', 'reservation'],
                    filters={'reserved_by_any_of': chunk,
                             'include_children': True}):
                if not self._queue.is_held(node.uuid, node.reservation):
                    inspection.unlock(context, node.uuid, node.reservation)

    def put_timeouts(self) -> None:
        """Have nodes fail whose ramdisk does not call."""
        put = False
        for node_uuid in inspection.list_overdue(
                ironic_context.get_admin_context(),
                self._inspection_timeout):
            try:
                self._queue.put(node_uuid, queue.TIMEOUT)
            except exceptions.RequestPending:
                continue
            put = True
            LOG.info('The inspection of node %s has timed out', node_uuid)
        if put:
            self._announce()

    def forget_requests(self) -> None:
        """Remove requests that were done long ago."""
        count = self._queue.forget(self._report_expiration)
        if count:
            LOG.info('Removed %d requests that were done long ago', count)

    def remove_deleted_nodes(self) -> None:
        """Remove the requests of nodes that Ironic does not have any more."""
        context = ironic_context.get_admin_context()
        known = self._queue.nodes()
        present = {
            node.uuid for chunk in _chunks(known)
            for node in objects.Node.list(
                context, fields=['uuid'],
                filters={'uuid_in': chunk, 'include_children': True})}
        gone = known - present
        if gone:
            self._queue.remove(gone)
            LOG.info('Removed the requests of %(count)d deleted nodes: '
                     '%(nodes)s', {'count': len(gone),
                                   'nodes': ', '.join(sorted(gone))})


def _chunks(values: Collection[str]) -> Iterator[list[str]]:
    ordered = sorted(values)
    for start in range(0, len(ordered), _CHUNK):
        yield ordered[start:start + _CHUNK]
