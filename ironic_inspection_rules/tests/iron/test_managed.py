# SPDX-License-Identifier: Apache-2.0

"""A machine that Ironic boots by BIOS, by its address."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import fleet

FACTS = {
    'resource_class': 'metal-{inventory.cpu.count}c',
    'extra/serial': '{inventory.system_vendor.serial_number}',
    'extra/booted_from': '{inventory.boot.pxe_interface}',
    'extra/boot_mode': '{inventory.boot.current_boot_mode}',
    'extra/disk': '{inventory.disks[0].serial}',
}


class ManagedTestCase(base.IronTestCase):
    def test_a_machine_is_inspected_and_then_left_alone(self) -> None:
        machine = self.machine('metal')
        self.create_rules(
            *fleet.RULES,
            {
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': {'path': f'/{path}', 'value': value},
                    }
                    for path, value in FACTS.items()
                ]
            },
        )
        self.create_rules(
            {
                'conditions': [
                    {
                        'op': 'eq',
                        'loop': '{plugin_data.pci_devices}',
                        'multiple': 'any',
                        'args': {'values': ['{item.vendor_id}', '1af4']},
                    }
                ],
                'actions': [
                    {'op': 'add-trait', 'args': {'name': 'CUSTOM_VIRTIO'}}
                ],
            }
        )
        node = self.enroll(machine)
        self.boot_for_inspection(node, machine)
        shown = self.check_inspected(node, machine)
        self.assertEqual('metal-1c', shown['resource_class'])
        facts = {
            'serial': 'metal',
            'booted_from': machine.mac,
            'boot_mode': 'bios',
            'disk': 'DISK-metal',
        }
        self.assertEqual(facts, {name: shown['extra'][name] for name in facts})
        self.assertEqual(['CUSTOM_VIRTIO'], self.client.traits(node))
        self.check_reapplication(node, machine)
        self.check_it_does_not_boot(node, machine)

    def check_reapplication(self, node, machine) -> None:
        """Process the data again; the machine stays off."""
        self.client.call('POST', f'/v1/nodes/{node}/inventory/reapply')
        waiting.wait_for(
            'its data are processed again',
            lambda: len(self.client.node(node)['extra']['marks']) == 4,
        )
        self.check_inspected(node, machine, times=2)

    def check_it_does_not_boot(self, node, machine) -> None:
        """Power it on while it is not in inspection."""
        before = len(machine.console())
        offers = self.offers(machine)
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/power', {'target': 'power on'}
        )
        machine.wait_for_console(
            'nothing is there to boot from', 'No bootable device', before
        )
        self.assertEqual(offers, self.offers(machine))
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/power', {'target': 'power off'}
        )
        machine.wait_until_off()
