# SPDX-License-Identifier: Apache-2.0

"""What becomes of rules when a rule set takes the place of another."""

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.rule_set import replacement
from ironic_inspection_rules.tests.unit import base


def make(uuid=None, description=None, priority=0, **others):
    return {
        'uuid': uuid,
        'description': description,
        'priority': priority,
        **others,
    }


class MatchTestCase(base.TestCase):
    def match(self, wanted, present):
        return [
            found and (found[0]['uuid'], found[1])
            for found in replacement.match(wanted, present)
        ]

    def test_by_uuid_whatever_the_description(self):
        self.assertEqual(
            [('a', 'uuid')],
            self.match(
                [make('a', 'new')], [make('a', 'old'), make('b', 'new')]
            ),
        )

    def test_by_a_description_that_is_unique_on_both_sides(self):
        self.assertEqual(
            [('b', 'description'), None],
            self.match(
                [make(None, 'x'), make(None, 'y')],
                [make('a', 'z'), make('b', 'x')],
            ),
        )

    def test_uuids_first_whatever_the_order(self):
        renamed, new = make('a', 'new'), make(None, 'old')

        self.assertEqual(
            [('a', 'uuid'), None],
            self.match([renamed, new], [make('a', 'old')]),
        )
        self.assertEqual(
            [None, ('a', 'uuid')],
            self.match([new, renamed], [make('a', 'old')]),
        )

    def test_a_description_that_a_uuid_leaves_to_one_rule(self):
        self.assertEqual(
            [('b', 'description'), ('a', 'uuid')],
            self.match(
                [make(None, 'x'), make('a', 'y')],
                [make('a', 'x'), make('b', 'x')],
            ),
        )

    def test_else_by_all_that_is_in_it(self):
        twins = [make('a', 'x'), make('b', 'x'), make('c', 'x', 5)]

        self.assertEqual(
            [
                ('c', 'description'),
                ('a', 'description'),
                ('b', 'description'),
                None,
            ],
            self.match([make(None, 'x', 5), *[make(None, 'x')] * 3], twins),
        )
        for unnamed in (None, ''):
            self.assertEqual(
                [None, ('b', None), ('a', 'uuid')],
                self.match(
                    [
                        make(None, unnamed),
                        make(None, unnamed, 5),
                        make('a', unnamed),
                    ],
                    [make('a', unnamed), make('b', unnamed, 5)],
                ),
            )

    def test_a_default_need_not_be_written(self):
        stored = make('a', None, actions=[1], conditions=[], phase='main')

        for wanted in (
            {'actions': [1]},
            {'actions': [1], 'conditions': None, 'priority': 0},
        ):
            self.assertEqual([('a', None)], self.match([wanted], [stored]))

    def test_vars_in_another_order_are_others(self):
        stored = make('a', None, vars={'x': 1, 'y': '{vars.x}'})

        self.assertEqual(
            [None],
            self.match(
                [make(None, None, vars={'y': '{vars.x}', 'x': 1})], [stored]
            ),
        )

    def test_else_it_is_a_new_one(self):
        for wanted, present in (
            ([make(None, 'x', 1)], [make('a', 'x'), make('b', 'x')]),
            ([make(None, 'x', 1), make(None, 'x', 2)], [make('a', 'x')]),
            ([make(None, '', 1)], [make('a', '')]),
            ([make(None, None, 1)], [make('a', None)]),
            ([make('b', 'x')], [make('a', 'x')]),
            ([5], [make('a', 'x')]),
        ):
            self.assertEqual([None] * len(wanted), self.match(wanted, present))

    def test_one_rule_twice_is_refused(self):
        present = [make('a', 'x')]

        for wanted in ([make('a'), make('a')], [make('b'), make('b')]):
            self.assertRaises(
                exceptions.Invalid, replacement.match, wanted, present
            )


class DecideTestCase(base.TestCase):
    def decide(self, wanted, present, positions=None):
        present = [
            make(**rule) if isinstance(rule, dict) else make(rule)
            for rule in present
        ]
        wanted = [
            make(**rule) if isinstance(rule, dict) else make(rule)
            for rule in wanted
        ]
        if positions is None:
            positions = {
                rule['uuid']: float(number)
                for number, rule in enumerate(present)
            }
        present = [
            {**rule, 'position': positions[rule['uuid']]} for rule in present
        ]
        return replacement.plan_steps(
            wanted, replacement.match(wanted, present), present
        )

    def outcomes(self, *args):
        return [
            ((step.after or step.before)['uuid'], step.outcome)
            for step in self.decide(*args)
        ]

    def test_each_rule_has_its_outcome(self):
        self.assertEqual(
            [
                ('a', 'unchanged'),
                ('b', 'updated'),
                ('d', 'created'),
                ('c', 'deleted'),
            ],
            self.outcomes(
                ['a', {'uuid': 'b', 'priority': 2}, 'd'], ['a', 'b', 'c']
            ),
        )

    def test_values_of_another_type_are_a_change(self):
        self.assertEqual(
            [('a', 'updated'), ('b', 'updated')],
            self.outcomes(
                [
                    {'uuid': 'a', 'actions': [{'args': {'value': True}}]},
                    {'uuid': 'b', 'actions': [{'args': {'value': 1.0}}]},
                ],
                [
                    {'uuid': 'a', 'actions': [{'args': {'value': 1}}]},
                    {'uuid': 'b', 'actions': [{'args': {'value': 1}}]},
                ],
            ),
        )

    def test_only_what_leaves_its_place_is_moved(self):
        self.assertEqual(
            [
                ('d', 'moved'),
                ('a', 'unchanged'),
                ('b', 'unchanged'),
                ('c', 'unchanged'),
            ],
            self.outcomes('dabc', 'abcd'),
        )

    def test_order_counts_among_rules_that_run_beside_each_other(self):
        late = {'uuid': 'a', 'priority': 1}
        early = {'uuid': 'e', 'phase': 'early'}

        self.assertEqual(
            [
                ('b', 'unchanged'),
                ('a', 'unchanged'),
                ('e', 'unchanged'),
                ('c', 'unchanged'),
            ],
            self.outcomes(['b', late, early, 'c'], [early, late, 'b', 'c']),
        )
        self.assertEqual(
            [('c', 'moved'), ('b', 'unchanged'), ('a', 'unchanged')],
            self.outcomes(['c', 'b', late], [late, 'b', 'c']),
        )

    def test_a_new_rule_between_moves_no_other(self):
        steps = self.decide('axb', 'ab', {'a': 1.0, 'b': 2.0})

        self.assertEqual(
            ['unchanged', 'created', 'unchanged'],
            [step.outcome for step in steps],
        )
        self.assertEqual(1.5, steps[1].new_position)

    def test_what_is_not_wanted_may_stay_where_it_is(self):
        present = [
            make(uuid, position=float(place))
            for place, uuid in enumerate('abc')
        ]
        wanted = [make('d'), make('c', priority=2), make('a')]
        steps = replacement.plan_steps(
            wanted, replacement.match(wanted, present), present, prune=False
        )
        self.assertEqual(
            [
                ('d', 'created', 3.0),
                ('c', 'updated', None),
                ('a', 'unchanged', None),
                ('b', 'unchanged', None),
            ],
            [
                (step.after['uuid'], step.outcome, step.new_position)
                for step in steps
            ],
        )

    def test_where_there_is_no_room_all_get_new_places(self):
        steps = self.decide('axb', 'ab', {'a': 1.0, 'b': 1.0 + 2**-52})

        self.assertEqual(
            [None, 2.0, 3.0], [step.new_position for step in steps]
        )

    def test_where_another_rule_takes_the_last_room_all_get_new_places(self):
        # The number between "a" and "b" is rounded to that of "b".
        positions = {
            'a': 1.0 + 2**-52,
            'b': 1.0 + 2 * 2**-52,
            'c': 1.0 + 3 * 2**-52,
        }
        wanted = [
            {'uuid': uuid, 'priority': priority}
            for uuid, priority in (('a', 1), ('x', 1), ('c', 1), ('b', 0))
        ]

        steps = self.decide(wanted, 'abc', positions)

        self.assertEqual(
            {1.0, 2.0, 3.0, 4.0}, {step.new_position for step in steps}
        )

    @hypothesis.given(
        st.lists(st.sampled_from('abcdefgh'), unique=True),
        st.lists(st.sampled_from('abcdefgh'), unique=True),
    )
    def test_rules_end_up_in_the_order_wanted(self, wanted, present):
        positions = {
            uuid: float(number) for number, uuid in enumerate(present)
        }

        for step in self.decide(wanted, present, positions):
            if step.after is None:
                del positions[step.before['uuid']]
            elif step.new_position is not None:
                positions[step.after['uuid']] = step.new_position

        self.assertEqual(wanted, sorted(positions, key=positions.get))

    @hypothesis.given(
        st.lists(
            st.tuples(st.sampled_from('abcdefgh'), st.integers(0, 2)),
            unique_by=lambda rule: rule[0],
        ),
        st.lists(st.sampled_from('abcdefgh'), unique=True),
    )
    @hypothesis.example([('b', 1), ('a', 0), ('c', 0)], ['a', 'b'])
    @hypothesis.example([('b', 1), ('c', 1), ('d', 0), ('a', 0)], ['a', 'b'])
    @hypothesis.example([('d', 1), ('b', 1), ('c', 2), ('a', 0)], ['a', 'b'])
    def test_no_two_rules_come_to_one_place(self, wanted, present):
        positions = {
            uuid: float(number) for number, uuid in enumerate(present)
        }
        wanted_rules = [
            {'uuid': uuid, 'priority': priority} for uuid, priority in wanted
        ]

        for step in self.decide(wanted_rules, present, positions):
            if step.after is None:
                del positions[step.before['uuid']]
            elif step.new_position is not None:
                positions[step.after['uuid']] = step.new_position

        self.assertEqual(len(positions), len(set(positions.values())))
        for priority in range(3):
            equals = [uuid for uuid, own in wanted if own == priority]
            self.assertEqual(equals, sorted(equals, key=positions.get))
