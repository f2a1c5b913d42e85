# SPDX-License-Identifier: Apache-2.0

"""A machine is deployed when it has the traits of its instance."""

import hashlib

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import dhcp
from ironic_inspection_rules.tests.iron import disk_image
from ironic_inspection_rules.tests.live import fleet

LACKS = 'the node lacks traits of instance_info/traits: CUSTOM_OTHER'


class DeploymentTestCase(base.IronTestCase):
    def test_a_missing_trait_is_in_the_way(self) -> None:
        machine = self.machine('taken')
        self.create_rules(
            *fleet.RULES,
            {
                'actions': [
                    {'op': 'add-trait', 'args': {'name': 'CUSTOM_FAST'}}
                ]
            },
        )
        # The probe finds all that a deployment needs to know.
        node = self.enroll(machine, iron_cloud.PROBE)
        self.boot_for_inspection(node, machine)
        self.check_inspected(node, machine)
        self.set_target(node, 'provide')
        self.client.wait_for_state(node, 'available')
        self.patch(
            node,
            {
                'driver_info/deploy_ramdisk': iron_cloud.AGENT[
                    'deploy_ramdisk'
                ],
                'instance_info': self.instance_info(),
            },
        )
        self.check_it_is_refused(node)
        self.assertFalse(machine.is_on)
        self.patch(node, {'instance_info/traits': ['CUSTOM_FAST']})
        self.check_it_is_deployed(node, machine)

    def instance_info(self) -> base.Json:
        """Describe an instance that wants more traits than the node has."""
        image = disk_image.build()
        return {
            'image_source': self.cloud.publish('disk.raw', image),
            'image_checksum': hashlib.sha256(image).hexdigest(),
            'image_disk_format': 'raw',
            'image_type': 'whole-disk',
            'traits': ['CUSTOM_FAST', 'CUSTOM_OTHER'],
        }

    def check_it_is_refused(self, node: str) -> None:
        """Fail unless nothing but a trait is in the way."""
        validation = self.client.call('GET', f'/v1/nodes/{node}/validate')
        self.assertEqual(
            {'result': False, 'reason': LACKS}, validation['deploy']
        )
        answer = self.client.put(
            f'/v1/nodes/{node}/states/provision', json={'target': 'active'}
        )
        self.assertEqual(400, answer.status_code, answer.text)
        self.assertIn(LACKS, answer.text)
        shown = self.client.node(node)
        self.assertEqual(
            ('available', None),
            (shown['provision_state'], shown['reservation']),
        )

    def check_it_is_deployed(self, node: str, machine) -> None:
        """Deploy a machine; fail unless its disk boots then."""
        offers = self.offers(machine)
        self.useFixture(
            dhcp.OpenHost(
                self.cloud.bridge, len(self.cloud.hosts) + 1, machine.mac
            )
        )
        self.set_target(node, 'active')
        shown = self.client.wait_for_state(node, 'active', 'deploy failed')
        self.assertEqual(
            (None, 'active'), (shown['last_error'], shown['provision_state'])
        )
        machine.wait_for_console('its disk boots', disk_image.BOOTED)
        self.assertEqual(offers, self.offers(machine))

    def set_target(self, node: str, target: str) -> None:
        """Have Ironic bring a node into another provision state."""
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': target}
        )

    def patch(self, node: str, values: base.Json) -> None:
        """Set fields of a node, by their path."""
        self.client.call(
            'PATCH',
            f'/v1/nodes/{node}',
            [
                {'op': 'add', 'path': f'/{path}', 'value': value}
                for path, value in values.items()
            ],
        )
