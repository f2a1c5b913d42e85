# SPDX-License-Identifier: Apache-2.0

"""How much databases read for what is asked of a long queue all the time."""

import sqlalchemy as sa

from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.functional.db import test_servers

DIGITS = 5
REQUESTS = 10**DIGITS
# What "get" takes is held to the end, however slowly a plan is read: where
# nothing is held, "read_neglected" may count.
LEASE = 3600.0

_NUMBERS = ' CROSS JOIN '.join(
    '(SELECT 0 AS n'
    + ''.join(f' UNION ALL SELECT {factor * digit}' for digit in range(1, 10))
    + f') AS t{factor}'
    for factor in (10**place for place in range(DIGITS))
)
_NUMBER = ' + '.join(f't{10**place}.n' for place in range(DIGITS))
_FILL = (
    f"""
    INSERT INTO ir_requests (
        uuid, node_uuid, open_node_uuid, event, state, attempts, token,
        lock_failures, worker, due_at, finished_at, progress)
    SELECT CONCAT('request-', number), CONCAT('node-', number),
        CASE WHEN part < 50 THEN CONCAT('node-', number) END, 'continue',
        CASE WHEN part < 49 THEN 'waiting' WHEN part = 49 THEN 'processing'
            ELSE 'finished' END, 0, 0, 0,
        CASE WHEN part > 48 THEN 'w1' END, CASE WHEN part < 50 THEN number END,
        CASE WHEN part > 49 THEN TIMESTAMP '9000-01-01 00:00:00' END, '{{}}'
    FROM (SELECT {_NUMBER} AS number, MOD({_NUMBER}, 100) AS part
          FROM {_NUMBERS}) AS numbers
    """,
    """
    INSERT INTO ir_unprocessed (node_uuid, posted, inventory, plugin_data)
    SELECT node_uuid, true, '{}', '{}' FROM ir_requests
    WHERE open_node_uuid IS NOT NULL
    """,
    """
    INSERT INTO ir_unprocessed (
        node_uuid, posted, inventory, plugin_data, content)
    SELECT node_uuid, true, '{}', '{}', CONCAT('content-', id)
    FROM ir_requests WHERE open_node_uuid IS NULL
    """,
    """
    INSERT INTO nodes (uuid, driver, conductor_group)
    SELECT node_uuid, 'of-others', '' FROM ir_requests
    """,
)


def fill(engine):
    """Put 100,000 requests; half of them wait, each with data.

    The data of the others are stored by content. The worker of one of a
    hundred has died.

    :param engine: of a database with the tables of this project and Ironic.
    """
    with engine.connect().execution_options(
        isolation_level='AUTOCOMMIT'
    ) as connection:
        for statement in _FILL:
            connection.execute(sa.text(statement))
        for table in ('ir_requests', 'ir_unprocessed', 'nodes'):
            connection.exec_driver_sql(
                f'VACUUM ANALYZE {table}'
                if engine.dialect.name == 'postgresql'
                else f'ANALYZE TABLE {table}'
            )


def questions():
    """Return what workers, leader and API ask for, by what they call it."""
    queue = database_queue.DatabaseQueue(LEASE)
    return {
        'get': lambda: queue.get('w1'),
        'is_any_power_on_due': queue.is_any_power_on_due,
        'expire': lambda: leases.expire_leases(LEASE, [state.PROCESSING]),
        'claim_unsettled': queue.claim_unsettled,
        'forget': lambda: queue.forget(0.0),
        'list_nodes': lambda: unprocessed.list_nodes('', 500),
        'store_by_content': lambda: unprocessed.store_by_content(100),
        'read_neglected': lambda: backlog.read_neglected(60.0),
        'read_unserved': lambda: backlog.read_unserved(
            node_reservation.served_by(['fake-hardware'], []), 60.0
        ),
        'read': backlog.read,
    }


def asked(engine, question):
    """Return the queries of a question, each with parameters it had."""
    queries = {}

    def note(connection, cursor, statement, parameters, *args):
        if 'SELECT' in statement and 'ir_' in statement:
            queries[statement] = parameters

    sa.event.listen(engine, 'before_cursor_execute', note)
    question()
    sa.event.remove(engine, 'before_cursor_execute', note)
    return list(queries.items())


class PlansMixin:
    ironic = True
    few = REQUESTS / 10
    """Rows; what joins some of those that it looks at reads them again."""

    def test_nothing_reads_all_that_wait(self):
        fill(self.database.engine)
        read = {}
        for name, question in questions().items():
            queries = asked(self.database.engine, question)
            self.assertTrue(queries, name)
            with self.database.engine.connect() as connection:
                read[name] = max(
                    self.rows_read(connection, *query) for query in queries
                )
                if name == 'read':
                    self.check_count(connection, *queries[0])
        # It counts, but in the index only.
        self.assertGreater(read.pop('read'), REQUESTS / 3)
        self.assertEqual(
            {}, {name: rows for name, rows in read.items() if rows > self.few}
        )


class MySQLPlansTestCase(PlansMixin, test_servers.ServerTestCase):
    kind = 'mysql'

    def rows_read(self, connection, statement, parameters):
        before = self.handled(connection)
        connection.exec_driver_sql(statement, parameters).all()
        after = self.handled(connection)
        # Asking is counted, too.
        return after - before - (self.handled(connection) - after)

    def handled(self, connection):
        return sum(
            int(row[1])
            for row in connection.exec_driver_sql(
                "SHOW SESSION STATUS LIKE 'Handler_read%%'"
            )
        )

    def check_count(self, connection, statement, parameters):
        rows = (
            connection.exec_driver_sql(f'EXPLAIN {statement}', parameters)
            .mappings()
            .all()
        )
        self.assertNotIn('ALL', [row['type'] for row in rows])
        self.assertEqual(
            1,
            sum(
                {'Using where', 'Using index'}
                <= {*(row['Extra'] or '').split('; ')}
                for row in rows
            ),
            rows,
        )


class PostgreSQLPlansTestCase(PlansMixin, test_servers.ServerTestCase):
    kind = 'postgresql'

    def rows_read(self, connection, statement, parameters):
        [[[found]]] = connection.exec_driver_sql(
            f'EXPLAIN (ANALYZE, FORMAT JSON) {statement}', parameters
        )
        return self.scanned(found['Plan'])

    def scanned(self, plan):
        own = (
            plan['Actual Loops']
            * (plan['Actual Rows'] + plan.get('Rows Removed by Filter', 0))
            if plan['Node Type'].endswith('Scan')
            else 0
        )
        return own + sum(map(self.scanned, plan.get('Plans', ())))

    def check_count(self, connection, statement, parameters):
        [[[found]]] = connection.exec_driver_sql(
            f'EXPLAIN (FORMAT JSON) {statement}', parameters
        )
        nodes = list(self.nodes(found['Plan']))
        self.assertNotIn('Seq Scan', [each['Node Type'] for each in nodes])
        self.assertIn(
            ('Index Only Scan', 'ir_requests_state_due_at_idx'),
            [(each['Node Type'], each.get('Index Name')) for each in nodes],
        )

    def nodes(self, plan):
        yield plan
        for part in plan.get('Plans', ()):
            yield from self.nodes(part)
