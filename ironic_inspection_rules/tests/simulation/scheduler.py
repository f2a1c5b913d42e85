# SPDX-License-Identifier: Apache-2.0

"""A scheduler of simulated threads, in an order that a random seed determines.

The threads of the simulated processes are greenlets; one runs until it pauses.
It pauses whenever it waits or uses something that processes share. After each
pause the scheduler chooses the next thread. A schedule is the sequence of its
choices, and the same seed makes the same ones.
"""

from collections.abc import Callable
import random
from typing import Any

import greenlet

NEVER = -1e9
"""A time long before the schedule."""


class Killed(BaseException):
    """The process was killed; ends a thread of it."""


class Process:
    """A simulated process; its threads are killed or stall together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.killed = False
        self.stalled_until = self.hangs_until = NEVER


class Actor:
    """A thread of a process.

    ``ready`` returns whether it can go on; at ``deadline``, a simulated time,
    it goes on anyway.
    """

    def __init__(
        self, name: str, process: Process, target: Callable[[], Any], test: Any
    ) -> None:
        self.name = name
        self.process = process
        self.target = target
        self.ready: Callable[[], bool] | None = None
        self.deadline: float | None = None
        self.done = False
        self.error: BaseException | None = None
        self.turn: Any = greenlet.greenlet(self._run, test)
        self.local: dict[Any, Any] = {}

    def _run(self) -> None:
        try:
            if not self.process.killed:
                self.target()
        except Killed:
            pass
        except BaseException as exc:
            self.error = exc
        finally:
            self.done = True


class Scheduler:
    """Chooses the thread that runs next; see the module.

    :param seed: determines all choices.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.steps = 0
        self.actors: list[Actor] = []
        self.current: Actor | None = None
        self.last: Process | None = None
        self.trace: list[str] = []
        self.refused_threads = 0
        self._test = greenlet.getcurrent()
        self.disturbed_at = NEVER
        self.before_time_passes: Callable[[], None] = lambda: None
        self.soon: list[Callable[[], None]] = []
        """Functions to call before the next step, e.g. to kill a process."""

    def spawn(
        self, name: str, process: Process, target: Callable[[], Any]
    ) -> Actor:
        """Start a thread; it runs when it is chosen."""
        actor = Actor(name, process, target, self._test)
        self.actors.append(actor)
        return actor

    def pause(
        self,
        ready: Callable[[], bool] | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Let other threads run until this one is chosen again.

        :param ready: returns whether it may be chosen; None for always.
        :param timeout: seconds after which it may be chosen anyway.
        :returns: the result of ``ready``, True without it.
        :raises: Killed if the process is killed meanwhile.
        """
        actor = self.current
        if actor is None:
            return ready is None or ready()
        if actor.process.killed:
            raise Killed()
        actor.ready = ready
        actor.deadline = None if timeout is None else self.now + timeout
        self._test.switch()
        if actor.process.killed:
            raise Killed()
        return ready is None or ready()

    def note(self, text: str) -> None:
        """Add a line to the trace of this schedule."""
        name = (
            f'{self.current.process.name}/{self.current.name}'
            if self.current
            else '-'
        )
        self.trace.append(f'{self.now:8.1f} {name}: {text}')

    def runnable(self) -> list[Actor]:
        """Return the threads that can go on now."""
        return [
            actor
            for actor in self.actors
            if not actor.done
            and actor.process.stalled_until <= self.now
            and (
                actor.ready is None
                or actor.ready()
                or (actor.deadline is not None and actor.deadline <= self.now)
            )
        ]

    def step(self) -> bool:
        """Run one thread to its next pause; if none can run, let time pass.

        :returns: whether anything was left to do.
        """
        self.steps += 1
        while self.soon:
            self.soon.pop()()
        runnable = self.runnable()
        if not runnable:
            self.before_time_passes()
            runnable = self.runnable()
        if runnable:
            self.run(self.random.choice(runnable))
            return True
        return self.pass_time()

    def pass_time(self) -> bool:
        """Let time pass until a thread can go on."""
        times = [
            actor.process.stalled_until
            for actor in self.actors
            if not actor.done
        ]
        times += [
            max(actor.deadline, actor.process.stalled_until)
            for actor in self.actors
            if not actor.done and actor.deadline is not None
        ]
        later = [time for time in times if time > self.now]
        if later:
            self.now = min(later)
        return bool(later)

    def run(self, actor: Actor) -> None:
        """Run one thread to its next pause."""
        self.current = actor
        self.last = actor.process
        actor.turn.switch()
        self.current = None
        if actor.done:
            self.actors.remove(actor)
            # A delay by this thread still counts after its end.
            self.disturbed_at = max(
                self.disturbed_at,
                actor.process.stalled_until,
                actor.process.hangs_until,
            )
            if actor.error is not None:
                raise AssertionError(
                    f'thread {actor.process.name}/{actor.name} died'
                ) from actor.error

    def kill(self, process: Process) -> None:
        """Kill a process: end all its threads."""
        self.note(f'{process.name} is killed')
        process.killed = True
        for actor in [one for one in self.actors if one.process is process]:
            while not actor.done:
                self.current = actor
                actor.turn.switch()
            self.actors.remove(actor)
        self.current = None

    def end(self) -> None:
        """Kill all processes."""
        while self.actors:
            self.kill(self.actors[0].process)
