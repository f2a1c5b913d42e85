# SPDX-License-Identifier: Apache-2.0

"""How two states of a machine differ."""

import dataclasses

from ironic_inspection_rules.engine.run import difference
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base

PORTS = ({'address': '52:54:00:00:00:01', 'extra': {'a': 1}},)


def state(node=None, traits=(), ports=PORTS, **plugin_data):
    return working_copy.Facts(
        {}, plugin_data, {**(node or {}), 'traits': list(traits)}, ports
    )


class DifferenceTestCase(base.TestCase):
    def between(self, one, other, *closed):
        found = difference.between(
            dataclasses.replace(one, withheld_places=frozenset(closed)),
            other,
            PORTS,
        )
        same = difference.between(
            one,
            dataclasses.replace(other, withheld_places=frozenset(closed)),
            PORTS,
        )
        self.assertEqual(found, same)
        self.found = found
        return [
            (each.object, each.op, each.path, each.before, each.value)
            for each in found.changes
        ]

    def test_equal_states_do_not_differ(self):
        one, other = (
            state({'extra': {'a': [1, {'b': 2}]}}, ['A', 'B'], x=1),
            state({'extra': {'a': [1, {'b': 2}]}}, ['B', 'A'], x=1),
        )
        self.assertEqual([], self.between(one, other))

    def test_what_rules_note_of_themselves_is_no_difference(self):
        self.assertEqual(
            [], self.between(state(inspection_rules={'main': []}), state())
        )

    def test_a_difference_has_the_innermost_values(self):
        self.assertEqual(
            [
                ('node', 'remove', '/extra/a', 1, None),
                ('node', 'replace', '/extra/b/c', [1], [1, 2]),
                ('node', 'add', '/extra/b/d~1e', None, {'f': 0}),
                ('node', 'replace', '/name', None, 'n'),
            ],
            self.between(
                state({'name': None, 'extra': {'a': 1, 'b': {'c': [1]}}}),
                state(
                    {
                        'name': 'n',
                        'extra': {'b': {'c': [1, 2], 'd/e': {'f': 0}}},
                    }
                ),
            ),
        )

    def test_a_type_is_a_difference(self):
        self.assertEqual(
            [('plugin_data', 'replace', '/a', 1, True)],
            self.between(state(a=1), state(a=True)),
        )

    def test_traits_are_gained_and_lost(self):
        self.assertEqual(
            [
                ('traits', 'remove', '/A', 'A', None),
                ('traits', 'add', '/C', None, 'C'),
            ],
            self.between(state(traits=['A', 'B']), state(traits=['B', 'C'])),
        )

    def test_a_port_has_the_address_that_it_is_known_by(self):
        self.assertEqual(
            [
                (
                    'port 52:54:00:00:00:01',
                    'replace',
                    '/address',
                    '52:54:00:00:00:01',
                    '52:54:00:00:00:02',
                )
            ],
            self.between(
                state(),
                state(ports=({**PORTS[0], 'address': '52:54:00:00:00:02'},)),
            ),
        )

    def test_secrets_do_not_show_but_that_they_differ_does(self):
        self.assertEqual(
            [
                (
                    'node',
                    'replace',
                    '/driver_info/ipmi_password',
                    '******',
                    '******',
                ),
                ('node', 'add', '/extra/a', None, {'token': '******'}),
            ],
            self.between(
                state({'driver_info': {'ipmi_password': 'a'}, 'extra': {}}),
                state(
                    {
                        'driver_info': {'ipmi_password': 'b'},
                        'extra': {'a': {'token': 'x'}},
                    }
                ),
            ),
        )

    def test_nor_does_what_a_sensitive_rule_has_set(self):
        one = state({'extra': {'a': {'b': 1}}})
        for extra, closed, shown in (
            ({'a': {'b': 2}}, ('a', 'b'), []),
            ({'a': {'b': 2}}, ('a',), []),
            (
                {'a': {'b': 2, 'c': 3}},
                ('a', 'b'),
                [('node', 'add', '/extra/a/c', None, 3)],
            ),
            ({'a': {'b': 1}, 'd': {'e': {'f': 1}}}, ('d', 'e', 'f'), []),
            ({}, ('a', 'b'), []),
        ):
            self.assertEqual(
                shown,
                self.between(
                    one, state({'extra': extra}), ('node', ('extra', *closed))
                ),
            )
            self.assertTrue(self.found.has_withheld, (extra, closed, shown))
            self.assertTrue(self.found, (extra, closed, shown))
        self.assertEqual(
            [],
            self.between(
                one,
                state({'extra': {'a': {'b': 1}}}, ['B']),
                ('traits', ('B',)),
            ),
        )
        self.assertTrue(self.found)

    def test_what_it_set_and_is_the_same_is_no_difference(self):
        one = state({'extra': {'a': 1}})
        self.assertEqual([], self.between(one, one, ('node', ('extra', 'a'))))
        self.assertFalse(self.found)
