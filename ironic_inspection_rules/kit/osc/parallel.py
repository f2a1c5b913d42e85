# SPDX-License-Identifier: Apache-2.0

"""Send many requests in parallel, and retry them if the API is busy.

A command that reads or changes many nodes calls one function per node, in a
few threads. An error is transient if the same request may succeed later, e.g.
the status 503 of an API that is restarting. After a transient error the
function is called again, up to six times in all.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
import contextlib
import itertools
import threading
from typing import Any, TypeVar

from keystoneauth1 import exceptions as auth_exceptions
from openstack import exceptions as sdk_exceptions
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
"""Maximum number of calls for one item, including the first call."""

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

    This is a context manager, and shows a progress bar inside its block. At
    the end of the block, e.g. after an interrupt, pauses end at once, requests
    that wait for a thread are dropped, and running requests are awaited.

    :param jobs: the number of threads.
    """

    def __init__(self, jobs: int = _DEFAULT_JOBS) -> None:
        # This is set at the end of the block, and ends all pauses.
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

        The calls are made in threads. After a transient error, a call is
        repeated. Any other error is raised instead of the result, and ends the
        iteration. No call is made before the first result is requested.

        :param function: sends the requests for one item, and returns a result.
        :param title: the text in front of the progress bar.
        :param weigh: returns how far an item advances the progress bar, e.g.
            the number of nodes of a page. By default every item counts as 1.
        """
        # An interrupted command must not hang. Therefore the end of the block
        # also ends the pauses between attempts, and no attempt follows.
        call_with_retries = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            sleep=tenacity.sleep_using_event(self._stop),
            stop=(
                tenacity.stop_after_attempt(_MAX_ATTEMPTS)
                | tenacity.stop_when_event_set(self._stop)
            ),
            wait=tenacity.wait_random_exponential(max=_MAX_WAIT),
            reraise=True,
        )
        total_weight = sum(map(weigh, items))
        task = self._bar.add_task(title, total=total_weight)
        # Results may be large, and wait in memory until all earlier results
        # are there. Therefore only a few items are submitted ahead: enough to
        # keep all threads busy.
        max_submitted = 2 * self._jobs
        not_submitted = iter(items)
        submitted: deque[tuple[Item, futures.Future[Result]]] = deque()
        while True:
            # Replace the calls that are done by new calls.
            free_places = max_submitted - len(submitted)
            for item in itertools.islice(not_submitted, free_places):
                future = self._pool.submit(call_with_retries, function, item)
                submitted.append((item, future))
            if not submitted:
                # All results have been yielded.
                break
            # Wait for the oldest call, because results are yielded in order.
            item, future = submitted.popleft()
            yield future.result()
            self._bar.advance(task, weigh(item))
        self._bar.remove_task(task)

    def pause(self, seconds: float) -> None:
        """Wait for some time, but at most until the end of the block."""
        self._stop.wait(seconds)


def is_transient(failure: BaseException) -> bool:
    """Return whether the same request may succeed later.

    This holds for some statuses, e.g. 503, and if the connection fails. It
    does not hold for an invalid certificate.

    :param failure: the error of a request.
    """
    if isinstance(failure, sdk_exceptions.HttpException):
        return failure.status_code in _TRANSIENT
    if isinstance(failure, auth_exceptions.SSLError):
        # This is a subclass of ConnectionError, but the certificate will be
        # refused again.
        return False
    return isinstance(failure, auth_exceptions.ConnectionError)


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
    """Parse a number of threads; a number above 64 becomes 64."""
    return min(arguments.parse_positive(text), _MAX_JOBS)


@contextlib.contextmanager
def interruptible(stderr: Any, message: str) -> Iterator[None]:
    """End the command with a message if the user interrupts it.

    This is a context manager around the part of a command that takes long.

    :param stderr: the stream for the message.
    :raises: SystemExit with 130, the status of an interrupted command.
    """
    try:
        yield
    except KeyboardInterrupt:
        # The traceback would not help the user.
        stderr.write(f'{message}\n')
        raise SystemExit(EXIT_INTERRUPTED) from None
