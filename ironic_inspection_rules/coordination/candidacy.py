# SPDX-License-Identifier: Apache-2.0

"""What one member does to become, and to stay, the only leader."""

from collections.abc import Callable
import dataclasses
import threading
import time

import tenacity

from ironic_inspection_rules.coordination import leased_lock
from ironic_inspection_rules.coordination import outage
from ironic_inspection_rules.i18n import _


class _LeaseExpired(Exception):
    """A confirmation came when the time of the last one was over."""


@dataclasses.dataclass(frozen=True)
class Leadership:
    """When a holder of the lock may act as leader, in clock seconds.

    :param since: from when on no earlier leader can be acting any more.
    :param until: from when on another member may hold the lock.
    """

    since: float
    until: float

    def remaining(self, now: float) -> float:
        """Seconds left to act as leader, 0.0 for none."""
        return max(self.until - now, 0.0) if now >= self.since else 0.0


class Candidacy:
    """Gets and keeps the lock of an election, in a thread of its own.

    Good for one time. A thread that hangs when it is told to leave can
    change nothing any more but the candidacy that it belongs to.

    :param make_lock: makes a new connection for the lock.
    :param lease: seconds that one confirmation is good for.
    :param heartbeat: seconds between two questions to the coordinator.
    :param retry_interval: seconds between two tries to reach it.
    :param coordinator: what the log tells about that.
    """

    def __init__(self, make_lock: Callable[[], leased_lock.LeasedLock],
                 lease: float, heartbeat: float, retry_interval: float,
                 coordinator: outage.Outage) -> None:
        self._make_lock = make_lock
        self._lease = lease
        self._heartbeat = heartbeat
        self._retry_interval = retry_interval
        self._coordinator = coordinator
        self._leave = threading.Event()
        self.changed = threading.Event()
        self.leadership: Leadership | None = None

    def leave(self) -> None:
        """Have the lock freed, as soon as the coordinator answers."""
        self._leave.set()

    def run(self) -> None:
        """Ask the coordinator again and again, until told to leave."""
        retrying = tenacity.Retrying(
            # What a driver cannot translate it lets through: anything.
            retry=tenacity.retry_if_exception_type(Exception),
            stop=tenacity.stop_when_event_set(self._leave),
            wait=tenacity.wait_fixed(self._retry_interval),
            sleep=tenacity.sleep_using_event(self._leave),
            retry_error_callback=lambda state: None)
        retrying(self._hold_lock)

    def _hold_lock(self) -> None:
        """Connect, get the lock and keep it; leadership ends before that."""
        try:
            with self._make_lock() as lock:
                try:
                    self._keep_asking(lock)
                finally:
                    self._publish(None)
        except Exception as exc:
            self._coordinator.failed(exc)
            raise

    def _keep_asking(self, lock: leased_lock.LeasedLock) -> None:
        while not self._leave.is_set():
            self._ask(lock)
            self._coordinator.over()
            self._leave.wait(self._heartbeat)

    def _ask(self, lock: leased_lock.LeasedLock) -> None:
        asked_at = time.monotonic()
        held = lock.hold()
        answered_at = time.monotonic()
        leadership = self.leadership
        until = asked_at + self._lease
        if not held:
            self._publish(None)
        elif leadership is None:
            self._publish(Leadership(since=answered_at + self._lease,
                                     until=until))
        elif answered_at >= leadership.until:
            raise _LeaseExpired(_('no answer for %.1f seconds') % (
                answered_at - leadership.until + self._lease))
        else:
            self._publish(dataclasses.replace(leadership, until=until))

    def _publish(self, leadership: Leadership | None) -> None:
        self.leadership = leadership
        self.changed.set()
