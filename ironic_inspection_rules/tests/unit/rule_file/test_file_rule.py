# SPDX-License-Identifier: Apache-2.0

"""Built-in rules: those an operator keeps in a YAML file."""

import textwrap

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit import base

UUID = '12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11'


class LoadTestCase(base.TestCase):
    def load(self, text):
        directory = self.useFixture(fixtures.TempDir())
        self.path = directory.join('rules.yaml')
        with open(self.path, 'w', encoding='utf-8') as stream:
            stream.write(textwrap.dedent(text))
        return file_rule.load_built_in(
            document.load(self.path), registry.installed()
        )

    def refused(self, text):
        error = self.assertRaises(exceptions.InvalidDocument, self.load, text)
        self.assertIn(self.path, str(error))
        return str(error)

    def test_rules_keep_the_order_of_the_file(self):
        rules = self.load("""
            - description: second to run
              actions: [{op: fail, args: [no]}]
            - description: first to run
              priority: 5
              actions: [{op: fail, args: [no]}]
        """)

        self.assertEqual(
            ['second to run', 'first to run'],
            [rule.description for rule in rules],
        )
        self.assertTrue(all(rule.built_in for rule in rules))

    def test_any_integer_is_a_priority(self):
        low, high = self.load("""
            - {priority: -7, actions: [{op: fail, args: [no]}]}
            - {priority: 123456, actions: [{op: fail, args: [no]}]}
        """)

        self.assertEqual((-7, 123456), (low.priority, high.priority))

    def test_rules_of_ironic_inspector_are_read_too(self):
        (rule,) = self.load("""
            - conditions: [{op: eq, field: memory_mb, value: 1}]
              actions: [{action: fail, message: no}]
        """)

        self.assertTrue(rule.built_in)
        self.assertEqual('inspector-eq', rule.conditions[0]['op'])

    def test_a_uuid_is_taken_as_it_is(self):
        (rule,) = self.load(f"""
            - {{uuid: {UUID}, actions: [{{op: fail, args: [no]}}]}}
        """)

        self.assertEqual(UUID, rule.uuid)

    def test_a_plain_name_gives_the_same_uuid_whatever_else_changes(self):
        (before,) = self.load("""
            - {uuid: dell-setup, actions: [{op: fail, args: [no]}]}
        """)
        _other, after = self.load("""
            - {uuid: other, actions: [{op: fail, args: [no]}]}
            - {uuid: dell-setup, priority: 3, actions: [{op: log, args: [a]}]}
        """)

        self.assertEqual(before.uuid, after.uuid)

    def test_a_rule_without_uuid_keeps_one_while_it_is_the_same(self):
        rule = '- {actions: [{op: fail, args: [no]}]}\n'
        moved = '- {actions: [{op: log, args: [a]}]}\n' + rule

        self.assertEqual(self.load(rule)[0].uuid, self.load(moved)[1].uuid)

    def test_an_empty_file_has_no_rules(self):
        self.assertEqual((), self.load(''))

    def test_every_problem_of_a_rule_is_told_with_the_rule(self):
        message = self.refused("""
            - actions: [{op: fail, args: [no]}]
            - description: typo
              phase: later
              actions: [{op: fial, args: [no]}]
        """)

        self.assertIn(
            '.yaml:4:10: Invalid inspection rule #2 (typo): phase:', message
        )
        self.assertIn('did you mean "fail"?', message)

    def test_two_rules_may_not_share_a_uuid(self):
        message = self.refused("""
            - {uuid: same, actions: [{op: fail, args: [no]}]}
            - {uuid: same, actions: [{op: log, args: [a]}]}
        """)

        self.assertIn('.yaml:3:3: rule #2 (same) is there twice', message)

    def test_what_is_no_list_of_rules_is_refused(self):
        for text in ('a: mapping', '- plain text', '{unclosed', '"text"'):
            self.refused(text)


class PlaceTestCase(base.TestCase):
    def test_places_count_from_one_as_rules_do(self):
        for pointer, name in (
            ('', ''),
            ('/priority', 'priority'),
            ('/vars/x', 'vars.x'),
            ('/conditions', 'conditions'),
            ('/actions/0', 'action 1'),
            ('/conditions/0/conditions/1/args/value', 'condition 1.2, value'),
            ('/actions/2/when/0/args/values/1', 'action 3, when 1, values'),
            ('/conditions/0/args/0', 'condition 1'),
            ('/conditions/1/loop', 'condition 2, loop'),
            ('/conditions/0/field', 'condition 1, field'),
            ('/a~1b', 'a/b'),
        ):
            self.assertEqual(name, file_rule.place_name(pointer))


class OperationTestCase(base.TestCase):
    def pointers(self, op, args):
        """Return what the pointers to all arguments of a condition lead to."""
        (condition,) = file_rule.read_conditions(
            [{'op': op, 'args': args}], '/conditions', registry.installed()
        )
        led_to = {}
        for name in condition.arguments:
            pointer = condition.pointer_to(name).removeprefix('/conditions/0')
            steps = data_path.split_pointer(pointer)
            led_to[name] = data_path.get(condition.written, steps)
        return led_to

    def test_pointers_lead_to_what_is_written(self):
        absent = data_path.ABSENT
        for op, args, led_to in (
            ('in-net', ['a', 'b'], {'address': 'a', 'subnet': 'b'}),
            (
                'one-of',
                {'value': 1, 'values': [2]},
                {'value': 1, 'values': [2]},
            ),
            ('eq', {'values': [1]}, {'values': [1], 'force_strings': absent}),
            ('eq', [1, 2], {'values': [1, 2], 'force_strings': absent}),
            ('eq', [[1, 2]], {'values': [[1, 2]], 'force_strings': absent}),
        ):
            self.assertEqual(led_to, self.pointers(op, args), args)
