# SPDX-License-Identifier: Apache-2.0

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
    A key that expires, refreshed by ``heartbeat()``. Whether it is still ours
    is read from the server each time. Both drivers only log a refresh that
    came too late. Hence the clock below.
``zookeeper://``
    An ephemeral node, gone with the session.

**Never two.** A leader may act until ``LEASE`` seconds after it *asked* the
coordinator for the last confirmation that it got; when none comes, because
the coordinator is gone, hangs, or this process was suspended, leadership is
over by the clock alone. A member that gets the lock leads only ``LEASE``
seconds later, so even a lock that a backend lost or gave away too early (a
restarted redis, a killed owner of a file lock) makes no second leader.

A new leader follows a killed one within two leases and a heartbeat.

Source: spec 001 "HA Singleton Periodic task Decomposition", "HA Firewall
decomposition" and "Partitioning issues".
"""

from collections.abc import Callable
import dataclasses
import functools
import threading
import time

from oslo_config import cfg
from oslo_log import log
import tenacity

from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

LEASE = 3
"""Seconds that one confirmation is good for; tooz wants whole ones."""

HEARTBEAT = 0.5
"""Seconds between two questions to the coordinator."""

Callback = Callable[[], None]


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
    """

    def __init__(self, make_lock: Callable[[], coordinator.LeasedLock],
                 lease: float, heartbeat: float, retry_interval: float,
                 trouble: watchdog.Outage) -> None:
        self._make_lock = make_lock
        self._lease = lease
        self._heartbeat = heartbeat
        self._retry_interval = retry_interval
        self._trouble = trouble
        self._leave = threading.Event()
        self.changed = threading.Event()
        self.leadership: Leadership | None = None

    def leave(self) -> None:
        """Free the lock, as soon as the coordinator answers."""
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
                    while not self._leave.is_set():
                        self._ask(lock)
                        self._trouble.over()
                        self._leave.wait(self._heartbeat)
                finally:
                    self._publish(None)
        except Exception as exc:
            self._trouble.failed(exc)
            raise

    def _ask(self, lock: coordinator.LeasedLock) -> None:
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


class Election:
    """One member's part in the election of one leader.

    ``on_gained`` and ``on_lost`` take turns, in the thread that called
    :meth:`run`; a slow one delays the other but never stretches
    :meth:`remaining`, which work that must not be done by two has to heed.

    A coordinator out of reach is tried again for as long as the member takes
    part; meanwhile it does not lead.

    :param name: of the election, the same for all members; fit for a file
        name.
    :param backend_url: tooz URL of the coordinator. How long its locks last
        is set here and overrides what the URL says.
    :param member: this member's name, unlike that of any other.
    :param on_gained: called when this member has become the leader.
    :param on_lost: called when it no longer is, also before :meth:`run` ends.
    :param connection_retries: number of retries after which a coordinator
        that stays out of reach is an error in the log.
    :param lease: seconds, see the module. Whole, unless the driver is file.
    """

    def __init__(self, name: str, backend_url: str, member: str, *,
                 on_gained: Callback = lambda: None,
                 on_lost: Callback = lambda: None,
                 connection_retries: int = 10,
                 connection_retry_interval: float = 1.0,
                 lease: float = LEASE, heartbeat: float = HEARTBEAT) -> None:
        self.name = name
        self._member = member
        self._on_gained = on_gained
        self._on_lost = on_lost
        self._lease = lease
        self._heartbeat = heartbeat
        self._make_candidacy = functools.partial(
            Candidacy,
            functools.partial(coordinator.LeasedLock, backend_url, member,
                              name, lease),
            lease, heartbeat, connection_retry_interval,
            watchdog.Outage(f'The coordination service of the election {name} '
                          '([coordination]backend_url)', connection_retries))
        self._candidacy: Candidacy | None = None

    def remaining(self) -> float:
        """Seconds for which this member is sure to be the only leader.

        :returns: 0.0 when it is not the leader. May be asked at any time
            from any thread.
        """
        part = self._candidacy
        leadership = part.leadership if part else None
        return leadership.remaining(time.monotonic()) if leadership else 0.0

    @property
    def is_leader(self) -> bool:
        """True if this member leads right now."""
        return self.remaining() > 0

    def run(self, stop: threading.Event) -> None:
        """Take part until told to stop; may be called again afterwards.

        Returns within a heartbeat, or a lease if the coordinator hangs. The
        lock is freed only after ``on_lost`` has returned.
        """
        part = self._candidacy = self._make_candidacy()
        heartbeats = threading.Thread(
            target=part.run, name=f'election-{self.name}', daemon=True)
        heartbeats.start()
        try:
            self._follow(part, stop)
        finally:
            part.leave()
            heartbeats.join(self._lease)

    def _follow(self, part: Candidacy, stop: threading.Event) -> None:
        """Call back when leadership begins or ends, be it by the clock."""
        leading = False
        try:
            while not stop.is_set():
                part.changed.clear()
                if self.is_leader != leading:
                    leading = not leading
                    self._tell(leading)
                leadership, now = part.leadership, time.monotonic()
                wait = self._heartbeat
                if leadership is not None:
                    edge = (leadership.since if now < leadership.since
                            else leadership.until)
                    wait = min(max(edge - now, 0.0), wait)
                part.changed.wait(wait)
        finally:
            self._candidacy = None
            if leading:
                self._tell(False)

    def _tell(self, leads: bool) -> None:
        if leads:
            self._on_gained()
        else:
            self._on_lost()
        LOG.info('%(member)s is %(state)s the leader of %(name)s',
                 {'member': self._member, 'name': self.name,
                  'state': 'now' if leads else 'not'})


def make(conf: cfg.ConfigOpts, name: str, member: str, *,
         on_gained: Callback, on_lost: Callback) -> Election:
    """Make a member's part in an election."""
    options = conf.coordination
    return Election(
        name, options.backend_url, member, on_gained=on_gained,
        on_lost=on_lost, connection_retries=options.connection_retries,
        connection_retry_interval=options.connection_retry_interval)
