# SPDX-License-Identifier: Apache-2.0

"""ironic-inspector's client, as it is, and the rules it brings."""

import json
import pathlib
import subprocess

import fixtures
import ironic_inspector_client

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.live import service

RULES = [
    {
        'description': 'Remember the vendor',
        'conditions': [
            {
                'field': 'data://inventory.system_vendor.manufacturer',
                'op': 'is-empty',
                'invert': True,
            },
            {'field': 'node://extra.vendor', 'op': 'is-empty'},
        ],
        'actions': [
            {
                'action': 'set-attribute',
                'path': 'extra/vendor',
                'value': '{data[inventory][system_vendor][manufacturer]}',
            },
            {'action': 'set-capability', 'name': 'known', 'value': 'yes'},
        ],
    },
    {
        'description': 'Nothing is known before the first action',
        'conditions': [
            {'field': 'node://extra.vendor', 'op': 'is-empty', 'invert': True}
        ],
        'actions': [
            {'action': 'set-attribute', 'path': 'extra/late', 'value': True}
        ],
    },
]


class InspectorClientTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.client.call, 'DELETE', '/v1/rules')

    def openstack(self, *arguments: str) -> str:
        done = subprocess.run(
            [
                *service.console_script('openstack'),
                '--os-auth-type',
                'none',
                '--os-endpoint',
                self.ironic.url,
                '--inspector-url',
                self.ironic.url,
                'baremetal',
                'introspection',
                'rule',
                *arguments,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_commands_from_import_to_purge(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'r')
        path.write_text(json.dumps(RULES))
        first, second = json.loads(
            self.openstack('import', '-f', 'json', str(path))
        )
        self.assertEqual(RULES[0]['description'], first['Description'])
        self.assertEqual(
            [first, second], json.loads(self.openstack('list', '-f', 'json'))
        )
        shown = json.loads(self.openstack('show', '-f', 'json', first['UUID']))
        self.assertEqual(RULES[0]['actions'], shown['actions'])
        self.openstack('delete', second['UUID'])
        self.openstack('purge')
        self.assertEqual([], json.loads(self.openstack('list', '-f', 'json')))

    def test_rules_run_as_they_did(self) -> None:
        client = ironic_inspector_client.ClientV1(
            api_version=(1, 18), inspector_url=self.ironic.url
        )
        for rule in RULES:
            client.rules.from_json(rule)
        node = self.inspect()
        self.assert_inspected(node)
        vendor = base.ramdisk_data(base.new_mac())['inventory'][
            'system_vendor'
        ]['manufacturer']
        self.assertEqual({'vendor': vendor}, node['extra'])
        self.assertEqual('known:yes', node['properties']['capabilities'])

    def test_an_inspection_is_begun_followed_and_read(self) -> None:
        client = ironic_inspector_client.ClientV1(
            api_version=(1, 18), inspector_url=self.ironic.url
        )
        mac = base.new_mac()
        node = self.client.enroll([mac])
        error = self.assertRaises(
            ironic_inspector_client.ClientError, client.get_status, node
        )
        self.assertIn('never inspected', str(error))
        client.introspect(node)
        self.client.wait_for_state(node, 'inspect wait')
        status = client.get_status(node)
        self.assertEqual(
            ('waiting', False, None),
            (status['state'], status['finished'], status['error']),
        )
        self.client.call(
            'POST',
            f'/v1/continue_inspection?node_uuid={node}',
            base.ramdisk_data(mac),
        )
        self.client.wait_for_state(node, 'manageable')
        status = client.get_status(node)
        self.assertEqual(
            ('finished', True, None),
            (status['state'], status['finished'], status['error']),
        )
        self.assertEqual(node, client.list_statuses()[0]['uuid'])
        self.assertEqual(4, client.get_data(node)['inventory']['cpu']['count'])

    def test_an_inspection_is_aborted(self) -> None:
        client = ironic_inspector_client.ClientV1(
            api_version=(1, 18), inspector_url=self.ironic.url
        )
        node = self.client.enroll([base.new_mac()])
        client.introspect(node)
        self.client.wait_for_state(node, 'inspect wait')
        client.abort(node)
        self.client.wait_for_state(node, 'inspect failed')
        status = client.get_status(node)
        self.assertEqual(
            ('error', True), (status['state'], status['finished'])
        )
        self.assertTrue(status['error'])

    def test_an_error_is_told_to_the_user(self) -> None:
        client = ironic_inspector_client.ClientV1(
            inspector_url=self.ironic.url
        )
        error = self.assertRaises(
            ironic_inspector_client.ClientError,
            client.rules.create,
            [{'op': 'eq', 'field': 'a b', 'value': 1}],
            [{'action': 'fail', 'message': 'no'}],
        )
        self.assertIn('/conditions/0/field', str(error))
        self.assertNotIn('Ironic-style', str(error))
