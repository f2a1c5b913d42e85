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
import contextlib

from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules.patches import database
from ironic_inspection_rules.tests.unit.inspection import base


class TransactionTestCase(base.GlueTestCase):

    def names(self):
        """Names of the nodes in the database, as another session sees them."""
        with database.transaction() as session:
            return list(session.scalars(sa.select(models.Node.name)))

    def test_what_ironic_saves_inside_ends_with_the_transaction(self):
        before = self.names()
        with contextlib.suppress(ZeroDivisionError), database.transaction():
            self.task.node.name = 'renamed'
            self.task.node.save()
            raise ZeroDivisionError
        self.assertEqual(before, self.names())

    def test_what_ironic_saves_inside_is_kept_at_its_end(self):
        with database.transaction():
            self.task.node.name = 'renamed'
            self.task.node.save()
        self.assertEqual(['renamed'], self.names())

    def test_one_inside_another_is_the_same(self):
        with (database.transaction() as outer,
              database.transaction() as inner):
            self.assertIs(outer, inner)
