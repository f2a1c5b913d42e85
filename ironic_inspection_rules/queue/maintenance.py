# SPDX-License-Identifier: Apache-2.0

"""The periodic tasks of the leader of all workers."""

from collections.abc import Callable, Collection, Iterable
import dataclasses
import functools
import threading
from typing import Any

from ironic import objects
from ironic.common import context as ironic_context
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import patience
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import surroundings
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

_CHUNK = 500
"""Most nodes that one round checks for a lock, or for records of a kind."""

_STORED = 100
"""Most data that one round stores by content, in 20 milliseconds each."""


@dataclasses.dataclass
class _Records:
    """Records of nodes, to be removed with their node.

    ``list_nodes`` takes a UUID and a number, and returns at most so many UUIDs
    of nodes after that one. ``looked_at`` is the last one of the round before.
    """

    name: str
    list_nodes: Callable[[str, int], list[str]]
    remove: Callable[[Collection[str]], None]
    looked_at: str = ''


class QueueMaintenance:
    """Singleton tasks (spec 001 "HA singleton periodic task decomposition").

    It does no harm if two processes run them at the same time.

    :param requests: the queue.
    :param inspection_timeout: seconds that a node may be in "inspect wait".
    :param report_expiration: seconds until an ended request is removed.
    :param wake: wakes the workers.
    :param settle: brings the node of an ended request into a final state.
    """

    def __init__(
        self,
        requests: database_queue.DatabaseQueue,
        inspection_timeout: float,
        report_expiration: float,
        wake: Callable[[], None],
        settle: Callable[[queue_request.Request], None],
    ) -> None:
        self._queue = requests
        self._inspection_timeout = inspection_timeout
        self._report_expiration = report_expiration
        self._wake = wake
        self._settle = settle
        # Up to which id of unprocessed data the last round came.
        self._stored = 0
        self._records = (
            _Records(
                'requests', unprocessed.list_nodes, unprocessed.destroy_nodes
            ),
            _Records('runs', run.list_nodes, recorder.forget),
        )

    @property
    def tasks(self) -> tuple[Callable[[], None], ...]:
        """All tasks, in their order.

        Requests are returned first: until then, the lock of a dead worker
        counts as held. Nodes are unlocked before they are settled, which
        needs their lock.
        """
        return (
            self.return_requests,
            self.unlock_nodes,
            self.settle_nodes,
            self.put_timeouts,
            self.forget_requests,
            self.remove_deleted_nodes,
            self.store_data_by_content,
        )

    def return_requests(self) -> None:
        """Return the requests of dead workers to the queue."""
        expired = self._queue.expire()
        for lease in expired:
            LOG.warning(
                'Request %(request)s of node %(node)s is returned, '
                'worker %(worker)s gives no sign of life',
                {
                    'request': lease.uuid,
                    'node': lease.node_uuid,
                    'worker': lease.worker,
                },
            )
        if expired:
            self._wake()

    def unlock_nodes(self) -> None:
        """Unlock nodes that were locked by dead workers."""
        for node_uuid, holder in node_reservation.list_reserved(
            queue_request.DELIVERY_PREFIX, _CHUNK
        ):
            queue_node.unlock_ended_delivery(self._queue, node_uuid, holder)

    def settle_nodes(self) -> None:
        """Bring the nodes of ended requests into a final state.

        A node that fails is tried again in a later round.
        """
        for request in self._queue.claim_unsettled():
            try:
                self._settle(request)
            # Go on with the others.
            except Exception as exc:
                log_method = LOG.exception
                if surroundings.are_to_blame(exc):
                    log_method = LOG.info
                delivery.log_request(
                    log_method, request, f'its node is seen to later: {exc}'
                )

    def put_timeouts(self) -> None:
        """Store a timeout request for each overdue node without a request.

        Who holds the row of a node may be storing another request of it, and
        is not waited for.
        """
        has_put = False
        overdue = queue_node.list_overdue(
            ironic_context.get_admin_context(), self._inspection_timeout
        )
        for node_uuid in node_reservation.find_unlocked_rows(overdue):
            if self._queue.find_open(node_uuid) is not None:
                continue
            try:
                self._queue.put(node_uuid, queue_request.TIMEOUT)
            except exceptions.RequestPending:
                # It was put after find_open() had looked.
                continue
            has_put = True
            LOG.info('The inspection of node %s has timed out', node_uuid)
        if has_put:
            self._wake()

    def store_data_by_content(self) -> None:
        """Store the data of ended requests by content, a few in a round."""
        self._stored = unprocessed.store_by_content(_STORED, self._stored)

    def forget_requests(self) -> None:
        """Remove requests that ended ``report_expiration`` ago."""
        count = self._queue.forget(self._report_expiration)
        if count:
            LOG.info('Removed %d requests that were done long ago', count)

    def remove_deleted_nodes(self) -> None:
        """Remove the records of deleted nodes: their requests and their runs.

        For either kind of records, each round checks the next 500 nodes that
        have some; after the last node it starts again. Locked rows stay until
        a later round, although the log names their node.
        """
        for records in self._records:
            known = records.list_nodes(records.looked_at, _CHUNK)
            # Fewer were the last ones: the next round begins with the first.
            records.looked_at = ''
            if len(known) == _CHUNK:
                records.looked_at = known[-1]
            gone = _gone_nodes(known)
            if gone:
                records.remove(gone)
                LOG.info(
                    'Removed the %(records)s of %(count)d deleted '
                    'nodes: %(nodes)s',
                    {
                        'records': records.name,
                        'count': len(gone),
                        'nodes': ', '.join(sorted(gone)),
                    },
                )


def _gone_nodes(uuids: Collection[str]) -> set[str]:
    """Return those of some UUIDs that no node in Ironic has any more."""
    if not uuids:
        return set()
    nodes = objects.Node.list(
        ironic_context.get_admin_context(),
        fields=['uuid'],
        # Without it the list has no nodes that are parts of others.
        filters={'uuid_in': uuids, 'include_children': True},
    )
    return set(uuids) - {node.uuid for node in nodes}


_RETRIES = 10
"""Failures in a row, of any tasks, before one is logged as an error."""


class UnservedRequests:
    """Warns of waiting requests that this worker cannot process.

    :param served: an SQL condition on the requests that this process can
        process; None for all.
    :param patience: seconds that a request may wait.
    """

    def __init__(self, served: Any, patience: float) -> None:
        self._served = served
        self._patience = patience
        # Drivers with conductor groups that were warned of already.
        self._known: set[tuple[str, str]] = set()

    def check(self) -> None:
        """Log each driver and conductor group whose requests wait, once."""
        unserved = backlog.read_unserved(self._served, self._patience)
        present = set()
        for kind in unserved:
            key = (kind.driver, kind.conductor_group)
            present.add(key)
            if key not in self._known:
                LOG.warning(
                    'Inspection requests of nodes with the driver %(driver)s '
                    'and the conductor group "%(conductor_group)s" wait for '
                    '%(delay).0f seconds, the first is that of node %(node)s'
                    ': is there an ironic-inspection-worker with this driver '
                    'in [DEFAULT]enabled_hardware_types and this group in '
                    '[inspection_queue]conductor_groups?',
                    kind._asdict(),
                )
        # A kind that is served in the meantime is forgotten, and warned of
        # again when it waits once more.
        self._known = present


class LeaderTasks:
    """Runs periodic tasks while this process is the leader.

    When leadership ends, the running task is finished and no other begins
    (spec 001 "HA singleton periodic task decomposition").

    :param make_election: builds the election from ``on_gained`` and
        ``on_lost``.
    :param tasks: tasks of each round, in their order.
    :param period: seconds between two rounds.
    :param limit: seconds after which a round counts as hung and another
        thread goes on.
    """

    def __init__(
        self,
        make_election: Callable[..., election.Election],
        tasks: Iterable[Callable[[], None]],
        period: float,
        limit: float = 600.0,
    ) -> None:
        # Ends the threads of a leadership; each leadership has its own.
        self._reset = threading.Event()
        self._election = make_election(
            on_gained=self._begin, on_lost=self._end
        )
        self._tasks = tuple(tasks)
        self._period = period
        self._limit = limit
        self._trouble = watchdog.Outage(
            'A periodic task of the leader', _RETRIES
        )

    def run(self, stop: threading.Event) -> None:
        """Take part in the election until stopped; run tasks when elected."""
        self._election.run(stop)

    def _begin(self) -> None:
        """Begin to run the tasks, in threads that end with the leadership."""
        # A new event for each leadership: a thread of an earlier one that
        # wakes up late finds its own event set.
        reset = threading.Event()
        self._reset = reset
        loop = watchdog.WatchedLoop(
            'leader tasks', functools.partial(self._work, reset), reset
        )
        loop.start()
        # A round with nothing to do waits for a period.
        limit = max(self._limit, 2 * self._period)
        look_after = functools.partial(loop.look_after, limit)
        threading.Thread(
            target=watchdog.watch,
            args=(look_after, min(limit / 4, 10.0), reset),
            name='watchdog',
            daemon=True,
        ).start()

    def _end(self) -> None:
        """Have the threads of the present leadership end."""
        self._reset.set()

    def _work(self, reset: threading.Event) -> None:
        """Run one round of tasks, then pause for the period between rounds.

        A task that fails does not keep the others from running. When
        leadership ends, no further task begins, and the pause is over.

        :param reset: set when this leadership ends.
        """
        has_failed = False
        for task in self._tasks:
            if not self._election.is_leader or reset.is_set():
                break
            try:
                with patience.short():
                    task()
            # The next round tries again.
            except Exception as exc:
                has_failed = True
                # Of an outage of the database, a traceback says nothing.
                is_of_database = isinstance(exc, db_exc.DBError)
                self._trouble.failed(exc, traceback=not is_of_database)
        if not has_failed:
            self._trouble.over()
        reset.wait(self._period)
