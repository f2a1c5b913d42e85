# SPDX-License-Identifier: Apache-2.0

"""What is kept of real inspections."""

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action


class RunsTestCase(base.TestCase):
    def runs(self, node):
        return self.client.call(
            'GET', f'/v1/nodes/{node}/inspection_runs?detail=true'
        )['inspection_runs']

    def statistics(self, rule):
        found = self.client.call('GET', '/v1/inspection_rules/statistics')
        return next(
            row for row in found['statistics'] if row['uuid'] == rule['uuid']
        )

    def test_an_inspection_that_passes_is_kept(self) -> None:
        early = self.create_rule(
            action('set-plugin-data', '/early', 1), phase='early'
        )
        rule = self.create_rule(
            action('set-attribute', '/extra/cpus', '{inventory[cpu][count]}'),
            conditions=[{'op': 'gt', 'args': ['{inventory[cpu][count]}', 1]}],
        )
        node = self.inspect()
        self.assert_inspected(node)

        (run,) = self.runs(node['uuid'])
        self.assertEqual(
            ('inspection', 'agent', 'ok', None),
            tuple(
                run[name]
                for name in ('event', 'inspect_interface', 'result', 'error')
            ),
        )
        self.assertEqual(
            [early['uuid']],
            [each['uuid'] for each in run['phases']['early']['rules']],
        )
        self.assertEqual(
            [rule['uuid']],
            [each['uuid'] for each in run['phases']['main']['rules']],
        )
        answer = self.client.call(
            'GET',
            f'/v1/nodes/{node["uuid"]}/inspection_runs/explain'
            '?path=/extra/cpus',
        )
        self.assertEqual(
            (rule['uuid'], 4, True, run['uuid']),
            (
                answer['rule']['uuid'],
                answer['after'],
                answer['current'],
                answer['run']['uuid'],
            ),
        )
        self.assertEqual(
            [True], [condition['result'] for condition in answer['conditions']]
        )
        self.assertEqual(
            (1, 1, 0, node['uuid']),
            tuple(
                self.statistics(rule)[name]
                for name in ('runs', 'matched', 'failed', 'last_matched_node')
            ),
        )
        self.assertNotIn(
            'inspection_run',
            self.client.stored_data(node['uuid'])['plugin_data'],
        )

    def test_an_inspection_that_fails_can_be_looked_into(self) -> None:
        rule = self.create_rule(action('fail', 'too small'))
        audit = self.create_rule(
            action('fail', 'no good'), mode='audit', priority=5
        )
        node = self.inspect()
        self.assert_failed(node, 'too small')

        (run,) = self.runs(node['uuid'])
        self.assertEqual('failed', run['result'])
        self.assertIn('too small', run['error'])
        (audited,) = run['phases']['main']['audit']
        self.assertEqual(audit['uuid'], audited['uuid'])
        self.assertIn('no good', audited['error'])
        self.assertEqual(1, self.statistics(rule)['failed'])
        answer = self.client.call(
            'POST', '/v1/inspection_rules/evaluate', {'node': node['uuid']}
        )
        self.assertEqual(
            ('failed', 'inspection_run', run['uuid']),
            (answer['result'], answer['source'], answer['run']),
        )

    def test_what_fails_before_the_rules_is_kept_with_its_data(self) -> None:
        self.create_rule(action('log', 'hello'))
        data = base.ramdisk_data(base.new_mac())
        data['inventory']['interfaces'][0]['ipv4_address'] = '127.0.0.1'
        node = self.inspect(data)
        self.assertEqual('inspect failed', node['provision_state'])

        (run,) = self.runs(node['uuid'])
        self.assertEqual('failed', run['result'])
        answer = self.client.call(
            'POST', '/v1/inspection_rules/evaluate', {'node': node['uuid']}
        )
        self.assertEqual('inspection_run', answer['source'])

    def test_the_runs_of_a_node_go_with_it(self) -> None:
        self.create_rule(action('log', 'hello'))
        node = self.inspect()['uuid']
        self.assertEqual(1, len(self.runs(node)))
        self.client.call('DELETE', f'/v1/nodes/{node}')
        self.client.enroll([], uuid=node)
        self.assertEqual([], self.runs(node))
