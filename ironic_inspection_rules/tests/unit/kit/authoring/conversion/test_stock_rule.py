# SPDX-License-Identifier: Apache-2.0

"""Rules of stock Ironic become these, and nobody is warned without need.

That they do the same, tests with its own engine tell.
"""

import ipaddress
import re

from ironic import objects

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.authoring.conversion import stock_rule
from ironic_inspection_rules.kit.authoring.conversion import stock_text
from ironic_inspection_rules.rule_file import stock_form
from ironic_inspection_rules.tests.unit import base

CPU = '{inventory[cpu]}'
OURS = "{inventory.cpu | default('{inventory[cpu]}')!s}"
TWICE = 'sends text with braces'


def convert(conditions=(), actions=None, **fields):
    return stock_rule.convert(
        {
            'conditions': list(conditions),
            'actions': actions or [{'op': 'fail', 'args': {'msg': 'x'}}],
            **fields,
        },
        registry.installed(),
    )


class StockTestCase(base.TestCase):
    def told(self, expected, problems):
        """Check that these are the problems: a place, and part of a text."""
        self.assertEqual(
            [place for place, _text in expected],
            [each.pointer for each in problems],
            problems,
        )
        for (_place, text), problem in zip(expected, problems, strict=True):
            self.assertIn(text, problem.sentence)

    def check(self, made, lost=(), hints=()):
        self.told(lost, made.lost)
        self.told(hints, made.hints)


class ConditionTestCase(StockTestCase):
    def check_condition(
        self, expected, op, loop=None, multiple=None, lost=(), hints=(), **args
    ):
        """Check what becomes of a condition.

        :param expected: the condition, or the conditions.
        :param lost: parts of what is said to be lost, and so are hints.
        """
        condition = {
            'op': op,
            'args': args,
            'loop': loop,
            'multiple': multiple,
        }
        made = convert([condition])
        self.assertEqual(
            expected if isinstance(expected, list) else [expected],
            made.rule.get('conditions', []),
        )
        self.assertNotIn('mode', made.rule)
        self.check(
            made,
            [('/conditions/0', text) for text in lost],
            [('/conditions/0', text) for text in hints],
        )

    def check_off(self, op, lost=(), why='never holds', **args):
        """Check that a condition switches its rule off."""
        condition = {'op': op, 'args': args}
        made = convert([condition])
        self.assertEqual(
            ('off', [condition]), (made.rule['mode'], made.rule['conditions'])
        )
        self.check(
            made,
            [('/conditions/0', text) for text in lost],
            [('/conditions/0', why)],
        )

    def test_fields_are_compared_as_text(self):
        for op in ('eq', 'lt'):
            self.check_condition(
                {'op': op, 'args': {'values': ['{inventory.cpu!s}', '9']}},
                op,
                values=[CPU, '9'],
            )
        self.check_condition(
            {
                'op': 'one-of',
                'args': {'value': '{inventory.cpu!s}', 'values': ['a', '9']},
            },
            'one-of',
            value=CPU,
            values=['a', 1, '9'],
        )
        self.check_condition(
            {'op': 'is-true', 'args': {'value': '{inventory.cpu!s}'}},
            'is-true',
            value=CPU,
        )
        self.check_condition(
            {
                'op': 'eq',
                'args': {'values': ['{node.name}-{node.uuid}', 'a{{b}}-c']},
            },
            'eq',
            values=['{node.name}-{node.uuid}', 'a{{b}}-c'],
        )

    def test_lists_and_mappings_are_compared_as_text(self):
        for value, text in (([1, 'b'], "[1, 'b']"), ({'a': 1}, "{'a': 1}")):
            self.check_condition(
                [],
                'eq',
                hints=['always holds'],
                values=[value, text],
                force_strings=True,
            )
            self.check_condition(
                [],
                'eq',
                loop=['x'],
                hints=['always holds'],
                values=[value, text],
            )
        self.check_condition(
            [],
            'eq',
            loop=['b'],
            hints=['always holds'],
            values=[[1, '{item}'], "[1, 'b']"],
        )

    def test_lists_with_a_field_are_not_compared_as_text(self):
        for value in ([1, CPU], [CPU], {'a': CPU}, {CPU: 1}, [[CPU]]):
            for loop in (None, ['x']):
                made = convert(
                    [
                        {
                            'op': 'eq',
                            'loop': loop,
                            'args': {
                                'values': [value, 'x'],
                                'force_strings': True,
                            },
                        }
                    ]
                )
                self.check(
                    made, [('/conditions/0', 'cannot be compared as text')]
                )

    def test_text_stays_where_a_field_is_missing(self):
        self.check_condition(
            {'op': 'gt', 'args': {'values': [OURS, '9']}},
            'gt',
            values=[CPU, '9'],
        )
        self.check_condition(
            {
                'op': 'eq',
                'args': {
                    'values': [
                        f'a-{OURS}-b',
                        "{inventory.x | default('{inventory[x]}')!s}",
                    ]
                },
            },
            'eq',
            values=[f'a-{CPU}-b', '{inventory[x]}'],
        )
        self.check_condition(
            {'op': 'contains', 'args': {'value': OURS, 'regex': 'cpu'}},
            'contains',
            value=CPU,
            regex='cpu',
        )
        self.check_condition(
            {
                'op': 'is-false',
                'args': {'value': "{inventory.cpu | default('')!s}"},
            },
            'is-false',
            value=CPU,
        )

    def test_a_group_says_what_holds_where_fields_are_missing(self):
        two = {'value': '{inventory.a}{inventory.b}'}
        exist = [
            {'op': 'exists', 'args': {'value': '{inventory.a}'}},
            {'op': 'exists', 'args': {'value': '{inventory.b}'}},
        ]
        self.check_condition(
            {
                'op': 'any-of',
                'conditions': [
                    *({**each, 'op': '!exists'} for each in exist),
                    {'op': 'contains', 'args': {**two, 'regex': 'b'}},
                ],
            },
            'contains',
            value='{inventory[a]}{inventory[b]}',
            regex='b',
        )
        is_false = {
            'op': 'all-of',
            'conditions': [*exist, {'op': 'is-false', 'args': two}],
        }
        self.check_condition(
            is_false, 'is-false', value='{inventory[a]}{inventory[b]}'
        )
        self.check_condition(
            {'op': 'none-of', 'conditions': [is_false]},
            '!is-false',
            value='{inventory[a]}{inventory[b]}',
        )
        self.check_condition(
            {
                'op': 'none-of',
                'conditions': [
                    {
                        'op': 'eq',
                        'args': {'values': ['{inventory.cpu!s}', 'x']},
                    }
                ],
            },
            '!eq',
            values=[CPU, 'x'],
        )
        self.check_condition(
            {
                'op': '!contains',
                'args': {'value': '{inventory.cpu!s}', 'regex': 'cpu'},
            },
            '!contains',
            value=CPU,
            regex='cpu',
        )

    def test_what_has_two_fields_in_more_than_one_text_is_told(self):
        self.check_condition(
            {
                'op': 'eq',
                'args': {'values': ['{inventory.a}{inventory.b}', OURS]},
            },
            'eq',
            values=['{inventory[a]}{inventory[b]}', CPU],
            lost=['where a field of "{inventory[a]}{inventory[b]}" is'],
        )
        self.check_condition(
            {'op': 'eq', 'args': {'values': ['{node.name}{node.uuid}', OURS]}},
            'eq',
            values=['{node.name}{node.uuid}', CPU],
        )

    def test_what_asks_for_its_own_text_asks_for_a_field(self):
        for op, asked in (('matches', '!exists'), ('!matches', 'exists')):
            for regex in (
                r'\{inventory\[cpu\]\}',
                r'^{inventory\[cpu\]}$',
                r'{inventory\[cpu]\}',
            ):
                self.check_condition(
                    {'op': asked, 'args': {'value': '{inventory.cpu}'}},
                    op,
                    value=CPU,
                    regex=regex,
                )
        for value, regex in (
            (f'a{CPU}', r'a\{inventory\[cpu\]\}'),
            (CPU, r'\{inventory\[cpu\]'),
        ):
            made = convert(
                [{'op': 'matches', 'args': {'value': value, 'regex': regex}}]
            )
            self.assertNotEqual(
                '!exists', made.rule['conditions'][0]['op'], (value, regex)
            )

    def test_regular_expressions_begin_at_the_beginning(self):
        for regex, ours in (
            ('a|b', r'\A(?:a|b$)'),
            ('a$', r'\A(?:a$)'),
            ('(?i)a', r'(?i)\A(?:a$)'),
            ('{node.name}', r'\A(?:\\{node.name}$)'),
        ):
            self.check_condition(
                {
                    'op': 'contains',
                    'args': {
                        'value': '{node.name!s}',
                        'regex': ours.replace('\\\\{', '\\{'),
                    },
                },
                'matches',
                value='{node.name}',
                regex=regex,
            )
        self.check_condition(
            {
                'op': 'contains',
                'args': {
                    'value': '{node.name!s}',
                    'regex': r'\{inventory.a\{2}',
                },
            },
            'contains',
            value='{node.name}',
            regex=r'{inventory.a\{2}',
        )

    def test_empty_is_what_is_empty_as_text(self):
        for op, our_op in (('is-empty', 'one-of'), ('!is-empty', '!one-of')):
            for stock, ours in (
                (CPU, "{inventory.cpu | default('None')!s}"),
                ('{node.name}', '{node.name!s}'),
                ('{node.extra[a]}', "{node.extra.a | default('None')!s}"),
            ):
                with self.subTest(stock, op=op):
                    self.check_condition(
                        self.empty(ours, our_op), op, value=stock
                    )

    def test_empty_where_a_mapping_may_be_missing_is_hinted_at(self):
        for stock, field in (
            ('{inventory[cpu][count]}', 'inventory.cpu.count'),
            ('{node.extra[a][b]}', 'node.extra.a.b'),
        ):
            expected = self.empty(f"{{{field} | default('None')!s}}")
            with self.subTest(stock):
                self.check_condition(
                    expected,
                    'is-empty',
                    value=stock,
                    hints=[f'where what {{{field}}} is in is not a mapping'],
                )

    def test_empty_text_around_a_missing_field_is_lost(self):
        self.check_condition(
            self.empty('a{inventory.cpu}'),
            'is-empty',
            value=f'a{CPU}',
            lost=[f'takes "a{CPU}" for empty where'],
        )

    @staticmethod
    def empty(value, op='one-of'):
        """Return the condition that a value is empty as text."""
        values = ['', 'None', '[]', '{{}}']
        return {'op': op, 'args': {'value': value, 'values': values}}

    def test_a_list_with_fields_is_never_empty(self):
        for value in ([CPU], {'a': CPU}, [[CPU], []]):
            self.check_off('is-empty', value=value)
            self.check_condition(
                [], '!is-empty', value=value, hints=['this always holds']
            )

    def test_a_list_with_fields_is_not_looked_for(self):
        made = convert(
            [{'op': 'one-of', 'args': {'value': [CPU], 'values': [['a']]}}]
        )
        self.assertIsNone(made.rule)
        self.check(made, [('/conditions/0', 'cannot be looked for')])

    def test_addresses_are_told_of(self):
        self.check_condition(
            {
                'op': 'in-net',
                'args': {
                    'address': '{inventory.cpu!s}',
                    'subnet': '10.0.0.0/8',
                },
            },
            'in-net',
            address=CPU,
            subnet='10.0.0.0/8',
            hints=[f'where "{CPU}" is no IP address'],
        )

    def test_what_always_holds_is_left_out(self):
        for op, args in (
            ('eq', {'values': ['a', 'a', 'a']}),
            ('!eq', {'values': [1, '1']}),
            ('lt', {'values': [1, 2, 3]}),
            ('lt', {'values': [[1, 'a'], [2, 1]]}),
            ('lt', {'values': [[None, 1], [None, 2]]}),
            ('gt', {'values': ['b', 'a']}),
            ('eq', {'values': [[CPU, 'a']]}),
            ('lt', {'values': [CPU]}),
            ('gt', {'values': []}),
            ('!is-none', {'value': CPU}),
            ('is-none', {'value': None}),
            ('is-empty', {'value': '{hostname}'}),
            ('is-empty', {'value': '{{}}'}),
            ('is-true', {'value': 'Yes'}),
            ('is-true', {'value': 1.5}),
            ('is-false', {'value': 0}),
            ('is-false', {'value': None}),
            ('!is-true', {'value': None}),
            ('is-false', {'value': 'FALSE'}),
            ('one-of', {'value': 1, 'values': [2, 1]}),
            ('in-net', {'address': '::1', 'subnet': '::/8'}),
            ('matches', {'value': 'ab', 'regex': 'a|b'}),
            ('contains', {'value': 12, 'regex': '2'}),
        ):
            self.check_condition([], op, hints=['this always holds'], **args)

    def test_what_never_holds_switches_the_rule_off(self):
        for op, args in (
            ('eq', {'values': [CPU, 5]}),
            ('eq', {'values': ['a', 'b']}),
            ('gt', {'values': [1, 1]}),
            ('is-none', {'value': CPU}),
            ('!is-none', {'value': None}),
            ('is-true', {'value': 'on'}),
            ('is-true', {'value': []}),
            ('is-false', {'value': '{hostname}'}),
            ('is-empty', {'value': '{inventory.cpu'}),
            ('one-of', {'value': CPU, 'values': [1, None]}),
            ('gt', {'values': [[{'a': 1}], [{'a': 1}]]}),
            ('matches', {'value': 'ba', 'regex': 'a'}),
        ):
            self.check_off(op, **args)

    def test_what_fails_each_inspection_switches_the_rule_off(self):
        for op, args, why in (
            ('gt', {'values': [CPU, 5]}, 'it cannot order text'),
            ('lt', {'values': [1, 'a']}, 'it cannot order text'),
            ('lt', {'values': [['a', CPU], ['a', 5]]}, 'it cannot order text'),
            ('gt', {'values': [{CPU: 1}, 2]}, 'it orders text, numbers'),
            ('gt', {'values': [[CPU], None]}, 'it orders text, numbers'),
            ('lt', {'values': [None, None]}, 'it orders text, numbers'),
            (
                'lt',
                {'values': [[None, 1], [{}, 2]]},
                'it orders text, numbers',
            ),
            ('matches', {'value': CPU, 'regex': ''}, '"" is no regular'),
            (
                'in-net',
                {'address': 'x', 'subnet': '::/0'},
                str(self.assertRaises(ValueError, ipaddress.ip_address, 'x')),
            ),
        ):
            self.check_off(
                op,
                [f'fails each inspection here: {why}'],
                'switched off and left as it is written',
                **args,
            )

    def test_what_neither_takes_is_lost(self):
        reason = self.assertRaises(re.error, re.compile, '(')
        for op, args, why, name in (
            ('eq', {'values': 'a'}, 'takes "values" as one list', 'values'),
            (
                'matches',
                {'value': CPU, 'regex': '('},
                f'"(" is no regular expression: {reason}',
                'regex',
            ),
            (
                'contains',
                {'value': 'a', 'regex': 5},
                '"5" is no regular',
                'regex',
            ),
            (
                'in-net',
                {'address': '::1', 'subnet': 5},
                str(self.assertRaises(ValueError, ipaddress.ip_network, '5')),
                'subnet',
            ),
        ):
            made = convert([{'op': op, 'args': args}])
            self.assertIsNone(made.rule, (op, args, why, name))
            # Nor can it be a rule that is switched off.
            self.check(
                made,
                [('/conditions/0', why), (f'/conditions/0/args/{name}', '')],
            )

    def test_what_is_no_operation_is_told(self):
        for action, why in (
            ({'args': {}}, '"op" is missing'),
            ({'op': 'fail'}, '"args" is missing'),
            ({'op': 'fial', 'args': {}}, 'did you mean "fail"?'),
            ({'op': '!fail', 'args': {}}, 'unknown op "!fail"'),
            ({'op': 'fail', 'args': 5}, 'a mapping with "op" and "args"'),
            ({'op': 5, 'args': {}}, 'a mapping with "op" and "args"'),
            (5, 'a mapping with "op" and "args"'),
        ):
            made = convert(actions=[action])
            self.assertIsNone(made.rule, (action, why))
            self.told([('/actions/0', why)], made.lost)

    def test_what_is_no_list_of_operations_is_told(self):
        for operations in (5, 'fail', {'op': 'fail', 'args': {'msg': 'a'}}):
            for name in ('conditions', 'actions'):
                made = stock_rule.convert(
                    {
                        'actions': [{'op': 'fail', 'args': {'msg': 'a'}}],
                        name: operations,
                    },
                    registry.installed(),
                )
                self.assertIsNone(made.rule, operations)
                self.told([('', f'{name} must be a list')], made.lost)

    def test_where_an_earlier_condition_may_fail_is_told(self):
        address = {
            'op': 'in-net',
            'args': {'address': '{inventory[a]}', 'subnet': '10.0.0.0/8'},
        }
        never = {'op': 'is-none', 'args': {'value': CPU}}
        reason = '/conditions/0', 'stock Ironic fails the inspection'
        made = convert([address, never])
        self.told([reason], made.differences)
        self.told([reason, ('/conditions/1', 'never holds')], made.hints)
        self.assertEqual([], convert([never, address]).differences)
        self.assertEqual([], convert([address], phase='early').differences)
        made = convert(
            [address], [{'op': 'unset-plugin-data', 'args': {'path': 'a'}}]
        )
        self.assertEqual('off', made.rule['mode'])
        self.told([reason], made.differences)

    def test_every_failure_is_one_of_the_differences(self):
        address = {
            'op': 'in-net',
            'args': {'address': '{inventory[a]}', 'subnet': '10.0.0.0/8'},
        }
        never = {'op': 'is-none', 'args': {'value': CPU}}
        refused = convert([address], [5])
        self.assertIsNone(refused.rule)
        for made in (
            convert([address]),
            convert([never, address]),
            convert([address, never, address]),
            refused,
        ):
            self.assertEqual(made.differences, made.failures)

    def test_a_rule_of_which_nothing_can_be_kept_is_switched_off(self):
        # Stock Ironic would write the braces.
        action = {
            'op': 'set-attribute',
            'args': {'path': '/name', 'value': '{inventory.cpu}'},
        }
        made = convert(actions=[action])
        self.assertEqual({'mode': 'off', 'actions': [action]}, made.rule)
        self.check(
            made,
            [('/actions/0', 'and no UUID')],
            [('', 'none of its actions can be kept')],
        )

    def test_of_a_rule_that_never_runs_no_action_is_lost(self):
        action = {
            'op': 'set-attribute',
            'args': {'path': '/name', 'value': '{inventory.cpu}'},
        }
        made = convert(
            [
                {
                    'op': '!matches',
                    'args': {'value': '{no.such}', 'regex': r'\{no\.such\}'},
                }
            ],
            [action],
        )
        self.assertEqual('off', made.rule['mode'])
        self.assertEqual([], made.lost)

    def test_loops_stay_where_all_turns_are_alike(self):
        written = {
            'op': 'eq',
            'args': {'values': ['{inventory.cpu!s}', '{item}']},
        }
        args = {'values': [CPU, '{item}']}
        for multiple, more in (
            ('any', {}),
            ('first', {}),
            (None, {}),
            ('all', {'multiple': 'all'}),
        ):
            self.check_condition(
                {**written, 'loop': ['a', 'b'], **more},
                'eq',
                ['a', 'b'],
                multiple,
                **args,
            )
        self.check_condition(
            {'op': 'eq', 'args': {'values': ['{inventory.cpu!s}', 'b']}},
            'eq',
            ['a', 'b'],
            'last',
            **args,
        )

    def test_scope_and_what_nobody_knows_is_dropped(self):
        made = convert(
            uuid='a',
            scope='x',
            phase=None,
            odd=1,
            even=2,
            sensitive='yes',
            priority=5,
            description='d',
        )
        self.assertEqual(
            {
                'uuid': stock_form.uuid_of('a'),
                'priority': 5,
                'description': 'd',
                'sensitive': True,
                'actions': [{'op': 'fail', 'args': {'msg': 'x'}}],
            },
            made.rule,
        )
        self.check(
            made,
            hints=[
                ('', 'even, odd had no effect'),
                ('', '"a" becomes its UUID'),
                ('', 'the scope "x" had no effect'),
            ],
        )

    def test_keys_that_nobody_knows_are_dropped(self):
        made = convert(
            [{'op': 'eq', 'args': {'values': [CPU, 'x']}, 'b': 1, 'a': 2}],
            [
                {
                    'op': 'set-plugin-data',
                    'multiple': 'any',
                    'args': {'path': 'a', 'value': 1, 'plugin_data': {}},
                }
            ],
        )
        self.assertEqual(
            {
                'conditions': [
                    {
                        'op': 'eq',
                        'args': {'values': ['{inventory.cpu!s}', 'x']},
                    }
                ],
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': {'path': '/a', 'value': 1},
                    }
                ],
            },
            made.rule,
        )
        self.check(
            made,
            hints=[
                ('', 'a, b beside the arguments of "eq" had no effect'),
                ('', 'multiple beside the arguments of "set-plugin-data"'),
            ],
        )


class ActionTestCase(StockTestCase):
    def check_action(
        self, expected, op, loop=None, lost=(), hints=(), conditions=(), **args
    ):
        """Check what becomes of an action, see ``check_condition``."""
        made = convert(conditions, [{'op': op, 'args': args, 'loop': loop}])
        self.assertEqual(
            expected
            if isinstance(expected, list)
            else [{'op': op, 'args': expected}],
            made.rule['actions'],
        )
        self.check(
            made,
            [('/actions/0', text) for text in lost],
            [('/actions/0', text) for text in hints],
        )

    def check_value(self, expected, value, **more):
        path = {'path': '/extra/a'}
        self.check_action(
            {**path, 'value': expected},
            'set-attribute',
            value=value,
            **path,
            **more,
        )

    def test_values_are_text(self):
        for stock, ours in (
            (CPU, OURS),
            (f'a {CPU} b', f'a {OURS} b'),
            (
                "{inventory[it's]}",
                r"{inventory.it's | default('{inventory[it\'s]}')!s}",
            ),
            (
                '\n{inventory[a\\b]}',
                '\n{inventory.a\\b | default('
                r"'{inventory[a\\b]}')!s}",
            ),
            ('{node.name}', '{node.name!s}'),
            ('a{node.name}{{}}', 'a{node.name}{{}}'),
            ('{hostname}', '{{hostname}}'),
            ('{a', '{{a'),
            ('{}', '{{}}'),
            ('{0}', '{{0}}'),
            ('{a!x}', '{{a!x}}'),
            ('{node.nosuch}', '{{node.nosuch}}'),
            ('{inventory.cpu}', '{{inventory.cpu}}'),
            ('{{x}}', '{{x}}'),
            ({'a}': [1, '{{']}, {'a}}': [1, '{{']}),
            (5, 5),
            (None, None),
        ):
            self.check_value(ours, stock)

    def test_what_differs_in_text_is_told(self):
        for stock, ours, hint in (
            (
                '{plugin_data[a][0]}',
                "{plugin_data.a[0] | default('{plugin_data[a][0]}')!s}",
                'where {plugin_data.a[0]} goes into text',
            ),
            (
                '{plugin_data[bmc_address]}',
                '{plugin_data.bmc_address | '
                "default('{plugin_data[bmc_address]}')!s}",
                'the address that the machine sent of its BMC',
            ),
            ('{inventory}', '{inventory!s}', 'a secret in {inventory}'),
            ('{node.extra}', '{node.extra!s}', 'a secret in {node.extra'),
            (
                '{node.name:>5}',
                '{node.name:>5}',
                'where "{node.name:>5}" cannot be formatted',
            ),
        ):
            self.check_value(ours, stock, hints=[hint])
        self.check_value(
            '{plugin_data!s}',
            '{plugin_data}',
            hints=[
                'the address that the machine sent of its BMC',
                'a secret in {plugin_data}',
            ],
        )
        for name in ('bmc_address_a', 'a'):
            self.check_value(
                f"{{plugin_data.{name} | default('{{plugin_data[{name}]}}')"
                '!s}',
                f'{{plugin_data[{name}]}}',
            )

    def test_where_a_missing_field_fails_is_told(self):
        for stock, ours in (
            ('{inventory[a]}{inventory[b]}', '{inventory.a}{inventory.b}'),
            ('{inventory[a]}{node.name}', '{inventory.a}{node.name}'),
            ('{inventory[a]}{{', '{inventory.a}{{'),
            ('}}{inventory[a]}', '}}{inventory.a}'),
            ('{inventory[a]!r}', '{inventory.a!r}'),
        ):
            self.check_value(
                ours, stock, lost=[f'where a field of "{stock}" is missing']
            )
        self.check_value(
            '{inventory.a:>5}',
            '{inventory[a]:>5}',
            lost=['is missing'],
            hints=['be formatted'],
        )

    def test_nothing_is_said_where_conditions_look_for_the_field(self):
        two = '{inventory[cpu]}-{inventory[a]}'
        plain = '{inventory.cpu}-{inventory.a}'
        a = '{inventory[a]}'
        for op, args in (
            ('eq', {'values': [CPU, a]}),
            ('contains', {'value': two, 'regex': '^x'}),
            ('matches', {'value': two, 'regex': 'x|y'}),
            ('one-of', {'value': two, 'values': ['x']}),
        ):
            if op == 'eq':
                continue
            self.check_value(plain, two, conditions=[{'op': op, 'args': args}])
        for op in ('!eq', '!contains'):
            args = (
                {'values': [two, 'x']}
                if op == '!eq'
                else {'value': two, 'regex': 'x'}
            )
            self.check_value(
                plain,
                two,
                lost=['is missing'],
                conditions=[{'op': op, 'args': args}],
            )
        self.check_value(
            '{inventory.cpu!s}',
            CPU,
            conditions=[{'op': '!is-empty', 'args': {'value': CPU}}],
        )
        self.check_value(
            OURS, CPU, conditions=[{'op': 'is-empty', 'args': {'value': CPU}}]
        )
        self.check_value(
            OURS,
            CPU,
            conditions=[
                {
                    'op': 'eq',
                    'args': {'values': [CPU, '{item}']},
                    'loop': ['a', 'b'],
                }
            ],
        )

    def test_secrets_are_told(self):
        self.check_value(
            "{node.driver_info.ipmi_password | default('"
            "{node.driver_info[ipmi_password]}')!s}",
            '{node.driver_info[ipmi_password]}',
            lost=['{node.driver_info.ipmi_password} is hidden'],
        )

    def test_attributes_of_ironics_node_that_are_no_fields_are_known(self):
        objects.register_all()
        for name in set(dir(objects.Node)) - set(objects.Node.fields):
            self.assertRaisesRegex(
                rule.Inconvertible,
                'of an object of Ironic',
                stock_text.read,
                f'{{node.{name}}}',
            )

    def test_attributes_of_items_are_told(self):
        made = convert(
            [],
            [
                {
                    'op': 'set-attribute',
                    'loop': ['a'],
                    'args': {'path': '/extra/a', 'value': '{item.upper}'},
                }
            ],
        )
        self.assertIn('is the text of an object of Python', str(made.lost[0]))

    def test_a_node_has_no_keys(self):
        self.assertFalse(stock_text.read('{node[nothing]}').is_key_missing)

    def test_what_has_no_words_is_left_out(self):
        for value, why in (
            ('{inventory[a]!a}', 'the format of {inventory[a]}'),
            ('{inventory[a]:{node.name}}', 'the format of {inventory[a]}'),
            ('{node}', 'is the text of an object of Ironic'),
            ('{node.traits}', 'is the text of an object of Ironic'),
            ('{node.updated_at}', 'the time in {node.updated_at}'),
            ('{node.obj_what_changed}', 'of an object of Ironic'),
            ('{node[as_dict]}', 'is the text of an object of Ironic'),
            ('{node._context}', 'is the text of an object of Ironic'),
            ('{inventory.keys}', 'is the text of an object of Python'),
            ('{inventory.set_mask_enabled}', 'of an object of Python'),
            ('{inventory[a].real}', 'is the text of an object of Python'),
            ('{inventory[a].__class__}', 'of an object of Python'),
        ):
            self.check_action(
                [{'op': 'fail', 'args': {'msg': 'x'}}], 'fail', msg='x'
            )
            made = convert(
                actions=[
                    {
                        'op': 'set-attribute',
                        'args': {'path': '/extra/a', 'value': value},
                    },
                    {'op': 'fail', 'args': {'msg': 'x'}},
                ]
            )
            self.assertEqual(1, len(made.rule['actions']))
            self.check(made, [('/actions/0', why)])

    def test_paths_are_pointers(self):
        null = ['where null is on the way']
        for op, stock, ours, hints in (
            ('set-attribute', 'extra.a.b', '/extra/a/b', null),
            ('set-attribute', '/extra/a.b/', '/extra/a.b', []),
            ('set-attribute', 'extra/{a}', '/extra/{{a}}', []),
            ('set-attribute', 'extra/0', '/extra/0', []),
            ('set-plugin-data', 'a/b.c', '/a~1b/c', null),
            ('set-plugin-data', ['a.b', 'c'], '/a.b/c', null),
            ('set-plugin-data', '0', '/0', []),
            (
                'set-plugin-data',
                'a.0',
                '/a/0',
                [*null, 'here "0" is its item'],
            ),
        ):
            self.check_action(
                {'path': ours, 'value': 1},
                op,
                path=stock,
                value=1,
                hints=hints,
            )
        self.check_action(
            {'path': '/extra/a/-', 'value': 1},
            'set-attribute',
            path='extra.a.-',
            value=1,
            hints=null,
            lost=['"-" is a name in a mapping'],
        )
        for path in ('/', '', 5, None):
            made = convert(
                actions=[
                    {
                        'op': 'set-attribute',
                        'args': {'path': path, 'value': 1},
                    },
                    {'op': 'fail', 'args': {'msg': 'x'}},
                ]
            )
            self.check(
                made,
                [('/actions/0', 'there is no path; the action is left out')],
            )

    def test_attributes_that_differ_are_told(self):
        for path, lost, hints in (
            ('/driver', [], ['interfaces that the new driver lacks']),
            ('/extra/driver', [], []),
            ('/name', [], []),
        ):
            self.check_action(
                {'path': path, 'value': 'x'},
                'set-attribute',
                path=path,
                value='x',
                lost=lost,
                hints=hints,
            )
        self.check_action(
            {'path': '/name', 'value': 'a-{node.id}'},
            'set-attribute',
            path='/name',
            value='a-{node.id}',
            hints=['here what is not letters'],
        )
        self.check_action(
            {'path': '/description'},
            'del-attribute',
            path='description',
            lost=['stock Ironic does not save this; here "description"'],
        )
        self.check_action(
            {'path': '/extra/a'},
            'del-attribute',
            path='extra.a',
            hints=['fails the inspection where there is nothing to delete'],
        )
        made = convert(
            actions=[
                {'op': 'set-attribute', 'args': {'path': '/id', 'value': 1}},
                {'op': 'fail', 'args': {'msg': 'x'}},
            ]
        )
        self.check(made, [('/actions/0', 'the attribute "id" of a node')])

    def test_text_is_true_in_an_attribute_that_is_true_or_false(self):
        for value, expected in (
            ('no', True),
            ('false', True),
            ('', False),
            ('{no', True),
            (0, False),
            (2, True),
            (True, True),
        ):
            self.check_action(
                {'path': '/retired', 'value': expected},
                'set-attribute',
                path='retired',
                value=value,
            )
        self.check_action(
            {'path': '/extra/retired', 'value': 'no'},
            'set-attribute',
            path='extra.retired',
            value='no',
        )
        self.check_action(
            {'path': '/automated_clean', 'value': None},
            'set-attribute',
            path='automated_clean',
            value=None,
        )

    def test_null_becomes_a_default(self):
        for path, value, hints in (
            ('/retired', None, ['"retired" becomes its default']),
            ('/conductor_group', None, ['becomes its default']),
            ('/owner', None, []),
            ('/extra', None, []),
        ):
            self.check_action(
                {'path': path, 'value': value},
                'set-attribute',
                path=path,
                value=value,
                hints=hints,
            )

    def test_a_field_is_perhaps_gone_when_something_else_is_set(self):
        field = '{node.properties[capabilities]}'
        conditions = [{'op': 'eq', 'args': {'values': [field, 'x']}}]
        sure = '{node.properties.capabilities!s}'
        unsure = (
            '{node.properties.capabilities | default('
            "'{node.properties[capabilities]}')!s}"
        )

        def action(op, **args):
            return {'op': op, 'args': args}

        for op, args, expected in (
            ('set-attribute', {'path': '/properties', 'value': {}}, unsure),
            ('set-attribute', {'path': '/properties/cap', 'value': 1}, sure),
            (
                'set-attribute',
                {'path': '/properties/capabilities', 'value': 'a:b'},
                sure,
            ),
            ('set-plugin-data', {'path': 'properties', 'value': 1}, sure),
            ('unset-capability', {'name': 'a'}, unsure),
        ):
            made = convert(
                conditions,
                [
                    action(op, **args),
                    action('set-attribute', path='/owner', value=field),
                ],
            )
            self.assertEqual(
                expected, made.rule['actions'][1]['args']['value']
            )

    def test_a_field_is_gone_when_it_was_deleted(self):
        has_rack = {
            'op': 'eq',
            'args': {'values': ['{node.extra[rack]}', 'r1']},
        }
        copies = {
            'op': 'set-attribute',
            'args': {'path': 'extra/was', 'value': '{node.extra[rack]}'},
        }
        for path, copied in (
            (
                'extra/rack',
                "{node.extra.rack | default('{node.extra[rack]}')!s}",
            ),
            ('extra/row', '{node.extra.rack!s}'),
        ):
            made = convert(
                [has_rack],
                [{'op': 'del-attribute', 'args': {'path': path}}, copies],
            )
            self.assertEqual(
                copied, made.rule['actions'][1]['args']['value'], path
            )

    def test_each_action(self):
        lists = 'where something else than a list is there'
        for op, args, ours, hints in (
            (
                'extend-attribute',
                {'path': '/extra/l', 'value': 1, 'unique': 1},
                {'path': '/extra/l', 'value': 1, 'unique': True},
                [lists],
            ),
            (
                'extend-attribute',
                {'path': '/extra/l', 'value': 1},
                {'path': '/extra/l', 'value': 1},
                [lists],
            ),
            (
                'extend-plugin-data',
                {'path': 'l', 'value': 1, 'unique': None},
                {'path': '/l', 'value': 1, 'unique': False},
                [lists],
            ),
            (
                'set-capability',
                {'name': 'a', 'value': 'b'},
                {'name': 'a', 'value': 'b'},
                ['it is replaced'],
            ),
            (
                'set-capability',
                {'name': 'a', 'value': CPU},
                {'name': 'a', 'value': OURS},
                ['it is replaced', 'the value is empty or has a comma'],
            ),
            (
                'unset-capability',
                {'name': 'a'},
                {'name': 'a'},
                ['leaves an empty text'],
            ),
            (
                'log',
                {'msg': CPU, 'level': 'INFO'},
                {'msg': OURS, 'level': 'INFO'},
                [],
            ),
            ('log', {'msg': 'x'}, {'msg': 'x'}, []),
            ('fail', {'msg': CPU}, {'msg': '{{inventory[cpu]}}'}, []),
            ('fail', {'msg': 5}, {'msg': '5'}, []),
            ('fail', {'msg': ['{a}']}, {'msg': "['{{a}}']"}, []),
            ('add-trait', {'name': 'CUSTOM_A'}, {'name': 'CUSTOM_A'}, []),
            (
                'api-call',
                {'url': 'http://a/{inventory[cpu]}'},
                {'url': f'http://a/{OURS}'},
                [],
            ),
            (
                'set-port-attribute',
                {'port_id': 'a', 'path': 'extra.b', 'value': CPU},
                {'port_id': 'a', 'path': '/extra/b', 'value': OURS},
                ['stock Ironic knows a port by its UUID only'],
            ),
        ):
            with self.subTest(op=op, args=args):
                self.check_action(ours, op, hints=hints, **args)

    def test_what_fails_is_left_out(self):
        for op, args, why in (
            (
                'set-capability',
                {'name': 'a', 'value': 5},
                'the value of a capability must be text',
            ),
            ('log', {'msg': 'x', 'level': 'loud'}, 'there is no level "loud"'),
            (
                'set-attribute',
                {'path': '/retired', 'value': CPU},
                'all text is true, also "False"',
            ),
            (
                'set-attribute',
                {'path': '/extra', 'value': CPU},
                'text of a mapping',
            ),
            (
                'set-attribute',
                {'path': 'chassis_uuid', 'value': None},
                '"chassis_uuid" is no attribute in stock Ironic',
            ),
            ('add-trait', {'name': 'x'}, "'x' is not"),
        ):
            made = convert(
                actions=[
                    {'op': op, 'args': args},
                    {'op': 'fail', 'args': {'msg': 'x'}},
                ]
            )
            self.assertEqual(
                ['fail'], [each['op'] for each in made.rule['actions']]
            )
            self.check(made, [('/actions/0', why)])

    def test_a_rule_that_does_nothing_is_switched_off(self):
        action = {'op': 'unset-plugin-data', 'args': {'path': 'a'}}
        made = convert(actions=[action])
        self.assertEqual({'mode': 'off', 'actions': [action]}, made.rule)
        self.check(made, hints=[('', 'nothing of it does anything')])
        made = convert(actions=[action, {'op': 'log', 'args': {'msg': 'x'}}])
        self.check(made, hints=[('/actions/0', 'never unsets plugin data')])

    @staticmethod
    def set_attribute(value, path='/extra/a', loop=None):
        action = {
            'op': 'set-attribute',
            'args': {'path': path, 'value': value},
        }
        if loop:
            action['loop'] = loop
        return action

    def test_a_loop_stays_where_all_turns_are_alike(self):
        pairs = [{'p': 'a', 'v': 1}, {'p': 'b', 'v': 2}]
        for name, loop, path, value, expected in (
            (
                'texts',
                ['a', 'b'],
                '/extra/a',
                '{item}',
                self.set_attribute('{item}', loop=['a', 'b']),
            ),
            (
                'a number among texts',
                [1, 'b'],
                '/extra/a',
                '{item}',
                self.set_attribute('{item!s}', loop=[1, 'b']),
            ),
            (
                'numbers inside of text',
                [1, 2],
                '/extra/a',
                'x{item}',
                self.set_attribute('x{item}', loop=[1, 2]),
            ),
            (
                'mappings',
                pairs,
                '/extra/{item[p]}',
                '{item[v]}',
                self.set_attribute('{item.v!s}', '/extra/{item.p}', pairs),
            ),
        ):
            with self.subTest(name):
                self.check_action(
                    [expected], 'set-attribute', loop, path=path, value=value
                )

    def test_turns_that_are_not_alike_are_actions(self):
        for name, loop, value, values in (
            (
                'mappings of different keys',
                [{'p': 'a'}, {'q': 'b'}],
                '{item[p]}',
                ['a', '{{item[p]}}'],
            ),
            ('a mapping', {'p': 'a'}, '{item[p]}', ['a']),
            ('one item', ['a'], '{item}', ['a']),
            ('a brace', ['{', 'b'], '{item}', ['{{', 'b']),
            ('a boolean', [True, 'b'], '{item}', ['True', 'b']),
            ('empty mappings', [{}, {}], 'x', ['x', 'x']),
            (
                'lists',
                [['a'], ['b']],
                '{item[0]}{item[1]}',
                ['{{item[0]}}{{item[1]}}', '{{item[0]}}{{item[1]}}'],
            ),
        ):
            expected = [self.set_attribute(ours) for ours in values]
            with self.subTest(name):
                self.check_action(
                    expected,
                    'set-attribute',
                    loop,
                    path='/extra/a',
                    value=value,
                )

    def test_a_path_that_is_an_item_is_written_out(self):
        expected = [
            self.set_attribute('x', '/extra/a'),
            self.set_attribute('x', '/extra/b'),
        ]

        self.check_action(
            expected,
            'set-attribute',
            ['/extra/a', '/extra/b'],
            path='{item}',
            value='x',
        )

    def test_a_loop_stays_in_every_kind_of_argument(self):
        on_the_way = 'where null is on the way'
        for op, args, ours, hints in (
            (
                'remove-trait',
                {'name': 'CUSTOM_{item}'},
                {'name': 'CUSTOM_{item}'},
                [],
            ),
            (
                'set-plugin-data',
                {'path': '{item}', 'value': 1},
                {'path': '/{item}', 'value': 1},
                [],
            ),
            (
                'set-plugin-data',
                {'path': 'b.{item}', 'value': 1},
                {'path': '/b/{item}', 'value': 1},
                [on_the_way],
            ),
            (
                'log',
                {'msg': 'x {item}', 'level': 'info'},
                {'msg': 'x {item}', 'level': 'info'},
                [],
            ),
        ):
            loop = ['a', 'b']
            with self.subTest(op=op, args=args):
                self.check_action(
                    [{'op': op, 'args': ours, 'loop': loop}],
                    op,
                    loop,
                    hints=hints,
                    **args,
                )

    def test_items_that_are_no_plain_step_of_a_path_are_written_out(self):
        expected = []
        for path in ('/a/b', '/c~1d', '/~01'):
            expected.append(
                {'op': 'set-plugin-data', 'args': {'path': path, 'value': 1}}
            )

        self.check_action(
            expected,
            'set-plugin-data',
            ['a.b', 'c/d', '~1'],
            path='{item}',
            value=1,
            hints=['where null is on the way'],
        )

    def test_a_list_is_the_text_of_it_in_the_message_of_fail(self):
        self.check_action(
            [{'op': 'fail', 'args': {'msg': "{{'a': ['b']}}"}}],
            'fail',
            ['b'],
            msg={'a': ['{item}']},
        )
        made = convert(
            actions=[
                {'op': 'fail', 'args': {'msg': [CPU]}, 'loop': ['a']},
                {'op': 'fail', 'args': {'msg': 'x'}},
            ]
        )
        self.assertEqual(1, len(made.rule['actions']))
        self.check(made, [('/actions/0', 'cannot become text')])

    def test_a_list_beside_keys_that_are_numbers_is_an_item_too(self):
        # YAML has such keys, and nothing reads them if no loop can stay.
        action = {
            'op': 'log',
            'args': {'msg': '{item}'},
            'loop': [['x'], {1: 2}],
        }
        made = convert(actions=[action])
        self.assertEqual(
            ["['x']", '{{1: 2}}'],
            [each['args']['msg'] for each in made.rule['actions']],
        )
        self.check(made)

    def test_the_turns_of_a_loop_need_not_be_alike(self):
        for op, name, text in (
            ('add-trait', 'name', 'CUSTOM_{item}'),
            ('log', 'level', '{item}'),
        ):
            args = {'msg': 'x'} if op == 'log' else {}
            self.check_action(
                [
                    {
                        'op': op,
                        'args': {**args, name: text.replace('{item}', item)},
                    }
                    for item in ('INFO', 'DEBUG')
                ],
                op,
                ['INFO', 'DEBUG'],
                **args,
                **{name: text},
            )

    def test_each_problem_of_a_loop_is_told_once(self):
        text = '{item} {inventory[a]}'
        self.check_action(
            [
                {
                    'op': 'log',
                    'args': {'msg': '{item} {inventory.a}'},
                    'loop': ['a', 'b'],
                }
            ],
            'log',
            ['a', 'b'],
            msg=text,
            lost=[f'where a field of "{text}" is missing'],
            hints=[TWICE],
        )
