# SPDX-License-Identifier: Apache-2.0

"""What fails is logged by its changes, and a loop that hangs goes on.

A thread cannot be ended from outside, and what it waits for may never answer:
a connection that swallows answers, a BMC, a lock in a library. So it is left
to itself, and another thread goes on with the next round. What the first one
does when it comes back must not count: it sees that there is another
``generation`` by then, or the fence refuses its writes.
"""

from collections.abc import Callable
import sys
import threading
import time
import traceback

from oslo_log import log

from ironic_inspection_rules import exceptions

LOG = log.getLogger(__name__)


class Loop:
    """A thread that does rounds until it is told to stop.

    One that hangs in a round is left to itself, and replaced: then there is
    another ``generation``.

    :param give_up: called when a round hangs, before the next one begins in
        another thread.
    """

    def __init__(self, name: str, work: Callable[[], None],
                 stop: threading.Event,
                 give_up: Callable[[], None] = lambda: None) -> None:
        self._name = name
        self._work = work
        self._stop = stop
        self._give_up = give_up
        self._thread: threading.Thread | None = None
        self._since = 0.0
        self.generation = 0

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self.note_life()
        self._thread = threading.Thread(
            target=self._run, args=(self.generation,), name=self._name,
            daemon=True)
        self._thread.start()

    def note_life(self) -> None:
        """Note that a round takes its time, and does not hang."""
        self._since = time.monotonic()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def look_after(self, limit: float) -> None:
        """Replace the thread if a round takes longer than ``limit``."""
        if self._thread is None or self._stop.is_set() or (
                time.monotonic() - self._since <= limit):
            return
        LOG.error('The %(name)s of this process hangs for %(seconds)d '
                  'seconds and is started anew; it is at %(place)s',
                  {'name': self._name, 'seconds': limit,
                   'place': place(self._thread)})
        self.generation += 1
        self._give_up()
        try:
            self.start()
        except RuntimeError as exc:
            LOG.error('The %(name)s cannot be started yet: %(error)s',
                      {'name': self._name, 'error': exc})

    def _run(self, generation: int) -> None:
        while not self._stop.is_set() and generation == self.generation:
            self.note_life()
            try:
                self._work()
            # It is the loop that has to go on.
            except Exception:
                LOG.exception('A round of the %s broke off', self._name)
                self._stop.wait(1.0)


def watch(loops: Callable[[], None], period: float,
          stop: threading.Event) -> None:
    """Look after loops until they are to stop.

    :param loops: looks after each, see :meth:`Loop.look_after`.
    """
    while not stop.wait(period):
        loops()


def place(thread: threading.Thread) -> str:
    """Return in one line where a thread is, outermost call first."""
    frame = sys._current_frames().get(getattr(thread, 'ident', 0))
    return ' > '.join(
        f'{each.filename.rpartition("site-packages/")[2]}:{each.lineno} '
        f'{each.name}' for each in traceback.extract_stack(frame)[-12:]
    ) if frame else 'its end'


class Outage:
    """Logs changes only, however often a connection is tried.

    The first failure is a warning, one that outlasts ``retries`` an error,
    and the first success after either is an info.

    :param what: fails, for the log; with the option that names it where
        there is one.
    :param retries: number of failures in a row that are followed by no more
        than the first warning.
    """

    def __init__(self, what: str, retries: int) -> None:
        self._what = what
        self._retries = retries
        self._failures = 0
        self._kinds: set[type[BaseException]] = set()
        self._lock = threading.Lock()

    @property
    def lasts(self) -> bool:
        """True if the last thing noted was a failure."""
        return bool(self._failures)

    def failed(self, failure: BaseException, traceback: bool = False) -> None:
        """Count a failure; log it if it is new, or one too many.

        :param traceback: whether a new one is logged with where it happened.
        """
        with self._lock:
            self._failures += 1
            is_new = type(failure) not in self._kinds
            self._kinds.add(type(failure))
            failures = self._failures
        if failures == self._retries + 1:
            LOG.error('%(what)s still fails after %(count)d retries: '
                      '%(reason)s',
                      {'what': self._what, 'count': self._retries,
                       'reason': reason(failure)})
        elif is_new:
            LOG.warning('%(what)s failed and is tried again: %(reason)s',
                        {'what': self._what, 'reason': reason(failure)},
                        exc_info=failure if traceback else None)

    def over(self) -> None:
        """Count a success; log it if there was a failure before."""
        with self._lock:
            failures, self._failures = self._failures, 0
            self._kinds.clear()
        if failures:
            LOG.info('%s works again', self._what)


def reason(failure: BaseException) -> str:
    """Return in one line why something failed.

    What a library made an error of says more than that error; our own errors
    say enough.
    """
    cause = failure
    if not isinstance(failure, exceptions.InspectionRulesError):
        cause = failure.__cause__ or failure
    return str(cause).partition('\n')[0] or repr(cause)
