# SPDX-License-Identifier: Apache-2.0

"""Powers machines on for inspection, one at a time.

``[inspection_queue]reboot_throttle`` is the number of seconds between two
power-ons in the whole cluster.

The conductor does not power a machine on, but stores a request with the event
"power-on". A worker claims the request when the :class:`Throttle` allows it,
and powers the machine on. While a request waits, it takes no thread of a
conductor and no lock of its node, and the timeout of the inspection is
stopped.
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
    """Make the conductor use the queue, if the queue is enabled.

    * When a new inspection of a node begins, the conductor ends the open
      request of an earlier inspection.
    * If ``[inspection_queue]reboot_throttle`` is set, the conductor stores a
      power-on request instead of powering a machine on.

    This replaces functions of Ironic in the running process.

    :raises: Invalid if the options of ``[coordination]`` cannot be used.
    """
    options = CONF.inspection_queue
    if not options.enabled:
        return
    # A process that stalls in a transaction must not keep its locks for longer
    # than a lease, because other processes wait for them.
    transaction.limit_waits(enginefacade.writer.get_engine(), options.lease)
    requests = database_queue.DatabaseQueue(
        options.lease, node_reservation.stop_timeout
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

    All hosts share one lock in the coordination service. A worker acquires the
    lock, holds it for the interval, and only then claims the request of one
    machine, which it powers on. If this worker dies or loses its connection
    meanwhile, the other hosts wait longer, but the time between two of these
    claims is never shorter (spec 001 "HA reboot throttle").

    :param make_lock: returns a context manager that connects to the
        coordination service; its ``hold()`` acquires or renews the lock of all
        hosts.
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
        """Wait until a machine may be powered on, and keep others waiting.

        The body of the ``with`` statement runs after the interval has passed,
        while this host holds the lock of all hosts. The lock is released at
        the end of the body. If the coordinator is unreachable, this is tried
        again, as often as ``retries`` allows.

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
            # Do not wait: this only raises Stopping if the process stops.
            self._sleep(0)
        try:
            held_lock = retrying(self._get_lock)
            # The end of this block releases the lock of all hosts.
            with held_lock:
                self._outage.over()
                yield
        finally:
            self._lock_of_process.release()

    def _get_lock(self) -> contextlib.ExitStack:
        """Acquire the lock of all hosts and hold it for the whole interval.

        :returns: a context manager whose end releases the lock.
        :raises: Stopping if the process stops; TemporaryFailure if the lock
            was lost, or if the coordinator is unreachable.
        """
        try:
            # After an error, the end of this block releases the lock.
            with contextlib.ExitStack() as stack:
                lock = stack.enter_context(self._make_lock())
                # hold() returns False while another host holds the lock.
                while not lock.hold():
                    self._sleep(HEARTBEAT)
                self._keep_lock(lock)
                # The end of this block releases nothing after this: the caller
                # gets the lock, and releases it after it has claimed a
                # request.
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

    def _keep_lock(self, lock: coordinator.LeasedLock) -> None:
        """Renew the lock of all hosts until the interval is over.

        :raises: Stopping if the process stops; an error of the lock if another
            host may have had it. The next attempt then waits for a whole
            interval again.
        """
        end = time.monotonic() + self._interval
        remaining = self._interval
        while remaining > 0:
            self._sleep(min(HEARTBEAT, remaining))
            lock.hold()
            remaining = end - time.monotonic()

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

    This takes at least the interval between two power-ons, unless no request
    is due.

    :param make_turn: returns a context manager that waits until the next
        machine may be powered on, see :meth:`.Throttle.turn`.
    :param worker: the name of the worker that gets the request.
    :returns: the request; None if no request is due, or none is due any more
        after the wait.
    :raises: Stopping if the process stops; TemporaryFailure if the
        coordinator of the throttle is unreachable.
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
