# SPDX-License-Identifier: Apache-2.0

"""What rules did, in lines."""

from ironic_inspection_rules.kit.osc import inspection_run
from ironic_inspection_rules.tests.unit import base

CHANGE = {
    'object': 'node',
    'op': 'replace',
    'path': '/extra/rack',
    'before': None,
    'after': 'a1',
    'action': 'set-attribute',
}
RULE = {'uuid': 'a', 'description': 'big', 'revision': 3, 'conditions': []}
RUN = {
    'uuid': 'r',
    'created_at': 'today',
    'event': 'inspection',
    'result': 'ok',
}
ANSWER = {
    **CHANGE,
    'rule': RULE,
    'revision': 3,
    'phase': 'main',
    'conditions': [{'op': 'eq', 'result': True, 'reason': 'values=(1, 1)'}],
    'run': RUN,
    'current': True,
    'current_value': None,
    'sensitive_rules': [],
}


def phase(**fields):
    """A phase in which no rule did anything, but for these fields."""
    return {'rules': [], 'reverted': [], 'audit': [], 'saved': True, **fields}


class RunTestCase(base.TestCase):
    def test_all_that_rules_did_is_told(self):
        rule = {**RULE, 'changes': [CHANGE], 'error': None}
        self.assertEqual(
            [
                'in run r of today (inspection, failed)',
                'phase preprocess',
                '  nothing',
                'phase main',
                '  a (big)',
                '    /extra/rack: null → "a1"',
                'It failed: too small',
            ],
            list(
                inspection_run.run_lines(
                    {
                        **RUN,
                        'result': 'failed',
                        'error': 'too small',
                        'phases': {
                            'main': phase(rules=[rule]),
                            'preprocess': phase(),
                        },
                    }
                )
            ),
        )

    def test_the_reason_of_a_failure_is_told_once(self):
        lines = list(
            inspection_run.run_lines(
                {
                    **RUN,
                    'result': 'failed',
                    'phases': {},
                    'error': 'Failed to inspect. Reason: hooks failed. '
                    'Reason: too small',
                }
            )
        )
        self.assertEqual('It failed: too small', lines[-1])

    def test_conditions_of_actions_are_told(self):
        rule = {
            **RULE,
            'changes': [],
            'when': [
                {
                    'action': 'fail',
                    'ran': False,
                    'conditions': [
                        {
                            'op': 'gt',
                            'true': 0,
                            'false': 2,
                            'reason': 'values=[1, 5]',
                        }
                    ],
                }
            ],
        }
        self.assertEqual(
            [
                'a (big)',
                '  fail was not carried out',
                '    when gt: 0 times true, 2 times false (values=[1, 5])',
                '  it changed nothing',
            ],
            list(inspection_run.phase_lines(phase(rules=[rule]))),
        )

    def test_why_an_action_did_not_run_is_told(self):
        rule = {
            **RULE,
            'changes': [],
            'when': [
                {
                    'action': 'log',
                    'ran': False,
                    'conditions': [],
                    'reason': 'the loop has no items',
                }
            ],
        }
        self.assertIn(
            '  log was not carried out: the loop has no items',
            list(inspection_run.phase_lines(phase(rules=[rule]))),
        )


class ChangeTestCase(base.TestCase):
    def assert_told(self, line, **fields):
        self.assertEqual(
            line, inspection_run.change_line({**CHANGE, **fields})
        )

    def test_a_value_is_told_with_the_one_before(self):
        self.assert_told('/extra/rack: null → "a1"')
        self.assert_told('/extra/rack: "a1"', op='add')
        self.assert_told('/extra/rack: 7 removed', op='remove', before=7)

    def test_what_is_not_of_the_node_is_named(self):
        self.assert_told(
            'port 52:54:00:12:34:56/extra/rack: "a1"',
            op='add',
            object='port 52:54:00:12:34:56',
        )
        self.assert_told(
            'trait CUSTOM_A: added',
            op='add',
            object='traits',
            path='/CUSTOM_A',
        )
        self.assert_told(
            'trait CUSTOM_A: removed',
            op='remove',
            object='traits',
            path='/CUSTOM_A',
        )

    def test_what_was_there_already_is_told(self):
        self.assert_told('/extra/rack: "a1", as it was already', before='a1')
        self.assert_told(
            'trait CUSTOM_A: was there already',
            op='add',
            object='traits',
            path='/CUSTOM_A',
            before='CUSTOM_A',
        )
        self.assert_told(
            '/extra/rack: "******" → "******"', before='******', after='******'
        )

    def test_long_values_are_cut(self):
        line = inspection_run.change_line({**CHANGE, 'after': 'x' * 1000})
        self.assertTrue(line.endswith('…'))
        self.assertLess(len(line), 100)


class PhaseTestCase(base.TestCase):
    def lines(self, **fields):
        return list(inspection_run.phase_lines(phase(**fields)))

    def test_rules_are_told_with_their_changes(self):
        self.assertEqual(
            [
                'undone: a sensitive rule, b',
                'a (big)',
                '  because eq: true (values=(1, 1))',
                '  /extra/rack: null → "a1"',
            ],
            self.lines(
                rules=[
                    {
                        **RULE,
                        'changes': [CHANGE],
                        'conditions': ANSWER['conditions'],
                    }
                ],
                reverted=[{'uuid': 'b', 'matched': False, 'withheld': True}],
            ),
        )

    def test_a_match_that_changed_nothing_says_so(self):
        self.assertEqual(
            ['a (big)', '  it changed nothing'],
            self.lines(rules=[{**RULE, 'changes': []}]),
        )
        self.assertEqual(
            ['a (big)', '  /extra/rack: "a1", as it was already'],
            self.lines(
                rules=[
                    {
                        **RULE,
                        'changes': [],
                        'confirmed': [{**CHANGE, 'before': 'a1'}],
                    }
                ]
            ),
        )

    def test_an_audit_rule_would_do_so(self):
        self.assertEqual(
            [
                'audit: a (big)',
                '  /extra/rack: null → "a1"',
                '  would fail: too small',
            ],
            self.lines(
                audit=[{**RULE, 'changes': [CHANGE], 'error': 'too small'}]
            ),
        )

    def test_it_says_what_is_missing(self):
        self.assertEqual(
            ['3 more changes', 'Nothing of this was saved.'],
            self.lines(left_out=3, saved=False),
        )

    def test_of_nothing_it_says_nothing(self):
        self.assertEqual([], self.lines())


class AnswerTestCase(base.TestCase):
    def lines(self, **fields):
        return list(inspection_run.answer_lines({**ANSWER, **fields}))

    def test_it_says_who_when_and_why(self):
        self.assertEqual(
            [
                '/extra/rack: null → "a1"',
                'by rule a (big), as of revision 3, phase main, action '
                'set-attribute',
                'in run r of today (inspection, ok)',
                'because eq: true (values=(1, 1))',
            ],
            self.lines(),
        )

    def test_a_built_in_rule_is_of_no_revision(self):
        self.assertEqual(
            'by rule a (big), phase main, action set-attribute',
            self.lines(revision=None)[1],
        )

    def test_a_rule_without_conditions_has_no_reason(self):
        self.assertEqual(
            'because the rule has no conditions', self.lines(conditions=[])[-1]
        )

    def test_a_value_that_was_changed_since_is_said_to_be(self):
        self.assertIn(
            'Now it is "b7": something else has changed it since',
            self.lines(current=False, current_value='b7')[-1],
        )
        self.assertEqual(self.lines(), self.lines(current=None))

    def test_of_a_sensitive_rule_only_its_uuid_is_told(self):
        self.assertEqual(
            ['set by the sensitive rule s; what it does is withheld'],
            list(
                inspection_run.answer_lines(
                    {'rule': {'uuid': 's'}, 'withheld': True}
                )
            ),
        )

    def test_sensitive_rules_that_ran_later_are_named(self):
        self.assertIn(
            'not told: x, y', self.lines(sensitive_rules=['x', 'y'])[-1]
        )
        # They may be what has changed it.
        self.assertEqual(
            'Now it is "b7".',
            self.lines(
                current=False, current_value='b7', sensitive_rules=['x']
            )[-2],
        )


class RuleTestCase(base.TestCase):
    def lines(self, **fields):
        return list(
            inspection_run.rule_lines(
                {
                    'rule': RULE,
                    'run': RUN,
                    'mode': 'enforce',
                    'matched': False,
                    'conditions': [
                        {
                            'op': 'eq',
                            'result': False,
                            'reason': 'values=[1, 2]',
                        }
                    ],
                    'changes': [],
                    'error': None,
                    'decided_again': True,
                    'reason': None,
                    **fields,
                }
            )
        )

    def test_why_it_did_not_match_is_told(self):
        self.assertEqual(
            [
                'rule a (big) did not match',
                'in run r of today (inspection, ok)',
                'Evaluated again, on the data of that run and the node as it '
                'is now:',
                'because eq: false (values=[1, 2])',
            ],
            self.lines(),
        )

    def test_so_is_what_it_did(self):
        self.assertEqual(
            [
                'rule a (big) matched',
                'in run r of today (inspection, ok)',
                'because eq: undecided',
                '/extra/rack: null → "a1"',
            ],
            self.lines(
                matched=True,
                decided_again=False,
                changes=[CHANGE],
                conditions=[{'op': 'eq', 'result': None, 'reason': None}],
            ),
        )

    def test_a_match_that_changed_nothing_says_so(self):
        self.assertEqual(
            'it changed nothing',
            self.lines(matched=True, decided_again=False)[-1],
        )

    def test_the_error_of_the_inspection_is_told(self):
        run = {**RUN, 'result': 'failed', 'error': 'rule a (big), fail: no'}
        self.assertEqual(
            [
                'it changed nothing',
                'The inspection failed: rule a (big), fail: no',
            ],
            self.lines(matched=True, decided_again=False, run=run)[-2:],
        )

    def test_what_kept_it_from_running_comes_last(self):
        self.assertEqual(
            [
                'Its mode is "audit": nothing of this was carried out.',
                'would fail: too small',
                'Why is not known.',
            ],
            self.lines(
                mode='audit', error='too small', reason='Why is not known.'
            )[-3:],
        )
