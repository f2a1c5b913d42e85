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

"""The pace at which machines are powered on for inspection."""

from collections.abc import Iterator
import contextlib
import threading

from oslo_log import log
import tooz
from tooz import locking

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

_QUANTUM = 0.2
"""Seconds between two looks at a lock that somebody else holds."""


class Throttle:
    """Lets one machine at a time be powered on in the whole cluster.

    Each turn lasts as long as the interval: it is slept through with the
    lock held, so that a holder which dies or loses touch slows the others
    down for a while and never speeds them up (spec 001 "HA reboot
    throttle").

    :param lock: a lock of the coordination service that all hosts share.
    :param interval: seconds between two turns.
    :param stop: set when the process shall end; ends all waiting.
    :param retries: how often a coordination service out of reach is tried.
    :param retry_interval: seconds between two such tries.
    """

    def __init__(self, lock: locking.Lock, interval: float,
                 stop: threading.Event, retries: int,
                 retry_interval: float) -> None:
        self._lock = lock
        self._interval = interval
        self._stop = stop
        self._retries = retries
        self._retry_interval = retry_interval

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn; it ends with the context.

        :raises: Stopping when the process ends meanwhile.
        :raises: TemporaryFailure when the coordination service stays out of
            reach.
        """
        self._acquire()
        try:
            self._sleep(self._interval)
            yield
        finally:
            self._release()

    def _acquire(self) -> None:
        failures = 0
        while True:
            try:
                if self._lock.acquire(blocking=False):
                    return
            except tooz.ToozError as exc:
                failures += 1
                if failures > self._retries:
                    raise exceptions.TemporaryFailure(
                        _('The coordination service is out of reach: %s')
                        % exc) from exc
                self._sleep(self._retry_interval)
            else:
                self._sleep(_QUANTUM)

    def _release(self) -> None:
        try:
            self._lock.release()
        except tooz.ToozError as exc:
            LOG.warning('The lock of the reboot throttle is left to expire: '
                        '%s', exc)

    def _sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise exceptions.Stopping(
                _('The service stops before it was the turn of the machine '
                  'to be powered on.'))
