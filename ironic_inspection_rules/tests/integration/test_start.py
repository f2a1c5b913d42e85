# SPDX-License-Identifier: Apache-2.0

"""What a service needs at its start: tables and a good file of rules."""

import pathlib

import fixtures
import yaml

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import fixtures as ironics
from ironic_inspection_rules.tests.integration.base import action
from ironic_inspection_rules.tests.live import client as live_client
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import service

_COMMAND = 'ironic-inspection-rules-dbsync'


class StartTestCase(base.IntegrationTestCase):
    """An Ironic of its own that is about to start."""

    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.ironic = launcher.Ironic(self.directory)
        self.addCleanup(self.ironic.stop)

    def start(self) -> str:
        """Start Ironic and stop it, whether it comes up or not.

        :returns: what it logged.
        """
        try:
            self.ironic.start()
        except service.LaunchError:
            pass
        logged = self.ironic.services[0].output()
        self.ironic.stop()
        return logged


class TablesTestCase(StartTestCase):
    """A service that starts before the tables are made or upgraded."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.run('ironic-dbsync', 'create_schema')

    def test_it_names_the_command_that_makes_them(self) -> None:
        self.assertIn(_COMMAND, self.start())
        self.ironic.run(_COMMAND, 'create_schema')
        self.assertNotIn(_COMMAND, self.start())


class BuiltInTestCase(StartTestCase):
    """Rules from a file."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.database_file.write_bytes(ironics.empty_database())
        self.path = self.directory / 'rules.yaml'
        self.ironic.options['inspection_rules'] = {'built_in': self.path}

    def test_a_bad_file_stops_it_with_file_rule_and_reason(self) -> None:
        self.path.write_text(
            yaml.safe_dump(
                [
                    {'description': 'good', 'actions': [action('log', 'a')]},
                    {
                        'description': 'odd one',
                        'actions': [action('set-atribute', '/extra/a', 1)],
                    },
                ]
            )
        )
        self.assertRaises(service.LaunchError, self.ironic.start)
        line = next(
            line
            for line in self.ironic.logs().splitlines()
            if str(self.path) in line
        )
        self.assertIn('odd one', line)
        self.assertIn('set-atribute', line)
        self.assertEqual(1, self.ironic.services[0].process.wait(timeout=60))

    def test_a_missing_file_stops_it(self) -> None:
        self.assertRaises(service.LaunchError, self.ironic.start)
        self.assertIn(str(self.path), self.ironic.logs())

    def test_rules_of_the_file_run_and_cannot_be_changed(self) -> None:
        self.path.write_text(
            yaml.safe_dump(
                [
                    {
                        'uuid': 'last',
                        'priority': -5,
                        'actions': [
                            action('extend-attribute', '/extra/order', 'last')
                        ],
                    },
                    {
                        'uuid': 'built-in',
                        'description': 'from the file',
                        'actions': [
                            action('extend-attribute', '/extra/order', 'file')
                        ],
                    },
                    {
                        'uuid': 'first',
                        'priority': 20000,
                        'actions': [
                            action('extend-attribute', '/extra/order', 'first')
                        ],
                    },
                ]
            )
        )
        self.ironic.start()
        client = self.ironic.client()
        self.addCleanup(client.close)
        client.call(
            'POST',
            '/v1/inspection_rules',
            {
                'actions': [
                    action('extend-attribute', '/extra/order', 'stored')
                ]
            },
        )
        mac = base.new_mac()
        data = base.ramdisk_data(mac)
        node = client.enroll([mac])
        self.assertEqual(
            ['first', 'file', 'stored', 'last'],
            client.inspect(node, data)['extra']['order'],
        )
        self._check_read_only(client)
        shown = client.call('GET', '/v1/inspection_rules')
        self.ironic.restart()
        self.assertEqual(
            [rule['uuid'] for rule in shown['inspection_rules']],
            [
                rule['uuid']
                for rule in client.call('GET', '/v1/inspection_rules')[
                    'inspection_rules'
                ]
            ],
        )

    def _check_read_only(self, client: live_client.Client) -> None:
        client.call('DELETE', '/v1/inspection_rules')
        rules = client.call('GET', '/v1/inspection_rules?detail=true')[
            'inspection_rules'
        ]
        self.assertEqual([True] * 3, [rule['built_in'] for rule in rules])
        path = f'/v1/inspection_rules/{rules[0]["uuid"]}'
        self.assertEqual(400, client.delete(path).status_code)
        self.assertEqual(
            400,
            client.patch(
                path, json=[{'op': 'replace', 'path': '/priority', 'value': 1}]
            ).status_code,
        )
        self.assertEqual(rules[0]['uuid'], client.call('GET', path)['uuid'])


class NamesTestCase(StartTestCase):
    """Names in ironic.conf that are not quite those of the plugin."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.database_file.write_bytes(ironics.empty_database())

    def check_refusal(self, said: str) -> None:
        """Check that Ironic stops with one critical line, and 1."""
        self.assertRaises(service.LaunchError, self.ironic.start)
        self.assertEqual(1, self.ironic.services[0].process.wait(timeout=60))
        lines = [
            line
            for line in self.ironic.logs().splitlines()
            if 'CRITICAL' in line and said in line
        ]
        self.assertEqual(1, len(lines), self.ironic.logs())
        self.assertIn('did you mean "inspection-rules"?', lines[0])

    def test_a_hook_stops_it(self) -> None:
        self.ironic.options['inspector']['hooks'] = (
            '$default_hooks,inspection_rules'
        )
        self.check_refusal('[inspector]hooks: unknown hook')

    def test_a_middleware_stops_it(self) -> None:
        for name in ('inspection_rules', 'inspection-ruels'):
            self.ironic.options['api']['middleware'] = name
            self.check_refusal(f'unknown middleware "{name}"')
            self.ironic.stop()

    def test_interfaces_that_match_nothing_are_told(self) -> None:
        self.ironic.options['inspection_rules'] = {
            'supported_interfaces': 'agent,redfish'
        }
        logged = self.start()
        lines = [
            line
            for line in logged.splitlines()
            if 'WARNING' in line
            and 'did you mean "^(agent|redfish)$"?' in line
        ]
        self.assertEqual(1, len(lines), logged)
