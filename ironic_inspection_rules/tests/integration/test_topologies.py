# SPDX-License-Identifier: Apache-2.0

"""Other ways to run Ironic than all in one, and other databases."""

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import fixtures
from ironic_inspection_rules.tests.integration.base import action
from ironic_inspection_rules.tests.live import client as live_client
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options


class TopologyTestCase(base.IntegrationTestCase):
    """The same course of events, whatever Ironic is made of."""

    def check(self, ironic: launcher.Ironic) -> None:
        """Fail unless rules work from their making to their removal."""
        with ironic.client() as client:
            mac = base.new_mac()
            data = base.ramdisk_data(mac)
            node = client.enroll([mac])
            rule = client.call(
                'POST',
                '/v1/inspection_rules',
                {
                    'phase': 'early',
                    'actions': [
                        action(
                            'set-plugin-data',
                            '/cpus',
                            '{inventory[cpu][count]}',
                        )
                    ],
                },
            )
            for name in ('a', 'b'):
                client.call(
                    'POST',
                    '/v1/inspection_rules',
                    {
                        'actions': [
                            action(
                                'set-attribute',
                                f'/extra/{name}',
                                '{plugin_data[cpus]}',
                            ),
                            action('add-trait', 'CUSTOM_A'),
                        ]
                    },
                )
            inspected = client.inspect(node, data)
            self.assertIsNone(inspected['last_error'])
            self.assertEqual({'a': 4, 'b': 4}, inspected['extra'])
            self.assertEqual(['CUSTOM_A'], client.traits(node))
            self.check_fleet(client, node)
            path = f'/v1/inspection_rules/{rule["uuid"]}'
            client.call(
                'PATCH',
                path,
                [
                    {
                        'op': 'replace',
                        'path': '/actions',
                        'value': [action('fail', 'no')],
                    }
                ],
            )
            client.start_inspection(node)
            self.assertEqual(
                400,
                client.post('/v1/continue_inspection', json=data).status_code,
            )
            page = client.call('GET', '/v1/inspection_rules?limit=2')
            self.assertEqual(2, len(page['inspection_rules']))
            self.assertEqual(
                1, len(client.call('GET', page['next'])['inspection_rules'])
            )
            client.call('DELETE', path)
            self.assertEqual(404, client.get(path).status_code)
            client.call('DELETE', '/v1/inspection_rules')
            self.assertEqual(
                {'inspection_rules': []},
                client.call('GET', '/v1/inspection_rules'),
            )

    def check_fleet(self, client: live_client.Client, node: str) -> None:
        """Fail unless a fleet of one is told what its node is told alone."""
        url = '/v1/inspection_rules/evaluate'
        asked = {
            'rules': [
                {
                    'actions': [
                        action(
                            'set-port-attribute',
                            '{ports[0].address}',
                            '/extra/node',
                            '{ports[0].node_uuid}',
                        )
                    ]
                }
            ]
        }
        alone = client.call('POST', url, {'node': node, **asked})
        for nodes in ({}, [node]):
            told = client.call('POST', url, {'nodes': nodes, **asked})
            self.assertIsNone(told['next'], repr(nodes))
            self.assertEqual(
                [(node, None, alone['changes'])],
                [
                    (entry['uuid'], entry['error'], entry['changes'])
                    for entry in told['nodes']
                ],
            )
        self.assertEqual(1, len(alone['changes']))

    def check_split(
        self, kind: str, overrides: options.Options | None = None
    ) -> None:
        """Check separate services over a database server of some kind."""
        if reason := database.why_absent(kind):
            self.skipTest(reason)
        server = self.useFixture(database.Database(kind, ready=False))
        url = server.engine.url.render_as_string(hide_password=False)
        self.check(self.useFixture(fixtures.Split(url, overrides)).ironic)

    def test_json_rpc_over_mysql(self) -> None:
        self.check_split('mysql')

    def test_json_rpc_over_postgresql(self) -> None:
        self.check_split('postgresql')

    def test_objects_over_rpc(self) -> None:
        bus = self.useFixture(fixtures.MessageBus())
        self.check_split(
            'mysql',
            {
                'DEFAULT': {
                    'rpc_transport': 'oslo',
                    'rpc_response_timeout': 5,
                    'transport_url': bus.url,
                    'use_rpc_for_database': True,
                }
            },
        )

    def test_basic_authentication(self) -> None:
        ironic = self.useFixture(
            fixtures.AllInOne(auth=('admin', 'pa55'))
        ).ironic
        self.check(ironic)
        ironic.auth = None
        with ironic.client() as nobody:
            for method in ('GET', 'POST', 'DELETE'):
                answer = nobody.request(method, '/v1/inspection_rules')
                self.assertEqual(401, answer.status_code)
