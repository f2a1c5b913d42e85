# SPDX-License-Identifier: Apache-2.0

"""Two boots of one machine, with a disk swapped between them."""

import json
import pathlib

import fixtures

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import machine as iron_machine
from ironic_inspection_rules.tests.live import fleet

RECALLED = 'BROKEN is recalled'
RULES = f"""\
- description: No disk that is recalled
  conditions:
  - op: eq
    loop: "{{inventory.disks}}"
    multiple: any
    args: {{values: ["{{item.serial}}", BROKEN]}}
  actions:
  - {{op: fail, args: {{msg: {RECALLED}}}}}
"""


class SwapTestCase(base.IronTestCase):
    def test_history_shows_the_disk_that_came_and_the_one_that_went(
        self,
    ) -> None:
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
            {
                ('gone', f'0x{iron_machine.wwn("BROKEN")}'),
                ('new', f'0x{iron_machine.wwn("SPARE")}'),
            },
            {(change['what'], change['id']) for change in changes},
        )
        for serial in ('BROKEN', 'SPARE', 'SYSTEM'):
            found = self.show('inspection', 'part', 'find', serial)
            self.assertEqual([node], [part['node'] for part in found], serial)
        self.check_replay()
        later, earlier = kept
        self.check_without_ironic(earlier['uuid'], ends_with=2)
        self.check_without_ironic(later['uuid'], ends_with=0)

    def check_replay(self) -> None:
        """Evaluate both inspections again, by old rules and by another."""
        replay = ('inspection', 'rule', 'replay')
        found = self.show(*replay)
        self.assertEqual(
            {
                'same': 2,
                'different': 0,
                'incomparable': 0,
                'error': 0,
                'reasons': {},
                'runs': [],
            },
            found,
        )
        found = self.show(*replay, self.rule_file(), ends_with=2)
        self.assertEqual((1, 1), (found['same'], found['different']))
        (run,) = found['runs']
        self.assertIn(RECALLED, run['now']['error'])
        self.assertIsNone(run['then']['error'])

    def check_without_ironic(self, inventory: str, ends_with: int) -> None:
        """Try a rule on what an inspection has found, in a file."""
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'machine.json'
        )
        path.write_text(
            self.openstack(
                'node', 'inventory', 'history', 'show', 'mended', inventory
            )
        )
        output = self.run_program(
            'ironic-inspection-rules',
            'test',
            self.rule_file(),
            '--inventory',
            str(path),
            ends_with=ends_with,
        )
        self.assertEqual(ends_with == 2, RECALLED in output, output)

    def rule_file(self) -> str:
        """Write RULES; return the name of the file."""
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'rules.yaml'
        )
        path.write_text(RULES)
        return str(path)

    def show(self, *command: str, ends_with: int = 0):
        """Return what a command says as JSON."""
        return json.loads(
            self.openstack(*command, '-f', 'json', ends_with=ends_with)
        )
