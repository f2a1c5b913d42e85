# SPDX-License-Identifier: Apache-2.0

"""Rules of other tables, read and moved."""

import json

import fixtures
from ironic.common.inspection_rules import validation
from ironic.db.sqlalchemy import models as ironic_models
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

UUID = '00000000-0000-4000-8000-00000000000%d'
ACTIONS = [{'op': 'fail', 'args': {'msg': 'no'}}]
IRONIC = ironic_models.InspectionRule.__table__


def values(number):
    return {'uuid': UUID % number, 'conditions': [], 'actions': ACTIONS}


class AdoptionMixin:
    """Tests over ``self.database``, which is ready."""

    def setUp(self):
        super().setUp()
        IRONIC.create(self.database.engine)

    def add(self, *rows):
        with self.database.engine.begin() as connection:
            for row in rows:
                connection.execute(sa.insert(IRONIC).values(**row))

    def test_rules_of_ironic_are_read_in_creation_order(self):
        self.add(
            {**values(2), 'scope': 'a', 'sensitive': True},
            {**values(1), 'conditions': None, 'priority': 7},
        )
        first, second = adoption.read_ironic()
        self.assertEqual(
            (UUID % 2, 'a', True, [], ACTIONS),
            (
                first['uuid'],
                first['scope'],
                first['sensitive'],
                first['conditions'],
                first['actions'],
            ),
        )
        self.assertEqual((UUID % 1, 7), (second['uuid'], second['priority']))
        self.assertFalse(second['conditions'])

    def test_rules_of_ironic_that_nobody_can_read_are_counted(self):
        self.add(values(1), values(2), {**values(3), 'phase': None})
        adoption.store([values(2)], adoption.read_ironic()[1:2])
        for text in ('{', '[' * 5000):
            with self.database.engine.begin() as connection:
                connection.execute(
                    sa.text('UPDATE inspection_rules SET conditions = :text'),
                    {'text': text},
                )
            self.assertEqual(2, adoption.count_ironic())
            exc = self.assertRaises(exceptions.Invalid, adoption.read_ironic)
            self.assertIn("in Ironic's own table cannot be read", str(exc))

    def store(self, *given, rows):
        adoption.store([values(each) for each in given], rows, rows)

    def test_ironic_runs_no_rule_that_was_taken_over(self):
        self.add(values(1), values(2))
        rows = adoption.read_ironic()
        self.store(1, 2, rows=rows)
        self.assertEqual([], adoption.read_ironic())
        self.assertEqual(rows, adoption.read_ironic(set_aside=True))
        self.assertEqual(
            [UUID % 1, UUID % 2], [rule.uuid for rule in db_rule.list_rules()]
        )
        with self.database.engine.connect() as connection:
            # As Ironic's engine asks for them.
            self.assertEqual(
                [],
                connection.execute(
                    sa.select(IRONIC).where(
                        IRONIC.c.phase.in_(
                            [
                                phase.value
                                for phase in validation.InspectionPhase
                            ]
                        )
                    )
                ).all(),
            )

    def test_what_is_given_back_is_as_it_was(self):
        self.add(values(1), {**values(2), 'phase': None, 'priority': 5})
        before = self.rows()
        rows = adoption.read_ironic()
        self.store(1, 2, rows=rows)
        db_rule.create_rule(values(3))
        self.assertNotEqual(before, self.rows())
        adoption.restore(
            adoption.read_ironic(set_aside=True), [UUID % 1, UUID % 2]
        )
        self.assertEqual(before, self.rows())
        self.assertEqual(
            [UUID % 3], [rule.uuid for rule in db_rule.list_rules()]
        )

    def rows(self):
        with self.database.engine.connect() as connection:
            return connection.execute(
                sa.select(IRONIC).order_by(IRONIC.c.id)
            ).all()

    def test_a_taken_uuid_leaves_all_as_it_was(self):
        db_rule.create_rule(values(2))
        self.add(values(1), values(2))
        self.assertRaises(
            exceptions.RuleAlreadyExists,
            self.store,
            1,
            2,
            rows=adoption.read_ironic(),
        )
        self.assertEqual(2, len(adoption.read_ironic()))
        self.assertEqual(1, len(db_rule.list_rules()))

    def test_a_change_meanwhile_leaves_all_as_it_was(self):
        self.add(values(1))
        rows = adoption.read_ironic()
        self.add(values(2))
        self.assertRaises(exceptions.Conflict, self.store, 1, rows=rows)
        self.assertEqual(2, len(adoption.read_ironic()))
        self.assertEqual([], db_rule.list_rules())

    def test_who_asks_for_the_revision_learns_of_it(self):
        before = database.read_revision()
        adoption.store([values(1)])
        self.assertGreater(database.read_revision(), before)


class SQLiteAdoptionTestCase(AdoptionMixin, base.TestCase):
    def setUp(self):
        self.database = database.Database()
        self.useFixture(self.database)
        super().setUp()


class InspectorTestCase(base.TestCase):
    def make(self, scope=True):
        """Make a database as ironic-inspector's migrations do.

        :returns: its URL.
        """
        directory = self.useFixture(fixtures.TempDir()).path
        url = f'sqlite:///{directory}/inspector.sqlite'
        tables = sa.MetaData()
        rules = sa.Table(
            'rules',
            tables,
            *(
                sa.Column(name, sa.Text)
                for name in (
                    'uuid',
                    'created_at',
                    'description',
                    'disabled',
                    *(('scope',) if scope else ()),
                )
            ),
        )
        conditions = sa.Table(
            'rule_conditions',
            tables,
            sa.Column('id', sa.Integer),
            *(
                sa.Column(name, sa.Text)
                for name in ('rule', 'op', 'multiple', 'field', 'params')
            ),
            sa.Column('invert', sa.Boolean),
        )
        actions = sa.Table(
            'rule_actions',
            tables,
            sa.Column('id', sa.Integer),
            *(
                sa.Column(name, sa.Text)
                for name in ('rule', 'action', 'params')
            ),
        )
        engine = sa.create_engine(url)
        tables.create_all(engine)
        with engine.begin() as connection:
            connection.execute(
                sa.insert(rules).values(uuid=UUID % 1, created_at='2020-02-02')
            )
            connection.execute(
                sa.insert(rules).values(
                    uuid=UUID % 2,
                    created_at='2020-01-01',
                    description='first',
                    **({'scope': 'a'} if scope else {}),
                )
            )
            connection.execute(
                sa.insert(conditions),
                [
                    {
                        'id': 1,
                        'rule': UUID % 1,
                        'op': 'eq',
                        'multiple': 'any',
                        'field': 'a',
                        'invert': True,
                        'params': json.dumps({'value': 5}),
                    }
                ],
            )
            connection.execute(
                sa.insert(actions),
                [
                    {
                        'id': 2,
                        'rule': UUID % 1,
                        'action': 'remove-trait',
                        'params': json.dumps({'name': 'CUSTOM_B'}),
                    },
                    {
                        'id': 1,
                        'rule': UUID % 1,
                        'action': 'add-trait',
                        'params': json.dumps({'name': 'CUSTOM_A'}),
                    },
                    {
                        'id': 3,
                        'rule': UUID % 2,
                        'action': 'fail',
                        'params': None,
                    },
                ],
            )
        engine.dispose()
        return url

    def test_rules_are_read_as_its_api_gives_them(self):
        self.assertEqual(
            [
                {
                    'uuid': UUID % 2,
                    'description': 'first',
                    'scope': 'a',
                    'conditions': [],
                    'actions': [{'action': 'fail'}],
                },
                {
                    'uuid': UUID % 1,
                    'description': None,
                    'scope': None,
                    'conditions': [
                        {
                            'op': 'eq',
                            'field': 'a',
                            'multiple': 'any',
                            'invert': True,
                            'value': 5,
                        }
                    ],
                    'actions': [
                        {'action': 'add-trait', 'name': 'CUSTOM_A'},
                        {'action': 'remove-trait', 'name': 'CUSTOM_B'},
                    ],
                },
            ],
            adoption.read_inspector(self.make()),
        )

    def test_older_databases_have_no_scopes(self):
        self.assertEqual(
            [None, None],
            [
                rule['scope']
                for rule in adoption.read_inspector(self.make(scope=False))
            ],
        )

    def test_the_error_names_a_missing_driver(self):
        self.assertRaises(
            exceptions.Invalid,
            adoption.read_inspector,
            'oracle+cx_oracle://host/inspector',
        )
