# SPDX-License-Identifier: Apache-2.0

"""An error in the code of a plugin names the op, the plugin and the cause."""

import logging

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import foreign
from ironic_inspection_rules.tests.unit.engine import phase

LOG = {'op': 'log', 'args': {'msg': 'x'}}
GROUP = {'op': 'any-of', 'conditions': [foreign.CONDITION]}


class ForeignTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        # Each line is logged once a process.
        registry._log_once.cache_clear()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))

    def assert_named(self, text, op, method=''):
        self.assertIn(op, text)
        self.assertIn(f'({foreign.code(method)}): KeyError:', text)
        self.assertIn(foreign.TEXT, text)

    def run_with(self, method, rule, **options):
        return phase.run(
            rule, plugin_data={'a': 1}, ops=foreign.ops(method), **options
        )[0]


class CallTestCase(ForeignTestCase):
    def test_the_error_of_a_run_names_them(self):
        for op, rule in (
            ('odd-condition', {'conditions': [foreign.CONDITION]}),
            ('odd-condition', {'conditions': [GROUP]}),
            (
                'odd-condition',
                {'conditions': [{**foreign.CONDITION, 'loop': [1]}]},
            ),
            (
                'odd-condition',
                {
                    'conditions': [
                        {
                            **foreign.CONDITION,
                            'args': {
                                'value': '{plugin_data.a}',
                                'other': '{plugin_data.a}',
                            },
                        }
                    ]
                },
            ),
            (
                'odd-condition',
                {'actions': [{**LOG, 'when': [foreign.CONDITION]}]},
            ),
            ('odd-action', {'actions': [foreign.ACTION]}),
        ):
            outcome = self.run_with('', rule)
            self.assert_named(str(outcome.error), op)

    def test_the_log_has_the_line_of_code_once(self):
        for _machine in range(3):
            self.run_with('', {'actions': [foreign.ACTION]})
        (line,) = self.log.output.splitlines()
        self.assertIn('"odd-action"', line)
        self.assertIn(f'({foreign.code("")}) failed: KeyError', line)
        self.assertIn('foreign.py:', line)

    def test_of_a_sensitive_rule_only_the_line_of_code_is_logged(self):
        outcome = self.run_with(
            '', {'sensitive': True, 'actions': [foreign.ACTION]}
        )
        self.assertEqual('odd-action', outcome.error.op)
        self.assertIsNone(outcome.error.__cause__)
        for told in (str(outcome.error), self.log.output):
            self.assertNotIn(foreign.TEXT, told)
            self.assertIn('odd-action', told)
        self.assertIn('foreign.py:', self.log.output)

    def test_undoing_is_a_call_too(self):
        outcome = self.run_with(
            'revert',
            {
                'conditions': [{'op': 'is-none', 'args': ['{plugin_data.a}']}],
                'actions': [{**foreign.ACTION, 'revert': True}],
            },
        )
        self.assert_named(str(outcome.error), 'odd-action', 'revert')

    def test_a_reason_that_cannot_be_given_is_the_error(self):
        outcome = self.run_with(
            'explain', {'conditions': [foreign.CONDITION]}, explain=True
        )
        self.assertIsNone(outcome.error)
        (told,) = outcome.traces[0].conditions
        self.assertTrue(told.result)
        self.assert_named(told.reason, '', 'explain')

    def test_errors_that_plugins_may_raise_stay_as_they_are(self):
        ops = registry.Registry(
            {},
            {
                'odd-action': foreign.failing(
                    foreign.Action, '', exceptions.OperationError
                )
            },
        )
        outcome, _roots = phase.run({'actions': [foreign.ACTION]}, ops=ops)
        self.assertEqual(foreign.TEXT, outcome.error.reason)

    def test_so_it_is_for_filters(self):
        known = dict(registry.filters())
        for method in ('', 'bind'):
            odd = foreign.failing(foreign.Filter, method, AttributeError)
            known['odd'] = registry.Op('odd', odd, known['default'].signature)
            self.useFixture(
                fixtures.MonkeyPatch(
                    'ironic_inspection_rules.engine.language.registry.filters',
                    lambda: known,
                )
            )
            rule = {
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': {
                            'path': '/b',
                            'value': f'{{plugin_data.a{method} | odd}}',
                        },
                    }
                ]
            }
            if method:
                (problem,) = validation.validate(rule, registry.installed())
                text = str(problem)
            else:
                text = str(self.run_with('facts', rule).error)
            self.assertIn('filter odd: ', text)
            self.assertIn(
                f'({foreign.code(method)}): AttributeError: {foreign.TEXT}',
                text,
            )


class MadeTestCase(ForeignTestCase):
    def test_a_rule_that_a_plugin_cannot_check_is_refused(self):
        for method in ('problems', 'of_node'):
            problems = validation.validate(
                {
                    'phase': 'early',
                    'conditions': [foreign.CONDITION, GROUP],
                    'actions': [foreign.ACTION],
                },
                foreign.ops(method),
            )
            # Groups have no arguments of their own.
            self.assertEqual(
                [
                    '/conditions/0/args',
                    '/conditions/1/conditions/0/args',
                    '/actions/0/args',
                ],
                [
                    problem.pointer
                    for problem in problems
                    if 'code' in problem.detail
                ],
            )
            for problem, op in zip(
                [each for each in problems if 'code' in each.detail],
                ('odd-condition', 'odd-condition', 'odd-action'),
                strict=True,
            ):
                self.assert_named(problem.detail, f'"{op}": ', method)

    def test_what_it_says_of_no_argument_is_its_fault(self):
        class Elsewhere(foreign.Condition):
            def problems(self, arguments):
                yield 'elsewhere', 'is bad'

        (problem,) = validation.validate(
            {'conditions': [foreign.CONDITION], 'actions': [LOG]},
            registry.Registry(
                {'odd-condition': Elsewhere},
                {'log': registry.installed().action('log').plugin},
            ),
        )
        self.assertIn('Elsewhere.problems): KeyError', problem.detail)

    def test_a_rule_that_it_cannot_prepare_names_it(self):
        for method, args in (
            ('bind', {'value': '{plugin_data.a}'}),
            ('bind', {'value': 1}),
        ):
            error = self.assertRaises(
                exceptions.PluginFailed,
                compiler.compile_rule,
                model.Rule(
                    uuid='a',
                    actions=(),
                    conditions=({'op': 'odd-condition', 'args': args},),
                ),
                foreign.ops(method),
            )
            self.assertEqual('odd-condition', error.op)
            self.assert_named(str(error), '', method)


class RegisteredTestCase(ForeignTestCase):
    def refused(self, found):
        error = self.assertRaises(
            exceptions.PluginError,
            registry.Registry,
            {'odd-condition': found},
            {},
        )
        self.assertIn('"odd-condition"', str(error))
        self.assertIn('acme.rules.Odd', str(error))
        self.assertIsNotNone(error.__cause__)
        return str(error)

    def made(self, **members):
        return type(plugin.Condition)(
            'Odd',
            (foreign.Condition,),
            {'__module__': foreign.MODULE, **members},
        )

    def test_schemas_are_those_of_its_arguments(self):
        self.assertIn(
            'no argument "elsewhere"',
            self.refused(
                self.made(SCHEMAS={'elsewhere': [{'type': 'string'}]})
            ),
        )
        self.refused(self.made(SCHEMAS={'value': [{'type': 'strnig'}]}))
        self.refused(self.made(SCHEMAS={'value': [5]}))
        self.refused(self.made(SCHEMAS=5))
        registry.Registry(
            {
                'odd-condition': self.made(
                    SCHEMAS={'value': [{'type': 'string'}]}
                )
            },
            {},
        )

    def test_a_class_that_cannot_be_made_names_itself(self):
        def fail(self):
            raise KeyError(foreign.TEXT)

        self.assertIn(foreign.TEXT, self.refused(self.made(__init__=fail)))
