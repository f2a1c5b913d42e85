# SPDX-License-Identifier: Apache-2.0

import inspect
import types

import fixtures
from ironic.drivers.modules.inspector import agent
from ironic.drivers.modules.inspector import interface

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.patches import power
from ironic_inspection_rules.tests.unit import base


class PowerTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        self.seen = []
        for name in ('ironic.drivers.modules.inspector.interface.Common.'
                     '_power_on_or_reboot',
                     'ironic_inspection_rules.patches.power.'
                     '_stock_power_on_or_reboot'):
            self.useFixture(fixtures.MonkeyPatch(
                name, lambda interface, task: self.seen.append(task)))

    def test_all_power_ons_for_inspection_lead_through_here(self):
        for start in (agent.AgentInspect._start_managed_inspection,
                      agent.AgentInspect._start_unmanaged_inspection):
            self.assertIn('self._power_on_or_reboot(task)',
                          inspect.getsource(start))

    def replace(self):
        power.replace_power_on(self.seen.append)

    def test_a_machine_is_powered_on_later(self):
        machine = types.SimpleNamespace(node=types.SimpleNamespace(uuid='1'))
        for _time in range(2):
            self.replace()
        interface.Common._power_on_or_reboot(None, machine)
        self.assertEqual(['1'], self.seen)
        power.power_on(machine)
        self.assertEqual(['1', machine], self.seen)

    def test_a_pace_that_cannot_be_kept_is_refused(self):
        del interface.Common._power_on_or_reboot
        self.assertRaises(exceptions.Invalid, self.replace)
