# SPDX-License-Identifier: Apache-2.0

"""Conditions that exclude one another are found, in few comparisons."""

import itertools
import json
import random
from unittest import mock

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
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


MISSING = object()
X, Y = '{plugin_data.x}', '{plugin_data.y}'
LITERALS = (0, 5, 7, '5', '7', '10', '5.0', 'a', 'b', '', True, None, [])
# The texts that begin with a no-break space are numbers too, which are above
# the text "b".
VALUES = (
    *(MISSING, None, True, False, -1, 0, 1, 4, 5, 6, 7, 8, 11),
    *('', '\t5', ' 8', '05', '0', '1', '4', '5', '5.0', '6', '60', '7', '8'),
    *('9e-1', '10', '11', 'a', 'aa', 'b', 'c', '\xa00', '\xa05', '\xa08'),
    *([], [0], {}),
)


def comparison_of(choose, length):
    """Return a comparison of x, y and literals, perhaps inverted."""
    compared = [
        choose.choice((X, Y, *choose.sample(LITERALS, 2)))
        for _position in range(length - 1)
    ]
    compared.insert(choose.randrange(length), X)
    op = choose.choice(('eq', 'ne', 'lt', 'le', 'gt', 'ge'))
    sign = choose.choice(('', '', '!'))
    return {'op': f'{sign}{op}', 'args': {'values': compared}}


def condition_of(choose):
    """Return a condition on x and y, perhaps a group."""
    kind = choose.randrange(8)
    sign = choose.choice(('', '!'))
    if kind == 0:
        return {'op': f'{sign}exists', 'args': {'value': X}}
    if kind == 1:
        op = choose.choice(('is-none', 'is-empty', 'is-true', 'is-false'))
        return {'op': f'{sign}{op}', 'args': {'value': X}}
    if kind == 2:
        listed = choose.sample(LITERALS, 2)
        args = {'value': X, 'values': listed}
        return {'op': f'{sign}one-of', 'args': args}
    if kind == 3:
        inner = [condition_of(choose), comparison_of(choose, 2)]
        op = choose.choice(('any-of', 'all-of', 'none-of'))
        return {'op': op, 'conditions': inner}
    return comparison_of(choose, choose.choice((2, 2, 3, 4)))


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

    def are_excluded(self, *written):
        """Return whether two conditions never hold together, both ways."""
        first, second = map(
            exclusion.ComparedCondition, self.of(list(written)).conditions
        )
        excluded = exclusion.never_hold_together(first, second)
        self.assertEqual(
            excluded, exclusion.never_hold_together(second, first)
        )
        return excluded

    def test_a_chain_excludes_its_inversion(self):
        a, b, c, d = (f'{{plugin_data.{name}}}' for name in 'abcd')
        for chain, inverted, excluded in (
            (('lt', a, b, c), ('!lt', a, b, c), True),
            (('lt', a, b, c), ('!gt', c, b, a), True),
            (('lt', a, b, c), ('!le', a, b, c), True),
            (('lt', a, b, c, d), ('!lt', b, c, d), True),
            (('eq', a, b, c), ('!eq', c, a, b), False),
            (('eq', a, b, 'x'), ('!eq', 'x', a, b), True),
            (('lt', a, b, c), ('!lt', a, b, d), False),
            (('lt', a, b), ('!lt', a, b, c), False),
            (('eq', a, 5), ('!lt', 3, a, 8), True),
            (('eq', a, 9), ('!lt', 3, a, 8), False),
            (('version-lt', a, b, c), ('!version-lt', a, b, c), True),
            (('eq', a, 'x'), ('!ne', 'y', 'z', a, 'y'), True),
        ):
            written = [
                {'op': op, 'args': {'values': compared}}
                for op, *compared in (chain, inverted)
            ]
            self.assertEqual(excluded, self.are_excluded(*written), written)

    def test_inverted_versions_hold_for_what_is_no_text(self):
        for one, other, excluded in (
            ('!version-ge', '!version-ne', False),
            ('!version-eq', '!version-ne', False),
            ('!version-ge', 'version-eq', True),
            ('version-lt', '!version-ne', True),
            ('version-eq', 'version-ne', True),
        ):
            written = [
                {'op': op, 'args': {'values': [X, '5']}} for op in (one, other)
            ]
            self.assertEqual(excluded, self.are_excluded(*written), written)

    def test_order_depends_on_the_kinds_of_values(self):
        for one, other, excluded in (
            # Texts of numbers are compared as texts with texts.
            (('lt', '5'), ('gt', '7'), True),
            (('lt', '5'), ('gt', 'a'), True),
            (('lt', '10'), ('gt', '9'), False),
            (('lt', '7'), ('gt', '10'), False),
            # The text "10" is above the number 7 and below the text "5".
            (('gt', 7), ('lt', '5'), False),
            (('lt', 5), ('lt', 'a'), False),
            (('le', 5), ('le', []), True),
            (('gt', 'a'), ('gt', []), True),
            (('gt', []), ('gt', [1]), False),
            (('lt', True), ('gt', 1), True),
            (('lt', True), ('gt', 'a'), True),
            (('lt', True), ('gt', '-1'), False),
            (('eq', True), ('gt', 'a'), True),
            (('eq', []), ('gt', 'a'), True),
            (('eq', '5'), ('gt', '7'), True),
            (('eq', 5), ('lt', '3'), False),
            (('!le', True), ('eq', 7), False),
            (('!lt', 5), ('gt', 'a'), False),
        ):
            written = [
                {'op': op, 'args': {'values': [X, value]}}
                for op, value in (one, other)
            ]
            self.assertEqual(excluded, self.are_excluded(*written), written)

    def test_a_chain_orders_fields_through_a_text(self):
        for op, *compared in (
            ('lt', X, 'm', Y),
            ('le', X, 'm', 'n', Y),
            ('lt', 'a', X, 'm', Y, 'z'),
            ('gt', Y, 'm', X),
        ):
            chain = {'op': op, 'args': {'values': compared}}
            greater = {'op': 'gt', 'args': {'values': [X, Y]}}
            self.assertTrue(self.are_excluded(chain, greater), chain)
        # The texts "4" and "10" are numbers below and above 5.
        chain = {'op': 'lt', 'args': {'values': [X, 5, Y]}}
        self.assertFalse(self.are_excluded(chain, greater))

    def test_a_missing_field_excludes_what_needs_it(self):
        missing = {'op': '!exists', 'args': {'value': X}}
        either = {
            'op': 'any-of',
            'conditions': [missing, {'op': 'eq', 'args': [X, 5]}],
        }
        for op, args, excluded in (
            ('ne', [X, 5], True),
            ('!eq', [Y, X], True),
            ('eq', ['{plugin_data.x.y}', 5], True),
            ('is-true', [X], True),
            ('!is-none', [X], True),
            ('is-none', [X], False),
            ('eq', ['{plugin_data.x | default(1)}', 1], False),
            ('eq', ['{plugin_data.y | default(plugin_data.x)}', 1], False),
            ('eq', ['a{plugin_data.x}', 'a'], True),
            ('one-of', [Y, [X]], True),
            ('is-empty', ['{plugin_data.x}'], False),
            ('exists', [Y], False),
        ):
            other = {'op': op, 'args': args}
            self.assertEqual(
                excluded, self.are_excluded(missing, other), other
            )
        self.assertTrue(
            self.are_excluded(either, {'op': 'ne', 'args': [X, 5]})
        )
        self.assertFalse(
            self.are_excluded(either, {'op': 'ne', 'args': [X, 6]})
        )

    def test_every_listed_value_may_be_refuted_by_another_fact(self):
        listed = {'op': 'one-of', 'args': [X, ['7', '5.0']]}
        for values, excluded in (
            ([7, X, '5.0', X, 5], True),
            ([7, X, '5'], False),
        ):
            other = {'op': 'ne', 'args': {'values': values}}
            self.assertEqual(excluded, self.are_excluded(listed, other))

    def test_true_excludes_empty(self):
        self.assertTrue(
            self.are_excluded(
                {'op': 'is-true', 'args': [X]},
                {'op': 'is-empty', 'args': [X]},
            )
        )

    def test_machines_meet_no_conditions_that_are_excluded(self):
        choose = random.Random(7)
        written = [condition_of(choose) for _number in range(130)]
        rule = self.of(written)
        plan = compiler.compile_rule(rule.rule, registry.installed())
        views = []
        for x, y in itertools.product(VALUES, VALUES):
            machine = {'x': x, 'y': y}
            plugin_data = {
                name: value
                for name, value in machine.items()
                if value is not MISSING
            }
            views.append(budget.View({'plugin_data': plugin_data}))
        met = []
        for compiled in plan.conditions:
            positions = set()
            for position, view in enumerate(views):
                if compiled.check(view):
                    positions.add(position)
            met.append(positions)
        compared = list(map(exclusion.ComparedCondition, rule.conditions))
        never = excluded = 0
        for first, second in itertools.combinations(range(len(written)), 2):
            both = met[first] & met[second]
            if not met[first] or not met[second]:
                # This condition never holds by itself.
                continue
            never += not both
            if exclusion.never_hold_together(
                compared[first], compared[second]
            ):
                excluded += 1
                self.assertEqual(
                    set(), both, (written[first], written[second])
                )
        self.assertGreater(excluded, never * 0.6)

    def test_a_text_that_is_equal_is_the_value(self):
        def as_text(op, *values):
            args = {'values': [X, *values], 'force_strings': True}
            return {'op': op, 'args': args}

        for one, other, excluded in (
            (as_text('eq', 'Dell'), as_text('eq', 'HPE'), True),
            (as_text('eq', 'Dell', Y), {'op': 'eq', 'args': [Y, 'a']}, True),
            (as_text('eq', 'Dell'), {'op': 'eq', 'args': [X, 'Dell']}, False),
            (as_text('eq', '7'), {'op': 'gt', 'args': [X, 8]}, True),
            (as_text('eq', 7), {'op': 'eq', 'args': [X, 7]}, False),
            (as_text('eq', 7), {'op': 'eq', 'args': [X, '7']}, False),
            (as_text('eq', '5.0'), {'op': 'eq', 'args': [X, 5]}, False),
            (as_text('eq', 'True'), {'op': 'eq', 'args': [X, True]}, False),
            (as_text('eq', '[]'), {'op': 'is-empty', 'args': [X]}, False),
            (as_text('!eq', 'a'), {'op': 'eq', 'args': [X, 'b']}, False),
        ):
            self.assertEqual(
                excluded, self.are_excluded(one, other), (one, other)
            )

    def test_what_makes_a_condition_true_excludes_none_of(self):
        def group(op, *conditions):
            return {
                'op': op,
                'conditions': [
                    {'op': inner, 'args': args} for inner, args in conditions
                ],
            }

        dell = 'contains', [X, 'Dell']
        large = 'ge', [X, 8]
        for written, op, args, excluded in (
            (group('none-of', dell), 'eq', [X, 'Dell Inc.'], True),
            (group('none-of', dell), 'eq', [X, 'HPE'], False),
            (group('!any-of', dell, large), 'eq', [X, 'Dell'], True),
            (group('!none-of', dell), 'eq', [X, 'HPE'], True),
            (group('!none-of', dell), 'eq', [X, 'Dell'], False),
            (group('none-of', large), 'gt', [X, 16], True),
            (group('none-of', large), 'gt', [X, 4], False),
            # A missing field makes neither condition true.
            (group('none-of', ('eq', [X, 5])), '!exists', [X], False),
            (group('none-of', ('ne', [X, 5])), 'is-none', [X], False),
            (group('none-of', ('is-none', [X])), '!exists', [X], True),
            (group('none-of', ('le', [X, Y])), 'eq', [X, 5], False),
            (group('!all-of', dell, large), 'eq', [X, 'Dell'], False),
            (group('!all-of', dell), 'eq', [X, 'Dell'], True),
        ):
            self.assertEqual(
                excluded,
                self.are_excluded(written, {'op': op, 'args': args}),
                (written, op, args),
            )

    def test_beginnings_of_texts_exclude_other_values(self):
        for op, regex, other, args, excluded in (
            ('contains', '^Dell', 'contains', '^HP', True),
            ('contains', '\\ADell', 'matches', 'HP.*', True),
            ('contains', '^Dell', 'contains', '^Dell Inc', False),
            ('contains', '^Dell?', 'contains', '^DelX', False),
            ('contains', '^Dell?', 'contains', '^DeX', True),
            ('contains', '^Dell', 'contains', 'HP', False),
            ('contains', '^Dell|^HP', 'contains', '^HP', False),
            ('contains', '(?i)^dell', 'contains', '^Dell', False),
            ('contains', '(?m)^Dell', 'contains', '^HP', False),
            ('contains', '^R6', 'eq', 10, False),
            ('contains', '^R6', 'lt', 'R', True),
            ('contains', '^R6', 'gt', 'R', False),
            ('contains', '^1', 'eq', 10, False),
            ('contains', '^Tr', 'eq', True, False),
            ('contains', '^R\U0010ffff', 'contains', '^HP', True),
            ('contains', '^R\U0010ffff', 'contains', '^R', False),
            ('contains', '^R\U0010ffff', 'eq', 'R\U0010ffff1', False),
            ('!contains', '^Dell', 'contains', '^HP', False),
        ):
            one = {'op': op, 'args': [X, regex]}
            two = {'op': other, 'args': [X, args]}
            self.assertEqual(excluded, self.are_excluded(one, two), (one, two))

    def test_no_text_is_less_than_the_empty_text(self):
        for op, other, value, excluded in (
            ('lt', 'eq', Y, True),
            ('le', 'gt', 'a', True),
            ('le', 'contains', 'a', True),
            ('!ge', 'eq', None, False),
        ):
            one = {'op': op, 'args': [X, '']}
            two = {'op': other, 'args': [X, value]}
            self.assertEqual(excluded, self.are_excluded(one, two), (one, two))

    def test_a_field_equals_itself(self):
        for op, excluded in (
            ('ne', True),
            ('lt', True),
            ('!eq', True),
            ('!le', False),
            ('ge', False),
            ('!version-eq', False),
        ):
            same = {'op': op, 'args': [X, X]}
            other = {'op': 'ne', 'args': [X, Y]}
            self.assertEqual(excluded, self.are_excluded(same, other), op)

    def exclude(self, some, others):
        """Return whether two lists of conditions exclude each other."""
        lists = []
        for written in (some, others):
            lists.append(
                list(
                    map(
                        exclusion.ComparedCondition,
                        self.of(written).conditions,
                    )
                )
            )
        excluded = exclusion.exclude(*lists)
        self.assertEqual(excluded, exclusion.exclude(*reversed(lists)))
        return excluded

    def test_several_conditions_leave_no_listed_value(self):
        def compares(op, *values):
            return {'op': op, 'args': {'values': [X, *values]}}

        def listed(op, *values):
            return {'op': op, 'args': [X, [*values]]}

        matches_a = {'op': 'matches', 'args': [X, 'a+']}
        for some, others, excluded in (
            ([compares('ge', 4), compares('le', 8)], [1, 9], True),
            ([compares('ge', 4), compares('le', 8)], [1, 5, 9], False),
            ([compares('gt', 'b'), matches_a], ['aa', 'c'], True),
            ([compares('gt', 'a'), matches_a], ['aa', 'c'], False),
            ([listed('!one-of', 1, 2), compares('ne', 3)], [1, 2, 3], True),
            ([listed('one-of', 1, 2), listed('one-of', 2, 3)], [1, 3], True),
            ([listed('one-of', 1, 2), listed('one-of', 2, 3)], [2], False),
            ([compares('ne', 7), compares('ne', '5')], ['5.0', 7], False),
        ):
            self.assertEqual(
                excluded,
                self.exclude(some, [listed('one-of', *others)]),
                (some, others),
            )
        self.assertTrue(
            self.exclude(
                [listed('one-of', 1, 9), compares('ge', 4)],
                [compares('le', 8)],
            )
        )

    def test_the_text_of_a_number_is_tried_in_all_its_forms(self):
        for value, op, regex, excluded in (
            ('640', 'matches', 'R.*', True),
            ('640', 'contains', '6', False),
            ('5', 'contains', '[.]0', False),
            ('5.50', 'matches', '5[.]5', False),
            ('5.50', 'matches', '5', True),
            (5, 'matches', 'R.*', False),
        ):
            self.assertEqual(
                excluded,
                self.are_excluded(
                    {'op': 'eq', 'args': [X, value]},
                    {'op': op, 'args': [X, regex]},
                ),
                (value, regex),
            )

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
