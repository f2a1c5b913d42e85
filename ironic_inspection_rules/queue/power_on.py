# SPDX-License-Identifier: Apache-2.0

"""Powers machines on for inspection, one at a time.

The conductor only stores a request; a worker powers the machine on. While a
machine waits it holds no thread of a conductor and no lock, and its timeout
does not count.
"""

from collections.abc import Callable, Iterator
import contextlib
import functools
import threading
import time
from typing import Any

from ironic.conf import CONF
from oslo_db.sqlalchemy import enginefacade
import tenacity

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request

LOCK = 'inspection-power-on'

HEARTBEAT = 0.5
"""Seconds between two requests to the coordinator, less than its lease."""


def install() -> None:
    """Prepare the conductor for the queue.

    After this, a new inspection of a node ends the open request of an earlier
    inspection. If ``[inspection_queue]reboot_throttle`` is set, the conductor
    stores a request instead of powering a machine on, and a worker powers it
    on.

    :raises: Invalid if ``[coordination]`` cannot be used.
    """
    options = CONF.inspection_queue
    if not options.enabled:
        return
    # A process that stalls in a transaction must not keep its locks for longer
    # than a lease, because other processes wait for them.
    transaction.limit_waits(enginefacade.writer.get_engine(), options.lease)
    requests = database_queue.DatabaseQueue(
        options.lease, node_reservation.stop_clock
    )

    def end_earlier_request(task: Any) -> None:
        requests.supersede(task.node.uuid)

    inspection.before_inspection(end_earlier_request)
    if options.reboot_throttle:
        coordinator.check(CONF)
        inspection.replace_power_on(
            functools.partial(requests.put, event=queue_request.POWER_ON)
        )


class Throttle:
    """Limits how often machines are powered on in the whole cluster.

    The interval passes before the power-on, while the lock is held. If a
    holder dies or loses its connection, it delays the others, but the interval
    is never shorter (spec 001 "HA reboot throttle").

    :param make_lock: builds a new connection for the lock of all hosts.
    :param interval: seconds between two power-ons.
    :param wait: waits for a number of seconds; returns True as soon as the
        process stops.
    :param retries: number of further attempts to reach the coordinator.
    :param retry_interval: seconds between two attempts.
    """

    def __init__(
        self,
        make_lock: Callable[[], coordinator.LeasedLock],
        interval: float,
        wait: Callable[[float], bool],
        retries: int,
        retry_interval: float,
    ) -> None:
        self._make_lock = make_lock
        self._interval = interval
        self._wait = wait
        self._retries = retries
        self._retry_interval = retry_interval
        self._outage = watchdog.Outage(
            'The coordination service of the reboot throttle '
            '([coordination]backend_url)',
            retries,
        )
        # The lock of all hosts does not exclude threads of the same process,
        # because they are the same member for the coordinator.
        self._lock_of_process = threading.Lock()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Acquire the lock and wait for the interval; release it at the end.

        While the coordinator is unreachable, this is tried again.

        :raises: Stopping if the process stops.
        :raises: TemporaryFailure if the coordinator stays unreachable.
        """
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(
                exceptions.TemporaryFailure
            ),
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=tenacity.wait_fixed(self._retry_interval),
            sleep=self._sleep,
            reraise=True,
        )
        # Usually a single thread powers machines on. But if the watchdog has
        # replaced a thread that hangs, the old thread may wake up again.
        while not self._lock_of_process.acquire(timeout=HEARTBEAT):
            # This raises Stopping if the process stops.
            self._sleep(0)
        try:
            held_lock = retrying(self._get_lock)
            # This releases the lock at its end.
            with held_lock:
                self._outage.over()
                yield
        finally:
            self._lock_of_process.release()

    def _get_lock(self) -> contextlib.ExitStack:
        """Acquire the lock and hold it for the whole interval.

        :returns: the context that releases the lock at its end.
        :raises: Stopping; TemporaryFailure if the lock was lost, or if the
            coordinator is unreachable.
        """
        try:
            # An error releases the lock at the end of this block.
            with contextlib.ExitStack() as stack:
                lock = stack.enter_context(self._make_lock())
                # Another host may hold the lock for an interval.
                while not lock.hold():
                    self._sleep(HEARTBEAT)
                end = time.monotonic() + self._interval
                remaining = end - time.monotonic()
                while remaining > 0:
                    self._sleep(min(HEARTBEAT, remaining))
                    # This renews the lease. It raises an error if another host
                    # may have had the lock; the next attempt then waits for a
                    # whole interval again.
                    lock.hold()
                    remaining = end - time.monotonic()
                # From now on the caller must release the lock, after it has
                # claimed a request.
                return stack.pop_all()
        except exceptions.Stopping:
            raise
        # Catch everything, because a tooz driver may raise any error.
        except Exception as exc:
            # This logs the first failure, and again if the outage is long.
            self._outage.failed(exc)
            raise exceptions.TemporaryFailure(
                _(
                    'The coordination service of [coordination]backend_url is '
                    'out of reach: %s'
                )
                % watchdog.one_line_reason(exc)
            ) from exc

    def _sleep(self, seconds: float) -> None:
        """Wait for a number of seconds.

        :raises: Stopping if the process stops.
        """
        if self._wait(seconds):
            raise exceptions.Stopping(
                _('The service stops before the machine could be powered on.')
            )


def claim(
    requests: database_queue.DatabaseQueue,
    make_turn: Callable[[], Any],
    worker: str,
) -> queue_request.Request | None:
    """Lease the next power-on request when the throttle allows it.

    :param make_turn: returns a context manager that waits until the next
        machine may be powered on, see :meth:`.Throttle.turn`.
    :raises: Stopping, TemporaryFailure
    """
    # Check this first, because without a request this host would hold the lock
    # for a whole interval in vain while other hosts wait for it.
    if not requests.is_any_power_on_due():
        return None
    with make_turn():
        return requests.get_power_on(worker)


def make_throttle(wait: Callable[[float], bool]) -> Throttle:
    """Build the throttle of the cluster from the options.

    :param wait: waits for a number of seconds; returns True as soon as the
        process stops.
    """
    make_lock = functools.partial(
        coordinator.LeasedLock,
        CONF.coordination.backend_url,
        CONF.host,
        LOCK,
        election.LEASE,
    )
    options = CONF.inspection_queue
    return Throttle(
        make_lock,
        options.reboot_throttle,
        wait,
        options.connection_retries,
        options.connection_retry_interval,
    )
