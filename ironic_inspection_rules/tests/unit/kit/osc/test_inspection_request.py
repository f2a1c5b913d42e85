# SPDX-License-Identifier: Apache-2.0

import io
import threading

from keystoneauth1 import exceptions as auth_exceptions
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.osc import inspection_request
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

REQUEST = {
    'uuid': 'a-uuid',
    'node_uuid': 'a-node',
    'event': 'continue',
    'state': 'waiting',
    'attempts': 0,
    'worker': None,
    'last_error': None,
    'links': [],
    'created_at': '2000-01-01T00:00:00+00:00',
    'started_at': None,
    'finished_at': None,
}
NODES = (
    200,
    {
        'nodes': [
            {'uuid': 'a-node', 'name': 'rack1-07'},
            {'uuid': 'b-node', 'name': None},
        ]
    },
)
LIST = ('GET', '/inspection_requests')


def reapply(uuid):
    return 'POST', f'/nodes/{uuid}/inventory/reapply'


def request(uuid, state='waiting', last_error=None):
    return {
        'uuid': f'request-{uuid}',
        'state': state,
        'last_error': last_error,
    }


def interrupt(**_arguments):
    raise KeyboardInterrupt


def break_off(**_arguments):
    raise auth_exceptions.SSLError


class CommandTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.baremetal = fakes.Baremetal()

    def run_command(self, command, *arguments):
        self.app = fakes.App(self.baremetal)
        instance = command(self.app, None)
        return instance.take_action(
            instance.get_parser('openstack').parse_args(arguments)
        )

    def test_requests_are_listed_over_all_pages(self):
        self.baremetal.answers = [
            (
                200,
                {
                    'inspection_requests': [REQUEST],
                    'next': 'http://x/v1/inspection_requests?marker=a-uuid',
                },
            ),
            (200, {'inspection_requests': [REQUEST]}),
            NODES,
        ]
        columns, rows = self.run_command(
            inspection_request.ListInspectionRequests
        )
        self.assertEqual('UUID', columns[0])
        self.assertEqual(['a-uuid', 'a-uuid'], [row[0] for row in rows])
        self.assertEqual(
            [{}, {'marker': 'a-uuid'}],
            [
                arguments['params']
                for _method, _path, arguments in self.baremetal.calls[:2]
            ],
        )

    def test_a_list_names_the_node_the_age_and_the_reason(self):
        error = 'Failed. Reason: hooks: Failed. Reason: ' + 'no disk ' * 40
        self.baremetal.answers = [
            (
                200,
                {
                    'inspection_requests': [
                        {**REQUEST, 'last_error': error},
                        {**REQUEST, 'node_uuid': 'b-node'},
                    ]
                },
            ),
            NODES,
        ]
        columns, rows = self.run_command(
            inspection_request.ListInspectionRequests
        )
        first = dict(zip(columns, rows[0], strict=True))
        self.assertEqual('rack1-07', first['Node'])
        self.assertEqual('b-node', rows[1][1])
        self.assertRegex(first['Age'], r'^\d+ d$')
        self.assertTrue(first['Error'].startswith('no disk'))
        self.assertLess(len(first['Error']), 70)

    def test_who_may_not_list_nodes_sees_their_uuids(self):
        self.baremetal.answers = [
            (200, {'inspection_requests': [REQUEST]}),
            (403, {'error_message': 'no'}),
        ]
        columns, (row,) = self.run_command(
            inspection_request.ListInspectionRequests
        )
        self.assertEqual(
            'a-node', dict(zip(columns, row, strict=True))['Node']
        )

    def test_an_error_of_the_list_of_nodes_is_not_hidden(self):
        self.baremetal.answers = [
            (200, {'inspection_requests': [REQUEST]}),
            (500, {'error_message': 'no'}),
        ]
        self.assertRaises(
            sdk_exceptions.HttpException,
            self.run_command,
            inspection_request.ListInspectionRequests,
        )

    def test_a_request_without_a_time_has_no_age(self):
        for created_at, age in ((None, ''), ('soon', 'soon')):
            self.baremetal.answers = [
                (
                    200,
                    {
                        'inspection_requests': [
                            {**REQUEST, 'created_at': created_at}
                        ]
                    },
                ),
                NODES,
            ]
            columns, rows = self.run_command(
                inspection_request.ListInspectionRequests
            )
            row = dict(zip(columns, rows[0], strict=True))
            self.assertEqual(age, row['Age'])

    def test_a_long_list_has_all_there_is(self):
        self.baremetal.answers = [(200, {'inspection_requests': [REQUEST]})]
        columns, (row,) = self.run_command(
            inspection_request.ListInspectionRequests, '--long'
        )
        self.assertEqual(
            REQUEST['created_at'],
            dict(zip(columns, row, strict=True))['created_at'],
        )

    def test_a_list_can_be_of_a_node_and_a_state(self):
        self.baremetal.answers = [(200, {'inspection_requests': []})]
        self.run_command(
            inspection_request.ListInspectionRequests,
            '--node',
            'one',
            '--state',
            'error',
        )
        self.assertEqual(
            [
                (
                    'GET',
                    '/inspection_requests',
                    {'params': {'node': 'one', 'state': 'error'}},
                )
            ],
            self.baremetal.calls,
        )

    def test_a_request_is_shown_without_its_links(self):
        self.baremetal.answers = [(200, REQUEST)]
        fields, values = self.run_command(
            inspection_request.ShowInspectionRequest, 'a-uuid'
        )
        shown = dict(zip(fields, values, strict=True))
        self.assertEqual({**shown, 'links': []}, REQUEST)
        self.assertNotIn('links', shown)

    def test_a_request_is_aborted(self):
        self.baremetal.answers = [(204, None)]
        self.run_command(inspection_request.AbortInspectionRequest, 'a-uuid')
        self.assertEqual(
            [('DELETE', '/inspection_requests/a-uuid', {})],
            self.baremetal.calls,
        )

    def test_a_node_is_reapplied(self):
        self.baremetal.answers = [(202, REQUEST)]
        fields, _values = self.run_command(
            inspection_request.ReapplyInspection, 'one'
        )
        self.assertIn('state', fields)
        self.assertEqual('', self.app.stderr.getvalue())
        self.assertEqual(
            [('POST', '/nodes/one/inventory/reapply', {'json': {}})],
            self.baremetal.calls,
        )

    def test_a_request_is_accepted_if_its_answer_has_no_uuid(self):
        for name in ('node_uuid', 'event', 'state'):
            self.baremetal.answers = [(202, {name: REQUEST[name]})]
            fields, values = self.run_command(
                inspection_request.ReapplyInspection, 'one'
            )
            self.assertEqual(
                ((name,), (REQUEST[name],)), (tuple(fields), tuple(values))
            )
            self.assertIn(
                "Warning: The request is accepted, but Ironic's answer has no "
                'UUID of it',
                self.app.stderr.getvalue(),
            )

    def test_an_answer_that_is_not_of_ironic_is_an_error(self):
        for body in (None, {}, [], 'accepted', {'versions': []}):
            self.baremetal.answers = [(202, body)]
            self.assertRaises(
                exceptions.Invalid,
                self.run_command,
                inspection_request.ReapplyInspection,
                'one',
            )

    def test_what_ironic_refuses_is_told(self):
        self.baremetal.answers = [(409, {'error_message': 'locked'})]
        self.assertRaises(
            sdk_exceptions.ConflictException,
            self.run_command,
            inspection_request.ReapplyInspection,
            'one',
        )


class ReapplyInspectionRulesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.patch(inspection_request, '_PAUSE_SECONDS', 0)
        self.ironic = fakes.Ironic()
        self.app = fakes.App(self.ironic)
        self.ironic.routes[LIST] = (200, {'inspection_requests': []})
        self.ironic.routes['GET', '/nodes'] = (
            200,
            {
                'nodes': [
                    {'uuid': uuid, 'name': f'name-{uuid}'} for uuid in 'abc'
                ]
            },
        )
        for uuid in 'abc':
            self.ironic.routes[reapply(uuid)] = (202, request(uuid))

    def becomes(self, uuid, *states, error=None):
        self.ironic.routes['GET', f'/inspection_requests/request-{uuid}'] = [
            (200, request(uuid, state, error)) for state in states
        ]

    def reapply(self, *arguments):
        command = inspection_request.ReapplyInspectionRules(self.app, None)
        return command.take_action(
            command.get_parser('openstack').parse_args(['--nodes', *arguments])
        )

    def printed(self):
        return self.app.stdout.getvalue()

    def test_all_nodes_are_asked_for(self):
        self.assertEqual(0, self.reapply())
        self.assertEqual('3 accepted\n', self.printed())
        for uuid in 'abc':
            self.assertEqual([{'json': {}}], self.ironic.asked(*reapply(uuid)))

    def test_filters_choose_them(self):
        self.reapply('resource_class=baremetal')
        self.assertEqual(
            [
                {
                    'params': {
                        'resource_class': 'baremetal',
                        'fields': 'uuid,name',
                    }
                }
            ],
            self.ironic.asked('GET', '/nodes'),
        )

    def test_a_limit_is_kept(self):
        self.reapply('--limit', '1')
        self.assertEqual('1 accepted\n', self.printed())
        self.assertEqual([], self.ironic.asked(*reapply('b')))

    def test_one_that_is_refused_is_told_and_stops_no_other(self):
        self.ironic.routes[reapply('b')] = (
            409,
            {'error_message': 'Node b is locked'},
        )
        self.assertEqual(1, self.reapply())
        self.assertIn('2 accepted, 1 refused\n', self.printed())
        self.assertRegex(self.printed(), r'name-b +\| refused \| .*locked')

    def test_waiting_ends_when_all_are_done(self):
        self.becomes('a', 'waiting', 'processing', 'finished')
        self.becomes('b', 'finished')
        self.becomes('c', 'processing', 'finished')
        self.assertEqual(0, self.reapply('--wait'))
        self.assertEqual('3 finished\n', self.printed())

    def test_what_fails_is_told(self):
        self.becomes('a', 'finished')
        self.becomes('b', 'waiting', 'error', error='no disk')
        self.assertEqual(1, self.reapply('--wait'))
        self.assertIn('2 error, 1 finished\n', self.printed())
        self.assertRegex(self.printed(), r'name-b +\| error +\| no disk')
        self.assertRegex(self.printed(), r'name-c +\| error +\| .*gone')

    def test_without_the_queue_no_node_is_asked(self):
        self.ironic.routes[LIST] = (404, {'error_message': 'off'})
        self.ironic.routes['GET', '/traits'] = (200, {'traits': []})
        error = self.assertRaises(osc_exceptions.CommandError, self.reapply)
        self.assertIn('[inspection_queue]enabled', str(error))
        self.assertEqual(
            [LIST, ('GET', '/traits')],
            [call[:2] for call in self.ironic.calls],
        )

    def test_without_the_plugin_the_queue_is_not_the_reason(self):
        self.ironic.routes[LIST] = (404, {'error_message': 'off'})
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': []})
        command = inspection_request.ReapplyInspectionRules(self.app, None)
        parsed_args = command.get_parser('openstack').parse_args(['--nodes'])
        error = self.assertRaises(
            osc_exceptions.CommandError, command.run, parsed_args
        )
        self.assertIn('[api]middleware = inspection-rules', str(error))

    def test_who_may_not_see_requests_may_still_reapply(self):
        self.ironic.routes[LIST] = (403, {'error_message': 'no'})
        self.assertEqual(0, self.reapply())

    def test_an_interruption_tells_what_goes_on(self):
        self.ironic.routes['GET', '/inspection_requests/request-a'] = interrupt
        self.assertEqual(130, self.reapply('--wait', '--jobs', '1'))
        self.assertEqual('3 accepted\n', self.printed())
        self.assertIn(
            'Interrupted; what Ironic has accepted goes on',
            self.app.stderr.getvalue(),
        )

    def test_an_error_while_waiting_shows_the_states_until_then(self):
        for status in (403, 500):
            self.becomes('a', 'finished')
            self.becomes('b', 'error', error='no disk')
            self.app.stdout = io.StringIO()
            self.app.stderr = io.StringIO()
            self.ironic.routes['GET', '/inspection_requests/request-c'] = (
                status,
                {'error_message': 'no'},
            )
            self.assertRaises(
                sdk_exceptions.HttpException,
                self.reapply,
                '--wait',
                '--jobs',
                '1',
            )
            self.assertIn('1 accepted, 1 error, 1 finished\n', self.printed())
            self.assertRegex(self.printed(), r'name-b +\| error +\| no disk')
            self.assertIn(
                'What Ironic has accepted goes on', self.app.stderr.getvalue()
            )

    def test_an_error_before_any_request_shows_no_states(self):
        self.ironic.routes['GET', '/nodes'] = (403, {'error_message': 'no'})
        self.assertRaises(sdk_exceptions.HttpException, self.reapply)
        self.assertEqual('', self.printed())
        self.assertEqual('', self.app.stderr.getvalue())

    def test_an_interruption_before_any_request_shows_no_states(self):
        self.ironic.routes['GET', '/nodes'] = interrupt
        self.assertEqual(130, self.reapply())
        self.assertEqual('', self.printed())
        self.assertEqual('Interrupted\n', self.app.stderr.getvalue())

    def test_nothing_goes_on_where_all_are_refused(self):
        for uuid in 'ab':
            self.ironic.routes[reapply(uuid)] = (
                409,
                {'error_message': 'locked'},
            )
        self.ironic.routes[reapply('c')] = interrupt
        self.assertEqual(130, self.reapply('--jobs', '1'))
        self.assertIn('2 refused\n', self.printed())
        self.assertEqual('Interrupted\n', self.app.stderr.getvalue())

        self.app.stdout = io.StringIO()
        self.app.stderr = io.StringIO()
        self.ironic.routes[reapply('c')] = break_off
        self.assertRaises(
            auth_exceptions.SSLError, self.reapply, '--jobs', '1'
        )
        self.assertIn('2 refused\n', self.printed())
        self.assertEqual('', self.app.stderr.getvalue())

    def test_what_is_accepted_beside_an_error_goes_on(self):
        # The command waits for the answer about the first node, and gets that
        # about the others meanwhile.
        others = threading.Barrier(3, timeout=60)

        def accept(**_arguments):
            others.wait()
            return 202, request('b')

        def fail(**_arguments):
            others.wait()
            return break_off()

        for uuid in 'bc':
            self.ironic.routes[reapply(uuid)] = accept
        self.ironic.routes[reapply('a')] = fail
        self.assertRaises(
            auth_exceptions.SSLError, self.reapply, '--jobs', '3'
        )
        self.assertEqual('2 accepted\n', self.printed())
        self.assertIn(
            'What Ironic has accepted goes on', self.app.stderr.getvalue()
        )

    def test_filters_that_match_no_node_are_an_error(self):
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': []})
        error = self.assertRaises(
            osc_exceptions.CommandError, self.reapply, 'driver=typo'
        )
        self.assertEqual('No node matches driver=typo', str(error))

    def test_a_state_that_is_not_known_is_not_waited_for(self):
        for state, text in ((None, 'null'), ('', '""'), ('asleep', 'asleep')):
            self.app.stdout = io.StringIO()
            self.becomes('a', 'starting', 'finished')
            self.becomes('b', 'processing', state, 'finished')
            self.becomes('c', 'finished')
            self.assertEqual(1, self.reapply('--wait'))
            self.assertIn('1 error, 2 finished\n', self.printed())
            self.assertRegex(
                self.printed(), rf'name-b +\| error \| .* is "?{text}'
            )

    def test_a_request_without_its_state_is_not_waited_for(self):
        for uuid in 'abc':
            path = f'/inspection_requests/request-{uuid}'
            self.ironic.routes['GET', path] = (200, {'uuid': uuid})
        self.assertEqual(1, self.reapply('--wait'))
        self.assertIn('3 error\n', self.printed())

    def test_a_request_whose_uuid_is_unknown_is_accepted(self):
        self.ironic.routes[reapply('b')] = (202, {'state': 'waiting'})
        self.assertEqual(0, self.reapply())
        self.assertEqual('3 accepted\n', self.printed())

    def test_a_request_whose_uuid_is_unknown_is_not_waited_for(self):
        self.ironic.routes[reapply('b')] = (202, {'state': 'waiting'})
        self.becomes('a', 'finished')
        self.becomes('c', 'waiting', 'finished')
        self.assertEqual(1, self.reapply('--wait'))
        self.assertIn('1 error, 2 finished\n', self.printed())
        self.assertRegex(self.printed(), r'name-b +\| error \| .*no UUID')

    def test_no_nodes_are_said(self):
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': []})
        self.assertEqual(0, self.reapply())
        self.assertEqual('no nodes\n', self.printed())
