# SPDX-License-Identifier: Apache-2.0

"""Election of one leader in a cluster.

Election uses the *locks* of tooz, not ``run_elect_coordinator``. Of the four
supported drivers only redis and zookeeper have the latter, neither informs a
leader that it has lost leadership, and groups of the file driver keep killed
members. All four drivers have locks:

``file://``
    An advisory lock of the kernel, released when its process dies. Only for
    members on one machine. The driver does not notice when the file is
    removed; ``LeasedLock.hold`` does.
``redis://``, ``etcd3+http://``
    A key that expires, renewed by ``heartbeat()``. Neither driver raises an
    error for a renewal that came too late: redis logs it, etcd ignores it. So
    ``LeasedLock.hold`` reads from the server whether the key is still ours,
    and the clock below ends leadership in any case.
``zookeeper://``
    An ephemeral node, removed with the session.

There are never two leaders. Leadership ends ``LEASE`` seconds after the
leader sent the last request that the coordinator has confirmed. The leader
measures this by its own clock, so it also ends when the coordinator fails or
hangs, or when the process is suspended. A member that acquires the lock leads
only ``LEASE`` seconds later. So there is no second leader even if a backend
loses a lock or releases it too early (a restarted redis, a killed owner of a
file lock).

After a leader is killed, the next one leads within two leases and a
heartbeat.

Source: spec 001 "HA Singleton Periodic task Decomposition", "HA Firewall
decomposition" and "Partitioning issues".
"""

from collections.abc import Callable
import dataclasses
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
"""Seconds that a confirmation is valid; tooz needs an integer."""

HEARTBEAT = 0.5
"""Seconds between two requests to the coordinator."""

Callback = Callable[[], None]


class _LeaseExpired(Exception):
    """A renewal of the lock was confirmed after its lease had expired."""


@dataclasses.dataclass(frozen=True)
class Leadership:
    """The period in which a holder of the lock is the leader.

    Times are in ``time.monotonic`` seconds. A member that acquires the lock
    must wait for a lease, because an earlier leader may not know that it has
    lost the lock. At first ``until`` is before ``since``, so the member does
    not lead. Every renewal moves ``until``.

    :param since: the time when the leadership of any earlier leader is over.
    :param until: the time from which another member may hold the lock.
    """

    since: float
    until: float

    def remaining(self, now: float) -> float:
        """Return the seconds until leadership ends, 0.0 if it is not held."""
        if now < self.since:
            return 0.0
        return max(self.until - now, 0.0)


def _end_without_error(_retry_state: tenacity.RetryCallState) -> None:
    """End the retries without the RetryError that tenacity would raise."""


def _notify_nobody() -> None:
    """Do nothing when leadership begins or ends."""


class Candidacy:
    """Acquires and renews the lock of an election, in its own thread.

    It is used only once: a thread that still hangs in the coordinator's
    library after :meth:`leave` can then change only its own candidacy, not the
    next one.

    :param make_lock: builds the lock for the next connection.
    :param lease: seconds that a confirmation is valid.
    :param heartbeat: seconds between two requests to the coordinator.
    :param retry_interval: seconds from a failure to the next connection.
    :param outage: counts the failures of the coordinator.
    :ivar changed: set whenever ``leadership`` may have changed.
    :ivar leadership: None while this member does not hold the lock.
    """

    def __init__(
        self,
        make_lock: Callable[[], coordinator.LeasedLock],
        lease: float,
        heartbeat: float,
        retry_interval: float,
        outage: watchdog.Outage,
    ) -> None:
        """Prepare a candidacy; :meth:`run` asks for the lock."""
        self._make_lock = make_lock
        self._lease = lease
        self._heartbeat = heartbeat
        self._retry_interval = retry_interval
        self._outage = outage
        # Set to ask the thread to release the lock and end.
        self._leave = threading.Event()
        self.changed = threading.Event()
        self.leadership: Leadership | None = None

    def leave(self) -> None:
        """Ask the thread to release the lock and end, without waiting.

        The thread ends as soon as the coordinator answers.
        """
        self._leave.set()

    def run(self) -> None:
        """Acquire and renew the lock until :meth:`leave` is called."""
        retrying = tenacity.Retrying(
            # A driver of tooz may raise any error of its library.
            retry=tenacity.retry_if_exception_type(Exception),
            stop=tenacity.stop_when_event_set(self._leave),
            wait=tenacity.wait_fixed(self._retry_interval),
            sleep=tenacity.sleep_using_event(self._leave),
            retry_error_callback=_end_without_error,
        )
        retrying(self._hold_lock)

    def _hold_lock(self) -> None:
        """Connect, then acquire and renew the lock until :meth:`leave`.

        :raises: the first error. The lock is then released if the coordinator
            answers.
        """
        try:
            with self._make_lock() as lock:
                try:
                    while not self._leave.is_set():
                        self._acquire_or_renew(lock)
                        self._outage.over()
                        self._leave.wait(self._heartbeat)
                finally:
                    # End leadership first: the end of the outer "with" block
                    # releases the lock, and then another member may lead.
                    self._publish(None)
        # A driver of tooz may raise any error of its library.
        except Exception as exc:
            self._outage.failed(exc)
            raise

    def _acquire_or_renew(self, lock: coordinator.LeasedLock) -> None:
        """Request the lock once, and publish the resulting leadership.

        With a lease of 3 seconds, a member that acquires the lock at 10.0 is
        the leader from 13.0 if it has renewed the lock by then. A renewal that
        it requests at 12.5 makes it the leader until 15.5.

        :raises: _LeaseExpired if the answer to a renewal came too late, or any
            error of :meth:`.LeasedLock.hold`.
        """
        asked_at = time.monotonic()
        is_held = lock.hold()
        answered_at = time.monotonic()
        # A lease starts with the request, not with the answer, because the
        # coordinator may have renewed the lock long before it answered.
        end_of_lease = asked_at + self._lease
        current = self.leadership
        if not is_held:
            self._publish(None)
        elif current is None:
            # The lock was acquired just now. An earlier leader may not know
            # that it has lost the lock. But it was last confirmed before this
            # answer, so its leadership ends within a lease from now.
            begin = answered_at + self._lease
            self._publish(Leadership(since=begin, until=end_of_lease))
        elif answered_at < current.until:
            self._publish(dataclasses.replace(current, until=end_of_lease))
        else:
            # The lease ended before this answer came, and another member may
            # have led since. This member must start again.
            confirmed_at = current.until - self._lease
            silence = answered_at - confirmed_at
            raise _LeaseExpired(_('no answer for %.1f seconds') % silence)

    def _publish(self, leadership: Leadership | None) -> None:
        """Set the leadership, and wake up the thread that watches it."""
        self.leadership = leadership
        self.changed.set()


class Election:
    """The part of one member in an election.

    ``on_gained`` and ``on_lost`` are called alternately, in the thread of
    :meth:`run`. A slow callback delays the other one, but leadership still
    ends in time, so exclusive work must check :meth:`remaining`.

    If the coordinator is out of reach, a member retries without limit, and
    does not lead in the meantime.

    :param name: the name of the election, which is the same for all members
        and valid as a file name.
    :param backend_url: tooz URL of the coordinator. ``lease`` overrides
        timeouts in it.
    :param member: unique name of this member.
    :param on_gained: called when this member has become the leader.
    :param on_lost: called when it is no longer the leader, and before
        :meth:`run` ends.
    :param retries_before_error: number of retries after which a coordinator
        that stays out of reach is logged as an error; retries continue.
    :param connection_retry_interval: seconds from a failure of the
        coordinator to the next connection.
    :param lease: seconds, see the module. An integer, except for ``file://``.
    :param heartbeat: seconds between two requests to the coordinator.
    """

    def __init__(
        self,
        name: str,
        backend_url: str,
        member: str,
        *,
        on_gained: Callback = _notify_nobody,
        on_lost: Callback = _notify_nobody,
        retries_before_error: int = 10,
        connection_retry_interval: float = 1.0,
        lease: float = LEASE,
        heartbeat: float = HEARTBEAT,
    ) -> None:
        """Prepare the part in an election, which :meth:`run` starts."""
        self.name = name
        self._backend_url = backend_url
        self._member = member
        self._on_gained = on_gained
        self._on_lost = on_lost
        self._retry_interval = connection_retry_interval
        self._lease = lease
        self._heartbeat = heartbeat
        self._outage = watchdog.Outage(
            f'The coordination service of the election {name} '
            '([coordination]backend_url)',
            retries_before_error,
        )
        # The current candidacy; None while the member does not take part.
        self._candidacy: Candidacy | None = None

    def remaining(self) -> float:
        """Return the seconds for which this member is the only leader.

        It may be called from any thread.

        :returns: 0.0 if this member is not the leader.
        """
        # Other threads may replace both at any time, so read them only once.
        candidacy = self._candidacy
        if candidacy is None:
            return 0.0
        leadership = candidacy.leadership
        if leadership is None:
            return 0.0
        return leadership.remaining(time.monotonic())

    @property
    def is_leader(self) -> bool:
        """True if this member is the leader."""
        return self.remaining() > 0

    def run(self, stop: threading.Event) -> None:
        """Take part in the election until a stop is requested.

        It may be called again afterwards.

        It returns within a heartbeat, or a lease if the coordinator hangs, not
        counting the callbacks. The lock is released after ``on_lost`` has
        returned.

        :raises: any error of a callback, which ends this part like a stop.
        """
        candidacy = Candidacy(
            self._make_lock,
            self._lease,
            self._heartbeat,
            self._retry_interval,
            self._outage,
        )
        self._candidacy = candidacy
        # Use a daemon, because it may hang in the coordinator's library.
        heartbeats = threading.Thread(
            target=candidacy.run, name=f'election-{self.name}', daemon=True
        )
        heartbeats.start()
        try:
            self._call_back_on_changes(candidacy, stop)
        finally:
            candidacy.leave()
            # Do not wait longer for a thread that hangs; its lock expires.
            heartbeats.join(self._lease)

    def _make_lock(self) -> coordinator.LeasedLock:
        """Build the lock of this election, which is not connected yet."""
        return coordinator.LeasedLock(
            self._backend_url, self._member, self.name, self._lease
        )

    def _call_back_on_changes(
        self, candidacy: Candidacy, stop: threading.Event
    ) -> None:
        """Call ``on_gained`` and ``on_lost`` until a stop is requested.

        They are called when leadership begins and ends. Every call of
        ``on_gained`` is followed by a call of ``on_lost``, even if it fails.
        """
        # True if the last callback was on_gained.
        was_leader = False
        try:
            while not stop.is_set():
                # Clear before leadership is read, so that a change after this
                # line ends the wait below at once.
                candidacy.changed.clear()
                if self.is_leader != was_leader:
                    # Set before the callback, so that on_lost is called even
                    # if on_gained fails.
                    was_leader = not was_leader
                    self._call_back(was_leader)
                candidacy.changed.wait(
                    self._seconds_to_wait(candidacy.leadership, was_leader)
                )
        finally:
            # Without a candidacy this member does not lead, so leadership has
            # ended when on_lost is called.
            self._candidacy = None
            if was_leader:
                self._call_back(leading=False)

    def _seconds_to_wait(
        self, leadership: Leadership | None, was_leader: bool
    ) -> float:
        """Return the seconds until leadership begins or ends by the clock.

        The maximum is a heartbeat, so that the caller notices a stop. An
        answer of the coordinator ends the wait earlier, because it sets
        ``changed``.

        :param was_leader: whether the last callback was ``on_gained``.
        :returns: 0.0 only if leadership has ended, but ``on_lost`` has not
            been called yet.
        """
        if leadership is None:
            return self._heartbeat
        now = time.monotonic()
        if now < leadership.since:
            change_at = leadership.since
        elif now < leadership.until:
            change_at = leadership.until
        elif was_leader:
            # Leadership has ended since the caller checked it.
            return 0.0
        else:
            # Leadership is over. Only an answer of the coordinator, which may
            # hang, can start it again.
            return self._heartbeat
        return min(change_at - now, self._heartbeat)

    def _call_back(self, leading: bool) -> None:
        """Call ``on_gained`` or ``on_lost``, and log which one.

        :param leading: True if leadership has begun, False if it has ended.
        """
        if leading:
            self._on_gained()
            LOG.info(
                '%(member)s is now the leader of %(name)s',
                {'member': self._member, 'name': self.name},
            )
        else:
            self._on_lost()
            LOG.info(
                '%(member)s is not the leader of %(name)s',
                {'member': self._member, 'name': self.name},
            )


def make(
    conf: cfg.ConfigOpts,
    name: str,
    member: str,
    *,
    on_gained: Callback,
    on_lost: Callback,
) -> Election:
    """Build a member's part in an election from the options."""
    return Election(
        name,
        conf.coordination.backend_url,
        member,
        on_gained=on_gained,
        on_lost=on_lost,
        retries_before_error=conf.inspection_queue.connection_retries,
        connection_retry_interval=(
            conf.inspection_queue.connection_retry_interval
        ),
    )
