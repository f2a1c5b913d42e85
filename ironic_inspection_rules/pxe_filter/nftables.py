# SPDX-License-Identifier: Apache-2.0

"""The nftables table that guards DHCP and TFTP on one interface.

Only scripts are written here, as nft(8) reads them; :mod:`.firewall` has the
kernel carry them out.

.. code-block:: none

    input   what comes in on the interface for a guarded port → guard
    guard   not from an interface in @leader      drop
            at a time that is not in @lease       drop
            source in @whitelist                  accept
            source in @blacklist                  drop
            from an interface in @unknown         accept
            anything else                         drop

``@leader`` holds the interface while this host leads, with a timeout: unless
the living leader adds it again and again, the kernel blocks. ``@lease`` holds
the time span for which that was decided. A filter that is suspended between
the decision and its execution, or an nft that is slow, thus lets nobody pass
afterwards; and a clock that is set back cannot stretch the timeout. Only where
a filter is suspended before it starts nft, and the clock is set back before it
goes on, machines may pass for two seconds.

Source: spec 001 "HA Firewall decomposition".
"""

from collections.abc import Iterable, Iterator
import re

from ironic_inspection_rules.pxe_filter import admission

FAMILY = 'inet'

MARK = 'ironic-inspection-pxe-filter'
"""Comment of a rule by which a table is known as one of ours."""

_PRIORITY = -10
"""Before the ``filter`` chains of others, so that they can only add."""

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

    All methods return lines of a script, without line ends.

    :param ports: what to guard, as ``67/udp``.
    """

    def __init__(self, interface: str, ports: Iterable[str]) -> None:
        self.interface = interface
        self.name = 'ironic_inspection_pxe_filter_' + re.sub(
            r'[^\w.-]', '_', interface, flags=re.ASCII)
        self.fallback_name = self.name + '_closed'
        self._ports = [port.split('/') for port in ports]

    def create(self) -> list[str]:
        """Make the table afresh; it blocks everything."""
        return [*_drop(self.name), *_drop(self.fallback_name),
                *self._define(self.name)]

    def create_fallback(self) -> list[str]:
        """Block everything in a table of another name."""
        return [*_drop(self.fallback_name), *self._define(self.fallback_name)]

    def change(self, before: admission.Admission,
               after: admission.Admission) -> list[str]:
        """Return the change from one admission to another."""
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
        """Return what blocks everybody.

        It is an error, and so a probe, when the table is gone.
        """
        return [f'flush set {FAMILY} {self.name} {name}'
                for name in ('leader', 'lease')]

    def pass_for(self, seconds: float, now: float, until: float) -> list[str]:
        """Return what admits machines; an error when the table is gone.

        :param seconds: how long from the time that the kernel is told, to a
            tenth of one.
        :param now: the present time, in seconds since 1970.
        :param until: the time after which nobody passes, whenever the kernel
            is told; to a second.
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
    """Remove a table, whether it exists or not."""
    return [f'{action} table {FAMILY} {name}' for action in ('add', 'delete')]
