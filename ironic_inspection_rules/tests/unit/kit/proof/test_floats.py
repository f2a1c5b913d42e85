# SPDX-License-Identifier: Apache-2.0

"""Numbers in proofs are those of the engine, digit by digit."""

import copy
import itertools
import unittest

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base

try:
    import z3

    from ironic_inspection_rules.kit.proof import alphabet
    from ironic_inspection_rules.kit.proof import floats
    from ironic_inspection_rules.kit.proof import machine
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.kit.proof import value as values
    from ironic_inspection_rules.kit.proof import witness
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

X = '{plugin_data.x}'
LENGTH = '{plugin_data.x | length'

# Conditions, and a machine for which all of them hold.
MATCHED = {
    'an integer beside a float of nearly the same text': (
        [('ge', X, 1e23), ('lt', X, 10**23)],
        99999999999999991611392,
    ),
    'an integer that a float is exactly': (
        [('eq', X, 2**60), ('eq', X, 2.0**60)],
        2**60,
    ),
    'an integer that a float in a text is exactly': (
        [('eq', X, 2**60), ('eq', '1.152921504606847e+18', X)],
        2**60,
    ),
    'a bound that is a float': (
        [
            ('eq', '{plugin_data.x | tier([[1e23, "a"]])}', 'a'),
            ('lt', X, 10**23),
        ],
        99999999999999991611392,
    ),
    'the first of two equal bounds': (
        [('eq', '{plugin_data.x | tier([[8, "a"], [8.0, "b"]])}', 'a')],
        9,
    ),
    'a sum that is rounded': (
        [('eq', '{plugin_data.x | add(1)}', X), ('is-true', X)],
        1e16,
    ),
    'a sum that is rounded up to a bound': (
        [('ge', '{plugin_data.x | add(1)}', 5), ('lt', X, 4)],
        3.9999999999999996,
    ),
    'a product that is rounded': (
        [
            ('eq', X, 0.1),
            ('eq', '{plugin_data.x | multiply(3)}', 0.30000000000000004),
        ],
        0.1,
    ),
    'a product that is rounded, and is another one': (
        [('eq', X, 0.1), ('ne', '{plugin_data.x | multiply(3)}', 0.3)],
        0.1,
    ),
    'a quotient that is rounded': (
        [('eq', '{plugin_data.x | divide(10)}', 0.1)],
        1,
    ),
    'a quotient of an integer that is rounded': (
        [('eq', f'{LENGTH} | divide(3)}}', 0.3333333333333333)],
        [1],
    ),
    'a quotient that is whole again': (
        [('eq', f'{LENGTH} | divide(3) | multiply(3)}}', 1)],
        [1],
    ),
    'a difference of a quotient that is whole': (
        [('eq', '{plugin_data.x | divide(3) | subtract(1)}', 0)],
        3,
    ),
    'an integer that no float is': (
        [('ne', '{plugin_data.x | float}', X), ('gt', X, 5)],
        2**53 + 1,
    ),
    'an integer rounded to tens': (
        [('ne', f'{LENGTH} | round(-1)}}', f'{LENGTH}}}')],
        [1],
    ),
    'a quotient without its fraction': (
        [('eq', '{plugin_data.x | divide(1000) | int}', 8)],
        8191,
    ),
}

# Conditions of which numbers of Python allow no machine.
NEVER = {
    'a quotient by a power of two': [
        ('ge', '{plugin_data.x | divide(1024)}', 8),
        ('lt', X, 8192),
    ],
    'a product with a power of two': [
        ('ge', '{plugin_data.x | multiply(2)}', 8),
        ('lt', X, 4),
    ],
    'a difference of another sign': [
        ('gt', '{plugin_data.x | subtract(1)}', 0),
        ('le', X, 1),
    ],
    'a product of another sign': [
        ('gt', '{plugin_data.x | multiply(-1)}', 0),
        ('gt', X, 0),
    ],
    'an integer between a float and itself': [
        ('eq', X, 9007199254740992.0),
        ('eq', X, 2**53 + 1),
    ],
}

# For what is calculated of these, the engine says what it makes of them.
NUMBERS = (0.1, 0.3, 7, 2.5, 1e16, 2**53 + 1, -0.7)
FILTERS = (
    'add(1)',
    'subtract(3)',
    'multiply(3)',
    'multiply(10)',
    'divide(3)',
    'divide(0.1)',
    'divide(1024)',
    'float',
    'int',
    'abs',
    'round',
)


class FloatsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())
        self.engine = witness.Engine()

    def rule(self, conditions, tag='a'):
        return validation.parse(
            {
                'uuid': '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10',
                'conditions': [
                    {'op': op, 'args': args} for op, *args in conditions
                ],
                'actions': [
                    {'op': 'set-attribute', 'args': ['/extra/tag', tag]}
                ],
            },
            registry.installed(),
        )

    def verdict(self, conditions):
        (answer,) = question.Proof(
            [self.rule(conditions)], leisure.SECONDS
        ).answers([question.DEAD])
        return answer.verdict

    def run_on(self, rule, number):
        sample = copy.deepcopy(witness.sample())
        return self.engine.evaluate(
            [rule],
            witness.Witness(
                sample['inventory'], {'x': number}, sample['node']
            ),
        )

    def matches(self, conditions, number):
        rule = self.rule(conditions)
        return witness.has_matched(self.run_on(rule, number), rule)

    def calculated(self, number, filter_):
        """Return what the engine makes of a number."""
        rule = self.rule([], tag=f'{{plugin_data.x | {filter_}}}')
        return self.run_on(rule, number).facts.node['extra']['tag']

    def test_rules_that_numbers_of_the_engine_match_are_not_dead(self):
        for name, (conditions, number) in MATCHED.items():
            with self.subTest(name):
                self.assertTrue(self.matches(conditions, number))
                self.assertNotEqual('yes', self.verdict(conditions))

    def test_rules_that_no_number_matches_are_dead(self):
        for name, conditions in NEVER.items():
            with self.subTest(name):
                self.assertEqual('yes', self.verdict(conditions))

    def test_usual_arithmetic_has_an_answer(self):
        for filter_, bound in (
            ('divide(1000)', 8),
            ('divide(1024)', 8),
            ('multiply(1.0)', 8),
            ('add(1)', 5),
        ):
            with self.subTest(filter_):
                self.assertEqual(
                    'no',
                    self.verdict(
                        [('ge', f'{{plugin_data.x | {filter_}}}', bound)]
                    ),
                )

    def test_what_the_engine_calculates_is_possible(self):
        for number, filter_ in itertools.product(NUMBERS, FILTERS):
            result = self.calculated(number, filter_)
            with self.subTest(f'{number} | {filter_} is {result}'):
                conditions = [
                    ('eq', X, number),
                    ('eq', f'{{plugin_data.x | {filter_}}}', result),
                ]
                self.assertTrue(self.matches(conditions, number))
                self.assertNotEqual('yes', self.verdict(conditions))

    def test_a_sum_of_too_many_digits_is_an_error(self):
        rule = self.rule([], tag='{plugin_data.x | add(1)}')
        number = z3.Int('number')
        made = floats.calculate(
            machine.SymbolicMachine(alphabet.Alphabet()), 'add', number, 1
        )
        for value in (10**4250, 5):
            with self.subTest(number=len(str(value))):
                solver = z3.Solver()
                solver.add(values.where_failed(made), number == value)
                fails = self.run_on(rule, value).error is not None
                self.assertEqual(fails, solver.check() == z3.sat)

    def test_numbers_larger_than_any_float_are_searched(self):
        self.assertEqual('no', self.verdict([('gt', X, 10**400)]))
        self.assertNotEqual(
            'yes',
            self.verdict(
                [
                    ('gt', X, 10**400),
                    ('gt', X, 1.7e308),
                    ('!eq', X, '{plugin_data.x | int}'),
                ]
            ),
        )
