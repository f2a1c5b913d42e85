# SPDX-License-Identifier: Apache-2.0

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
