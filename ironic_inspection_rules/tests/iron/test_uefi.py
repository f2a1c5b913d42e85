# SPDX-License-Identifier: Apache-2.0

"""A machine that Ironic boots by UEFI."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.live import fleet


class UefiTestCase(base.IronTestCase):
    def test_a_machine_is_inspected(self) -> None:
        machine = self.small_machine('modern', uefi=True)
        self.create_rules(
            *fleet.RULES,
            {
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': {
                            'path': '/extra/boot_mode',
                            'value': '{inventory.boot.current_boot_mode}',
                        },
                    }
                ]
            },
        )
        node = self.enroll(
            machine,
            iron_cloud.PROBE,
            properties={'capabilities': 'boot_mode:uefi'},
        )
        self.boot_for_inspection(node, machine)
        shown = self.check_inspected(node, machine)
        self.assertEqual('uefi', shown['extra']['boot_mode'])
