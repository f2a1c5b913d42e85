# SPDX-License-Identifier: Apache-2.0

"""What the migrations must do, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

import ast
import contextlib
import pathlib

from alembic import autogenerate
from alembic import migration as alembic_migration
from alembic import script as alembic_script
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import models
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

SCRIPTS = alembic_script.ScriptDirectory.from_config(migration._config())

REVISIONS = [script.revision for script in SCRIPTS.walk_revisions()][::-1]


class MigrationMixin:
    """Tests that hold on every kind of database."""

    left_after_interruption = False
    """Whether the database commits every statement that changes tables."""

    def tables(self):
        return set(sa.inspect(self.database.engine).get_table_names())

    def test_each_revision_is_reached_from_the_one_before(self):
        for revision in REVISIONS:
            migration.upgrade(revision)
            self.assertEqual(revision, migration.version())

    def test_models_and_migrations_make_the_same_tables(self):
        migration.upgrade()

        with self.database.engine.connect() as connection:
            context = alembic_migration.MigrationContext.configure(
                connection,
                opts={
                    'compare_type': True,
                    'compare_server_default': True,
                    'version_table': migration.VERSION_TABLE,
                },
            )
            self.assertEqual(
                [],
                autogenerate.compare_metadata(context, models.Base.metadata),
            )

    def test_a_rule_of_the_database_has_the_fields_of_the_model(self):
        columns = set(models.RuleRow.__table__.columns.keys())

        self.assertEqual(set(), set(model.FIELDS) - columns - {'built_in'})

    def test_upgrade_may_be_repeated(self):
        migration.upgrade()
        with enginefacade.writer.get_engine().begin() as connection:
            connection.execute(
                sa.update(models.RulesRevisionRow).values(revision=42)
            )

        migration.upgrade()

        with self.database.engine.connect() as connection:
            rows = connection.execute(sa.select(models.RulesRevisionRow)).all()
        self.assertEqual([(1, 42)], rows)

    @contextlib.contextmanager
    def interrupted(self, statement):
        """Interrupt the process at a statement."""

        def fail(connection, element, *args):
            text = str(element.compile(connection))
            if statement in ' '.join(text.split()):
                raise KeyboardInterrupt

        # Before there is a cursor: SQLAlchemy 2.1 gives up the connection of
        # an interrupted one, and oslo.db then raises an error of its own.
        sa.event.listen(self.database.engine, 'before_execute', fail)
        try:
            yield
        finally:
            sa.event.remove(self.database.engine, 'before_execute', fail)

    def refusal(self, function, *args):
        """Check that nothing changes, and return the line that says why."""
        before = self.tables()
        message = str(
            self.assertRaises(exceptions.DatabaseNotReady, function, *args)
        )
        self.assertEqual(before, self.tables())
        self.assertNotIn('\n', message)
        return message

    def check_anew(self, message):
        for part in (
            'baremetal inspection rule export',
            f'{migration.COMMAND} drop --yes',
            f'{migration.COMMAND} create_schema',
        ):
            self.assertIn(part, message)
        migration.drop()
        self.assertEqual(set(), self.tables())
        migration.upgrade()
        migration.check()

    def test_what_an_interrupted_upgrade_leaves_is_not_gone_on_with(self):
        with self.interrupted('ir_parts'):
            self.assertRaises(KeyboardInterrupt, migration.upgrade)
        if not self.left_after_interruption:
            self.assertEqual([], migration.table_names())
            migration.upgrade()
            migration.check()
            return
        self.assertIn('ir_rules', self.tables())

        self.refusal(migration.check)
        self.check_anew(self.refusal(migration.upgrade))

    def test_what_an_interrupted_removal_leaves_is_refused(self):
        migration.upgrade()
        for name in ('ir_rules', 'ir_parts'):
            with self.interrupted(f'DROP TABLE {name}'):
                self.assertRaises(KeyboardInterrupt, migration.drop)
            if self.left_after_interruption:
                self.refusal(migration.upgrade)
        migration.drop()

        self.assertEqual(set(), self.tables())

    def make_preview(self, revision):
        """Make tables as a preview of the first release had them."""
        with self.database.engine.begin() as connection:
            for name, columns in (
                ('ir_rules', 'id INTEGER, description VARCHAR(255)'),
                ('ir_requests', 'id INTEGER, worker VARCHAR(255)'),
                ('ir_unprocessed', 'id INTEGER'),
                (migration.VERSION_TABLE, 'version_num VARCHAR(32)'),
            ):
                connection.execute(sa.text(f'CREATE TABLE {name} ({columns})'))
            connection.execute(
                sa.text("INSERT INTO ir_rules VALUES (1, 'mine')")
            )
            if revision:
                connection.execute(
                    sa.text(
                        f'INSERT INTO {migration.VERSION_TABLE} '
                        'VALUES (:revision)'
                    ),
                    {'revision': revision},
                )

    def test_tables_of_a_preview_are_refused_as_they_are(self):
        for revision in ('5a1c0e9d7b34', 'a4c9e61d02b7'):
            self.make_preview(revision)
            for function in (
                migration.upgrade,
                migration.check,
                migration.stamp,
            ):
                self.assertIn(revision, self.refusal(function))
            self.assertEqual(1, migration.count_rows()['ir_rules'])
            self.assertEqual(revision, migration.version())

            self.check_anew(self.refusal(migration.upgrade))
            migration.drop()

    def test_tables_without_a_revision_are_refused_as_they_are(self):
        self.make_preview(None)

        self.refusal(migration.check)
        message = self.refusal(migration.upgrade)
        # Another process may be making them, and must not lose them.
        self.assertIn('wait if another command makes them', message)
        self.check_anew(message)

    def test_tables_of_a_newer_release_are_not_upgraded(self):
        self.make_preview('ffffffffffff')

        self.assertIn('newer release', self.refusal(migration.upgrade))

    def test_other_tables_are_left_alone(self):
        with self.database.engine.begin() as connection:
            for name in ('nodes', 'alembic_version'):
                connection.execute(
                    sa.text(f'CREATE TABLE {name} (version_num VARCHAR(32))')
                )
            connection.execute(
                sa.text("INSERT INTO alembic_version VALUES ('theirs')")
            )

        migration.upgrade()

        self.assertLessEqual({'nodes', 'alembic_version'}, self.tables())
        with self.database.engine.connect() as connection:
            self.assertEqual(
                'theirs',
                connection.execute(
                    sa.text('SELECT version_num FROM alembic_version')
                ).scalar_one(),
            )

    def test_drop_removes_all_of_it_and_nothing_else(self):
        with self.database.engine.begin() as connection:
            connection.execute(sa.text('CREATE TABLE nodes (id INTEGER)'))
        migration.upgrade()
        self.assertEqual(1, migration.count_rows()['ir_rules_revision'])
        self.assertEqual({'nodes', *migration.count_rows()}, self.tables())

        migration.drop()

        self.assertEqual({'nodes'}, self.tables())
        self.assertIsNone(migration.version())
        migration.upgrade()
        migration.check()

    def test_stamp_notes_the_revision_and_makes_no_table(self):
        migration.stamp(REVISIONS[0])

        self.assertEqual(REVISIONS[0], migration.version())
        self.assertEqual({migration.VERSION_TABLE}, self.tables())

    def test_an_unknown_revision_is_refused(self):
        exc = self.assertRaises(
            exceptions.Invalid, migration.upgrade, 'nonsense'
        )
        self.assertIn('nonsense', str(exc))


class ScriptsTestCase(base.TestCase):
    def test_migrations_use_no_code_that_may_change(self):
        for script in SCRIPTS.walk_revisions():
            tree = ast.parse(pathlib.Path(script.path).read_text())
            used = set()
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    used.update(name.name for name in node.names)
                elif isinstance(node, ast.ImportFrom):
                    used.add(node.module)
            self.assertEqual(
                set(),
                {
                    name
                    for name in used
                    if name.partition('.')[0]
                    not in {'alembic', 'json', 'sqlalchemy', 'typing'}
                },
                script.path,
            )


class SQLiteMigrationTestCase(MigrationMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.database = self.useFixture(database.Database(ready=False))


class CheckTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database(ready=False))

    def refusal(self):
        return str(
            self.assertRaises(exceptions.DatabaseNotReady, migration.check)
        )

    def test_missing_tables_name_the_command_that_makes_them(self):
        self.assertIn('ironic-inspection-rules-dbsync upgrade', self.refusal())

    def test_old_tables_name_the_command_that_upgrades_them(self):
        migration.stamp(REVISIONS[0])
        if len(REVISIONS) == 1:
            migration.check()
            self.skipTest('there is one revision only')
        self.assertIn('ironic-inspection-rules-dbsync upgrade', self.refusal())

    def test_newer_tables_are_fine(self):
        migration.upgrade()
        with enginefacade.writer.get_engine().begin() as connection:
            connection.execute(
                sa.text(
                    f"UPDATE {migration.VERSION_TABLE} SET version_num='newer'"
                )
            )

        migration.check()

    def test_present_tables_are_fine(self):
        migration.upgrade()

        migration.check()
