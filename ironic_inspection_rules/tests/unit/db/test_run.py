# SPDX-License-Identifier: Apache-2.0

"""Runs of rules in the database, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

NODE = uuidutils.generate_uuid()
OTHER = uuidutils.generate_uuid()


def values(**columns):
    """What is stored of a run."""
    return {
        'uuid': uuidutils.generate_uuid(),
        'node_uuid': NODE,
        'event': 'inspection',
        'result': 'ok',
        'phases': {'main': {}},
        **columns,
    }


class RunMixin:
    """Tests that hold on every kind of database."""

    def record(self, keep=5, **columns):
        stored = values(**columns)
        database.record_run(stored, keep)
        return stored['uuid']

    def uuids(self, node=NODE, **kwargs):
        return [row.uuid for row in run.list_runs(node, **kwargs)]

    def test_runs_of_a_node_are_listed_newest_first(self):
        first, second = self.record(), self.record()
        self.record(node_uuid=OTHER)

        self.assertEqual([second, first], self.uuids())
        self.assertEqual([second], self.uuids(limit=1))
        (newest,) = run.list_runs(NODE, limit=1)
        self.assertEqual([first], self.uuids(before=newest.id))

    def test_the_oldest_runs_of_the_node_make_room(self):
        other = self.record(node_uuid=OTHER)
        recorded = [self.record(keep=3) for _each in range(5)]

        self.assertEqual(recorded[:1:-1], self.uuids())
        self.assertEqual([other], self.uuids(OTHER))

    def test_reapplications_make_room_for_each_other_only(self):
        inspected = [self.record(keep=2) for _each in range(3)]
        reapplied = [
            self.record(keep=2, event='reapply') for _each in range(4)
        ]

        self.assertEqual([*reapplied[:1:-1], *inspected[:0:-1]], self.uuids())
        last = self.record(keep=1)
        self.assertEqual([last, reapplied[-1]], self.uuids())

    def test_with_none_to_keep_none_is_stored_and_old_ones_go(self):
        self.record()
        self.record(keep=0)

        self.assertEqual([], self.uuids())

    def test_the_last_attempt_at_an_inspection_replaces_the_others(self):
        uuid = self.record(result='ok')
        between = self.record()
        self.record(uuid=uuid, result='failed')

        self.assertEqual([uuid, between], self.uuids())
        self.assertEqual('failed', run.get_run(NODE, uuid).result)

    def test_a_run_is_read_whole_or_in_brief(self):
        phases = {'main': {'rules': [{'uuid': '\N{GRINNING FACE}\0'}]}}
        uuid = self.record(phases=phases, error='\0 \N{GRINNING FACE} at')

        found = run.get_run(NODE, uuid)
        self.assertEqual(phases, found.phases)
        self.assertIn('at', found.error)
        self.assertNotIn('phases', run.list_runs(NODE)[0].__dict__)
        self.assertEqual(phases, run.list_runs(NODE, whole=True)[0].phases)

    def test_a_run_of_another_node_is_not_found(self):
        uuid = self.record(node_uuid=OTHER)

        self.assertRaises(exceptions.NotFound, run.get_run, NODE, uuid)

    def test_data_are_those_of_the_last_run_if_it_failed(self):
        self.assertIsNone(run.get_data(NODE))
        digest = content.store({'inventory': {'cpu': 1}, 'plugin_data': {}})
        self.record(result='failed', content=digest)
        self.assertEqual({'cpu': 1}, run.get_data(NODE)['inventory'])
        self.record(result='ok')
        self.assertIsNone(run.get_data(NODE))

    def test_an_older_run_names_no_data(self):
        for number in range(3):
            self.record(
                result='failed',
                content=content.store(
                    {'inventory': {'cpu': number}, 'plugin_data': {}}
                ),
            )
        self.assertEqual({'cpu': 2}, run.get_data(NODE)['inventory'])
        with transaction.reader() as session:
            self.assertEqual(
                [None, None],
                session.execute(
                    sa.select(models.RunRow.__table__.c.content)
                    .order_by(models.RunRow.id)
                    .limit(2)
                )
                .scalars()
                .all(),
            )

    def test_the_runs_of_a_node_go_with_it(self):
        self.record()
        other = self.record(node_uuid=OTHER)

        run.destroy_runs([NODE])

        self.assertEqual([], self.uuids())
        self.assertEqual([other], self.uuids(OTHER))

    def test_nodes_with_runs_are_listed_once_and_in_order(self):
        self.record()
        self.record()
        self.record(node_uuid=OTHER)
        first, second = sorted([NODE, OTHER])

        self.assertEqual([first, second], run.list_nodes('', 9))
        self.assertEqual([first], run.list_nodes('', 1))
        self.assertEqual([second], run.list_nodes(first, 9))


class RunTestCase(RunMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
