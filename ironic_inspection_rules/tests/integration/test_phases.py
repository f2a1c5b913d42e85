# SPDX-License-Identifier: Apache-2.0

"""When rules run, in which order, and for which nodes."""

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import bmc
from ironic_inspection_rules.tests.integration.base import action


class OrderTestCase(base.TestCase):
    """Phases, priorities and order of creation."""

    def test_phases_then_priority_then_creation(self) -> None:
        for name, fields in (
            ('main 0', {}),
            ('main 0 later', {}),
            ('main 9999', {'priority': 9999}),
            ('preprocess 0', {'phase': 'preprocess'}),
            ('preprocess 5', {'phase': 'preprocess', 'priority': 5}),
            ('early 0', {'phase': 'early'}),
        ):
            self.create_rule(
                action('extend-plugin-data', '/order', name), **fields
            )
        node = self.inspect()
        self.assert_inspected(node)
        stored = self.client.stored_data(node['uuid'])['plugin_data']
        self.assertEqual(
            [
                'early 0',
                'preprocess 5',
                'preprocess 0',
                'main 9999',
                'main 0',
                'main 0 later',
            ],
            stored['order'],
        )

    def test_preprocess_comes_before_the_work_of_hooks(self) -> None:
        self.create_rule(
            action(
                'set-attribute',
                '/extra/{item}',
                '{node.properties[cpu_arch]}',
                loop=['before'],
            ),
            conditions=[
                {'op': '!is-none', 'args': ['{node.properties[cpu_arch]}']}
            ],
            phase='preprocess',
        )
        self.create_rule(
            action(
                'set-attribute', '/extra/after', '{node.properties[cpu_arch]}'
            )
        )
        self.assertEqual({'after': 'x86_64'}, self.inspect()['extra'])


class EarlyTestCase(base.TestCase):
    """Rules on the posted data, before there is a node."""

    def test_fail_answers_the_ramdisk_and_changes_nothing(self) -> None:
        self.create_rule(
            action('fail', 'no {inventory[system_vendor][manufacturer]} here'),
            conditions=[
                {'op': 'eq', 'args': ['{inventory[hostname]}', 'example']}
            ],
            phase='early',
        )
        mac = base.new_mac()
        node = self.client.enroll([mac])
        self.client.start_inspection(node)
        answer = self.client.post(
            '/v1/continue_inspection', json=base.ramdisk_data(mac)
        )
        self.assertEqual(400, answer.status_code)
        self.assertIn('no Example here', answer.text)
        self.assertEqual(
            'inspect wait', self.client.node(node)['provision_state']
        )

    def test_plugin_data_reaches_the_later_phases(self) -> None:
        self.create_rule(
            action('set-plugin-data', '/site', {'row': 7}), phase='early'
        )
        self.create_rule(
            action('set-attribute', '/extra/row', '{plugin_data[site][row]}')
        )
        self.assertEqual({'row': 7}, self.inspect()['extra'])

    def test_is_refused_what_needs_a_node(self) -> None:
        for done, scope in (
            (action('set-attribute', '/extra/a', 1), None),
            (action('add-trait', 'CUSTOM_A'), None),
            (action('log', 'a'), 'north'),
        ):
            answer = self.client.post(
                '/v1/inspection_rules',
                json={'phase': 'early', 'actions': [done], 'scope': scope},
            )
            self.assertEqual(400, answer.status_code, answer.text)


class ScopeTestCase(base.TestCase):
    """Rules for some of the nodes."""

    def test_a_rule_with_a_scope_runs_only_on_its_nodes(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/north', 1), scope='north'
        )
        self.create_rule(action('set-attribute', '/extra/all', 1))
        for scope, extra in (
            ('north', {'north': 1, 'all': 1}),
            ('south', {'all': 1}),
        ):
            node = self.inspect(properties={'inspection_scope': scope})
            self.assertEqual(extra, node['extra'])
        self.assertEqual({'all': 1}, self.inspect()['extra'])


class DefaultScopeTestCase(base.TestCase):
    """``default_scope``."""

    overrides = {'inspection_rules': {'default_scope': 'north'}}

    def test_stands_in_for_rules_without_a_scope(self) -> None:
        self.create_rule(action('set-attribute', '/extra/unscoped', 1))
        self.create_rule(
            action('set-attribute', '/extra/south', 1), scope='south'
        )
        for scope, extra in (
            ('north', {'unscoped': 1}),
            ('south', {'south': 1}),
            (None, {}),
        ):
            properties = {'inspection_scope': scope} if scope else {}
            node = self.inspect(properties=properties)
            self.assertEqual(extra, node['extra'])


class DiscoveryTestCase(base.TestCase):
    """Machines that nobody has enrolled."""

    overrides = {
        'auto_discovery': {
            'enabled': True,
            'driver': 'fake-hardware',
            'inspection_scope': 'discovered',
        }
    }

    def test_a_new_node_has_the_scope_and_is_marked_for_rules(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/fresh', '{node.auto_discovered}'),
            scope='discovered',
        )
        self.create_rule(
            action('set-attribute', '/description', 'just found'),
            conditions=[{'op': 'is-true', 'args': ['{node.auto_discovered}']}],
        )
        mac = base.new_mac()
        node = self.client.discover(base.ramdisk_data(mac))
        self.assertEqual('enroll', node['provision_state'])
        self.assertEqual('discovered', node['properties']['inspection_scope'])
        self.assertEqual({'fresh': True}, node['extra'])
        self.assertEqual('just found', node['description'])
        self.assertEqual(node['uuid'], self.client.port(mac)['node_uuid'])

    def test_a_known_node_keeps_its_scope(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/fresh', '{node.auto_discovered}')
        )
        node = self.inspect(properties={'inspection_scope': 'mine'})
        self.assertEqual('mine', node['properties']['inspection_scope'])
        self.assertEqual({'fresh': False}, node['extra'])

    def test_a_new_node_may_be_given_another_driver(self) -> None:
        mac = base.new_mac()
        controller = self.useFixture(bmc.RedfishBmc(mac))
        self.create_rule(
            action('set-attribute', '/driver', 'redfish'),
            action('set-attribute', '/driver_info', controller.driver_info),
        )
        node = self.client.discover(base.ramdisk_data(mac))
        self.assertEqual('redfish', node['driver'])
        self.assertEqual(['ForceOff'], controller.resets)

    def test_an_early_fail_enrolls_nothing(self) -> None:
        self.create_rule(action('fail', 'go away'), phase='early')
        before = self.client.call('GET', '/v1/nodes')
        mac = base.new_mac()
        answer = self.client.post(
            '/v1/continue_inspection', json=base.ramdisk_data(mac)
        )
        self.assertEqual(400, answer.status_code)
        self.assertEqual(before, self.client.call('GET', '/v1/nodes'))
