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

import logging
import threading
import time

import fixtures

from ironic_inspection_rules.ha import announcement
from ironic_inspection_rules.ha import election
from ironic_inspection_rules.ha import firewall
from ironic_inspection_rules.ha import nftables
from ironic_inspection_rules.ha import pxe_filter
from ironic_inspection_rules.ha import watcher
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.ha import fake_kernel
from ironic_inspection_rules.tests.unit.ha import fake_source

KNOWN = '52:54:00:00:00:01'
INSPECTED = '52:54:00:00:00:02'
PATIENCE = 20
BEAT = 0.01


class FakeElection:
    """An election whose winner a test chooses.

    :ivar diary: gets ``left`` when this host has left the election.
    """

    def __init__(self, on_gained, on_lost, diary):
        self._on_gained = on_gained
        self._on_lost = on_lost
        self._left = threading.Event()
        self._remaining = 0.0
        self.diary = diary
        self.failure = None

    @property
    def is_leader(self):
        return self._remaining > 0

    def remaining(self):
        return self._remaining

    def run(self, stop):
        while not stop.wait(BEAT) and self.failure is None:
            pass
        self.lose()
        self.diary.append('left')
        if self.failure is not None:
            raise self.failure

    def win(self, seconds=3.0):
        self._remaining = seconds
        self._on_gained()

    def lose(self):
        self._remaining = 0.0
        self._on_lost()


class PxeFilterTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        for name in (election.__name__, watcher.__name__):
            self.useFixture(fixtures.MonkeyPatch(f'{name}.BEAT', BEAT))
        self.diary = []
        self.source = fake_source.FakeSource([KNOWN, INSPECTED], [INSPECTED])
        self.kernel = fake_kernel.FakeKernel()
        self.table = nftables.Table('lo', ['67/udp'])
        self.stop = threading.Event()
        self.elections = []
        self.failure = None
        self.thread = None
        self.useFixture(fixtures.MonkeyPatch(
            'socket.if_nametoindex', lambda name: 1))
        handler = logging.Handler()
        handler.emit = lambda record: self.diary.append(record.getMessage())
        logging.getLogger(pxe_filter.__name__).addHandler(handler)
        self.addCleanup(
            logging.getLogger(pxe_filter.__name__).removeHandler, handler)

    def run_nft(self, *arguments, commands=None):
        was_open = self.kernel.is_open
        answer = self.kernel(*arguments, commands=commands)
        if was_open != self.kernel.is_open:
            self.diary.append('open' if self.kernel.is_open else 'closed')
        return answer

    def elect(self, on_gained, on_lost):
        self.elections.append(FakeElection(on_gained, on_lost, self.diary))
        return self.elections[-1]

    def start(self, **settings):
        settings = {'retries': 1000, 'retry_interval': BEAT, **settings}
        self.filter = pxe_filter.PxeFilter(
            firewall.Firewall(self.table, self.run_nft), self.source,
            self.elect, pxe_filter.Settings(**settings))
        self.filter.install()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        self.addCleanup(self.end)

    def start_leader(self, **settings):
        self.start(**settings)
        self.wait_for(lambda: self.elections)
        self.elections[0].win()
        self.wait_for(lambda: self.kernel.is_open)

    def _run(self):
        try:
            self.filter.run(self.stop)
        except Exception as exc:
            self.failure = exc

    def end(self):
        self.stop.set()
        self.thread.join(PATIENCE)
        self.assertFalse(self.thread.is_alive())

    def wait_for(self, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < deadline:
            time.sleep(BEAT / 2)
        self.assertTrue(holds())

    def sets(self):
        return self.kernel.tables[self.table.name]

    def first(self, beginning):
        """Where in the diary the first such entry is."""
        return next(number for number, entry in enumerate(self.diary)
                    if entry.startswith(beginning))

    def test_a_follower_blocks_and_keeps_the_blacklist(self):
        self.start()
        self.wait_for(lambda: self.sets()['blacklist'])
        self.assertFalse(self.kernel.is_open)
        self.assertEqual({KNOWN, INSPECTED}, self.sets()['blacklist'])
        self.assertEqual(set(), self.sets()['whitelist'])
        self.assertEqual(set(), self.sets()['unknown'])

    def test_the_leader_passes_machines_in_inspection(self):
        self.start_leader()
        self.assertEqual(
            {'leader': {'lo'}, 'unknown': {'lo'}, 'whitelist': {INSPECTED},
             'blacklist': {KNOWN}}, self.sets())

    def test_the_leader_follows_the_database(self):
        self.start_leader(whitelist_period=BEAT)
        self.source.inspected = []
        self.wait_for(lambda: not self.sets()['unknown'])
        self.assertEqual({KNOWN, INSPECTED}, self.sets()['blacklist'])
        self.assertEqual(set(), self.sets()['whitelist'])

    def test_auto_discovery_lets_the_unknown_pass(self):
        self.source.inspected = []
        self.start_leader(auto_discovery=True)
        self.assertEqual({'lo'}, self.sets()['unknown'])

    def test_a_new_leader_looks_at_the_whitelist_first(self):
        self.start(whitelist_period=0)
        self.wait_for(lambda: self.elections)
        self.source.inspected = [KNOWN]
        self.elections[0].win()
        self.wait_for(lambda: self.sets()['whitelist'] == {KNOWN})

    def test_announcements_are_heeded(self):
        self.start_leader()
        self.filter.hear(announcement.Announcement(
            announcement.BLACKLIST, announcement.ADD, 'uuid',
            '52:54:00:00:00:03'))
        self.wait_for(
            lambda: '52:54:00:00:00:03' in self.sets()['blacklist'])

    def test_the_office_is_lost_with_the_door_closed(self):
        self.start_leader()
        self.elections[0].lose()
        self.assertFalse(self.kernel.is_open)

    def test_stop_closes_the_door_before_it_leaves_the_election(self):
        self.start_leader()
        self.end()
        self.assertFalse(self.kernel.is_open)
        self.assertLess(self.first('closed'), self.first('Blocking'))
        self.assertLess(self.first('closed'), self.first('left'))
        self.assertIsNone(self.failure)

    def test_the_door_is_held_no_longer_than_the_tenure(self):
        self.start()
        self.wait_for(lambda: self.elections)
        self.elections[0].win(seconds=1.4)
        self.wait_for(lambda: self.sets()['whitelist'])
        self.assertFalse(self.kernel.is_open)

    def test_a_lost_database_blocks_first_then_reports(self):
        self.start_leader()
        self.source.error = LookupError('database is gone')
        self.wait_for(lambda: 'left' in self.diary)
        self.wait_for(lambda: any('gone' in entry for entry in self.diary))
        self.assertFalse(self.kernel.is_open)
        self.assertLess(self.first('closed'), self.first('left'))
        self.assertLess(
            self.first('closed'),
            self.first('Blocked everything on lo: database is gone'))

    def test_the_same_failure_is_reported_once(self):
        logger = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.source.error = LookupError('database is gone')
        self.start(retries=20)
        self.thread.join(PATIENCE)
        self.assertEqual(1, logger.output.count('database is gone'))

    def test_it_passes_again_when_the_database_is_back(self):
        self.start_leader()
        self.source.error = LookupError('database is gone')
        self.wait_for(lambda: not self.kernel.is_open)
        self.source.error = None
        self.wait_for(lambda: len(self.elections) == 2)
        self.elections[1].win()
        self.wait_for(lambda: self.kernel.is_open)

    def test_a_silent_database_blocks(self):
        self.start_leader()
        self.useFixture(fixtures.MonkeyPatch(
            f'{watcher.__name__}.SILENCE', -1))
        self.wait_for(lambda: not self.kernel.is_open)

    def test_a_bad_address_blocks_and_is_named(self):
        self.start_leader(sync_period=BEAT)
        self.source.known = [KNOWN, 'bad']
        self.wait_for(lambda: any('"bad"' in entry for entry in self.diary))
        self.assertFalse(self.kernel.is_open)

    def test_a_lost_coordinator_ends_it_with_the_door_closed(self):
        self.start_leader()
        self.elections[0].failure = election.CoordinatorLost('gone')
        self.thread.join(PATIENCE)
        self.assertIsInstance(self.failure, election.CoordinatorLost)
        self.assertFalse(self.kernel.is_open)

    def test_it_gives_up_after_the_retries(self):
        self.source.error = LookupError('database is gone')
        self.start(retries=2)
        self.thread.join(PATIENCE)
        self.assertIsInstance(self.failure, pxe_filter.GaveUp)
        self.assertIn('database is gone', str(self.failure))

    def test_a_firewall_that_fails_blocks_what_it_can(self):
        self.start_leader()
        self.kernel.broken = 'nft: broken'
        self.wait_for(lambda: any('nft: broken' in entry
                                  for entry in self.diary))
        self.kernel.broken = None
        self.wait_for(lambda: not self.kernel.is_open)

    def test_a_table_that_vanished_is_put_back(self):
        self.start_leader()
        self.kernel.tables.clear()
        self.wait_for(lambda: self.table.name in self.kernel.tables)
        self.wait_for(lambda: len(self.elections) == 2)
        self.elections[1].win()
        self.wait_for(lambda: self.kernel.is_open)
