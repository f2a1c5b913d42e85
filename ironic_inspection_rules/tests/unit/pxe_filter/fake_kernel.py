# SPDX-License-Identifier: Apache-2.0

"""A stand-in for nft and the kernel behind it."""

import copy
import re
import threading

from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.pxe_filter import nftables

_COMMAND = re.compile(
    r'(?P<verb>add|delete|flush) (?P<kind>table|set|chain|rule|element) '
    r'inet (?P<table>\S+) ?(?P<name>\S*)(?: \{ (?P<body>.*) \})?'
)


class FakeKernel:
    """Carries scripts out on sets in memory, all or none.

    Call it as :func:`firewall.run_nft`. It keeps to
    ``test_firewall.ContractMixin``, as the real one does.

    :ivar tables: by name, the sets of each by name; None is a table that
        somebody else made.
    :ivar broken: what nft says whenever it is run, None when it works.
    :ivar delay: seconds that nft takes.
    """

    def __init__(self):
        self.tables = {}
        self.broken = None
        self.delay = 0.0
        self._lock = threading.Lock()

    def __call__(self, *arguments, script=None, timeout=10.0):
        if self.broken:
            raise firewall.FirewallError(self.broken)
        if self.delay > timeout:
            raise firewall.FirewallError('nft did not answer')
        if 'list' in arguments:
            return self._list(arguments[-1])
        with self._lock:
            tables = copy.deepcopy(self.tables)
            for line in script.splitlines():
                _execute(tables, **_COMMAND.match(line).groupdict())
            self.tables = tables
        return ''

    def lose_tables(self):
        """Remove all tables, whatever is being done to them."""
        with self._lock:
            self.tables = {}

    @property
    def passes(self):
        """Whether any table lets machines pass."""
        return any(sets and sets['leader'] for sets in self.tables.values())

    def _list(self, name):
        if name not in self.tables:
            raise firewall.FirewallError('nft: No such file or directory')
        return (
            'theirs'
            if self.tables[name] is None
            else (f'comment "{nftables.MARK}"')
        )


def _execute(tables, verb, kind, table, name, body):
    if (verb, kind) == ('add', 'table'):
        tables.setdefault(table, {})
        return
    if table not in tables:
        raise firewall.FirewallError('nft: No such file or directory')
    if (verb, kind) == ('delete', 'table'):
        del tables[table]
    elif (verb, kind) == ('add', 'set'):
        tables[table][name] = set()
    elif (verb, kind) == ('flush', 'set'):
        tables[table][name].clear()
    elif kind == 'element':
        elements = {
            element.partition(' timeout ')[0].strip('"')
            for element in body.split(', ')
        }
        if verb == 'add':
            tables[table][name] |= elements
        elif elements <= tables[table][name]:
            tables[table][name] -= elements
        else:
            raise firewall.FirewallError('nft: No such file or directory')
