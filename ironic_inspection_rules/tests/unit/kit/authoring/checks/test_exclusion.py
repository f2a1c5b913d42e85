# SPDX-License-Identifier: Apache-2.0

"""Conditions that exclude one another are found, in few comparisons."""

import itertools
import json
from unittest import mock

from ironic_inspection_rules.kit.authoring.checks import certainty
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

CONDITIONS = [
    {'op': 'eq', 'args': ['{inventory.cpu.count}', 8]},
    {'op': 'gt', 'args': ['{inventory[cpu][count]}', 9]},
    {'op': '!eq', 'args': ['{inventory.cpu.count}', 8]},
    {'op': 'gt', 'args': ['{inventory.cpu.count | add(1)}', 9]},
    {'op': 'le', 'args': [9, '{inventory.cpu.count | add(1)}']},
    {'op': 'eq', 'args': ['{inventory.cpu.architecture}', 'x86_64']},
    {'op': 'matches', 'args': ['{inventory.cpu.architecture}', 'arm.*']},
    {'op': 'eq', 'args': [1, 1]},
    {'op': '!eq', 'args': [1, 1]},
    {
        'op': 'none-of',
        'conditions': [
            {'op': 'eq', 'args': ['{inventory.cpu.architecture}', 'x86_64']}
        ],
    },
    {
        'op': 'all-of',
        'conditions': [
            {'op': 'exists', 'args': ['{node.name}']},
            {'op': 'lt', 'args': ['{inventory.cpu.count}', 3]},
        ],
    },
    {
        'op': 'any-of',
        'conditions': [
            {'op': 'eq', 'args': [1, 1]},
            {'op': '!eq', 'args': ['{inventory.cpu.count}', 8]},
        ],
    },
    {'op': 'lt', 'loop': '{inventory.disks}', 'args': ['{item.size}', 5]},
    {'op': 'version-lt', 'args': ['{inventory.cpu.flags}', '2.10']},
    {'op': 'version-gt', 'args': ['{inventory.cpu.flags}', '2.11']},
]


class CheckTestCase(base.CheckTestCase):
    def of(self, conditions):
        (rule,) = self.rules(
            json.dumps(
                [
                    {
                        'conditions': conditions,
                        'actions': [{'op': 'fail', 'args': {'msg': 'x'}}],
                    }
                ]
            )
        )
        return rule

    def test_other_fields_are_not_compared(self):
        conditions = [
            {'op': 'eq', 'args': [f'{{plugin_data.a{number}}}', 1]}
            for number in range(300)
        ]
        conditions.append({'op': 'eq', 'args': ['{plugin_data.a7}', 2]})
        with mock.patch.object(
            exclusion,
            'never_hold_together',
            autospec=True,
            side_effect=exclusion.never_hold_together,
        ) as compare:
            found = list(certainty.check_never(self.of(conditions)))
        self.assertEqual(
            ['/conditions/300'], [pointer for pointer, _message in found]
        )
        self.assertIn('condition 8', found[0][1])
        self.assertEqual(1, compare.call_count)

    def test_sides_may_be_exchanged(self):
        def says(op, *values):
            (operation,) = self.of(
                [{'op': op, 'args': {'values': [*values]}}]
            ).conditions
            return exclusion.ComparedCondition(operation).says

        count = '{inventory.cpu.count}'
        for op, turned in (
            ('eq', 'eq'),
            ('ne', 'ne'),
            ('lt', 'gt'),
            ('ge', 'le'),
            ('version-le', 'version-ge'),
        ):
            self.assertEqual(says(op, count, '4'), says(turned, '4', count))
        self.assertNotEqual(says('lt', count, 4), says('lt', 4, count))
        self.assertNotEqual(says('lt', count, 4), says('le', count, 4))
        # Of three values the middle one is compared twice.
        self.assertNotEqual(says('ne', 1, count, 2), says('ne', 2, 1, count))

    def test_conditions_in_other_words_are_equal(self):
        def condition(op, args, **options):
            (operation,) = self.of(
                [{'op': op, 'args': args, **options}]
            ).conditions
            return exclusion.ComparedCondition(operation)

        count = '{inventory.cpu.count}'
        one = condition('lt', [count, 4])
        self.assertEqual(
            1,
            len(
                {
                    one,
                    condition('gt', [4, count]),
                    condition('lt', {'values': [count, 4]}),
                }
            ),
        )
        looped = condition('lt', [count, 4], loop=[1])
        for other in (
            condition('!lt', [count, 4]),
            looped,
            condition('lt', [count, 4], loop=[1], multiple='all'),
        ):
            self.assertNotEqual(one, other)
        self.assertEqual(
            looped, condition('lt', [count, 4], loop=[1], multiple='any')
        )
        self.assertNotEqual(one, one.says)

    def test_one_field_is_not_taken_for_another(self):
        for other in 'ac':
            self.assertEqual(
                [],
                list(
                    certainty.check_never(
                        self.of(
                            [
                                {'op': 'eq', 'args': ['{plugin_data.b}', 'x']},
                                {
                                    'op': 'ne',
                                    'args': [
                                        '{plugin_data.b}',
                                        f'{{plugin_data.{other}}}',
                                    ],
                                },
                            ]
                        )
                    )
                ),
            )

    def test_equal_values_exclude_others_as_the_engine_compares_them(self):
        values = (
            0,
            1,
            42,
            42.0,
            True,
            False,
            None,
            'a',
            '',
            '0',
            '1',
            '1.0',
            '42',
            '42.0',
            ' 42',
            [],
            [1],
        )
        compare = {'eq': comparison.Equal(), 'ne': comparison.NotEqual()}
        for relation, one, other in itertools.product(compare, values, values):
            may_be = any(
                comparison.equal(value, one)
                and compare[relation].holds(value, other)
                for value in values
            )
            # Values of a rule file may be equal and yet two objects.
            other = json.loads(json.dumps(other))
            fact = facts.Fact('field', relation, other)
            excluded = facts.exclude(facts.Fact('field', 'eq', one), fact)
            self.assertEqual(may_be, not excluded, (one, relation, other))

    def test_inverted_orders_hold_for_what_has_no_order(self):
        field = '{plugin_data.size}'
        for conditions, excluded in (
            ((('! lt', 5), ('eq', None)), False),
            ((('! lt', 5), ('eq', 'none')), False),
            ((('! lt', 5), ('! ge', 3)), False),
            ((('! lt', 5), ('eq', 3)), True),
            ((('! lt', 5), ('lt', 3)), True),
            ((('ge', 5), ('! ge', 3)), True),
            ((('ge', 5), ('eq', None)), True),
        ):
            found = list(
                certainty.check_never(
                    self.of(
                        [
                            {'op': op, 'args': [field, value]}
                            for op, value in conditions
                        ]
                    )
                )
            )
            self.assertEqual(excluded, bool(found), conditions)

    def conditions_on(self, name):
        """Return conditions on fifty fields."""
        conditions = []
        for number in range(50):
            field = f'{{plugin_data.{name}{number}}}'
            conditions.append({'op': 'eq', 'args': [field, 1]})
        return list(
            map(exclusion.ComparedCondition, self.of(conditions).conditions)
        )

    def test_rules_about_other_fields_are_not_compared(self):
        one = self.conditions_on('a')
        other = self.conditions_on('b')
        with mock.patch.object(
            exclusion, 'never_hold_together', autospec=True
        ) as compare:
            self.assertFalse(exclusion.exclude(one, other))
        self.assertEqual(0, compare.call_count)

    def test_no_pair_is_missed(self):
        conditions = map(
            exclusion.ComparedCondition, self.of(CONDITIONS).conditions
        )
        excluded = 0
        for one, other in itertools.combinations(conditions, 2):
            wanted = exclusion.never_hold_together(one, other)
            excluded += wanted
            with self.subTest(one=one.says, other=other.says):
                self.assertEqual(wanted, exclusion.exclude([one], [other]))
        self.assertGreater(excluded, 7)
