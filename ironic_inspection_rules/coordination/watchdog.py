# SPDX-License-Identifier: Apache-2.0

"""Replace threads that hang, and log outages only once.

A thread cannot be stopped from outside, and may wait forever for a connection,
a BMC, or a lock in a library. A thread that hangs is therefore abandoned, and
another thread continues with the next round. If the abandoned thread wakes up,
its results must not count: it compares ``generation``, or the fence refuses
its writes.
"""

from collections.abc import Callable
import sys
import threading
import time
import traceback

from oslo_log import log

from ironic_inspection_rules import exceptions

LOG = log.getLogger(__name__)

_MOST_CALLS = 12
"""Maximum number of calls of a stack that the log shows."""


def _lose_nothing() -> None:
    """Do nothing: by default, a round holds nothing that must be given up."""


class WatchedLoop:
    """A thread that calls a function in rounds until a stop is requested.

    A thread that hangs in a round is replaced.

    :param name: name of the thread, also used in the log.
    :param work: the function that runs one round.
    :param stop: set to end the loop after a round.
    :param give_up: called when a round hangs, before the next one begins in
        another thread.
    :ivar generation: number of threads that were given up. A thread has been
        given up if the number has changed since the thread started.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], None],
        stop: threading.Event,
        give_up: Callable[[], None] = _lose_nothing,
    ) -> None:
        """Prepare a loop; :meth:`start` starts its thread."""
        self._name = name
        self._work = work
        self._stop = stop
        self._give_up = give_up
        # The latest thread, and the monotonic time when its round began.
        self._thread: threading.Thread | None = None
        self._alive_at = 0.0
        # Whether that thread was given up, and no other could be started.
        self._is_given_up = False
        self.generation = 0

    def start(self) -> None:
        """Start the thread."""
        self.note_life()
        # Use a daemon, because a round may hang forever, and the end of the
        # process must not wait for it.
        thread = threading.Thread(
            target=self._work_in_rounds,
            args=(self.generation,),
            name=self._name,
            daemon=True,
        )
        thread.start()
        # Set only now, because a thread that has not started cannot be joined.
        self._thread = thread
        self._is_given_up = False

    def note_life(self) -> None:
        """Restart the time limit of the current round."""
        self._alive_at = time.monotonic()

    def join(self) -> None:
        """Wait until the thread has ended, unless it was given up."""
        if self._thread is not None and not self._is_given_up:
            self._thread.join()

    def look_after(self, limit: float) -> None:
        """Replace the thread if a round takes longer than ``limit`` seconds.

        Another thread calls it periodically, see :func:`watch`.

        The time counts from the last :meth:`note_life`, which every round
        calls when it begins. The old thread cannot be stopped; if it ever
        wakes up, it ends by itself. The resources that it holds are given up
        for it. If the new thread cannot be started, a call tries again after
        another ``limit``.
        """
        if self._thread is None or self._stop.is_set():
            return
        seconds_of_round = time.monotonic() - self._alive_at
        if seconds_of_round <= limit:
            return
        if not self._is_given_up:
            LOG.error(
                'The %(name)s of this process hangs for %(seconds)d '
                'seconds and is started anew; it is at %(place)s',
                {
                    'name': self._name,
                    'seconds': seconds_of_round,
                    'place': describe_place(self._thread),
                },
            )
            # Increase the generation first: an old thread that wakes up
            # afterwards knows that it was given up, and no longer uses what it
            # holds. Otherwise it could use resources that are already given
            # up.
            self.generation += 1
            self._give_up()
            self._is_given_up = True
        try:
            self.start()
        except RuntimeError as exc:
            LOG.error(
                'The %(name)s cannot be started yet: %(error)s',
                {'name': self._name, 'error': exc},
            )

    def _work_in_rounds(self, generation: int) -> None:
        """Work in rounds until a stop, or until this thread is given up.

        When a thread that hangs is given up, another thread takes its place,
        and the generation of the loop is increased. If the old thread wakes
        up, it sees this and ends.

        :param generation: the generation of the loop when this thread began.
        """
        while not self._stop.is_set() and generation == self.generation:
            self.note_life()
            try:
                self._work()
            # Continue the loop after a pause, because the next round may fail
            # too.
            except Exception:
                LOG.exception('A round of the %s broke off', self._name)
                self._stop.wait(1.0)


def watch(
    look_after_loops: Callable[[], None], period: float, stop: threading.Event
) -> None:
    """Check for loops that hang, until a stop is requested.

    :param look_after_loops: calls :meth:`WatchedLoop.look_after` of every
        loop.
    :param period: seconds between two checks.
    """
    while not stop.wait(period):
        look_after_loops()


def describe_place(thread: threading.Thread) -> str:
    """Return the last calls of a thread in one line, the innermost last.

    The log contains it for a thread that hangs, e.g.
    ``pymysql/cursors.py:153 execute > pymysql/connections.py:558 query``.
    Paths in site-packages are shortened; all other paths are complete.

    :returns: 'its end' for a thread that has ended, or has not begun.
    """
    # A thread that has not started has no identifier.
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return 'its end'
    calls = []
    for call in traceback.extract_stack(frame)[-_MOST_CALLS:]:
        filename = call.filename.rpartition('site-packages/')[2]
        calls.append(f'{filename}:{call.lineno} {call.name}')
    return ' > '.join(calls)


class Outage:
    """Logs the beginning and the end of an outage instead of every failure.

    The first failure of every class is logged as a warning, the failure after
    ``retries`` others as an error, and the first success afterwards as info.
    It may be used from several threads.

    :param what: the part that fails, for the log, with its option.
    :param retries: number of failures in a row before the error.
    """

    def __init__(self, what: str, retries: int) -> None:
        """Begin without an outage."""
        self._what = what
        self._retries = retries
        # The number of failures since the last success, and their classes. The
        # lock guards both.
        self._failures = 0
        self._kinds: set[type[BaseException]] = set()
        self._lock = threading.Lock()

    def failed(self, failure: BaseException, traceback: bool = False) -> None:
        """Count a failure, and log it if there is new information.

        The first failure of every class is logged as a warning, and the
        failure after the last retry as an error.

        :param traceback: whether the warning has a traceback; the error
            never has one.
        """
        with self._lock:
            self._failures += 1
            is_new = type(failure) not in self._kinds
            self._kinds.add(type(failure))
            failures = self._failures
        if failures == self._retries + 1:
            LOG.error(
                '%(what)s still fails after %(count)d retries: %(reason)s',
                {
                    'what': self._what,
                    'count': self._retries,
                    'reason': one_line_reason(failure),
                },
            )
        elif is_new:
            exc_info = None
            if traceback:
                exc_info = failure
            LOG.warning(
                '%(what)s failed and is tried again: %(reason)s',
                {'what': self._what, 'reason': one_line_reason(failure)},
                exc_info=exc_info,
            )

    def over(self) -> None:
        """End the outage, and log the end if there was an outage."""
        with self._lock:
            was_out = self._failures > 0
            self._failures = 0
            self._kinds.clear()
        if was_out:
            LOG.info('%s works again', self._what)


def one_line_reason(failure: BaseException) -> str:
    """Return the reason of a failure in one line, for the log.

    The error of a library may say less than its cause: for a missing file,
    tooz says "error opening file". The result is therefore the first line of
    the message of the cause. An error of this project is used as it is.
    """
    cause = failure
    if not isinstance(failure, exceptions.InspectionRulesError):
        cause = failure.__cause__ or failure
    return str(cause).partition('\n')[0] or repr(cause)
