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

"""How much of what is wrong a client learns."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import view
from ironic_inspection_rules.tests.unit import base


class WithoutSecretsTestCase(base.TestCase):

    def test_operations_are_named_by_position_only(self):
        problems = [
            exceptions.Problem('/priority', 'must be an integer'),
            exceptions.Problem('/actions', 'at least one is required'),
            exceptions.Problem('/actions/1/args/s3cret', 's3cret is no path'),
            exceptions.Problem('/actions/1/op', 'unknown op "s3cret"'),
            exceptions.Problem('/conditions/0', 's3cret'),
        ]

        shown = view.without_secrets(problems)

        self.assertEqual(problems[:2], shown[:2])
        self.assertEqual(['/actions/1', '/conditions/0'],
                         [problem.pointer for problem in shown[2:]])
        self.assertNotIn('s3cret', str(shown))
