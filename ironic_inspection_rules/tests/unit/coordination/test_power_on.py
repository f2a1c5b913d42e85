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

import fixtures

from ironic_inspection_rules import conf
from ironic_inspection_rules.coordination import power_on
from ironic_inspection_rules.tests.unit import base


class ThrottleTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        conf.register_opts(self.cfg.conf)
        self.turns = []
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.power.around_power_on',
            self.turns.append))

    def install(self, **options):
        self.config(group='inspection_queue', **options)
        self.config(group='coordination',
                    backend_url=f'file://{self.scratch()}')
        power_on.install()

    def scratch(self):
        return self.useFixture(fixtures.TempDir()).path

    def test_without_an_interval_nothing_is_changed(self):
        self.install(enabled=True)
        self.install(enabled=False, reboot_throttle=1.0)
        self.assertEqual([], self.turns)

    def test_turns_are_taken_over_the_coordinator(self):
        self.install(enabled=True, reboot_throttle=0.01)
        turn, = self.turns
        for _machine in range(2):
            with turn():
                pass
