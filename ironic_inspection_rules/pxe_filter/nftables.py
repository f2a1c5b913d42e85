# SPDX-License-Identifier: Apache-2.0

"""The nftables table that guards DHCP and TFTP on one interface.

This module builds scripts for nft(8); :mod:`.firewall` runs them.

.. code-block:: none

    input   packet on the interface for a guarded port → guard
    guard   not from an interface in @leader      drop
            at a time that is not in @lease       drop
            source in @whitelist                  accept
            source in @blacklist                  drop
            from an interface in @unknown         accept
            anything else                         drop

``@leader`` contains the interface while this host leads, with a timeout. The
leader renews it; if it does not, the kernel blocks. ``@lease`` contains the
time span for which the leader has decided. So nobody passes when the filter
was suspended after the decision, or nft was slow. A clock that is set back
does not extend the timeout. Machines may pass for up to two seconds too long
in one case: the filter is suspended before it starts nft, and the clock is
set back meanwhile.

Source: spec 001 "HA Firewall decomposition".
"""

from collections.abc import Iterable, Iterator
import re

from ironic_inspection_rules.pxe_filter import admission

FAMILY = 'inet'

MARK = 'ironic-inspection-pxe-filter'
"""Comment of rules, by which a table is recognized as ours."""

_PRIORITY = -10
"""Before the ``filter`` chains of others, which can only block more."""

_SETS = {
    'leader': 'type ifname; flags timeout;',
    'lease': 'typeof meta time; flags interval;',
    'unknown': 'type ifname;',
    'whitelist': 'type ether_addr;',
    'blacklist': 'type ether_addr;',
}

_GUARD = (
    ('iifname != @leader', 'drop', 'not the leader'),
    ('meta time != @lease', 'drop', 'the lease is over'),
    ('ether saddr @whitelist', 'accept', 'in inspection'),
    ('ether saddr @blacklist', 'drop', 'not in inspection'),
    ('iifname @unknown', 'accept', 'unknown, and discovery is on'),
    ('', 'drop', 'unknown'),
)


class Table:
    """The table of one interface.

    A script is a list of lines, without line ends.

    :param ports: ports to guard, such as ``67/udp``.
    """

    def __init__(self, interface: str, ports: Iterable[str]) -> None:
        self.interface = interface
        self.name = 'ironic_inspection_pxe_filter_' + re.sub(
            r'[^\w.-]', '_', interface, flags=re.ASCII)
        self.fallback_name = self.name + '_closed'
        self._ports = [port.split('/') for port in ports]

    def create(self) -> list[str]:
        """Return the script that replaces the table; it blocks everything."""
        return [*_drop(self.name), *_drop(self.fallback_name),
                *self._define(self.name)]

    def create_fallback(self) -> list[str]:
        """Return the script for a table of another name that blocks all."""
        return [*_drop(self.fallback_name), *self._define(self.fallback_name)]

    def change(self, before: admission.Admission,
               after: admission.Admission) -> list[str]:
        """Return the script that changes one admission to another."""
        script = []
        for name, old, new in (
                ('whitelist', before.allowlist, after.allowlist),
                ('blacklist', before.denylist, after.denylist)):
            if old is not new:
                script += self._elements('delete', name, sorted(old - new))
                script += self._elements('add', name, sorted(new - old))
        if before.unknown != after.unknown:
            action = 'add' if after.unknown else 'delete'
            script += self._elements(action, 'unknown', [self._quoted])
        return script

    def block(self) -> list[str]:
        """Return the script that blocks all machines.

        nft fails if the table is gone, so this also checks that it is there.
        """
        return [f'flush set {FAMILY} {self.name} {name}'
                for name in ('leader', 'lease')]

    def pass_for(self, seconds: float, now: float, until: float) -> list[str]:
        """Return the script that lets admitted machines pass.

        nft fails if the table is gone.

        :param seconds: how long, from the time at which nft runs; rounded
            down to 0.1 seconds.
        :param now: the present time, in seconds since 1970.
        :param until: the time after which nobody passes, in whole seconds
            since 1970, whenever nft runs.
        """
        return [
            *self.block(),
            *self._elements('add', 'lease', [f'{int(now)}-{int(until)}']),
            *self._elements('add', 'leader', [
                f'{self._quoted} timeout {int(seconds * 10)}00ms'])]

    def is_foreign(self, listing: str) -> bool:
        """Return whether ``nft list table`` shows a table that is not ours."""
        return f'"{MARK}"' not in listing

    def _define(self, table: str) -> Iterator[str]:
        yield f'add table {FAMILY} {table}'
        for name, kind in _SETS.items():
            yield f'add set {FAMILY} {table} {name} {{ {kind} }}'
        yield f'add chain {FAMILY} {table} guard'
        yield (f'add chain {FAMILY} {table} input {{ type filter hook input '
               f'priority {_PRIORITY}; policy accept; }}')
        for number, protocol in self._ports:
            yield (f'add rule {FAMILY} {table} input iifname {self._quoted} '
                   f'{protocol} dport {number} goto guard comment "{MARK}"')
        for match, verdict, comment in _GUARD:
            rule = f'{match} counter {verdict} comment "{comment}"'.lstrip()
            yield f'add rule {FAMILY} {table} guard {rule}'

    def _elements(self, action: str, name: str,
                  elements: list[str]) -> list[str]:
        if not elements:
            return []
        return [f'{action} element {FAMILY} {self.name} {name} '
                f'{{ {", ".join(elements)} }}']

    @property
    def _quoted(self) -> str:
        return f'"{self.interface}"'


def _drop(name: str) -> list[str]:
    """Return the script that removes a table, if it exists."""
    return [f'{action} table {FAMILY} {name}' for action in ('add', 'delete')]
