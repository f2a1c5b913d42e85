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

"""The rules of the cookbook can be made, and run on a machine."""

import pathlib
import re
import textwrap

import yaml

import ironic_inspection_rules
from ironic_inspection_rules.tests.corpus import case as corpus
from ironic_inspection_rules.tests.unit import base

COOKBOOK = pathlib.Path(ironic_inspection_rules.__file__).parents[1].joinpath(
    'doc', 'source', 'user', 'cookbook.rst')
_BLOCK = re.compile(r'\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)')


class CookbookTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        if not COOKBOOK.is_file():
            self.skipTest('not a checkout: no documentation')
        self.rules = [yaml.safe_load(textwrap.dedent(block))
                      for block in _BLOCK.findall(COOKBOOK.read_text())]

    def run_rules(self, **given):
        case = corpus.Case('cookbook', '', {
            'name': 'cookbook', 'rules': self.rules, **given})
        self.assertEqual([], corpus.problems(case))
        return corpus.run(case)

    def test_all_rules_run_on_a_machine(self):
        result = self.run_rules()
        self.assertIsNone(result.outcome.error)
        self.assertEqual([False, False, True, True, True, False],
                         result.matched)
        self.assertEqual(['SSD1', 'HDD1'], result.at('/node/extra/disks'))
        self.assertEqual([True, False], [
            port['pxe_enabled'] for port in result.at('/ports')])

    def test_a_machine_that_was_just_discovered(self):
        result = self.run_rules(node={'auto_discovered': True},
                                inventory={'cpu': {'flags': ['vmx']}})
        self.assertEqual('redfish', result.at('/node/driver'))
        self.assertEqual(['HW_CPU_X86_VMX'], result.at('/node/traits'))

    def test_a_small_machine_fails(self):
        result = self.run_rules(inventory={'memory': {'physical_mb': 1024}})
        self.assertIn('only 1024 MiB', str(result.outcome.error))
        self.assertTrue(result.outcome.error.maintenance)
