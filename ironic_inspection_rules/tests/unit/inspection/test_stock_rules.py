# SPDX-License-Identifier: Apache-2.0

"""What a conductor says of rules of stock Ironic."""

from ironic.db.sqlalchemy import models as ironic_models
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.inspection import stock_rules
from ironic_inspection_rules.tests.unit.inspection import base

ACTIONS = [{'op': 'fail', 'args': {'msg': 'no'}}]


class LeftBehindTestCase(base.GlueTestCase):

    def test_nothing_is_said_where_there_are_none(self):
        self.assertIsNone(stock_rules.left_behind())

    def test_rows_of_its_table_are_counted(self):
        with enginefacade.writer.using(self.context) as session:
            session.execute(sa.insert(ironic_models.InspectionRule), {
                'actions': ACTIONS, 'uuid': 'one'})

        said = stock_rules.left_behind()
        self.assertIn("1 in Ironic's own table", said)
        self.assertIn('ironic-inspection-rules-dbsync adopt', said)

    def test_its_file_is_named_until_it_is_taken_over(self):
        path = self.create_tempfiles([('rules', (
            '[{"uuid": "0a1b2c3d-0000-4000-8000-000000000001",'
            ' "actions": [{"op": "fail", "args": {"msg": "no"}}]}]'))])[0]
        self.config(group='inspection_rules', built_in_rules=path)
        self.assertIn(path, stock_rules.left_behind())

        adoption.store([{
            'uuid': '0a1b2c3d-0000-4000-8000-000000000001', 'version': '1.0',
            'priority': 0, 'phase': 'main', 'sensitive': False,
            'conditions': [], 'actions': ACTIONS}])
        self.assertIsNone(stock_rules.left_behind())
