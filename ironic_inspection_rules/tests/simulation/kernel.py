# SPDX-License-Identifier: Apache-2.0

"""The simulated kernel of a host with a PXE filter."""

import re

from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.tests.simulation import scheduler
from ironic_inspection_rules.tests.unit.pxe_filter import fake_kernel

_EPOCH = 1_800_000_000.0
_TIMEOUT = re.compile(r'element \S+ \S+ leader .* timeout (\d+)ms')


class Kernel:
    """The kernel of a host; runs nft in a process of its own.

    nft goes on when the filter stalls or is killed, until its time limit.
    """

    def __init__(self, turns: scheduler.Scheduler) -> None:
        self._turns = turns
        self._sets = fake_kernel.FakeKernel()
        self._leader_until = 0.0
        self.clock_offset = 0.0
        self.slow_until = 0.0

    def time(self) -> float:
        """Return the wall-clock time of the host, in seconds since 1970."""
        return _EPOCH + self._turns.now + self.clock_offset

    def is_open(self) -> bool:
        """Return whether machines pass."""
        return self._turns.now < self._leader_until and any(
            sets
            and any(
                float(first) <= self.time() <= float(last)
                for first, last in (span.split('-') for span in sets['lease'])
            )
            for sets in self._sets.tables.values()
        )

    def __call__(
        self, *arguments: str, script: str | None = None, timeout: float = 10.0
    ) -> str:
        """See :func:`.firewall.run_nft`."""
        self._turns.pause()
        if script is None:
            return self._sets(*arguments)
        delay = 0.0
        if self._turns.now < self.slow_until:
            delay = self._turns.random.uniform(0, 4)
        nft = _Nft()
        self._turns.spawn(
            'nft',
            scheduler.Process('kernel'),
            lambda: self._carry_out(nft, script, delay, timeout),
        )
        self._turns.pause(lambda: nft.done)
        if nft.error is not None:
            raise nft.error
        return ''

    def _carry_out(
        self, nft: '_Nft', script: str, delay: float, timeout: float
    ) -> None:
        self._turns.pause(lambda: delay == 0, min(delay, timeout))
        try:
            if delay > timeout:
                raise firewall.FirewallError('nft did not answer')
            self._sets(script=script)
        except firewall.FirewallError as exc:
            nft.error = exc
        else:
            match = _TIMEOUT.search(script)
            self._leader_until = (
                0.0
                if match is None
                else (self._turns.now + int(match[1]) / 1000)
            )
        nft.done = True


class _Nft:
    """One run of nft."""

    def __init__(self) -> None:
        self.done = False
        self.error: firewall.FirewallError | None = None
