# SPDX-License-Identifier: Apache-2.0

"""A trace tells what a rule did, and of a sensitive one its UUID."""

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.tests.unit import base

CHANGE = engine_change.Change('node', 'add', '/extra/a', 1)


class RuleTraceTestCase(base.TestCase):
    def trace(self, **fields):
        rule = model.Rule(uuid='u', description='d', actions=(), **fields)
        idle = reasons.NotRun(reasons.WHEN, 'why')
        asked = trace.WhenTrace('eq', 0, 2)
        return trace.RuleTrace(
            rule,
            True,
            (),
            (
                trace.ActionTrace('a', (CHANGE,)),
                trace.ActionTrace('b', reverted=True),
                trace.ActionTrace('c', when=(asked,), idle=idle),
            ),
        ).disclosed(None)

    def test_the_summary_names_what_ran(self):
        self.assertEqual(
            {'uuid': 'u', 'description': 'd', 'actions': ['a']},
            self.trace().summary(),
        )

    def test_a_sensitive_rule_is_its_uuid(self):
        shown = self.trace(sensitive=True)
        self.assertEqual({'uuid': 'u', 'withheld': True}, shown.summary())
        for told in (
            shown.as_audit(),
            shown.as_dict(),
            shown.described(trace.RuleTrace.as_dict),
        ):
            self.assertEqual(
                {'uuid': 'u', 'matched': True, 'withheld': True}, told
            )

    def test_an_audit_tells_all_changes(self):
        self.assertEqual(
            [CHANGE.as_dict()],
            self.trace(mode=model.AUDIT).as_audit()['changes'],
        )

    def test_only_audit_rules_have_an_error_of_their_own(self):
        self.assertNotIn('error', self.trace().as_dict())
        self.assertIn('error', self.trace(mode=model.AUDIT).as_dict())

    def test_an_action_without_conditions_says_that_it_did_not_run(self):
        idle = reasons.NotRun('empty_loop', 'no disks')
        told = trace.ActionTrace('a', idle=idle).as_dict()
        self.assertEqual((False, 'no disks'), (told['ran'], told['reason']))

    def test_conditions_of_actions_are_told_where_there_are_any(self):
        first, _second, third = self.trace().as_dict()['actions']
        self.assertNotIn('when', first)
        self.assertEqual((False, 2), (third['ran'], third['when'][0]['false']))
