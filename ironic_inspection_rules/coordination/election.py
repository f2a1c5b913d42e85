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
import functools
import threading
import time

from oslo_log import log

from ironic_inspection_rules.coordination import candidacy
from ironic_inspection_rules.coordination import leased_lock
from ironic_inspection_rules.coordination import outage

LOG = log.getLogger(__name__)

LEASE = 3
"""Seconds that one confirmation is good for; tooz wants whole ones."""

HEARTBEAT = 0.5
"""Seconds between two questions to the coordinator."""


Callback = Callable[[], None]


def _nothing() -> None:
    pass


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
    :param connection_retry_interval: seconds between two retries.
    :param lease: seconds, see the module. Whole, unless the driver is file.
    :param heartbeat: seconds between two questions to the coordinator.
    """

    def __init__(self, name: str, backend_url: str, member: str, *,
                 on_gained: Callback = _nothing,
                 on_lost: Callback = _nothing,
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
            candidacy.Candidacy,
            functools.partial(leased_lock.LeasedLock, backend_url, member,
                              name, lease),
            lease, heartbeat, connection_retry_interval,
            outage.Outage(f'The coordination service of the election {name} '
                          '([coordination]backend_url)', connection_retries))
        self._candidacy: candidacy.Candidacy | None = None

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
        """Whether this member leads right now."""
        return self.remaining() > 0

    def run(self, stop: threading.Event) -> None:
        """Take part until told to stop; may be called again afterwards.

        Returns within a heartbeat, or a lease if the coordinator hangs. The
        lock is freed only after ``on_lost`` has returned.

        :param stop: set to end.
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

    def _follow(self, part: candidacy.Candidacy,
                stop: threading.Event) -> None:
        leading = False
        try:
            while not stop.is_set():
                part.changed.clear()
                if self.is_leader != leading:
                    leading = not leading
                    self._tell(leading)
                part.changed.wait(self._until_next_look(part))
        finally:
            self._candidacy = None
            if leading:
                self._tell(False)

    def _until_next_look(self, part: candidacy.Candidacy) -> float:
        """Seconds until the clock alone may change who leads."""
        leadership, now = part.leadership, time.monotonic()
        if leadership is None:
            return self._heartbeat
        edge = (leadership.since if now < leadership.since
                else leadership.until)
        return min(max(edge - now, 0.0), self._heartbeat)

    def _tell(self, leads: bool) -> None:
        if leads:
            self._on_gained()
        else:
            self._on_lost()
        LOG.info('%(member)s is %(state)s the leader of %(name)s',
                 {'member': self._member, 'name': self.name,
                  'state': 'now' if leads else 'not'})
