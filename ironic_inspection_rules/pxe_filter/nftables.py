# SPDX-License-Identifier: Apache-2.0

"""The scripts for the nftables table that guards DHCP and TFTP.

This module builds scripts for nft(8); :mod:`.firewall` runs them. The table
has two chains of rules, ``input`` and ``guard``, and *sets* whose names begin
with ``@``. The first rule of a chain that matches a packet decides:

.. code-block:: none

    input   packet on the interface for a guarded port → guard
    guard   not from an interface in @leader      drop
            at a time that is not in @lease       drop
            source in @whitelist                  accept
            source in @blacklist                  drop
            from an interface in @unknown         accept
            anything else                         drop

The *elements* of the sets are MAC addresses in ``@whitelist`` and
``@blacklist``, and the interface itself in ``@unknown`` while unknown machines
pass.

``@leader`` contains the interface while this host leads, with a timeout. The
leader renews the timeout; if it does not, the kernel blocks. ``@lease``
contains the time span for which the leader has decided, so that no machine
passes if the filter was suspended after the decision, or nft was slow. A clock
that is set back does not extend the timeout. Machines may pass for up to two
seconds too long in one case: the filter is suspended before it starts nft, and
the clock is set back meanwhile.

Source: spec 001 "HA Firewall decomposition".
"""

from collections.abc import Iterable, Iterator
import re

from ironic_inspection_rules.pxe_filter import admission

FAMILY = 'inet'

MARK = 'ironic-inspection-pxe-filter'
"""Comment of rules, by which a table is recognized as ours."""

_PRIORITY_OF_CHAIN = -10
"""Runs before the ``filter`` chains of others, which can only block more."""

# The type and the flags of the sets, by name.
_SETS = {
    'leader': 'type ifname; flags timeout;',
    'lease': 'typeof meta time; flags interval;',
    'unknown': 'type ifname;',
    'whitelist': 'type ether_addr;',
    'blacklist': 'type ether_addr;',
}

# The match, the verdict and the comment of the rules, in their order.
_RULES_OF_GUARD = (
    ('iifname != @leader', 'drop', 'not the leader'),
    ('meta time != @lease', 'drop', 'the lease is over'),
    ('ether saddr @whitelist', 'accept', 'in inspection'),
    ('ether saddr @blacklist', 'drop', 'not in inspection'),
    ('iifname @unknown', 'accept', 'unknown, and discovery is on'),
    ('', 'drop', 'unknown'),
)


class FilterTable:
    """Builds scripts for the table of one interface, without running them.

    A script is a list of lines, without line ends.

    :param interface: the name of the interface.
    :param ports: the ports to guard, e.g. ``67/udp``.
    """

    def __init__(self, interface: str, ports: Iterable[str]) -> None:
        self.interface = interface
        # Replace characters that nft would require to be quoted. For example,
        # the name of the table for "br-ex:1" ends with "br-ex_1".
        suffix = re.sub(r'[^\w.-]', '_', interface, flags=re.ASCII)
        self.name = f'ironic_inspection_pxe_filter_{suffix}'
        # The name of the table that blocks everything if somebody else's table
        # has the name above.
        self.fallback_name = self.name + '_closed'
        self._ports = [port.split('/') for port in ports]

    def create(self) -> list[str]:
        """Return the script that replaces the table; it blocks everything."""
        return [
            *_drop_table(self.name),
            *_drop_table(self.fallback_name),
            *self._define_table(self.name),
        ]

    def create_fallback(self) -> list[str]:
        """Return the script for a table of another name that blocks all.

        It is needed if somebody else's table has the usual name.
        """
        return [
            *_drop_table(self.fallback_name),
            *self._define_table(self.fallback_name),
        ]

    def change(
        self, before: admission.Admission, after: admission.Admission
    ) -> list[str]:
        """Return the script that changes which machines are in the sets.

        It contains only the differences, e.g. ``delete element inet …
        whitelist { 52:54:00:00:00:01 }``, and is empty if there are none.

        :param before: the machines that are in the sets now.
        :param after: the machines that are in the sets after the script.
        """
        script = [
            *self._change_elements(
                'whitelist', before.allowlist, after.allowlist
            ),
            *self._change_elements(
                'blacklist', before.denylist, after.denylist
            ),
        ]
        # Unknown machines pass while the interface is in the set "unknown".
        if after.unknown and not before.unknown:
            script += self._edit_elements(
                'add', 'unknown', [self._quoted_name]
            )
        elif before.unknown and not after.unknown:
            script += self._edit_elements(
                'delete', 'unknown', [self._quoted_name]
            )
        return script

    def _change_elements(
        self, name: str, old: frozenset[str], new: frozenset[str]
    ) -> list[str]:
        """Return the script that changes the elements of a set.

        :param name: the name of the set.
        """
        # A host decides twice a second, usually with the same machines, and
        # comparing tens of thousands of addresses would be slow.
        if old is new:
            return []
        return [
            *self._edit_elements('delete', name, sorted(old - new)),
            *self._edit_elements('add', name, sorted(new - old)),
        ]

    def block(self) -> list[str]:
        """Return the script that blocks all machines.

        nft fails if the table is gone, so this also checks that it exists.
        """
        return [
            f'flush set {FAMILY} {self.name} {name}'
            for name in ('leader', 'lease')
        ]

    def pass_for(self, seconds: float, now: float, until: float) -> list[str]:
        """Return the script that lets machines pass for some time.

        It sets the timeout of the set ``leader``, and the time span in the set
        ``lease``. nft fails if the table is gone.

        :param seconds: the timeout, which begins when nft runs; rounded down
            to 0.1 seconds.
        :param now: the current time, in seconds since 1970.
        :param until: the time after which no machine passes, even if nft runs
            late; in seconds since 1970, rounded down to whole seconds.
        """
        tenths = int(seconds * 10)
        if tenths == 0:
            # In nft, a timeout of zero means no timeout.
            return self.block()
        time_span = f'{int(now)}-{int(until)}'
        name_with_timeout = f'{self._quoted_name} timeout {tenths}00ms'
        return [
            # Empty the sets first, because on many kernels an element that is
            # added again keeps its timeout, and time spans must not overlap.
            *self.block(),
            *self._edit_elements('add', 'lease', [time_span]),
            *self._edit_elements('add', 'leader', [name_with_timeout]),
        ]

    def is_foreign(self, listing: str) -> bool:
        """Return whether ``nft list table`` shows a table that is not ours."""
        return f'"{MARK}"' not in listing

    def _define_table(self, table: str) -> Iterator[str]:
        """Yield the script for a new table, which lets no machine pass.

        It creates the sets, which are empty, and then the chains ``guard`` and
        ``input`` with their rules, see the docstring of this module.

        :param table: the name of the table.
        """
        yield f'add table {FAMILY} {table}'
        for name, type_and_flags in _SETS.items():
            yield f'add set {FAMILY} {table} {name} {{ {type_and_flags} }}'
        yield f'add chain {FAMILY} {table} guard'
        # With the policy "accept", this chain does not drop packets for other
        # ports.
        yield (
            f'add chain {FAMILY} {table} input {{ type filter hook input '
            f'priority {_PRIORITY_OF_CHAIN}; policy accept; }}'
        )
        for number, protocol in self._ports:
            yield (
                f'add rule {FAMILY} {table} input iifname {self._quoted_name} '
                f'{protocol} dport {number} goto guard comment "{MARK}"'
            )
        for match, verdict, comment in _RULES_OF_GUARD:
            # The last rule has no match and would begin with a space.
            rule = f'{match} counter {verdict} comment "{comment}"'.lstrip()
            yield f'add rule {FAMILY} {table} guard {rule}'

    def _edit_elements(
        self, action: str, name: str, elements: list[str]
    ) -> list[str]:
        """Return the script that adds elements to a set, or deletes them.

        :param action: ``add`` or ``delete``.
        :param name: the name of the set.
        :returns: one line; no line if there are no elements.
        """
        if not elements:
            # nft refuses a line without elements.
            return []
        joined = ', '.join(elements)
        return [f'{action} element {FAMILY} {self.name} {name} {{ {joined} }}']

    @property
    def _quoted_name(self) -> str:
        """The name of the interface in the quotes that nft requires."""
        return f'"{self.interface}"'


def _drop_table(name: str) -> list[str]:
    """Return the script that removes a table, whether it exists or not."""
    # In nft, deleting a table that does not exist is an error, but adding one
    # that exists is not.
    return [f'add table {FAMILY} {name}', f'delete table {FAMILY} {name}']
