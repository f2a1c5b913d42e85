# SPDX-License-Identifier: Apache-2.0

"""What early rules did, on its way to the conductor.

``tests/functional/db`` repeats it on the database servers.
"""

import fixtures
from ironic.common import context
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.objects import early_phase
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

NODE = uuidutils.generate_uuid()
OTHER = uuidutils.generate_uuid()


def put(request_id, node_uuid, kept):
    """Store what the early rules of a request did, as the API does."""
    early_phase.EarlyPhase.put(
        context.RequestContext(request_id=request_id), node_uuid, kept
    )


def take(request_id, node_uuid):
    """Take up what the early rules of a request did, as a conductor does."""
    return early_phase.EarlyPhase.take(
        context.RequestContext(request_id=request_id), node_uuid
    )


class EarlyPhaseMixin:
    """Tests that hold on every kind of database."""

    def requests(self):
        return transaction.read(
            sa.select(models.EarlyPhaseRow.request_id).order_by(
                models.EarlyPhaseRow.id
            )
        )

    def test_what_is_stored_is_taken_once(self):
        put('req-1', NODE, {'record': {'rules': []}})
        put('req-2', NODE, {'record': {'rules': [1]}})

        self.assertEqual({'record': {'rules': []}}, take('req-1', NODE))
        self.assertIsNone(take('req-1', NODE))
        self.assertEqual({'record': {'rules': [1]}}, take('req-2', NODE))

    def test_it_is_of_one_node_and_one_request(self):
        put('req-1', NODE, {})

        self.assertIsNone(take('req-2', NODE))
        self.assertIsNone(take('req-1', OTHER))
        self.assertEqual(['req-1'], self.requests())

    def test_what_nobody_takes_up_is_removed_when_the_machine_posts(self):
        put('req-1', NODE, {})
        put('req-2', NODE, {})
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.objects.early_phase.LONGEST_WAIT',
                -60.0,
            )
        )
        put('req-3', OTHER, {})
        self.assertEqual(['req-1', 'req-2', 'req-3'], self.requests())
        put('req-4', NODE, {})
        self.assertEqual(['req-3', 'req-4'], self.requests())

    def test_it_goes_with_its_node(self):
        put('req-1', NODE, {})
        put('req-2', OTHER, {})

        self.assertEqual({NODE, OTHER}, set(run.list_nodes('', 9)))
        run.destroy_runs([NODE])
        self.assertEqual(['req-2'], self.requests())


class EarlyPhaseTestCase(EarlyPhaseMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
