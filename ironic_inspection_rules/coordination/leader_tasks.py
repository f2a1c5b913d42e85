# SPDX-License-Identifier: Apache-2.0

"""Periodic tasks of which a cluster needs one round at a time."""

from collections.abc import Callable
from collections.abc import Iterable
import threading

from oslo_db import exception as db_exc

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import outage
from ironic_inspection_rules.coordination import watchdog

_RETRIES = 10
"""Failures in a row, of any tasks, after which one is an error in the log."""


class LeaderTasks:
    """Carries out tasks again and again while this process leads.

    A task that is under way when leadership ends is finished, no other is
    begun (spec 001 "HA singleton periodic task decomposition").

    :param make_election: makes the election, told whom to call when this
        process has become the leader and when it no longer is.
    :param tasks: what to do in each round, in this order.
    :param period: seconds between two rounds.
    :param limit: seconds after which a round hangs, and is left to itself.
    """

    def __init__(self,
                 make_election: Callable[..., election.Election],
                 tasks: Iterable[Callable[[], None]],
                 period: float, limit: float = 600.0) -> None:
        self._election = make_election(on_gained=self._begin,
                                       on_lost=self._end)
        self._tasks = tuple(tasks)
        self._period = period
        self._limit = limit
        self._trouble = outage.Outage('A periodic task of the leader',
                                      _RETRIES)
        self._reset = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Take part in the election, and work when elected, until stopped.

        :param stop: set to end.
        """
        self._election.run(stop)

    def _begin(self) -> None:
        self._reset = reset = threading.Event()
        loop = watchdog.Loop('leader tasks', lambda: self._work(reset), reset)
        loop.start()
        limit = max(self._limit, 2 * self._period)
        threading.Thread(
            target=watchdog.watch,
            args=(lambda: loop.look_after(limit), min(limit / 4, 10.0), reset),
            name='watchdog', daemon=True).start()

    def _end(self) -> None:
        self._reset.set()

    def _work(self, reset: threading.Event) -> None:
        failures = [self._carry_out(task) for task in self._tasks
                    if self._election.is_leader and not reset.is_set()]
        if not any(failures):
            self._trouble.over()
        reset.wait(self._period)

    def _carry_out(self, task: Callable[[], None]) -> bool:
        """Carry out one task.

        :returns: whether it failed; the others get their turn all the same.
        """
        try:
            task()
        # Whatever it is may be better in the next round.
        except Exception as exc:
            is_database = isinstance(exc, db_exc.DBError)
            self._trouble.failed(exc, traceback=not is_database)
            return True
        return False
