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

"""That the documentation knows what the code has."""

from importlib import metadata
import pathlib
import re

import ironic_inspection_rules
from ironic_inspection_rules.tests.unit import base

REFERENCE = pathlib.Path(ironic_inspection_rules.__file__).parents[1].joinpath(
    'doc', 'source', 'reference')


class ReferenceTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        if not REFERENCE.is_dir():
            self.skipTest('not a checkout: no documentation')

    def test_every_op_is_described(self):
        installed, described = set(), set()
        for group in ('conditions', 'actions'):
            installed |= metadata.entry_points(
                group=f'ironic.inspection_rules.{group}').names
        for page in ('conditions', 'actions', 'inspector'):
            text = REFERENCE.joinpath(f'{page}.rst').read_text()
            described |= set(re.findall(r'``([a-z-]+)\(', text))
        self.assertEqual(installed, described)
