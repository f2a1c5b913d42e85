# SPDX-License-Identifier: Apache-2.0

"""The tests of the queue, on real database servers."""

from ironic_inspection_rules.tests.functional.db import test_servers
from ironic_inspection_rules.tests.unit.queue import test_database_queue
from ironic_inspection_rules.tests.unit.queue import test_metrics


class MySQLQueueTestCase(
    test_database_queue.DatabaseQueueMixin, test_servers.ServerTestCase
):
    kind = 'mysql'


class PostgreSQLQueueTestCase(
    test_database_queue.DatabaseQueueMixin, test_servers.ServerTestCase
):
    kind = 'postgresql'


class MySQLBacklogTestCase(
    test_metrics.BacklogMixin, test_servers.ServerTestCase
):
    kind = 'mysql'


class PostgreSQLBacklogTestCase(
    test_metrics.BacklogMixin, test_servers.ServerTestCase
):
    kind = 'postgresql'
