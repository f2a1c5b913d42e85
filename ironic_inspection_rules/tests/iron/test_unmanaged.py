# SPDX-License-Identifier: Apache-2.0

"""An enrolled machine whose boot Ironic does not manage, and an idle one."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.live import fleet


class UnmanagedTestCase(base.IronTestCase):
    def test_it_boots_the_script_while_another_machine_gets_nothing(
        self,
    ) -> None:
        self.cloud.serve_script(iron_cloud.PROBE_RAMDISK)
        self.addCleanup(self.cloud.serve_script)
        machine = self.small_machine('plain')
        idle = self.small_machine('idle')
        self.create_rules(*fleet.RULES)
        idle_node = self.enroll(idle)
        node = self.enroll(machine, ramdisk={})
        self.start_inspection(node)
        self.set_power(idle_node, 'power on')
        machine.wait_for_console(
            'it loads what the script names', f'/{iron_cloud.PROBE_RAMDISK}...'
        )
        idle.wait_for_console(
            'nothing is there to boot from', 'No bootable device'
        )
        self.assertEqual(0, self.offers(idle))
        self.client.wait_for(idle_node, lambda shown: True)
        self.set_power(idle_node, 'power off')
        self.check_inspected(node, machine)
        self.assertGreater(self.offers(machine), 0)
        idle.wait_until_off()
        shown = self.client.node(idle_node)
        self.assertEqual(
            ('manageable', None),
            (shown['provision_state'], shown['last_error']),
        )
