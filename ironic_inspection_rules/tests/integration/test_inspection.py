# SPDX-License-Identifier: Apache-2.0

"""What rules do to a machine that is really inspected."""

from concurrent import futures

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action


class ValueTestCase(base.TestCase):
    """Values on their way from the inventory to the node."""

    def test_a_whole_field_keeps_its_type(self) -> None:
        self.create_rule(
            *(
                action('set-attribute', f'/extra/{name}', field)
                for name, field in {
                    'number': '{inventory[cpu][count]}',
                    'boolean': '{inventory.disks[0].rotational}',
                    'nothing': '{inventory[bmc_v6address]}',
                    'list': '{inventory[cpu][flags]}',
                    'mapping': '{inventory.system_vendor}',
                    'text': '{inventory[cpu][architecture]}',
                }.items()
            )
        )
        data = base.ramdisk_data(base.new_mac())
        node = self.inspect(data)
        self.assert_inspected(node)
        self.assertEqual(
            {
                'number': 4,
                'boolean': False,
                'nothing': None,
                'list': ['vmx'],
                'mapping': data['inventory']['system_vendor'],
                'text': 'x86_64',
            },
            node['extra'],
        )

    def test_a_field_in_text_becomes_text(self) -> None:
        self.create_rule(
            action(
                'set-attribute',
                '/extra/cpus',
                '{inventory[cpu][count]:03d} x {inventory[cpu][model_name]} '
                '{{here}}',
            )
        )
        node = self.inspect()
        self.assertEqual('004 x Example CPU {here}', node['extra']['cpus'])

    def test_numbers_are_compared_as_numbers(self) -> None:
        memory = '{inventory[memory][physical_mb]}'
        self.create_rule(
            action('add-trait', 'CUSTOM_BIG'),
            conditions=[
                {'op': 'gt', 'args': [memory, 9000]},
                {'op': 'lt', 'args': ['9000', memory, 100000]},
            ],
        )
        node = self.inspect()
        self.assertEqual(['CUSTOM_BIG'], self.client.traits(node['uuid']))

    def test_actions_loop_over_a_field(self) -> None:
        self.create_rule(
            action(
                'set-attribute',
                '/extra/{item[name]}',
                '{item[mac_address]}',
                loop='{inventory[interfaces]}',
            )
        )
        macs = [base.new_mac(), base.new_mac()]
        node = self.inspect(base.ramdisk_data(*macs))
        self.assertEqual({'eth0': macs[0], 'eth1': macs[1]}, node['extra'])

    def test_later_rules_see_earlier_changes(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/rack', 'A1'),
            action('set-plugin-data', '/seen', [1]),
            priority=2,
        )
        self.create_rule(
            action(
                'set-attribute',
                '/extra/seen',
                '{node.extra[rack]} {plugin_data[seen][0]}',
            ),
            conditions=[{'op': 'eq', 'args': ['{node.extra.rack}', 'A1']}],
        )
        self.assertEqual('A1 1', self.inspect()['extra']['seen'])

    def test_plugin_data_is_stored_as_rules_left_it(self) -> None:
        self.create_rule(
            action('set-plugin-data', path='/site/racks', value=['A1']),
            action('extend-plugin-data', path='/site/racks', value='A2'),
            action(
                'extend-plugin-data',
                path='/site/racks',
                value='A1',
                unique=True,
            ),
            action('unset-plugin-data', path='/secret'),
        )
        node = self.inspect(base.ramdisk_data(base.new_mac(), secret='x'))
        stored = self.client.stored_data(node['uuid'])['plugin_data']
        self.assertEqual({'racks': ['A1', 'A2']}, stored['site'])
        self.assertNotIn('secret', stored)


class ManyNodesTestCase(base.TestCase):
    """Inspections at the same time."""

    def test_each_node_gets_its_own(self) -> None:
        self.create_rule(
            action(
                'set-attribute',
                '/extra/mac',
                '{inventory[interfaces][0][mac_address]}',
            ),
            action(
                'set-port-attribute',
                '{node.extra[mac]}',
                '/extra/node',
                '{node.uuid}',
            ),
            action('add-trait', 'CUSTOM_SEEN'),
        )
        macs = [base.new_mac() for _ in range(8)]
        nodes = {mac: self.client.enroll([mac]) for mac in macs}
        for node in nodes.values():
            self.client.start_inspection(node)
        with futures.ThreadPoolExecutor(len(macs)) as pool:
            answers = list(
                pool.map(
                    lambda mac: self.client.post(
                        '/v1/continue_inspection', json=base.ramdisk_data(mac)
                    ),
                    macs,
                )
            )
        self.assertEqual(
            [202] * len(macs), [answer.status_code for answer in answers]
        )
        for mac, node in nodes.items():
            self.assert_inspected(
                self.client.wait_for_state(
                    node, 'manageable', 'inspect failed'
                )
            )
            self.assertEqual({'mac': mac}, self.client.node(node)['extra'])
            self.assertEqual({'node': node}, self.client.port(mac)['extra'])
            self.assertEqual(['CUSTOM_SEEN'], self.client.traits(node))


class TraceTestCase(base.TestCase):
    """The trace in the stored inventory."""

    def test_lists_what_matched_and_what_ran(self) -> None:
        ran = self.create_rule(
            action('set-attribute', '/extra/a', 1),
            action('add-trait', 'CUSTOM_A'),
            description='runs',
        )
        self.create_rule(
            action('set-attribute', '/extra/b', 1),
            description='runs not',
            conditions=[{'op': 'eq', 'args': [1, 2]}],
        )
        early = self.create_rule(action('log', 'hello'), phase='preprocess')
        node = self.inspect()
        trace = self.client.trace(node['uuid'])
        self.assertEqual(
            [early['uuid']], [rule['uuid'] for rule in trace['preprocess']]
        )
        self.assertEqual(
            [ran['uuid']], [rule['uuid'] for rule in trace['main']]
        )
        self.assertEqual('runs', trace['main'][0]['description'])
        self.assertIn('set-attribute', str(trace['main'][0]))
        self.assertIn('add-trait', str(trace['main'][0]))
        self.assertEqual({'a': 1}, node['extra'])

    def test_tells_only_the_uuid_of_a_sensitive_rule(self) -> None:
        rule = self.create_rule(
            action('set-attribute', '/extra/a', 'hush'),
            description='quiet',
            sensitive=True,
        )
        trace = self.client.trace(self.inspect()['uuid'])
        self.assertEqual(
            [{'uuid': rule['uuid'], 'withheld': True}], trace['main']
        )


class FailureTestCase(base.TestCase):
    """Rules that fail an inspection, by intent or not."""

    def test_fail_names_rule_op_and_message(self) -> None:
        rule = self.create_rule(
            action('fail', '{inventory[cpu][count]} CPUs are too few'),
            description='enough CPUs',
        )
        node = self.inspect()
        self.assert_failed(
            node, rule['uuid'], 'enough CPUs', 'fail', '4 CPUs are too few'
        )
        self.assertFalse(node['maintenance'])

    def test_fail_keeps_what_came_before_it(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/before', 1),
            action('add-trait', 'CUSTOM_BEFORE'),
            action('fail', 'enough'),
            action('set-attribute', '/extra/after', 1),
        )
        node = self.inspect()
        self.assert_failed(node, 'enough')
        self.assertEqual({'before': 1}, node['extra'])
        self.assertEqual(['CUSTOM_BEFORE'], self.client.traits(node['uuid']))

    def test_fail_may_set_maintenance(self) -> None:
        self.create_rule(action('fail', msg='broken', maintenance=True))
        node = self.inspect()
        self.assert_failed(node, 'broken')
        self.assertTrue(node['maintenance'])
        self.assertIn('broken', node['maintenance_reason'])

    def test_an_error_keeps_nothing_of_its_phase(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/kept', 1), phase='preprocess'
        )
        mac = base.new_mac()
        self.create_rule(
            action('set-attribute', '/extra/lost', 1),
            action('set-port-attribute', mac, '/extra/lost', 1),
            action('set-capability', 'lost', '1'),
            action('add-trait', 'CUSTOM_LOST'),
            priority=1,
        )
        rule = self.create_rule(
            action('set-attribute', '/extra/x', '{inventory[nowhere]}'),
            description='asks too much',
        )
        node = self.inspect(base.ramdisk_data(mac))
        self.assert_failed(
            node,
            rule['uuid'],
            'asks too much',
            'set-attribute',
            'inventory[nowhere]',
        )
        self.assertEqual({'kept': 1}, node['extra'])
        self.assertNotIn('capabilities', node['properties'])
        self.assertEqual([], self.client.traits(node['uuid']))
        self.assertEqual({}, self.client.port(mac)['extra'])

    def test_a_sensitive_rule_fails_without_a_word(self) -> None:
        rule = self.create_rule(
            action('fail', 'the vault is empty'),
            description='vault',
            sensitive=True,
        )
        node = self.inspect()
        self.assert_failed(node, rule['uuid'], 'fail')
        self.assertNotIn('vault', node['last_error'])

    def test_the_next_inspection_may_go_well(self) -> None:
        rule = self.create_rule(action('fail', 'no'))
        data = base.ramdisk_data(base.new_mac())
        node = self.inspect(data)
        self.assert_failed(node)
        self.client.call('DELETE', f'/v1/inspection_rules/{rule["uuid"]}')
        self.assert_inspected(self.client.inspect(node['uuid'], data))
