# SPDX-License-Identifier: Apache-2.0

"""What is printed of rules, and of those that are tried on one node."""

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class ExportTestCase(base.TestCase):

    def test_a_dash_and_nothing_are_standard_output(self):
        rule = {**dict.fromkeys(model.FIELDS), 'description': 'Tag',
                'built_in': False, 'sensitive': False}
        for words in ((), ('-',)):
            baremetal = fakes.Baremetal()
            baremetal.answers = [(200, {'inspection_rules': [rule]}),
                                 (200, {'tables': []})]
            app = fakes.App(baremetal)
            command = inspection_rule.ExportInspectionRules(app, None)
            command.take_action(
                command.get_parser('openstack').parse_args(words))
            self.assertIn('description: Tag\n', app.stdout.getvalue())


class TablesTestCase(base.TestCase):

    def test_no_change_is_said_in_words(self):
        change = {'object': 'node', 'op': 'add', 'path': '/extra/a',
                  'value': 1}
        for changes, said in (([], True), ([change], False)):
            text = inspection_rule._as_tables(
                {'rules': [], 'changes': changes, 'error': None})
            self.assertIs(said, 'nothing would change' in text)
            self.assertIs(not said, '/extra/a' in text)

    def test_why_no_rules_run_on_the_node_is_the_last_thing_said(self):
        text = inspection_rule._as_tables({
            'rules': [], 'changes': [], 'error': None,
            'warnings': ['no rules run on this node']})
        self.assertEqual('Warning: no rules run on this node',
                         text.splitlines()[-1])
