# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A stand-in for nft and the kernel behind it."""

import copy

from ironic_inspection_rules.ha import firewall


class FakeKernel:
    """Carries commands out on sets in memory, all or none.

    Call it as :func:`firewall.run_nft`.

    :ivar tables: by name, the sets of each by name; None is a table that
        somebody else made.
    :ivar broken: what nft says whenever it is run, None when it works.
    """

    def __init__(self):
        self.tables = {}
        self.broken = None

    def __call__(self, *arguments, commands=None):
        if self.broken:
            raise firewall.FirewallError(self.broken)
        if 'list' in arguments:
            return self._list(arguments[-1])
        tables = copy.deepcopy(self.tables)
        for command in commands:
            [(action, what)] = command.items()
            [(kind, spec)] = what.items()
            getattr(self, f'_{action}_{kind}')(tables, spec)
        self.tables = tables
        return {}

    @property
    def is_open(self):
        """Whether any door is."""
        return any(sets and sets['leader'] for sets in self.tables.values())

    def _list(self, name):
        if name not in self.tables:
            raise firewall.FirewallError('nft: No such file or directory')
        comment = 'ours' if self.tables[name] is None else (
            'ironic-inspection-pxe-filter')
        return {'nftables': [{'metainfo': {}},
                             {'rule': {'comment': comment}}]}

    def _add_table(self, tables, spec):
        tables.setdefault(spec['name'], {})

    def _delete_table(self, tables, spec):
        del tables[spec['name']]

    def _add_set(self, tables, spec):
        tables[spec['table']][spec['name']] = set()

    def _add_chain(self, tables, spec):
        pass

    def _add_rule(self, tables, spec):
        pass

    def _flush_set(self, tables, spec):
        self._set(tables, spec).clear()

    def _add_element(self, tables, spec):
        self._set(tables, spec).update(
            element['elem']['val'] if isinstance(element, dict) else element
            for element in spec['elem'])

    def _delete_element(self, tables, spec):
        for element in spec['elem']:
            if element not in self._set(tables, spec):
                raise firewall.FirewallError('nft: No such element')
            self._set(tables, spec).remove(element)

    def _set(self, tables, spec):
        if spec['table'] not in tables:
            raise firewall.FirewallError('nft: No such file or directory')
        return tables[spec['table']][spec['name']]
