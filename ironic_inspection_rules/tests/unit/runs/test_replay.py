# SPDX-License-Identifier: Apache-2.0

"""Kept inspections are replayed, and compared with what they were."""

import copy
import json

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import replay
from ironic_inspection_rules.tests.unit import base

A, B, C = (f'{letter * 8}-1111-4111-8111-111111111111' for letter in 'abc')
PORT = {'uuid': 'p', 'address': '52:54:00:00:00:01', 'extra': {}}


def rule(uuid, path, value, phase='main', equal=(1, 1), **fields):
    return {
        'uuid': uuid,
        'phase': phase,
        'conditions': [{'op': 'eq', 'args': {'values': list(equal)}}],
        'actions': [
            {'op': 'set-attribute', 'args': {'path': path, 'value': value}}
        ],
        **fields,
    }


def failing(uuid=C, phase='main', message='no', **fields):
    return {
        'uuid': uuid,
        'phase': phase,
        **fields,
        'actions': [{'op': 'fail', 'args': {'msg': message}}],
    }


class ReplayTestCase(base.TestCase):
    def plans(self, *rules):
        ops = registry.installed()
        plans = {phase: [] for phase in model.PHASES}
        for each in rules:
            parsed = validation.parse(each, ops)
            plans[parsed.phase].append(compiler.compile_rule(parsed, ops))
        return plans

    def keep(self, *rules, **changed):
        """Run rules, and return the document of that inspection."""
        facts = working_copy.Facts(
            {'cpu': {'count': 4}},
            {'disks': [1]},
            {'extra': {'old': 1}, 'traits': ['CUSTOM_A']},
            (PORT,),
        )
        document = {
            'inventory': facts.inventory,
            'plugin_data': facts.plugin_data,
            'event': 'inspection',
            'revision': 3,
            'result': 'ok',
            'error': None,
            'options': '{"mask_secrets": "always"}',
            'phases': {},
            'facts': {},
        }
        plans = self.plans(*rules)
        for phase in ('preprocess', 'main'):
            target = working_copy.WorkingCopy(facts)
            outcome = runner.run(plans[phase], target, facts.scope, keep=True)
            error = outcome.error
            document['phases'][phase] = phase_record.build(outcome, 0.5)
            document['facts'][phase] = {
                'node': facts.node,
                'ports': list(facts.ports),
                'port_groups': [],
                'inventory': [],
                'plugin_data': [],
                'error': error
                and {
                    'text': str(error),
                    'op': error.op,
                    'saving': False,
                    'limit': isinstance(
                        error.__cause__, exceptions.BudgetExceeded
                    ),
                },
            }
            if error:
                document.update(result='failed', error=str(error))
                break
            facts = evaluation.facts_after_phase(facts, target, outcome, phase)
        return json.loads(json.dumps({**document, **changed}))

    def kept_inspection(self, document, previous=None):
        return replay.KeptInspection(copy.deepcopy(document), lambda: previous)

    def again(self, document, *rules):
        return self.kept_inspection(document).repeat(
            self.plans(*rules), budget.BY_PHASE
        )

    def otherwise(self, before, after):
        kept_inspection = self.kept_inspection(self.keep(*before))
        base_ends, told = kept_inspection.repeat(
            self.plans(*before), budget.BY_PHASE
        )
        self.assertIsNone(told)
        return replay.compare(
            kept_inspection, base_ends, self.plans(*after), budget.BY_PHASE
        )

    def test_the_same_rules_do_the_same(self):
        for rules in (
            (),
            (rule(A, '/extra/a', 1),),
            (
                rule(A, '/extra/a', 1, 'preprocess'),
                rule(B, '/extra/b', '{node.extra.a}'),
            ),
            (rule(A, '/extra/a', 1, mode='audit'),),
            (rule(A, '/extra/a', 1, sensitive=True),),
            (failing(),),
            (failing(phase='preprocess'),),
        ):
            ends, deviation = self.again(self.keep(*rules), *rules)
            self.assertIsNone(deviation, repr(rules))
            has_failed = (
                rules
                and rules[0].get('phase') == 'preprocess'
                and rules[0]['uuid'] == C
            )
            phases = ['preprocess', 'main']
            if has_failed:
                phases = ['preprocess']
            self.assertEqual(phases, list(ends))

    def test_what_a_sensitive_rule_of_any_phase_set_is_not_told(self):
        for phase in ('preprocess', 'main'):
            before, after = (
                [
                    rule(A, '/extra/a', value, phase, sensitive=True),
                    rule(B, '/extra/b', 1),
                ]
                for value in ('old', 'new')
            )
            told = self.otherwise(before, after)
            self.assertEqual([], told['changes'])
            self.assertTrue(told['differs'], repr(phase))

    def test_everything_that_a_record_has_is_compared(self):
        rules = (rule(A, '/extra/a', 1), rule(B, '/extra/b', 1, mode='audit'))
        rules[0]['actions'] += [
            {'op': 'log', 'args': ['{item}'], 'loop': []},
            {'op': 'extend-plugin-data', 'args': ['/disks', 2]},
            {'op': 'unset-plugin-data', 'args': ['/disks/0']},
            {'op': 'set-plugin-data', 'args': ['/disks/0', 2]},
            {'op': 'set-port-attribute', 'args': ['p', '/extra/a', 1]},
            {
                'op': 'log',
                'args': ['x'],
                'when': [{'op': 'eq', 'args': [1, 2]}],
            },
        ]
        kept = self.keep(*rules)
        self.assertIsNone(self.again(kept, *rules)[1])

        ran = kept['phases']['main']['rules'][0]
        records = [
            ran,
            kept['phases']['main']['audit'][0],
            *ran['changes'],
            *ran['confirmed'],
            *ran['when'],
        ]
        names = {'actions', 'matched', 'at', 'left', 'port', 'earlier', 'ran'}
        self.assertLessEqual(names, set().union(*records))
        for recorded in records:
            for name in names & recorded.keys():
                before, recorded[name] = recorded[name], 'changed'
                self.assertIsNotNone(self.again(kept, *rules)[1], name)
                recorded[name] = before

    def test_reasons_are_not_compared(self):
        rules = (rule(A, '/extra/a', 1),)
        rules[0]['actions'][0]['when'] = [{'op': 'eq', 'args': [1, 2]}]
        kept = self.keep(*rules)
        ran = kept['phases']['main']['rules'][0]
        asked = ran['when'][0]
        for recorded in (ran['conditions'][0], asked, asked['conditions'][0]):
            recorded['reason'] = 'in other words'

        self.assertIsNone(self.again(kept, *rules)[1])

    def test_what_is_otherwise_is_told(self):
        kept = self.keep(
            rule(A, '/extra/a', 1),
            rule(B, '/extra/b', 1),
            rule(C, '/extra/c', 1, equal=(1, 2)),
        )
        for rules, what in (
            ((rule(B, '/extra/b', 1),), f'rule {A} matched, and does not'),
            (
                (
                    rule(A, '/extra/a', 1),
                    rule(B, '/extra/b', 1),
                    rule(C, '/extra/c', 1),
                ),
                f'rule {C} did not match, and does',
            ),
            (
                (rule(B, '/extra/b', 1), rule(C, '/extra/c', 1)),
                f'rule {A} matched, and does not; '
                f'rule {C} did not match, and does',
            ),
            (
                (rule(A, '/extra/a', 2), rule(B, '/extra/b', 1)),
                'its rules do not do the same',
            ),
        ):
            ends, told = self.again(kept, *rules)
            self.assertEqual(f'phase "main": {what}', told)
            self.assertEqual(['preprocess', 'main'], list(ends))

    def test_another_end_is_told(self):
        _ends, told = self.again(self.keep(), failing())
        self.assertIn(f'rule {C} did not match, and does', told)
        self.assertIn('it ended with "ok", and ends with "', told)
        _ends, told = self.again(self.keep(failing()), failing(message='x'))
        self.assertNotIn('match', told)
        self.assertIn('it ended with "', told)
        self.assertIn('no", and ends with "', told)
        _ends, told = self.again(self.keep(failing()))
        self.assertIn('no", and ends with "ok"', told)

    def test_what_depends_on_more_than_rules_is_not_compared(self):
        kept = self.keep(failing(phase='preprocess'))
        for changed, reason in (
            ({'limit': True}, 'as long as it may'),
            ({'op': 'api-call'}, 'was called then'),
        ):
            document = copy.deepcopy(kept)
            document['facts']['preprocess']['error'].update(changed)
            self.assertIsNone(
                self.again(document, failing(phase='preprocess'))[1],
                (changed, reason),
            )
            error = self.assertRaises(
                replay.Incomparable, self.again, document
            )
            self.assertIn(reason, str(error))

    def test_secrets_that_rules_saw_are_not_known(self):
        kept = self.keep(
            rule(A, '/extra/a', 1), options='{"mask_secrets": "never"}'
        )
        self.assertIn(
            'do not do the same', self.again(kept, rule(A, '/extra/a', 2))[1]
        )
        kept['inventory']['password'] = '******'
        self.assertIsNone(self.again(kept, rule(A, '/extra/a', 1))[1])
        error = self.assertRaises(
            replay.Incomparable, self.again, kept, rule(A, '/extra/a', 2)
        )
        self.assertIn('saw secrets', str(error))

    def test_what_is_not_kept_cannot_be_run_again(self):
        for changed, reason in (
            ({'options': None}, 'what its rules went by'),
            ({'phases': {}}, 'phase "main"'),
        ):
            error = self.assertRaises(
                replay.Incomparable, self.kept_inspection, self.keep(**changed)
            )
            self.assertIn(reason, str(error))

    def test_what_was_stored_before_is_asked_for_once(self):
        document = self.keep()
        plans = self.plans(rule(A, '/extra/a', '{previous.inventory.x}'))
        error = self.assertRaises(
            replay.Incomparable,
            self.kept_inspection(document).facts,
            'main',
            plans,
        )
        self.assertIn('stored before', str(error))
        kept_inspection = self.kept_inspection(
            document, {'inventory': {'x': 5}}
        )
        self.assertIsNone(kept_inspection.facts('main', self.plans()).previous)
        for _each in range(2):
            self.assertEqual(
                {'inventory': {'x': 5}},
                kept_inspection.facts('main', plans).previous,
            )

    def test_what_it_was_is_told(self):
        kept_inspection = self.kept_inspection(
            self.keep(
                rule(A, '/extra/a', 1, 'preprocess'),
                rule(B, '/extra/b', 1),
                rule(C, '/extra/c', 1, equal=(1, 2)),
            )
        )
        self.assertEqual(
            {'result': 'ok', 'error': None, 'matched': [A, B]},
            kept_inspection.ending,
        )
        self.assertEqual(['preprocess', 'main'], kept_inspection.phases)
        self.assertEqual(3, kept_inspection.revision('main'))

    def test_other_rules_leave_a_machine_otherwise(self):
        found = self.otherwise(
            [rule(A, '/extra/a', 1)],
            [rule(B, '/extra/a', 2), rule(C, '/extra/old', 1)],
        )
        self.assertEqual(
            [('node', 'replace', '/extra/a', 2, 1)],
            [
                (
                    each['object'],
                    each['op'],
                    each['path'],
                    each['value'],
                    each['before'],
                )
                for each in found['changes']
            ],
        )
        self.assertEqual(
            ('ok', None, [B, C], True),
            tuple(
                found[name]
                for name in ('result', 'error', 'matched', 'differs')
            ),
        )

    def test_other_words_for_the_same_make_no_difference(self):
        found = self.otherwise(
            [rule(A, '/extra/a', 1)], [rule(B, 'extra.a', 1)]
        )
        self.assertEqual(([], False), (found['changes'], found['differs']))

    def test_the_next_phase_finds_what_other_rules_left(self):
        second = rule(B, '/extra/b', '{node.extra.a}')
        found = self.otherwise(
            [rule(A, '/extra/a', 1, 'preprocess'), second],
            [rule(A, '/extra/a', 2, 'preprocess'), second],
        )
        self.assertEqual(
            {'/extra/a': 2, '/extra/b': 2},
            {each['path']: each['value'] for each in found['changes']},
        )
        gone = self.otherwise(
            [rule(A, '/extra/a', {'x': 1, 'y': 1}, 'preprocess')],
            [rule(A, '/extra/a', {'y': 1}, 'preprocess')],
        )
        self.assertEqual(
            [('remove', '/extra/a/x')],
            [(each['op'], each['path']) for each in gone['changes']],
        )

    def test_traits_of_an_earlier_phase_are_found(self):
        def trait(op, name):
            return {
                'uuid': A,
                'phase': 'preprocess',
                'actions': [{'op': op, 'args': {'name': name}}],
            }

        for before, after, changed in (
            (
                trait('add-trait', 'CUSTOM_B'),
                trait('add-trait', 'CUSTOM_C'),
                {('remove', '/CUSTOM_B'), ('add', '/CUSTOM_C')},
            ),
            (
                trait('add-trait', 'CUSTOM_B'),
                trait('remove-trait', 'CUSTOM_A'),
                {('remove', '/CUSTOM_B'), ('remove', '/CUSTOM_A')},
            ),
            (
                trait('remove-trait', 'CUSTOM_A'),
                trait('add-trait', 'CUSTOM_A'),
                {('add', '/CUSTOM_A')},
            ),
        ):
            found = self.otherwise([before], [after])
            self.assertEqual(
                changed,
                {(each['op'], each['path']) for each in found['changes']},
            )

    def test_traits_of_hooks_and_of_other_rules_are_found_together(self):
        facts, then, now = (
            working_copy.Facts({}, {}, {'traits': traits})
            for traits in (
                ['CUSTOM_A', 'CUSTOM_HOOK'],
                ['CUSTOM_A'],
                ['CUSTOM_B'],
            )
        )

        found = replay._add_other_changes(facts, then, now)

        self.assertEqual(['CUSTOM_HOOK', 'CUSTOM_B'], found.node['traits'])

    def test_an_end_that_comes_or_goes_is_a_difference(self):
        for before, after, result in (
            ([], [failing()], 'failed'),
            ([failing()], [], 'ok'),
            ([failing(phase='preprocess')], [], 'unknown'),
            ([failing()], [failing(message='x')], 'failed'),
        ):
            found = self.otherwise(before, after)
            self.assertEqual(
                (result, True), (found['result'], found['differs'])
            )
            self.assertEqual(result == 'failed', found['error'] is not None)
        found = self.otherwise([failing()], [failing(uuid=A)])
        self.assertFalse(found['differs'])
