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

"""What a phase changed, and its checkpoint, against another transaction."""

import threading

from ironic import objects
from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.inspection import effects
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit.inspection import base

CHECKPOINT = 'e2a6f8d4-5d0b-4a54-9a53-0f5a4b6c7d18'
WEIGHT = 100
"""Rows of a transaction that MariaDB would rather not undo."""

PATIENCE = 60


class DeadlockTestCase(base.GlueTestCase):
    """A deadlock that the server ends at the cost of the phase."""

    kind = 'mysql'

    def setUp(self):
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        super().setUp()
        self.other_is_ready = threading.Event()
        self.has_checkpoint = threading.Event()
        self.attempts = 0
        objects.TraitList.create(self.context, self.task.node.id,
                                 ['CUSTOM_OLD'])
        with self.database.engine.begin() as connection:
            connection.execute(sa.insert(models.Chassis).values(
                uuid=CHECKPOINT))

    def write(self, connection, text):
        """Write what stands for a checkpoint."""
        connection.execute(sa.update(models.Chassis).where(
            models.Chassis.uuid == CHECKPOINT).values(description=text))

    def checkpoint(self, session):
        self.attempts += 1
        self.write(session, f'attempt {self.attempts}')
        self.has_checkpoint.set()

    def want_the_checkpoint_too(self):
        """Lock what the phase locks last, then what it locked first."""
        with self.database.engine.begin() as connection:
            connection.execute(sa.insert(models.Chassis), [
                {'uuid': uuidutils.generate_uuid()} for _ in range(WEIGHT)])
            connection.execute(sa.update(models.NodeTrait).values(
                version='1.0.1'))
            self.other_is_ready.set()
            self.has_checkpoint.wait(PATIENCE)
            self.write(connection, 'of the other')

    def test_the_loser_saves_its_checkpoint_again_with_all_else(self):
        other = threading.Thread(target=self.want_the_checkpoint_too)
        other.start()
        self.other_is_ready.wait(PATIENCE)
        target = working_copy.WorkingCopy(facts.of_task(self.task, {}, {}),
                                          effects.ServiceEffects())
        target.set(working_copy.NODE, ('extra', 'marks'), ['x'])
        target.set(working_copy.NODE, (working_copy.TRAITS,), ['CUSTOM_NEW'])
        saving.save(self.task, target, (), checkpoint=self.checkpoint)
        other.join(PATIENCE)

        node = self.stored_node()
        with self.database.engine.connect() as connection:
            saved = connection.execute(sa.select(
                models.Chassis.description).where(
                    models.Chassis.uuid == CHECKPOINT)).scalar()
        self.assertEqual(
            ({'marks': ['x']}, ['CUSTOM_NEW'], 'attempt 2'),
            (node.extra, node.traits.get_trait_names(), saved))
