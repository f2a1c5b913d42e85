# SPDX-License-Identifier: Apache-2.0

"""Statistics of rules in the database, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

import concurrent.futures
import datetime

from oslo_utils import uuidutils

from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import rule_statistics
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

SINCE = datetime.datetime(2026, 11, 1)
LATER = datetime.datetime(2026, 11, 2)


def row(uuid, **numbers):
    """What a process counted of a rule."""
    return {
        'rule_uuid': uuid,
        'since': SINCE,
        'runs': 1,
        'matched': 0,
        'failed': 0,
        'audited': 0,
        'seconds': 0.5,
        'last_matched_at': None,
        'last_matched_node': None,
        **numbers,
    }


class RuleStatisticsMixin:
    """Tests that hold on every kind of database."""

    def stored(self, uuid):
        return next(
            dict(each)
            for each in rule_statistics.list_statistics()
            if each.rule_uuid == uuid
        )

    def test_numbers_add_up(self):
        one, two = uuidutils.generate_uuid(), uuidutils.generate_uuid()
        rule_statistics.add_statistics(
            [
                row(
                    one,
                    matched=1,
                    last_matched_at=SINCE,
                    last_matched_node='a',
                ),
                row(two, failed=1),
            ]
        )
        rule_statistics.add_statistics([row(one, runs=2, since=LATER)])

        self.assertEqual(
            row(
                one,
                runs=3,
                matched=1,
                seconds=1.0,
                last_matched_at=SINCE,
                last_matched_node='a',
            ),
            self.stored(one),
        )
        self.assertEqual(row(two, failed=1), self.stored(two))

    def test_the_last_match_counts(self):
        uuid = uuidutils.generate_uuid()
        for time, node in ((SINCE, 'a'), (LATER, 'b'), (None, None)):
            rule_statistics.add_statistics(
                [row(uuid, last_matched_at=time, last_matched_node=node)]
            )

        self.assertEqual(
            (LATER, 'b'),
            (
                self.stored(uuid)['last_matched_at'],
                self.stored(uuid)['last_matched_node'],
            ),
        )

    def test_any_number_of_rules_is_counted(self):
        uuids = [uuidutils.generate_uuid() for _each in range(4500)]
        rule_statistics.add_statistics(map(row, uuids))

        self.assertEqual(
            set(uuids),
            {each.rule_uuid for each in rule_statistics.list_statistics()},
        )

    def test_processes_do_not_lose_what_others_count(self):
        uuids = [uuidutils.generate_uuid() for _each in range(20)]

        def count(order):
            for _each in range(5):
                rule_statistics.add_statistics(map(row, uuids[::order]))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(count, (1, -1, 1, -1)))

        self.assertEqual(
            {20}, {each.runs for each in rule_statistics.list_statistics()}
        )

    def test_statistics_go_with_their_rule(self):
        kept, gone, last = (
            db_rule.create_rule(
                {
                    'uuid': uuidutils.generate_uuid(),
                    'conditions': [],
                    'actions': [],
                }
            ).uuid
            for _each in range(3)
        )
        built_in = uuidutils.generate_uuid()
        rule_statistics.add_statistics(map(row, (kept, gone, last, built_in)))

        db_rule.destroy_rule(gone)
        self.assertEqual(
            {kept, last, built_in},
            {each.rule_uuid for each in rule_statistics.list_statistics()},
        )
        db_rule.destroy_all_rules()
        self.assertEqual(
            [built_in],
            [each.rule_uuid for each in rule_statistics.list_statistics()],
        )


class RuleStatisticsTestCase(RuleStatisticsMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
