# SPDX-License-Identifier: Apache-2.0

"""Send many requests in parallel, and retry them if the API is busy."""

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

# Numbers of parallel requests. More requests would only wait in the API.
_DEFAULT_JOBS = 4
_MAX_JOBS = 64
_MAX_ATTEMPTS = 6
_MAX_WAIT = 10
"""Maximum number of seconds between two attempts."""

_TRANSIENT = frozenset({429, 502, 503, 504})
"""HTTP statuses of an API that is overloaded or restarting."""

Item = TypeVar('Item')
Result = TypeVar('Result')


def _weigh_one(_item: Any) -> int:
    """Count every item as one step of the progress."""
    return 1


class RequestThreads:
    """Send requests in threads, and retry them after a transient error.

    This is a context manager. Leaving it ends pauses, drops requests that wait
    for a thread, and waits for requests that are being sent.

    :param jobs: the number of threads.
    """

    def __init__(self, jobs: int = _DEFAULT_JOBS) -> None:
        # This is set when the context is left, which ends all pauses.
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

        The calls are made in threads, and are shown in the progress bar. No
        call is made before the first result is requested. An error of a call
        is raised instead of its result, and no results follow.

        :param function: the function, which is called again after a transient
            error.
        :param weigh: returns the number of progress steps of an item.
        """
        # An interrupted command must not hang. Therefore pauses between
        # attempts end when the context is left, and no attempt follows.
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
        # Do not submit all items at once, because results wait in memory for
        # slower earlier results, and may be large.
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
        # SSLError is a subclass of ConnectionError, but a certificate that was
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
    """Parse a number of threads; larger numbers become 64."""
    return min(arguments.parse_positive(text), _MAX_JOBS)


@contextlib.contextmanager
def interruptible(stderr: Any, message: str) -> Iterator[None]:
    """End the command with a message if the user interrupts it.

    :raises: SystemExit with 130, the status of an interrupted command.
    """
    try:
        yield
    except KeyboardInterrupt:
        stderr.write(f'{message}\n')
        raise SystemExit(EXIT_INTERRUPTED) from None
