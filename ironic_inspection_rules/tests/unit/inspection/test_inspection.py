# SPDX-License-Identifier: Apache-2.0

"""An inspection and its phases, on a node in a real database."""

import functools

import fixtures
from ironic.common import exception as ironic_exception
from oslo_db import exception as db_exc
import testtools

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.patches import redfish
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests.unit.inspection import base


class InspectionTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.inspection = inspection.Inspection(
            self.task, recorder.RunRecorder(recorder.INSPECTION)
        )
        setattr(self.task, inspection.ATTRIBUTE, self.inspection)

    def test_no_phase_is_repeated(self):
        self.assertFalse(self.inspection.is_repeatable)
        self.assertEqual({}, self.inspection.checkpoints)

    def test_its_task_has_it(self):
        with inspection.of_task(self.task) as current:
            self.assertIs(self.inspection, current)

    def test_a_task_has_one_of_its_own_while_it_lasts(self):
        task = self.make_task(mac='52:54:00:12:34:57', name='two')
        with inspection.of_task(task) as outer:
            with inspection.of_task(task) as inner:
                self.assertIs(outer, inner)
        with inspection.of_task(task) as current:
            self.assertIsNot(outer, current)

    def test_it_knows_that_it_is_of_redfish(self):
        of_redfish = redfish.RedfishInspection({'found': 1}, {})
        inspection.note_redfish(self.task, of_redfish)
        self.assertIs(of_redfish, self.inspection.of_redfish)

    def test_only_a_run_that_did_something_is_stored(self):
        self.assertIsNone(self.inspection.prepare_run(None))
        self.assertIsNone(self.inspection.prepare_run('failed'))
        self.inspection.begin({'cpu': 1}, {})
        self.assertIsNone(self.inspection.prepare_run(None))
        self.inspection.store('failed')
        (run,) = self.runs()
        self.assertEqual(
            (self.inspection.run.uuid, 'failed'), (run.uuid, run.error)
        )
        self.assertEqual(
            {'cpu': 1}, db_run.get_data(self.task.node.uuid)['inventory']
        )


class RedfishTestCase(base.GlueTestCase):
    def test_what_hooks_find_after_the_last_rules_is_kept(self):
        found = self.task.node.properties
        hook = base.Hook(
            base.rules(
                base.rule(
                    ('set-attribute', ['/extra/a', 1]), phase=model.PREPROCESS
                )
            )
        )
        with inspection.of_task(self.task):
            inspection.note_redfish(
                self.task, redfish.RedfishInspection(found, {})
            )
            found['memory_mb'] = 4096
            hook.preprocess(self.task, {}, {})
            self.task.node.set_property('cpu_arch', 'x86_64')
            hook.apply(self.task, {}, {}, model.MAIN)

        self.assertEqual({'memory_mb': 4096, 'cpu_arch': 'x86_64'}, found)


class PhaseTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.plugin_data = {}

    def inspect(self, *stored, inventory=None, **options):
        runner = base.Hook(base.rules(*stored, **options))
        runner.preprocess(self.task, inventory or {}, self.plugin_data)
        runner.apply(self.task, inventory or {}, self.plugin_data, 'main')

    def failed(self, *stored, **options):
        return str(
            self.assertRaises(
                ironic_exception.HardwareInspectionFailure,
                self.inspect,
                *stored,
                **options,
            )
        )

    def test_what_the_phase_changed_is_saved(self):
        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/memory', '{inventory[memory]}']),
                (
                    'set-port-attribute',
                    [base.MAC.upper(), '/extra/seen', True],
                ),
                ('add-trait', ['CUSTOM_GOLD']),
                ('set-plugin-data', ['/a/b', [1]]),
            ),
            inventory={'memory': 16384},
        )

        node = self.stored_node()
        self.assertEqual({'memory': 16384}, node.extra)
        self.assertEqual(['CUSTOM_GOLD'], node.traits.get_trait_names())
        self.assertEqual({'seen': True}, self.stored_port().extra)
        self.assertEqual({'b': [1]}, self.plugin_data['a'])

    def test_all_phases_use_the_rules_of_the_first(self):
        rules = base.rules(base.rule(('set-attribute', ['/extra/rules', 1])))
        runner = base.Hook(rules)
        with inspection.of_task(self.task) as current:
            runner.preprocess(self.task, {}, {})
            # Another inspection, in another thread, finds other rules.
            rules.snapshot = repository.Snapshot(
                (current.run.revision or 0) + 1
            )
            runner.apply(self.task, {}, {}, 'main')
        self.assertEqual({'rules': 1}, self.stored_node().extra)

    def test_what_rules_found_is_kept_and_not_what_they_left(self):
        self.plugin_data.update({'a': 1, 'b': [2], 'gone': 3, 'logs': 'x'})
        with testtools.ExpectedException(
            ironic_exception.HardwareInspectionFailure
        ):
            with inspection.of_task(self.task, {'cpu': 1}, self.plugin_data):
                self.inspect(
                    base.rule(
                        ('set-plugin-data', ['/b', [4]]),
                        ('set-plugin-data', ['/made', 5]),
                        ('unset-plugin-data', ['/gone']),
                        phase='preprocess',
                    ),
                    base.rule(
                        ('set-plugin-data', ['/b', [6]]),
                        ('set-plugin-data', ['/a', 7]),
                        ('fail', ['no good']),
                    ),
                    inventory={'cpu': 1},
                )

        kept = db_run.get_data(self.task.node.uuid)
        self.assertEqual({'a': 1, 'b': [2], 'gone': 3}, kept['plugin_data'])
        self.assertEqual(
            ([6], 5, 7, 'x'),
            tuple(
                self.plugin_data[name] for name in ('b', 'made', 'a', 'logs')
            ),
        )

    def test_every_phase_has_its_own_limit(self):
        actions = [('set-plugin-data', [f'/{name}', 1]) for name in 'abc']
        narrow = budget.Limits(operations=2)
        for phase in model.PHASES:
            rules = base.rules(
                base.rule(*actions, phase=phase),
                limits={**budget.BY_PHASE, phase: narrow},
            )
            self.useFixture(
                fixtures.MonkeyPatch(
                    'ironic_inspection_rules.inspection.start.rules',
                    lambda rules=rules: rules,
                )
            )
            run = functools.partial(
                inspection.apply_rules, self.task, {}, {}, phase
            )
            failure = ironic_exception.HardwareInspectionFailure
            if phase == model.EARLY:
                run = functools.partial(early_phase.run, self.context, {}, {})
                failure = exceptions.RuleError
            self.assertIn('operations', str(self.assertRaises(failure, run)))

    def test_each_inspection_asks_once_if_rules_have_changed(self):
        asked = []
        rules = base.rules()
        rules.refresh = lambda context: asked.append(context) or rules.snapshot
        runner = base.Hook(rules)
        for _inspection in range(2):
            with inspection.of_task(self.task):
                runner.preprocess(self.task, {}, {})
                runner.apply(self.task, {}, {}, 'main')
        self.assertEqual(2, len(asked))

    def test_tables_that_were_removed_are_told_in_plain_words(self):
        runner = base.Hook(start.load())
        runner.preprocess(self.task, {}, {})
        migration.drop()
        for inspect in (
            lambda: runner.preprocess(self.task, {}, {}),
            lambda: runner.apply(self.task, {}, {}, 'main'),
        ):
            told = str(
                self.assertRaises(
                    ironic_exception.HardwareInspectionFailure, inspect
                )
            )
            self.assertIn(
                'tables of the inspection rules are missing, run '
                '"ironic-inspection-rules-dbsync upgrade"',
                told,
            )
            self.assertNotIn('SELECT', told)

    def test_a_database_that_is_away_is_no_failed_inspection(self):
        runner = base.Hook(start.load())
        away = db_exc.DBConnectionError('gone')

        def fail(*_args):
            raise away

        # What durable inspection waits for has to reach it as it is.
        for name in ('db.transaction.read', 'db.migration.version'):
            self.useFixture(
                fixtures.MonkeyPatch(f'ironic_inspection_rules.{name}', fail)
            )
        self.assertIs(
            away,
            self.assertRaises(
                db_exc.DBConnectionError, runner.preprocess, self.task, {}, {}
            ),
        )

    def test_rules_see_what_was_stored_before(self):
        reads = base.rule(
            (
                'set-attribute',
                ['/extra/before', '{previous.inventory.memory | default(0)}'],
            )
        )
        read = []

        def stored(node, context):
            read.append(node.uuid)
            raise ironic_exception.NodeInventoryNotFound(node=node.uuid)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils.get_inspection_data',
                stored,
            )
        )
        self.inspect(base.rule(('set-attribute', ['/extra/a', 1])))
        self.assertEqual([], read)
        self.inspect(reads)
        self.assertEqual(0, self.stored_node().extra['before'])
        self.assertEqual({self.task.node.uuid}, set(read))
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils.get_inspection_data',
                lambda node, context: {
                    'inventory': {'memory': 7},
                    'plugin_data': {},
                },
            )
        )
        self.inspect(reads)
        self.assertEqual(7, self.stored_node().extra['before'])

    def test_a_run_that_cannot_read_what_was_stored_before_is_kept(self):
        away = ironic_exception.SwiftOperationError(operation='get', error='x')
        self.useFixture(
            fixtures.MockPatch(
                'ironic.drivers.modules.inspect_utils.get_inspection_data',
                side_effect=away,
            )
        )
        reads = base.rule(
            ('set-attribute', ['/extra/before', '{previous.inventory.memory}'])
        )
        runner = base.Hook(base.rules(reads))
        # A redfish inspection has its data when its first phase begins.
        with testtools.ExpectedException(ironic_exception.SwiftOperationError):
            with inspection.of_task(self.task):
                runner.preprocess(self.task, {'cpu': 1}, {})

        (run,) = self.runs()
        self.assertEqual(str(away), run.error)
        self.assertEqual(
            {'cpu': 1}, db_run.get_data(self.task.node.uuid)['inventory']
        )

    def test_the_trace_is_kept_by_phase(self):
        self.inspect(
            base.rule(
                ('log', ['hello']), phase='preprocess', description='first'
            ),
            base.rule(('log', ['hello'])),
            base.rule(
                ('log', ['no']), conditions=[{'op': 'eq', 'args': [1, 2]}]
            ),
        )

        trace = self.plugin_data['inspection_rules']
        self.assertEqual(
            ['first'], [rule['description'] for rule in trace['preprocess']]
        )
        self.assertEqual(
            [['log']], [rule['actions'] for rule in trace['main']]
        )

    def test_of_a_sensitive_rule_the_trace_has_the_uuid_only(self):
        self.inspect(
            base.rule(('log', ['hello']), sensitive=True, description='hidden')
        )

        (traced,) = self.plugin_data['inspection_rules']['main']
        self.assertEqual(['uuid', 'withheld'], list(traced))

    def test_later_rules_see_what_earlier_ones_changed(self):
        self.inspect(
            base.rule(('set-attribute', ['/extra/step', 1])),
            base.rule(
                ('set-attribute', ['/extra/step', 2]),
                conditions=[{'op': 'eq', 'args': ['{node.extra[step]}', 1]}],
            ),
        )

        self.assertEqual({'step': 2}, self.stored_node().extra)

    def test_an_error_saves_nothing_of_the_phase(self):
        message = self.failed(
            base.rule(
                ('set-attribute', ['/extra/before', 1]),
                ('add-trait', ['CUSTOM_GOLD']),
            ),
            base.rule(
                ('set-attribute', ['/extra/x', '{inventory[gone]}']),
                description='careless',
            ),
        )

        node = self.stored_node()
        self.assertEqual(({}, []), (node.extra, node.traits.get_trait_names()))
        for part in ('careless', 'set-attribute', '{inventory[gone]}'):
            self.assertIn(part, message)

    def test_fail_saves_what_came_before_it(self):
        message = self.failed(
            base.rule(
                ('set-attribute', ['/extra/before', 1]),
                ('fail', ['too small']),
                ('set-attribute', ['/extra/after', 1]),
            )
        )

        self.assertEqual({'before': 1}, self.stored_node().extra)
        self.assertFalse(self.stored_node().maintenance)
        self.assertIn('too small', message)

    def test_fail_can_set_maintenance(self):
        self.failed(
            base.rule(('fail', {'msg': 'broken fan', 'maintenance': True}))
        )

        node = self.stored_node()
        self.assertEqual(
            (True, 'broken fan'), (node.maintenance, node.maintenance_reason)
        )

    def test_ironic_gets_errors_that_every_database_can_store(self):
        message = self.failed(
            base.rule(
                (
                    'fail',
                    {'msg': '{inventory.hostname}', 'maintenance': True},
                )
            ),
            inventory={'hostname': 'rack 😀 7'},
        )

        self.assertIn('rack \N{REPLACEMENT CHARACTER} 7', message)
        self.assertEqual(
            'rack \N{REPLACEMENT CHARACTER} 7',
            self.stored_node().maintenance_reason,
        )

    def test_errors_of_sensitive_rules_say_which_rule_and_op_only(self):
        message = self.failed(
            base.rule(
                ('fail', ['pa55word']),
                sensitive=True,
                uuid='41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21',
                description='hidden',
            )
        )

        self.assertIn('41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21, fail', message)
        self.assertNotIn('pa55word', message)
        self.assertNotIn('hidden', message)

    def test_what_ironic_refuses_is_laid_on_the_rule_that_asked(self):
        self.make_task(name='taken', mac='52:54:00:00:00:01')

        message = self.failed(
            base.rule(('set-attribute', ['/extra/before', 1])),
            base.rule(
                ('set-attribute', ['/name', 'taken']), description='renames'
            ),
        )

        self.assertIn('renames', message)
        self.assertEqual(
            ('one', {}), (self.stored_node().name, self.stored_node().extra)
        )
        self.assertEqual(set(), self.task.node.obj_what_changed())

    def test_a_port_that_cannot_be_saved_takes_the_node_back_too(self):
        self.make_task(mac='52:54:00:00:00:01')

        self.failed(
            base.rule(
                ('set-attribute', ['/extra/before', 1]),
                (
                    'set-port-attribute',
                    [base.MAC, '/address', '52:54:00:00:00:01'],
                ),
            )
        )

        self.assertEqual({}, self.stored_node().extra)
        self.assertEqual(base.MAC, self.stored_port().address)
        self.assertEqual({}, self.task.node.extra)

    def test_an_invalid_name_is_refused(self):
        self.assertIn(
            'no UUID',
            self.failed(base.rule(('set-attribute', ['/name', 'no/slash']))),
        )

    def test_rules_of_another_scope_do_not_run(self):
        self.task.node.properties = {'inspection_scope': 'here'}
        self.task.node.save()

        self.inspect(
            base.rule(('set-attribute', ['/extra/here', 1]), scope='here'),
            base.rule(('set-attribute', ['/extra/there', 1]), scope='there'),
            base.rule(('set-attribute', ['/extra/all', 1])),
        )

        self.assertEqual({'here': 1, 'all': 1}, self.stored_node().extra)

    def test_a_discovered_node_gets_the_inspection_scope(self):
        self.config(group='auto_discovery', inspection_scope='new')
        self.task.node.provision_state = 'enroll'
        self.plugin_data['auto_discovered'] = True

        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/found', '{node.auto_discovered}']),
                scope='new',
            )
        )

        self.assertEqual({'found': True}, self.stored_node().extra)
        self.assertEqual(
            {'inspection_scope': 'new'}, self.stored_node().properties
        )

    def test_a_discovered_node_keeps_the_scope_that_it_has(self):
        self.config(group='auto_discovery', inspection_scope='new')
        self.task.node.provision_state = 'enroll'
        self.task.node.properties = {'inspection_scope': 'own'}
        self.plugin_data['auto_discovered'] = True

        self.inspect(base.rule(('set-attribute', ['/extra/ran', 1])))

        self.assertEqual(
            {'inspection_scope': 'own'}, self.stored_node().properties
        )

    def test_rules_of_a_discovered_node_run_before_the_power_off(self):
        self.task.node.provision_state = 'enroll'
        self.plugin_data['auto_discovered'] = True
        runner = base.Hook(
            base.rules(base.rule(('extend-attribute', ['/extra/marks', 'x'])))
        )
        enrolled_with = self.task.driver

        with inspection.of_task(self.task, {}, self.plugin_data):
            runner.preprocess(self.task, {}, self.plugin_data)
            runner.finish_discovery(self.task, {}, self.plugin_data)
            self.assertEqual({'marks': ['x']}, self.stored_node().extra)
            # What powers the machine off is loaded again.
            self.assertIsNot(enrolled_with, self.task.driver)
            self.assertIsNotNone(self.task.driver)
            runner.apply(self.task, {}, self.plugin_data, 'main')

        self.assertEqual({'marks': ['x']}, self.stored_node().extra)
        self.assertEqual(['main'], [*self.plugin_data['inspection_rules']])

    def test_a_hook_that_is_named_twice_runs_rules_once(self):
        self.task.node.provision_state = 'enroll'
        self.plugin_data['auto_discovered'] = True
        mark = ('extend-attribute', ['/extra/marks', 'x'])
        runner = base.Hook(
            base.rules(base.rule(mark), base.rule(mark, phase='preprocess'))
        )

        with inspection.of_task(self.task, {}, self.plugin_data):
            for _name in range(2):
                runner.preprocess(self.task, {}, self.plugin_data)
            self.assertEqual({'marks': ['x']}, self.stored_node().extra)
            for _name in range(2):
                runner.finish_discovery(self.task, {}, self.plugin_data)

        self.assertEqual({'marks': ['x', 'x']}, self.stored_node().extra)

    def test_rules_of_other_nodes_run_where_ironic_applies_its_own(self):
        self.plugin_data['auto_discovered'] = True
        runner = base.Hook(
            base.rules(base.rule(('set-attribute', ['/extra/ran', 1])))
        )
        runner.finish_discovery(self.task, {}, self.plugin_data)
        self.assertEqual({}, self.stored_node().extra)

    def test_a_node_that_was_known_is_not_discovered(self):
        self.config(group='auto_discovery', inspection_scope='new')
        self.plugin_data['auto_discovered'] = True

        self.inspect(
            base.rule(
                ('set-attribute', ['/extra/found', '{node.auto_discovered}'])
            )
        )

        self.assertEqual({'found': False}, self.stored_node().extra)
        self.assertEqual({}, self.stored_node().properties)

    def test_rules_run_only_for_supported_interfaces(self):
        self.task.node.inspect_interface = 'fake'
        rule = base.rule(('set-attribute', ['/extra/ran', 1]))

        self.inspect(rule)
        self.assertEqual({}, self.stored_node().extra)

        self.config(group='inspection_rules', supported_interfaces='.*')
        self.inspect(rule)
        self.assertEqual({'ran': 1}, self.stored_node().extra)

    def test_unknown_phases_are_an_error(self):
        runner = base.Hook(
            base.rules(base.rule(('set-attribute', ['/extra/ran', 1])))
        )

        for name in ('cleaning', 'early', 'mian'):
            error = self.assertRaises(
                ironic_exception.HardwareInspectionFailure,
                runner.apply,
                self.task,
                {},
                self.plugin_data,
                name,
            )
            self.assertIn(
                f'must be one of preprocess, main, not "{name}"', str(error)
            )

        self.assertEqual({}, self.stored_node().extra)

    def test_main_rules_need_no_preprocess_before_them(self):
        runner = base.Hook(
            base.rules(base.rule(('set-attribute', ['/extra/ran', 1])))
        )

        runner.apply(self.task, {}, self.plugin_data, 'main')

        self.assertEqual({'ran': 1}, self.stored_node().extra)

    def test_ports_that_hooks_made_meanwhile_are_seen(self):
        runner = base.Hook(
            base.rules(
                base.rule(('log', ['{ports[0].address}']), phase='preprocess'),
                base.rule(
                    ('set-attribute', ['/extra/last', '{ports[1].address}'])
                ),
            )
        )
        runner.preprocess(self.task, {}, self.plugin_data)
        self.make_port(self.task.node, '52:54:00:00:00:01')

        runner.apply(self.task, {}, self.plugin_data, 'main')

        self.assertEqual(
            {'last': '52:54:00:00:00:01'}, self.stored_node().extra
        )
