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

"""The command that writes rules for machines like some good ones."""

import contextlib
import io

import yaml

from ironic_inspection_rules.tests.unit.command import test_shell
from ironic_inspection_rules.tests.unit.offline import files

GOOD = {'inventory': {**files.INVENTORY, 'memory': {'physical_mb': 4096},
                      'system_vendor': {'product_name': 'R7 '}}}


class ProfileTestCase(test_shell.CallTestCase):

    def test_rules_are_written_that_accept_the_machine(self):
        good = self.write('good/a.json', GOOD)
        rules = str(self.directory / 'rules.yaml')
        self.assertEqual((0, ''), self.call(
            'profile', str(self.directory / 'good'), '-o', rules))
        self.assertEqual((0, ''), self.call('lint', rules))
        code, _output = self.call('test', rules, '--inventory', good)
        self.assertEqual(0, code)

    def test_they_are_called_as_the_product_or_as_one_says(self):
        good = self.write('a.json', GOOD)
        for options, name in (((), 'R7'), (('--name', 'b 7'), 'b 7')):
            _code, output = self.call('profile', good, *options)
            self.assertIn(f'like {name}. Made from 1 inventory by', output)
            self.assertEqual(f'{name}: begin',
                             yaml.safe_load(output)[0]['description'])

    def test_nothing_stands_for_something_else(self):
        good = self.write('a.json', GOOD)
        for mismatch in ('fail', 'trait', 'audit'):
            _code, output = self.call('profile', good,
                                      '--on-mismatch', mismatch)
            self.assertNotIn('&id', output)

    def test_a_bad_tolerance_ends_with_one(self):
        good = self.write('a.json', GOOD)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, _output = self.call('profile', good,
                                      '--tolerance', 'fans=2')
        self.assertEqual(1, code)
        self.assertIn('fans=2', errors.getvalue())
