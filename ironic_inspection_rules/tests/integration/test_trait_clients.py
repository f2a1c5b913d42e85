# SPDX-License-Identifier: Apache-2.0

"""Traits by the clients that operators have, and by ours."""

import json
import subprocess
import uuid

from openstack import connection

from ironic_inspection_rules.kit.client import trait
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.live import service


class TraitClientsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        own = f'CUSTOM_{uuid.uuid4().hex.upper()}'
        self.red, self.blue = f'{own}_RED', f'{own}_BLUE'
        self.prefix = own
        self.nodes = [
            self.client.call('POST', '/v1/nodes', {'driver': 'fake-hardware'})[
                'uuid'
            ]
            for _number in range(3)
        ]

    def openstack(self, *arguments: str) -> str:
        done = subprocess.run(
            [
                *service.console_script('openstack'),
                '--os-auth-type',
                'none',
                '--os-endpoint',
                self.ironic.url,
                'baremetal',
                *arguments,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_the_command_line(self):
        both, red, _bare = self.nodes
        self.openstack('node', 'add', 'trait', both, self.red, self.blue)
        self.openstack('node', 'add', 'trait', red, self.red)
        found = json.loads(
            self.openstack(
                'node',
                'trait',
                'find',
                '--trait',
                self.red,
                '--not-trait-any',
                self.blue,
                '--fields',
                'uuid',
                'traits',
                '-f',
                'json',
            )
        )
        self.assertEqual([{'UUID': red, 'Traits': [self.red]}], found)
        self.assertEqual(
            [{'Name': self.blue, 'Nodes': 1}, {'Name': self.red, 'Nodes': 2}],
            json.loads(
                self.openstack(
                    'trait',
                    'list',
                    '--name',
                    f'startswith:{self.prefix}',
                    '-f',
                    'json',
                )
            ),
        )
        self.openstack('node', 'remove', 'trait', '--all', both)
        self.assertEqual(
            '', self.openstack('node', 'trait', 'list', both, '-f', 'value')
        )

    def test_python(self):
        cloud = connection.Connection(
            auth_type='none',
            endpoint=self.ironic.url,
            baremetal_endpoint_override=self.ironic.url,
        )
        self.addCleanup(cloud.close)
        baremetal = cloud.baremetal
        for node in self.nodes:
            baremetal.set_node_traits(node, [self.red])
        baremetal.add_node_trait(self.nodes[0], self.blue)
        self.assertTrue(baremetal.remove_node_trait(self.nodes[2], self.red))
        self.assertEqual(
            self.nodes[:2],
            [
                node.id
                for node in trait.nodes(baremetal, traits=[self.red], limit=1)
            ],
        )
        self.assertEqual(
            self.nodes[1:2],
            [
                node.id
                for node in trait.nodes(
                    baremetal,
                    details=True,
                    traits=[self.red],
                    not_traits_any=[self.blue],
                )
            ],
        )
        self.assertEqual(
            [{'name': self.blue, 'nodes': 1}, {'name': self.red, 'nodes': 2}],
            trait.traits(baremetal, f'startswith:{self.prefix}'),
        )
