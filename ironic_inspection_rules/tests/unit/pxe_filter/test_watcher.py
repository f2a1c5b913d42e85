# SPDX-License-Identifier: Apache-2.0

import threading
import time

import fixtures
from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import notification
from ironic_inspection_rules.pxe_filter import watcher
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit import clock
from ironic_inspection_rules.tests.unit.pxe_filter import fake_source

FIRST = '52:54:00:00:00:01'
SECOND = '52:54:00:00:00:02'
THIRD = '52:54:00:00:00:03'
PATIENCE = 60
BEAT = 0.01


class ReadTestCase(base.TestCase):
    def read(self, **ports):
        return watcher.read_machines(fake_source.FakeSource(**ports))

    def test_all_and_the_inspected(self):
        self.assertEqual(
            admission.Machines(
                frozenset({FIRST, SECOND}), frozenset({SECOND}), True
            ),
            self.read(known=[FIRST, SECOND], inspected=[SECOND]),
        )

    def test_a_node_without_ports_is_in_inspection_too(self):
        self.assertEqual(
            admission.Machines(any_inspection=True),
            self.read(inspected=[None]),
        )

    def test_nothing(self):
        self.assertEqual(admission.Machines(), self.read())

    def test_a_bad_address_anywhere_is_refused(self):
        self.assertRaises(admission.BadAddress, self.read, known=['bad'])
        self.assertRaises(admission.BadAddress, self.read, inspected=['bad'])


class WatcherTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(f'{watcher.__name__}.POLL_INTERVAL', BEAT)
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                f'{watcher.__name__}.DATABASE_TIMEOUT', 10 * PATIENCE
            )
        )
        self.source = fake_source.FakeSource([FIRST, SECOND], [SECOND])

    def watch(self, sync_period=0, allowlist_period=0):
        changed = threading.Event()
        watching = watcher.Watcher(
            self.source, sync_period, allowlist_period, changed
        )
        stop = threading.Event()
        thread = threading.Thread(target=watching.run, args=(stop,))
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        thread.start()
        self.assertTrue(changed.wait(PATIENCE))
        return watching

    def wait_for(self, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < deadline:
            time.sleep(BEAT)
        self.assertTrue(holds())

    def test_nothing_is_known_before_the_first_read(self):
        self.assertIsNone(
            watcher.Watcher(self.source, 0, 0, threading.Event()).machines()
        )

    def test_the_first_read_finds_everything(self):
        self.assertEqual(
            admission.Machines(
                frozenset({FIRST, SECOND}), frozenset({SECOND}), True
            ),
            self.watch().machines(),
        )

    def test_without_periods_there_is_one_read(self):
        self.watch()
        # The database is asked for an answer in every turn.
        before = self.source.pings
        self.wait_for(lambda: self.source.pings > before + 5)
        self.assertEqual({'known': 1, 'inspected': 1}, self.source.reads)

    def test_each_list_has_its_own_period(self):
        self.watch(allowlist_period=BEAT)
        self.wait_for(lambda: self.source.reads['inspected'] > 3)
        self.assertEqual(1, self.source.reads['known'])

        self.watch(sync_period=BEAT)
        self.wait_for(lambda: self.source.reads['known'] > 4)

    def test_later_reads_find_what_changed(self):
        watching = self.watch(sync_period=BEAT, allowlist_period=BEAT)
        self.source.known = [FIRST]
        self.source.inspected = []
        self.wait_for(
            lambda: (
                watching.machines() == admission.Machines(frozenset({FIRST}))
            )
        )

    def test_a_new_port_is_known_at_once(self):
        watching = self.watch()
        watching.handle(
            notification.ListChange(
                notification.DENYLIST,
                notification.ADD,
                'uuid',
                '52:54:00:00:00:0A',
            )
        )
        self.wait_for(lambda: '52:54:00:00:00:0a' in watching.machines().known)
        self.assertEqual(1, self.source.reads['known'])

    def test_a_port_that_is_gone_is_known_no_longer(self):
        watching = self.watch()
        self.source.known = [SECOND]
        watching.handle(
            notification.ListChange(
                notification.DENYLIST, notification.REMOVE, 'uuid', FIRST
            )
        )
        self.wait_for(lambda: FIRST not in watching.machines().known)

    def test_an_address_that_another_port_shares_stays_known(self):
        watching = self.watch()
        watching.handle(
            notification.ListChange(
                notification.DENYLIST, notification.REMOVE, 'uuid', FIRST
            )
        )
        self.wait_for(lambda: self.source.reads['known'] == 2)
        self.assertIn(FIRST, watching.machines().known)

    def test_many_messages_are_worth_one_read(self):
        source = self.source = fake_source.FakeSource([FIRST])
        watching = watcher.Watcher(source, 0, 0, threading.Event())
        for _message in range(100):
            watching.handle(
                notification.ListChange(
                    notification.DENYLIST, notification.REMOVE, 'uuid', FIRST
                )
            )
            watching.handle(
                notification.ListChange(
                    notification.ALLOWLIST, notification.ADD, None, None
                )
            )
        stop = threading.Event()
        thread = threading.Thread(target=watching.run, args=(stop,))
        thread.start()
        self.wait_for(lambda: source.reads['known'] == 2)
        stop.set()
        thread.join()
        self.assertEqual({'known': 2, 'inspected': 2}, source.reads)

    def test_a_message_about_an_inspection_is_worth_a_read(self):
        watching = self.watch()
        self.source.inspected = []
        watching.handle(
            notification.ListChange(
                notification.ALLOWLIST, notification.REMOVE, 'uuid', SECOND
            )
        )
        self.wait_for(lambda: not watching.machines().any_inspection)

    def test_a_bad_message_changes_nothing(self):
        watching = self.watch()
        before = watching.machines()
        for mac in ('bad', None):
            watching.handle(
                notification.ListChange(
                    notification.DENYLIST, notification.ADD, 'uuid', mac
                )
            )
        # Messages are handled in their order: the last one is good.
        watching.handle(
            notification.ListChange(
                notification.DENYLIST, notification.ADD, 'uuid', THIRD
            )
        )
        self.wait_for(lambda: watching.machines() != before)
        self.assertEqual(before.known | {THIRD}, watching.machines().known)
        self.assertEqual(before.inspected, watching.machines().inspected)

    def test_the_nodes_in_inspection_may_be_read_at_once(self):
        watching = self.watch()
        watching.read_inspected()
        self.wait_for(lambda: self.source.reads['inspected'] == 2)
        self.assertEqual(1, self.source.reads['known'])

    def test_a_failure_is_raised_where_the_machines_are_asked_for(self):
        watching = self.watch()
        self.source.error = LookupError('gone')

        def fails():
            try:
                watching.machines()
            except LookupError:
                return True

        self.wait_for(fails)

    def test_every_row_is_an_answer(self):
        now = self.useFixture(clock.Clock(watcher))
        watching = watcher.Watcher(self.source, 0, 0, threading.Event())
        for _row in watching._note_answers([FIRST, SECOND]):
            now.advance(watcher.DATABASE_TIMEOUT - 1)
        self.assertIsNone(watching.machines())

    def test_silence_is_a_failure(self):
        now = self.useFixture(clock.Clock(watcher))
        watching = watcher.Watcher(self.source, 0, 0, threading.Event())
        now.advance(watcher.DATABASE_TIMEOUT - 1)
        self.assertIsNone(watching.machines())
        now.advance(2)
        self.assertRaises(exceptions.TemporaryFailure, watching.machines)


class PortSourceTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.database = self.useFixture(database.Database(ready=False))
        models.Base.metadata.create_all(self.database.engine)
        self.source = watcher.PortSource(['agent', 'inspector'])
        self.ports = {}

    def insert(self, model, **values):
        uuid = uuidutils.generate_uuid()
        with self.database.engine.begin() as connection:
            result = connection.execute(
                sa.insert(model).values(uuid=uuid, **values)
            )
        return uuid, result.inserted_primary_key[0]

    def node(self, state, *macs, interface='agent', kind=models.Port):
        uuid, number = self.insert(
            models.Node, provision_state=state, inspect_interface=interface
        )
        for mac in macs:
            self.ports[mac] = self.insert(kind, address=mac, node_id=number)[0]
        return uuid

    def inspected(self):
        return {row for row in self.source.read_inspected_ports() if row}

    def rows(self, *macs):
        return {(self.ports[mac], mac) for mac in macs}

    def test_it_answers(self):
        self.source.ping()

    def test_all_ports_are_known(self):
        self.node('available', 'a', 'b')
        self.node('inspecting', 'c')
        self.ports['d'] = self.insert(models.Port, address='d')[0]
        self.insert(models.Port)
        self.assertEqual(
            self.rows('a', 'b', 'c', 'd'), set(self.source.read_ports())
        )

    def test_nodes_in_inspection(self):
        self.node('inspecting', 'a', 'b')
        self.node('inspect wait', 'c')
        for state in ('inspect failed', 'manageable', 'enroll', None):
            self.node(state, f'not {state}')
        self.assertEqual(self.rows('a', 'b', 'c'), self.inspected())

    def test_only_those_of_the_supported_interfaces(self):
        self.node('inspecting', 'a', interface='inspector')
        self.node('inspecting', 'b', interface='redfish')
        self.assertEqual(self.rows('a'), self.inspected())

    def test_a_node_in_inspection_without_ports(self):
        self.node('inspecting')
        self.assertEqual({None}, set(self.source.read_inspected_ports()))

    def test_nothing_in_inspection(self):
        self.node('available', 'a')
        self.assertEqual([], list(self.source.read_inspected_ports()))

    def test_port_groups_count_as_ports(self):
        self.node('available', 'a', kind=models.Portgroup)
        self.node('inspecting', 'b', kind=models.Portgroup)
        self.assertEqual(self.rows('a', 'b'), set(self.source.read_ports()))
        self.assertEqual(self.rows('b'), self.inspected())

    def test_what_is_read_later_is_what_is_there_then(self):
        self.node('inspecting', 'a')
        list(self.source.read_inspected_ports())
        self.node('inspecting', 'b')
        self.assertEqual(self.rows('a', 'b'), self.inspected())
