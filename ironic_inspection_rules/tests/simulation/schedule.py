# SPDX-License-Identifier: Apache-2.0

"""Schedules of the queue, each generated from a seed."""

from collections.abc import Callable, Iterator
import contextlib
from unittest import mock

from ironic.db.sqlalchemy import api as db_api
from oslo_db import api as oslo_db_api
import tenacity

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.queue import maintenance
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests.simulation import cluster as sim_cluster
from ironic_inspection_rules.tests.simulation import coordinator
from ironic_inspection_rules.tests.simulation import database as sim_database
from ironic_inspection_rules.tests.simulation import invariants
from ironic_inspection_rules.tests.simulation import scheduler
from ironic_inspection_rules.tests.simulation import standins

STEPS = 120
"""Steps during which faults happen."""

CALM_STEPS = 5000
"""Steps after the last fault in which all requests have to end."""

CALM = 3 * sim_cluster.INSPECTION_TIMEOUT
"""Seconds after the last fault in which all requests have to end.

A node may stay locked for most of them, and the last try to lock it may come
half an inspection timeout later.
"""


class Schedule:
    """A run of a cluster with faults, checking the invariants.

    :param seed: determines all choices.
    :param database: is emptied first.
    """

    def __init__(self, seed: int, database: sim_database.Database) -> None:
        self.turns = scheduler.Scheduler(seed)
        self._database = database
        self._random = self.turns.random
        self._cluster: sim_cluster.Cluster
        # With two nodes both threads of a worker are busy; with one they
        # compete.
        self._nodes = sim_cluster.NODES[: self._random.randint(1, 2)]

    @property
    def trace(self) -> list[str]:
        """What happened, one line for each event."""
        return self.turns.trace

    def run(self) -> None:
        """Run the schedule.

        :raises: AssertionError if an invariant is violated.
        """
        threading = standins.Threading(self.turns)
        self._cluster = sim_cluster.Cluster(
            self.turns, self._database, threading.Event()
        )
        with self._stand_ins(threading):
            try:
                self._run_with_faults()
            finally:
                self.turns.end()

    def _run_with_faults(self) -> None:
        for node_uuid in self._nodes:
            self._cluster.make_node(node_uuid)
        for _worker in range(2):
            self._cluster.start_worker()
        for node_uuid in self._nodes:
            self._cluster.post(node_uuid)
        faults = self._plan_faults()
        for step in range(STEPS):
            if step in faults:
                faults[step]()
            self._step()
        self._check_recovery()

    @contextlib.contextmanager
    def _stand_ins(self, threading: standins.Threading) -> Iterator[None]:
        time = standins.make_time(self.turns)
        contexts = [
            standins.Local(lambda: self.turns.current) for _owner in range(2)
        ]
        with contextlib.ExitStack() as stack:
            for module, name, value in (
                (transaction, '_CONTEXT', contexts[0]),
                (db_api, '_CONTEXT', contexts[1]),
                (worker, 'threading', threading),
                (worker, 'time', time),
                (watchdog, 'threading', threading),
                (watchdog, 'time', time),
                (recorder, 'time', time),
                (recorder, 'cleaner', recorder.Cleaner()),
                (maintenance, 'threading', threading),
                (election, 'threading', threading),
                (election, 'time', time),
                (oslo_db_api, 'time', time),
                (oslo_db_api, 'random', self._random),
                (tenacity.nap, 'time', time),
                (tenacity.wait, 'random', self._random),
                (
                    election,
                    'coordinator',
                    coordinator.make_module(self._cluster.coordinator),
                ),
            ):
                stack.enter_context(mock.patch.object(module, name, value))
            yield

    def _step(self) -> bool:
        is_any_left = self.turns.step()
        self._cluster.tell_time()
        self._cluster.check()
        return is_any_left

    def _plan_faults(self) -> dict[int, Callable[[], None]]:
        conductor = self._cluster.conductor
        kinds = (
            self._kill,
            self._stall,
            self._lose_database,
            self._lose_answer,
            self._lose_coordinator,
            self._forget_locks,
            self._swallow,
            self._hang,
            self._jump_clock,
            self._set_clock_back,
            self._pass_time,
            self._stall_after_commit,
            self._stall_after_claim,
            self._stall_inside,
            self._refuse_thread,
            conductor.time_out,
            conductor.restart,
            self._for_a_node(self._cluster.post),
            self._for_a_node(conductor.abort),
            self._for_a_node(conductor.lock),
            self._for_a_node(conductor.inspect),
            self._for_a_node(conductor.inspect),
            self._for_a_node(conductor.delete),
        )
        # Most of the work is done in the first steps.
        return {
            int(self._random.random() ** 2 * STEPS): self._random.choice(kinds)
            for _fault in range(self._random.randint(0, 8))
        }

    def _for_a_node(self, fault: Callable[[str], None]) -> Callable[[], None]:
        return lambda: fault(self._random.choice(self._nodes))

    def _kill(self) -> None:
        self.turns.disturbed_at = self.turns.now
        self._cluster.kill(self._random.choice(self._cluster.workers))
        self._cluster.start_worker()

    def _stall(self) -> None:
        process = self._random.choice(self._cluster.workers)
        if self.turns.last in self._cluster.workers:
            # The last process to run is likely inside a transaction.
            process = self.turns.last
        process.stalled_until = (
            self.turns.now + self._random.uniform(0.5, 3) * sim_cluster.LEASE
        )
        self._cluster.watch.excuse_all(process)
        self.turns.note(
            f'{process.name} stalls until {process.stalled_until:.1f}'
        )

    def _stall_after_commit(self) -> None:
        self._database.stall_next = (
            self._random.uniform(0.5, 3) * sim_cluster.LEASE
        )

    def _stall_after_claim(self) -> None:
        self._database.stall_claim = (
            self._random.uniform(1, 4) * sim_cluster.LEASE
        )

    def _stall_inside(self) -> None:
        self._database.stall_inside = (
            self._random.uniform(1, 9) * sim_cluster.LEASE
        )

    def _refuse_thread(self) -> None:
        self.turns.refused_threads += 1

    def _lose_database(self) -> None:
        self._database.away_until = self.turns.now + self._random.choice(
            (0.5, 5.0, 2 * sim_cluster.LEASE)
        )
        self.turns.note(
            f'the database is away until {self._database.away_until:.1f}'
        )

    def _lose_answer(self) -> None:
        self._database.lose_answers += self._random.randint(1, 2)

    def _lose_coordinator(self) -> None:
        self._cluster.coordinator.away_until = (
            self.turns.now + self._random.choice((1.0, 5.0, 20.0))
        )
        self.turns.note('the coordinator is away')

    def _jump_clock(self) -> None:
        self._database.clock_offset += self._random.uniform(-1, 1.5) * (
            sim_cluster.LEASE
        )
        self.turns.disturbed_at = self.turns.now
        self.turns.note(
            f'the clock of the database jumps to {self._database.now():.1f}'
        )

    def _set_clock_back(self) -> None:
        self._database.clock_offset -= self._random.choice((60.0, 86400.0))
        self.turns.disturbed_at = self.turns.now
        self.turns.note(
            'the clock of the database is set back to '
            f'{self._database.now():.1f}'
        )

    def _forget_locks(self) -> None:
        self._cluster.coordinator.forget()
        self.turns.note('the coordinator forgets all locks')

    def _swallow(self) -> None:
        self._database.swallow_next = (
            self._random.uniform(0.5, 9) * sim_cluster.LEASE
        )

    def _hang(self) -> None:
        self._cluster.hang_next(
            self._random.uniform(0.5, 9) * sim_cluster.LEASE
        )

    def _pass_time(self) -> None:
        self.turns.now += self._random.uniform(0, 2) * sim_cluster.LEASE
        self.turns.disturbed_at = self.turns.now
        self._cluster.tell_time()

    def _check_recovery(self) -> None:
        """End the faults, and check that all requests end."""
        self.turns.note('no more faults')
        self._database.calm_down()
        self._cluster.hang_next(0.0)
        self.turns.refused_threads = 0
        calm_since = max(
            [
                self.turns.now,
                self._database.away_until,
                self._cluster.coordinator.away_until,
                *(
                    max(actor.process.stalled_until, actor.process.hangs_until)
                    for actor in self.turns.actors
                ),
            ]
        )
        end = calm_since + CALM
        for _step in range(CALM_STEPS):
            self._step()
            if self.turns.now >= end or (
                self._cluster.last_leader_round > calm_since
                and self._cluster.watch.is_settled()
                and self._are_workers_idle()
            ):
                break
        else:
            raise invariants.Violated(
                f'requests do not end in {CALM_STEPS} steps'
            )
        self._cluster.watch.check_end()
        self._check_workers()

    def _check_workers(self) -> None:
        late = self.turns.now - self._cluster.last_leader_round
        if late > 4 * sim_cluster.LEADER_PERIOD:
            raise invariants.Violated(
                f'no leader has worked for {late:.0f} seconds'
            )
        if not self._are_workers_idle():
            raise invariants.Violated('a worker has lost a thread')

    def _are_workers_idle(self) -> bool:
        """Return whether all threads of all workers are free.

        A worker takes one of them while it polls the queue.
        """
        workers = [process.worker for process in self._cluster.workers]
        return all(
            not one._in_progress
            and one._free_slots.value + one._holds_slot  # type: ignore[attr-defined]
            == sim_cluster.SETTINGS.threads
            for one in workers
        )
