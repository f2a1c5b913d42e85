# SPDX-License-Identifier: Apache-2.0

"""Upgrades from each release: of its rows, and with its processes running.

An upgrade replaces one process at a time. The tables go first, so that the old
code works on tables with columns that it does not know. Its statements are
made here from the frozen description of the tables in ``releases``.
"""

from collections.abc import Iterator
import typing

from alembic import script as alembic_script
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.functional.db import dump
from ironic_inspection_rules.tests.functional.db import test_servers

DUMPS = dump.load_all()
LEASE = 60.0
NEVER_SET = {('ir_runs', 'updated_at')}
"""Columns that no code gives a value."""


def scripts() -> alembic_script.ScriptDirectory:
    return alembic_script.ScriptDirectory.from_config(migration._config())


def steps_after(revision: str) -> list[tuple[str, str]]:
    """Return the later migrations: the revision before and that of each."""
    steps = []
    for script in scripts().walk_revisions():
        if script.revision == revision:
            return steps[::-1]
        steps.append((script.down_revision, script.revision))
    raise ValueError(revision)


def differences(
    expected: typing.Any, found: typing.Any, place: str = ''
) -> Iterator[str]:
    """Yield where something differs; a mapping may have further members."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name, value in expected.items():
            if name not in found:
                yield f'{place}/{name} is missing'
            else:
                yield from differences(value, found[name], f'{place}/{name}')
    elif (
        isinstance(expected, list)
        and isinstance(found, list)
        and (len(expected) == len(found))
    ):
        for index, value in enumerate(expected):
            yield from differences(value, found[index], f'{place}/{index}')
    elif expected != found:
        yield f'{place}: {found!r}, not {expected!r}'


class DumpTestCase(test_servers.ServerTestCase):
    """What the dumps have to be for the tests below to mean anything."""

    kind = 'sqlite'

    def test_there_is_one_of_the_first_release(self) -> None:
        first = scripts().get_base()

        self.assertEqual(('1.0', first), (DUMPS[0].release, DUMPS[0].revision))

    def test_each_has_rows_of_every_kind(self) -> None:
        for release in DUMPS:
            for name, table in release.tables.items():
                for column in table.known.columns.keys():
                    values = [row[column] for row in table.rows]
                    if (name, column) not in NEVER_SET:
                        self.assertTrue(
                            any(value is not None for value in values),
                            f'{release.release}: {name}.{column}',
                        )

    def test_the_statements_are_those_of_the_release(self) -> None:
        # The last one is that of this code until its tables change.
        last = DUMPS[-1]
        if last.revision != scripts().get_current_head():
            self.skipTest('the tables have changed since the last release')
        self.assertEqual(
            {table.name for table in models.Base.metadata.sorted_tables},
            set(last.tables),
        )

    def test_differences_are_seen(self) -> None:
        self.assertEqual(
            [],
            list(differences({'a': [{'b': 1}]}, {'a': [{'b': 1, 'new': 2}]})),
        )
        for found in ({'a': []}, {'a': [{}]}, {'a': [{'b': 2}]}, {}):
            self.assertEqual(
                1, len(list(differences({'a': [{'b': 1}]}, found)))
            )


class UpgradeMixin:
    """Tests that hold on every kind of database, of each release."""

    ready = False

    def execute(
        self, statement: typing.Any, *values: typing.Any
    ) -> sa.CursorResult:
        with transaction.writer_without_session() as connection:
            return connection.execute(statement, *values)

    def load(self, release: dump.Dump) -> None:
        """Make the tables of a release, with its rows."""
        if migration.version() is not None:
            migration.drop()
        migration.upgrade(release.revision)
        for table in release.tables.values():
            self.execute(sa.delete(table.known))
            self.execute(sa.insert(table.known), table.rows)

    def test_every_row_of_a_release_is_read(self) -> None:
        for release in DUMPS:
            self.load(release)
            migration.upgrade()
            migration.check()

            self.assertEqual(
                [], list(differences(release.read, dump.read_all()))
            )

    def test_a_later_migration_may_be_repeated(self) -> None:
        # MySQL commits every statement at once: what has interrupted an
        # upgrade may have left any part of its step.
        for release in DUMPS:
            self.load(release)
            for before, revision in steps_after(release.revision):
                migration.upgrade(revision)
                migration.stamp(before)
                migration.upgrade(revision)
            migration.upgrade()
            self.assertEqual(
                [], list(differences(release.read, dump.read_all()))
            )

    def test_the_statements_of_a_release_still_work(self) -> None:
        for release in DUMPS:
            self.load(release)
            migration.upgrade()
            for name, table in release.tables.items():
                self.check_statements(release.revision, name, table)

    def check_statements(
        self, revision: str, name: str, table: dump.Table
    ) -> None:
        """Carry out the statements of an old process on one table."""
        columns = table.known.columns
        for row in table.rows:
            is_it = sa.and_(
                *(columns[key] == row[key] for key in self.keys_of(name))
            )
            found = self.read(sa.select(*columns).where(is_it))
            self.assertEqual([row], found, name)
            values = {
                column: value
                for column, value in row.items()
                if column not in self.keys_of(name)
            }
            if values:
                changed = self.execute(
                    sa.update(table.known).where(is_it).values(values)
                )
                self.assertEqual(1, changed.rowcount, name)
            deleted = self.execute(sa.delete(table.known).where(is_it))
            self.assertEqual(1, deleted.rowcount, name)
            self.execute(sa.insert(table.known).values(row))
            self.assertEqual(
                [row], self.read(sa.select(*columns).where(is_it)), name
            )

    def keys_of(self, name: str) -> list[str]:
        inspector = sa.inspect(self.database.engine)
        return inspector.get_pk_constraint(name)['constrained_columns']

    def read(self, query: typing.Any) -> list[dict[str, typing.Any]]:
        with transaction.reader() as session:
            return [dict(row) for row in session.execute(query).mappings()]

    def test_columns_that_were_added_need_no_value(self) -> None:
        for release in DUMPS:
            self.load(release)
            migration.upgrade()
            inspector = sa.inspect(self.database.engine)
            for name, table in release.tables.items():
                present = {
                    column['name']: column
                    for column in inspector.get_columns(name)
                }
                self.assertLessEqual(
                    set(table.known.columns.keys()), set(present), name
                )
                for added in set(present) - set(table.known.columns.keys()):
                    column = present[added]
                    self.assertTrue(
                        column['nullable'] or column['default'] is not None,
                        f'{release.release} cannot insert into {name}: '
                        f'{added}',
                    )

    def test_new_code_refuses_old_tables_by_name(self) -> None:
        for release in DUMPS:
            self.load(release)
            if steps_after(release.revision):
                exc = self.assertRaises(
                    exceptions.DatabaseNotReady, migration.check
                )
                self.assertIn('upgrade', str(exc))


class SQLiteUpgradeTestCase(UpgradeMixin, test_servers.ServerTestCase):
    kind = 'sqlite'


class MySQLUpgradeTestCase(UpgradeMixin, test_servers.ServerTestCase):
    kind = 'mysql'
    query = {'charset': 'utf8mb4'}


class PostgreSQLUpgradeTestCase(UpgradeMixin, test_servers.ServerTestCase):
    kind = 'postgresql'


class SideBySideMixin:
    """Workers and API of the last release and of this one share a queue."""

    ready = False

    def setUp(self) -> None:
        super().setUp()
        self.old = DUMPS[-1]
        migration.upgrade(self.old.revision)
        self.requests = self.old.tables['ir_requests'].known
        self.data = self.old.tables['ir_unprocessed'].known
        self.node_uuid = uuidutils.generate_uuid()

    def upgrade(self) -> database_queue.DatabaseQueue:
        migration.upgrade()
        return database_queue.DatabaseQueue(LEASE)

    def execute(self, statement: typing.Any) -> sa.CursorResult:
        """Carry out a statement of the old code."""
        with transaction.writer_without_session() as connection:
            return connection.execute(statement)

    def put(self) -> str:
        """Put a request as the old API does."""
        uuid = uuidutils.generate_uuid()
        self.execute(
            sa.insert(self.data).values(
                node_uuid=self.node_uuid,
                posted=True,
                inventory='{"cpu": 1}',
                plugin_data='{}',
            )
        )
        with transaction.reader() as session:
            data = session.execute(
                sa.select(sa.func.max(self.data.c.id))
            ).scalar()
        self.execute(
            sa.insert(self.requests).values(
                uuid=uuid,
                version='1.0',
                node_uuid=self.node_uuid,
                open_node_uuid=self.node_uuid,
                event=queue_request.CONTINUE,
                state=state.WAITING,
                attempts=0,
                token=0,
                lock_failures=0,
                due_at=clock.now(),
                progress='{}',
                unprocessed_id=data,
            )
        )
        return uuid

    def change(
        self, request: queue_request.Request, **values: typing.Any
    ) -> bool:
        """Change a request as an old worker does, by its token."""
        row = self.requests.c
        return (
            self.execute(
                sa.update(self.requests)
                .values(**values)
                .where(
                    row.uuid == request.uuid,
                    row.token == request.token,
                    row.open_node_uuid.is_not(None),
                )
            ).rowcount
            == 1
        )

    def claim(self, request: queue_request.Request) -> queue_request.Request:
        """Claim a request as an old worker does."""
        self.assertTrue(
            self.change(
                request,
                worker='old',
                token=(request.token + 1),
                due_at=clock.now() + LEASE,
            )
        )
        return database_queue.DatabaseQueue(LEASE).find(request.uuid)

    def test_what_was_put_before_the_upgrade_is_processed(self) -> None:
        uuid = self.put()
        queue = self.upgrade()
        claimed = queue.get('new')
        self.assertEqual((uuid, {'cpu': 1}), (claimed.uuid, claimed.inventory))
        queue.consume(queue.begin(claimed, state.PROCESSING))
        self.assertEqual(state.FINISHED, queue.find(uuid).state)

    def test_what_the_old_api_puts_a_new_worker_processes(self) -> None:
        queue = self.upgrade()
        uuid = self.put()
        queue.consume(queue.begin(queue.get('new'), state.PROCESSING))
        self.assertEqual(state.FINISHED, queue.find(uuid).state)

    def test_what_the_new_api_puts_an_old_worker_processes(self) -> None:
        queue = self.upgrade()
        put = queue.put(self.node_uuid, queue_request.CONTINUE, {}, {})
        claimed = self.claim(put)
        self.assertIsNone(queue.get('new'))
        self.assertTrue(
            self.change(
                claimed, state=state.FINISHED, open_node_uuid=None, due_at=None
            )
        )
        self.assertEqual(state.FINISHED, queue.find(put.uuid).state)

    def test_a_new_leader_returns_what_a_dead_old_worker_held(self) -> None:
        queue = self.upgrade()
        put = queue.put(self.node_uuid, queue_request.CONTINUE, {}, {})
        claimed = self.claim(put)
        self.change(
            claimed, state=state.PROCESSING, attempts=1, due_at=clock.now() - 1
        )
        self.assertEqual(['old'], [each.worker for each in queue.expire()])
        self.assertFalse(
            self.change(claimed, state=state.FINISHED),
            'it is not the last delivery any more',
        )
        self.assertEqual(put.uuid, queue.get('new').uuid)

    def test_an_old_worker_takes_over_from_a_dead_new_one(self) -> None:
        queue = self.upgrade()
        queue.put(self.node_uuid, queue_request.CONTINUE, {}, {})
        lost = queue.begin(queue.get('new'), state.PROCESSING)
        claimed = self.claim(lost)
        self.assertEqual({lost.delivery}, queue.heartbeat([lost]))
        self.assertRaises(exceptions.LeaseLost, queue.consume, lost)
        self.assertTrue(self.change(claimed, state=state.FINISHED))


class SQLiteSideBySideTestCase(SideBySideMixin, test_servers.ServerTestCase):
    kind = 'sqlite'


class MySQLSideBySideTestCase(SideBySideMixin, test_servers.ServerTestCase):
    kind = 'mysql'


class PostgreSQLSideBySideTestCase(
    SideBySideMixin, test_servers.ServerTestCase
):
    kind = 'postgresql'
