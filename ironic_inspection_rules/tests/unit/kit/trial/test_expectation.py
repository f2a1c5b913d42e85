# SPDX-License-Identifier: Apache-2.0

"""What is expected of machines, whole and in parts."""

import os

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.trial import expectation
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit.rule_file import files

RULE = """
- description: A
  sensitive: %s
  actions:
  - {op: add-trait, args: [CUSTOM_B]}
  - {op: add-trait, args: [CUSTOM_A]}
"""


class PartTestCase(files.FilesTestCase):
    def test_parts_hold_or_do_not(self):
        for part, value, holds in (
            ({'has': ['a']}, ['a', 'b'], True),
            ({'has': ['a', 'c']}, ['a', 'b'], False),
            ({'has': ['a']}, 'a', False),
            ({'contains': 'b'}, 'abc', True),
            ({'matches': 'b'}, 'abc', False),
            ({'matches': 'a.c'}, 'abc', True),
            ({'matches': 'a.c', 'contains': 'd'}, 'abc', False),
            ({'contains': 'b'}, None, False),
        ):
            self.assertIs(holds, expectation._has_parts(part, value), part)

    def test_what_is_no_part_is_refused(self):
        for part in (
            '{}',
            '{has: a}',
            '{matches: "("}',
            '{like: a}',
            '{contains: [a]}',
        ):
            path = self.write('e.yaml', f'm.json: {{error: {part}}}')
            self.assertRaises(
                exceptions.InvalidDocument, expectation.load, path
            )


class ActualTestCase(files.FilesTestCase):
    def actual(self, sensitive):
        rules = machine_test.load_rules(
            [self.write('rules.yaml', RULE % sensitive)]
        )
        return expectation.build_actual_outcome(
            machine_test.run(
                self.write('m.json', files.INVENTORY),
                machine_test.compile_rules(rules),
                machine_test.load_node(None),
            )
        )[1]

    def test_traits_are_in_order(self):
        self.assertEqual(
            ['CUSTOM_A', 'CUSTOM_B'], self.actual('false')['traits']
        )

    def test_a_machine_may_be_expected_to_have_no_traits(self):
        rules = machine_test.load_rules(
            [
                self.write(
                    'rules.yaml', '[{actions: [{op: log, args: {msg: a}}]}]'
                )
            ]
        )
        machine = self.write('m.json', files.INVENTORY)
        actual = expectation.build_actual_outcome(
            machine_test.run(
                machine,
                machine_test.compile_rules(rules),
                machine_test.load_node(None),
            )
        )
        for expected in ('[]', '{has: []}'):
            path = self.write('e.yaml', f'm.json: {{traits: {expected}}}')
            self.assertEqual(
                [('m.json', '')],
                list(
                    expectation.compare(path, expectation.load(path), [actual])
                ),
            )
        path = self.write('e.yaml', 'm.json: {result: ok, traits: [CUSTOM_A]}')
        [(_name, text)] = expectation.compare(
            path, expectation.load(path), [actual]
        )
        self.assertEqual(
            ['-traits:', '-- CUSTOM_A'],
            [line for line in text.splitlines()[3:] if line[0] in '+-'],
        )
        expectation.dump(path, [actual])
        self.assertNotIn('traits', expectation.load(path)['m.json'])

    def test_an_error_leaves_the_file_and_no_other(self):
        def machines():
            yield expectation.ActualOutcome(
                self.write('m.json', files.INVENTORY), {'result': 'ok'}
            )
            raise exceptions.InvalidDocument('broken.json', 'no JSON')

        path = self.write('e.yaml', 'm.json: {error: null}')
        self.assertRaises(
            exceptions.InvalidDocument, expectation.dump, path, machines()
        )
        self.assertEqual({'m.json': {'error': None}}, expectation.load(path))
        directory = os.path.dirname(path)
        self.assertEqual({'e.yaml', 'm.json'}, set(os.listdir(directory)))

    def test_a_machine_may_be_expected_to_have_no_error(self):
        path = self.write('e.yaml', 'm.json: {error: null}')
        machine = self.write('m.json', files.INVENTORY)
        for actual, lines in (
            ({}, []),
            ({'error': 'too old'}, ['-error: null', '+error: too old']),
        ):
            [(_name, text)] = expectation.compare(
                path,
                expectation.load(path),
                [expectation.ActualOutcome(machine, actual)],
            )
            self.assertEqual(
                lines,
                [line for line in text.splitlines()[3:] if line[0] in '+-'],
            )

    def test_traits_of_sensitive_rules_are_not_told(self):
        found = self.actual('true')
        self.assertNotIn('traits', found)
        self.assertNotIn('CUSTOM', str(found))
