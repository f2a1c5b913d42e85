# SPDX-License-Identifier: Apache-2.0

"""The worker: takes requests from the queue and has each delivered."""

from collections.abc import Callable
import dataclasses
import math
import threading
import time

from oslo_log import log
from oslo_utils import uuidutils
import tenacity

from ironic_inspection_rules.coordination import watchdog
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


HOLDERS = (queue_request.DELIVERY_PREFIX, _PREFIX)
"""How the names begin that workers lock nodes in.

Earlier releases locked nodes in the names of workers.
"""


def is_holder(text: str) -> bool:
    """Return whether a worker has locked a node in this name."""
    return text.startswith(HOLDERS)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a worker works; times in seconds.

    ``threads`` requests are processed at once. An idle worker asks the queue
    every ``get_timeout``. ``retry_interval`` passes before anything is tried
    again. A queue out of reach is tried again for as long as the worker runs,
    after ``connection_retries`` times less often. Nobody vouches for a
    delivery for longer than ``time_limit``.
    """

    threads: int
    get_timeout: float
    lease: float
    max_attempts: int
    connection_retries: int
    retry_interval: float
    time_limit: float = 600.0


class _InHand:
    """A delivery under way, and since when; ``thread`` sees it through."""

    def __init__(self, request: queue_request.Request) -> None:
        self.request = request
        self.since = time.monotonic()
        self.thread: threading.Thread | None = None


class Worker:
    """Processes requests until it is stopped.

    Whatever hangs is found by a watchdog: a delivery that takes too long is
    not vouched for any more, and another thread takes the place of its own.

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
        self._stop = threading.Event()
        self._deliverer = delivery.Deliverer(
            requests, processor, settings.max_attempts,
            settings.retry_interval, self._stop.wait)
        self._settings = settings
        self._observe = observe
        self._bell = threading.Event()
        self._drained = threading.Event()
        self._in_hand: dict[str, _InHand] = {}
        self._free = threading.Semaphore(settings.threads)
        self._asks = False
        self._outage = watchdog.Outage(
            f'The queue of inspection worker {name}',
            settings.connection_retries)
        self._heart_trouble = watchdog.Outage(
            f'Keeping the leases of inspection worker {name}',
            settings.connection_retries)
        self._dispatcher = watchdog.Loop(
            'dispatcher', self._dispatch, self._stop, self._lose_dispatcher)
        self._heart_failed_at = -math.inf
        self._heart = watchdog.Loop(
            'heartbeat', self._send_heartbeat, self._drained)

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
        limit = self._settings.time_limit
        threading.Thread(
            target=watchdog.watch,
            args=(self._look_after_all, min(limit / 4, 10.0), self._drained),
            name='watchdog', daemon=True).start()
        self._heart.start()
        try:
            self._dispatcher.start()
            self._stop.wait()
            # All threads are free when nothing is in hand.
            for _thread in range(self._settings.threads):
                self._free.acquire()
        finally:
            self._drained.set()
            self._heart.join()
            LOG.info('Inspection worker %s has stopped', self.name)

    def _look_after_all(self) -> None:
        limit = self._settings.time_limit
        now = time.monotonic()
        for held in list(self._in_hand.values()):
            if now - held.since > limit:
                self._give_up(held)
        for loop in (self._dispatcher, self._heart):
            # A round of theirs waits for less than a lease.
            loop.look_after(max(limit, self._settings.lease))

    def _give_up(self, held: _InHand) -> None:
        """Stop vouching for a delivery, and go on without its thread."""
        if self._in_hand.pop(held.request.delivery, None) is None:
            return
        delivery.log_request(
            LOG.error, held.request,
            f'takes longer than {self._settings.time_limit:.0f} seconds and '
            f'is given up; it is at '
            f'{watchdog.place(held.thread) if held.thread else "its start"}')
        self._free.release()

    def _lose_dispatcher(self) -> None:
        if self._asks:
            self._asks = False
            self._free.release()

    def _dispatch(self) -> None:
        """Hand one request to a free thread, or wait."""
        if not self._free.acquire(timeout=self._settings.get_timeout):
            return
        self._bell.clear()
        generation = self._dispatcher.generation
        self._asks = True
        request = self._get()
        if generation != self._dispatcher.generation:
            # Another one has taken over, with what this one had.
            if request is not None:
                self._queue.retry(request, 0.0)
            return
        self._asks = False
        if request is None:
            self._free.release()
            if not self._stop.is_set():
                self._bell.wait(self._settings.get_timeout)
            return
        self._begin(request)

    def _begin(self, request: queue_request.Request) -> None:
        held = self._in_hand[request.delivery] = _InHand(request)
        thread = threading.Thread(target=self._take, args=(held,),
                                  name='delivery', daemon=True)
        try:
            thread.start()
        except RuntimeError as exc:
            del self._in_hand[request.delivery]
            self._free.release()
            self._outage.failed(exc)
            self._queue.retry(request, self._settings.retry_interval,
                              str(exc), of_surroundings=True)
            self._stop.wait(self._settings.retry_interval)
        else:
            held.thread = thread

    def _get(self) -> queue_request.Request | None:
        """Get a request, however long the queue is out of reach.

        :returns: None if there is none, or the worker is to stop.
        """
        def seconds_to_wait(retry_state: tenacity.RetryCallState) -> float:
            excess = (retry_state.attempt_number
                      - self._settings.connection_retries)
            return min(self._settings.retry_interval
                       * 2 ** min(max(excess, 0), 16), _MAX_RETRY_INTERVAL)

        def note_outage(retry_state: tenacity.RetryCallState) -> None:
            assert retry_state.outcome is not None
            failure = retry_state.outcome.exception()
            assert failure is not None
            self._dispatcher.note_life()
            self._outage.failed(failure)

        def ask() -> queue_request.Request | None:
            request = self._queue.get(self.name)
            self._outage.over()
            return request

        retrying = tenacity.Retrying(
            sleep=tenacity.sleep_using_event(self._stop),
            stop=tenacity.stop_when_event_set(self._stop),
            wait=seconds_to_wait, before_sleep=note_outage,
            retry_error_callback=lambda retry_state: None)
        return None if self._stop.is_set() else retrying(ask)

    def _take(self, held: _InHand) -> None:
        request = held.request
        try:
            outcome = self._deliverer.deliver(request)
            self._observe(outcome)
            # Nobody could vouch for it, which is no fault of the work. Not
            # so if only this process stalled: the work may have done that.
            if (outcome is delivery.Outcome.LOST
                    and self._heart_failed_at > held.since):
                self._queue.forgive(request)
        except Exception:
            LOG.exception('Delivery %s broke off; the request is delivered '
                          'again when its lease ends', request.delivery)
        finally:
            if self._in_hand.pop(request.delivery, None) is not None:
                self._free.release()

    def _send_heartbeat(self) -> None:
        """Keep the leases of what is in hand, also while stopping."""
        if self._drained.wait(self._settings.lease / 3):
            return
        held = [each.request for each in list(self._in_hand.values())]
        if not held:
            return
        try:
            lost = self._queue.heartbeat(held)
        # Whatever it is, the next heartbeat is due all the same.
        except Exception as exc:
            self._heart_failed_at = time.monotonic()
            self._heart_trouble.failed(exc)
            return
        self._heart_trouble.over()
        for request in held:
            if (request.delivery in lost
                    and request.delivery in self._in_hand):
                delivery.log_request(LOG.warning, request,
                                     'the lease was lost')
