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

import types

from ironic_inspection_rules.osc import cloud
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.osc import fakes


class BaremetalTestCase(base.TestCase):

    def test_any_microversion_of_ironic_will_do(self):
        app = fakes.App()
        app.cloud.config.config['baremetal_api_version'] = '1.115'
        command = types.SimpleNamespace(app=app)
        self.assertEqual('baremetal', cloud.baremetal(command))
        self.assertEqual('1', app.cloud.config.config['baremetal_api_version'])
