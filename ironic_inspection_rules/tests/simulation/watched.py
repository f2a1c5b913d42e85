# SPDX-License-Identifier: Apache-2.0

"""The queue and its nodes, reporting to the invariants."""

from collections.abc import Callable, Iterator
import contextlib
from typing import Any

from ironic.common import states

from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.simulation import database as sim_database
from ironic_inspection_rules.tests.simulation import invariants
from ironic_inspection_rules.tests.simulation import scheduler


class Candidates:
    """Skips queries that cannot find anything, to save time.

    Most queries of a cluster look for work and find none. Of those only the
    pause and the faults are simulated. Whether a request is due, or held by a
    worker, is left to the real code.

    :param deleted: UUIDs of deleted nodes.
    """

    def __init__(
        self, database: sim_database.Database, deleted: set[str]
    ) -> None:
        self._database = database
        self._conditions: dict[str, Callable[[Any, Any], bool]] = {
            'get': lambda nodes, requests: any(
                row['open_node_uuid'] for row in requests
            ),
            'return_requests': lambda nodes, requests: any(
                row['worker'] and row['open_node_uuid'] for row in requests
            ),
            'unlock_nodes': lambda nodes, requests: any(
                row['reservation'] for row in nodes
            ),
            'settle_nodes': lambda nodes, requests: any(
                row['due_at'] is not None and not row['open_node_uuid']
                for row in requests
            ),
            'put_timeouts': lambda nodes, requests: any(
                row['provision_state'] == states.INSPECTWAIT for row in nodes
            ),
            'remove_deleted_nodes': lambda nodes, requests: bool(deleted),
        }

    def looked_for_by(self, look: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls another one if it may find work.

        :param look: looks for work; returns None if there is none.
        """
        condition = self._conditions.get(look.__name__)
        if condition is None:
            return look

        def look_if_any(*args: Any) -> Any:
            if not condition(*self._database.committed()):
                self._database.touch()
                if not condition(*self._database.committed()):
                    return None
            return look(*args)

        return look_if_any


class WatchedQueue(database_queue.DatabaseQueue):
    """The queue, reporting deliveries to the invariants."""

    def __init__(
        self,
        lease: float,
        watch: invariants.Invariants,
        turns: scheduler.Scheduler,
        candidates: Candidates,
    ) -> None:
        super().__init__(lease, node_reservation.stop_timeout)
        self._watch = watch
        self._turns = turns
        self._look = candidates.looked_for_by(super().get)

    def get(self, worker_name: str) -> queue_request.Request | None:
        """See :meth:`.DatabaseQueue.get`."""
        local = self._turns.current.local
        local['claims'] = True
        try:
            request = self._look(worker_name)
        finally:
            local['claims'] = False
        if request is not None:
            self._watch.delivered(request)
        return request


class WatchedNodes:
    """Locks nodes, reporting to the invariants who works on a node."""

    def __init__(
        self,
        requests: database_queue.DatabaseQueue,
        timeout: float,
        watch: invariants.Invariants,
        turns: scheduler.Scheduler,
    ) -> None:
        self._queue = requests
        self._timeout = timeout
        self._watch = watch
        self._turns = turns

    @contextlib.contextmanager
    def lock(self, request: queue_request.Request) -> Iterator[Any]:
        """See :func:`.attempt.locked`."""
        local = self._turns.current.local
        with attempt.locked(self._queue, self._timeout, request) as current:
            self._turns.note(f'locked by {request.delivery}')
            local['request'] = request
            self._watch.inside.append(request)
            self._watch.process_of[request.delivery] = (
                self._turns.current.process
            )
            try:
                yield current
            finally:
                local.pop('request')
                self._watch.inside.remove(request)
