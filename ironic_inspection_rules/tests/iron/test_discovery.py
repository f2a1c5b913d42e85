# SPDX-License-Identifier: Apache-2.0

"""A machine that nobody has enrolled."""

import uuid

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import bmc
from ironic_inspection_rules.tests.iron import waiting

RULES = """\
tables:
  machines:
    file: machines.csv
    key: serial
    of: "{inventory.system_vendor.serial_number}"
    secret: [password]
rules:
- description: Who it is, and how to reach its BMC
  sensitive: true
  vars: {row: "{tables.machines | row}"}
  conditions:
  - {op: is-true, args: {value: "{node.auto_discovered}"}}
  - {op: exists, args: {value: "{vars.row}"}}
  actions:
  - op: set-attribute
    args: {path: /name, value: "{vars.row.name}"}
  - op: set-attribute
    args: {path: /driver, value: redfish}
  - op: set-attribute
    args: {path: /driver_info/redfish_address, value: "{vars.row.address}"}
  - op: set-attribute
    args: {path: /driver_info/redfish_system_id, value: "{vars.row.system}"}
  - op: set-attribute
    args: {path: /driver_info/redfish_username, value: "{vars.row.user}"}
  - op: set-attribute
    args:
      path: /driver_info/redfish_password
      value: "{vars.row.password}"
"""


class DiscoveryTestCase(base.IronTestCase):
    def test_it_is_powered_off_by_the_bmc_that_a_table_has(self) -> None:
        machine = self.machine('unknown', serial='ACME-1')
        rows = [
            'serial,name,address,system,user,password',
            _row('ACME-2', 'rack-other', str(uuid.uuid4())),
            _row(machine.serial, 'rack-unknown', machine.uuid),
        ]
        self.apply(rules_yaml=RULES, machines_csv='\n'.join(rows))
        machine.power_on()
        machine.wait_for_console('the ramdisk runs', 'the network is there')
        waiting.wait_for(
            'rack-unknown is enrolled',
            lambda: self.client.get('/v1/nodes/rack-unknown').ok,
        )
        machine.wait_until_off()
        node = self.client.wait_for(
            'rack-unknown', lambda shown: shown['power_state'] == 'power off'
        )
        self.assertEqual(
            ('redfish', 'enroll', None),
            (node['driver'], node['provision_state'], node['last_error']),
        )
        self.assertEqual(
            self.cloud.bmc.driver_info(machine.uuid)
            | {'redfish_password': '******'},
            node['driver_info'],
        )
        self.assertEqual(
            node['uuid'], self.client.port(machine.mac)['node_uuid']
        )
        for log in self.cloud.logs().values():
            self.assertNotIn(bmc.PASSWORD, log)


def _row(serial: str, name: str, system: str) -> str:
    """Return the row of a machine."""
    return (
        f'{serial},{name},{bmc.URL},/redfish/v1/Systems/{system},'
        f'{bmc.USER},{bmc.PASSWORD}'
    )
