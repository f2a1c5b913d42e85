# SPDX-License-Identifier: Apache-2.0

"""The tests of the storage, on real database servers."""

import multiprocessing
import os
import signal

from ironic.db.sqlalchemy import models as ironic_models
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.db import test_adoption
from ironic_inspection_rules.tests.unit.db import test_content
from ironic_inspection_rules.tests.unit.db import test_history
from ironic_inspection_rules.tests.unit.db import test_migration
from ironic_inspection_rules.tests.unit.db import test_rule
from ironic_inspection_rules.tests.unit.db import test_rule_statistics
from ironic_inspection_rules.tests.unit.db import test_run
from ironic_inspection_rules.tests.unit.db import test_table
from ironic_inspection_rules.tests.unit.db import test_unprocessed
from ironic_inspection_rules.tests.unit.objects import test_early_phase


class ServerTestCase(base.TestCase):
    kind: str
    ready = True
    ironic = False
    query: dict[str, str] = {}

    def setUp(self):
        super().setUp()
        reason = database.why_absent(self.kind)
        if reason:
            self.skipTest(reason)
        self.database = self.useFixture(
            database.Database(self.kind, self.ready, self.ironic, **self.query)
        )


class KillMixin:
    """A process that is killed before it commits."""

    def apply(self, base, made, updated, deleted):
        """Change rules in a process that dies when all was sent."""
        self.database.engine.dispose(close=False)
        sa.event.listen(
            self.database.engine,
            'commit',
            lambda _: os.kill(os.getpid(), signal.SIGKILL),
        )
        db_rule.change_rules(base, made, updated, deleted, rule_set.UNKNOWN)

    def state(self):
        rows = db_rule.list_rules()
        revision = database.read_revision()
        _row, versions = db_rule.get_rules_of_revision(revision)
        return (
            revision,
            [dict(row) for row in rows],
            [
                db_rule.describe_revision(row)
                for row in db_rule.list_revisions(10)
            ],
            [version.fields for version in versions],
        )

    def test_what_a_killed_process_began_was_never_done(self):
        changed, gone = (
            db_rule.create_rule(test_rule.values()) for _ in range(2)
        )
        change = (
            [test_rule.values()],
            {changed.uuid: {'priority': 5}},
            [gone.uuid],
        )
        before = self.state()

        process = multiprocessing.get_context('fork').Process(
            target=self.apply, args=(before[0], *change)
        )
        process.start()
        process.join(300)

        self.assertEqual(-signal.SIGKILL, process.exitcode)
        self.assertEqual(before, self.state())
        self.assertEqual(
            before[0] + 1,
            db_rule.change_rules(before[0], *change, rule_set.UNKNOWN),
        )


class MySQLKillTestCase(KillMixin, ServerTestCase):
    kind = 'mysql'


class PostgreSQLKillTestCase(KillMixin, ServerTestCase):
    kind = 'postgresql'


class MySQLRulesTestCase(test_rule.RulesMixin, ServerTestCase):
    kind = 'mysql'
    query = {'charset': 'utf8mb4'}


class MySQLWithoutCharsetTestCase(ServerTestCase):
    kind = 'mysql'

    def test_text_that_does_not_fit_is_invalid(self):
        exc = self.assertRaises(
            exceptions.Invalid,
            db_rule.create_rule,
            test_rule.values(description='\N{GRINNING FACE}'),
        )

        self.assertIn('description', str(exc))


class MySQLTableTestCase(test_table.TablesMixin, ServerTestCase):
    kind = 'mysql'


class PostgreSQLTableTestCase(test_table.TablesMixin, ServerTestCase):
    kind = 'postgresql'


class MySQLAdoptionTestCase(test_adoption.AdoptionMixin, ServerTestCase):
    kind = 'mysql'


class MySQLMigrationTestCase(test_migration.MigrationMixin, ServerTestCase):
    kind = 'mysql'
    ready = False
    left_after_interruption = True


class MySQLContentTestCase(test_content.ContentMixin, ServerTestCase):
    kind = 'mysql'


class PostgreSQLContentTestCase(test_content.ContentMixin, ServerTestCase):
    kind = 'postgresql'


class MySQLUnprocessedTestCase(
    test_unprocessed.UnprocessedMixin, ServerTestCase
):
    kind = 'mysql'


class PostgreSQLUnprocessedTestCase(
    test_unprocessed.UnprocessedMixin, ServerTestCase
):
    kind = 'postgresql'


class MySQLHistoryTestCase(test_history.HistoryMixin, ServerTestCase):
    kind = 'mysql'


class PostgreSQLHistoryTestCase(test_history.HistoryMixin, ServerTestCase):
    kind = 'postgresql'


class MySQLRunTestCase(test_run.RunMixin, ServerTestCase):
    kind = 'mysql'


class MySQLEarlyPhaseTestCase(
    test_early_phase.EarlyPhaseMixin, ServerTestCase
):
    kind = 'mysql'


class PostgreSQLEarlyPhaseTestCase(
    test_early_phase.EarlyPhaseMixin, ServerTestCase
):
    kind = 'postgresql'


class MySQLRuleStatisticsTestCase(
    test_rule_statistics.RuleStatisticsMixin, ServerTestCase
):
    kind = 'mysql'


class PostgreSQLRunTestCase(test_run.RunMixin, ServerTestCase):
    kind = 'postgresql'


class PostgreSQLRuleStatisticsTestCase(
    test_rule_statistics.RuleStatisticsMixin, ServerTestCase
):
    kind = 'postgresql'


class PostgreSQLRulesTestCase(test_rule.RulesMixin, ServerTestCase):
    kind = 'postgresql'


class PostgreSQLMigrationTestCase(
    test_migration.MigrationMixin, ServerTestCase
):
    kind = 'postgresql'
    ready = False


class PostgreSQLAdoptionTestCase(test_adoption.AdoptionMixin, ServerTestCase):
    kind = 'postgresql'


class HoldersMixin:
    """Holders of nodes in a collation that sorts signs before digits.

    MySQL 8.0 and many a PostgreSQL have one by default.
    """

    ironic = True
    collate: str

    def setUp(self):
        super().setUp()
        with self.database.engine.begin() as connection:
            connection.execute(sa.text(self.collate))

    def reserve(self, holder):
        node_uuid = uuidutils.generate_uuid()
        with self.database.engine.begin() as connection:
            connection.execute(
                sa.insert(ironic_models.Node.__table__).values(
                    uuid=node_uuid, reservation=holder
                )
            )
        return node_uuid

    def test_nodes_are_listed_by_the_beginning_of_their_holders_name(self):
        node_uuid = self.reserve('inspection-request:3f:0')
        self.reserve('inspection-requests')
        self.reserve('conductor')
        self.reserve(None)

        self.assertEqual(
            [(node_uuid, 'inspection-request:3f:0')],
            node_reservation.list_reserved('inspection-request:', 10),
        )


class MySQLHoldersTestCase(HoldersMixin, ServerTestCase):
    kind = 'mysql'
    collate = (
        'ALTER TABLE nodes MODIFY reservation VARCHAR(255) '
        'CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci'
    )


class PostgreSQLHoldersTestCase(HoldersMixin, ServerTestCase):
    kind = 'postgresql'
    collate = (
        'ALTER TABLE nodes ALTER COLUMN reservation '
        'TYPE VARCHAR(255) COLLATE "und-x-icu"'
    )
