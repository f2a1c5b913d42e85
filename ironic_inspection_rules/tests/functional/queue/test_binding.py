# SPDX-License-Identifier: Apache-2.0

"""Requests and the inspections they belong to, on real servers."""

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit.queue import test_processor


class ServerMixin(test_processor.BindingMixin):

    def setUp(self):
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        super().setUp()


class MySQLBindingTestCase(ServerMixin, test_processor.BoundTestCase):
    """Whose times have no fractions of a second."""

    kind = 'mysql'


class PostgreSQLBindingTestCase(ServerMixin, test_processor.BoundTestCase):
    kind = 'postgresql'
