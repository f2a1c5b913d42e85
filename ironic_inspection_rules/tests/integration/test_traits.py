# SPDX-License-Identifier: Apache-2.0

"""Traits from inspection to deployment, on a real Ironic."""

import json
import time
from typing import Any
import uuid

from ironic_inspection_rules.tests.integration import base


def new_name(kind: str) -> str:
    """A name that no other test uses, also good for a trait."""
    return f'CUSTOM_{kind}_{uuid.uuid4().hex[:8].upper()}'


class TraitsTestCase(base.TestCase):
    overrides = {
        'DEFAULT': {
            'enabled_hardware_types': 'fake-hardware',
            'enabled_boot_interfaces': 'fake',
            'enabled_deploy_interfaces': 'fake,direct',
        }
    }

    def setUp(self):
        super().setUp()
        self.trait = new_name('TRAIT')
        self.resource_class = new_name('CLASS')

    def enroll(
        self, *macs: str, traits: tuple[str, ...] = (), **fields: Any
    ) -> str:
        """Create a manageable node with traits."""
        node = self.client.enroll(
            macs,
            resource_class=self.resource_class,
            automated_clean=False,
            **{'deploy_interface': 'fake', **fields},
        )
        self.client.call(
            'PUT', f'/v1/nodes/{node}/traits', {'traits': list(traits)}
        )
        return node

    def provide(self, node: str) -> None:
        """Make a manageable node available."""
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'provide'}
        )
        self.client.wait_for_state(node, 'available')

    def ask_for(self, node: str, traits: object) -> None:
        """Set the traits that the node's instance asks for."""
        self.client.call(
            'PATCH',
            f'/v1/nodes/{node}',
            [{'op': 'add', 'path': '/instance_info/traits', 'value': traits}],
        )

    def deploy_validation(self, node: str) -> dict[str, Any]:
        """What validating the node says about deploying it."""
        return self.client.call('GET', f'/v1/nodes/{node}/validate')['deploy']

    def deploy(self, node: str, target: str = 'active') -> str | None:
        """Ask for a deployment.

        :returns: why it is refused, None when it is not.
        """
        answer = self.client.put(
            f'/v1/nodes/{node}/states/provision', json={'target': target}
        )
        if answer.status_code == 202:
            return None
        self.assertEqual(400, answer.status_code, answer.text)
        return json.loads(answer.json()['error_message'])['faultstring']

    def test_from_inspection_to_deployment(self):
        mac = base.new_mac()
        scope = new_name('SCOPE')
        node = self.enroll(mac, properties={'inspection_scope': scope})
        rule = self.client.call(
            'POST',
            '/v1/inspection_rules',
            {
                'scope': scope,
                'conditions': [
                    {'op': 'ge', 'args': ['{inventory[cpu][count]}', 4]}
                ],
                'actions': [{'op': 'add-trait', 'args': [self.trait]}],
            },
        )
        self.addCleanup(
            self.client.call, 'DELETE', f'/v1/inspection_rules/{rule["uuid"]}'
        )

        self.client.inspect(node, base.ramdisk_data(mac))
        found = self.client.call(
            'GET', f'/v1/nodes?traits={self.trait}&fields=uuid'
        )['nodes']
        self.assertEqual([node], [each['uuid'] for each in found])

        self.provide(node)
        self.assertEqual(node, self.allocate()['node_uuid'])

        self.assertTrue(self.deploy_validation(node)['result'])
        self.ask_for(node, [self.trait, 'CUSTOM_OTHER'])
        validation = self.deploy_validation(node)
        self.assertFalse(validation['result'])
        self.assertIn('CUSTOM_OTHER', validation['reason'])
        self.assertNotIn(self.trait, validation['reason'])
        self.assertIn('CUSTOM_OTHER', self.deploy(node))

        self.ask_for(node, [self.trait])
        self.assertIsNone(self.deploy(node))
        self.client.wait_for_state(node, 'active')

        self.ask_for(node, ['CUSTOM_OTHER'])
        self.assertIn('CUSTOM_OTHER', self.deploy(node, 'rebuild'))
        self.assertEqual('active', self.client.node(node)['provision_state'])

    def allocate(self) -> dict[str, Any]:
        """Find a node with the trait through an allocation."""
        allocation = self.client.call(
            'POST',
            '/v1/allocations',
            {'traits': [self.trait], 'resource_class': self.resource_class},
        )
        deadline = time.monotonic() + 60
        while allocation['state'] == 'allocating':
            self.assertLess(time.monotonic(), deadline, allocation)
            time.sleep(0.1)
            allocation = self.client.call(
                'GET', f'/v1/allocations/{allocation["uuid"]}'
            )
        self.assertEqual('active', allocation['state'], allocation)
        return allocation

    def test_a_refused_deployment_changes_nothing(self):
        node = self.enroll(traits=(self.trait,))
        self.provide(node)
        self.ask_for(node, ['CUSTOM_OTHER'])
        before = self.client.node(node)
        self.assertIn('CUSTOM_OTHER', self.deploy(node))
        after = self.client.node(node)
        # The lock that the request took has been let go of.
        del before['updated_at'], after['updated_at']
        self.assertEqual(before, after)

    def test_wrong_types_and_names_are_told_from_missing_ones(self):
        node = self.enroll(traits=(self.trait,))
        for traits, message in (
            (self.trait, 'must be a list'),
            ('', 'must be a list'),
            ({self.trait: True}, 'must be a list'),
            ([self.trait, 7], 'must be a string, not 7'),
            (['custom_other'], "'custom_other' is not the name"),
        ):
            self.ask_for(node, traits)
            validation = self.deploy_validation(node)
            self.assertFalse(validation['result'], traits)
            self.assertIn(message, validation['reason'])

    def test_any_deploy_interface_is_told_what_is_missing(self):
        node = self.enroll(deploy_interface='direct')
        self.provide(node)
        self.ask_for(node, [self.trait])
        reason = self.deploy_validation(node)['reason']
        self.assertIn(self.trait, reason)
        self.assertIn('image_source', reason)
        self.assertIn(self.trait, self.deploy(node))

    def test_an_instance_that_asks_for_no_traits_is_deployed(self):
        node = self.enroll()
        self.provide(node)
        for traits in (None, []):
            self.ask_for(node, traits)
            self.assertTrue(
                self.deploy_validation(node)['result'], repr(traits)
            )
        self.assertIsNone(self.deploy(node))
        self.client.wait_for_state(node, 'active')
