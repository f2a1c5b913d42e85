# SPDX-License-Identifier: Apache-2.0

"""The periodic tasks of the leader of all workers.

The workers of a cluster elect one of them as their leader. Its tasks are e.g.
to return the requests of dead workers to the queue, to unlock their nodes, and
to *settle* nodes: if a request has ended, but its node is still in inspection,
the node is failed. A *round* runs all tasks once.
"""

from collections.abc import Callable, Iterable
import functools
import threading
from typing import Any

from ironic.common import context as ironic_context
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.db import lock_timeout
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import external_error
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.runs import deleted_node
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

_CHUNK = 500
"""Maximum number of nodes per round to check for a lock."""

_MOST_STORED = 100
"""Maximum number of inventories that a round stores by content.

Storing one takes about 20 milliseconds.
"""


class QueueMaintenance:
    """The tasks that keep the queue in order.

    Only the leader runs them (spec 001 "HA singleton periodic task
    decomposition"), but it is harmless if two processes do so at the same
    time.

    :param requests: the queue.
    :param inspection_timeout: seconds that a node may be in "inspect wait".
    :param report_expiration: seconds until an ended request is removed.
    :param wake: wakes the workers.
    :param settle: takes the node of an ended request out of inspection, and
        records in the queue that it has done so.
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
        # The id of the last data that store_data_by_content() looked at; 0 to
        # begin with the first.
        self._last_stored = 0
        self._kinds_of_records = (
            deleted_node.Records(
                'requests', unprocessed.list_nodes, unprocessed.destroy_nodes
            ),
            deleted_node.Records('runs', run.list_nodes, recorder.forget),
        )

    @property
    def tasks(self) -> tuple[Callable[[], None], ...]:
        """All tasks, in their order.

        Requests of dead workers are returned first, because the lock of a node
        is removed only if its holder no longer has the request. Nodes are
        unlocked before they are settled, because settling a node locks it.
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
        """Return the requests of dead workers to the queue.

        A worker counts as dead if it has not renewed its lease in time.
        """
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
        """Unlock some nodes that ended deliveries have left locked."""
        locked_nodes = node_reservation.list_reserved(
            queue_request.DELIVERY_PREFIX, _CHUNK
        )
        for node_uuid, holder in locked_nodes:
            queue_node.unlock_ended_delivery(self._queue, node_uuid, holder)

    def settle_nodes(self) -> None:
        """Take the nodes of ended requests out of inspection.

        Usually the worker that ends a request also changes and unlocks its
        node. This is for requests whose worker could not do so. If it fails
        for a node, a later round tries again.
        """
        for request in self._queue.claim_unsettled():
            try:
                self._settle(request)
            # Catch everything, so that the nodes of the other requests are
            # settled.
            except Exception as exc:
                log_method = LOG.exception
                # A traceback is not useful if e.g. the node is locked.
                if external_error.is_external(exc):
                    log_method = LOG.info
                delivery.log_request(
                    log_method, request, f'its node is seen to later: {exc}'
                )

    def put_timeouts(self) -> None:
        """Store a timeout request for every overdue node without a request.

        A node is overdue if it has waited too long for the data of its
        ramdisk. The worker that processes the request fails the node.

        A node whose row is locked is left for a later round, because another
        transaction may be storing a request for it.
        """
        has_put = False
        overdue_nodes = queue_node.list_overdue(
            ironic_context.get_admin_context(), self._inspection_timeout
        )
        for node_uuid in node_reservation.find_unlocked_rows(overdue_nodes):
            if self._queue.find_open(node_uuid) is not None:
                continue
            try:
                self._queue.put(node_uuid, queue_request.TIMEOUT)
            except exceptions.RequestPending:
                # Another request was stored after find_open() has looked.
                continue
            has_put = True
            LOG.info('The inspection of node %s has timed out', node_uuid)
        if has_put:
            self._wake()

    def store_data_by_content(self) -> None:
        """Move data of ended requests to the content store, a few in a round.

        Inspections of a machine with equal data share them in this store, so
        that they take less space.
        """
        self._last_stored = unprocessed.store_by_content(
            _MOST_STORED, self._last_stored
        )

    def forget_requests(self) -> None:
        """Remove requests that ended more than ``report_expiration`` ago.

        Until then, the API shows how they ended.
        """
        count = self._queue.forget(self._report_expiration)
        if count:
            LOG.info('Removed %d requests that were done long ago', count)

    def remove_deleted_nodes(self) -> None:
        """Remove the records of deleted nodes: their requests and their runs.

        A conductor removes the runs together with the node, but not the
        requests. This also removes the runs that it could not remove. A round
        checks 500 nodes for both kinds of records.
        """
        for records in self._kinds_of_records:
            records.remove()


_RETRIES = 10
"""Failures of any tasks in a row before one is logged as an error."""


class UnservedRequests:
    """Warns about waiting requests that this worker cannot process.

    A worker serves nodes with certain drivers and conductor groups. If no
    worker serves the driver or the group of a node, its requests wait forever.

    :param served: an SQL condition on the requests that this worker can
        process.
    :param patience: seconds that a request may wait.
    """

    def __init__(self, served: Any, patience: float) -> None:
        self._served = served
        self._patience = patience
        # Pairs of driver and conductor group that were already reported.
        self._warned: set[tuple[str, str]] = set()

    def check(self) -> None:
        """Warn once of every driver and conductor group whose requests wait.

        A driver and group that is no longer found, because its requests are
        processed, is forgotten. If it is found again, it is logged again.
        """
        waiting = set()
        # The longest waiting node of every driver and group.
        unserved_nodes = backlog.read_unserved(self._served, self._patience)
        for unserved in unserved_nodes:
            driver_and_group = (unserved.driver, unserved.conductor_group)
            waiting.add(driver_and_group)
            if driver_and_group not in self._warned:
                LOG.warning(
                    'Inspection requests of nodes with the driver %(driver)s '
                    'and the conductor group "%(conductor_group)s" wait for '
                    '%(delay).0f seconds, the first is that of node %(node)s'
                    ': is there an ironic-inspection-worker with this driver '
                    'in [DEFAULT]enabled_hardware_types and this group in '
                    '[inspection_queue]conductor_groups?',
                    unserved._asdict(),
                )
        self._warned = waiting


class LeaderTasks:
    """Runs periodic tasks while this process is the leader.

    When leadership ends, the running task is finished and no other task begins
    (spec 001 "HA singleton periodic task decomposition").

    :param make_election: builds the election. Its arguments are functions that
        the election calls when this process becomes the leader, ``on_gained``,
        and when it no longer is the leader, ``on_lost``.
    :param tasks: the tasks of every round, in their order.
    :param period: seconds between two rounds.
    :param limit: seconds after which a round counts as hung and another
        thread continues.
    """

    def __init__(
        self,
        make_election: Callable[..., election.Election],
        tasks: Iterable[Callable[[], None]],
        period: float,
        limit: float = 600.0,
    ) -> None:
        # Set when the current leadership ends, which ends its threads.
        # _begin() replaces it with a new event for every leadership.
        self._has_ended = threading.Event()
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
        """Start the threads of a leadership, which has just begun.

        One thread runs the tasks, and a watchdog replaces this thread if it
        hangs. Both end with the leadership.
        """
        # Create a new event for every leadership: if a thread of an earlier
        # leadership wakes up late, it must find that its leadership has ended.
        has_ended = threading.Event()
        self._has_ended = has_ended
        loop = watchdog.WatchedLoop(
            'leader tasks',
            functools.partial(self._run_round, has_ended),
            has_ended,
        )
        loop.start()
        # Every round ends with a pause of one period, which must not look like
        # a hang.
        limit = max(self._limit, 2 * self._period)
        # This replaces the thread if a round takes longer than the limit.
        look_after = functools.partial(loop.restart_if_hung, limit)
        # Check several times before the limit, and at least every ten seconds.
        threading.Thread(
            target=watchdog.watch,
            args=(look_after, min(limit / 4, 10.0), has_ended),
            name='watchdog',
            daemon=True,
        ).start()

    def _end(self) -> None:
        """End the threads of the current leadership."""
        self._has_ended.set()

    def _run_round(self, has_ended: threading.Event) -> None:
        """Run one round of tasks, then pause for the period between rounds.

        A task that fails does not keep the other tasks from running. When the
        leadership ends, no further task begins, and the pause ends.

        :param has_ended: set when this leadership ends.
        """
        has_failed = False
        for task in self._tasks:
            # Check the election as well: it compares the clock with the end of
            # its lease, and so may know that the leadership is over before it
            # has set the event.
            if not self._election.is_leader or has_ended.is_set():
                break
            try:
                # A task that waits long for a locked row fails, so that it
                # does not delay the others.
                with lock_timeout.shortened():
                    task()
            # Catch everything, because the next round tries again.
            except Exception as exc:
                has_failed = True
                # A traceback is not useful in an outage of the database.
                is_of_database = isinstance(exc, db_exc.DBError)
                self._trouble.failed(exc, traceback=not is_of_database)
        if not has_failed:
            self._trouble.over()
        has_ended.wait(self._period)
