# SPDX-License-Identifier: Apache-2.0

import threading
import types

import fixtures
from ironic.conf import CONF
import tenacity

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.queue import service
from ironic_inspection_rules.tests.unit import base

PATIENCE = 60


class StartTestCase(base.IronicTestCase):
    def test_a_mistyped_coordinator_is_named(self):
        conf.register_opts(CONF)
        self.config(group='coordination', backend_url='radis://192.0.2.1')
        exc = self.assertRaises(
            exceptions.Invalid, service.WorkerService, 'name'
        )
        self.assertIn('[coordination]backend_url', str(exc))


class ServiceTestCase(base.IronicTestCase):
    """A test with a service that has no driver, database or broker."""

    def setUp(self):
        super().setUp()
        conf.register_opts(CONF)
        self.config(rpc_transport='none')
        self.patch(service.driver_factory, 'hardware_types', dict)
        self.patch(service.driver_factory, 'all_interfaces', dict)
        self.patch(service, 'make_queue', lambda served: None)
        self.patch(service.rule_counter, 'get_counter', FakeCounter)
        self.service = service.WorkerService('name')


class StartOfThreadsTestCase(ServiceTestCase):
    def test_where_a_thread_cannot_start_those_before_it_end(self):
        begins = threading.Thread(target=self.service._stop.wait, daemon=True)
        self.service._threads = [begins, ThreadThatCannotStart()]
        self.assertRaises(RuntimeError, self.service.start)
        # Else the wait would have no end.
        self.assertTrue(self.service._stop.is_set())
        self.service.wait()
        self.assertFalse(begins.is_alive())

    def test_no_wake_up_reaches_a_service_that_has_not_started(self):
        self.service._listener = FakeListener()
        self.service._threads = [ThreadThatCannotStart()]
        self.assertRaises(RuntimeError, self.service.start)
        self.assertFalse(self.service._listener.is_started)

    def test_where_the_listener_cannot_start_the_threads_end(self):
        self.service._listener = ThreadThatCannotStart()
        self.service._threads = []
        self.assertRaises(RuntimeError, self.service.start)
        self.assertTrue(self.service._stop.is_set())


class ThreadThatCannotStart(threading.Thread):
    def start(self):
        raise RuntimeError("can't start new thread")


class FakeListener:
    is_started = False

    def start(self):
        self.is_started = True


class FakeCounter:
    def flush(self):
        pass


class StopTestCase(ServiceTestCase):
    def test_every_worker_stops(self):
        self.service.stop()

        for worker in (self.service._worker, self.service._power_on_worker):
            self.assertTrue(worker.pause(PATIENCE))


class WorkingTestCase(ServiceTestCase):
    def test_it_works_until_the_last_power_on_is_done(self):
        power_on_may_end = threading.Event()

        def run(worker):
            if worker.name.endswith(':power-on'):
                power_on_may_end.wait(PATIENCE)

        self.patch(service.worker.Worker, 'run', run)
        working = service.WorkerService('name')
        threads = {thread.name: thread for thread in working._threads}
        self.assertFalse(working.is_working())
        threads['power-on'].start()
        threads['worker'].start()
        threads['worker'].join(PATIENCE)
        self.assertTrue(working.is_working())
        power_on_may_end.set()
        threads['power-on'].join(PATIENCE)
        self.assertFalse(working.is_working())


class SuperviseTestCase(ServiceTestCase):
    def test_what_breaks_off_after_the_stop_does_not_start_again(self):
        runs = []

        def run():
            runs.append(None)
            if len(runs) == 1:
                self.service.stop()
                raise ValueError

        self.assertRaises(tenacity.RetryError, self.service._supervise, run)

        self.assertEqual(1, len(runs))

    def test_what_breaks_off_starts_again_until_it_is_stopped(self):
        self.patch(service, '_RESTART_DELAY', 0)
        runs = []

        def run():
            runs.append(None)
            if len(runs) < 3:
                raise ValueError
            self.service.stop()

        self.service._supervise(run)
        self.assertEqual(3, len(runs))


class FakeWorkerService:
    def __init__(self, name):
        self.name = name
        self.started = False
        self.stopped = threading.Event()

    def start(self):
        self.started = True

    def stop(self):
        self.stopped.set()

    def is_working(self):
        return not self.stopped.is_set()


class EmbeddedTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        conf.register_opts(self.cfg.conf)

    def use_conductor(self):
        manager = types.SimpleNamespace(
            _shutdown=threading.Event(), has_reserved=lambda: False
        )
        self.useFixture(
            fixtures.MonkeyPatch('ironic.common.rpc.GLOBAL_MANAGER', manager)
        )
        return manager

    def test_the_all_in_one_ironic_wants_one(self):
        self.use_conductor()
        for transport, expected in (
            ('none', True),
            ('json-rpc', False),
            ('oslo', False),
        ):
            self.config(rpc_transport=transport)
            self.assertEqual(expected, service.is_embedded_wanted())

    def test_the_operator_may_decide(self):
        self.use_conductor()
        for wanted in (True, False):
            self.config(group='inspection_queue', embedded=wanted)
            self.assertEqual(wanted, service.is_embedded_wanted())

    def test_an_api_without_a_conductor_has_none(self):
        self.config(group='inspection_queue', embedded=True)
        self.assertFalse(service.is_embedded_wanted())

    def test_it_stops_with_the_conductor(self):
        manager = self.use_conductor()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.queue.service.WorkerService',
                FakeWorkerService,
            )
        )
        started = service.start_embedded()
        self.assertTrue(started.started)
        self.assertFalse(started.stopped.is_set())
        self.assertTrue(manager.has_reserved())
        manager._shutdown.set()
        self.assertTrue(started.stopped.wait(PATIENCE))
        self.assertFalse(manager.has_reserved())
