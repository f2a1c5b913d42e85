# SPDX-License-Identifier: Apache-2.0

import threading

from ironic.conf import CONF

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.queue import service
from ironic_inspection_rules.tests.unit import base


class StartTestCase(base.IronicTestCase):

    def test_a_mistyped_coordinator_is_named(self):
        conf.register_opts(CONF)
        self.config(group='coordination', backend_url='radis://192.0.2.1')
        exc = self.assertRaises(exceptions.Invalid, service.WorkerService,
                                'name')
        self.assertIn('[coordination]backend_url', str(exc))


class SuperviseTestCase(base.TestCase):

    def test_what_breaks_off_starts_again_until_it_is_stopped(self):
        self.patch(service, '_RESTART_DELAY', 0)
        worker = object.__new__(service.WorkerService)
        worker._stop = threading.Event()
        runs = []

        def run():
            runs.append(None)
            if len(runs) < 3:
                raise ValueError
            worker._stop.set()

        worker._supervise(run)
        self.assertEqual(3, len(runs))
