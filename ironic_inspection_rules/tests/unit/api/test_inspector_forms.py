# SPDX-License-Identifier: Apache-2.0

"""Reading the version of ironic-inspector's API."""

import fixtures
import webob

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspector_forms
from ironic_inspection_rules.tests.unit import base


class RequestedVersionTestCase(base.TestCase):
    def read(self, text):
        got = webob.Request.blank('/', headers={inspector_forms.VERSION: text})
        with fixtures.MonkeyPatch('ironic.api.request', got):
            return inspector_forms.requested_version()

    def test_a_version_is_two_numbers(self):
        self.assertEqual((1, 17), self.read(' 1.17 '))
        for text in ('1', '1.x', '1.1_7', '1.1.7', '1.' + '9' * 5000):
            self.assertRaisesRegex(
                exceptions.Invalid, 'is not a version', self.read, text
            )
