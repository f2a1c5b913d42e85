# SPDX-License-Identifier: Apache-2.0

"""Periodic tasks that one worker process does for the whole cluster."""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses

from ironic import objects
from ironic.common import context as ironic_context
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import node_lock
from ironic_inspection_rules.queue import node_state
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import surroundings
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

_CHUNK = 500
"""How many nodes one round looks at at most."""


@dataclasses.dataclass
class _Records:
    """Records of nodes, which are of no use without their node.

    ``list_nodes`` takes the UUID before the first one to list, and how many
    to list at most. ``looked_at`` is the last node of the round before.
    """

    name: str
    list_nodes: Callable[[str, int], list[str]]
    remove: Callable[[Collection[str]], None]
    looked_at: str = ''


class QueueMaintenance:
    """Singleton tasks (spec 001 "HA singleton periodic task decomposition").

    Should two processes do them at once for a moment, no harm is done.

    :param requests: the queue.
    :param inspection_timeout: seconds that a node may be in "inspect wait".
    :param report_expiration: seconds that requests outlive their end.
    :param wake: has the workers look for work.
    :param settle: sees that the node of an ended request is in a final state.
    """

    def __init__(self, requests: database_queue.DatabaseQueue,
                 inspection_timeout: float, report_expiration: float,
                 wake: Callable[[], None],
                 settle: Callable[[queue_request.Request], None]) -> None:
        self._queue = requests
        self._inspection_timeout = inspection_timeout
        self._report_expiration = report_expiration
        self._wake = wake
        self._settle = settle
        self._records = (_Records('requests', unprocessed.list_nodes,
                                  unprocessed.destroy_nodes),
                         _Records('runs', recorder.nodes, recorder.forget))

    @property
    def tasks(self) -> tuple[Callable[[], None], ...]:
        """All tasks, in the order in which to do them."""
        return (self.return_requests, self.unlock_nodes, self.settle_nodes,
                self.put_timeouts,
                self.forget_requests, self.remove_deleted_nodes)

    def return_requests(self) -> None:
        """Return what dead workers held."""
        expired = self._queue.expire()
        for lease in expired:
            LOG.warning('Request %(request)s of node %(node)s is returned, '
                        'worker %(worker)s gives no sign of life',
                        {'request': lease.uuid, 'node': lease.node_uuid,
                         'worker': lease.worker})
        if expired:
            self._wake()

    def unlock_nodes(self) -> None:
        """Unlock the nodes that dead workers have locked."""
        context = ironic_context.get_admin_context()
        for prefix in worker.HOLDERS:
            for node_uuid, holder in node_reservation.list_reserved(
                    prefix, _CHUNK):
                node_lock.unlock_if_over(context, self._queue, node_uuid,
                                         holder)

    def settle_nodes(self) -> None:
        """Bring the nodes of ended requests into a final state.

        What cannot be done now is done in a later round.
        """
        for request in self._queue.unsettled():
            try:
                self._settle(request)
            # The others are to have their turn.
            except Exception as exc:
                delivery.log_request(
                    LOG.info if surroundings.are_to_blame(exc)
                    else LOG.exception, request,
                    f'its node is seen to later: {exc}')

    def put_timeouts(self) -> None:
        """Request timeouts of nodes whose ramdisk does not call."""
        put = False
        for node_uuid in node_state.list_overdue(
                ironic_context.get_admin_context(),
                self._inspection_timeout):
            try:
                self._queue.put(node_uuid, queue_request.TIMEOUT)
            except exceptions.RequestPending:
                continue
            put = True
            LOG.info('The inspection of node %s has timed out', node_uuid)
        if put:
            self._wake()

    def forget_requests(self) -> None:
        """Remove requests that were done long ago."""
        count = self._queue.forget(self._report_expiration)
        if count:
            LOG.info('Removed %d requests that were done long ago', count)

    def remove_deleted_nodes(self) -> None:
        """Remove the records of nodes that Ironic does not have any more.

        Each round looks at the next few nodes, and after the last one at the
        first ones again.
        """
        for records in self._records:
            known = records.list_nodes(records.looked_at, _CHUNK)
            records.looked_at = known[-1] if len(known) == _CHUNK else ''
            gone = set(known) - _present(known)
            if gone:
                records.remove(gone)
                LOG.info('Removed the %(records)s of %(count)d deleted '
                         'nodes: %(nodes)s',
                         {'records': records.name, 'count': len(gone),
                          'nodes': ', '.join(sorted(gone))})


def _present(node_uuids: Collection[str]) -> set[str]:
    """Return which of some nodes Ironic has."""
    if not node_uuids:
        return set()
    return {node.uuid for node in objects.Node.list(
        ironic_context.get_admin_context(), fields=['uuid'],
        filters={'uuid_in': node_uuids, 'include_children': True})}
