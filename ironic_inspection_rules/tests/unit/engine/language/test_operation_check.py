# SPDX-License-Identifier: Apache-2.0

"""Operations of a rule are checked when it is made, each at its place."""

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base

LOG = {'op': 'log', 'args': ['x']}


class OperationCheckTestCase(base.TestCase):
    def problems(self, conditions=(), actions=(LOG,), **fields):
        return {
            problem.pointer: problem.sentence
            for problem in validation.validate(
                {
                    'conditions': list(conditions),
                    'actions': list(actions),
                    **fields,
                },
                registry.installed(),
            )
        }

    def places(self, *args, **fields):
        return sorted(self.problems(*args, **fields))

    def test_a_good_rule_has_none(self):
        self.assertEqual(
            {},
            self.problems(
                [
                    {
                        'op': '! eq',
                        'args': ['{item.a}', 1],
                        'loop': [{'a': 1}],
                    },
                    {
                        'op': 'any-of',
                        'conditions': [
                            {
                                'op': 'matches',
                                'args': ['{node.name}', 'a{1,2}'],
                            }
                        ],
                    },
                ],
                [{**LOG, 'when': [{'op': 'is-true', 'args': [True]}]}],
            ),
        )

    def test_an_unknown_op_has_a_near_one(self):
        found = self.problems(
            [{'op': 'is_ture', 'args': [1]}], [{'op': 'logg', 'args': ['x']}]
        )

        self.assertIn('did you mean "is-true"', found['/conditions/0/op'])
        self.assertIn('did you mean "log"', found['/actions/0/op'])

    def test_places_of_arguments_are_those_of_the_rule(self):
        subnet = ('10.0.0.1', 'x')
        self.assertEqual(
            [
                '/conditions/0/args/1',
                '/conditions/1/args/subnet',
                '/conditions/2/args',
                '/conditions/3/args/0',
            ],
            self.places(
                [
                    {'op': 'in-net', 'args': list(subnet)},
                    {
                        'op': 'in-net',
                        'args': dict(
                            zip(('address', 'subnet'), subnet, strict=True)
                        ),
                    },
                    {'op': 'version-lt', 'args': ['{node.name}', 2.1]},
                    {'op': 'is-none', 'args': ['{node | nofilter}']},
                ]
            ),
        )

    def test_a_group_is_checked_inside_and_not_too_deep(self):
        bad = {'op': 'eq', 'args': {'valeus': [1, 2]}}
        self.assertIn(
            '/conditions/0/conditions/1/args/valeus',
            self.places(
                [
                    {
                        'op': 'any-of',
                        'conditions': [{'op': 'eq', 'args': [1, 1]}, bad],
                    }
                ]
            ),
        )
        for depth, expected in (
            (8, []),
            (9, ['/conditions/0' + '/conditions/0' * 8]),
        ):
            group = {'op': 'eq', 'args': [1, 1]}
            for _level in range(depth):
                group = {'op': 'all-of', 'conditions': [group]}
            self.assertEqual(expected, self.places([group]), depth)

    def test_an_item_of_a_loop_outside_counts(self):
        regex = {'op': 'matches', 'args': ['x', '{item}']}
        self.assertEqual(['/conditions/0/args/1'], self.places([regex]))
        self.assertEqual(
            [],
            self.places(
                [{'op': 'all-of', 'loop': ['a'], 'conditions': [regex]}]
            ),
        )
        self.assertEqual(
            [], self.places((), [{**LOG, 'loop': ['a'], 'when': [regex]}])
        )
        # An item of the rule is part of the expression.
        self.assertEqual(
            ['/conditions/0/args/1'], self.places([{**regex, 'loop': ['(']}])
        )

    def test_a_list_has_no_place_before_its_first(self):
        found = self.problems(
            (), [{'op': 'set-plugin-data', 'args': ['/l/-1', 1]}]
        )

        self.assertIn('a list has no item "-1"', found['/actions/0/args/0'])

    def test_the_early_phase_has_no_node(self):
        self.assertEqual(
            [
                '/actions/0/op',
                '/actions/1/args/1',
                '/actions/2/when/0/args/field',
            ],
            self.places(
                (),
                [
                    {'op': 'add-trait', 'args': ['CUSTOM_A']},
                    {'op': 'fail', 'args': ['x', True]},
                    {
                        **LOG,
                        'when': [
                            {
                                'op': 'inspector-eq',
                                'args': {'field': 'node://name', 'value': 1},
                            }
                        ],
                    },
                ],
                phase='early',
            ),
        )

    def test_no_field_of_a_node_hides_in_a_filter(self):
        found = self.problems(
            (),
            [
                {
                    'op': 'log',
                    'args': [
                        '{plugin_data.a | default([1, {"a": node.name}])} '
                        '{ports[0]}'
                    ],
                }
            ],
            phase='early',
        )

        self.assertEqual(['/actions/0/args/0'], list(found))
        self.assertEqual(
            [],
            self.places(
                (),
                [
                    {
                        'op': 'log',
                        'args': [
                            '{plugin_data.a '
                            '| default([1, {"a": inventory.b}])}'
                        ],
                    }
                ],
                phase='early',
            ),
        )

    def test_undoing_has_to_make_sense(self):
        found = self.problems(
            (),
            [
                {**LOG, 'revert': True},
                {
                    'op': 'set-attribute',
                    'revert': False,
                    'args': {'path': '/extra/a', 'value': 1, 'cleanup': 2},
                },
                {
                    'op': 'set-attribute',
                    'revert': True,
                    'args': {'path': '/extra/a', 'value': 1, 'cleanup': 2},
                },
            ],
        )

        self.assertEqual(
            ['/actions/0/revert', '/actions/1/revert'], sorted(found)
        )
        self.assertIn('cannot be undone', found['/actions/0/revert'])
        self.assertIn('beside "cleanup"', found['/actions/1/revert'])

    def test_what_a_value_cannot_become_is_known_at_once(self):
        # A list with a field in it stays a list.
        self.assertEqual(
            ['/actions/0/args/1'],
            self.places(
                (), [{'op': 'set-capability', 'args': ['a', ['{node.name}']]}]
            ),
        )
