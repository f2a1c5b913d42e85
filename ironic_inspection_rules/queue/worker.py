# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The worker: takes requests from the queue and has each delivered."""

from collections.abc import Callable
from concurrent import futures
import dataclasses
import threading

from oslo_log import log
from oslo_utils import uuidutils
import tenacity

from ironic_inspection_rules.coordination import outage
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import request as queue_request

LOG = log.getLogger(__name__)

_PREFIX = 'inspection-worker:'

_MAX_RETRY_INTERVAL = 10.0
"""Seconds; a queue that is back in reach is found within so many."""


def make_name(host: str) -> str:
    """Make a name that no other worker has, or will ever have.

    :param host: where the worker runs.
    """
    return f'{_PREFIX}{host}:{uuidutils.generate_uuid()}'


def is_holder(text: str) -> bool:
    """Whether a worker has locked a node in this name.

    Earlier releases locked nodes in the names of workers.
    """
    return text.startswith((queue_request.DELIVERY_PREFIX, _PREFIX))


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a worker works; times in seconds.

    ``threads`` requests are processed at once. An idle worker asks the queue
    every ``get_timeout``. ``retry_interval`` passes before anything is tried
    again. A node that others keep locked is waited for ``lock_timeout``. A
    queue out of reach is tried again for as long as the worker runs, after
    ``connection_retries`` times less often.
    """

    threads: int
    get_timeout: float
    lease: float
    max_attempts: int
    connection_retries: int
    retry_interval: float
    lock_timeout: float


class Worker:
    """Processes requests until it is stopped.

    :param name: see :func:`make_name`.
    :param requests: the queue.
    :param processor: what to do with a request.
    :param settings: how to go about it.
    :param observe: told how each delivery ended.
    """

    def __init__(self, name: str, requests: queue_request.Queue,
                 processor: delivery.Processor, settings: Settings,
                 observe: Callable[[delivery.Outcome], None] = (
                     lambda outcome: None)) -> None:
        self.name = name
        self._queue = requests
        self._deliverer = delivery.Deliverer(
            requests, processor, settings.max_attempts,
            settings.retry_interval, settings.lock_timeout)
        self._settings = settings
        self._observe = observe
        self._stop = threading.Event()
        self._bell = threading.Event()
        self._in_hand: dict[str, queue_request.Request] = {}
        self._free = threading.Semaphore(settings.threads)
        self._outage = outage.Outage(
            f'The queue of inspection worker {name}',
            settings.connection_retries)

    def wake(self) -> None:
        """Look for work at once."""
        self._bell.set()

    def stop(self) -> None:
        """Take no more requests; :meth:`run` returns when all are done."""
        self._stop.set()
        self._bell.set()

    def run(self) -> None:
        """Work until stopped, then finish what was begun."""
        LOG.info('Inspection worker %(worker)s starts with %(threads)d '
                 'threads', {'worker': self.name,
                             'threads': self._settings.threads})
        drained = threading.Event()
        heart = threading.Thread(target=self._send_heartbeats,
                                 args=(drained,), daemon=True)
        heart.start()
        try:
            with futures.ThreadPoolExecutor(self._settings.threads) as pool:
                while not self._stop.is_set():
                    self._dispatch(pool)
        finally:
            drained.set()
            heart.join()
            LOG.info('Inspection worker %s has stopped', self.name)

    def _dispatch(self, pool: futures.Executor) -> None:
        """Hand one request to a free thread, or wait."""
        if not self._free.acquire(timeout=self._settings.get_timeout):
            return
        self._bell.clear()
        request = self._get()
        if request is None:
            self._free.release()
            if not self._stop.is_set():
                self._bell.wait(self._settings.get_timeout)
            return
        self._in_hand[request.delivery] = request
        pool.submit(self._take, request)

    def _get(self) -> queue_request.Request | None:
        """Get a request, however long the queue is out of reach.

        :returns: None if there is none, or the worker is to stop.
        """
        retrying = tenacity.Retrying(
            sleep=tenacity.sleep_using_event(self._stop),
            stop=tenacity.stop_when_event_set(self._stop),
            wait=self._seconds_to_wait,
            before_sleep=self._note_outage,
            retry_error_callback=lambda retry_state: None)
        return None if self._stop.is_set() else retrying(self._ask)

    def _ask(self) -> queue_request.Request | None:
        request = self._queue.get(self.name)
        self._outage.over()
        return request

    def _seconds_to_wait(self, retry_state: tenacity.RetryCallState) -> float:
        excess = retry_state.attempt_number - self._settings.connection_retries
        return min(self._settings.retry_interval * 2 ** max(excess, 0),
                   _MAX_RETRY_INTERVAL)

    def _note_outage(self, retry_state: tenacity.RetryCallState) -> None:
        assert retry_state.outcome is not None
        failure = retry_state.outcome.exception()
        assert failure is not None
        self._outage.failed(failure)

    def _take(self, request: queue_request.Request) -> None:
        try:
            self._observe(self._deliverer.deliver(request))
        except Exception:
            LOG.exception('Delivery %s broke off; the request is delivered '
                          'again when its lease ends', request.delivery)
        finally:
            self._in_hand.pop(request.delivery)
            self._free.release()

    def _send_heartbeats(self, drained: threading.Event) -> None:
        """Keep the leases of what is in hand, also while stopping."""
        trouble = outage.Outage(
            f'Keeping the leases of inspection worker {self.name}',
            self._settings.connection_retries)
        while not drained.wait(self._settings.lease / 3):
            held = tuple(self._in_hand.values())
            if not held:
                continue
            try:
                lost = self._queue.heartbeat(held)
            # Whatever it is, the next heartbeat is due all the same.
            except Exception as exc:
                trouble.failed(exc)
                continue
            trouble.over()
            for request in held:
                if (request.delivery in lost
                        and request.delivery in self._in_hand):
                    delivery.log_request(LOG.warning, request,
                                         'the lease was lost')
