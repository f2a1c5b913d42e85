# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import json

from openstack import exceptions as sdk_exceptions
import requests

from ironic_inspection_rules.osc import inspection_request
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.osc import fakes

REQUEST = {'uuid': 'a-uuid', 'node_uuid': 'a-node', 'event': 'continue',
           'state': 'waiting', 'attempts': 0, 'worker': None,
           'last_error': None, 'links': []}
FIRST = ('a-uuid', 'a-node', 'waiting', 0, None, None)


class FakeBaremetal:
    """A bare metal proxy; gives the answers in order, notes the calls."""

    def __init__(self):
        self.answers = []
        self.calls = []

    def request(self, path, method, microversion, retriable_status_codes,
                **arguments):
        self.calls.append((method, path, arguments))
        status, body = self.answers.pop(0)
        answer = requests.Response()
        answer.status_code = status
        answer._content = b'' if body is None else json.dumps(body).encode()
        answer.headers['content-type'] = 'application/json'
        answer.url = path
        return answer


class CommandTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.baremetal = FakeBaremetal()

    def run_command(self, command, *arguments):
        instance = command(fakes.App(self.baremetal), None)
        return instance.take_action(
            instance.get_parser('openstack').parse_args(arguments))

    def test_requests_are_listed_over_all_pages(self):
        self.baremetal.answers = [
            (200, {'inspection_requests': [REQUEST],
                   'next': 'http://x/v1/inspection_requests?marker=a-uuid'}),
            (200, {'inspection_requests': [REQUEST]})]
        columns, rows = self.run_command(
            inspection_request.ListInspectionRequests)
        self.assertEqual('uuid', columns[0])
        self.assertEqual([FIRST, FIRST], rows)
        self.assertEqual([{}, {'marker': 'a-uuid'}], [
            arguments['params']
            for _method, _path, arguments in self.baremetal.calls])

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
