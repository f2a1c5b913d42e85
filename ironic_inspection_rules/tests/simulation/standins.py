# SPDX-License-Identifier: Apache-2.0

"""Stand-ins for threading, time, queue and futures."""

from collections.abc import Callable
from concurrent import futures
import contextlib
import queue as real_queue
import threading as real_threading
import types
from typing import Any

from ironic_inspection_rules.tests.simulation import scheduler

Empty = real_queue.Empty


class Local:
    """See :class:`threading.local`.

    :param current: returns the running thread, None for the test itself.
    """

    def __init__(self, current: Callable[[], scheduler.Actor | None]) -> None:
        self.__dict__['_current'] = current
        self.__dict__['_own'] = {}

    def _space(self) -> dict[Any, Any]:
        actor = self._current()
        return self._own if actor is None else actor.local.setdefault(self, {})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._space()[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._space()[name] = value

    def __delattr__(self, name: str) -> None:
        del self._space()[name]


class Threading:
    """The parts of ``threading`` that modules use, on the scheduler.

    :param turns: the scheduler.
    """

    current_thread = staticmethod(real_threading.current_thread)
    Lock = staticmethod(real_threading.Lock)
    local = real_threading.local

    def __init__(self, turns: scheduler.Scheduler) -> None:
        self._turns = turns

    def Event(self) -> 'Event':
        """See :class:`threading.Event`."""
        return Event(self._turns)

    def Semaphore(self, value: int = 1) -> 'Semaphore':
        """See :class:`threading.Semaphore`."""
        return Semaphore(self._turns, value)

    def Condition(self) -> 'Condition':
        """See :class:`threading.Condition`."""
        return Condition(self._turns)

    def Thread(
        self,
        target: Callable[..., Any],
        args: tuple = (),
        name: str = 'thread',
        daemon: bool = False,
    ) -> 'Thread':
        """See :class:`threading.Thread`."""
        return Thread(self._turns, lambda: target(*args), name)


class Event:
    """See :class:`threading.Event`."""

    def __init__(self, turns: scheduler.Scheduler) -> None:
        self._turns = turns
        self._is_set = False

    def is_set(self) -> bool:
        """See :meth:`threading.Event.is_set`."""
        return self._is_set

    def set(self) -> None:
        """See :meth:`threading.Event.set`."""
        self._is_set = True

    def clear(self) -> None:
        """See :meth:`threading.Event.clear`."""
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """See :meth:`threading.Event.wait`."""
        return self._turns.pause(self.is_set, timeout)


class Semaphore:
    """See :class:`threading.Semaphore`."""

    def __init__(self, turns: scheduler.Scheduler, value: int) -> None:
        self._turns = turns
        self.value = value

    def acquire(self, timeout: float | None = None) -> bool:
        """See :meth:`threading.Semaphore.acquire`."""
        if not self._turns.pause(lambda: self.value > 0, timeout):
            return False
        self.value -= 1
        return True

    def release(self) -> None:
        """See :meth:`threading.Semaphore.release`."""
        self.value += 1


class Condition(contextlib.AbstractContextManager):
    """See :class:`threading.Condition`; never held during a pause."""

    def __init__(self, turns: scheduler.Scheduler) -> None:
        self._turns = turns

    def __exit__(self, *exc_info: Any) -> None:
        """See :class:`threading.Condition`."""

    def notify_all(self) -> None:
        """See :meth:`threading.Condition.notify_all`."""

    def wait_for(
        self, predicate: Callable[[], bool], timeout: float | None = None
    ) -> bool:
        """See :meth:`threading.Condition.wait_for`."""
        return self._turns.pause(predicate, timeout)


class SimpleQueue:
    """See :class:`queue.SimpleQueue`."""

    def __init__(self, turns: scheduler.Scheduler) -> None:
        self._turns = turns
        self._items: list[Any] = []

    def put(self, item: Any) -> None:
        """See :meth:`queue.SimpleQueue.put`."""
        self._items.append(item)

    def get(self, timeout: float | None = None) -> Any:
        """See :meth:`queue.SimpleQueue.get`."""
        self._turns.pause(lambda: bool(self._items), timeout)
        return self.get_nowait()

    def get_nowait(self) -> Any:
        """See :meth:`queue.SimpleQueue.get_nowait`."""
        if not self._items:
            raise real_queue.Empty()
        return self._items.pop(0)


class Thread:
    """See :class:`threading.Thread`; runs in the process that starts it."""

    ident = None

    def __init__(
        self, turns: scheduler.Scheduler, target: Callable[[], Any], name: str
    ) -> None:
        self._turns = turns
        self._target = target
        self._name = name
        self._actor: scheduler.Actor | None = None

    def start(self) -> None:
        """See :meth:`threading.Thread.start`."""
        assert self._turns.current is not None
        if self._turns.refused_threads and self._name == 'delivery':
            self._turns.refused_threads -= 1
            self._turns.note('a thread cannot start')
            raise RuntimeError("can't start new thread")
        self._actor = self._turns.spawn(
            self._name, self._turns.current.process, self._target
        )

    def is_alive(self) -> bool:
        """See :meth:`threading.Thread.is_alive`."""
        return self._actor is not None and not self._actor.done

    def join(self, timeout: float | None = None) -> None:
        """See :meth:`threading.Thread.join`."""
        self._turns.pause(lambda: not self.is_alive(), timeout)


def make_futures(
    turns: scheduler.Scheduler, strict: bool = False
) -> types.SimpleNamespace:
    """Build the stand-in for ``concurrent.futures``.

    :param strict: whether an error in a submitted function also fails the
        schedule.
    """

    class ThreadPoolExecutor(contextlib.AbstractContextManager):
        def __init__(self, max_workers: int) -> None:
            self._threads: list[Thread] = []

        def submit(
            self, function: Callable[..., Any], *args: Any
        ) -> futures.Future:
            future: futures.Future = futures.Future()
            thread = Thread(
                turns,
                lambda: _set_result(strict, future, function, *args),
                function.__name__,
            )
            self._threads.append(thread)
            thread.start()
            return future

        def __exit__(self, *exc_info: Any) -> None:
            for thread in self._threads:
                thread.join()

    return types.SimpleNamespace(
        ThreadPoolExecutor=ThreadPoolExecutor, Executor=ThreadPoolExecutor
    )


def _set_result(
    strict: bool,
    future: futures.Future,
    function: Callable[..., Any],
    *args: Any,
) -> None:
    try:
        future.set_result(function(*args))
    except Exception as exc:
        future.set_exception(exc)
        if strict:
            raise


def make_time(turns: scheduler.Scheduler) -> types.SimpleNamespace:
    """Build the stand-in for ``time``."""
    return types.SimpleNamespace(
        monotonic=lambda: turns.now,
        sleep=lambda seconds: turns.pause(lambda: False, seconds),
    )
