# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import threading
import time

import fixtures

from ironic_inspection_rules.ha import admission
from ironic_inspection_rules.ha import announcement
from ironic_inspection_rules.ha import watcher
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.ha import fake_source

FIRST = '52:54:00:00:00:01'
SECOND = '52:54:00:00:00:02'
PATIENCE = 20
BEAT = 0.01


class LookTestCase(base.TestCase):

    def look(self, **ports):
        return watcher.look(fake_source.FakeSource(**ports))

    def test_all_and_the_inspected(self):
        self.assertEqual(
            admission.View(frozenset({FIRST, SECOND}), frozenset({SECOND}),
                           True),
            self.look(known=[FIRST, SECOND], inspected=[SECOND]))

    def test_a_node_without_ports_is_in_inspection_too(self):
        self.assertEqual(admission.View(inspecting=True),
                         self.look(inspected=[None]))

    def test_nothing(self):
        self.assertEqual(admission.View(), self.look())

    def test_a_bad_address_anywhere_is_refused(self):
        self.assertRaises(admission.BadAddress, self.look, known=['bad'])
        self.assertRaises(admission.BadAddress, self.look, inspected=['bad'])


class WatcherTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            f'{watcher.__name__}.BEAT', BEAT))
        self.source = fake_source.FakeSource([FIRST, SECOND], [SECOND])

    def watch(self, sync_period=0, whitelist_period=0):
        changed = threading.Event()
        watching = watcher.Watcher(self.source, sync_period,
                                   whitelist_period, changed)
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

    def test_nothing_is_seen_before_the_first_look(self):
        self.assertIsNone(watcher.Watcher(self.source, 0, 0,
                                          threading.Event()).view())

    def test_the_first_look_sees_everything(self):
        self.assertEqual(
            admission.View(frozenset({FIRST, SECOND}), frozenset({SECOND}),
                           True),
            self.watch().view())

    def test_without_periods_there_is_one_look(self):
        self.watch()
        time.sleep(5 * BEAT)
        self.assertEqual({'known': 1, 'inspected': 1}, self.source.looks)

    def test_each_list_has_its_own_period(self):
        self.watch(whitelist_period=BEAT)
        self.wait_for(lambda: self.source.looks['inspected'] > 3)
        self.assertEqual(1, self.source.looks['known'])

        self.watch(sync_period=BEAT)
        self.wait_for(lambda: self.source.looks['known'] > 4)

    def test_later_looks_see_what_changed(self):
        watching = self.watch(sync_period=BEAT, whitelist_period=BEAT)
        self.source.known = [FIRST]
        self.source.inspected = []
        self.wait_for(lambda: watching.view() == admission.View(
            frozenset({FIRST})))

    def test_an_announced_port_is_known_at_once(self):
        watching = self.watch()
        watching.hear(announcement.Announcement(
            announcement.BLACKLIST, announcement.ADD, 'uuid',
            '52:54:00:00:00:0A'))
        self.wait_for(lambda: '52:54:00:00:00:0a' in watching.view().known)
        watching.hear(announcement.Announcement(
            announcement.BLACKLIST, announcement.REMOVE, 'uuid', FIRST))
        self.wait_for(lambda: FIRST not in watching.view().known)
        self.assertEqual(1, self.source.looks['known'])

    def test_an_announced_inspection_is_looked_at_at_once(self):
        watching = self.watch()
        self.source.inspected = []
        watching.hear(announcement.Announcement(
            announcement.WHITELIST, announcement.REMOVE, 'uuid', SECOND))
        self.wait_for(lambda: not watching.view().inspecting)

    def test_a_bad_announcement_changes_nothing(self):
        watching = self.watch()
        before = watching.view()
        for mac in ('bad', None):
            watching.hear(announcement.Announcement(
                announcement.BLACKLIST, announcement.ADD, 'uuid', mac))
        time.sleep(5 * BEAT)
        self.assertEqual(before, watching.view())

    def test_the_whitelist_may_be_hastened(self):
        watching = self.watch()
        watching.hasten_whitelist()
        self.wait_for(lambda: self.source.looks['inspected'] == 2)
        self.assertEqual(1, self.source.looks['known'])

    def test_a_failure_is_raised_where_the_view_is_asked_for(self):
        watching = self.watch()
        self.source.error = LookupError('gone')

        def fails():
            try:
                watching.view()
            except LookupError:
                return True

        self.wait_for(fails)

    def test_silence_is_a_failure(self):
        self.useFixture(fixtures.MonkeyPatch(
            f'{watcher.__name__}.SILENCE', 0.1))
        watching = watcher.Watcher(self.source, 0, 0, threading.Event())
        time.sleep(0.2)
        self.assertRaises(watcher.SourceLost, watching.view)
