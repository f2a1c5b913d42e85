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
