# SPDX-License-Identifier: Apache-2.0

import types

import fixtures
from ironic.api.controllers.v1 import ramdisk
from ironic.common import exception

from ironic_inspection_rules.patches import continue_inspection
from ironic_inspection_rules.tests.unit import base


class ContinueInspectionTestCase(base.IronicTestCase):

    def test_the_method_of_ironic_calls_the_conductor_of_the_request(self):
        called = ramdisk.ContinueInspectionController.post
        names = {name for code in self.codes(called)
                 for name in code.co_names}
        self.assertLessEqual({'rpcapi', 'continue_inspection'}, names)

    def codes(self, function):
        """Code of a function and of all that it decorates."""
        while function is not None:
            yield function.__code__
            function = getattr(function, '__wrapped__', None)

    def test_data_are_checked_as_ironic_does(self):
        data = {'inventory': {
            'interfaces': [{'mac_address': '52:54:00:00:00:01'}]}}
        self.assertEqual(data, continue_inspection.validated(data))
        self.assertRaises(exception.InvalidParameterValue,
                          continue_inspection.validated, {'inventory': 1})

    def test_the_request_calls_something_else_than_a_conductor(self):
        request = types.SimpleNamespace(rpcapi='conductor')
        self.useFixture(fixtures.MonkeyPatch('ironic.api.request', request))
        continue_inspection.hand_over_by(lambda rpcapi: ['queue', rpcapi])
        self.assertEqual(['queue', 'conductor'], request.rpcapi)

    def test_ironic_answers_what_it_raises(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.api.controllers.v1.utils.allow_continue_inspection_'
            'endpoint', lambda: False))
        self.assertRaises(
            exception.NotFound, continue_inspection.post,
            ramdisk.ContinueInspectionController(), {'inventory': {}}, None)
