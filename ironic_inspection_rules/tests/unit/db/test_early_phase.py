# SPDX-License-Identifier: Apache-2.0

"""What early rules did, on its way to the conductor.

``tests/functional/db`` repeats it on the database servers.
"""

import fixtures
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.db import early_phase
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

NODE = uuidutils.generate_uuid()
OTHER = uuidutils.generate_uuid()


class EarlyPhaseMixin:
    """Tests that hold on every kind of database."""

    def requests(self):
        return transaction.read(sa.select(models.EarlyPhase.request_id)
                                .order_by(models.EarlyPhase.id))

    def test_what_is_stored_is_taken_once(self):
        early_phase.put('req-1', NODE, {'record': {'rules': []}})
        early_phase.put('req-2', NODE, {'record': {'rules': [1]}})

        self.assertEqual({'record': {'rules': []}},
                         early_phase.take('req-1', NODE))
        self.assertIsNone(early_phase.take('req-1', NODE))
        self.assertEqual({'record': {'rules': [1]}},
                         early_phase.take('req-2', NODE))

    def test_it_is_of_one_node_and_one_request(self):
        early_phase.put('req-1', NODE, {})

        self.assertIsNone(early_phase.take('req-2', NODE))
        self.assertIsNone(early_phase.take('req-1', OTHER))
        self.assertEqual(['req-1'], self.requests())

    def test_what_nobody_takes_up_is_removed_when_the_machine_posts(self):
        early_phase.put('req-1', NODE, {})
        early_phase.put('req-2', NODE, {})
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.db.early_phase.LONGEST_WAIT', -60.0))
        early_phase.put('req-3', OTHER, {})
        self.assertEqual(['req-1', 'req-2', 'req-3'], self.requests())
        early_phase.put('req-4', NODE, {})
        self.assertEqual(['req-3', 'req-4'], self.requests())

    def test_it_goes_with_its_node(self):
        early_phase.put('req-1', NODE, {})
        early_phase.put('req-2', OTHER, {})

        self.assertEqual({NODE, OTHER}, set(run.list_nodes('', 9)))
        run.destroy_runs([NODE])
        self.assertEqual(['req-2'], self.requests())


class EarlyPhaseTestCase(EarlyPhaseMixin, base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
