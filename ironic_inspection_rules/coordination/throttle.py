# SPDX-License-Identifier: Apache-2.0

"""The pace at which machines are powered on for inspection."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading
import time

import tenacity

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import leased_lock
from ironic_inspection_rules.coordination import outage
from ironic_inspection_rules.i18n import _

HEARTBEAT = 0.5
"""Seconds between two questions to the coordinator."""


class Throttle:
    """Lets one machine at a time be powered on in the whole cluster.

    The interval is slept through before the power-on, with the lock held: a
    holder which dies or is cut off slows the others down for a while and
    never speeds them up (spec 001 "HA reboot throttle").

    :param make_lock: makes a new connection for the lock of all hosts.
    :param interval: seconds between two power-ons.
    :param wait: waits for so many seconds; returns at once, and True, when
        the process shall end.
    :param retries: how often a coordinator out of reach is tried again.
    :param retry_interval: seconds between two such tries.
    """

    def __init__(self, make_lock: Callable[[], leased_lock.LeasedLock],
                 interval: float, wait: Callable[[float], bool],
                 retries: int, retry_interval: float) -> None:
        self._make_lock = make_lock
        self._interval = interval
        self._wait = wait
        self._retries = retries
        self._retry_interval = retry_interval
        self._outage = outage.Outage(
            'The coordination service of the reboot throttle '
            '([coordination]backend_url)', retries)
        self._of_process = threading.Lock()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn of a machine; it ends with the context.

        :raises: Stopping when the process shall end.
        :raises: TemporaryFailure when the coordinator stays out of reach.
        """
        while not self._of_process.acquire(timeout=HEARTBEAT):
            self._sleep(0)
        try:
            with self._get_turn():
                yield
        finally:
            self._of_process.release()

    def _get_turn(self) -> contextlib.ExitStack:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(
                exceptions.TemporaryFailure),
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=tenacity.wait_fixed(self._retry_interval),
            sleep=self._sleep, reraise=True)
        turn = retrying(self._try_to_get_turn)
        self._outage.over()
        return turn

    def _try_to_get_turn(self) -> contextlib.ExitStack:
        try:
            with contextlib.ExitStack() as stack:
                self._wait_for(stack.enter_context(self._make_lock()))
                return stack.pop_all()
        except exceptions.Stopping:
            raise
        # What a driver cannot translate it lets through: anything.
        except Exception as exc:
            self._outage.failed(exc)
            raise exceptions.TemporaryFailure(
                _('The coordination service of [coordination]backend_url is '
                  'out of reach: %s') % outage.reason(exc)) from exc

    def _wait_for(self, lock: leased_lock.LeasedLock) -> None:
        """Get the lock and keep it for the whole interval."""
        while not lock.hold():
            self._sleep(HEARTBEAT)
        end = time.monotonic() + self._interval
        while (remaining := end - time.monotonic()) > 0:
            self._sleep(min(HEARTBEAT, remaining))
            lock.hold()

    def _sleep(self, seconds: float) -> None:
        if self._wait(seconds):
            raise exceptions.Stopping(
                _('The service stops before the machine could be powered '
                  'on.'))
