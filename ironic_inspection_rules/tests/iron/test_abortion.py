# SPDX-License-Identifier: Apache-2.0

"""An operator aborts an inspection while the machine boots."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.live import fleet


class AbortionTestCase(base.IronTestCase):
    def test_it_is_powered_off_and_inspected_anew(self) -> None:
        machine = self.small_machine('aborted')
        self.create_rules(*fleet.RULES)
        silent = iron_cloud.PROBE | {
            'kernel_append_params': '%default% probe-silent'
        }
        node = self.enroll(machine, silent)
        self.start_inspection(node)
        self.client.wait_for_state(node, 'inspect wait')
        machine.wait_for_console('it is in the ramdisk', 'kernel has started')
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'abort'}
        )
        shown = self.wait_until_inspected(node)
        self.assertEqual('inspect failed', shown['provision_state'])
        machine.wait_until_off()
        self.assertEqual(
            [],
            self.client.call('GET', f'/v1/inspection_requests?node={node}')[
                'inspection_requests'
            ],
        )
        self.assertNotIn('marks', shown['extra'])
        self.client.call(
            'PATCH',
            f'/v1/nodes/{node}',
            [{'op': 'remove', 'path': '/driver_info/kernel_append_params'}],
        )
        self.start_inspection(node)
        self.client.wait_for_state(node, 'inspect wait')
        self.check_inspected(node, machine)
