# SPDX-License-Identifier: Apache-2.0

"""What is kept of a phase, and what is not."""

from ironic_inspection_rules.engine import journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.runs import limits
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.tests.unit import base

LONG = 'x' * 5000


class RecordTestCase(base.TestCase):

    def record(self, *changes, reason=None, error=None, **fields):
        """Make the record of one rule that matched."""
        rule = validation.parse({
            'uuid': '11111111-1111-4111-8111-111111111111',
            'actions': [{'op': 'log', 'args': ['x']}], **fields},
            registry.installed())
        told = trace.RuleTrace(
            rule, True, (trace.ConditionTrace('eq', True, reason),),
            (trace.ActionTrace('set-attribute', changes),), error)
        audits = fields.get('mode') == 'audit'
        return record.of_phase(runner.Outcome(
            () if audits else (told,), audited=(told,) if audits else ()), 1)

    def test_secrets_are_hidden_that_rules_may_see(self):
        made = self.record(
            journal.Change('node', 'replace', '/driver_info/a_password',
                           'new', 'old'),
            journal.Change('node', 'replace', '/driver_info',
                           {'a_password': 'new', 'a': 1},
                           {'a_password': 'old'}))
        password, mapping = made['rules'][0]['changes']
        self.assertEqual([masking.MASK] * 2,
                         [password['before'], password['after']])
        self.assertEqual({'a_password': masking.MASK}, mapping['before'])
        self.assertEqual({'a_password': masking.MASK, 'a': 1},
                         mapping['after'])

    def test_what_is_too_much_is_left_out(self):
        self.patch(limits, 'LONGEST_RECORD', 10)
        made = self.record(*[
            journal.Change('node', 'add', f'/extra/{name}', 'x' * 8)
            for name in 'abcd'])
        self.assertEqual(['/extra/a', '/extra/b'],
                         [change['path'] for change
                          in made['rules'][0]['changes']])
        self.assertEqual(2, made['left_out'])

    def test_no_more_changes_than_so_many(self):
        self.patch(limits, 'MOST_CHANGES', 1)
        change = journal.Change('node', 'add', '/extra/a', 1)
        self.assertEqual(2, self.record(change, change, change)['left_out'])

    def test_reasons_and_errors_are_cut(self):
        condition, = self.record(reason=LONG)['rules'][0]['conditions']
        audited, = self.record(error=LONG, mode='audit')['audit']
        for text in (condition['reason'], audited['error']):
            self.assertEqual(limits.shorten_text(LONG), text)
            self.assertLess(len(text), len(LONG))
