# SPDX-License-Identifier: Apache-2.0

"""Rules in the place of hooks come to the same as the hooks."""

import copy
import functools
import uuid

import hypothesis
import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz
from ironic_inspection_rules.tests.unit.recipes import hooks
from ironic_inspection_rules.tests.unit.recipes import machines

PAGE = 'doc/source/user/cookbook.rst'


def read_rules():
    """The rules of the page, by the first of those that are one block.

    They stand in the order they run in.
    """
    found = {}
    for block in guide.Page(PAGE).blocks:
        if block.language != 'yaml' or block.is_example:
            continue
        read = yaml.safe_load(block.text)
        rules = read if isinstance(read, list) else [read]
        found[rules[0]['description']] = rules
    return found


@functools.cache
def plans():
    """The same, compiled, in the order they run in."""
    ops = registry.installed()
    return {
        name: [
            compiler.compile_rule(
                validation.parse(
                    {**rule, 'uuid': str(uuid.UUID(int=index))}, ops
                ),
                ops,
            )
            for index, rule in enumerate(rules)
        ]
        for name, rules in read_rules().items()
    }


class Run:
    """Rules of the page that ran on a machine.

    :param name: the description of the first of them.
    """

    def __init__(self, name, machine):
        self.target = working_copy.WorkingCopy(
            working_copy.Facts(
                machine['inventory'],
                machine['plugin_data'],
                machine['node'],
                tuple(machine['ports']),
            )
        )
        self.error = runner.run(plans()[name], self.target).error

    def __getitem__(self, root):
        return self.target.roots[root]


class HooksTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not guide.pages():
            self.skipTest('not a checkout: no documentation')

    def check(self, name, machine):
        expected = copy.deepcopy(machine)
        run = Run(name, machine)
        try:
            hooks.BY_RULE[name](expected)
        except hooks.InspectionFailed:
            self.assertIsInstance(run.error, exceptions.RuleFailed)
            return
        except (TypeError, AttributeError):
            # Code in Python ends here; a rule may go on.
            return
        self.assertIsNone(run.error)
        self.assertEqual(
            {**expected['node'], 'traits': None},
            {**run['node'], 'traits': None},
        )
        self.assertCountEqual(
            expected['node']['traits'], run['node']['traits']
        )
        self.assertEqual(expected['ports'], run['ports'])
        self.assertEqual(machine['plugin_data'], run['plugin_data'])

    @fuzz.settings
    @hypothesis.given(machines.odd())
    def test_a_trait_of_vendor_and_model(self, machine):
        self.check('A trait of vendor and model', machine)

    @fuzz.settings
    @hypothesis.given(machines.odd())
    def test_the_name_of_a_node(self, machine):
        self.check('The name is vendor and serial number', machine)

    @fuzz.settings
    @hypothesis.given(machines.odd())
    def test_names_of_ports(self, machine):
        self.check('Ports are named after their interfaces', machine)

    def test_a_dash_at_the_end_of_a_switch_is_no_number(self):
        machine = copy.deepcopy(machines.SOUND)
        for lldp in machine['plugin_data']['parsed_lldp'].values():
            lldp['switch_system_name'] = 'a-1-'
        self.check('Networks by switch', machine)

    @fuzz.settings
    @hypothesis.given(machines.odd())
    def test_networks_by_switch(self, machine):
        self.check('Networks by switch', machine)

    @fuzz.settings
    @hypothesis.given(machines.odd())
    def test_a_resource_class(self, machine):
        self.check('No resource class unless one fits', machine)

    def test_a_sound_machine_gets_all(self):
        for name in hooks.BY_RULE:
            self.check(name, machines.SOUND)
        run = Run('Networks by switch', machines.SOUND)
        self.assertEqual(
            [
                ('a9-3-network', True),
                ('a10-3-network', False),
                ('a9-3-storage', False),
            ],
            [
                (port['physical_network'], port['pxe_enabled'])
                for port in run['ports']
            ],
        )
        self.assertCountEqual(
            ['CUSTOM_NETWORK_GROUP_NETWORK', 'CUSTOM_NETWORK_GROUP_STORAGE'],
            run['node']['traits'],
        )

    def test_a_wrong_name_tells_vendor_and_serial_number(self):
        name = 'The name is vendor and serial number'
        machine = copy.deepcopy(machines.SOUND)
        machine['node']['name'] = 'rack1-u12'
        error = str(Run(name, machine).error)
        for text in ('rack1-u12', 'Dell Inc.', 'AN3Z23A'):
            self.assertIn(text, error)
        del machine['inventory']['system_vendor']['serial_number']
        self.assertIn('serial number unknown', str(Run(name, machine).error))

    def test_data_of_the_machine_does_not_get_in_the_way(self):
        for odd in ('text', 5, None, [1], {'interfaces': 'x', 'links': 5}):
            machine = copy.deepcopy(machines.SOUND)
            machine['plugin_data'].update(
                {'naming': odd, 'cabling': odd, 'chassis': odd}
            )
            for name, hook in hooks.BY_RULE.items():
                run = Run(name, machine)
                expected = copy.deepcopy(machine)
                hook(expected)
                self.assertIsNone(run.error, repr(odd))
                self.assertEqual(expected['ports'], run['ports'])
