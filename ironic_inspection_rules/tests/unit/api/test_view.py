# SPDX-License-Identifier: Apache-2.0

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
            exceptions.Problem('/vars/s3cret', 'is not valid'),
        ]

        shown = view.without_secrets(problems)

        self.assertEqual(problems[:2], shown[:2])
        self.assertEqual(['/actions/1', '/conditions/0', '/vars'],
                         [problem.pointer for problem in shown[2:]])
        self.assertNotIn('s3cret', str(shown))
