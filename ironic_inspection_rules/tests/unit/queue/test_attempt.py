# SPDX-License-Identifier: Apache-2.0

"""Carrying out requests on nodes in a real database."""

from concurrent import futures
import datetime
import functools
import gc
import types
from unittest import mock
import weakref

import fixtures
from ironic import objects
from ironic.common import exception as ironic_exception
from ironic.common import state_machine
from ironic.common import states
from ironic.conductor import task_manager
from ironic.conductor import utils as conductor_utils
from ironic.drivers.modules import inspect_utils
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import maintenance
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.tests.unit import clock
from ironic_inspection_rules.tests.unit.inspection import base
from ironic_inspection_rules.tests.unit.queue import base as queue_base

NAME = worker.make_name('here')
LONG_AGO = datetime.datetime(2026, 1, 1)


class InspectorTestCase(base.GlueTestCase):
    """A worker with a request for the node of the test."""

    event = queue_request.CONTINUE

    def setUp(self):
        super().setUp()
        self.node = self.task.node
        self.use_queue(database_queue.DatabaseQueue(60))
        self.request = self.get(NAME)
        self.driver = types.SimpleNamespace(
            inspect=mock.Mock(hooks=[]), network=mock.Mock(), power=mock.Mock()
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.driver_factory.build_driver_for_task',
                lambda task: self.driver,
            )
        )

    def use_queue(self, queue):
        self.queue = queue
        self.lock_node = functools.partial(attempt.locked, queue, 900)

    def get(self, name):
        self.queue.put(
            self.node.uuid,
            self.event,
            {'cpu': 1},
            {'logs': 'x'},
            {'early': {'set': {'early': 1}, 'unset': []}},
        )
        return self.queue.get(name)

    def lock(self):
        return self.lock_node(self.request)

    def deliver(self, request=None):
        return delivery.Delivery(
            self.queue,
            request or self.request,
            self.lock_node,
            3,
            0.0,
            lambda seconds: True,
        ).carry_out()

    def set_node(self, **fields):
        node = self.stored_node()
        for name, value in fields.items():
            setattr(node, name, value)
        node.save()

    def run_request(self):
        with self.lock() as current:
            current.request = self.queue.begin(self.request, state.PROCESSING)
            self.request = current.request
            error = current.process()
            self.unlock(current)
            return error

    def unlock(self, current, consume=lambda transaction: None):
        def end(request, error, transaction):
            return consume(transaction)

        with mock.patch.object(self.queue, 'consume', end):
            return current.end(None)


class InspectTestCase(InspectorTestCase):
    def setUp(self):
        super().setUp()
        self.set_node(
            provision_state=states.INSPECTWAIT,
            target_provision_state=states.MANAGEABLE,
            last_error='before',
        )
        self.seen = []
        self.end = 'done'
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.conductor.inspection.continue_inspection', self.go_on
            )
        )

    def go_on(self, task, inventory, plugin_data):
        self.stored = self.stored_node().provision_state
        # Ironic does so, to note when it last heard of the ramdisk.
        task.node.save()
        self.seen.append((task.node.provision_state, inventory, plugin_data))
        if isinstance(self.end, Exception):
            raise self.end
        if self.end:
            task.process_event(self.end)

    def test_its_data_go_with_it(self):
        # Data may be large: they must not wait for the collector of cycles.
        self.addCleanup(gc.enable)
        gc.disable()
        with self.lock() as current:
            current.request = self.queue.begin(self.request, state.PROCESSING)
            current.process()
            self.unlock(current)
            reference = weakref.ref(current)
        del current
        self.assertIsNone(reference())

    def test_ironic_inspects_with_what_the_early_rules_left(self):
        self.assertIsNone(self.run_request())
        self.assertEqual(
            [(states.INSPECTING, {'cpu': 1}, {'logs': 'x', 'early': 1})],
            self.seen,
        )
        node = self.stored_node()
        self.assertEqual(
            (states.MANAGEABLE, None), (node.provision_state, node.last_error)
        )

    def test_what_ironic_saves_first_has_the_new_state(self):
        self.end = None
        self.run_request()
        self.assertEqual(
            (states.INSPECTWAIT, states.INSPECTING),
            (self.stored, self.stored_node().provision_state),
        )

    def test_a_failed_node_is_recovered(self):
        self.set_node(provision_state=states.INSPECTFAIL)
        self.assertIsNone(self.run_request())
        self.assertEqual(states.MANAGEABLE, self.stored_node().provision_state)

    def test_a_node_left_in_the_middle_goes_on(self):
        self.set_node(provision_state=states.INSPECTING)
        self.assertIsNone(self.run_request())
        self.assertEqual(states.MANAGEABLE, self.stored_node().provision_state)

    def test_a_discovered_node_stays_enrolled(self):
        self.set_node(provision_state=states.ENROLL)
        self.end = None
        self.assertIsNone(self.run_request())
        self.assertEqual(states.ENROLL, self.stored_node().provision_state)

    def test_a_node_that_ironic_failed_keeps_the_reason(self):
        def fail(task, inventory, plugin_data):
            # As powering off does.
            task.node.last_error = None
            task.process_event('fail')
            raise ironic_exception.HardwareInspectionFailure(error='no disk')

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.conductor.inspection.continue_inspection', fail
            )
        )
        self.assertIn('no disk', self.run_request())
        self.assertIn('no disk', self.stored_node().last_error)

    def test_what_ironic_fails_fails_the_request(self):
        self.end = 'fail'
        self.assertEqual('Inspection failed.', self.run_request())

    def test_no_node_is_left_in_the_middle(self):
        self.end = ironic_exception.UnsupportedDriverExtension(
            driver='x', extension='y'
        )
        self.assertEqual(str(self.end), self.run_request())
        node = self.stored_node()
        self.assertEqual(states.INSPECTFAIL, node.provision_state)
        self.assertIn(str(self.end), node.last_error)
        self.assertIn(self.request.uuid, node.last_error)

    def test_a_database_that_went_away_may_come_back(self):
        cause = db_exc.DBConnectionError('gone')
        self.end = ironic_exception.HardwareInspectionFailure(error='gone')
        self.end.__cause__ = ValueError()
        self.end.__cause__.__context__ = cause
        self.assertRaises(exceptions.TemporaryFailure, self.run_request)
        self.assertEqual(states.INSPECTING, self.stored_node().provision_state)

    def test_a_driver_that_is_missing_fails_the_node(self):
        def fail(task):
            raise ironic_exception.DriverNotFound(driver_name='x')

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.driver_factory.build_driver_for_task', fail
            )
        )
        self.assertIn('x', self.run_request())
        node = self.stored_node()
        self.assertEqual(states.INSPECTFAIL, node.provision_state)
        self.assertIn('x', node.last_error)


class Interface:
    """An inspect interface with one hook, which is in trouble once."""

    def __init__(self, **trouble):
        self.trouble = trouble
        self.hooks = [types.SimpleNamespace(name='hook', obj=self)]

    def get_in_trouble(self, name):
        if exc := self.trouble.pop(name, None):
            raise exc

    def preprocess(self, task, inventory, plugin_data):
        self.get_in_trouble('preprocess')

    def __call__(self, task, inventory, plugin_data):
        self.get_in_trouble('call')

    def continue_inspection(self, task, inventory, plugin_data):
        inspect_utils.run_inspection_hooks(
            task, inventory, plugin_data, self.hooks, None
        )

    def abort(self, task):
        pass


class TroubleTestCase(InspectorTestCase):
    """What Ironic itself makes of trouble in an inspection."""

    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.inspection_rules.engine.apply_rules',
                lambda *args: None,
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils.store_inspection_data',
                lambda *args, **kwargs: self.driver.inspect.get_in_trouble(
                    'store'
                ),
            )
        )

    def deliver_with(self, **trouble):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            target_provision_state=states.MANAGEABLE,
        )
        self.driver.inspect = Interface(**trouble)
        outcome = self.deliver(self.queue.get(NAME))
        return outcome, self.stored_node().provision_state

    def test_trouble_of_the_surroundings_fails_no_node(self):
        for where in ('preprocess', 'call', 'store'):
            self.assertEqual(
                (delivery.Outcome.RETRIED, states.INSPECTING),
                self.deliver_with(**{where: db_exc.DBConnectionError('away')}),
            )
        self.assertEqual(0, self.queue.find(self.request.uuid).attempts)

        self.assertEqual(
            (delivery.Outcome.FINISHED, states.MANAGEABLE), self.deliver_with()
        )

    def test_a_hook_that_fails_whenever_it_handles_trouble_is_given_up(self):
        for trouble in (
            db_exc.DBConnectionError('away'),
            ironic_exception.NodeLocked(node='x', host='y'),
        ):
            for where in ('preprocess', 'call', 'store'):
                for _attempt in range(3):
                    error = ValueError('no disk')
                    error.__context__ = trouble
                    self.assertEqual(
                        (delivery.Outcome.RETRIED, states.INSPECTING),
                        self.deliver_with(**{where: error}),
                    )
                self.assertEqual(
                    (delivery.Outcome.FAILED, states.INSPECTFAIL),
                    self.deliver_with(**{where: error}),
                )
                self.assertIn(
                    'given up after 3 attempts; the last one failed: no disk',
                    self.stored_node().last_error,
                )
                self.request = self.get(NAME)

    def test_trouble_while_trouble_is_handled_fails_no_node(self):
        for _attempt in range(5):
            error = db_exc.DBConnectionError('still away')
            error.__context__ = ironic_exception.NodeLocked(node='x', host='y')
            self.assertEqual(
                (delivery.Outcome.RETRIED, states.INSPECTING),
                self.deliver_with(call=error),
            )
        self.assertEqual(0, self.queue.find(self.request.uuid).attempts)

    def test_half_a_character_in_an_error_is_replaced(self):
        for where in ('preprocess', 'call', 'store'):
            error = ValueError('no disk \ud800 here')
            self.assertEqual(
                (delivery.Outcome.FAILED, states.INSPECTFAIL),
                self.deliver_with(**{where: error}),
            )
            error = self.queue.find(self.request.uuid).last_error
            for text in (error, self.stored_node().last_error):
                self.assertIn('no disk \N{REPLACEMENT CHARACTER} here', text)
            self.request = self.get(NAME)

    def test_half_a_character_in_an_error_before_hooks_is_replaced(self):
        def fail(task):
            raise ironic_exception.DriverNotFound(driver_name='x\udfff')

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.driver_factory.build_driver_for_task', fail
            )
        )
        self.set_node(provision_state=states.INSPECTWAIT)
        self.assertIn('x\N{REPLACEMENT CHARACTER}', self.run_request())
        self.assertIn(
            'x\N{REPLACEMENT CHARACTER}', self.stored_node().last_error
        )

    def test_a_hook_that_fails_fails_the_node(self):
        for where in ('preprocess', 'call', 'store'):
            error = ValueError('no disk')
            self.assertEqual(
                (delivery.Outcome.FAILED, states.INSPECTFAIL),
                self.deliver_with(**{where: error}),
            )
            self.assertIn('no disk', self.stored_node().last_error)
            self.request = self.get(NAME)


class ReapplyTestCase(InspectorTestCase):
    event = queue_request.REAPPLY

    def setUp(self):
        super().setUp()
        self.set_node(provision_state=states.ACTIVE)
        self.calls = []
        for name in (
            'ironic.drivers.modules.inspect_utils.run_inspection_hooks',
            'ironic.common.inspection_rules.engine.apply_rules',
            'ironic.drivers.modules.inspect_utils.store_inspection_data',
        ):
            self.useFixture(
                fixtures.MonkeyPatch(
                    name, self.noting(name.rpartition('.')[2])
                )
            )

    def noting(self, name):
        def note(*args, **kwargs):
            self.calls.append(name)
            self.data = next(
                arg for arg in args if isinstance(arg, dict) and 'early' in arg
            )

        return note

    def test_hooks_and_rules_run_and_data_are_stored(self):
        self.assertIsNone(self.run_request())
        self.assertEqual(
            ['run_inspection_hooks', 'apply_rules', 'store_inspection_data'],
            self.calls,
        )
        self.assertEqual({'early': 1}, self.data)

    def test_state_power_and_boot_are_not_touched(self):
        self.run_request()
        self.assertEqual(states.ACTIVE, self.stored_node().provision_state)
        self.assertEqual([], self.driver.network.mock_calls)
        self.assertEqual([], self.driver.inspect.mock_calls)

    def test_a_failure_is_told_and_leaves_the_state(self):
        def fail(*args):
            raise ironic_exception.HardwareInspectionFailure(error='no disk')

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils.run_inspection_hooks',
                fail,
            )
        )
        self.assertIn('no disk', self.run_request())
        node = self.stored_node()
        self.assertEqual(states.ACTIVE, node.provision_state)
        self.assertIn('no disk', node.last_error)

    def test_a_success_ends_what_is_told_of_a_failure(self):
        self.set_node(last_error='no disk')
        self.assertIsNone(self.run_request())
        self.assertIsNone(self.stored_node().last_error)

    def test_an_inspection_that_has_begun_since_goes_on(self):
        for present in (states.INSPECTWAIT, states.INSPECTING):
            self.set_node(provision_state=present)

            self.deliver()

            self.assertEqual(
                (state.ERROR, queue_request.OVERTAKEN),
                tuple(
                    getattr(self.queue.find(self.request.uuid), name)
                    for name in ('state', 'last_error')
                ),
            )
            node = self.stored_node()
            self.assertEqual(
                (present, None, None),
                (node.provision_state, node.last_error, node.reservation),
            )
            self.driver.inspect.abort.assert_not_called()
            self.request = self.get(NAME)

    def test_an_interface_without_hooks_cannot_do_it(self):
        self.driver.inspect = object()
        self.assertIn('reapply', self.run_request())


class TimeoutTestCase(InspectorTestCase):
    event = queue_request.TIMEOUT

    def start_inspection(self, seconds_ago):
        self.set_node(
            provision_state=states.INSPECTWAIT,
            inspection_started_at=timeutils.utcnow()
            - datetime.timedelta(seconds=seconds_ago),
        )

    def test_a_node_that_waits_too_long_fails(self):
        self.start_inspection(901)
        overdue = queue_node.list_overdue(self.context, 900)
        reason = self.run_request()
        self.assertEqual([self.node.uuid], overdue)
        node = self.stored_node()
        self.assertEqual(states.INSPECTFAIL, node.provision_state)
        self.assertIn('900', reason)
        self.assertIsNotNone(node.last_error)

    def test_a_node_that_was_inspected_anew_goes_on_waiting(self):
        self.start_inspection(1)
        self.assertEqual([], queue_node.list_overdue(self.context, 900))
        self.assertIsNone(self.run_request())
        self.assertEqual(
            states.INSPECTWAIT, self.stored_node().provision_state
        )


class BoundTestCase(InspectorTestCase):
    """Requests of one inspection, and another one."""

    def setUp(self):
        super().setUp()
        with transaction.writer() as session:
            self.queue.consume(self.request, transaction=session)
        self.use_queue(
            database_queue.DatabaseQueue(60, node_reservation.stop_timeout)
        )

    def inspect(self, started):
        """Have a new inspection wait for its data."""
        self.set_node(
            provision_state=states.INSPECTWAIT,
            last_error=None,
            inspection_started_at=started,
        )

    def post(self, **data):
        return self.queue.put(self.node.uuid, queue_request.CONTINUE, data)

    def check(self, request):
        return queue_node.check(self.stored_node(), request)

    def is_overdue(self):
        """Whether Ironic's conductor or our leader would fail the node."""
        overdue = queue_node.list_overdue(self.context, 900)
        return [
            node.uuid
            for node in objects.Node.list(
                self.context,
                filters={
                    'provision_state': states.INSPECTWAIT,
                    'inspection_started_before': 900,
                },
            )
        ] + overdue

    def overtake(self):
        self.inspect(timeutils.utcnow())
        self.post(cpu=2)

    def settle(self):
        queue_base.pass_time(60)
        left = self.queue.claim_unsettled()
        for request in left:
            attempt.settle(self.queue, self.lock_node, request)
        return [request.uuid for request in left]


class BindingMixin:
    """What depends on how a database keeps times and locks rows."""

    def test_the_timeout_does_not_count_while_accepted_data_wait(self):
        self.inspect(LONG_AGO)
        self.assertEqual([self.node.uuid] * 2, self.is_overdue())
        first = self.post(cpu=1)
        self.assertEqual([], self.is_overdue())
        self.assertEqual(LONG_AGO, first.inspection_began_at)
        # A ramdisk that got no answer posts again.
        again = self.post(cpu=2)
        self.assertEqual(
            (first.uuid, LONG_AGO), (again.uuid, again.inspection_began_at)
        )
        self.assertEqual(queue_node.NodeCheck(), self.check(again))

    def test_old_data_are_not_processed_into_a_newer_inspection(self):
        self.inspect(LONG_AGO)
        for begun in (False, True):
            self.post(cpu=1)
            old = self.queue.get(NAME)
            if begun:
                old = self.queue.begin(old, state.PROCESSING)
            self.inspect(timeutils.utcnow())
            self.assertTrue(self.check(old).superseded, repr(begun))
            self.assertFalse(self.check(old).obstacle, repr(begun))

            new = self.post(cpu=2)

            self.assertNotEqual(old.uuid, new.uuid, repr(begun))
            ended = self.queue.find(old.uuid)
            self.assertEqual(
                (state.ERROR, queue_request.OVERTAKEN),
                (ended.state, ended.last_error),
            )
            self.assertRaises(exceptions.LeaseLost, self.queue.consume, old)
            self.assertEqual(queue_node.NodeCheck(), self.check(new))
            self.assertEqual([], self.settle())
            self.queue.abort(new.uuid, 'out of the way')
            self.settle()
            self.inspect(LONG_AGO)

    def test_what_a_stale_delivery_writes_is_refused(self):
        self.inspect(LONG_AGO)
        self.post(cpu=1)
        old = self.queue.get(NAME)

        def go_on():
            with self.lock_node(old) as current:
                task = current.task
                task.node.extra = {'late': True}
                with futures.ThreadPoolExecutor(1) as pool:
                    pool.submit(self.overtake).result()
                task.node.save()

        self.assertRaises(exceptions.LeaseLost, go_on)
        self.assertEqual({}, self.stored_node().extra)


class BindingTestCase(BindingMixin, BoundTestCase):
    def test_who_was_failed_just_before_is_processed_all_the_same(self):
        self.inspect(LONG_AGO)
        accepted = self.post(cpu=1)
        with task_manager.acquire(self.context, self.node.uuid) as task:
            task.process_event('fail')
            conductor_utils.cleanup_inspectwait_timeout(task)
        self.assertEqual(queue_node.NodeCheck(), self.check(accepted))

    def test_an_aborted_inspection_is_not_processed(self):
        self.inspect(LONG_AGO)
        accepted = self.post(cpu=1)
        self.set_node(
            provision_state=states.INSPECTFAIL,
            last_error='Inspection was aborted by request.',
        )
        self.assertIsNotNone(self.check(accepted).obstacle)

    def test_the_node_of_an_ended_request_is_brought_to_an_end(self):
        for present in (states.INSPECTWAIT, states.INSPECTING):
            self.inspect(LONG_AGO)
            self.post(cpu=1)
            request = self.queue.begin(self.queue.get(NAME), state.PROCESSING)
            self.set_node(provision_state=present)
            self.set_node(inspection_started_at=None)
            self.queue.consume(request, 'no way')
            self.assertEqual([request.uuid], self.settle())
            node = self.stored_node()
            self.assertEqual(
                (states.INSPECTFAIL, None),
                (node.provision_state, node.reservation),
            )
            self.assertIn('no way', node.last_error)
            self.assertEqual([], self.settle())

    def test_a_node_that_a_finished_request_has_left_says_so(self):
        self.inspect(LONG_AGO)
        self.post(cpu=1)
        request = self.queue.begin(self.queue.get(NAME), state.PROCESSING)
        self.queue.consume(request)

        self.settle()

        self.assertIn('it has ended', self.stored_node().last_error)

    def test_a_locked_node_is_brought_to_an_end_later(self):
        self.inspect(LONG_AGO)
        self.queue.abort(self.post(cpu=1).uuid, 'aborted')
        objects.Node.reserve(self.context, 'conductor', self.node.uuid)
        self.assertRaises(exceptions.NodeBusy, self.settle)
        objects.Node.release(self.context, 'conductor', self.node.uuid)
        self.assertEqual(1, len(self.settle()))
        self.assertEqual(
            states.INSPECTFAIL, self.stored_node().provision_state
        )

    def test_a_newer_inspection_is_left_alone(self):
        self.inspect(LONG_AGO)
        self.queue.abort(self.post(cpu=1).uuid, 'aborted')
        self.inspect(timeutils.utcnow())
        self.assertEqual(1, len(self.settle()))
        self.assertEqual(
            states.INSPECTWAIT, self.stored_node().provision_state
        )

    def test_data_that_came_after_an_ended_request_are_processed(self):
        self.inspect(LONG_AGO)
        self.queue.abort(self.post(cpu=1).uuid, 'aborted')
        posted = self.post(cpu=2)
        self.assertEqual(1, len(self.settle()))
        self.assertEqual(queue_node.NodeCheck(), self.check(posted))
        self.assertEqual(
            states.INSPECTWAIT, self.stored_node().provision_state
        )

    def test_a_deleted_node_needs_nothing(self):
        self.inspect(LONG_AGO)
        self.queue.abort(self.post(cpu=1).uuid, 'aborted')
        self.node.destroy()
        self.assertEqual(1, len(self.settle()))
        self.assertEqual([], self.settle())

    def test_a_cleaning_up_that_fails_fails_the_node_all_the_same(self):
        self.inspect(LONG_AGO)
        self.post(cpu=1)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.conductor.utils.inspecting_error_handler',
                mock.Mock(side_effect=ValueError('surprise')),
            )
        )
        request = self.queue.get(NAME)
        with self.lock_node(request) as current:
            current.fail('no way')
        self.assertEqual(
            states.INSPECTFAIL, self.stored_node().provision_state
        )

    def test_a_worker_takes_what_it_can_serve(self):
        self.inspect(LONG_AGO)
        self.post(cpu=1)
        self.set_node(conductor_group='rack1')
        driver = self.stored_node().driver
        for drivers, groups, takes in (
            (['other'], [], False),
            ([driver], ['rack2'], False),
            ([driver], [''], False),
            ([driver, 'other'], ['RACK1'], True),
        ):
            served = node_reservation.served_by(drivers, groups)
            got = database_queue.DatabaseQueue(60, served=served).get(NAME)
            self.assertEqual(takes, got is not None)

    def test_what_others_serve_is_passed_over_once_in_a_lease(self):
        self.inspect(LONG_AGO)
        self.post(cpu=1)
        self.set_node(conductor_group='rack1')
        queue_base.pass_time(100)
        driver = self.stored_node().driver
        mine = database_queue.DatabaseQueue(
            60, served=node_reservation.served_by([driver], ['rack2'])
        )
        self.assertIsNone(mine.get(NAME))
        # What is old is not looked at again, even if it is ours by now.
        self.set_node(conductor_group='rack2')
        self.assertIsNone(mine.get(NAME))
        queue_base.pass_time(-90)
        self.assertIsNotNone(mine.get(NAME))

    def test_what_has_become_ours_is_taken_within_a_lease(self):
        self.inspect(LONG_AGO)
        self.post(cpu=1)
        self.set_node(conductor_group='rack1')
        queue_base.pass_time(100)
        now = self.useFixture(clock.Clock(leases))
        mine = database_queue.DatabaseQueue(
            60,
            served=node_reservation.served_by(
                [self.stored_node().driver], ['rack2']
            ),
        )
        self.assertIsNone(mine.get(NAME))
        self.set_node(conductor_group='rack2')
        now.advance(59)
        self.assertIsNone(mine.get(NAME))
        now.advance(1)
        self.assertIsNotNone(mine.get(NAME))

    def test_what_nobody_serves_is_told_once(self):
        self.inspect(LONG_AGO)
        self.post(cpu=1)
        log = self.useFixture(fixtures.FakeLogger(maintenance.__name__))
        mine, others = (
            maintenance.UnservedRequests(
                node_reservation.served_by(drivers, []), 30
            )
            for drivers in ([self.stored_node().driver], ['other'])
        )
        others.check()
        self.assertEqual('', log.output)
        queue_base.pass_time(60)
        for _round in range(2):
            mine.check()
            others.check()
        self.assertEqual(1, log.output.count('enabled_hardware_types'))
        self.assertIn(self.stored_node().driver, log.output)

    def test_an_ended_request_waits_for_no_worker(self):
        self.inspect(LONG_AGO)
        self.queue.abort(self.post(cpu=1).uuid, 'aborted')
        queue_base.pass_time(60)
        log = self.useFixture(fixtures.FakeLogger(maintenance.__name__))

        maintenance.UnservedRequests(
            node_reservation.served_by(['other'], []), 30
        ).check()

        self.assertEqual('', log.output)


class FailTestCase(InspectorTestCase):
    def fail(self):
        with self.lock() as current:
            current.fail('no way')
        return self.stored_node()

    def test_a_node_in_inspection_fails_and_is_cleaned_up(self):
        for present in (states.INSPECTWAIT, states.INSPECTING):
            self.set_node(provision_state=present)
            node = self.fail()
            self.assertEqual(states.INSPECTFAIL, node.provision_state)
            self.assertIn('no way', node.last_error)
            self.driver.inspect.abort.assert_called()

    def test_a_node_that_is_not_in_inspection_is_left_alone(self):
        self.set_node(provision_state=states.ACTIVE)
        node = self.fail()
        self.assertEqual(
            (states.ACTIVE, None), (node.provision_state, node.last_error)
        )

    def test_a_discovered_node_tells_why(self):
        self.set_node(provision_state=states.ENROLL)
        self.assertIn('no way', self.fail().last_error)


class CheckTestCase(base.base.TestCase):
    def go_ons(self, event, request_state):
        request = queue_request.Request(
            'uuid', 'node', event, state=request_state
        )
        found = {
            present: queue_node.check(
                types.SimpleNamespace(
                    provision_state=present,
                    last_error=None,
                    inspection_started_at=None,
                ),
                request,
            )
            for present in state_machine.machine.states
        }
        self.done = {
            present for present, finding in found.items() if finding.done
        }
        for present, finding in found.items():
            if finding.obstacle:
                self.assertIn(present, finding.obstacle)
        return {
            present
            for present, finding in found.items()
            if finding == queue_node.NodeCheck()
        }

    def test_posted_data_are_for_nodes_that_wait_for_them(self):
        self.assertEqual(
            {states.INSPECTWAIT, states.ENROLL},
            self.go_ons(queue_request.CONTINUE, state.WAITING),
        )
        self.assertEqual(set(), self.done)

    def test_another_attempt_goes_on_where_the_last_one_got_to(self):
        self.assertEqual(
            {
                states.INSPECTWAIT,
                states.ENROLL,
                states.INSPECTING,
                states.INSPECTFAIL,
            },
            self.go_ons(queue_request.CONTINUE, state.PROCESSING),
        )
        self.assertEqual({states.MANAGEABLE}, self.done)

    def test_reapplication_is_for_nodes_at_rest(self):
        for request_state in (state.WAITING, state.PROCESSING):
            self.assertEqual(
                {
                    states.MANAGEABLE,
                    states.INSPECTFAIL,
                    states.AVAILABLE,
                    states.ACTIVE,
                },
                self.go_ons(queue_request.REAPPLY, request_state),
            )
            self.assertEqual(set(), self.done)

    def test_a_timeout_is_for_nodes_that_still_wait(self):
        self.assertEqual(
            {states.INSPECTWAIT},
            self.go_ons(queue_request.TIMEOUT, state.WAITING),
        )
        self.assertEqual(
            set(state_machine.machine.states) - {states.INSPECTWAIT}, self.done
        )
