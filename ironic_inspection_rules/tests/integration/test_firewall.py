# SPDX-License-Identifier: Apache-2.0

"""The firewall's contract, kept by the nft and the kernel of this machine."""

import re

from oslotest import base

from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.tests.integration import network
from ironic_inspection_rules.tests.unit.pxe_filter import test_firewall


class Kernel:
    """The kernel in a network namespace, seen as the fake one is."""

    def __init__(self, namespace):
        self._namespace = namespace

    def __call__(self, *arguments, script=None, timeout=10.0):
        if script is not None:
            arguments = ('-f', '-', *arguments)
        done = self._namespace.run(
            'nft', *arguments, check=False, input=script
        )
        if done.returncode:
            raise firewall.FirewallError(done.stderr)
        return done.stdout

    @property
    def tables(self):
        """By name, the sets of each by name."""
        tables = {}
        for line in self('list', 'tables').splitlines():
            name = line.split()[-1]
            listing = self('list', 'table', 'inet', name)
            tables[name] = {
                found[1]: _elements(found[2])
                for found in re.finditer(
                    r'set (\w+) {([^{}]*(?:{[^}]*})?)', listing
                )
            }
        return tables

    @property
    def passes(self):
        """Whether any table lets machines pass."""
        return any(sets.get('leader') for sets in self.tables.values())


def _elements(definition):
    found = re.search(r'elements = {([^}]*)}', definition)
    return (
        {element.split()[0].strip('"') for element in found[1].split(',')}
        if found
        else set()
    )


class KernelTestCase(test_firewall.ContractMixin, base.BaseTestCase):
    is_real = True

    def make_kernel(self):
        unable = network.why_unable()
        if unable:
            self.skipTest(f'no networks to be made here: {unable}')
        return Kernel(self.useFixture(network.Namespace()))

    def put_foreign_table(self):
        self.kernel('add', 'table', 'inet', self.table.name)

    def remove_foreign_table(self):
        self.kernel('delete', 'table', 'inet', self.table.name)
