# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
