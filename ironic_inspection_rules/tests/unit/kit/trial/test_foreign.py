# SPDX-License-Identifier: Apache-2.0

"""A trial on a machine names the plugin that fails."""

import json

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit.engine import foreign
from ironic_inspection_rules.tests.unit.rule_file import files

RULE = {'conditions': [foreign.CONDITION], 'actions': [foreign.ACTION]}


class ForeignTestCase(files.FilesTestCase):
    def use(self, method):
        ops = foreign.ops(method)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.registry.installed',
                lambda: ops,
            )
        )
        return self.write('rules.yaml', json.dumps([RULE]))

    def test_its_error_is_that_of_the_machine(self):
        rules = machine_test.load_rules([self.use('')])
        tried = machine_test.run(
            self.write(
                'm.json',
                {'inventory': files.INVENTORY, 'plugin_data': {'a': 1}},
            ),
            machine_test.compile_rules(rules),
            machine_test.load_node(None),
        )
        self.assertEqual('error', tried.result)
        self.assertIn('odd-condition: ', tried.error)
        self.assertIn(f'({foreign.code("")}): KeyError:', tried.error)
        self.assertIn(foreign.TEXT, tried.error)

    def test_a_file_that_it_cannot_check_is_refused(self):
        error = self.assertRaises(
            exceptions.InvalidDocument,
            machine_test.load_rules,
            [self.use('problems')],
        )
        self.assertIn('"odd-condition": ', str(error))
        self.assertIn(f'({foreign.code("problems")}): KeyError:', str(error))
