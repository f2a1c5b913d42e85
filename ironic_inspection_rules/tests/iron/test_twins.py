# SPDX-License-Identifier: Apache-2.0

"""Two machines that have the same serial number."""

import json

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.live import fleet

RULES = """\
tables:
  machines:
    file: machines.csv
    key: serial
    of: "{inventory.system_vendor.serial_number}"
rules:
- vars: {row: "{tables.machines | row}"}
  conditions:
  - {op: exists, args: {value: "{vars.row}"}}
  actions:
  - op: set-attribute
    args: {path: /extra/rack, value: "{vars.row.rack}"}
"""

ROWS = """\
serial,rack
ACME-7,r1
"""


class TwinsTestCase(base.IronTestCase):
    def test_a_table_shows_both(self) -> None:
        self.apply(rules_yaml=RULES, machines_csv=ROWS)
        self.create_rules(*fleet.RULES)
        castor = self.inspect('castor')
        findings = self.compare(ends_with=0)
        self.assertEqual([('ACME-7', castor, 'right')], findings)
        pollux = self.inspect('pollux')
        findings = self.compare(ends_with=2)
        self.assertCountEqual(
            [('ACME-7', castor, 'twice'), ('ACME-7', pollux, 'twice')],
            findings,
        )

    def inspect(self, name: str) -> str:
        """Inspect a new machine; return the UUID of its node."""
        machine = self.small_machine(name, serial='ACME-7')
        node = self.enroll(machine, iron_cloud.PROBE)
        self.boot_for_inspection(node, machine)
        shown = self.check_inspected(node, machine)
        self.assertEqual('r1', shown['extra']['rack'])
        return node

    def compare(self, ends_with: int) -> list[tuple[str, str, str]]:
        """Return key, node and state of all that the table has to say."""
        answer = json.loads(
            self.openstack(
                'inspection',
                'table',
                'machines',
                'machines',
                '-f',
                'json',
                ends_with=ends_with,
            )
        )
        return [
            (machine['key'], machine['node'], machine['state'])
            for machine in answer['machines']
        ]
