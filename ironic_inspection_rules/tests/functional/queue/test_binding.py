# SPDX-License-Identifier: Apache-2.0

"""Requests and the inspections they belong to, on real servers."""

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit.queue import test_attempt


class ServerMixin(test_attempt.BindingMixin):
    def setUp(self):
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        super().setUp()


class MySQLBindingTestCase(ServerMixin, test_attempt.BoundTestCase):
    """Whose times have no fractions of a second."""

    kind = 'mysql'


class PostgreSQLBindingTestCase(ServerMixin, test_attempt.BoundTestCase):
    kind = 'postgresql'
