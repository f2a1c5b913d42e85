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

"""The tests of the storage, on real database servers."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import api
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.db import test_adoption
from ironic_inspection_rules.tests.unit.db import test_api
from ironic_inspection_rules.tests.unit.db import test_migration


class ServerTestCase(base.TestCase):

    kind: str
    ready = True
    query: dict[str, str] = {}

    def setUp(self):
        super().setUp()
        reason = database.why_absent(self.kind)
        if reason:
            self.skipTest(reason)
        self.database = self.useFixture(
            database.Database(self.kind, self.ready, **self.query))


class MySQLRulesTestCase(test_api.RulesMixin, ServerTestCase):
    kind = 'mysql'
    query = {'charset': 'utf8mb4'}


class MySQLWithoutCharsetTestCase(ServerTestCase):

    kind = 'mysql'

    def test_text_that_does_not_fit_is_invalid(self):
        exc = self.assertRaises(
            exceptions.Invalid, api.create_rule,
            test_api.values(description='\N{GRINNING FACE}'))

        self.assertIn('description', str(exc))


class MySQLAdoptionTestCase(test_adoption.AdoptionMixin, ServerTestCase):
    kind = 'mysql'


class MySQLMigrationTestCase(test_migration.MigrationMixin, ServerTestCase):
    kind = 'mysql'
    ready = False


class PostgreSQLRulesTestCase(test_api.RulesMixin, ServerTestCase):
    kind = 'postgresql'


class PostgreSQLMigrationTestCase(test_migration.MigrationMixin,
                                  ServerTestCase):
    kind = 'postgresql'
    ready = False


class PostgreSQLAdoptionTestCase(test_adoption.AdoptionMixin,
                                 ServerTestCase):
    kind = 'postgresql'
