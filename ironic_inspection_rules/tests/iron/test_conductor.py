# SPDX-License-Identifier: Apache-2.0

"""The conductor dies while a machine boots."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.live import fleet


class ConductorTestCase(base.IronTestCase):
    def test_an_inspection_goes_on_without_it(self) -> None:
        machine = self.small_machine('lonely')
        self.create_rules(*fleet.RULES)
        node = self.enroll(machine, iron_cloud.PROBE)
        self.start_inspection(node)
        self.client.wait_for_state(node, 'inspect wait')
        machine.wait_for_console('it is in the ramdisk', 'kernel has started')
        self.cloud.conductor.kill()
        progress.say('the conductor is killed')
        machine.wait_until_off()
        self.cloud.start_conductor()
        self.check_inspected(node, machine)
