# SPDX-License-Identifier: Apache-2.0

"""Why rules match, told in the same pass that decides it."""

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base


def compile_rule(*conditions, mask='always'):
    return compiler.compile_rule(
        model.Rule.from_mapping(
            {
                'uuid': 'rule',
                'conditions': list(conditions),
                'actions': [{'op': 'log', 'args': ['matches']}],
            }
        ),
        registry.installed(),
        mask,
    )


def why(plan, explain=True, **plugin_data):
    """Run a rule, and tell the result and reason of each condition."""
    target = working_copy.WorkingCopy(working_copy.Facts({}, plugin_data, {}))
    outcome = runner.run([plan], target, explain=explain, keep=not explain)
    return [
        (each.result, each.reason)
        for rule in outcome.traces
        for each in rule.conditions
    ]


class ExplanationTestCase(base.TestCase):
    def test_each_machine_has_its_own_reasons(self):
        plan = compile_rule(
            {'op': 'eq', 'args': ['{plugin_data.a}', 'x']},
            {'op': '!contains', 'args': ['{plugin_data.b}', 'y']},
        )
        for a, b, told in (
            (
                'x',
                'z',
                ((True, "values=['x', 'x']"), (True, "value='z', regex='y'")),
            ),
            (
                'x',
                'y',
                ((True, "values=['x', 'x']"), (False, "value='y', regex='y'")),
            ),
            (
                'z',
                'z',
                ((False, "values=['z', 'x']"), (True, "value='z', regex='y'")),
            ),
            (
                'x' * 99,
                'z',
                (
                    (False, f"values=['{'x' * 99}', 'x']"),
                    (True, "value='z', regex='y'"),
                ),
            ),
        ):
            for _again in range(2):
                self.assertEqual(list(told), why(plan, a=a, b=b))

    def test_conditions_of_an_action_have_a_reason(self):
        plan = compiler.compile_rule(
            model.Rule.from_mapping(
                {
                    'uuid': 'rule',
                    'actions': [
                        {
                            'op': 'log',
                            'args': ['{item}'],
                            'loop': [3, 2, 1],
                            'when': [
                                {'op': 'gt', 'args': ['{item}', 1]},
                                {'op': 'exists', 'args': ['{item}']},
                            ],
                        }
                    ],
                }
            ),
            registry.installed(),
        )
        for explain in (True, False):
            target = working_copy.WorkingCopy(working_copy.Facts({}, {}, {}))
            [rule] = runner.run([plan], target, explain=explain).traces
            [action] = rule.actions
            self.assertEqual(
                [
                    ('gt', 2, 1, 'values=[1, 1]' if explain else None),
                    ('exists', 2, 0, 'value=3' if explain else None),
                ],
                [tuple(each) for each in action.when],
            )
            self.assertTrue(action.ran, repr(explain))
            self.assertEqual(['info: 3', 'info: 2'], list(action.notes))

    def test_values_of_other_types_are_told_apart(self):
        plan = compile_rule({'op': 'eq', 'args': ['{plugin_data.a}', 1]})
        for value, told in (
            (1, (True, 'values=[1, 1]')),
            ('1', (True, "values=['1', 1]")),
            (1.0, (True, 'values=[1.0, 1]')),
            (None, (False, 'values=[None, 1]')),
        ):
            self.assertEqual([told], why(plan, a=value))

    def test_what_filters_make_is_told_of_each_machine(self):
        plan = compile_rule(
            {'op': 'eq', 'args': ['{plugin_data.a | upper}', 'X']}
        )
        for before in ('x', 'X', 'x'):
            self.assertEqual(
                [
                    (
                        True,
                        "values=['X', 'X']; {plugin_data.a | upper} makes "
                        f"'X' of '{before}'",
                    )
                ],
                why(plan, a=before),
            )

    def test_a_reason_shows_what_filters_make_of_values_of_other_types(self):
        plan = compile_rule(
            {'op': 'eq', 'args': ["{plugin_data.a | replace('2', '1')}", 1]}
        )
        for before, shown in (
            ('1', "'1'"),
            (1, '1'),
            ('2', "'2'"),
            (2, '2'),
            ('1', "'1'"),
        ):
            self.assertEqual(
                [
                    (
                        True,
                        "values=['1', 1]; "
                        "{plugin_data.a | replace('2', '1')} makes "
                        f"'1' of {shown}",
                    )
                ],
                why(plan, a=before),
            )

    def test_a_reason_names_a_missing_field(self):
        plan = compile_rule(
            {'op': 'eq', 'args': ['{plugin_data.a}', 'x']},
            {'op': 'is-none', 'args': ['{plugin_data.a}']},
        )
        missing = 'field {plugin_data.a} does not exist'
        self.assertEqual([(False, missing), (True, missing)], why(plan))

    def test_a_rule_that_has_seen_a_secret_matches_without_showing_it(self):
        plan = compile_rule(
            {'op': 'eq', 'args': ['{plugin_data.password}', 'open']},
            mask='never',
        )
        self.assertEqual(
            [(True, "values=['******', 'open']")],
            why(plan, explain=False, password='open'),
        )
