# SPDX-License-Identifier: Apache-2.0

"""The PXE filter: lets only machines in inspection reach a DHCP server.

A :class:`PxeFilter` guards one interface of one host. The filters of a cloud
elect a leader, and machines pass only on its host. Three mechanisms block:

1. the kernel, by a timeout of at most two seconds that the leader renews
   (``nftables``);
2. the filter, when its leadership ends (``election``) or the database does
   not answer (``watcher``);
3. any error: the filter blocks everything, then logs the error.

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
    :param sync_period: time between two reads of all ports, 0 for one read.
    :param allowlist_period: time between two reads of nodes in inspection, 0
        to read them only after messages.
    :param retries: failures in a row before one is logged as an error.
    """

    auto_discovery: bool = False
    sync_period: float = 15.0
    allowlist_period: float = 15.0
    retries: int = 10
    retry_interval: float = 1.0


class PxeFilter:
    """The filter of one host.

    :param firewall: the firewall of the interface.
    :param source: the ports in Ironic's database.
    :param elect: builds this host's part in the election.
    """

    def __init__(self, firewall: firewalls.Firewall,
                 source: watchers.PortSource, elect: Elect,
                 settings: Settings) -> None:
        self._firewall = firewall
        self._source = source
        self._elect = elect
        self._settings = settings
        self._outage = watchdog.Outage(
            f'Letting machines pass on {firewall.interface}',
            settings.retries)
        self._changed = threading.Event()
        self._state = threading.Condition()
        self._passes = False
        self._watcher = self._new_watcher()

    def handle(self, change: notification.Change) -> None:
        """Handle a message; may be called from any thread."""
        self._watcher.handle(change)

    def install(self) -> None:
        """Create the nftables table; it blocks everything.

        :raises: FirewallError when that is not possible.
        """
        self._firewall.install()

    def run(self, stop: threading.Event) -> None:
        """Filter until told to stop, then block everything.

        Starts again after any failure.
        """
        retrying = tenacity.Retrying(
            # Everything is blocked by now.
            retry=tenacity.retry_if_exception_type(Exception),
            stop=tenacity.stop_when_event_set(stop),
            wait=tenacity.wait_fixed(self._settings.retry_interval),
            sleep=tenacity.sleep_using_event(stop),
            retry_error_callback=lambda state: None)
        retrying(self._run_until_failure, stop)

    def _new_watcher(self) -> watchers.Watcher:
        return watchers.Watcher(
            self._source, self._settings.sync_period,
            self._settings.allowlist_period, self._changed)

    def _run_until_failure(self, stop: threading.Event) -> None:
        """Filter until told to stop, or raise the first failure."""
        leave = threading.Event()
        try:
            self._block()
            self._watcher = self._new_watcher()
            # A daemon, as it may hang in the database.
            threading.Thread(target=self._watcher.run, args=(leave,),
                             name='pxe-filter-watcher', daemon=True).start()
            while self._watcher.machines() is None and not stop.is_set():
                self._wait_for_change()
            if not stop.is_set():
                self._take_part(stop, leave)
        # Whatever it was, all machines are blocked, and it begins anew.
        except Exception as exc:
            self._outage.failed(exc)
            raise
        finally:
            leave.set()

    def _take_part(self, stop: threading.Event,
                   leave: threading.Event) -> None:
        """Take part in the election, and let machines pass as leader."""
        def look_at_once() -> None:
            self._watcher.read_inspected()
            self._changed.set()

        part = self._elect(look_at_once, self._wait_until_blocked)
        with futures.ThreadPoolExecutor(max_workers=1) as pool:
            run = pool.submit(part.run, leave)
            try:
                while not (stop.is_set() or run.done()):
                    self._update(part)
                    self._wait_for_change()
            finally:
                try:
                    self._block()
                finally:
                    leave.set()
            run.result()

    def _update(self, part: election.Election) -> None:
        """Update the machines that pass, and for how long."""
        machines = self._watcher.machines() or admission.Machines()
        admit = admission.decide(machines, part.is_leader,
                                 self._settings.auto_discovery)
        remaining = part.remaining()
        passes = firewalls.seconds_to_pass(remaining) > 0
        if passes:
            self._set_passes(True)
        self._firewall.update(admit, remaining)
        if not passes:
            self._set_passes(False)
        self._outage.over()

    def _block(self) -> None:
        self._firewall.block()
        self._set_passes(False)

    def _set_passes(self, passes: bool) -> None:
        with self._state:
            if passes != self._passes:
                LOG.info('%(what)s on %(interface)s', {
                    'what': ('Passing machines in inspection' if passes
                             else 'Blocking everything'),
                    'interface': self._firewall.interface})
            self._passes = passes
            self._state.notify_all()

    def _wait_until_blocked(self) -> None:
        """Wait until this filter blocks, or the kernel does by its timeout.

        The lock of the election is not released before.
        """
        self._changed.set()
        with self._state:
            self._state.wait_for(lambda: not self._passes, election.LEASE)

    def _wait_for_change(self) -> None:
        self._changed.wait(election.HEARTBEAT)
        self._changed.clear()
