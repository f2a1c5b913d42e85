# SPDX-License-Identifier: Apache-2.0

"""The runs that are kept of requests, however often they are tried."""

import fixtures
from ironic.common import states
from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests.unit.inspection import base
from ironic_inspection_rules.tests.unit.queue import test_attempt

RULE = base.rule(('extend-attribute', ['/extra/marks', 'once']))


class RunOfRequestTestCase(test_attempt.InspectorTestCase):
    """A worker that runs one rule."""

    def setUp(self):
        super().setUp()
        self.rules = base.Hook(base.rules(RULE))
        self.after_rules = None

    def apply_rules(self, task, inventory, plugin_data, phase_name='main'):
        self.rules.apply(task, inventory, plugin_data, phase_name)
        if self.after_rules:
            raise self.after_rules

    def lose_database(self):
        """Make an attempt that loses the database after the rules."""
        self.after_rules = db_exc.DBConnectionError('gone')
        self.assertRaises(exceptions.TemporaryFailure, self.run_request)
        self.after_rules = None

    def deliver_again(self):
        self.queue.retry(self.request, 0)
        self.request = self.queue.get(test_attempt.NAME)

    def only_run(self):
        (run,) = self.runs()
        self.assertEqual(self.request.uuid, run.uuid)
        return run

    def assert_rule_ran(self, run):
        (rule,) = run.phases['main']['rules']
        (change,) = rule['changes']
        self.assertEqual('/extra/marks/-', change['path'])


class InspectionTestCase(RunOfRequestTestCase):
    def setUp(self):
        super().setUp()
        self.set_node(
            provision_state=states.INSPECTWAIT,
            target_provision_state=states.MANAGEABLE,
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.conductor.inspection.continue_inspection', self.inspect
            )
        )

    def inspect(self, task, inventory, plugin_data):
        self.apply_rules(task, inventory, plugin_data)
        task.process_event('done')

    def test_all_attempts_make_one_run(self):
        self.lose_database()
        self.assertEqual([], self.runs())
        self.deliver_again()
        self.assertIsNone(self.run_request())

        run = self.only_run()
        self.assertEqual(
            ('ok', 'inspection', None), (run.result, run.event, run.error)
        )
        self.assert_rule_ran(run)
        self.assertEqual(['once'], self.stored_node().extra['marks'])

    def test_early_rules_are_part_of_it_even_after_a_crash(self):
        early = {
            'record': {'rules': [], 'seconds': 0.1},
            'places': {},
            'found': None,
        }
        self.queue.save_checkpoints(
            self.request, {'early': {'set': {}, 'unset': [], 'run': early}}
        )
        self.deliver_again()
        self.lose_database()
        self.deliver_again()
        with self.lock() as current:
            current.fail('tried too often')
            self.unlock(current)

        self.assertEqual(early['record'], self.only_run().phases['early'])

    def test_a_run_that_used_up_its_attempts_has_what_they_did(self):
        self.lose_database()
        self.deliver_again()
        with self.lock() as current:
            current.fail('tried too often')
            self.unlock(current)

        run = self.only_run()
        self.assertEqual('failed', run.result)
        self.assertIn('tried too often', run.error)
        self.assert_rule_ran(run)

    def test_a_request_that_never_began_has_no_run(self):
        with self.lock() as current:
            current.fail('aborted')
            self.unlock(current)
        self.assertEqual([], self.runs())

    def test_an_attempt_that_died_at_its_end_leaves_a_run(self):
        self.lose_database()
        self.set_node(provision_state=states.MANAGEABLE)
        self.deliver_again()
        with self.lock() as current:
            found = queue_node.check(current.task.node, self.request)
            self.assertTrue(found.done)
            current.prepare_earlier_run()
            self.unlock(current)

        run = self.only_run()
        self.assertEqual('ok', run.result)
        self.assert_rule_ran(run)

    def test_a_run_is_stored_with_the_end_of_its_request(self):
        def lose(transaction):
            raise exceptions.LeaseLost(self.request.uuid)

        def end():
            with self.lock() as current:
                current.request = self.queue.begin(
                    self.request, state.PROCESSING
                )
                current.process()
                self.unlock(current, lose)

        self.assertRaises(exceptions.LeaseLost, end)
        self.assertEqual([], self.runs())

    def test_a_run_that_cannot_be_stored_keeps_no_request(self):
        def fail(*args, **kwargs):
            raise db_exc.DBDataError('too long')

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.run.record_run', fail
            )
        )
        self.assertIsNone(self.run_request())
        self.assertEqual([], self.runs())
        self.assertIsNone(self.stored_node().reservation)

    def test_what_is_old_is_removed_once_the_node_is_unlocked(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.runs.recorder.cleaner',
                recorder.Cleaner(),
            )
        )
        digest = content.store({'inventory': {'cpu': 1}})
        with transaction.writer() as session:
            session.execute(sa.update(models.ContentRow).values(used_at=0.0))
        self.assertIsNone(self.run_request())
        with transaction.reader() as session:
            self.assertEqual({}, content.get(session.connection(), [digest]))

    def test_a_run_that_is_stored_stays_as_it_is(self):
        self.run_request()
        before = self.only_run().id
        self.deliver_again()
        with self.lock() as current:
            current.prepare_earlier_run()
            self.unlock(current)
        self.assertEqual(before, self.only_run().id)


class ReapplicationTestCase(RunOfRequestTestCase):
    event = queue_request.REAPPLY

    def setUp(self):
        super().setUp()
        self.set_node(provision_state=states.ACTIVE)
        for name, substitute in (
            (
                'ironic.drivers.modules.inspect_utils.run_inspection_hooks',
                lambda *args: None,
            ),
            (
                'ironic.common.inspection_rules.engine.apply_rules',
                self.apply_rules,
            ),
            (
                'ironic.drivers.modules.inspect_utils.store_inspection_data',
                lambda *args: None,
            ),
        ):
            self.useFixture(fixtures.MonkeyPatch(name, substitute))

    def test_it_is_a_run_of_its_own_kind(self):
        self.assertIsNone(self.run_request())

        run = self.only_run()
        self.assertEqual(('ok', 'reapply'), (run.result, run.event))
        self.assert_rule_ran(run)

    def test_its_failure_is_kept_with_the_data(self):
        self.after_rules = ValueError('no disk')
        self.assertIn('no disk', self.run_request())

        run = self.only_run()
        self.assertEqual(('failed', 'reapply'), (run.result, run.event))
        self.assertIn('no disk', run.error)


class TimeoutTestCase(RunOfRequestTestCase):
    event = queue_request.TIMEOUT

    def test_without_data_or_rules_there_is_no_run(self):
        self.set_node(provision_state=states.INSPECTWAIT)
        with self.lock() as current:
            current.request = self.queue.begin(self.request, state.PROCESSING)
            current.fail('late')
            self.unlock(current)
        self.assertEqual([], self.runs())
