# SPDX-License-Identifier: Apache-2.0

"""Many requests at a time, sent again when the API is busy; ``--jobs``."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
import contextlib
import itertools
import threading
from typing import Any, TypeVar

from keystoneauth1 import exceptions as auth_exceptions
from openstack import exceptions as sdk_exceptions
import requests
from rich import progress as rich_progress
import tenacity

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.terminal import progress

EXIT_INTERRUPTED = 130

# Numbers of requests at a time: more would only wait in the API.
_DEFAULT_JOBS = 4
_MAX_JOBS = 64
_MAX_ATTEMPTS = 6
_MAX_WAIT = 10
"""Seconds between two attempts, at most."""

_TRANSIENT = frozenset({429, 502, 503, 504})
"""HTTP statuses that an overloaded or restarting API answers."""

Item = TypeVar('Item')
Result = TypeVar('Result')


def _weigh_one(_item: Any) -> int:
    """Let every item count as one step of the progress."""
    return 1


class RequestThreads:
    """Sends requests in threads, and sends them again after a transient error.

    A context manager. Leaving it ends pauses, drops requests that wait for a
    thread, and waits for those that are being sent.

    :param jobs: number of threads.
    """

    def __init__(self, jobs: int = _DEFAULT_JOBS) -> None:
        # Set when the context is left: it ends all pauses.
        self._stop = threading.Event()
        self._jobs = jobs
        self._pool = futures.ThreadPoolExecutor(jobs)
        self._bar = progress.build_bar(rich_progress.MofNCompleteColumn())

    def __enter__(self) -> 'RequestThreads':
        self._bar.start()
        return self

    def __exit__(self, *_exc_info: Any) -> None:
        self._stop.set()
        self._bar.stop()
        self._pool.shutdown(cancel_futures=True)

    def map(
        self,
        function: Callable[[Item], Result],
        items: Sequence[Item],
        title: str,
        weigh: Callable[[Item], int] = _weigh_one,
    ) -> Iterator[Result]:
        """Call a function with each item, and yield the results in order.

        The calls are made in threads, and shown in the progress bar. The first
        call waits until a result is asked for. An error of a call is raised
        in the place of its result, and no result follows.

        :param function: called again after a transient error.
        :param weigh: returns the progress that an item counts for.
        """
        # An interrupted command must not hang: pauses between two attempts
        # end when the context is left, and no attempt follows.
        call_until_done = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            sleep=tenacity.sleep_using_event(self._stop),
            stop=(
                tenacity.stop_after_attempt(_MAX_ATTEMPTS)
                | tenacity.stop_when_event_set(self._stop)
            ),
            wait=tenacity.wait_random_exponential(max=_MAX_WAIT),
            reraise=True,
        )
        task = self._bar.add_task(title, total=sum(map(weigh, items)))
        # Not all items are submitted at once: results wait in memory for a
        # slow result before them, and may be large.
        max_submitted = 2 * self._jobs
        not_submitted = iter(items)
        submitted: deque[tuple[Item, futures.Future[Result]]] = deque()
        while True:
            room = max_submitted - len(submitted)
            for item in itertools.islice(not_submitted, room):
                future = self._pool.submit(call_until_done, function, item)
                submitted.append((item, future))
            if not submitted:
                break
            item, future = submitted.popleft()
            yield future.result()
            self._bar.advance(task, weigh(item))
        self._bar.remove_task(task)

    def pause(self, seconds: float) -> None:
        """Wait for some time, or until the context is left."""
        self._stop.wait(seconds)


def is_transient(failure: BaseException) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(failure, sdk_exceptions.HttpException):
        return failure.status_code in _TRANSIENT
    if isinstance(failure, auth_exceptions.SSLError):
        # It counts as an error of the connection, but a certificate that is
        # refused once is refused again.
        return False
    return isinstance(
        failure,
        (auth_exceptions.ConnectionError, requests.exceptions.JSONDecodeError),
    )


def add_jobs(parser: Any) -> None:
    """Add the option for the number of threads."""
    parser.add_argument(
        '--jobs',
        metavar='<number>',
        default=_DEFAULT_JOBS,
        type=_parse_jobs,
        help=_('Number of parallel requests (default: %d)') % _DEFAULT_JOBS,
    )


def _parse_jobs(text: str) -> int:
    """Parse a number of threads, 64 at most."""
    return min(arguments.parse_positive(text), _MAX_JOBS)


@contextlib.contextmanager
def interruptible(stderr: Any, message: str) -> Iterator[None]:
    """End the command with a message if the user interrupts it.

    :raises: SystemExit with the status of an interrupted command, 130.
    """
    try:
        yield
    except KeyboardInterrupt:
        stderr.write(f'{message}\n')
        raise SystemExit(EXIT_INTERRUPTED) from None
