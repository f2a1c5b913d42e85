# SPDX-License-Identifier: Apache-2.0

"""Two boots of one machine, with a disk swapped between them."""

import json

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import machine as iron_machine
from ironic_inspection_rules.tests.live import fleet


class SwapTestCase(base.IronTestCase):

    def test_history_shows_the_disk_that_came_and_the_one_that_went(
            self) -> None:
        machine = self.machine('mended', disks=('SYSTEM', 'BROKEN'))
        self.create_rules(*fleet.RULES)
        node = self.enroll(machine)
        self.boot_for_inspection(node, machine)
        self.check_inspected(node, machine)
        machine.swap_disks('SYSTEM', 'SPARE')
        self.boot_for_inspection(node, machine)
        self.check_inspected(node, machine, times=2)
        kept = self.show('node', 'inventory', 'history', 'list', 'mended')
        self.assertEqual(2, len(kept))
        changes = self.show('node', 'inventory', 'history', 'diff', 'mended')
        self.assertEqual(
            {('gone', f'0x{iron_machine.wwn("BROKEN")}'),
             ('new', f'0x{iron_machine.wwn("SPARE")}')},
            {(change['what'], change['id']) for change in changes})
        for serial in ('BROKEN', 'SPARE', 'SYSTEM'):
            found = self.show('inspection', 'part', 'find', serial)
            self.assertEqual([node], [part['node'] for part in found], serial)

    def show(self, *command):
        return json.loads(self.openstack(*command, '-f', 'json'))
