# SPDX-License-Identifier: Apache-2.0

from openstack import exceptions as sdk_exceptions

from ironic_inspection_rules.osc import inspection_request
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.osc import fakes

REQUEST = {'uuid': 'a-uuid', 'node_uuid': 'a-node', 'event': 'continue',
           'state': 'waiting', 'attempts': 0, 'worker': None,
           'last_error': None, 'links': [],
           'created_at': '2000-01-01T00:00:00+00:00', 'started_at': None,
           'finished_at': None}
NODES = (200, {'nodes': [{'uuid': 'a-node', 'name': 'rack1-07'},
                         {'uuid': 'b-node', 'name': None}]})


class CommandTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.baremetal = fakes.Baremetal()

    def run_command(self, command, *arguments):
        instance = command(fakes.App(self.baremetal), None)
        return instance.take_action(
            instance.get_parser('openstack').parse_args(arguments))

    def test_requests_are_listed_over_all_pages(self):
        self.baremetal.answers = [
            (200, {'inspection_requests': [REQUEST],
                   'next': 'http://x/v1/inspection_requests?marker=a-uuid'}),
            (200, {'inspection_requests': [REQUEST]}), NODES]
        columns, rows = self.run_command(
            inspection_request.ListInspectionRequests)
        self.assertEqual('UUID', columns[0])
        self.assertEqual(['a-uuid', 'a-uuid'], [row[0] for row in rows])
        self.assertEqual([{}, {'marker': 'a-uuid'}], [
            arguments['params']
            for _method, _path, arguments in self.baremetal.calls[:2]])

    def test_a_list_names_the_node_the_age_and_the_reason(self):
        error = 'Failed. Reason: hooks: Failed. Reason: ' + 'no disk ' * 40
        self.baremetal.answers = [(200, {'inspection_requests': [
            {**REQUEST, 'last_error': error},
            {**REQUEST, 'node_uuid': 'b-node'}]}), NODES]
        columns, rows = self.run_command(
            inspection_request.ListInspectionRequests)
        first = dict(zip(columns, rows[0], strict=True))
        self.assertEqual('rack1-07', first['Node'])
        self.assertEqual('b-node', rows[1][1])
        self.assertRegex(first['Age'], r'^\d+ d$')
        self.assertTrue(first['Error'].startswith('no disk'))
        self.assertLess(len(first['Error']), 70)

    def test_a_long_list_has_all_there_is(self):
        self.baremetal.answers = [(200, {'inspection_requests': [REQUEST]})]
        columns, (row,) = self.run_command(
            inspection_request.ListInspectionRequests, '--long')
        self.assertEqual(REQUEST['created_at'],
                         dict(zip(columns, row, strict=True))['created_at'])

    def test_a_list_can_be_of_a_node_and_a_state(self):
        self.baremetal.answers = [(200, {'inspection_requests': []})]
        self.run_command(inspection_request.ListInspectionRequests,
                         '--node', 'one', '--state', 'error')
        self.assertEqual(
            [('GET', '/inspection_requests',
              {'params': {'node': 'one', 'state': 'error'}})],
            self.baremetal.calls)

    def test_a_request_is_shown_without_its_links(self):
        self.baremetal.answers = [(200, REQUEST)]
        fields, values = self.run_command(
            inspection_request.ShowInspectionRequest, 'a-uuid')
        shown = dict(zip(fields, values, strict=True))
        self.assertEqual({**shown, 'links': []}, REQUEST)
        self.assertNotIn('links', shown)

    def test_a_request_is_aborted(self):
        self.baremetal.answers = [(204, None)]
        self.run_command(inspection_request.AbortInspectionRequest, 'a-uuid')
        self.assertEqual(
            [('DELETE', '/inspection_requests/a-uuid', {})],
            self.baremetal.calls)

    def test_a_node_is_reapplied(self):
        self.baremetal.answers = [(202, REQUEST)]
        fields, _values = self.run_command(
            inspection_request.ReapplyInspection, 'one')
        self.assertIn('state', fields)
        self.assertEqual(
            [('POST', '/nodes/one/inventory/reapply', {'json': {}})],
            self.baremetal.calls)

    def test_what_ironic_refuses_is_told(self):
        self.baremetal.answers = [(409, {'error_message': 'locked'})]
        self.assertRaises(
            sdk_exceptions.ConflictException, self.run_command,
            inspection_request.ReapplyInspection, 'one')
