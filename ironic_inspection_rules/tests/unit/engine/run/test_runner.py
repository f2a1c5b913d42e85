# SPDX-License-Identifier: Apache-2.0

"""One phase of inspection: rules in order, on one target."""

import traceback

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base


class First(plugin.Condition):
    """Holds if the field is there, decided before any action."""

    DECIDES_FIRST = True

    def __call__(self, value):
        return True


class Crash(plugin.Action):
    """Fails in a way nobody thought of."""

    def __call__(self, target, word: str):
        raise ZeroDivisionError(word)


class RunTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        known = registry.installed()
        self.ops = registry.Registry(
            {
                'first': First,
                **{name: op.plugin for name, op in known.conditions.items()},
            },
            {
                'crash': Crash,
                **{name: op.plugin for name, op in known.actions.items()},
            },
        )
        self.target = working_copy.WorkingCopy(
            working_copy.Facts({}, {}, {'extra': {}})
        )

    def test_rules_of_one_uuid_are_decided_one_by_one(self):
        action = {'op': 'set-attribute', 'args': ['/extra/a', 1]}
        rules = [
            {
                'uuid': 'twin',
                'conditions': [
                    {'op': 'first', 'args': [1]},
                    {'op': 'eq', 'args': [1, other]},
                ],
                'actions': [{**action, 'args': [f'/extra/a{other}', 1]}],
            }
            for other in (1, 2)
        ]
        for explain in (False, True):
            outcome = self.run_rules(*rules, explain=explain)
            self.assertEqual({'a1': 1}, self.target.roots['node']['extra'])
            self.assertEqual(
                [True, False] if explain else [True],
                [trace.matched for trace in outcome.traces],
            )

    def run_rules(self, *rules, scope=None, explain=False, limits=budget.MAIN):
        plans = [
            compiler.compile_rule(
                model.Rule.from_mapping({'uuid': f'rule-{number}', **rule}),
                self.ops,
            )
            for number, rule in enumerate(rules)
        ]
        return runner.run(plans, self.target, scope, explain, limits=limits)

    def matched(self, outcome):
        return [trace.rule.uuid for trace in outcome.traces if trace.matched]

    def test_rules_run_in_the_order_given(self):
        outcome = self.run_rules(
            *[
                {'actions': [{'op': 'extend-plugin-data', 'args': ['/n', n]}]}
                for n in (3, 1, 2)
            ]
        )

        self.assertEqual({'n': [3, 1, 2]}, self.target.roots['plugin_data'])
        self.assertEqual(['rule-0', 'rule-1', 'rule-2'], self.matched(outcome))
        self.assertTrue(outcome.keeps_changes)

    def test_what_is_audited_takes_nothing_from_others(self):
        many = list(range(600))
        log = {'op': 'log', 'args': ['{item}'], 'loop': many}
        conditions = [
            {
                'op': 'ge',
                'args': ['{item}', 0],
                'loop': many,
                'multiple': 'all',
            }
        ]
        limits = budget.Limits(operations=1000)
        enforced = {'actions': [log]}
        self.assertIsNotNone(
            self.run_rules(enforced, enforced, limits=limits).error
        )
        for audited in (
            {'actions': [log]},
            {
                'conditions': conditions,
                'actions': [{'op': 'log', 'args': ['x']}],
            },
        ):
            for explain in (False, True):
                outcome = self.run_rules(
                    {**audited, 'mode': 'audit'},
                    enforced,
                    explain=explain,
                    limits=limits,
                )
                self.assertIsNone(outcome.error, (audited, explain))
                self.assertIsNone(outcome.audited[0].error, (audited, explain))

    def test_some_rules_are_decided_before_the_first_action(self):
        outcome = self.run_rules(
            {'actions': [{'op': 'set-plugin-data', 'args': ['/a', 1]}]},
            {
                'conditions': [{'op': 'first', 'args': ['{plugin_data.a}']}],
                'actions': [{'op': 'log', 'args': ['a']}],
            },
            {
                'conditions': [{'op': 'eq', 'args': ['{plugin_data.a}', 1]}],
                'actions': [{'op': 'log', 'args': ['a']}],
            },
        )

        self.assertEqual(['rule-0', 'rule-2'], self.matched(outcome))

    def test_any_exception_names_rule_and_op(self):
        outcome = self.run_rules(
            {
                'description': 'about it',
                'actions': [{'op': 'crash', 'args': ['bang']}],
            }
        )

        self.assertIsInstance(outcome.error, exceptions.RuleError)
        for word in (
            'rule-0',
            'about it',
            'crash',
            'ZeroDivisionError',
            'bang',
        ):
            self.assertIn(word, str(outcome.error))
        self.assertIsInstance(outcome.error.__cause__, ZeroDivisionError)
        self.assertFalse(outcome.keeps_changes)

    def test_no_traceback_shows_what_a_sensitive_rule_holds(self):
        for action in (
            {'op': 'crash', 'args': ['pa55']},
            {'op': 'fail', 'args': ['pa55']},
        ):
            outcome = self.run_rules({'sensitive': True, 'actions': [action]})
            shown = ''.join(traceback.format_exception(outcome.error))
            self.assertNotIn('pa55', shown)
            self.assertIn(action['op'], shown)

    def test_a_failure_keeps_changes_and_asks_for_maintenance(self):
        outcome = self.run_rules(
            {
                'actions': [
                    {'op': 'set-attribute', 'args': ['/extra/a', 1]},
                    {'op': 'fail', 'args': {'msg': 'no', 'maintenance': True}},
                ]
            }
        )

        self.assertTrue(outcome.keeps_changes)
        self.assertEqual(
            ('no', True), (outcome.error.reason, outcome.error.maintenance)
        )

    def test_an_explanation_has_the_rules_that_were_looked_at(self):
        outcome = self.run_rules(
            {
                'conditions': [{'op': 'eq', 'args': [1, 2]}],
                'actions': [{'op': 'log', 'args': ['a']}],
            },
            {
                'conditions': [
                    {'op': 'eq', 'args': [1, 1]},
                    {'op': 'in-net', 'args': ['a', '{plugin_data}']},
                ],
                'actions': [{'op': 'log', 'args': ['a']}],
            },
            {'actions': [{'op': 'log', 'args': ['a']}]},
            explain=True,
        )

        self.assertEqual(
            [('rule-0', [False]), ('rule-1', [True, None])],
            [
                (trace.rule.uuid, [each.result for each in trace.conditions])
                for trace in outcome.traces
            ],
        )
        self.assertIn('rule-1', str(outcome.error))


class RecordTestCase(base.TestCase):
    def outcome(self, *traces):
        return runner.PhaseOutcome(traces)

    def trace(self, uuid, matched=True, **fields):
        return runner.trace.RuleTrace(
            model.Rule(uuid=uuid, actions=(), **fields), matched
        ).disclosed(None)

    def test_phases_are_kept_side_by_side(self):
        plugin_data = {}
        self.outcome(self.trace('a')).record(plugin_data, 'preprocess')
        self.outcome(self.trace('b', sensitive=True)).record(
            plugin_data, 'main'
        )

        self.assertEqual(
            {
                'preprocess': [
                    {'uuid': 'a', 'description': None, 'actions': []}
                ],
                'main': [{'uuid': 'b', 'withheld': True}],
            },
            plugin_data['inspection_rules'],
        )

    def test_nothing_is_kept_where_nothing_matched(self):
        plugin_data = {}
        self.outcome(self.trace('a', matched=False)).record(
            plugin_data, 'main'
        )
        self.assertEqual({}, plugin_data)

    def test_what_a_machine_sent_in_its_place_is_replaced(self):
        plugin_data = {'inspection_rules': 'mine'}
        self.outcome(self.trace('a')).record(plugin_data, 'main')
        self.assertEqual({'main'}, plugin_data['inspection_rules'].keys())
