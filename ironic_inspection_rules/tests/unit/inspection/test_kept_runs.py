# SPDX-License-Identifier: Apache-2.0

"""What is kept of an inspection: runs, and numbers of each rule."""

import json

import fixtures
from ironic.common import context
from ironic.common import exception as ironic_exception

from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.objects import early_phase
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.tests.unit.inspection import base

RULE = '41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21'
UNDECIDABLE = {'op': 'one-of', 'args': [1, '{inventory[memory]}']}
NEVER = {'op': 'eq', 'args': [1, 2]}


class KeepingTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.plugin_data = {}
        self.inventory = {'memory': 16384}

    def inspect(self, *stored, then=None, **options):
        """Inspect the node by these rules, as a conductor would.

        :param then: what goes wrong afterwards.
        """
        rules = base.Hook(base.rules(*stored, **options))
        with inspection.of_task(self.task, self.inventory, self.plugin_data):
            rules.preprocess(self.task, self.inventory, self.plugin_data)
            rules.apply(self.task, self.inventory, self.plugin_data, 'main')
            if then:
                raise then

    def keep_early_phase(self, kept):
        """Store what early rules did, as the API would."""
        early_phase.EarlyPhase.put(
            self.task.context, self.task.node.uuid, kept
        )

    def failed(self, *stored, **options):
        return str(
            self.assertRaises(
                (ironic_exception.IronicException, ValueError),
                self.inspect,
                *stored,
                **options,
            )
        )

    def main(self):
        """What the rules of the main phase did in the only run."""
        (run,) = self.runs()
        return run.phases['main']

    def changes(self, rule):
        return [
            (
                change['object'],
                change['op'],
                change['path'],
                change['before'],
                change['after'],
            )
            for change in rule['changes']
        ]


class RunTestCase(KeepingTestCase):
    def test_a_run_says_what_each_rule_changed_and_why(self):
        self.task.node.extra = {'size': 1, 'old': [1]}
        self.task.node.save()
        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/size', '{inventory[memory]}']),
                ('del-attribute', ['/extra/old']),
                ('set-port-attribute', [base.MAC, '/extra/seen', True]),
                ('add-trait', ['CUSTOM_GOLD']),
                ('set-plugin-data', ['/a/b', [1]]),
                conditions=[{'op': 'gt', 'args': ['{inventory[memory]}', 5]}],
                uuid=RULE,
                description='size',
                revision=7,
            )
        )

        (run,) = self.runs()
        self.assertEqual(
            ('inspection', 'agent', 'ok', None, 1),
            (
                run.event,
                run.inspect_interface,
                run.result,
                run.error,
                run.revision,
            ),
        )
        self.assertIsNone(db_run.get_data(self.task.node.uuid))
        (rule,) = run.phases['main']['rules']
        self.assertEqual(
            (RULE, 'size', 7),
            (rule['uuid'], rule['description'], rule['revision']),
        )
        self.assertEqual(
            [
                ('node', 'replace', '/extra/size', 1, 16384),
                ('node', 'remove', '/extra/old', [1], None),
                (f'port {base.MAC}', 'add', '/extra/seen', None, True),
                ('traits', 'add', '/CUSTOM_GOLD', None, 'CUSTOM_GOLD'),
                ('plugin_data', 'add', '/a/b', None, [1]),
            ],
            self.changes(rule),
        )
        (condition,) = rule['conditions']
        self.assertEqual(('gt', True), (condition['op'], condition['result']))
        self.assertIn('16384', condition['reason'])

    def test_a_run_says_why_actions_with_conditions_were_left_out(self):
        big = {'op': 'gt', 'args': ['{item}', 5]}
        self.inspect(
            base.rule(
                {
                    'op': 'set-plugin-data',
                    'args': ['/a', '{item}'],
                    'loop': [1, 7],
                    'when': [big],
                },
                {'op': 'log', 'args': ['no'], 'when': [NEVER]},
                ('log', ['x']),
            )
        )

        (rule,) = self.main()['rules']
        self.assertEqual(
            [
                {
                    'action': 'set-plugin-data',
                    'ran': True,
                    'conditions': [
                        {
                            'op': 'gt',
                            'true': 1,
                            'false': 1,
                            'reason': 'values=[1, 5]',
                        }
                    ],
                },
                {
                    'action': 'log',
                    'ran': False,
                    'conditions': [
                        {
                            'op': 'eq',
                            'true': 0,
                            'false': 1,
                            'reason': 'values=[1, 2]',
                        }
                    ],
                    'reason': 'its conditions do not hold',
                },
            ],
            rule['when'],
        )
        self.assertEqual(['set-plugin-data', 'log'], rule['actions'])

    def test_a_run_says_of_an_action_that_its_loop_was_empty(self):
        self.inspect(
            base.rule(
                {
                    'op': 'set-plugin-data',
                    'args': ['/a', '{item}'],
                    'loop': [],
                },
                ('log', ['x']),
            )
        )

        (rule,) = self.main()['rules']
        self.assertEqual(['log'], rule['actions'])
        self.assertEqual(
            [
                {
                    'action': 'set-plugin-data',
                    'ran': False,
                    'conditions': [],
                    'reason': 'the loop has no items',
                }
            ],
            rule['when'],
        )

    def test_rules_that_do_not_match_are_left_out(self):
        self.inspect(base.rule(('log', ['no']), conditions=[NEVER]))

        self.assertEqual([], self.main()['rules'])

    def test_without_rules_the_run_is_kept_too(self):
        self.inspect()

        (run,) = self.runs()
        self.assertEqual(('ok', {}), (run.result, run.phases))

    def test_a_run_that_a_rule_failed_is_kept_with_its_data(self):
        self.plugin_data.update(posted=1, logs='long')
        self.failed(
            base.rule(
                ('set-plugin-data', ['/posted', 2]),
                ('set-plugin-data', ['/made', 1]),
                phase='preprocess',
            ),
            base.rule(
                ('set-attribute', ['/extra/before', 1]),
                ('set-plugin-data', ['/posted', 3]),
                ('fail', ['too small']),
            ),
        )

        (run,) = self.runs()
        self.assertEqual('failed', run.result)
        self.assertIn('too small', run.error)
        self.assertTrue(run.phases['main']['saved'])
        data = db_run.get_data(self.task.node.uuid)
        self.assertEqual(
            (self.inventory, {'posted': 1}),
            (data['inventory'], data['plugin_data']),
        )

    def test_changes_that_an_error_undid_are_not_said_to_be_saved(self):
        self.failed(
            base.rule(
                ('set-attribute', ['/extra/before', 1]),
                ('set-attribute', ['/extra/x', '{node.gone}']),
            )
        )

        self.assertFalse(self.main()['saved'])

    def test_nor_are_those_that_ironic_refused(self):
        self.make_task(name='taken', mac='52:54:00:00:00:01')
        self.failed(
            base.rule(('set-attribute', ['/name', 'taken']), uuid=RULE)
        )

        self.assertFalse(self.main()['saved'])
        self.assertEqual(1, self.count()[RULE]['failed'])

    def test_a_run_that_failed_after_the_rules_is_kept(self):
        self.failed(
            base.rule(('set-attribute', ['/extra/a', 1])),
            then=ValueError('broken disk'),
        )

        (run,) = self.runs()
        self.assertEqual(('failed', 'broken disk'), (run.result, run.error))
        self.assertTrue(run.phases['main']['saved'])

    def test_what_is_unsupported_is_no_inspection(self):
        self.failed(
            then=ironic_exception.UnsupportedDriverExtension(
                driver='fake', extension='continue_inspection'
            )
        )

        self.assertEqual([], self.runs())

    def test_rules_applied_outside_of_an_inspection_make_a_run(self):
        rules = base.Hook(
            base.rules(
                base.rule(('set-attribute', ['/extra/a', 1]), uuid=RULE)
            )
        )
        rules.apply(self.task, self.inventory, self.plugin_data, 'main')
        rules.apply(self.task, self.inventory, self.plugin_data, 'preprocess')
        self.assertEqual(
            [
                ('inspection', 'ok', [], []),
                ('inspection', 'ok', ['main'], [RULE]),
            ],
            [
                (
                    run.event,
                    run.result,
                    list(run.phases),
                    [
                        rule['uuid']
                        for record in run.phases.values()
                        for rule in record['rules']
                    ],
                )
                for run in self.runs()
            ],
        )

    def test_so_does_one_that_fails_there(self):
        self.task.node.last_error = 'of an older inspection'
        rules = base.Hook(base.rules(base.rule(('fail', ['no']))))
        self.assertRaises(
            ironic_exception.HardwareInspectionFailure,
            rules.apply,
            self.task,
            self.inventory,
            self.plugin_data,
            'main',
        )
        (run,) = self.runs()
        self.assertEqual('failed', run.result)
        self.assertIn('fail: no', run.error)
        self.assertEqual(
            self.inventory, db_run.get_data(self.task.node.uuid)['inventory']
        )

    def test_a_node_on_which_rules_do_not_run_has_no_runs(self):
        self.task.node.inspect_interface = 'fake'
        self.inspect(base.rule(('set-attribute', ['/extra/a', 1])))
        self.failed(then=ValueError('broken'))

        self.assertEqual([], self.runs())

    def test_a_machine_that_only_begins_to_be_inspected_has_no_run(self):
        with inspection.of_task(self.task):
            pass

        self.assertEqual([], self.runs())

    def test_what_early_rules_did_is_part_of_the_run(self):
        early = {
            'rules': [{'uuid': RULE}],
            'reverted': [],
            'audit': [],
            'saved': True,
            'seconds': 0.1,
        }
        self.keep_early_phase({'record': early, 'places': {}, 'found': None})
        self.inspect()

        (run,) = self.runs()
        self.assertEqual({'early': early}, run.phases)
        self.assertEqual({}, self.plugin_data)

    def test_what_early_rules_did_is_taken_up_once(self):
        self.keep_early_phase(
            {'record': {'rules': []}, 'places': {}, 'found': None}
        )
        self.inspect()
        self.inspect()

        second, first = self.runs()
        self.assertEqual(['early'], [*first.phases])
        self.assertEqual({}, second.phases)

    def test_early_rules_of_another_request_are_left_alone(self):
        self.keep_early_phase(
            {'record': {'rules': []}, 'places': {}, 'found': None}
        )
        self.task.context = context.get_admin_context()
        self.inspect()

        (run,) = self.runs()
        self.assertEqual({}, run.phases)

    def test_inspection_goes_on_without_what_early_rules_did(self):
        with self.database.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE ir_early_phases')
        self.inspect(base.rule(('set-attribute', ['/extra/a', 1])))

        self.assertEqual({'a': 1}, self.stored_node().extra)

    def test_inspection_goes_on_without_its_table(self):
        with self.database.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE ir_runs')
        self.inspect(base.rule(('set-attribute', ['/extra/a', 1])))

        self.assertEqual({'a': 1}, self.stored_node().extra)

    def test_what_an_inspection_found_is_kept_with_what_rules_did(self):
        self.config(group='inspection_rules', keep_history=30)
        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/size', 'big']),
                ('set-plugin-data', ['/found', 'later']),
            )
        )
        (row,) = db_history.list_inventories(self.task.node.uuid)
        found = history.read(
            db_history.get_inventory(self.task.node.uuid, row.uuid)
        )
        (run,) = db_run.list_runs(self.task.node.uuid)

        self.assertEqual(
            (run.uuid, run.revision, 'ok', None),
            (row.uuid, found['revision'], found['result'], found['error']),
        )
        self.assertEqual({'main', 'preprocess'}, set(found['facts']))
        self.assertEqual(
            self.task.node.uuid, found['facts']['main']['node']['uuid']
        )
        self.assertNotIn('size', found['facts']['main']['node']['extra'])
        self.assertNotIn('found', found['plugin_data'])
        self.assertEqual(
            ['/extra/size', '/found'],
            [
                change['path']
                for change in found['phases']['main']['rules'][0]['changes']
            ],
        )

    def test_no_secret_is_kept_of_it(self):
        self.config(group='inspection_rules', keep_history=30)
        self.task.node.driver_info = {'ipmi_password': 's3cret-node'}
        self.task.node.save()
        self.inventory['bmc_password'] = 's3cret-machine'
        self.plugin_data['logs'] = 's3cret-logs'
        self.inspect(base.rule(('set-attribute', ['/extra/size', 1])))
        (row,) = db_history.list_inventories(self.task.node.uuid)
        kept = json.dumps(
            history.read(
                db_history.get_inventory(self.task.node.uuid, row.uuid)
            )
        )

        self.assertIn('ipmi_password', kept)
        self.assertNotIn('s3cret', kept)

    def test_without_the_option_nothing_is_kept_of_it(self):
        self.inspect()
        self.assertEqual([], db_history.list_inventories(self.task.node.uuid))

    def test_as_many_runs_are_kept_as_the_option_says(self):
        self.config(group='inspection_rules', keep_runs=2)
        for _each in range(3):
            self.inspect()
        self.assertEqual(2, len(self.runs()))

        self.config(group='inspection_rules', keep_runs=0)
        self.inspect()
        self.assertEqual([], self.runs())


class SecretTestCase(KeepingTestCase):
    """The canary: what must not sing in the runs that people see."""

    CANARY = 'c4n4ry'

    def assert_silent(self):
        with self.database.engine.connect() as connection:
            (row,) = connection.exec_driver_sql('SELECT * FROM ir_runs').all()
        # Nobody is shown the places.
        seen = {**row._mapping, 'places': None}
        self.assertNotIn(self.CANARY, str(seen).lower())

    def test_secrets_are_masked_whatever_the_option_says(self):
        rules = [
            base.rule(
                ('set-attribute', ['/driver_info/ipmi_password', self.CANARY]),
                ('set-attribute', ['/extra', {'secret_key': self.CANARY}]),
                (
                    'set-port-attribute',
                    [base.MAC, '/extra/password', self.CANARY],
                ),
                conditions=[
                    {
                        'op': 'ne',
                        'args': ['{node.driver_info[ipmi_password]}', 'x'],
                    }
                ],
            ),
            base.rule(('fail', ['stop'])),
        ]
        for option in ('always', 'sensitive', 'never'):
            self.task.node.driver_info = {'ipmi_password': self.CANARY + 'old'}
            self.task.node.save()
            self.plugin_data = {'bmc_password': 'x'}
            self.config(group='inspection_rules', keep_runs=1)
            self.failed(*rules, mask_secrets=option)
            self.assert_silent()

    def test_secrets_that_the_machine_sent_are_masked(self):
        self.plugin_data = {'bmc_password': self.CANARY}
        self.inventory = {'bmc': {'password': self.CANARY}}
        self.failed(base.rule(('fail', ['stop'])))

        self.assert_silent()

    def test_of_a_sensitive_rule_the_run_has_the_uuid_only(self):
        self.task.node.driver_info = {'ipmi_password': self.CANARY}
        self.failed(
            base.rule(
                ('set-attribute', ['/extra/key', self.CANARY]),
                (
                    'set-plugin-data',
                    ['/key', '{node.driver_info[ipmi_password]}'],
                ),
                ('add-trait', ['CUSTOM_C4N4RY']),
                description=self.CANARY,
                sensitive=True,
                priority=3,
                conditions=[{'op': 'ne', 'args': [self.CANARY, 'x']}],
                uuid=RULE,
            ),
            base.rule(('fail', [self.CANARY]), sensitive=True),
            mask_secrets='sensitive',
        )

        self.assert_silent()
        self.assertEqual(
            {'uuid': RULE, 'matched': True, 'withheld': True},
            self.main()['rules'][0],
        )
        (run,) = db_run.list_runs(self.task.node.uuid, whole=True)
        self.assertEqual(
            [
                ['node', '/extra/key'],
                ['plugin_data', '/key'],
                ['traits', '/CUSTOM_C4N4RY'],
            ],
            run.places['main'][RULE],
        )

    def test_what_a_sensitive_rule_set_is_told_by_who_reads_it(self):
        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/key', 'seen']),
                phase='preprocess',
                sensitive=True,
            ),
            base.rule(('set-attribute', ['/extra/copy', '{node.extra.key}'])),
        )
        (change,) = self.main()['rules'][0]['changes']
        self.assertEqual('seen', change['after'])

    def test_the_places_of_the_early_phase_are_kept(self):
        self.keep_early_phase(
            {
                'record': {
                    'rules': [
                        {'uuid': RULE, 'matched': True, 'withheld': True}
                    ],
                    'reverted': [],
                    'audit': [],
                    'saved': True,
                    'seconds': 0.0,
                },
                'places': {RULE: [['plugin_data', '/k']]},
                'found': None,
            }
        )
        self.inspect(base.rule(('set-plugin-data', ['/key', 'x'])))

        (run,) = db_run.list_runs(self.task.node.uuid, whole=True)
        self.assertEqual({'early', 'main'}, set(run.phases))
        self.assertEqual(
            {'early': {RULE: [['plugin_data', '/k']]}}, run.places
        )


class AuditTestCase(KeepingTestCase):
    def audited(self):
        return self.main()['audit']

    def test_what_an_audit_rule_would_do_is_kept_and_not_done(self):
        self.inspect(
            base.rule(('set-attribute', ['/extra/a', 1]), priority=9),
            base.rule(
                ('set-attribute', ['/extra/a', 2]),
                ('set-attribute', ['/extra/audited', True]),
                mode='audit',
                priority=5,
                uuid=RULE,
            ),
            base.rule(('set-attribute', ['/extra/seen', '{node.extra[a]}'])),
        )

        self.assertEqual({'a': 1, 'seen': 1}, self.stored_node().extra)
        (rule,) = self.audited()
        self.assertEqual(
            [
                ('node', 'replace', '/extra/a', 1, 2),
                ('node', 'add', '/extra/audited', None, True),
            ],
            self.changes(rule),
        )
        self.assertNotIn(RULE, [rule['uuid'] for rule in self.main()['rules']])
        self.assertNotIn(RULE, json.dumps(self.plugin_data))
        counted = self.count()[RULE]
        self.assertEqual(
            (1, 1, 1, 0),
            tuple(
                counted[name]
                for name in ('runs', 'matched', 'audited', 'failed')
            ),
        )

    def test_what_it_would_fail_is_kept_and_does_not_fail(self):
        self.inspect(
            base.rule(
                ('fail', {'msg': 'too small', 'maintenance': True}),
                mode='audit',
                uuid=RULE,
            ),
            base.rule(('set-attribute', ['/extra/a', 1])),
        )

        self.assertEqual(
            ({'a': 1}, False),
            (self.stored_node().extra, self.stored_node().maintenance),
        )
        (rule,) = self.audited()
        self.assertIn('too small', rule['error'])
        self.assertEqual(1, self.count()[RULE]['failed'])

    def test_an_error_of_its_own_does_not_fail_either(self):
        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/a', '{node.gone}']), mode='audit'
            ),
            base.rule(('log', ['no']), mode='audit', conditions=[UNDECIDABLE]),
        )

        self.assertEqual(['ok'], [run.result for run in self.runs()])
        self.assertEqual(2, len(self.audited()))
        for rule in self.audited():
            self.assertTrue(rule['error'])

    def test_it_calls_nobody_and_logs_nothing(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.side_effects.'
                'ServiceEffects.call',
                lambda *args: self.fail('called'),
            )
        )
        log = self.useFixture(fixtures.FakeLogger())
        self.inspect(
            base.rule(
                ('api-call', ['http://127.0.0.1:1/']),
                ('log', ['sing']),
                mode='audit',
            )
        )

        self.assertNotIn('sing', log.output)
        self.assertEqual(['api-call', 'log'], self.audited()[0]['actions'])

    def test_it_undoes_nothing(self):
        self.task.node.extra = {'a': 1}
        self.task.node.save()
        rule = base.rule(conditions=[NEVER], mode='audit')
        rule['actions'] = [
            {'op': 'set-attribute', 'args': ['/extra/a', 1], 'revert': True}
        ]
        self.inspect(rule)

        self.assertEqual({'a': 1}, self.stored_node().extra)
        (kept,) = self.audited()
        self.assertEqual('remove', kept['changes'][0]['op'])

    def test_in_every_phase(self):
        self.inspect(
            base.rule(
                ('set-plugin-data', ['/a', 1]),
                mode='audit',
                phase='preprocess',
            )
        )

        (run,) = self.runs()
        self.assertEqual(1, len(run.phases['preprocess']['audit']))
        self.assertNotIn('a', self.plugin_data)

    def test_of_a_sensitive_one_uuid_and_result_are_kept(self):
        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/a', 'c4n4ry']),
                mode='audit',
                sensitive=True,
                uuid=RULE,
            )
        )

        self.assertEqual(
            [{'uuid': RULE, 'matched': True, 'withheld': True}], self.audited()
        )

    def test_a_rule_that_is_off_does_nothing_at_all(self):
        self.inspect(base.rule(('fail', ['no']), mode='off', uuid=RULE))

        self.assertEqual({}, self.runs()[0].phases)
        self.assertNotIn(RULE, self.count())


class StatisticsTestCase(KeepingTestCase):
    def test_each_rule_is_counted(self):
        other = RULE.replace('4', '5')
        for _each in range(2):
            self.inspect(
                base.rule(('log', ['x']), uuid=RULE),
                base.rule(('log', ['x']), uuid=other, conditions=[NEVER]),
            )

        counted = self.count()
        self.assertEqual(
            (2, 2, 0),
            tuple(
                counted[RULE][name] for name in ('runs', 'matched', 'failed')
            ),
        )
        self.assertEqual(
            (2, 0, None),
            tuple(
                counted[other][name]
                for name in ('runs', 'matched', 'last_matched_at')
            ),
        )
        self.assertEqual(
            self.task.node.uuid, counted[RULE]['last_matched_node']
        )
        self.assertGreater(counted[RULE]['seconds'], 0)

    def test_a_rule_that_fails_inspection_is_counted_so(self):
        self.failed(base.rule(('fail', ['no']), uuid=RULE))

        self.assertEqual(
            (1, 1, 1),
            tuple(
                self.count()[RULE][name]
                for name in ('runs', 'matched', 'failed')
            ),
        )

    def test_a_rule_whose_condition_cannot_be_decided_too(self):
        self.failed(
            base.rule(('log', ['x']), uuid=RULE, conditions=[UNDECIDABLE])
        )

        self.assertEqual(
            (1, 0, 1),
            tuple(
                self.count()[RULE][name]
                for name in ('runs', 'matched', 'failed')
            ),
        )
