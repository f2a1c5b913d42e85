# SPDX-License-Identifier: Apache-2.0

"""Threads that send many requests, with a progress bar."""

import argparse
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
from ironic_inspection_rules.terminal import progress

EXIT_INTERRUPTED = 130

_JOBS = 4
_MOST_JOBS = 64
_ATTEMPTS = 6
_LONGEST_WAIT = 10
_TRANSIENT = frozenset({429, 502, 503, 504})

Item = TypeVar('Item')
Result = TypeVar('Result')


class Requests:
    """Sends requests, some at a time, and again after a passing error.

    A context, which is left as soon as the requests that are under way end.
    """

    def __init__(self, jobs: int = _JOBS) -> None:
        self._stop = threading.Event()
        self._jobs = jobs
        self._pool = futures.ThreadPoolExecutor(jobs)
        self._bar = progress.bar(rich_progress.MofNCompleteColumn())

    def __enter__(self) -> 'Requests':
        self._bar.start()
        return self

    def __exit__(self, *_exc_info: Any) -> None:
        self._stop.set()
        self._bar.stop()
        self._pool.shutdown(cancel_futures=True)

    def each(self, function: Callable[[Item], Result],
             items: Sequence[Item], title: str,
             weigh: Callable[[Item], int] = lambda item: 1
             ) -> Iterator[Result]:
        """Call a function with each item, and return the results in order.

        :param function: is called again after an error that may pass.
        :param weigh: returns for how many an item counts at the bar.
        """
        persist = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            sleep=tenacity.sleep_using_event(self._stop),
            stop=(tenacity.stop_after_attempt(_ATTEMPTS)
                  | tenacity.stop_when_event_set(self._stop)),
            wait=tenacity.wait_random_exponential(max=_LONGEST_WAIT),
            reraise=True)
        task = self._bar.add_task(title, total=sum(map(weigh, items)))
        left = iter(items)
        running: deque[tuple[Item, futures.Future[Result]]] = deque()
        while True:
            # No more wait than are worked on: results are large.
            for item in itertools.islice(left, 2 * self._jobs
                                         - len(running)):
                running.append((item, self._pool.submit(
                    persist, function, item)))
            if not running:
                break
            item, future = running.popleft()
            yield future.result()
            self._bar.advance(task, weigh(item))
        self._bar.remove_task(task)

    def pause(self, seconds: float) -> None:
        """Wait; not for long when the work is to end."""
        self._stop.wait(seconds)


def is_transient(failure: BaseException) -> bool:
    """Check whether the same request may succeed in a while."""
    if isinstance(failure, sdk_exceptions.HttpException):
        return failure.status_code in _TRANSIENT
    if isinstance(failure, auth_exceptions.SSLError):
        return False
    return isinstance(failure, (auth_exceptions.ConnectionError,
                                requests.exceptions.JSONDecodeError))


def add_jobs(parser: Any) -> None:
    """Add the option for the number of threads."""
    parser.add_argument(
        '--jobs', metavar='<number>', type=_jobs, default=_JOBS,
        help=_('How many requests to make at a time (default: %d)') % _JOBS)


@contextlib.contextmanager
def interruptible(stderr: Any, message: str) -> Iterator[None]:
    """End an interrupted command with a message.

    :raises: SystemExit with the status of what a signal ended.
    """
    try:
        yield
    except KeyboardInterrupt:
        stderr.write(f'{message}\n')
        raise SystemExit(EXIT_INTERRUPTED) from None


def positive(text: str) -> int:
    """Read a number of the command line.

    :raises: ArgumentTypeError if it is none, or less than one.
    """
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(
            _('a number of at least 1 is expected'))
    return int(text)


def _jobs(text: str) -> int:
    return min(positive(text), _MOST_JOBS)
