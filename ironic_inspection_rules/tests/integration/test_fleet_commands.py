# SPDX-License-Identifier: Apache-2.0

"""The commands for many nodes, with the clients that operators have."""

import json
import pathlib
import subprocess
from typing import Any

import fixtures

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action
from ironic_inspection_rules.tests.live import service

_BIG = {'op': 'ge', 'args': {'values': ['{inventory[cpu][count]}', 4]}}


class FleetCommandsTestCase(base.TestCase):
    """``evaluate --nodes`` and ``data export``."""

    def setUp(self) -> None:
        super().setUp()
        self.scratch = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def openstack(self, *arguments: str, ends_with: int = 0) -> str:
        done = subprocess.run(
            [
                *service.console_script('openstack'),
                '--os-auth-type',
                'none',
                '--os-endpoint',
                self.ironic.url,
                'baremetal',
                'inspection',
                *arguments,
            ],
            capture_output=True,
            text=True,
            cwd=self.scratch,
        )
        self.assertEqual(ends_with, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_a_fleet_is_tried_as_each_of_its_machines(self) -> None:
        nodes = [
            self.inspect(resource_class='fleet')['uuid']
            for _number in range(2)
        ]
        self.create_rule(
            action('add-trait', name='CUSTOM_FLEET'),
            conditions=[_BIG],
            description='Tag',
        )
        of_fleet = ('rule', 'evaluate', '--nodes', 'resource_class=fleet')
        told = json.loads(self.openstack(*of_fleet, '-f', 'json'))
        self.assertEqual(
            sorted(nodes), sorted(node['uuid'] for node in told['nodes'])
        )
        for node in told['nodes']:
            alone: dict[str, Any] = self.client.call(
                'POST', '/v1/inspection_rules/evaluate', {'node': node['uuid']}
            )
            self.assertEqual(
                (
                    alone['result'],
                    alone['changes'],
                    [
                        rule['uuid']
                        for rule in alone['rules']
                        if rule['matched']
                    ],
                ),
                (node['result'], node['changes'], node['matched']),
            )
            self.assertEqual('fleet', node['resource_class'])
        self.assertEqual(
            {'gained': {'CUSTOM_FLEET': 2}, 'lost': {}},
            told['summary']['traits'],
        )
        self.openstack('rule', 'export', 'rules.yaml')
        compared = (*of_fleet, '--rules', 'rules.yaml', '--report', 'a.html')
        self.openstack(*compared)
        rules = self.scratch / 'rules.yaml'
        rules.write_text(rules.read_text().replace('_FLEET', '_FLOTILLA'))
        text = self.openstack(*compared, ends_with=2)
        self.assertIn('CUSTOM_FLOTILLA', text)
        self.assertIn(
            'CUSTOM_FLOTILLA', self.scratch.joinpath('a.html').read_text()
        )

    def test_what_is_exported_says_nothing_of_its_machine(self) -> None:
        data = base.ramdisk_data(base.new_mac())
        data['inventory']['system_vendor']['serial_number'] = 'CANARY4711'
        node = self.inspect(data, name='canary-node', resource_class='coal')
        self.openstack(
            'data', 'export', 'out', 'resource_class=coal', '--anonymize'
        )
        (file,) = self.scratch.joinpath('out').iterdir()
        text = file.name + file.read_text()
        for canary in (
            'CANARY',
            'canary',
            node['uuid'],
            'example',
            data['inventory']['interfaces'][0]['mac_address'],
        ):
            self.assertNotIn(canary, text)
        self.assertIn('Example CPU', text)
