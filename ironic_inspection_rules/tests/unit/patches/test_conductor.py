# SPDX-License-Identifier: Apache-2.0

import inspect
import threading
import types

import fixtures
from ironic.common import rpc
from ironic.common import wsgi_service
from ironic.conductor import base_manager
from ironic.conductor import rpc_service

from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.tests.unit import base


class IronicTestCase(base.IronicTestCase):
    def test_ironic_says_which_conductor_shares_its_process(self):
        self.assertIsNone(rpc.GLOBAL_MANAGER)
        starts = inspect.getsource(rpc_service.RPCService._real_start)
        self.assertLess(
            starts.index('rpc.set_global_manager(self.manager)'),
            starts.index('WSGIService('),
        )

    def test_a_conductor_says_that_it_stops(self):
        self.assertIn(
            'self._shutdown = threading.Event()',
            inspect.getsource(base_manager.BaseConductorManager.__init__),
        )
        self.assertIn(
            'self._shutdown.set()',
            inspect.getsource(base_manager.BaseConductorManager.del_host),
        )

    def test_a_conductor_waits_for_what_it_has_locked(self):
        self.assertIn(
            'while (self.manager.has_reserved()',
            inspect.getsource(rpc_service.RPCService.stop),
        )


class ConductorTestCase(base.IronicTestCase):
    def test_without_a_conductor_nothing_stops(self):
        self.assertFalse(conductor.is_in_this_process())
        self.assertFalse(conductor.stop_event().is_set())

    def waits(self, has_reserved, busy):
        """Return whether a conductor that stops goes on waiting."""
        manager = types.SimpleNamespace(has_reserved=lambda: has_reserved)
        self.useFixture(
            fixtures.MonkeyPatch('ironic.common.rpc.GLOBAL_MANAGER', manager)
        )
        conductor.keep_running_while(lambda: busy)
        return manager.has_reserved()

    def test_a_conductor_without_work_and_locked_nodes_ends(self):
        self.assertFalse(self.waits(has_reserved=False, busy=False))

    def test_a_conductor_waits_for_work(self):
        self.assertTrue(self.waits(has_reserved=False, busy=True))

    def test_a_conductor_still_waits_for_locked_nodes(self):
        self.assertTrue(self.waits(has_reserved=True, busy=False))

    def test_the_stop_of_a_conductor_is_seen(self):
        stop = threading.Event()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.rpc.GLOBAL_MANAGER',
                types.SimpleNamespace(_shutdown=stop),
            )
        )
        self.assertTrue(conductor.is_in_this_process())
        stop.set()
        self.assertTrue(conductor.stop_event().is_set())

    def test_one_that_stops_otherwise_counts_as_none(self):
        self.useFixture(
            fixtures.MonkeyPatch('ironic.common.rpc.GLOBAL_MANAGER', object())
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.conductor.base_manager.BaseConductorManager.has_reserved',
                None,
            )
        )
        self.assertFalse(conductor.is_in_this_process())


class StoppingTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.seen = []
        for path in (
            'ironic.conductor.base_manager.BaseConductorManager.del_host',
            'ironic.common.wsgi_service.BaseWSGIService.stop',
        ):
            self.useFixture(fixtures.MonkeyPatch(path, self.stop))
        self.useFixture(
            fixtures.MonkeyPatch(
                'atexit.register', lambda finish: self.seen.append(finish)
            )
        )

    def stop(self, *args, **kwargs):
        self.seen.append(kwargs)

    def finish(self):
        self.seen.append('finished')

    def test_a_service_that_stops_calls_when_its_work_is_done(self):
        conductor.after_work(self.finish)
        base_manager.BaseConductorManager.del_host(None, deregister=False)
        wsgi_service.BaseWSGIService.stop(None)
        self.assertEqual(
            [self.finish, {'deregister': False}, 'finished', {}, 'finished'],
            self.seen,
        )

    def test_it_calls_when_stopping_fails_too(self):
        def fail(self):
            raise ValueError()

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.wsgi_service.BaseWSGIService.stop', fail
            )
        )
        conductor.after_work(self.finish)
        self.assertRaises(ValueError, wsgi_service.BaseWSGIService.stop, None)
        self.assertEqual('finished', self.seen[-1])
