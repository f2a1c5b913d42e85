# SPDX-License-Identifier: Apache-2.0

"""Schedules of hosts with a PXE filter each.

A *door* is a host; it is open while machines pass there. Filters, watchers,
firewalls and the election are the real code. Only the kernels, the database
that the filters read, and the coordination service are simulated.
"""

from collections.abc import Iterator
import contextlib
import functools
import types
from typing import Any
from unittest import mock

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.pxe_filter import service
from ironic_inspection_rules.pxe_filter import watcher
from ironic_inspection_rules.tests.simulation import coordinator
from ironic_inspection_rules.tests.simulation import invariants
from ironic_inspection_rules.tests.simulation import kernel as kernels
from ironic_inspection_rules.tests.simulation import scheduler
from ironic_inspection_rules.tests.simulation import standins

HOSTS = 3
PERIOD = 20.0
"""Seconds during which faults happen."""

HANDOVER = 10.0
"""Seconds in which another filter lets machines pass without the leader."""

_ROUNDING = 1e-6
"""Seconds; the kernel includes the end of a time span, and floats round."""

_MAC = '52:54:00:00:00:01'


class Source:
    """The database that filters read; can be out of reach, or hang."""

    def __init__(self, turns: scheduler.Scheduler) -> None:
        self._turns = turns
        self.away_until = self.hangs_until = 0.0

    def ping(self) -> None:
        """See :class:`.watcher.PortSource`."""
        self._turns.pause(
            lambda: self._turns.now >= self.hangs_until,
            max(self.hangs_until - self._turns.now, 0.0),
        )
        if self._turns.now < self.away_until:
            raise ConnectionError('the database is away')

    def read_ports(self) -> list[admission.Row]:
        """See :class:`.watcher.PortSource`."""
        self.ping()
        return [('port', _MAC)]

    read_inspected_ports = read_ports


class Host(scheduler.Process):
    """A process with a PXE filter, on the host of a kernel."""

    def __init__(
        self, name: str, kernel: kernels.Kernel, doors: 'Doors'
    ) -> None:
        super().__init__(name)
        self.kernel = kernel
        self.part: election.Election | None = None
        self.led_until = 0.0
        self._filter = service.PxeFilter(
            firewall.Firewall(nftables.FilterTable('lo', ['67/udp']), kernel),
            doors.source,
            self._elect,
            service.Settings(),
        )
        doors.turns.spawn('filter', self, lambda: self._run(doors))

    def _run(self, doors: 'Doors') -> None:
        try:
            self._filter.install()
        except firewall.FirewallError:
            # The service ends, and systemd starts it again.
            doors.turns.pause(lambda: False, 1.0)
            self._run(doors)
            return
        self._filter.run(doors.never)

    def _elect(
        self, on_gained: election.Callback, on_lost: election.Callback
    ) -> election.Election:
        self.part = election.Election(
            service.ELECTION_NAME,
            'sim://',
            self.name,
            on_gained=on_gained,
            on_lost=on_lost,
        )
        return self.part


class Doors:
    """A run of filters with faults, checking the invariants.

    :param seed: determines all choices.
    """

    def __init__(self, seed: int) -> None:
        self.turns = scheduler.Scheduler(seed)
        self.source = Source(self.turns)
        self._random = self.turns.random
        self._threading = standins.Threading(self.turns)
        self.never: Any = self._threading.Event()
        self._coordinator = coordinator.Coordinator(self.turns)
        self._hosts: list[Host] = []
        self._started = 0

    def run(self) -> None:
        """Run the schedule.

        :raises: AssertionError if an invariant is violated.
        """
        with self._stand_ins():
            try:
                self._run_with_faults()
            finally:
                self.turns.end()

    def _run_with_faults(self) -> None:
        for _host in range(HOSTS):
            self._start(kernels.Kernel(self.turns))
        faults = sorted(
            (
                (
                    self._random.uniform(0, PERIOD),
                    self._random.choice(
                        (
                            self._kill,
                            self._stall,
                            self._lose_database,
                            self._hang_database,
                            self._lose_coordinator,
                            self._forget_locks,
                            self._slow_nft,
                            self._jump_clock,
                        )
                    ),
                )
                for _fault in range(self._random.randint(1, 10))
            ),
            key=lambda fault: fault[0],
        )
        while self.turns.now < PERIOD:
            # A random delay, so that faults happen between any two steps.
            while (
                faults
                and faults[0][0] <= self.turns.now
                and (self._random.random() < 0.3)
            ):
                faults.pop(0)[1]()
            self._step()
        self._check_recovery()

    def _check_recovery(self) -> None:
        """Check that a door opens after the last fault."""
        end = max(
            [
                self.turns.now,
                self.source.away_until,
                self.source.hangs_until,
                self._coordinator.away_until,
                *(host.stalled_until for host in self._hosts),
                *(host.kernel.slow_until for host in self._hosts),
            ]
        )
        self.turns.note('no more faults')
        while self.turns.now < end + HANDOVER:
            self._step()
            if self.turns.now > end and self._open():
                return
        raise invariants.Violated(
            f'no door is open {HANDOVER:.0f} seconds after the last fault'
        )

    def _step(self) -> None:
        self.turns.step()
        for host in self._hosts:
            if host.part is not None and host.part.is_leader:
                host.led_until = self.turns.now + host.part.remaining()
        doors = self._open()
        if len(doors) > 1:
            raise invariants.Violated(
                'two doors are open: ' + ', '.join(host.name for host in doors)
            )
        for host in doors:
            if self.turns.now > host.led_until + _ROUNDING:
                raise invariants.Violated(
                    f'the door of {host.name} is open without a leader'
                )

    def _open(self) -> list[Host]:
        return [host for host in self._hosts if host.kernel.is_open()]

    def _start(self, kernel: kernels.Kernel, led_until: float = 0.0) -> None:
        self._started += 1
        host = Host(f'host{self._started}', kernel, self)
        host.led_until = led_until
        self._hosts.append(host)

    def _pick_host(self) -> Host:
        """Return a host, likely one that a fault affects."""
        if self.turns.last in self._hosts and self._random.random() < 0.5:
            return self._hosts[self._hosts.index(self.turns.last)]
        leaders = self._open()
        return self._random.choice(leaders or self._hosts)

    def _kill(self) -> None:
        host = self._pick_host()
        self.turns.kill(host)
        self._hosts.remove(host)
        self._start(host.kernel, host.led_until)

    def _stall(self) -> None:
        host = self._pick_host()
        host.stalled_until = self.turns.now + self._random.uniform(0.1, 9)
        self.turns.note(f'{host.name} stalls until {host.stalled_until:.1f}')

    def _lose_database(self) -> None:
        self.source.away_until = self.turns.now + self._random.uniform(0.1, 9)
        self.turns.note('the database is away')

    def _hang_database(self) -> None:
        self.source.hangs_until = self.turns.now + self._random.uniform(1, 9)
        self.turns.note('the database hangs')

    def _lose_coordinator(self) -> None:
        self._coordinator.away_until = self.turns.now + self._random.uniform(
            0.1, 9
        )
        self.turns.note('the coordinator is away')

    def _forget_locks(self) -> None:
        self._coordinator.forget()
        self.turns.note('the coordinator forgets all locks')

    def _slow_nft(self) -> None:
        host = self._pick_host()
        host.kernel.slow_until = self.turns.now + self._random.uniform(1, 6)
        self.turns.note(f'nft is slow on {host.name}')

    def _jump_clock(self) -> None:
        host = self._pick_host()
        # A filter that is suspended while its clock is set back may let
        # machines pass too long; that is a known limit, see nftables.
        back = 5 if self.turns.now > host.stalled_until else 0
        host.kernel.clock_offset += self._random.uniform(-back, 5)
        self.turns.note(f'the clock of {host.name} jumps')

    def _time(self) -> float:
        assert self.turns.current is not None
        host = self.turns.current.process
        assert isinstance(host, Host)
        return host.kernel.time()

    @contextlib.contextmanager
    def _stand_ins(self) -> Iterator[None]:
        time = types.SimpleNamespace(
            monotonic=lambda: self.turns.now, time=self._time
        )
        make_queue = functools.partial(standins.SimpleQueue, self.turns)
        with contextlib.ExitStack() as stack:
            for module in (election, service, watcher):
                stack.enter_context(
                    mock.patch.object(module, 'threading', self._threading)
                )
            for module in (election, watcher, firewall):
                stack.enter_context(mock.patch.object(module, 'time', time))
            for module, name, value in (
                (service, 'futures', standins.make_futures(self.turns)),
                (
                    watcher,
                    'queue',
                    types.SimpleNamespace(
                        SimpleQueue=make_queue, Empty=standins.Empty
                    ),
                ),
                (
                    election,
                    'coordinator',
                    coordinator.make_module(self._coordinator),
                ),
            ):
                stack.enter_context(mock.patch.object(module, name, value))
            yield
