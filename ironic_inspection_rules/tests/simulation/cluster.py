# SPDX-License-Identifier: Apache-2.0

"""A simulated cluster: worker processes, an API, a conductor, a leader.

They run the real code of the queue on a real database. Only Ironic's drivers,
the coordination service and all clocks are simulated.
"""

from collections.abc import Callable
import datetime
import functools
import types
from typing import Any

from ironic import objects
from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from ironic.common import states
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules import hook
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import maintenance
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.tests.simulation import conductor
from ironic_inspection_rules.tests.simulation import coordinator
from ironic_inspection_rules.tests.simulation import database as sim_database
from ironic_inspection_rules.tests.simulation import invariants
from ironic_inspection_rules.tests.simulation import scheduler
from ironic_inspection_rules.tests.simulation import watched

LEASE = 10.0
INSPECTION_TIMEOUT = 60.0
LEADER_PERIOD = 5.0
TIME_LIMIT = 30.0
SETTINGS = worker.WorkerSettings(
    threads=2,
    get_timeout=4.0,
    lease=LEASE,
    max_attempts=3,
    connection_retries=3,
    retry_interval=1.0,
    time_limit=TIME_LIMIT,
)
NODES = (
    '3c1d8f5e-24b7-4a0e-9a65-7be1f3a0c2d4',
    '9b2f6c10-7d3e-4c58-8f21-0e6a5d4b3c17',
)
PATIENCE = 3 * LEASE
"""Seconds in which an idle worker has to claim a due request."""

_EPOCH = datetime.datetime(2026, 1, 1)
_POSTS = 20
"""How often a ramdisk posts until it gets an answer."""


class Anything:
    """An interface of a driver whose methods do nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


class InspectInterface(Anything):
    """Runs the hook as the agent's inspect interface does."""

    hooks = ()

    def __init__(self) -> None:
        self.before: Callable[[], None] = lambda: None

    def inspect_hardware(self, task: Any) -> str:
        """See Ironic's ``InspectInterface``."""
        return states.INSPECTWAIT

    def continue_inspection(
        self, task: Any, inventory: dict, plugin_data: dict
    ) -> None:
        """See Ironic's ``InspectInterface``."""
        self.before()
        rules = hook.InspectionRulesHook()
        rules.preprocess(task, inventory, plugin_data)
        rules(task, inventory, plugin_data)


DRIVER = types.SimpleNamespace(
    inspect=InspectInterface(),
    network=Anything(),
    power=Anything(),
    firmware=Anything(),
    boot=Anything(),
    management=Anything(),
)


class WorkerProcess(scheduler.Process):
    """A process with a worker, which takes part in the election."""

    def __init__(self, name: str, cluster: 'Cluster') -> None:
        super().__init__(name)
        requests = watched.WatchedQueue(
            LEASE, cluster.watch, cluster.turns, cluster.candidates
        )
        lock = watched.WatchedNodes(
            requests, INSPECTION_TIMEOUT, cluster.watch, cluster.turns
        ).lock
        self.worker = worker.Worker(
            worker.make_name(name), requests, lock, SETTINGS
        )
        tasks = maintenance.QueueMaintenance(
            requests,
            INSPECTION_TIMEOUT,
            86400.0,
            self.worker.wake,
            functools.partial(attempt.settle, requests, lock),
        ).tasks
        self.leader_tasks = maintenance.LeaderTasks(
            functools.partial(
                election.Election,
                'upkeep',
                'sim://',
                self.worker.name,
                retries_before_error=3,
                lease=6.0,
                heartbeat=2.0,
            ),
            (
                *(cluster.candidates.looked_for_by(task) for task in tasks),
                cluster.note_leader_round,
            ),
            LEADER_PERIOD,
            TIME_LIMIT,
        )
        self.idle_since = cluster.turns.now
        cluster.turns.spawn('worker', self, self.worker.run)
        cluster.turns.spawn(
            'leader', self, lambda: self.leader_tasks.run(cluster.never)
        )


class Cluster:
    """The cluster of one schedule.

    :param turns: the scheduler.
    :param database: the database of all processes.
    :param never: an event that is never set.
    """

    def __init__(
        self,
        turns: scheduler.Scheduler,
        database: sim_database.Database,
        never: Any,
    ) -> None:
        self.turns = turns
        self.database = database
        self.never = never
        self.watch = invariants.Invariants(database)
        self.candidates = watched.Candidates(database, self.watch.deleted)
        self.watch.lease, self.watch.time_limit = 2 * LEASE, TIME_LIMIT
        self.watch.disturbed_until = self._disturbed_until
        self.coordinator = coordinator.Coordinator(turns)
        self.last_leader_round = 0.0
        self.workers: list[WorkerProcess] = []
        self._count = 0
        self._context = ironic_context.get_admin_context()
        self._api = scheduler.Process('api')
        self._queue = database_queue.DatabaseQueue(
            LEASE, node_reservation.stop_timeout, after_put=[self._wake]
        )
        self._posted = 0
        DRIVER.inspect.before = lambda: None
        self.conductor = conductor.Conductor(
            turns, self.watch, self._queue, self.post
        )
        database.start(turns)
        database.around_commit = self.watch.around_commit
        database.note_stall = self.watch.excuse_all
        self.tell_time()

    def tell_time(self) -> None:
        """Set the clocks of all hosts to the time of the scheduler."""
        timeutils.set_time_override(
            _EPOCH + datetime.timedelta(seconds=self.turns.now)
        )

    def _disturbed_until(self) -> float:
        """Return when the last fault ended that may delay heartbeats.

        Any process that stalls may have locked SQLite meanwhile.
        """
        return max(
            [
                self.turns.disturbed_at,
                self.database.away_until,
                *(
                    max(actor.process.stalled_until, actor.process.hangs_until)
                    for actor in self.turns.actors
                ),
            ]
        )

    def note_leader_round(self) -> None:
        """Record that a leader has done all its tasks."""
        self.last_leader_round = self.turns.now

    def make_node(self, node_uuid: str) -> None:
        """Create a node in "inspect wait"."""
        objects.Node(
            self._context,
            uuid=node_uuid,
            driver='fake-hardware',
            inspect_interface='agent',
            provision_state=states.INSPECTWAIT,
            target_provision_state=states.MANAGEABLE,
            properties={},
            extra={},
            driver_info={},
            inspection_started_at=timeutils.utcnow(),
        ).create()

    def start_worker(self) -> None:
        """Start another worker process."""
        self._count += 1
        self.workers.append(WorkerProcess(f'worker{self._count}', self))

    def kill(self, process: WorkerProcess) -> None:
        """Kill a worker process with SIGKILL."""
        self.workers.remove(process)
        self.watch.excuse_all(process)
        self.turns.kill(process)

    def post(self, node_uuid: str) -> None:
        """Start a thread that posts the data of a machine until answered."""
        self._posted += 1
        mark = f'mark{self._posted}'
        self.turns.spawn(
            'post', self._api, lambda: self._post(node_uuid, mark)
        )

    def _post(self, node_uuid: str, mark: str) -> None:
        self.turns.note(f'node {node_uuid} posts {mark}')
        with self.watch.posting(node_uuid):
            self._post_until_answered(node_uuid, mark)

    def _post_until_answered(self, node_uuid: str, mark: str) -> None:
        for _try in range(_POSTS):
            self.watch.posts(node_uuid, mark)
            try:
                node = objects.Node.get_by_uuid(self._context, node_uuid)
                if node.provision_state != states.INSPECTWAIT:
                    return
                put = self._queue.put(
                    node_uuid,
                    queue_request.CONTINUE,
                    {'mark': mark},
                    {},
                    checkpoint.build_for_early_phase({}, {}, None),
                    trusted=True,
                )
                self.watch.accepted(node_uuid, mark, put.uuid)
                self.turns.note(f'{mark} is accepted as {put.uuid}')
                return
            except ironic_exception.NodeNotFound:
                return
            except exceptions.InspectionRulesError as exc:
                self.turns.note(f'{mark} is refused: {exc}')
                return
            except conductor.TROUBLE:
                self.turns.pause(lambda: False, 2.0)

    def hang_next(self, seconds: float) -> None:
        """Let the next hook hang for so many seconds; 0.0 for none."""
        if not seconds:
            DRIVER.inspect.before = lambda: None
            return

        def hang() -> None:
            DRIVER.inspect.before = lambda: None
            request = self.turns.current.local.get('request')
            self.watch.excuse(request)
            self.turns.note(f'a hook hangs for {seconds:.0f} seconds')
            self.turns.pause(lambda: False, seconds)

        DRIVER.inspect.before = hang

    def check(self) -> None:
        """Check what must hold after every step.

        :raises: Violated
        """
        self.database.end_idle_transactions(LEASE)
        self.watch.check()
        leaders = [
            process.name
            for process in self.workers
            if process.leader_tasks._election.is_leader
        ]
        if len(leaders) > 1:
            raise invariants.Violated(f'two leaders: {leaders}')
        # On SQLite one writer blocks all others.
        if self.database.engine.dialect.name != 'sqlite':
            self._check_patience()

    def _check_patience(self) -> None:
        """Check that idle workers claim due requests in time."""
        now = self.turns.now
        for process in self.workers:
            if (
                process.stalled_until > now
                or self.database.is_away()
                or process.hangs_until > now
                or not process.worker._free_slots.value
            ):
                process.idle_since = now
        idle_since = min(process.idle_since for process in self.workers)
        if now - idle_since <= PATIENCE:
            return
        for row in self.database.requests():
            if (
                row['open_node_uuid']
                and (row['due_at'] or 0.0) < self.database.now() - PATIENCE
            ):
                raise invariants.Violated(
                    f'request {row["uuid"]} waits although a worker is idle'
                )

    def _wake(self) -> None:
        for process in self.workers:
            process.worker.wake()
