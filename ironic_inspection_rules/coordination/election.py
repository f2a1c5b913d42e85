# SPDX-License-Identifier: Apache-2.0

"""Election of one leader in a cluster.

Every process that takes part in an election is a *member*. All members try to
acquire the same lock in the coordination service (the *coordinator*). The
member that gets the lock becomes the leader. It renews the lock at every
*heartbeat*. A renewal is valid for a *lease*, which is ``LEASE`` seconds.

There are never two leaders, even if the coordinator loses the lock or releases
it too early, e.g. because redis was restarted. There are two rules for this:

- Leadership ends a lease after the leader *sent* the last request that the
  coordinator has confirmed. The leader measures this by its own clock, so
  leadership also ends if the coordinator hangs or the process is suspended.
- A member that acquires the lock leads only a lease later. By then, the
  leadership of an earlier leader has ended.

After a leader is killed, the next one leads within two leases and a
heartbeat.

Election uses the locks of tooz. It does not use ``run_elect_coordinator``,
because only the redis and zookeeper drivers have it, and neither informs a
leader that it has lost leadership. Groups of the file driver keep killed
members. The locks of the four drivers are:

``file://``
    An advisory lock of the kernel, released when its process dies. Only for
    members on one machine. The driver does not notice when the file is
    removed; ``LeasedLock.hold`` does.
``redis://``, ``etcd3+http://``
    A key that expires, renewed by ``heartbeat()``. Neither driver raises an
    error for a renewal that came too late: redis logs it, etcd ignores it. So
    ``LeasedLock.hold`` reads from the server whether the key is still ours.
``zookeeper://``
    An ephemeral node, removed with the session.

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

    For example, a member acquires the lock at 10.0, with a lease of 3 seconds.
    It leads from 13.0 on, because an earlier leader may not know before that
    it has lost the lock. At first, ``since`` and ``until`` are therefore 13.0,
    and the period is empty. A renewal at 12.5 sets ``until`` to 15.5.

    :param since: the monotonic time at which leadership begins.
    :param until: the monotonic time at which leadership ends, unless the lock
        is renewed before.
    """

    since: float
    until: float

    def remaining(self, now: float) -> float:
        """Return the seconds until leadership ends.

        :param now: the current monotonic time.
        :returns: 0.0 before leadership begins and after it has ended.
        """
        if now < self.since:
            return 0.0
        return max(self.until - now, 0.0)


def _end_without_error(_retry_state: tenacity.RetryCallState) -> None:
    """Do nothing, so that tenacity does not raise a RetryError."""


def _notify_nobody() -> None:
    """Do nothing when leadership begins or ends."""


class Candidacy:
    """Acquires and renews the lock of an election, in its own thread.

    The thread calls :meth:`run`. Other threads read ``leadership``, and may
    wait for ``changed``.

    Every call of :meth:`Election.run` has its own candidacy. A thread of an
    earlier candidacy may still hang in the coordinator's library. When it
    wakes up, it can then change only its own candidacy.

    :param make_lock: builds the lock for the next connection.
    :param lease: seconds that a confirmation of the coordinator is valid.
    :param heartbeat: seconds between two requests to the coordinator.
    :param retry_interval: seconds from a failure to the next connection.
    :param outage: logs the failures of the coordinator.
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
        """Acquire and renew the lock until :meth:`leave` is called.

        After an error, it waits and connects again, without a limit.
        """
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

        Leaving the ``with`` block releases the lock and disconnects.

        :raises: the first error, so that :meth:`run` connects again.
        """
        try:
            with self._make_lock() as lock:
                try:
                    while not self._leave.is_set():
                        self._acquire_or_renew(lock)
                        # The coordinator has answered.
                        self._outage.over()
                        self._leave.wait(self._heartbeat)
                finally:
                    # End leadership before the lock is released, because
                    # another member can acquire the lock then.
                    self._set_leadership(None)
        # A driver of tooz may raise any error of its library.
        except Exception as exc:
            self._outage.failed(exc)
            raise

    def _acquire_or_renew(self, lock: coordinator.LeasedLock) -> None:
        """Request the lock once, and set the leadership by the answer.

        - Another member holds the lock: this member does not lead.
        - This member has acquired the lock: it leads a lease later, see
          :class:`Leadership`.
        - This member has renewed the lock in time: it leads a lease longer.
        - This member has renewed the lock too late: an error.

        :raises: _LeaseExpired in the last case, or any error of
            :meth:`.LeasedLock.hold`.
        """
        asked_at = time.monotonic()
        is_held = lock.hold()
        answered_at = time.monotonic()
        # A lease starts with the request, not with the answer, because the
        # coordinator may have renewed the lock long before it answered.
        end_of_lease = asked_at + self._lease
        current = self.leadership
        if not is_held:
            self._set_leadership(None)
        elif current is None:
            # An earlier leader may not know that it has lost the lock. But the
            # coordinator confirmed it before this answer, so its leadership
            # ends within a lease from now.
            begin = answered_at + self._lease
            self._set_leadership(Leadership(since=begin, until=end_of_lease))
        elif answered_at < current.until:
            self._set_leadership(
                dataclasses.replace(current, until=end_of_lease)
            )
        else:
            # The lease ended before this answer came, and another member may
            # have led since. The error makes this member connect again.
            confirmed_at = current.until - self._lease
            silence = answered_at - confirmed_at
            raise _LeaseExpired(_('no answer for %.1f seconds') % silence)

    def _set_leadership(self, leadership: Leadership | None) -> None:
        """Set the leadership, and wake up the thread that waits for it."""
        self.leadership = leadership
        self.changed.set()


class Election:
    """Takes part in an election, as one of its members.

    :meth:`run` calls ``on_gained`` when this member becomes the leader, and
    ``on_lost`` when it is no longer the leader. A slow callback delays the
    next one, but not the end of leadership. Work that only the leader may do
    must therefore check :meth:`remaining`.

    If the coordinator is out of reach, the member retries without limit, and
    does not lead in the meantime.

    :param name: the name of the election and of its lock. It is the same for
        all members, and valid as a file name.
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
        """Prepare to take part in an election; :meth:`run` begins."""
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
        # Acquires the lock; None while the member does not take part.
        self._candidacy: Candidacy | None = None

    def remaining(self) -> float:
        """Return the seconds for which this member is the only leader.

        It may be called from any thread.

        :returns: 0.0 if this member is not the leader.
        """
        # Other threads may set both attributes to None at any time, so read
        # them only once.
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

        A second thread acquires and renews the lock. This thread calls the
        callbacks.

        After the stop, it returns within a heartbeat. It may need a lease more
        if the coordinator hangs, and callbacks may need more time. The lock is
        released after ``on_lost`` has returned. The method may be called
        again.

        :raises: any error of a callback; it has the effect of a stop.
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
            # Do not wait longer for a thread that hangs, because its lock has
            # expired by then.
            heartbeats.join(self._lease)

    def _make_lock(self) -> coordinator.LeasedLock:
        """Build the lock of this election, which is not connected yet."""
        return coordinator.LeasedLock(
            self._backend_url, self._member, self.name, self._lease
        )

    def _call_back_on_changes(
        self, candidacy: Candidacy, stop: threading.Event
    ) -> None:
        """Call the callbacks when leadership begins or ends, until a stop.

        Every call of ``on_gained`` is followed by a call of ``on_lost``, even
        if ``on_gained`` fails.

        :param candidacy: has the leadership, which another thread changes.
        """
        # Whether the last callback was on_gained.
        was_leader = False
        try:
            while not stop.is_set():
                # Clear the event before leadership is read, so that a later
                # change ends the wait below at once.
                candidacy.changed.clear()
                is_leader = self.is_leader
                if is_leader != was_leader:
                    # Leadership has begun or ended. Remember this before the
                    # callback, so that on_lost is called even if on_gained
                    # fails.
                    was_leader = is_leader
                    self._call_back(leading=is_leader)
                seconds = self._seconds_to_wait(
                    candidacy.leadership, was_leader
                )
                candidacy.changed.wait(seconds)
        finally:
            # This ends leadership at once. on_lost must not find that this
            # member still leads.
            self._candidacy = None
            if was_leader:
                self._call_back(leading=False)

    def _seconds_to_wait(
        self, leadership: Leadership | None, was_leader: bool
    ) -> float:
        """Return the seconds until leadership must be checked again.

        - Before leadership begins: the time until it begins.
        - During leadership: the time until it ends.
        - After it has ended: 0.0 if ``on_lost`` must be called, else a
          heartbeat.
        - Without leadership: a heartbeat.

        The maximum is a heartbeat, so that the caller notices a stop in time.
        The caller also wakes up if the coordinator answers.

        :param leadership: None while this member does not hold the lock.
        :param was_leader: whether the last callback was ``on_gained``.
        """
        if leadership is None:
            return self._heartbeat
        now = time.monotonic()
        if now < leadership.since:
            return min(leadership.since - now, self._heartbeat)
        if now < leadership.until:
            return min(leadership.until - now, self._heartbeat)
        if was_leader:
            # Leadership has ended since the caller checked it.
            return 0.0
        # The caller knows that leadership has ended. Only an answer of the
        # coordinator, which may hang, can start it again.
        return self._heartbeat

    def _call_back(self, leading: bool) -> None:
        """Call ``on_gained`` or ``on_lost``, and log the change.

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
    """Build the election of a member from the configuration.

    :param conf: has the URL of the coordinator, and the retries.
    :param name: the name of the election, see :class:`Election`.
    """
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
