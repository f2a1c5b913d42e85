# SPDX-License-Identifier: Apache-2.0

"""Secrets, seeded everywhere and looked for everywhere.

What the ramdisk sent is stored and shown as it is by Ironic itself, so the
inventory and the unchanged part of plugin data are the only places where a
secret may be found.
"""

import json

import sqlalchemy as sa

from ironic_inspection_rules.db import models
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action

_CANARY = 'c4n4ry-'
_TALKATIVE = {
    'notification_level': 'debug',
    'default_log_levels': 'ironic_inspection_rules=DEBUG,oslo.messaging=INFO',
}
_NOTIFY = {'driver': 'log'}


class CanaryTestCase(base.TestCase):
    """With masking on, rules hand no secret on."""

    overrides = {
        'DEFAULT': _TALKATIVE,
        'oslo_messaging_notifications': _NOTIFY,
    }

    def setUp(self) -> None:
        super().setUp()
        self.mac = base.new_mac()
        self.data = base.ramdisk_data(
            self.mac, site={'api_token': f'{_CANARY}plugin'}
        )
        self.data['inventory']['bmc_account'] = {
            'password': f'{_CANARY}inventory'
        }
        self.node = self.client.enroll(
            [self.mac],
            extra={'admin_password': f'{_CANARY}extra'},
            driver_info={
                'ipmi_password': f'{_CANARY}node',
                'ipmi_username': 'admin',
            },
        )
        self.client.call(
            'PATCH',
            f'/v1/ports/{self.client.port(self.mac)["uuid"]}',
            [
                {
                    'op': 'add',
                    'path': '/extra/secret_key',
                    'value': f'{_CANARY}port',
                }
            ],
        )

    def everything(self, node: base.Json) -> str:
        """All that can be read afterwards, without what was seeded."""
        return '\n'.join(
            (
                self.shown(node),
                self.recorded(),
                self.tables(),
                self.ironic.logs(),
            )
        )

    def recorded(self) -> str:
        """What the API tells of what rules did, or would do."""
        of_node = f'/v1/nodes/{self.node}/inspection_runs'
        rules = '/v1/inspection_rules'
        answers = [
            self.client.get(path)
            for path in (
                f'{of_node}?detail=true',
                f'{of_node}/explain?path=/extra/copy0',
                f'{rules}/statistics',
                f'{rules}/revisions',
            )
        ]
        answers += [
            self.client.post(f'{rules}/evaluate', json={'node': self.node}),
            self.client.post(
                f'{rules}/evaluate',
                json={'node': self.node, 'inventory': self.data['inventory']},
            ),
        ]
        self.assertTrue(answers[0].json()['inspection_runs'])
        return '\n'.join(answer.text for answer in answers)

    def tables(self) -> str:
        """The plugin's tables, without rules and what the ramdisk sent."""
        seeded = {
            'inventory',
            'plugin_data',
            'conditions',
            'actions',
            'fields',
        }
        engine = sa.create_engine(f'sqlite:///{self.ironic.database_file}')
        self.addCleanup(engine.dispose)
        dump = []
        with engine.connect() as connection:
            for table in models.Base.metadata.sorted_tables:
                columns = [
                    column
                    for column in table.columns
                    if column.name not in seeded
                ]
                dump += [
                    (table.name, *row)
                    for row in connection.execute(sa.select(*columns))
                ]
        self.assertIn('ir_runs', {row[0] for row in dump})
        return repr(dump)

    def shown(self, node: base.Json) -> str:
        """What Ironic shows of the node, and the rules."""
        del node['extra']['admin_password']
        port = self.client.port(self.mac)
        del port['extra']['secret_key']
        outputs = [
            node,
            port,
            self.client.call('GET', '/v1/inspection_rules?detail=true'),
        ]
        stored = self.client.get(f'/v1/nodes/{self.node}/inventory')
        if stored.ok:
            plugin_data = stored.json()['plugin_data']
            plugin_data.pop('site')
            outputs.append(plugin_data)
        return json.dumps(outputs)

    def test_what_is_logged_is_masked(self) -> None:
        sources = (
            '{node.driver_info[ipmi_password]}',
            '{node.driver_info}',
            '{node}',
            '{node!r}',
            '{ports}',
            '{ports[0].extra}',
            '{inventory[bmc_account]}',
            '{inventory}',
            '{plugin_data}',
            '{plugin_data[site][api_token]}',
            '{node.extra}',
        )
        self.create_rule(
            *(action('log', f'seen {source}') for source in sources)
        )
        self.create_rule(
            action('log', 'item {item}', loop='{node.driver_info}'),
            action('log', 'item {item}', loop='{inventory}'),
            phase='main',
        )
        node = self.client.inspect(self.node, self.data)
        self.assert_inspected(node)
        seen = self.everything(node)
        self.assertNotIn(_CANARY, seen)
        self.assertIn('seen ******', seen)
        self.assertIn('baremetal.inspectionrule.create.end', seen)

    def test_errors_are_masked(self) -> None:
        for failing in (
            action('fail', '{node} {ports} {inventory} {plugin_data}'),
            action('add-trait', '{node.driver_info[ipmi_password]}'),
            action(
                'set-attribute',
                '/properties',
                '{inventory[bmc_account][password]}',
            ),
            action('set-port-attribute', '{node.extra}', '/extra/a', 1),
            action('add-trait', '{node.driver_info[ipmi_password][x]}'),
        ):
            rule = self.create_rule(failing)
            node = self.client.inspect(self.node, self.data)
            self.assert_failed(node, rule['uuid'], failing['op'])
            self.assertNotIn(_CANARY, self.everything(node))
            self.client.call('DELETE', '/v1/inspection_rules')

    def test_a_sensitive_rule_shows_nothing_of_itself(self) -> None:
        secret = f'{_CANARY}rule'
        rule = self.create_rule(
            action('set-attribute', '/driver_info/ipmi_password', secret),
            action('log', '{node.driver_info}'),
            conditions=[{'op': '!eq', 'args': [secret, '{node.name}']}],
            sensitive=True,
        )
        self.assertIsNone(rule['actions'])
        self.assertIsNone(rule['conditions'])
        failing = self.create_rule(
            action('fail', f'{{node.name}} {secret}'),
            sensitive=True,
            description='the last one',
            priority=0,
        )
        node = self.client.inspect(self.node, self.data)
        self.assert_failed(node, failing['uuid'], 'fail')
        self.assertNotIn(_CANARY, self.everything(node))


class SensitiveOnlyTestCase(base.TestCase):
    """``mask_secrets = sensitive``: sensitive rules see all."""

    overrides = {'inspection_rules': {'mask_secrets': 'sensitive'}}

    def test_only_sensitive_rules_see_secrets(self) -> None:
        copy = action(
            'set-attribute', '/extra/seen', '{node.driver_info[ipmi_password]}'
        )
        self.create_rule(copy, sensitive=True)
        node = self.inspect(driver_info={'ipmi_password': 'pa55'})
        self.assert_inspected(node)
        self.assertEqual({'seen': 'pa55'}, node['extra'])
        rule = self.create_rule(copy)
        node = self.inspect(driver_info={'ipmi_password': 'pa55'})
        self.assert_failed(node, rule['uuid'], 'set-attribute')
        self.assertEqual({}, node['extra'])


class NoMaskingTestCase(base.TestCase):
    """``mask_secrets = never``: all rules see all."""

    overrides = {'inspection_rules': {'mask_secrets': 'never'}}

    def test_rules_see_secrets(self) -> None:
        self.create_rule(
            action(
                'set-attribute',
                '/extra/seen',
                '{node.driver_info[ipmi_password]}',
            )
        )
        node = self.inspect(driver_info={'ipmi_password': 'pa55'})
        self.assertEqual({'seen': 'pa55'}, node['extra'])
