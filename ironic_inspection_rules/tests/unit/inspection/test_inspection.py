# SPDX-License-Identifier: Apache-2.0

"""An inspection that is made once, and how it is handed over."""

from oslo_db import exception as db_exc

from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests.unit.inspection import base


class InspectionTestCase(base.GlueTestCase):

    def setUp(self):
        super().setUp()
        self.inspection = inspection.Inspection(
            recorder.Run(recorder.INSPECTION))

    def test_no_phase_is_repeated(self):
        self.assertFalse(self.inspection.is_repeatable)
        self.assertIsNone(self.inspection.checkpoint_of('main'))

    def test_a_lost_database_is_left_to_ironic(self):
        def lose():
            with self.inspection.guard():
                raise db_exc.DBConnectionError()
        self.assertRaises(db_exc.DBConnectionError, lose)

    def test_a_task_has_it_while_it_lasts(self):
        self.assertIsNone(inspection.of(self.task))
        with inspection.handed_over(self.inspection, self.task):
            self.assertIs(self.inspection, inspection.of(self.task))
        self.assertIsNone(inspection.of(self.task))
