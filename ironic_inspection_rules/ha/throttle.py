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

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading
import time

from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import claim
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

BEAT = 0.5
"""Seconds between two questions to the coordinator."""


class Throttle:
    """Lets one machine at a time be powered on in the whole cluster.

    The interval is slept through before the power-on, with the lock held: a
    holder which dies or loses touch slows the others down for a while and
    never speeds them up (spec 001 "HA reboot throttle").

    :param make_claim: makes a new claim for the lock that all hosts share.
    :param interval: seconds between two power-ons.
    :param wait: waits for so many seconds; returns at once, and True, when
        the process shall end.
    :param retries: how often a coordinator out of reach is tried again.
    :param retry_interval: seconds between two such tries.
    """

    def __init__(self, make_claim: Callable[[], claim.Claim],
                 interval: float, wait: Callable[[float], bool],
                 retries: int, retry_interval: float) -> None:
        self._make_claim = make_claim
        self._interval = interval
        self._wait = wait
        self._retries = retries
        self._retry_interval = retry_interval
        self._of_process = threading.Lock()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn of a machine; it ends with the context.

        :raises: Stopping when the process shall end.
        :raises: TemporaryFailure when the coordinator stays out of reach.
        """
        while not self._of_process.acquire(timeout=BEAT):
            self._sleep(0)
        try:
            with self._claim_turn():
                yield
        finally:
            self._of_process.release()

    def _claim_turn(self) -> contextlib.ExitStack:
        failures = 0
        while True:
            try:
                return self._try_to_claim_turn()
            except exceptions.Stopping:
                raise
            # What a driver cannot translate it lets through: anything.
            except Exception as exc:
                failures += 1
                if failures > self._retries:
                    raise exceptions.TemporaryFailure(
                        _('The coordinator is out of reach: %s') % exc
                    ) from exc
                LOG.warning('The reboot throttle has lost its coordinator, '
                            'connecting again: %s', exc)
                self._sleep(self._retry_interval)

    def _try_to_claim_turn(self) -> contextlib.ExitStack:
        with contextlib.ExitStack() as stack:
            self._wait_for(stack.enter_context(self._make_claim()))
            return stack.pop_all()

    def _wait_for(self, lock: claim.Claim) -> None:
        """Get the lock and keep it for the whole interval."""
        while not lock.hold():
            self._sleep(BEAT)
        end = time.monotonic() + self._interval
        while (remaining := end - time.monotonic()) > 0:
            self._sleep(min(BEAT, remaining))
            lock.hold()

    def _sleep(self, seconds: float) -> None:
        if self._wait(seconds):
            raise exceptions.Stopping(
                _('The service stops before the machine could be powered '
                  'on.'))
