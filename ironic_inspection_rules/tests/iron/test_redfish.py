# SPDX-License-Identifier: Apache-2.0

"""A machine that its BMC describes, and then its ramdisk."""

import json

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import bmc
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.live import fleet


class RedfishTestCase(base.IronTestCase):
    def test_both_describe_one_machine(self) -> None:
        # Its BMC counts memory in whole GiB.
        machine = self.machine('both', identity=bmc.WITH_STORAGE)
        self.create_rules(*fleet.RULES)
        node = self.enroll(
            machine, iron_cloud.PROBE, inspect_interface='redfish'
        )
        self.start_inspection(node)
        shown = self.wait_until_inspected(node)
        self.assertEqual(
            (None, 'manageable'),
            (shown['last_error'], shown['provision_state']),
        )
        self.client.call(
            'PATCH',
            f'/v1/nodes/{node}',
            [
                {
                    'op': 'replace',
                    'path': '/inspect_interface',
                    'value': 'agent',
                }
            ],
        )
        self.boot_for_inspection(node, machine)
        machine.wait_until_off()
        shown = self.wait_until_inspected(node)
        self.assertEqual(
            (None, 'manageable'),
            (shown['last_error'], shown['provision_state']),
        )
        history = json.loads(
            self.openstack(
                'node', 'inventory', 'history', 'list', 'both', '-f', 'json'
            )
        )
        self.assertEqual(
            ['agent', 'redfish'], [kept['interface'] for kept in history]
        )
        found = json.loads(
            self.openstack(
                'inspection', 'part', 'find', machine.mac, '-f', 'json'
            )
        )
        self.assertEqual({node}, {part['node'] for part in found})
