# SPDX-License-Identifier: Apache-2.0

"""Rules are validated without a machine."""

import copy
import json

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz

UUID = '11111111-1111-4111-8111-111111111111'
LOG = {'op': 'log', 'args': ['a']}

_names = sorted(
    [*registry.installed().conditions, *registry.installed().actions]
)
operations = st.fixed_dictionaries(
    {
        'op': st.one_of(
            st.sampled_from(_names),
            st.sampled_from(_names).map('!{}'.format),
            fuzz.plain,
        )
    },
    optional={
        'args': st.one_of(
            st.lists(fuzz.values, max_size=4),
            fuzz.json_values,
            st.dictionaries(
                st.sampled_from(
                    [
                        'value',
                        'values',
                        'path',
                        'msg',
                        'name',
                        'regex',
                        'subnet',
                        'address',
                        'url',
                        'names',
                        'prefix',
                        'force_strings',
                    ]
                ),
                fuzz.values,
                max_size=3,
            ),
        ),
        'loop': fuzz.values,
        'multiple': fuzz.plain,
        'revert': fuzz.plain,
        'a/b': fuzz.plain,
    },
)
rules = st.fixed_dictionaries(
    {},
    optional={
        'uuid': st.one_of(st.just(UUID), fuzz.plain),
        'description': fuzz.json_values,
        'priority': fuzz.json_values,
        'scope': fuzz.json_values,
        'sensitive': fuzz.json_values,
        'phase': st.one_of(
            st.sampled_from(['early', 'main']), fuzz.json_values
        ),
        'mode': st.one_of(st.sampled_from(['off', False]), fuzz.json_values),
        'conditions': st.one_of(
            st.lists(operations, max_size=3), fuzz.json_values
        ),
        'actions': st.one_of(
            st.lists(operations, max_size=3), fuzz.json_values
        ),
        'x~y/z': fuzz.plain,
    },
)


class InspectorRuleTestCase(base.TestCase):
    def test_it_is_one_problem_that_names_the_way_out(self):
        for old in (
            {'actions': [{'action': 'fail'}]},
            {'actions': [5, {'action': 'fail'}]},
            {'conditions': [{'op': 'is-empty', 'field': 'x'}], 'nonsense': 1},
        ):
            (problem,) = validation.validate(old, registry.installed())
            self.assertIn(
                'rule of ironic-inspector: run '
                '"ironic-inspection-rules convert"',
                problem.sentence,
            )

    def test_others_are_none(self):
        for other in (
            {},
            5,
            {'actions': [{'op': 'fail'}]},
            {'actions': 5},
            {'conditions': [{'op': 'eq', 'args': ['field', 1]}]},
        ):
            self.assertFalse(validation.is_of_inspector(other), repr(other))


class NumbersTestCase(base.TestCase):
    def test_numbers_that_json_lacks_are_told_with_their_places(self):
        problems = validation.validate(
            {
                'vars': {'most': float('inf')},
                'conditions': [
                    {
                        'op': 'gt',
                        'args': {'values': [1, {'a/b': float('nan')}]},
                    }
                ],
                'actions': [LOG],
            },
            registry.installed(),
        )
        self.assertEqual(
            {'/vars/most', '/conditions/0/args/values/1/a~1b'},
            {
                each.pointer
                for each in problems
                if each.sentence == 'must be a finite number'
            },
        )


class ShownTestCase(base.TestCase):
    def test_what_the_api_shows_besides_is_read_only(self):
        names = ('built_in', 'revision', 'created_at', 'updated_at', 'links')
        for built_in in (True, False):
            self.assertEqual(
                {f'/{name}': 'read only; leave it out' for name in names},
                {
                    each.pointer: each.sentence
                    for each in validation.validate(
                        {**dict.fromkeys(names), 'actions': [LOG]},
                        registry.installed(),
                        built_in,
                    )
                },
            )


class ParseTestCase(base.TestCase):
    def parse(self, **fields):
        return validation.parse(
            {'uuid': UUID, 'actions': [LOG], **fields}, registry.installed()
        )

    def test_values_are_read_leniently(self):
        rule = self.parse(
            priority='5',
            sensitive='true',
            conditions=None,
            scope=None,
            description=None,
            phase=None,
        )

        self.assertEqual(
            (5, True, (), None, None, 'main'),
            (
                rule.priority,
                rule.sensitive,
                rule.conditions,
                rule.scope,
                rule.description,
                rule.phase,
            ),
        )

    def test_operations_stay_as_they_were_written(self):
        given = {
            'op': ' ! eq',
            'args': {'values': ['{{', 1.50]},
            'loop': {'a': None},
            'multiple': None,
        }
        self.assertEqual((given,), self.parse(conditions=[given]).conditions)

    def test_all_problems_are_in_the_error(self):
        error = self.assertRaises(
            exceptions.InvalidRule,
            self.parse,
            priority=-1,
            phase='late',
            actions=[],
        )
        self.assertEqual(
            ['/priority', '/phase', '/actions'],
            [problem.pointer for problem in error.problems],
        )

    def test_a_built_in_rule_may_have_any_priority(self):
        for priority in (-5, 10**6):
            rule = validation.parse(
                {'uuid': UUID, 'actions': [LOG], 'priority': priority},
                registry.installed(),
                built_in=True,
            )
            self.assertEqual((priority, True), (rule.priority, rule.built_in))

    def test_what_is_no_mapping_is_no_rule(self):
        for rule in (None, [], 'text', 5):
            (problem,) = validation.validate(rule, registry.installed())
            self.assertEqual('', problem.pointer)


class AnythingTestCase(base.TestCase):
    @fuzz.settings
    @hypothesis.given(st.one_of(fuzz.json_values, rules))
    def test_anything_is_a_rule_or_has_problems(self, rule):
        before = copy.deepcopy(rule)
        problems = validation.validate(rule, registry.installed())

        self.assertEqual(repr(before), repr(rule))
        for problem in problems:
            self.assertTrue(problem.sentence)
            self.check_pointer(rule, problem.pointer)
        if not problems:
            compiler.compile_rule(
                validation.parse({'uuid': UUID, **rule}, registry.installed()),
                registry.installed(),
            )

    def check_pointer(self, rule, pointer):
        """Each pointer leads to something that is there, or is missing."""
        path = tuple(
            token.replace('~1', '/').replace('~0', '~')
            for token in pointer.split('/')[1:]
        )
        if not path:
            return
        parent = data_path.get(rule, path[:-1])
        self.assertIsInstance(parent, dict | list, (rule, pointer))
        if isinstance(parent, list):
            self.assertLess(int(path[-1]), len(parent))

    def test_json_as_it_is_posted(self):
        rule = json.loads(
            '{"actions": [{"op": "log", "args": ["\\ud800"]}],'
            ' "priority": 1e400, "description": NaN}'
        )
        self.assertEqual(
            {'/priority', '/description'},
            {
                problem.pointer
                for problem in validation.validate(rule, registry.installed())
            },
        )
