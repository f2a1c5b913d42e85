# SPDX-License-Identifier: Apache-2.0

"""Old rules become ops and come back as they were."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.plugins.legacy import translate
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.plugins.legacy import inspection

EXISTS = {'op': 'exists', 'args': {'value': '{node.name}'}}
ACTION = {'action': 'fail', 'message': 'no'}


class ParseTestCase(base.TestCase):
    def problems(self, rule):
        exc = self.assertRaises(exceptions.InvalidRule, inspection.parse, rule)
        return {problem.pointer: problem.sentence for problem in exc.problems}

    def test_the_old_words_become_arguments(self):
        rule = inspection.parse(
            {
                'description': 'big',
                'scope': 'rack',
                'links': [],
                'conditions': [
                    {
                        'op': 'ge',
                        'field': 'memory_mb',
                        'value': 5,
                        'invert': True,
                    }
                ],
                'actions': [
                    {
                        'action': 'set-attribute',
                        'key': 'extra/a',
                        'value': None,
                        'revert': True,
                    }
                ],
            }
        )
        self.assertEqual(
            model.Rule(
                uuid=inspection.UUID % 0,
                description='big',
                scope='rack',
                conditions=(
                    {
                        'op': 'inspector-ge',
                        'args': {
                            'field': 'memory_mb',
                            'value': 5,
                            'invert': True,
                        },
                    },
                ),
                actions=(
                    {
                        'op': 'inspector-set-attribute',
                        'args': {'path': 'extra/a', 'value': None},
                        'revert': True,
                    },
                ),
            ),
            rule,
        )

    def test_nothing_may_be_missing(self):
        self.assertEqual({'/actions'}, set(self.problems({})))
        self.assertEqual(
            {'/conditions/0/op', '/conditions/1', '/conditions/2/value'},
            set(
                self.problems(
                    {
                        'conditions': [
                            {'field': 'x'},
                            5,
                            {'op': 'eq', 'field': 'x', 'value': None},
                        ],
                        'actions': [ACTION],
                    }
                )
            ),
        )
        self.assertEqual(
            {'/conditions/0', '/actions/0', '/actions/1'},
            set(
                self.problems(
                    {
                        'conditions': [{'op': 'eq', 'field': 'x'}],
                        'actions': [
                            {'action': 'set-attribute', 'path': '/extra/x'},
                            {'action': 'extend-attribute', 'path': '/extra/x'},
                        ],
                    }
                )
            ),
        )

    def test_problems_are_where_they_are_in_the_old_rule(self):
        self.assertEqual(
            {
                '/conditions/0/field',
                '/conditions/1/multiple',
                '/conditions/2/value',
                '/conditions/3/value',
                '/conditions/4/extra',
                '/actions/0/revert',
            },
            set(
                self.problems(
                    {
                        'conditions': [
                            {'op': 'eq', 'field': 'a b', 'value': 1},
                            {
                                'op': 'eq',
                                'field': 'x',
                                'value': 1,
                                'multiple': 'last',
                            },
                            {'op': 'matches', 'field': 'x', 'value': '('},
                            {'op': 'in-net', 'field': 'x', 'value': 'nope'},
                            {'op': 'is-empty', 'field': 'x', 'extra': 1},
                        ],
                        'actions': [{**ACTION, 'revert': True}],
                    }
                )
            ),
        )

    def test_types_are_not_guessed(self):
        self.assertEqual(
            {
                '/conditions/0/invert',
                '/conditions/1/field',
                '/conditions/2/multiple',
            },
            set(
                self.problems(
                    {
                        'conditions': [
                            {'op': 'is-empty', 'field': 'x', 'invert': 'yes'},
                            {'op': 'is-empty', 'field': 5},
                            {'op': 'is-empty', 'field': 'x', 'multiple': None},
                        ],
                        'actions': [ACTION],
                    }
                )
            ),
        )
        self.assertEqual(
            {'/conditions'},
            set(self.problems({'conditions': {}, 'actions': [ACTION]})),
        )
        self.assertIn(
            'is-empty',
            self.problems(
                {
                    'conditions': [{'op': 'eqq', 'field': 'x'}],
                    'actions': [ACTION],
                }
            )['/conditions/0/op'],
        )

    def test_null_is_as_good_as_not_given(self):
        rule = inspection.parse(
            {
                'uuid': None,
                'description': None,
                'scope': '',
                'conditions': [
                    {'op': 'is-empty', 'field': 'x', 'value': None}
                ],
                'actions': [
                    {'action': 'set-capability', 'name': 'a', 'value': None}
                ],
            }
        )
        self.assertEqual({'field': 'x'}, rule.conditions[0]['args'])
        self.assertEqual({'name': 'a', 'value': None}, rule.actions[0]['args'])

    def test_parameters_of_expressions_are_kept_as_ignored(self):
        condition = {
            'op': 'contains',
            'field': 'x',
            'value': '',
            'loop': [1],
            'key': 'y',
            'ignored': 5,
            'extra': None,
        }
        rule = inspection.parse(
            {'conditions': [condition], 'actions': [ACTION]}
        )
        self.assertEqual(
            {
                'op': 'inspector-contains',
                'args': {
                    'field': 'x',
                    'value': '',
                    'ignored': {'loop': [1], 'key': 'y', 'ignored': 5},
                },
            },
            rule.conditions[0],
        )
        for name in ('matches', 'contains'):
            self.assertRaises(
                exceptions.InvalidRule,
                translate.parse,
                {
                    'uuid': inspection.UUID % 0,
                    'conditions': [{**condition, 'op': name}],
                    'actions': [ACTION],
                },
                registry.installed(),
                only_known=True,
            )

    def test_the_older_name_of_an_argument_is_one_where_it_has_that(self):
        action = {'action': 'set-attribute', 'value': 1, 'key': '/extra/x'}
        self.assertEqual(
            {'/actions/0/path', '/actions/1/key'},
            set(
                self.problems(
                    {
                        'actions': [
                            {**action, 'path': '/extra/y'},
                            {
                                'action': 'add-trait',
                                'name': 'CUSTOM_A',
                                'key': 'x',
                            },
                        ]
                    }
                )
            ),
        )


class RestoreTestCase(base.TestCase):
    def restored(self, **fields):
        return translate.restore(
            model.Rule(uuid=inspection.UUID % 0, **fields),
            registry.installed(),
        )

    def test_public_rules_come_back_as_they_were(self):
        for path in sorted(
            shared_data.directory().glob('rules-inspector/*.json')
        ):
            for entry in shared_data.read(f'rules-inspector/{path.name}'):
                restored = translate.restore(
                    inspection.parse(entry), registry.installed()
                )
                self.assertEqual(
                    {
                        'actions': entry['actions'],
                        'conditions': [
                            {'multiple': 'any', 'invert': False, **condition}
                            for condition in entry.get('conditions', [])
                        ],
                    },
                    restored,
                )

    def test_older_names_and_reverts_come_back(self):
        entry = {
            'conditions': [
                {
                    'op': 'net',
                    'field': 'x',
                    'value': '::/0',
                    'multiple': 'first',
                    'invert': True,
                }
            ],
            'actions': [
                {
                    'action': 'append-attribute',
                    'revert': True,
                    'path': '/extra/x',
                    'value': 1,
                }
            ],
        }
        rule = inspection.parse(entry)
        self.assertEqual(entry, translate.restore(rule, registry.installed()))

    def test_arguments_given_as_a_list_get_their_names(self):
        self.assertEqual(
            {'conditions': [], 'actions': [ACTION]},
            self.restored(actions=({'op': 'inspector-fail', 'args': ['no']},)),
        )

    def test_ignored_parameters_come_back(self):
        entry = {
            'conditions': [
                {
                    'op': 'matches',
                    'field': 'x',
                    'value': 'y',
                    'multiple': 'any',
                    'invert': False,
                    'ignored': [1],
                    'args': {'z': 1},
                }
            ],
            'actions': [ACTION],
        }
        rule = inspection.parse(entry)
        self.assertEqual(entry, translate.restore(rule, registry.installed()))

    def test_ignored_parameters_have_names_without_a_meaning(self):
        for ignored in (5, {'op': 'eq'}, {'invert': True}):
            rule = {
                'uuid': inspection.UUID % 0,
                'conditions': [
                    {
                        'op': 'inspector-contains',
                        'args': {
                            'field': 'x',
                            'value': 'y',
                            'ignored': ignored,
                        },
                    }
                ],
                'actions': [{'op': 'inspector-fail', 'args': ['no']}],
            }
            problems = validation.validate(rule, registry.installed())
            self.assertEqual(
                ['/conditions/0/args/ignored'],
                [problem.pointer for problem in problems],
            )

    def test_new_operations_have_no_old_form(self):
        action = {'op': 'inspector-fail', 'args': ['no']}
        for fields in (
            {'actions': ({'op': 'fail', 'args': ['no']},)},
            {'actions': ({**action, 'loop': [1]},)},
            {'actions': ({**action, 'when': [EXISTS]},)},
            {'actions': (action,), 'mode': 'audit'},
            {'actions': (action,), 'mode': 'off'},
            {'actions': (action,), 'vars': {'name': 1}},
            {
                'actions': (action,),
                'conditions': ({'op': '!inspector-is-empty', 'args': ['x']},),
            },
        ):
            self.assertIsNone(self.restored(**fields), repr(fields))
