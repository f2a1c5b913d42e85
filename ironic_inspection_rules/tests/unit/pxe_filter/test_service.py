# SPDX-License-Identifier: Apache-2.0

import logging
import threading
import time

import fixtures

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import watchdog
from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.pxe_filter import notification
from ironic_inspection_rules.pxe_filter import service
from ironic_inspection_rules.pxe_filter import watcher
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.coordination import fake_election
from ironic_inspection_rules.tests.unit.pxe_filter import fake_kernel
from ironic_inspection_rules.tests.unit.pxe_filter import fake_source

KNOWN = '52:54:00:00:00:01'
INSPECTED = '52:54:00:00:00:02'
PATIENCE = 60
INTERVAL = 0.01


class Election(fake_election.FakeElection):
    """Writes down when this host has left the election."""

    def __init__(self, on_gained, on_lost, diary):
        super().__init__(on_gained, on_lost)
        self._diary = diary

    def run(self, stop):
        super().run(stop)
        self._diary.append('left')


class PxeFilterTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        for name in (
            f'{election.__name__}.HEARTBEAT',
            f'{watcher.__name__}.POLL_INTERVAL',
        ):
            self.useFixture(fixtures.MonkeyPatch(name, INTERVAL))
        # Nobody is silent but who is said to be.
        self.useFixture(
            fixtures.MonkeyPatch(
                f'{watcher.__name__}.DATABASE_TIMEOUT', 10 * PATIENCE
            )
        )
        self.diary = []
        self.source = fake_source.FakeSource([KNOWN, INSPECTED], [INSPECTED])
        self.kernel = fake_kernel.FakeKernel()
        self.table = nftables.FilterTable('lo', ['67/udp'])
        self.stop = threading.Event()
        self.elections = []
        self.failure = None
        self.thread = None
        self.useFixture(
            fixtures.MonkeyPatch('socket.if_nametoindex', lambda name: 1)
        )
        for module in (service, watchdog):
            handler = logging.Handler()
            handler.emit = lambda record: self.diary.append(
                record.getMessage()
            )
            logger = logging.getLogger(module.__name__)
            self.addCleanup(logger.setLevel, logger.level)
            logger.setLevel(logging.INFO)
            logger.addHandler(handler)
            self.addCleanup(logger.removeHandler, handler)

    def run_nft(self, *arguments, **options):
        passed = self.kernel.passes
        answer = self.kernel(*arguments, **options)
        if passed != self.kernel.passes:
            self.diary.append('passes' if self.kernel.passes else 'blocks')
        return answer

    def elect(self, on_gained, on_lost):
        self.elections.append(Election(on_gained, on_lost, self.diary))
        return self.elections[-1]

    def start(self, **settings):
        settings = {'retry_interval': INTERVAL, **settings}
        self.filter = service.PxeFilter(
            firewall.Firewall(self.table, self.run_nft),
            self.source,
            self.elect,
            service.Settings(**settings),
        )
        self.filter.install()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        self.addCleanup(self.end)

    def start_leader(self, **settings):
        self.start(**settings)
        self.wait_for(lambda: self.elections)
        self.elections[0].win()
        self.wait_for(lambda: self.kernel.passes)
        # The kernel passes a moment before the filter knows that it does.
        self.wait_for(
            lambda: any(
                entry.startswith('Passing machines')
                for entry in list(self.diary)
            )
        )

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
            time.sleep(INTERVAL / 2)
        self.assertTrue(holds())

    def sets(self):
        """All sets but that of the time, which is never the same."""
        sets = dict(self.kernel.tables[self.table.name])
        sets.pop('lease')
        return sets

    def first(self, beginning):
        """Where in the diary the first such entry is."""
        return next(
            number
            for number, entry in enumerate(self.diary)
            if entry.startswith(beginning)
        )

    def test_a_follower_blocks_and_keeps_the_denylist(self):
        self.start()
        self.wait_for(lambda: self.sets()['blacklist'])
        self.assertFalse(self.kernel.passes)
        self.assertEqual({KNOWN, INSPECTED}, self.sets()['blacklist'])
        self.assertEqual(set(), self.sets()['whitelist'])
        self.assertEqual(set(), self.sets()['unknown'])

    def test_the_leader_passes_machines_in_inspection(self):
        self.start_leader()
        self.assertEqual(
            {
                'leader': {'lo'},
                'unknown': {'lo'},
                'whitelist': {INSPECTED},
                'blacklist': {KNOWN},
            },
            self.sets(),
        )

    def test_the_leader_follows_the_database(self):
        self.start_leader(allowlist_period=INTERVAL)
        self.source.inspected = []
        self.wait_for(lambda: not self.sets()['unknown'])
        self.assertEqual({KNOWN, INSPECTED}, self.sets()['blacklist'])
        self.assertEqual(set(), self.sets()['whitelist'])

    def test_auto_discovery_lets_the_unknown_pass(self):
        self.source.inspected = []
        self.start_leader(auto_discovery=True)
        self.assertEqual({'lo'}, self.sets()['unknown'])

    def test_a_new_leader_reads_what_is_in_inspection_first(self):
        self.start(allowlist_period=0)
        self.wait_for(lambda: self.elections)
        self.source.inspected = [KNOWN]
        self.elections[0].win()
        self.wait_for(lambda: self.sets()['whitelist'] == {KNOWN})

    def test_messages_are_heeded(self):
        self.start_leader()
        self.filter.handle(
            notification.ListChange(
                notification.DENYLIST,
                notification.ADD,
                'uuid',
                '52:54:00:00:00:03',
            )
        )
        self.wait_for(lambda: '52:54:00:00:00:03' in self.sets()['blacklist'])

    def test_a_loss_blocks(self):
        self.start_leader()
        self.elections[0].lose()
        self.wait_for(lambda: not self.kernel.passes)

    def test_stop_blocks_before_it_leaves_the_election(self):
        self.start_leader()
        self.end()
        self.assertFalse(self.kernel.passes)
        self.assertLess(self.first('blocks'), self.first('Blocking'))
        self.assertLess(self.first('blocks'), self.first('left'))
        self.assertIsNone(self.failure)

    def test_machines_pass_no_longer_than_this_host_leads(self):
        self.start()
        self.wait_for(lambda: self.elections)
        self.elections[0].win(seconds=1.4)
        self.wait_for(lambda: self.sets()['whitelist'])
        self.assertFalse(self.kernel.passes)

    def test_a_lost_database_blocks_first_then_reports(self):
        self.start_leader()
        self.source.error = LookupError('database is gone')
        self.wait_for(lambda: 'left' in self.diary)
        self.wait_for(lambda: any('gone' in entry for entry in self.diary))
        self.assertFalse(self.kernel.passes)
        self.assertLess(self.first('blocks'), self.first('left'))
        self.assertLess(
            self.first('blocks'), self.first('Letting machines pass')
        )

    def test_a_long_outage_is_logged_by_its_changes(self):
        logger = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.source.error = LookupError('database is gone')
        self.start(retries=3)
        self.wait_for(lambda: 'after 3 retries' in logger.output)
        self.source.error = None
        self.wait_for(lambda: 'works again' in logger.output)
        self.assertEqual(2, logger.output.count('database is gone'))

    def test_it_passes_again_when_the_database_is_back(self):
        self.start_leader()
        self.source.error = LookupError('database is gone')
        self.wait_for(lambda: not self.kernel.passes)
        self.source.error = None
        self.wait_for(lambda: len(self.elections) == 2)
        self.elections[1].win()
        self.wait_for(lambda: self.kernel.passes)

    def test_a_silent_database_blocks(self):
        self.start_leader()
        self.useFixture(
            fixtures.MonkeyPatch(f'{watcher.__name__}.DATABASE_TIMEOUT', -1)
        )
        self.wait_for(lambda: not self.kernel.passes)

    def test_a_bad_address_blocks_and_is_named(self):
        self.start_leader(sync_period=INTERVAL)
        self.source.known = [KNOWN, 'bad']
        self.wait_for(lambda: any('"bad"' in entry for entry in self.diary))
        self.assertFalse(self.kernel.passes)

    def test_a_firewall_that_fails_blocks_what_it_can(self):
        self.start_leader()
        self.kernel.broken = 'nft: broken'
        self.wait_for(
            lambda: any('nft: broken' in entry for entry in self.diary)
        )
        self.kernel.broken = None
        self.wait_for(lambda: not self.kernel.passes)

    def test_a_table_that_vanished_is_put_back(self):
        self.start_leader()
        self.kernel.lose_tables()
        self.wait_for(lambda: self.table.name in self.kernel.tables)
        self.wait_for(lambda: len(self.elections) == 2)
        self.elections[1].win()
        self.wait_for(lambda: self.kernel.passes)
