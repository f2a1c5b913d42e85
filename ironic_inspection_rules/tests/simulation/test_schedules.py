# SPDX-License-Identifier: Apache-2.0

"""Schedules of the queue with faults, which must violate no invariant.

``make simulate`` runs more of them.
"""

import gc
import inspect
import logging
import os
import types

import fixtures
from ironic import objects
from ironic.common import context
from ironic.db.sqlalchemy import api

from ironic_inspection_rules import conf
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.simulation import cluster
from ironic_inspection_rules.tests.simulation import database as sim_database
from ironic_inspection_rules.tests.simulation import defects
from ironic_inspection_rules.tests.simulation import schedule
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.inspection import base as glue

COUNT = int(os.environ.get('IR_SCHEDULES', 300))
FIRST = int(os.environ.get('IR_FIRST_SCHEDULE', 1))
PARTS = 8
ON_SERVERS = 100
"""A server runs one schedule in so many, as they take much longer."""

_MARKS = [
    glue.rule(
        ('extend-attribute', ['/extra/marks', '{inventory[mark]} ' + phase]),
        phase=phase,
    )
    for phase in ('preprocess', 'main')
]


class SimulationTestCase(base.IronicTestCase):
    kind = 'sqlite'

    def setUp(self):
        super().setUp()
        reason = database.why_absent(self.kind)
        if reason:
            self.skipTest(reason)
        conf.register_opts(self.cfg.conf)
        self.config(group='database', connection='sqlite://')
        self.config(group='inventory', data_backend='none')
        self.config(host='conductor')
        self.config(
            node_locked_retry_attempts=0,
            inspect_wait_timeout=40,
            group='conductor',
        )
        objects.register_all()
        tables = self.useFixture(database.Database(self.kind, ironic=True))
        self.context = context.get_admin_context()
        rules = glue.rules(*_MARKS)
        for name, value in (
            ('ironic_inspection_rules.inspection.start.rules', lambda: rules),
            # Statistics are written by a timer, outside the scheduler.
            (
                'ironic_inspection_rules.inspection.rule_counter.get_counter',
                lambda: types.SimpleNamespace(count=lambda *args: None),
            ),
            (
                'ironic.common.inspection_rules.engine.apply_rules',
                lambda task, inventory, plugin_data, inspection_phase: None,
            ),
            # Simulated processes share no semaphore.
            (
                'ironic.db.sqlalchemy.api.Connection._reserve_node_place_lock',
                inspect.unwrap(api.Connection._reserve_node_place_lock),
            ),
            (
                'ironic.common.driver_factory.build_driver_for_task',
                lambda task: cluster.DRIVER,
            ),
        ):
            self.useFixture(fixtures.MonkeyPatch(name, value))
        self.useFixture(fixtures.FakeLogger(level=logging.CRITICAL))
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.database = sim_database.Database(tables.engine)
        self.addCleanup(self.database.close)
        # Fills caches, so that all other schedules run the same steps.
        self.try_schedule(0)
        # Loaded modules stay; scanning them again takes long.
        gc.collect()
        gc.freeze()
        self.addCleanup(gc.unfreeze)

    def try_schedule(self, seed):
        one = schedule.Schedule(seed, self.database)
        try:
            one.run()
        except AssertionError as exc:
            trace = '\n'.join(one.trace)
            raise AssertionError(f'schedule {seed}: {exc}\n{trace}') from exc


class ScheduleTestCase(SimulationTestCase):
    """The schedules, in parts that several processes can run."""

    def try_part(self, part):
        for seed in range(FIRST + part, FIRST + COUNT, PARTS):
            self.try_schedule(seed)


def _make_test(part):
    return lambda self: self.try_part(part)


for _part in range(PARTS):
    setattr(
        ScheduleTestCase, f'test_schedules_of_part_{_part}', _make_test(_part)
    )


class SeedTestCase(SimulationTestCase):
    def test_the_same_seed_makes_the_same_choices_again(self):
        first = self.choices_of(77936)
        self.try_schedule(1)
        self.assertEqual(first, self.choices_of(77936))

    def choices_of(self, seed):
        one = schedule.Schedule(seed, self.database)
        one.run()
        return one.turns.steps, one.turns.random.getstate()


class ServerMixin:
    """Some schedules on a server, which has row locks and snapshots."""

    def test_schedules(self):
        for seed in range(FIRST, FIRST + COUNT, ON_SERVERS):
            self.try_schedule(seed)


class MariaDBScheduleTestCase(ServerMixin, SimulationTestCase):
    kind = 'mysql'


class PostgreSQLScheduleTestCase(ServerMixin, SimulationTestCase):
    kind = 'postgresql'


class DefectTestCase(SimulationTestCase):
    """Checks that schedules find known defects."""

    def assert_found(self, defect, seed):
        self.try_schedule(seed)
        with defect():
            self.assertRaises(AssertionError, self.try_schedule, seed)

    def test_a_worker_that_breaks_its_own_lock(self):
        self.assert_found(defects.node_lock_of_worker, 47)

    def test_a_worker_that_loses_a_thread(self):
        self.assert_found(defects.in_hand_by_request, 17)

    def test_an_election_that_an_outage_ends(self):
        self.assert_found(defects.election_for_once, 6)

    def test_a_claim_that_adopts_the_token_of_another(self):
        self.assert_found(defects.claim_of_another, 19)

    def test_a_request_that_ends_apart_from_its_node(self):
        self.assert_found(defects.end_apart, 1)

    def test_a_request_that_is_tried_once_only(self):
        self.assert_found(defects.one_attempt, 13)

    def test_a_request_that_is_claimed_before_it_is_due(self):
        self.assert_found(defects.claim_at_any_time, 4)

    def test_a_worker_whose_heartbeats_keep_no_lease(self):
        self.assert_found(defects.no_heartbeat, 13)
