# SPDX-License-Identifier: Apache-2.0

"""The service of the PXE filter on one host.

A :class:`PxeFilter` guards one interface of one host. The filters of a cloud
elect a *leader*, and machines in inspection *pass* only on its host. On all
other hosts, the filter blocks all machines.

The election is decided by a lock. Before the leader releases the lock, no
machine may pass on its host, because another host may then become the leader.
All machines of a host are blocked

1. by the kernel, after a timeout of at most two seconds, unless the leader
   renews the timeout (``nftables``);
2. by the filter, when its leadership ends (``election``) or the database does
   not answer (``watcher``);
3. by the filter, after any error. It then starts again.

Source: spec 001 "HA Firewall decomposition" and "Partitioning issues".
"""

from collections.abc import Callable
from concurrent import futures
import dataclasses
import threading

from oslo_log import log
import tenacity

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import firewall as firewalls
from ironic_inspection_rules.pxe_filter import notification
from ironic_inspection_rules.pxe_filter import watcher as watchers

LOG = log.getLogger(__name__)

ELECTION_NAME = 'ironic-inspection-pxe-filter'
"""Name of the election among the filters of a cloud."""

Elect = Callable[[election.Callback, election.Callback], election.Election]
"""Builds a host's part in the election from ``on_gained`` and ``on_lost``."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of a filter; all times are in seconds.

    :param auto_discovery: whether unknown machines always pass.
    :param sync_period: time between two reads of all ports; 0 reads once.
    :param allowlist_period: time between two reads of nodes in inspection; 0
        reads them only after messages.
    :param retries: number of failures in a row before a failure is logged as
        an error.
    :param retry_interval: time from a failure to the next start.
    """

    auto_discovery: bool = False
    sync_period: float = 15.0
    allowlist_period: float = 15.0
    retries: int = 10
    retry_interval: float = 1.0


def _end_without_error(_retry_state: tenacity.RetryCallState) -> None:
    """End the retries without the RetryError that tenacity would raise."""


class PxeFilter:
    """The filter of one host.

    Three threads work together: one reads the machines from the database, one
    takes part in the election, and the thread of :meth:`run` updates the
    firewall whenever the machines or the leadership have changed.

    :param firewall: the firewall of the interface.
    :param source: the ports in Ironic's database.
    :param elect: builds this host's part in the election.
    """

    def __init__(
        self,
        firewall: firewalls.Firewall,
        source: watchers.PortSource,
        elect: Elect,
        settings: Settings,
    ) -> None:
        """Prepare a filter; it does nothing before :meth:`run`."""
        self._firewall = firewall
        self._source = source
        self._elect = elect
        self._settings = settings
        self._outage = watchdog.Outage(
            f'Letting machines pass on {firewall.interface}', settings.retries
        )
        # Wakes the thread that updates the firewall. Set when the machines or
        # the leadership may have changed.
        self._changed = threading.Event()
        # Whether machines may pass now. False only while the kernel blocks.
        self._passes = False
        # Guards self._passes, and is notified when it changes.
        self._state = threading.Condition()
        # Reads the machines from the database; replaced at every start.
        self._watcher = self._make_watcher()

    def handle(self, change: notification.ListChange) -> None:
        """Handle a message; may be called from any thread."""
        # Between two starts the old watcher gets the message, but nothing is
        # lost, because the new watcher reads everything first.
        self._watcher.handle(change)

    def install(self) -> None:
        """Create the nftables table, which blocks everything.

        :raises: FirewallError if this is not possible.
        """
        self._firewall.install()

    def run(self, stop: threading.Event) -> None:
        """Filter until a stop is requested, then block everything.

        The filter is started again after any failure.
        """
        retrying = tenacity.Retrying(
            # Retry after any error, because everything is already blocked,
            # by this filter or by the timeout in the kernel.
            retry=tenacity.retry_if_exception_type(Exception),
            stop=tenacity.stop_when_event_set(stop),
            wait=tenacity.wait_fixed(self._settings.retry_interval),
            sleep=tenacity.sleep_using_event(stop),
            retry_error_callback=_end_without_error,
        )
        retrying(self._run_until_failure, stop)

    def _make_watcher(self) -> watchers.Watcher:
        """Build the watcher of the next start, which has read nothing yet."""
        return watchers.Watcher(
            self._source,
            self._settings.sync_period,
            self._settings.allowlist_period,
            self._changed,
        )

    def _run_until_failure(self, stop: threading.Event) -> None:
        """Run the filter until a stop is requested or anything fails.

        1. Block everything.
        2. Start a thread that reads the machines from the database.
        3. Wait until it has read them.
        4. Take part in the election, and let machines pass as the leader.

        :param stop: set when the filter is requested to stop.
        :raises: the failure, so that :meth:`run` starts again.
        """
        # When this is set, the reading thread ends, and this host leaves the
        # election.
        leave = threading.Event()
        try:
            self._block_everything()
            self._watcher = self._make_watcher()
            # Use a daemon, because it may hang in the database.
            threading.Thread(
                target=self._watcher.run,
                args=(leave,),
                name='pxe-filter-watcher',
                daemon=True,
            ).start()
            # Wait for the first read, because a leader that knows no machines
            # would block machines in inspection.
            while self._watcher.machines() is None and not stop.is_set():
                self._wait_for_change()
            if not stop.is_set():
                self._take_part_in_election(stop, leave)
        # Catch any error: it is logged here, and raised again for run().
        except Exception as exc:
            self._outage.failed(exc)
            raise
        finally:
            leave.set()

    def _take_part_in_election(
        self, stop: threading.Event, leave: threading.Event
    ) -> None:
        """Take part in the election, and let machines pass as its leader.

        It returns when a stop is requested, or raises the first failure. In
        both cases this host has blocked everything and left the election.

        :param stop: set when the filter is requested to stop.
        :param leave: set here so that this host leaves the election.
        """
        # The election calls _request_read() when this host becomes the leader,
        # and _wait_until_blocked() before another host can become it.
        member = self._elect(self._request_read, self._wait_until_blocked)
        with futures.ThreadPoolExecutor(max_workers=1) as pool:
            # The election runs in its own thread until "leave" is set. This
            # thread updates the firewall.
            election_run = pool.submit(member.run, leave)
            try:
                while not stop.is_set() and not election_run.done():
                    self._update_firewall(member)
                    self._wait_for_change()
            finally:
                # Block first, because machines may pass on another host once
                # this host has left the election. It must leave even if it
                # cannot block, because the pool waits for the election to end.
                try:
                    self._block_everything()
                finally:
                    leave.set()
            # If the election has failed, raise its error.
            election_run.result()

    def _request_read(self) -> None:
        """Read the nodes in inspection when this host becomes the leader.

        The last read may be old, and messages since then may be lost. The read
        happens in the thread of the watcher.
        """
        self._watcher.read_inspected()
        self._changed.set()

    def _update_firewall(self, member: election.Election) -> None:
        """Let machines in inspection pass if this host leads, or block all.

        :param member: this host's part in the election.
        :raises: the error with which reading the machines has failed.
        """
        # The caller has waited for the first read, so this is not None.
        machines = self._watcher.machines() or admission.Machines()
        admit = admission.decide(
            machines,
            leads=member.is_leader,
            auto_discovery=self._settings.auto_discovery,
        )
        remaining = member.remaining()
        passes = firewalls.seconds_to_pass(remaining) > 0
        # When False is set, the election may release its lock, and another
        # host may let machines pass. Therefore set True before the kernel lets
        # machines pass, but set False only after the kernel blocks.
        if passes:
            self._set_passes(True)
        self._firewall.update(admit, remaining)
        if not passes:
            self._set_passes(False)
        # The update has succeeded, so an outage has ended.
        self._outage.over()

    def _block_everything(self) -> None:
        """Block everything in the kernel, then record that it is blocked.

        The order matters: once it is recorded, machines may pass on another
        host.
        """
        self._firewall.block()
        self._set_passes(False)

    def _set_passes(self, passes: bool) -> None:
        """Record whether machines may pass now, and log a change.

        The election waits for False before it releases its lock, see
        :meth:`_wait_until_blocked`.
        """
        with self._state:
            if passes and not self._passes:
                LOG.info(
                    'Passing machines in inspection on %s',
                    self._firewall.interface,
                )
            elif self._passes and not passes:
                LOG.info('Blocking everything on %s', self._firewall.interface)
            self._passes = passes
            self._state.notify_all()

    def _wait_until_blocked(self) -> None:
        """Wait until no machine can pass on this host.

        The election calls this before it releases its lock. The thread that
        updates the firewall then blocks all machines. If it hangs, the timeout
        in the kernel blocks them.
        """
        # Wake up the thread that updates the firewall.
        self._changed.set()
        with self._state:
            # Do not wait longer than a lease, because the timeout in the
            # kernel is shorter and has expired by then.
            self._state.wait_for(self._is_blocked, election.LEASE)

    def _is_blocked(self) -> bool:
        """Return whether no machine can pass on this host."""
        return not self._passes

    def _wait_for_change(self) -> None:
        """Wait until the machines or the leadership may have changed.

        It waits for a heartbeat at most, because the timeout in the kernel
        must then be renewed.
        """
        self._changed.wait(election.HEARTBEAT)
        self._changed.clear()
