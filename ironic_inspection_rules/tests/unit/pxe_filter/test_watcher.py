# SPDX-License-Identifier: Apache-2.0

import threading
import time

import fixtures

from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import messages
from ironic_inspection_rules.pxe_filter import watcher
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.pxe_filter import fake_source

FIRST = '52:54:00:00:00:01'
SECOND = '52:54:00:00:00:02'
PATIENCE = 20
BEAT = 0.01


class ReadTestCase(base.TestCase):

    def read(self, **ports):
        return watcher.read(fake_source.FakeSource(**ports))

    def test_all_and_the_inspected(self):
        self.assertEqual(
            admission.Machines(frozenset({FIRST, SECOND}), frozenset({SECOND}),
                           True),
            self.read(known=[FIRST, SECOND], inspected=[SECOND]))

    def test_a_node_without_ports_is_in_inspection_too(self):
        self.assertEqual(admission.Machines(inspecting=True),
                         self.read(inspected=[None]))

    def test_nothing(self):
        self.assertEqual(admission.Machines(), self.read())

    def test_a_bad_address_anywhere_is_refused(self):
        self.assertRaises(admission.BadAddress, self.read, known=['bad'])
        self.assertRaises(admission.BadAddress, self.read, inspected=['bad'])


class WatcherTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            f'{watcher.__name__}.POLL_INTERVAL', BEAT))
        self.source = fake_source.FakeSource([FIRST, SECOND], [SECOND])

    def watch(self, sync_period=0, allowlist_period=0):
        changed = threading.Event()
        watching = watcher.Watcher(self.source, sync_period,
                                   allowlist_period, changed)
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
        self.assertIsNone(watcher.Watcher(self.source, 0, 0,
                                          threading.Event()).machines())

    def test_the_first_read_finds_everything(self):
        self.assertEqual(
            admission.Machines(frozenset({FIRST, SECOND}), frozenset({SECOND}),
                           True),
            self.watch().machines())

    def test_without_periods_there_is_one_read(self):
        self.watch()
        time.sleep(5 * BEAT)
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
        self.wait_for(lambda: watching.machines() == admission.Machines(
            frozenset({FIRST})))

    def test_a_new_port_is_known_at_once(self):
        watching = self.watch()
        watching.handle(messages.Change(
            messages.DENYLIST, messages.ADD, 'uuid',
            '52:54:00:00:00:0A'))
        self.wait_for(lambda: '52:54:00:00:00:0a'
                      in watching.machines().known)
        self.assertEqual(1, self.source.reads['known'])

    def test_a_port_that_is_gone_is_known_no_longer(self):
        watching = self.watch()
        self.source.known = [SECOND]
        watching.handle(messages.Change(
            messages.DENYLIST, messages.REMOVE, 'uuid', FIRST))
        self.wait_for(lambda: FIRST not in watching.machines().known)

    def test_an_address_that_another_port_shares_stays_known(self):
        watching = self.watch()
        watching.handle(messages.Change(
            messages.DENYLIST, messages.REMOVE, 'uuid', FIRST))
        self.wait_for(lambda: self.source.reads['known'] == 2)
        self.assertIn(FIRST, watching.machines().known)

    def test_many_messages_are_worth_one_read(self):
        source = self.source = fake_source.FakeSource([FIRST])
        watching = watcher.Watcher(source, 0, 0, threading.Event())
        for _message in range(100):
            watching.handle(messages.Change(
                messages.DENYLIST, messages.REMOVE, 'uuid', FIRST))
            watching.handle(messages.Change(
                messages.ALLOWLIST, messages.ADD, None, None))
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
        watching.handle(messages.Change(
            messages.ALLOWLIST, messages.REMOVE, 'uuid', SECOND))
        self.wait_for(lambda: not watching.machines().inspecting)

    def test_a_bad_message_changes_nothing(self):
        watching = self.watch()
        before = watching.machines()
        for mac in ('bad', None):
            watching.handle(messages.Change(
                messages.DENYLIST, messages.ADD, 'uuid', mac))
        time.sleep(5 * BEAT)
        self.assertEqual(before, watching.machines())

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

    def test_silence_is_a_failure(self):
        self.useFixture(fixtures.MonkeyPatch(
            f'{watcher.__name__}.DATABASE_TIMEOUT', 0.1))
        watching = watcher.Watcher(self.source, 0, 0, threading.Event())
        time.sleep(0.2)
        self.assertRaises(watcher.SourceLost, watching.machines)
