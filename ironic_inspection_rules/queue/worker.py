# SPDX-License-Identifier: Apache-2.0

"""The worker, which claims requests from the queue and processes them.

A request that a worker has claimed is a *delivery*. Every delivery runs in a
thread of its own, and occupies one *slot*; the number of slots limits how many
run at the same time. Three more threads belong to a worker:

* The *dispatcher* claims a request when a slot is free, and starts the thread
  of its delivery.
* The *heartbeat* renews the leases of all deliveries in progress. A request
  whose lease expires is delivered to another worker.
* The *watchdog* gives up deliveries that take too long, and replaces the
  threads of dispatcher and heartbeat if they hang.
"""

from collections.abc import Callable
import dataclasses
import functools
import math
import threading
import time

from oslo_log import log
from oslo_utils import uuidutils

from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import request as queue_request

LOG = log.getLogger(__name__)

_PREFIX = 'inspection-worker:'

_PAUSE = 0.5
"""Seconds between two checks of a condition on the deliveries in progress."""

_MAX_RETRY_INTERVAL = 10.0
"""Longest pause between two attempts to reach the queue, in seconds."""

_MOST_DOUBLINGS = 16
"""Maximum number of times that the pause between two attempts is doubled.

This many doublings exceed the longest pause even for the shortest one. Without
a limit, the power of two would overflow in an outage of many hours.
"""


def make_name(host: str) -> str:
    """Return a new unique name for a worker.

    :param host: name of the host that the worker runs on.
    """
    return f'{_PREFIX}{host}:{uuidutils.generate_uuid()}'


@dataclasses.dataclass(frozen=True)
class WorkerSettings:
    """Settings of a worker; times are in seconds.

    A worker processes up to ``threads`` requests at once. When it has nothing
    to do, it polls the queue every ``get_timeout`` seconds. A request is given
    up after ``max_attempts`` attempts. While the database is unreachable, the
    worker tries again after every ``retry_interval``; after
    ``connection_retries`` attempts, the intervals grow. If a delivery takes
    longer than ``time_limit``, its ``lease`` is no longer renewed.
    """

    threads: int
    get_timeout: float
    lease: float
    max_attempts: int
    connection_retries: int
    retry_interval: float
    time_limit: float = 600.0


@dataclasses.dataclass(eq=False)
class _OngoingDelivery:
    """A delivery in progress, with its start time and its thread.

    ``since`` is a time of the monotonic clock, in seconds. ``thread`` is None
    until the thread is created.
    """

    request: queue_request.Request
    since: float
    thread: threading.Thread | None = None


class Worker:
    """Processes requests until it is stopped.

    If a delivery takes longer than ``time_limit``, the watchdog gives it up:
    its lease is no longer renewed, and its slot is free for another delivery.

    :param name: the unique name of the worker, see :func:`make_name`.
    :param requests: the queue.
    :param lock: locks the node of a request for an attempt.
    :param observe: called with the outcome of every delivery; None to ignore
        the outcomes.
    :param claim: leases the next request to the worker whose name it gets;
        None to lease requests other than power-on requests.
    """

    def __init__(
        self,
        name: str,
        requests: database_queue.DatabaseQueue,
        lock: attempt.Lock,
        settings: WorkerSettings,
        observe: Callable[[delivery.Outcome], None] | None = None,
        claim: Callable[[str], queue_request.Request | None] | None = None,
    ) -> None:
        self.name = name
        self._queue = requests
        self._stop = threading.Event()
        self._lock = lock
        self._settings = settings
        self._observe = observe
        self._claim = claim
        # Set when the queue may have a new request.
        self._may_have_request = threading.Event()
        # Set when all deliveries are done. Until then, leases are renewed.
        self._drained = threading.Event()
        # The deliveries in progress, by name. The thread of a delivery removes
        # it when it is done, or the watchdog does if the thread hangs. The one
        # that removes it also frees its slot.
        self._in_progress: dict[str, _OngoingDelivery] = {}
        # The free slots. Every delivery in progress holds one slot, which
        # limits the number of deliveries at the same time.
        self._free_slots = threading.Semaphore(settings.threads)
        # Whether the dispatcher has taken a slot and waits for the queue. If
        # it hangs there, the watchdog frees the slot.
        self._holds_slot = False
        self._outage = watchdog.Outage(
            f'The queue of inspection worker {name}',
            settings.connection_retries,
        )
        self._heartbeat_outage = watchdog.Outage(
            f'Keeping the leases of inspection worker {name}',
            settings.connection_retries,
        )
        self._dispatcher = watchdog.WatchedLoop(
            'dispatcher',
            self._dispatch,
            self._stop,
            self._free_slot_of_dispatcher,
        )
        # When the last heartbeat failed, on the monotonic clock.
        self._heartbeat_failed_at = -math.inf
        self._heartbeat_loop = watchdog.WatchedLoop(
            'heartbeat', self._send_heartbeat, self._drained
        )

    def wake(self) -> None:
        """Poll the queue now."""
        self._may_have_request.set()

    def stop(self) -> None:
        """Stop claiming requests; :meth:`run` returns when all are done."""
        self._stop.set()
        self._may_have_request.set()

    def pause(self, seconds: float) -> bool:
        """Wait before a request can be claimed.

        :returns: whether the worker must stop; in this case the wait ends
            immediately.
        """
        # The watchdog must not take the wait for a hang of the dispatcher.
        self._dispatcher.record_heartbeat()
        return self._stop.wait(seconds)

    def run(self) -> None:
        """Process requests until stopped, then finish those in progress.

        This starts the other threads and waits for them. It returns after
        :meth:`stop`, when all deliveries are done or given up.

        :raises: RuntimeError if a thread cannot be started.
        """
        LOG.info(
            'Inspection worker %(worker)s starts with %(threads)d threads',
            {'worker': self.name, 'threads': self._settings.threads},
        )
        # The event may be set by an earlier run, which ended because a thread
        # could not be started.
        self._drained.clear()
        limit = self._settings.time_limit
        # Look several times before the limit, and at least every ten seconds.
        seconds_between_looks = min(limit / 4, 10.0)
        threading.Thread(
            target=watchdog.watch,
            args=(self._look_after_all, seconds_between_looks, self._drained),
            name='watchdog',
            daemon=True,
        ).start()
        try:
            self._heartbeat_loop.start()
            self._dispatcher.start()
            self._stop.wait()
            # Wait for the deliveries in progress: each of them frees its slot
            # when it is done, so all slots can be acquired when none is left.
            for _slot in range(self._settings.threads):
                self._free_slots.acquire()
        finally:
            self._drained.set()
            self._heartbeat_loop.join()
            LOG.info('Inspection worker %s has stopped', self.name)

    def _look_after_all(self) -> None:
        """Give up deliveries that take too long, and replace loops that hang.

        The watchdog calls this periodically.
        """
        limit = self._settings.time_limit
        now = time.monotonic()
        # Iterate over a copy, because deliveries end meanwhile.
        for ongoing in list(self._in_progress.values()):
            if now - ongoing.since > limit:
                self._give_up(ongoing)
        # One round of these two threads may take longer than the time limit
        # although nothing hangs: the heartbeat waits for a third of the lease,
        # and the dispatcher waits for get_timeout twice, for a slot and then
        # for a request.
        lease = self._settings.lease
        longest_wait = 2 * self._settings.get_timeout
        self._heartbeat_loop.restart_if_hung(max(limit, lease))
        self._dispatcher.restart_if_hung(max(limit, lease, longest_wait))

    def _give_up(self, ongoing: _OngoingDelivery) -> None:
        """Stop renewing the lease of a delivery, and free its slot.

        Another worker gets the request when the lease expires. The thread of
        the delivery cannot be ended, but from then on its writes to the
        database are refused.
        """
        # For the log: the line of code where the thread hangs.
        place = 'its start'
        if ongoing.thread is not None:
            place = watchdog.describe_place(ongoing.thread)
        was_in_progress = self._free_slot_of(ongoing)
        # Otherwise the delivery has just ended by itself.
        if was_in_progress:
            delivery.log_request(
                LOG.error,
                ongoing.request,
                f'takes longer than {self._settings.time_limit:.0f} seconds '
                f'and is given up; it is at {place}',
            )

    def _free_slot_of(self, ongoing: _OngoingDelivery) -> bool:
        """Free the slot of a delivery, and stop renewing its lease.

        Both the thread of the delivery and the watchdog may call this. Only
        the first call has an effect.

        :returns: whether this was the first call.
        """
        # The heartbeat renews the leases of the deliveries in this mapping.
        # pop() is atomic, so only one of two threads gets the delivery.
        if self._in_progress.pop(ongoing.request.delivery, None) is None:
            return False
        self._free_slots.release()
        return True

    def _free_slot_of_dispatcher(self) -> None:
        """Free the slot that the dispatcher has taken for the next request.

        This is called when the thread of the dispatcher hangs and is replaced.
        """
        if self._holds_slot:
            self._holds_slot = False
            self._free_slots.release()

    def _dispatch(self) -> None:
        """Wait for a free slot, claim a request and start its delivery.

        If no request is due, wait until the worker is woken, at most for
        ``get_timeout``. This is one round of the dispatcher, which repeats it
        until the worker stops.
        """
        has_slot = self._free_slots.acquire(timeout=self._settings.get_timeout)
        if not has_slot:
            # All slots are occupied. The next round waits again.
            return
        # Clear the event before asking the queue, so that wake() sets it again
        # for a request that is stored later.
        self._may_have_request.clear()
        # This number changes when the watchdog replaces the thread.
        generation = self._dispatcher.generation
        self._holds_slot = True
        request = self._claim_request()
        if generation != self._dispatcher.generation:
            # This thread has hung, and the watchdog has replaced it and freed
            # the slot. Because it has no slot, it returns the request.
            if request is not None:
                self._queue.retry(request, delay=0.0)
            return
        self._holds_slot = False
        if request is None:
            self._free_slots.release()
            if not self._stop.is_set():
                self._may_have_request.wait(self._settings.get_timeout)
            return
        self._start_delivery(request)

    def _start_delivery(self, request: queue_request.Request) -> None:
        """Start the thread of a delivery, which already has a slot.

        A request at its last attempt is delivered alone: this method waits
        until no other delivery is in progress, and then until this one is
        done, but never longer than :meth:`_hold_until` allows. The request is
        returned to the queue if the worker stops while it waits, or if its
        thread cannot start.
        """
        ongoing = _OngoingDelivery(request, time.monotonic())
        self._in_progress[request.delivery] = ongoing
        must_be_alone = self._must_be_delivered_alone(request)
        if must_be_alone:
            self._hold_until(self._has_one_delivery)
            # The time limit is for the work, not for the wait.
            ongoing.since = time.monotonic()
            if self._stop.is_set():
                self._give_back(ongoing, delay=0.0)
                return
        # Set it before the start, because the watchdog logs where it hangs.
        ongoing.thread = threading.Thread(
            target=self._deliver, args=(ongoing,), name='delivery', daemon=True
        )
        interval = self._settings.retry_interval
        try:
            ongoing.thread.start()
        except RuntimeError as exc:
            # The process cannot create more threads.
            self._outage.failed(exc)
            self._give_back(
                ongoing, interval, error=str(exc), is_external=True
            )
            self._stop.wait(interval)
            return
        if must_be_alone:
            self._hold_until(functools.partial(self._is_done, ongoing))

    def _must_be_delivered_alone(self, request: queue_request.Request) -> bool:
        """Return whether a request is at its last attempt, but not its first.

        It may have killed the processes of its earlier attempts. If it killed
        this process as well, all deliveries in progress would lose an attempt.
        A request without earlier attempts has not killed a process, even if
        "max_attempts" is one.
        """
        has_one_left = request.attempts == self._settings.max_attempts - 1
        return has_one_left and request.attempts > 0

    def _has_one_delivery(self) -> bool:
        return len(self._in_progress) == 1

    def _is_done(self, ongoing: _OngoingDelivery) -> bool:
        return ongoing.request.delivery not in self._in_progress

    def _give_back(
        self,
        ongoing: _OngoingDelivery,
        delay: float,
        error: str | None = None,
        is_external: bool = False,
    ) -> None:
        """Return a request whose delivery has not begun to the queue.

        :param delay: seconds until it may be claimed again.
        :param error: why it could not begin; None if the worker stops.
        :param is_external: whether the cause is outside of the request.
        """
        try:
            self._queue.retry(ongoing.request, delay, error, is_external)
        finally:
            # Free the slot last. A stopping worker waits for its slots: if the
            # slot were free earlier, the process might end before the request
            # is returned.
            self._free_slot_of(ongoing)

    def _hold_until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds or the worker stops.

        The dispatcher calls this, so no requests are taken meanwhile. The wait
        takes at most half a lease, or half the time limit if that is shorter,
        because a delivery that hangs must not block others.

        :param condition: called twice a second; returns True when requests can
            be taken again.
        """
        longest = min(self._settings.lease, self._settings.time_limit) / 2
        end = time.monotonic() + longest
        while not condition() and time.monotonic() < end:
            # Tell the watchdog that the dispatcher does not hang.
            self._dispatcher.record_heartbeat()
            if self._stop.wait(_PAUSE):
                return

    def _claim_request(self) -> queue_request.Request | None:
        """Claim a request; try again while the queue is unreachable.

        :returns: the request; None if no request is due, or the worker stops.
        """
        claim = self._claim or self._queue.get
        # The number of failed attempts in a row.
        failures = 0
        while not self._stop.is_set():
            try:
                request = claim(self.name)
            # Catch everything, because the next attempt may succeed.
            except Exception as exc:
                if self._stop.is_set():
                    # This is probably the error with which the throttle of
                    # power-ons ends its wait when the worker stops.
                    return None
                failures += 1
                self._outage.failed(exc)
                seconds = self._compute_pause(failures)
                self.pause(seconds)
                continue
            # Any answer of the queue ends an outage.
            self._outage.over()
            return request
        return None

    def _compute_pause(self, failures: int) -> float:
        """Return the pause after a failed attempt; it grows in a long outage.

        With an interval of one second and ten retries, the first ten pauses
        take one second, the next ones 2, 4 and 8 seconds, and all others ten.

        :param failures: number of failed attempts in a row.
        """
        excess = failures - self._settings.connection_retries
        doublings = min(max(excess, 0), _MOST_DOUBLINGS)
        interval = self._settings.retry_interval * 2**doublings
        return min(interval, _MAX_RETRY_INTERVAL)

    def _deliver(self, ongoing: _OngoingDelivery) -> None:
        """Carry out a delivery and free its slot.

        This is the function of the thread of the delivery.
        """
        request = ongoing.request
        try:
            current = delivery.Delivery(
                self._queue,
                request,
                self._lock,
                self._settings.max_attempts,
                self._settings.retry_interval,
                self._stop.wait,
            )
            outcome = current.carry_out()
            if self._observe is not None:
                self._observe(outcome)
            # If the lease is lost because a heartbeat has failed, the database
            # was unavailable, and the attempt does not count. If all
            # heartbeats succeeded, the process has stalled, perhaps because of
            # the work on this request, and the attempt counts.
            is_lost = outcome is delivery.Outcome.LOST
            has_heartbeat_failed = self._heartbeat_failed_at > ongoing.since
            if is_lost and has_heartbeat_failed:
                self._queue.uncount_attempt(request)
        # Log everything, because nobody would catch an error of this thread.
        except Exception:
            LOG.exception(
                'Delivery %s broke off; the request is delivered '
                'again when its lease ends',
                request.delivery,
            )
        finally:
            self._free_slot_of(ongoing)

    def _send_heartbeat(self) -> None:
        """Wait, then renew the leases of all deliveries in progress.

        This is one round of the heartbeat, which is repeated until all
        deliveries are done. If it fails, the time of the failure is stored for
        :meth:`_deliver`, and the next round tries again.
        """
        # Wait for a third of the lease, so that two heartbeats may fail before
        # a lease expires.
        is_drained = self._drained.wait(self._settings.lease / 3)
        if is_drained:
            return
        # Use a copy, because deliveries end meanwhile.
        in_progress = list(self._in_progress.values())
        requests = [ongoing.request for ongoing in in_progress]
        if not requests:
            return
        try:
            lost = self._queue.heartbeat(requests)
        # Catch everything, because a database driver may raise any error.
        except Exception as exc:
            self._heartbeat_failed_at = time.monotonic()
            self._heartbeat_outage.failed(exc)
            return
        self._heartbeat_outage.over()
        for request in requests:
            # A delivery that has ended meanwhile has no lease to lose.
            is_in_progress = request.delivery in self._in_progress
            if request.delivery in lost and is_in_progress:
                delivery.log_request(
                    LOG.warning, request, 'the lease was lost'
                )
