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

"""Who leads: one member of a cluster at a time, and it knows for how long.

Election is built on tooz *locks*, not on ``run_elect_coordinator``: of the
four supported backends only redis and zookeeper have the latter, neither
tells a leader that it is one no longer, and groups of the file driver keep
the members that were killed. Locks all four have:

``file://``
    An advisory lock of the kernel, so a killed leader frees it at once and
    nothing gets stale. Only for members on one machine. The driver does not
    notice when its directory is removed; ``claim`` does.
``redis://``, ``etcd3+http://``
    A key that expires. It is refreshed by ``heartbeat()``; the redis driver
    can tell whether the key is still ours, the etcd driver cannot, and both
    only log a refresh that came too late. Hence the clock below.
``zookeeper://``
    An ephemeral node, gone with the session.

**Never two.** A leader may act until ``LEASE`` seconds after it *asked* the
coordinator for the last confirmation that it got; when none comes, because
the coordinator is gone, hangs, or this process was suspended, leadership is
over by the clock alone. A member that gets the lock leads only ``LEASE``
seconds later, so even a lock that a backend lost or gave away too early (a
restarted redis, a killed owner of a file lock) makes no second leader.

A new leader follows a killed one within two leases and a beat.

Source: spec 001 "HA Singleton Periodic task Decomposition", "HA Firewall
decomposition" and "Partitioning issues".
"""

from collections.abc import Callable
import dataclasses
import threading
import time

from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import claim
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

LEASE = 3
"""Seconds that one confirmation is good for; tooz wants whole ones."""

BEAT = 0.5
"""Seconds between two questions to the coordinator."""


Callback = Callable[[], None]


class CoordinatorLost(exceptions.InspectionRulesError):
    """The coordinator could not be reached as often as was asked for."""


class _LeaseLapsed(Exception):
    """A confirmation came when the time of the last one was over."""


@dataclasses.dataclass(frozen=True)
class Tenure:
    """When a holder of the lock may act as leader, in clock seconds.

    :param since: from when on no earlier leader can be acting any more.
    :param until: from when on another member may hold the lock.
    """

    since: float
    until: float

    def remaining(self, now: float) -> float:
        """Seconds left to act as leader, 0.0 for none."""
        return max(self.until - now, 0.0) if now >= self.since else 0.0


def _nothing() -> None:
    pass


class Election:
    """One member's part in the election of one leader.

    ``on_gained`` and ``on_lost`` take turns, in the thread that called
    :meth:`run`; a slow one delays the other but never stretches
    :meth:`remaining`, which work that must not have two doers has to heed.

    :param name: of the office, the same for all members; fit for a file name.
    :param backend_url: tooz URL of the coordinator. How long its locks last
        is set here and overrides what the URL says.
    :param member: this member's name, unlike that of any other.
    :param on_gained: called when this member has become the leader.
    :param on_lost: called when it no longer is, also before :meth:`run` ends.
    :param connection_retries: how often in a row to connect again after the
        coordinator was lost.
    :param connection_retry_interval: seconds between two such attempts.
    :param lease: seconds, see the module. Whole, unless the driver is file.
    :param beat: seconds between two questions to the coordinator.
    """

    def __init__(self, name: str, backend_url: str, member: str, *,
                 on_gained: Callback = _nothing,
                 on_lost: Callback = _nothing,
                 connection_retries: int = 10,
                 connection_retry_interval: float = 1.0,
                 lease: float = LEASE, beat: float = BEAT) -> None:
        self.name = name
        self._url = backend_url
        self._member = member
        self._on_gained = on_gained
        self._on_lost = on_lost
        self._retries = connection_retries
        self._retry_interval = connection_retry_interval
        self._lease = lease
        self._beat = beat
        self._tenure: Tenure | None = None
        self._news = threading.Event()
        self._attempts = 0
        self._trouble: Exception | None = None
        self._failure: Exception | None = None

    def remaining(self) -> float:
        """Seconds for which this member is sure to be the only leader.

        :returns: 0.0 when it is not the leader. May be asked at any time
            from any thread.
        """
        tenure = self._tenure
        return tenure.remaining(time.monotonic()) if tenure else 0.0

    @property
    def is_leader(self) -> bool:
        """Whether this member leads right now."""
        return self.remaining() > 0

    def run(self, stop: threading.Event) -> None:
        """Take part until told to stop.

        Returns within a beat, or a lease if the coordinator hangs. The
        office is handed back only after ``on_lost`` has returned.

        :param stop: set to end.
        :raises: CoordinatorLost when all connection retries were in vain.
        """
        leave = threading.Event()
        heart = threading.Thread(target=self._run_heart, args=(leave,),
                                 name=f'election-{self.name}', daemon=True)
        heart.start()
        try:
            self._follow_tenure(stop)
        finally:
            leave.set()
            heart.join(self._lease)
        if self._failure is not None:
            raise CoordinatorLost(
                _('The coordinator of %(name)s is lost: %(reason)s') % {
                    'name': self.name, 'reason': _reason(self._failure)}
            ) from self._failure

    def _follow_tenure(self, stop: threading.Event) -> None:
        leading = False
        try:
            while not stop.is_set() and self._failure is None:
                self._news.clear()
                leads = self.is_leader
                if leads != leading:
                    leading = leads
                    self._announce(leads)
                self._report_trouble()
                self._news.wait(self._until_next_look())
        finally:
            if leading:
                self._announce(False)

    def _until_next_look(self) -> float:
        """Seconds until the clock alone may change who leads."""
        tenure, now = self._tenure, time.monotonic()
        if tenure is None:
            return self._beat
        edge = tenure.since if now < tenure.since else tenure.until
        return min(max(edge - now, 0.0), self._beat)

    def _announce(self, leads: bool) -> None:
        if leads:
            self._on_gained()
        else:
            self._on_lost()
        LOG.info('%(member)s is %(state)s the leader of %(name)s',
                 {'member': self._member, 'name': self.name,
                  'state': 'now' if leads else 'not'})

    def _report_trouble(self) -> None:
        """Log what the heart met, once whoever must know of the loss does."""
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            LOG.warning('Lost the coordinator of %(name)s, connecting again: '
                        '%(reason)s',
                        {'name': self.name, 'reason': _reason(trouble)})

    def _run_heart(self, leave: threading.Event) -> None:
        """Ask the coordinator again and again; the only thread that does."""
        while self._failure is None and not leave.is_set():
            try:
                self._run_claim(leave)
            # What a driver cannot translate it lets through: anything.
            except Exception as exc:
                self._attempts += 1
                if self._attempts > self._retries:
                    self._failure = exc
                else:
                    self._trouble = exc
                    self._news.set()
                    leave.wait(self._retry_interval)
        self._news.set()

    def _run_claim(self, leave: threading.Event) -> None:
        with claim.Claim(self._url, self._member, self.name,
                         self._lease) as lock:
            try:
                while not leave.is_set():
                    self._ask(lock)
                    self._attempts = 0
                    leave.wait(self._beat)
            finally:
                self._publish(None)

    def _ask(self, lock: claim.Claim) -> None:
        asked_at = time.monotonic()
        held = lock.hold()
        answered_at = time.monotonic()
        tenure = self._tenure
        until = asked_at + self._lease
        if not held:
            self._publish(None)
        elif tenure is None:
            self._publish(Tenure(since=answered_at + self._lease,
                                 until=until))
        elif answered_at >= tenure.until:
            raise _LeaseLapsed(_('no answer for %.1f seconds') % (
                answered_at - tenure.until + self._lease))
        else:
            self._publish(dataclasses.replace(tenure, until=until))

    def _publish(self, tenure: Tenure | None) -> None:
        self._tenure = tenure
        self._news.set()


def _reason(failure: Exception) -> BaseException:
    """What says most about a failure: what tooz translated, if it did."""
    return failure.__cause__ or failure
