# SPDX-License-Identifier: Apache-2.0

"""Conditions of old rules decide what they decided in ironic-inspector."""

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import explanation
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.plugins.legacy import inspection

ACTIONS = [{'action': 'set-attribute', 'path': '/extra/hit', 'value': 1}]
DATA = {
    'number': 5,
    'text': '5',
    'decimal': '3.7',
    'true': True,
    'word': 'no',
    'none': None,
    'empty': '',
    'zero': 0,
    'ip': '192.0.2.7',
    'ip6': '2001:db8::1',
    'zone': 'fe80::1%eth0',
    'list': [{'n': 1}, {'n': 5}, {'n': 'x'}],
}


class ConditionTestCase(base.TestCase):
    def result(self, op, field, value=..., **more):
        condition = {'op': op, 'field': field, **more}
        if value is not ...:
            condition['value'] = value
        return inspection.inspect(
            {'conditions': [condition], 'actions': ACTIONS}, data=DATA
        )

    def holds(self, *args, **more):
        result = self.result(*args, **more)
        self.assertIsNone(result.error)
        return result.matched == [0]

    def fails(self, *args, **more):
        self.assertIsNotNone(self.result(*args, **more).error)

    def test_the_type_of_the_number_in_the_rule_decides(self):
        self.assertTrue(self.holds('eq', 'text', 5))
        self.assertTrue(self.holds('ge', 'true', 1))
        self.assertTrue(self.holds('eq', 'true', True))
        self.assertTrue(self.holds('eq', 'decimal', 3.7))
        self.fails('eq', 'decimal', 3)
        self.assertFalse(self.holds('eq', 'number', '5'))
        self.assertFalse(self.holds('eq', 'none', 'x'))

    def test_what_cannot_be_compared_is_an_error(self):
        self.fails('eq', 'word', True)
        self.fails('lt', 'none', 5)
        self.fails('lt', 'number', '5')

    def test_all_comparisons(self):
        holding = {
            value: [
                op
                for op in ('eq', 'ne', 'lt', 'le', 'gt', 'ge')
                if self.holds(op, 'number', value)
            ]
            for value in (4, 5, 6)
        }
        self.assertEqual(
            {
                4: ['ne', 'gt', 'ge'],
                5: ['eq', 'le', 'ge'],
                6: ['ne', 'lt', 'le'],
            },
            holding,
        )

    def test_a_missing_field_is_false_even_inverted(self):
        self.assertFalse(self.holds('eq', 'missing', 1))
        self.assertFalse(self.holds('eq', 'missing', 1, invert=True))

    def test_a_missing_field_is_empty(self):
        for field in ('missing', 'missing.deep', 'none', 'empty'):
            self.assertTrue(self.holds('is-empty', field), repr(field))
            self.assertFalse(
                self.holds('is-empty', field, invert=True), repr(field)
            )
        self.assertFalse(self.holds('is-empty', 'zero'))

    def test_multiple_joins_results_that_were_inverted(self):
        self.assertTrue(self.holds('lt', 'list[:2].n', 3))
        self.assertFalse(self.holds('lt', 'list[:2].n', 3, multiple='all'))
        self.assertTrue(self.holds('lt', 'list[:2].n', 3, multiple='first'))
        self.assertFalse(
            self.holds('lt', 'list[:2].n', 3, multiple='first', invert=True)
        )
        self.assertTrue(
            self.holds('lt', 'list[:2].n', 3, multiple='any', invert=True)
        )
        self.assertTrue(
            self.holds('gt', 'list[:2].n', 5, multiple='all', invert=True)
        )

    def test_values_after_the_deciding_one_are_not_looked_at(self):
        self.assertTrue(self.holds('eq', 'list[*].n', 5))
        self.fails('eq', 'list[*].n', 7)

    def test_matches_begins_at_the_beginning(self):
        self.assertTrue(self.holds('matches', 'ip', r'192\.0\.2\.\d'))
        self.assertFalse(self.holds('matches', 'ip', '192'))
        self.assertTrue(self.holds('matches', 'ip', '192|nope'))
        self.assertTrue(self.holds('matches', 'none', 'None$'))

    def test_contains_searches_the_text_of_the_value(self):
        self.assertTrue(self.holds('contains', 'ip', '0.2'))
        self.assertTrue(self.holds('contains', 'true', 'ru'))

    def test_an_empty_expression_is_in_every_text(self):
        self.assertTrue(self.holds('contains', 'ip', ''))
        self.assertTrue(self.holds('contains', 'none', ''))
        self.assertFalse(self.holds('contains', 'gone', ''))

    def test_an_empty_expression_to_match_is_an_error_of_a_field(self):
        self.fails('matches', 'ip', '')
        self.fails('matches', 'empty', '', invert=True)
        self.assertFalse(self.holds('matches', 'gone', ''))

    def test_parameters_that_were_ignored_do_nothing(self):
        self.assertTrue(self.holds('contains', 'ip', '0.2', regex='x'))
        self.assertFalse(self.holds('matches', 'ip', '192', ignored=True))

    def test_in_net_and_its_older_name(self):
        self.assertTrue(self.holds('in-net', 'ip', '192.0.2.9/24'))
        self.assertTrue(self.holds('net', 'ip6', '2001:db8::/32'))
        self.assertFalse(self.holds('in-net', 'ip6', '0.0.0.0/0'))
        self.assertTrue(self.holds('in-net', 'number', '0.0.0.0/8'))

    def test_in_net_of_no_address_is_an_error(self):
        for field in ('word', 'none', 'zone', 'decimal', 'list'):
            self.fails('in-net', field, '::/0')

    def test_an_error_has_a_value_as_json_has_it(self):
        for op, field, value, words in (
            ('lt', 'none', 5, 'null cannot be compared with 5: '),
            ('in-net', 'none', '::/0', 'null is not an IP address'),
            ('in-net', 'word', '::/0', '"no" is not an IP address'),
        ):
            error = str(self.result(op, field, value).error)
            self.assertIn(words, error)

    def test_the_reason_of_a_condition_has_the_value(self):
        plan = compiler.compile_rule(
            inspection.parse(
                {
                    'actions': ACTIONS,
                    'conditions': [
                        {'op': 'gt', 'field': 'list[:2].n', 'value': 9},
                        {'op': 'is-empty', 'field': 'gone'},
                    ],
                }
            ),
            registry.installed(),
        )
        roots = {'plugin_data': DATA, 'inventory': {}, 'node': {}}
        self.assertEqual(
            [
                (False, 'list[:2].n is 1, 5'),
                (True, 'field gone does not exist'),
            ],
            [
                (each.result, each.reason)
                for each in explanation.explain(plan, budget.View(roots))
            ],
        )


class WrittenArgumentsTestCase(base.TestCase):
    """A rule may have an argument in another type than its op declares."""

    def facts(self, args):
        op = registry.installed().condition('inspector-lt')
        return op.facts(args, inverted=False)

    def test_a_number_names_a_field_in_facts(self):
        self.assertEqual(
            self.facts({'field': '5', 'value': 3}),
            self.facts({'field': 5, 'value': 3}),
        )

    def test_text_inverts_facts_as_the_truth_that_it_says(self):
        for written, truth in (
            ('no', False),
            ('yes', True),
            (0, False),
            (1.0, True),
            (None, False),
        ):
            self.assertEqual(
                self.facts({'field': 'a', 'value': 3, 'invert': truth}),
                self.facts({'field': 'a', 'value': 3, 'invert': written}),
                written,
            )

    def test_a_number_names_a_field_in_reasons(self):
        condition = {'op': 'inspector-lt', 'args': {'field': 5, 'value': 9}}
        rule = model.Rule(uuid='', conditions=(condition,), actions=())
        plan = compiler.compile_rule(rule, registry.installed())
        roots = {'plugin_data': {'5': 7}, 'inventory': {}, 'node': {}}
        (trace,) = explanation.explain(plan, budget.View(roots))
        self.assertEqual((True, '5 is 7'), (trace.result, trace.reason))
