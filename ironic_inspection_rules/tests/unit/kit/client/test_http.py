# SPDX-License-Identifier: Apache-2.0

"""What is read of an error."""

import json

from openstack import exceptions as sdk_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class ProblemsTestCase(base.TestCase):

    def problems(self, body):
        ironic = fakes.Baremetal()
        ironic.answers = [(400, body)]
        exc = self.assertRaises(sdk_exceptions.HttpException, http.call,
                                ironic, 'PUT', '/inspection_rules')
        return http.problems(exc)

    def test_they_are_data(self):
        self.assertEqual(
            [exceptions.Problem('/rules/0', 'bad', 'good'),
             exceptions.Problem('', 'worse')],
            self.problems({'error_message': json.dumps({
                'faultstring': 'Refused', 'problems': [
                    {'pointer': '/rules/0', 'detail': 'bad', 'hint': 'good'},
                    {'pointer': '', 'detail': 'worse'}]})}))

    def test_errors_of_others_have_none(self):
        for body in (None, [], 'text', {}, {'error_message': 'text'},
                     {'error_message': {'faultstring': 'text'}},
                     *({'error_message': json.dumps(error)} for error in (
                         {'faultstring': 'text'}, [], {'problems': 5},
                         {'problems': [{'pointer': '/a'}]},
                         {'problems': ['/a']}))):
            self.assertEqual([], self.problems(body), body)
