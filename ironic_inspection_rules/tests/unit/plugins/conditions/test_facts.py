# SPDX-License-Identifier: Apache-2.0

"""What conditions state of fields is so wherever they hold, or do not."""

import functools
import operator

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.tests.unit import base

FIELD = '{node.name}'

ORDERS = ('lt', 'le', 'gt', 'ge')

VALUES = (
    None,
    False,
    True,
    0,
    1,
    -1,
    2,
    2.0,
    '',
    '0',
    '2',
    'a',
    'A',
    'ab',
    'abc',
    'no',
    'No',
    'yes',
    'False',
    'True',
    'None',
    'a|b',
    'b',
    'a\nb',
    'a\n',
    '1.9',
    '1.10',
    [],
    {},
    [0],
    ['a'],
    {'a': 1},
)

STATE = {
    **{
        name: functools.partial(compare, budget.UNLIMITED)
        for name, compare in {
            'eq': comparison.Equal(),
            'ne': comparison.NotEqual(),
            'lt': comparison.Less(),
            'le': comparison.LessOrEqual(),
            'gt': comparison.Greater(),
            'ge': comparison.GreaterOrEqual(),
        }.items()
    },
    'one-of': lambda value, listed: any(
        comparison.equal(value, each) for each in listed
    ),
    'none-of': lambda value, listed: not STATE['one-of'](value, listed),
    **{
        f'version-{name}': lambda one, other, name=name: (
            isinstance(one, str)
            and isinstance(other, str)
            and getattr(operator, name)(
                *map(comparison.version_key, (one, other))
            )
        )
        for name in ('eq', 'ne', 'lt', 'le', 'gt', 'ge')
    },
}
"""What each relation in a fact means."""

CONDITIONS = [
    *((op, {'values': [FIELD, 2]}, (1, 1)) for op in ('eq', 'ne', *ORDERS)),
    ('lt', {'values': [1, FIELD]}, (1, 1)),
    ('le', {'values': [0, FIELD, 2]}, (2, 0)),
    ('eq', {'values': [FIELD]}, (0, 0)),
    ('eq', {'values': [FIELD, 2], 'force_strings': True}, (0, 0)),
    ('one-of', {'value': FIELD, 'values': ['a', 0, None]}, (1, 1)),
    ('is-none', {'value': FIELD}, (1, 1)),
    ('is-empty', {'value': FIELD}, (1, 1)),
    ('is-true', {'value': FIELD}, (1, 0)),
    ('is-false', {'value': FIELD}, (1, 1)),
    *(
        (f'version-{name}', {'values': [FIELD, '1.10']}, (1, 0))
        for name in ('eq', 'ne', *ORDERS)
    ),
    ('version-lt', {'values': ['1', FIELD, '2']}, (2, 0)),
    *(
        (op, {'value': FIELD, 'regex': regex}, (count, count))
        for op, regex, count in (
            ('matches', 'a', 1),
            ('matches', '^a', 1),
            ('matches', 'a|b', 1),
            ('matches', '^(a|ab)$', 1),
            ('matches', '(?:a|ab)', 1),
            ('matches', r'1\.9', 1),
            ('matches', r'a\|b', 0),
            ('matches', 'a.', 0),
            ('matches', '(True|a)', 0),
            ('matches', 'None', 0),
            ('contains', r'\Aa\Z', 1),
            ('contains', r'\A(a|b)\Z', 1),
            ('contains', 'a', 0),
            ('contains', '^a', 0),
            ('contains', '^a|b$', 0),
            ('contains', 'a|b', 0),
            ('contains', '^a.$', 0),
        )
    ),
]
"""Conditions, and how many facts they state where they hold, and do not."""


class FactsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.known = registry.installed().conditions

    def holds(self, op, arguments, value):
        def filled(each):
            if isinstance(each, list):
                return list(map(filled, each))
            return value if each == FIELD else each

        given = {name: filled(each) for name, each in arguments.items()}
        if 'regex' in given:
            given['regex'] = pattern.Pattern(given['regex'])
        paid = [budget.UNLIMITED] if self.known[op].plugin.PAYS else []
        values = given.pop('values', []) if op != 'one-of' else []
        return self.known[op].plugin(*paid, *values, **given)

    def test_what_is_stated_is_so(self):
        for op, arguments, _counts in CONDITIONS:
            for value in VALUES:
                if value == 'a\n' and 'regex' in arguments:
                    # A dollar sign matches before the last end of a line.
                    continue
                holds = self.holds(op, arguments, value)
                for fact in self.known[op].plugin.facts(
                    arguments, inverted=not holds
                ):
                    one, other = (
                        value if each == FIELD else each
                        for each in (fact.field, fact.value)
                    )
                    so = STATE[fact.relation](one, other)
                    if fact.unordered:
                        # Of values without an order neither holds.
                        so = not STATE[plugin.OPPOSITES[fact.relation]](
                            one, other
                        )
                    self.assertTrue(
                        so, f'{op} {arguments} of {value!r}: {fact}'
                    )

    def test_as_much_is_stated_as_is_known(self):
        for op, arguments, counts in CONDITIONS:
            condition = self.known[op].plugin
            found = [
                list(condition.facts(arguments, inverted=inverted))
                for inverted in (False, True)
            ]
            self.assertEqual(
                counts, tuple(map(len, found)), f'{op} {arguments}'
            )
            self.assertEqual(found[0], list(condition.facts(arguments)))

    def test_who_states_nothing_yields_nothing(self):
        self.assertEqual(
            [], list(self.known['exists'].plugin.facts({'value': FIELD}))
        )

    def test_an_address_is_in_its_subnet(self):
        given = {'address': FIELD, 'subnet': '10.0.0.0/8'}
        known = self.known['in-net'].plugin
        self.assertEqual(
            [(FIELD, 'in-net', '10.0.0.0/8', False)], list(known.facts(given))
        )
        self.assertEqual([], list(known.facts(given, inverted=True)))
