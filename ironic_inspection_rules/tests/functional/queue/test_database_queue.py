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

"""The tests of the queue, on real database servers."""

from ironic_inspection_rules.tests.functional.db import test_servers
from ironic_inspection_rules.tests.unit.queue import test_database_queue
from ironic_inspection_rules.tests.unit.queue import test_metrics


class MySQLQueueTestCase(test_database_queue.DatabaseQueueMixin,
                         test_servers.ServerTestCase):
    kind = 'mysql'


class PostgreSQLQueueTestCase(test_database_queue.DatabaseQueueMixin,
                              test_servers.ServerTestCase):
    kind = 'postgresql'


class MySQLBacklogTestCase(test_metrics.BacklogMixin,
                           test_servers.ServerTestCase):
    kind = 'mysql'


class PostgreSQLBacklogTestCase(test_metrics.BacklogMixin,
                                test_servers.ServerTestCase):
    kind = 'postgresql'
