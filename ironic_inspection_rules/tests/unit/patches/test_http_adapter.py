# SPDX-License-Identifier: Apache-2.0

import fixtures
from requests import adapters

from ironic_inspection_rules.patches import http_adapter
from ironic_inspection_rules.patches import name
from ironic_inspection_rules.tests.unit import base


class MakeTestCase(base.IronicTestCase):

    def test_it_is_ironics_where_ironic_has_one(self):
        made = http_adapter.make(max_retries=3)
        self.assertEqual(3, made.max_retries.total)
        if int(name.release().partition('.')[0]) > 38:
            self.assertIs(http_adapter.ADAPTER.find(), type(made))

    def test_it_is_a_plain_one_where_ironic_has_none(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.http_adapter.ADAPTER',
            name.Name('ironic.common.image_service', 'NoAdapter', '')))
        self.assertIs(adapters.HTTPAdapter, type(http_adapter.make()))
