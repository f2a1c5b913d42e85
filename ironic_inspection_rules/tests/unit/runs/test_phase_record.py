# SPDX-License-Identifier: Apache-2.0

"""What is kept of a phase, and what is not."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_rule
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.runs import shortening
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import phase

LONG = 'x' * 5000


class RecordTestCase(base.TestCase):
    def record(self, *changes, reason=None, error=None, **fields):
        """Make the record of one rule that matched."""
        rule = validation.parse(
            {
                'uuid': '11111111-1111-4111-8111-111111111111',
                'actions': [{'op': 'log', 'args': ['x']}],
                **fields,
            },
            registry.installed(),
        )
        rule_trace = trace.RuleTrace(
            rule,
            True,
            (reasons.ConditionResult('eq', True, reason),),
            (trace.ActionTrace('set-attribute', changes),),
            error,
        )
        outcome = runner.PhaseOutcome((rule_trace,))
        if fields.get('mode') == 'audit':
            outcome = runner.PhaseOutcome((), audited=(rule_trace,))
        return phase_record.build(outcome, 1)

    def test_secrets_are_hidden_that_rules_may_see(self):
        made = self.record(
            engine_change.Change(
                'node', 'replace', '/driver_info/a_password', 'new', 'old'
            ),
            engine_change.Change(
                'node',
                'replace',
                '/driver_info',
                {'a_password': 'new', 'a': 1},
                {'a_password': 'old'},
            ),
        )
        password, mapping = made['rules'][0]['changes']
        self.assertEqual(
            [masking.MASK] * 2, [password['before'], password['after']]
        )
        self.assertEqual({'a_password': masking.MASK}, mapping['before'])
        self.assertEqual(
            {'a_password': masking.MASK, 'a': 1}, mapping['after']
        )

    def test_what_is_too_much_is_left_out(self):
        self.patch(phase_record, 'LONGEST_RECORD', 26)
        made = self.record(
            *[
                engine_change.Change('node', 'add', f'/extra/{name}', 'x' * 8)
                for name in 'abcd'
            ]
        )
        self.assertEqual(
            ['/extra/a', '/extra/b'],
            [change['path'] for change in made['rules'][0]['changes']],
        )
        self.assertEqual(2, made['left_out'])

    def test_paths_take_room_and_none_is_cut(self):
        self.patch(phase_record, 'LONGEST_RECORD', 100)
        changes = [
            engine_change.Change('node', 'remove', path)
            for path in ('/' + 'x' * 60, '/' + 'y' * 60, '/' + 'z' * 30)
        ]
        made = self.record(*changes)
        self.assertEqual(
            [changes[0].path, changes[2].path],
            [change['path'] for change in made['rules'][0]['changes']],
        )
        self.assertEqual(1, made['left_out'])

    @staticmethod
    def run_actions(*actions, **fields):
        """Run a rule after another one."""
        outcome, _roots = phase.run(
            {},
            {
                'actions': [{'op': op, 'args': args} for op, args in actions],
                **fields,
            },
            keep=True,
            plugin_data={'l': ['a', 'b', 'c'], 'm': {'-': 1}},
        )
        return outcome

    def written(self, *actions):
        """Make the record of a rule that runs after another one."""
        return phase_record.build(self.run_actions(*actions), 0)['rules'][1]

    def test_items_of_lists_are_told_by_their_index(self):
        made = self.written(
            ('extend-plugin-data', ['/l', 'd']),
            ('set-plugin-data', ['/new/-/size', 1]),
            ('unset-plugin-data', ['/l/1']),
            ('unset-plugin-data', ['/new']),
        )
        self.assertEqual(
            [
                ('/l/-', '/l/3', None),
                ('/new/-/size', '/new/0/size', None),
                ('/l/1', None, 3),
                ('/new', None, None),
            ],
            [
                (each['path'], each.get('at'), each.get('left'))
                for each in made['changes']
            ],
        )

    def test_what_was_there_already_is_told_with_what_was_before_it(self):
        same = ('set-plugin-data', ['/l/0', 'a'])
        gone = ('unset-plugin-data', ['/l/2'])
        made = self.written(same, gone, same)
        self.assertEqual(
            [0, 1], [each['earlier'] for each in made['confirmed']]
        )
        made = self.written(same, ('set-plugin-data', ['/x', 1]))
        self.assertNotIn('earlier', made['confirmed'][0])
        # The first one is of the rule before it.
        self.patch(phase_record, 'MOST_CHANGES', 2)
        made = self.written(gone, gone, ('unset-plugin-data', ['/l/1']), same)
        self.assertEqual([1], [each['earlier'] for each in made['confirmed']])

    def test_ports_are_told_by_their_uuid_too(self):
        made = self.written(('set-port-attribute', ['p', '/extra/a', 1]))
        self.assertEqual(
            [(f'port {phase.MAC}', 'p')],
            [(each['object'], each['port']) for each in made['changes']],
        )

    def test_of_a_sensitive_rule_places_are_exact(self):
        outcome = self.run_actions(
            ('extend-plugin-data', ['/l', 'd']),
            ('unset-plugin-data', ['/l/1']),
            ('unset-plugin-data', ['/m']),
            ('set-port-attribute', ['p', '/extra/a', 1]),
            sensitive=True,
        )
        made = phase_record.build(outcome, 0)['rules'][1]
        self.assertEqual(
            {'uuid': made['uuid'], 'matched': True, 'withheld': True}, made
        )
        # All items behind the one that is removed move.
        self.assertEqual(
            [
                ['plugin_data', '/l/3'],
                ['plugin_data', '/l/-'],
                ['plugin_data', '/m'],
                ['port p', '/extra/a'],
            ],
            recorded_rule.places_of(outcome)[made['uuid']],
        )

    def test_it_tells_whether_changes_were_saved(self):
        self.assertIs(True, self.record()['saved'])
        run = recorder.RunRecorder(recorder.INSPECTION)
        outcome = runner.PhaseOutcome(())
        run.phases['main'] = phase_record.build(outcome, 1)
        self.assertIs(True, run.phases['main']['saved'])
        error = exceptions.RuleError('a', 'a', 'set-attribute', None)
        run.note_error('main', error, raised_by_saving=False)
        self.assertIs(True, run.phases['main']['saved'])
        run.note_error('main', error, raised_by_saving=True)
        self.assertIs(False, run.phases['main']['saved'])

    def test_no_more_changes_than_so_many(self):
        self.patch(phase_record, 'MOST_CHANGES', 1)
        change = engine_change.Change('node', 'add', '/extra/a', 1)
        self.assertEqual(2, self.record(change, change, change)['left_out'])

    def test_ten_thousand_changes_are_kept(self):
        change = engine_change.Change('node', 'add', '/extra/a', 1)
        self.assertNotIn('left_out', self.record(*[change] * 10_000))
        self.assertEqual(1, self.record(*[change] * 10_001)['left_out'])

    def test_what_was_not_there_takes_no_room(self):
        self.patch(phase_record, 'LONGEST_RECORD', 26)
        made = self.record(
            *[
                engine_change.Change('node', op, '/extra/a', value, before)
                for op, value, before in (
                    ('add', 'x' * 9, None),
                    ('remove', None, 'x' * 9),
                    ('add', 'x', None),
                )
            ]
        )
        self.assertEqual(
            [(None, 'x' * 9), ('x' * 9, None)],
            [
                (change['before'], change['after'])
                for change in made['rules'][0]['changes']
            ],
        )
        self.assertEqual(1, made['left_out'])

    def test_it_tells_of_an_audit_whether_it_matched(self):
        (audited,) = self.record(mode='audit')['audit']
        self.assertIs(True, audited['matched'])
        self.assertTrue(phase_record.was_matched('audit', audited))
        self.assertFalse(
            phase_record.was_matched('audit', {**audited, 'matched': False})
        )

    def test_reasons_and_errors_are_cut(self):
        (condition,) = self.record(reason=LONG)['rules'][0]['conditions']
        (audited,) = self.record(error=LONG, mode='audit')['audit']
        for text in (condition['reason'], audited['error']):
            self.assertEqual(shortening.shorten_text(LONG), text)
            self.assertLess(len(text), len(LONG), repr(text))
