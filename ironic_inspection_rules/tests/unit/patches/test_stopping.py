# SPDX-License-Identifier: Apache-2.0

import fixtures
from ironic.common import wsgi_service
from ironic.conductor import base_manager

from ironic_inspection_rules.patches import stopping
from ironic_inspection_rules.tests.unit import base


class StoppingTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        self.seen = []
        for name in ('ironic.conductor.base_manager.BaseConductorManager.'
                     'del_host',
                     'ironic.common.wsgi_service.BaseWSGIService.stop'):
            self.useFixture(fixtures.MonkeyPatch(name, self.stop))
        self.useFixture(fixtures.MonkeyPatch(
            'atexit.register', lambda finish: self.seen.append(finish)))

    def stop(self, *args, **kwargs):
        self.seen.append(kwargs)

    def finish(self):
        self.seen.append('finished')

    def test_a_service_that_stops_calls_when_its_work_is_done(self):
        stopping.before_stop(self.finish)
        base_manager.BaseConductorManager.del_host(None, deregister=False)
        wsgi_service.BaseWSGIService.stop(None)
        self.assertEqual([self.finish, {'deregister': False}, 'finished', {},
                          'finished'], self.seen)

    def test_it_calls_when_stopping_fails_too(self):
        def fail(self):
            raise ValueError()

        self.useFixture(fixtures.MonkeyPatch(
            'ironic.common.wsgi_service.BaseWSGIService.stop', fail))
        stopping.before_stop(self.finish)
        self.assertRaises(ValueError, wsgi_service.BaseWSGIService.stop, None)
        self.assertEqual('finished', self.seen[-1])
