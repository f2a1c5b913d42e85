# SPDX-License-Identifier: Apache-2.0

"""Replace threads that hang, and log outages only once.

A :class:`WatchedLoop` is a thread that calls a function again and again. One
call is a *round*. A round may hang, because it waits forever for a connection,
a BMC, or a lock in a library. Python cannot stop such a thread. The loop
therefore *gives up* the thread: it starts another thread for the next rounds,
and ignores the old thread.

The old thread may wake up later. The loop therefore has a ``generation``,
which is the number of threads that were given up. For example, it was 0 when
the old thread began, and is 1 when it wakes up. By this the thread recognizes
that it was given up, and ends.

An :class:`Outage` logs that a service fails, and that it works again, without
a message for every failure in between.
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


def _release_nothing() -> None:
    """Do nothing, because by default a round holds no resources."""


class WatchedLoop:
    """A thread that calls a function again and again, until a stop.

    A thread that hangs in a call (a round) is given up and replaced, see the
    module.

    :param name: name of the thread, also used in the log.
    :param work: the function that runs one round.
    :param stop: set to end the loop after a round.
    :param release: called when a thread is given up. It releases what the
        thread holds, e.g. a semaphore, so that the next thread can get it.
    :ivar generation: number of threads that were given up. A thread has been
        given up if the number has changed since the thread started.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], None],
        stop: threading.Event,
        release: Callable[[], None] = _release_nothing,
    ) -> None:
        """Prepare a loop without a thread, which :meth:`start` starts."""
        self._name = name
        self._work = work
        self._stop = stop
        self._release = release
        # The latest thread; None before the first start.
        self._thread: threading.Thread | None = None
        # The monotonic time when the round of that thread began.
        self._round_began_at = 0.0
        # True while that thread is given up, and its successor could not be
        # started yet.
        self._is_given_up = False
        self.generation = 0

    def start(self) -> None:
        """Start the first thread, or the thread after one that was given up.

        :raises: RuntimeError if the system cannot start another thread.
        """
        # The time limit of the first round begins here.
        self.record_heartbeat()
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

    def record_heartbeat(self) -> None:
        """Restart the time limit of the current round."""
        self._round_began_at = time.monotonic()

    def join(self) -> None:
        """Wait until the thread has ended, unless it was given up."""
        if self._thread is not None and not self._is_given_up:
            self._thread.join()

    def restart_if_hung(self, limit: float) -> None:
        """Replace the thread if its round takes longer than the limit.

        Another thread calls this periodically, see :func:`watch`.

        The old thread cannot be stopped. The loop releases what it holds, and
        starts a new thread. If the old thread wakes up, it ends by itself. If
        the new thread cannot be started, a later call tries it again, after
        another ``limit``.

        :param limit: in seconds, from the last :meth:`record_heartbeat`.
            A thread calls that when a round begins.
        """
        if self._thread is None or self._stop.is_set():
            return
        seconds_of_round = time.monotonic() - self._round_began_at
        if seconds_of_round <= limit:
            return
        # The thread hangs. If it was already given up, only the start of the
        # new thread is left to do.
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
            # Increase the generation before the release, because the old
            # thread may wake up at any time. It must see that it was given up,
            # so that it does not use what is released here.
            self.generation += 1
            self._release()
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

        This is the main function of the thread.

        :param generation: the generation of the loop when this thread began.
            If the loop has another one, this thread hung and was replaced, so
            it must end.
        """
        while not self._stop.is_set() and generation == self.generation:
            self.record_heartbeat()
            try:
                self._work()
            # A round that fails must not end the loop.
            except Exception:
                LOG.exception('A round of the %s broke off', self._name)
                # The next round may fail too, so do not fill the log.
                self._stop.wait(1.0)


def watch(
    look_after_loops: Callable[[], None], period: float, stop: threading.Event
) -> None:
    """Call a function periodically until a stop is requested.

    This is the function of the thread that watches others.

    :param look_after_loops: the function, which calls
        :meth:`WatchedLoop.restart_if_hung` of every loop.
    :param period: seconds between two calls.
    """
    while not stop.wait(period):
        look_after_loops()


def describe_place(thread: threading.Thread) -> str:
    """Return where a thread is in the code, as its last calls on one line.

    The log contains it for a thread that hangs. The innermost call is the
    last, e.g. ``pymysql/cursors.py:153 execute > pymysql/connections.py:558
    query``. Paths begin after ``site-packages/`` if they have such a part.

    :returns: ``its end`` for a thread that has ended, or has not begun.
    """
    # A thread that has not begun has no identifier. No thread has 0.
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return 'its end'
    last_calls = traceback.extract_stack(frame)[-_MOST_CALLS:]
    texts = []
    for call in last_calls:
        filename = call.filename.rpartition('site-packages/')[2]
        texts.append(f'{filename}:{call.lineno} {call.name}')
    return ' > '.join(texts)


class Outage:
    """Logs the beginning and the end of an outage instead of every failure.

    An outage is a series of failures without a success in between. The caller
    calls :meth:`failed` after a failure and :meth:`over` after a success. The
    log has:

    - a warning for the first failure of every exception class,
    - an error for the failure of the last retry,
    - an info for the success that ends the outage.

    Several threads may use the same outage.

    :param what: what fails, for the log, e.g. ``The database``.
    :param retries: number of retries; the error is logged when all of them
        have failed. The caller may continue to retry.
    """

    def __init__(self, what: str, retries: int) -> None:
        """Begin without an outage."""
        self._what = what
        self._retries = retries
        # Guards the two attributes below.
        self._lock = threading.Lock()
        # The number of failures since the last success.
        self._failures = 0
        # The classes of these failures.
        self._classes: set[type[BaseException]] = set()

    def failed(self, failure: BaseException, traceback: bool = False) -> None:
        """Count a failure, and log it if it says something new.

        - The failure of the last retry is logged as an error.
        - Another failure is logged as a warning if it is the first of its
          class in this outage.
        - All other failures are not logged.

        :param traceback: whether the warning has a traceback; the error
            never has one.
        """
        with self._lock:
            self._failures += 1
            is_first_of_class = type(failure) not in self._classes
            self._classes.add(type(failure))
            failures = self._failures
        # The first failure is not a retry.
        if failures == self._retries + 1:
            LOG.error(
                '%(what)s still fails after %(count)d retries: %(reason)s',
                {
                    'what': self._what,
                    'count': self._retries,
                    'reason': one_line_reason(failure),
                },
            )
        elif is_first_of_class:
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
            self._classes.clear()
        if was_out:
            LOG.info('%s works again', self._what)


def one_line_reason(failure: BaseException) -> str:
    """Return the reason of a failure in one line, for the log.

    It is the first line of a message:

    - For an error of this project, its own message.
    - For an error of a library, the message of its cause if it has one. The
      message of the error itself may say less: for a missing file, tooz says
      only "error opening file".

    An error without a message is shown as in Python, e.g. ``OSError()``.
    """
    shown_error = failure
    is_own_error = isinstance(failure, exceptions.InspectionRulesError)
    if not is_own_error and failure.__cause__ is not None:
        shown_error = failure.__cause__
    first_line = str(shown_error).partition('\n')[0]
    return first_line or repr(shown_error)
