# SPDX-License-Identifier: Apache-2.0

"""Public rule sets in Ironic's language meet public inventories."""

import uuid

import yaml

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base

# The rule takes the BMC's address whether the machine has told it or not.
DESERVED = {
    (
        'kayobe-2026.json',
        'Set Redfish address',
        'ironic-apiref-node-inventory.json',
    ),
    (
        'kayobe-2026.json',
        'Set Redfish address',
        'ironic-hook-local_link_connection.json',
    ),
}


class PublicRulesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ops = registry.installed()
        self.rule_sets = self.load('rules-ironic')
        self.inventories = self.load('inventories')

    def load(self, directory):
        return {
            path.name: yaml.safe_load(path.read_text())
            for path in sorted(
                shared_data.directory().joinpath(directory).iterdir()
            )
        }

    def rules(self, entries):
        """Give entries UUIDs, as one of them has only a name."""
        return [
            {**entry, 'uuid': str(uuid.UUID(int=number))}
            for number, entry in enumerate(entries)
        ]

    def test_every_rule_can_be_made(self):
        for entries in self.rule_sets.values():
            for rule in self.rules(entries):
                self.assertEqual([], validation.validate(rule, self.ops))

    def test_only_rules_that_deserve_it_fail(self):
        failed = {
            (name, rule['description'], inventory)
            for name, entries in self.rule_sets.items()
            for rule in self.rules(entries)
            for inventory, data in self.inventories.items()
            for discovered in (False, True)
            if self.run_rule(rule, data, discovered).error
        }
        self.assertEqual(DESERVED, failed)

    def run_rule(self, rule, data, discovered):
        plan = compiler.compile_rule(
            validation.parse(rule, self.ops), self.ops
        )
        plugin_data = data.get('plugin_data') or {
            name: value for name, value in data.items() if name != 'inventory'
        }
        return runner.run(
            [plan],
            working_copy.WorkingCopy(
                working_copy.Facts(
                    inventory=data['inventory'],
                    plugin_data=plugin_data,
                    node={
                        'uuid': str(uuid.UUID(int=0)),
                        'name': None,
                        'driver': 'ipmi',
                        'driver_info': {},
                        'properties': {},
                        'extra': {},
                        'traits': [],
                        'auto_discovered': discovered,
                    },
                )
            ),
        )
