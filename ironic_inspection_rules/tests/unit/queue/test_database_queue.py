# SPDX-License-Identifier: Apache-2.0

"""What the queue in the database must do, on SQLite.

``tests/functional/queue`` repeats it on the database servers.
"""

from concurrent import futures
import importlib
import threading

import fixtures
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit.queue import base as queue_base
from ironic_inspection_rules.tests.unit.queue import contract


class DatabaseQueueMixin(contract.QueueContract):
    """The contract, and what only a shared queue can get wrong."""

    threads = 4

    def setUp(self):
        super().setUp()
        self.useFixture(queue_base.StoppedClock())
        self.queue = database_queue.DatabaseQueue(contract.LEASE)

    def pass_time(self, seconds):
        queue_base.pass_time(seconds)

    def stored_checkpoints(self):
        with transaction.reader() as session:
            return list(session.execute(
                sa.select(models.Request.checkpoints)
                .order_by(models.Request.id)).scalars())

    def at_once(self, function, *arguments):
        """Call a function in several threads at the same moment.

        :returns: what it returned, or the error of ours that it raised.
        """
        start = threading.Barrier(self.threads, timeout=60)

        def call(number):
            start.wait()
            try:
                return function(number, *arguments)
            except exceptions.InspectionRulesError as exc:
                return exc
        with futures.ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(call, range(self.threads)))

    def test_of_many_only_one_gets_a_request(self):
        self.put()
        got = self.at_once(lambda number: self.queue.get(f'w{number}'))
        self.assertEqual(1, len([one for one in got if one]))

    def test_an_idle_worker_asks_one_question(self):
        with queue_base.statements() as asked:
            self.assertIsNone(self.queue.get('w1'))
            self.assertEqual(set(), self.queue.heartbeat([]))
        self.assertEqual(['SELECT'], [each.split()[0] for each in asked])

    def test_a_request_is_put_in_one_transaction(self):
        with queue_base.statements() as asked:
            self.put()
        # What is open and which data are replaced; data and request.
        self.assertEqual(['SELECT', 'SELECT', 'INSERT', 'INSERT', 'COMMIT'],
                         [each.split()[0] for each in asked])

    def test_a_claim_that_comes_too_late_gets_nothing(self):
        request = self.put()
        claim = leases._claim
        others = [None]

        def stall(*args):
            if others:
                others.pop()
                self.assertEqual(1, self.queue.get('w2').token)
            return claim(*args)
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.db.lease._claim', stall))
        self.assertIsNone(self.queue.get('w1'))
        self.assertEqual('w2', self.queue.find(request.uuid).worker)

    def test_a_lease_that_was_prolonged_meanwhile_is_not_claimed(self):
        self.put()
        held = self.take('w1')
        self.pass_time(contract.LEASE)
        claim = leases._claim

        def prolong(*args):
            self.queue.heartbeat([held])
            return claim(*args)
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.db.lease._claim', prolong))
        self.assertIsNone(self.queue.get('w2'))
        self.queue.consume(held)

    def test_a_worker_looks_further_than_the_first_few(self):
        for number in range(12):
            self.put(f'node-{number}')
        claim = leases._claim
        lost = []

        def lose(candidate, *args):
            # The first ones are all claimed by others meanwhile.
            claimed = claim(candidate, *args)
            if len(lost) < 10:
                lost.append(claimed[0].uuid)
                return None
            return claimed
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.db.lease._claim', lose))
        self.assertNotIn(self.queue.get('w1').uuid, lost)

    def test_many_share_the_requests(self):
        put = {self.put(f'node-{number}').uuid for number in range(12)}

        def drain(number):
            return [request.uuid for request in iter(
                lambda: self.queue.get(f'w{number}'), None)]
        got = sum(self.at_once(drain), [])
        self.assertEqual(put, set(got))
        self.assertEqual(len(put), len(got))

    def test_the_same_inventory_at_the_same_moment_is_one_request(self):
        put = self.at_once(lambda number: self.put(mark=f'm{number}'))
        self.assertEqual(1, len({request.uuid for request in put}))
        self.assertIsNotNone(self.queue.get('w1'))
        self.assertIsNone(self.queue.get('w1'))

    def test_of_many_only_one_aborts(self):
        request = self.put()
        ended = self.at_once(
            lambda number: self.queue.abort(request.uuid, f'by {number}'))
        self.assertEqual(1, len([one for one in ended
                                 if isinstance(one, queue_request.Request)]))

    def test_a_request_is_either_begun_or_aborted(self):
        for number in range(5):
            request = self.put(f'node-{number}')
            got = self.queue.get('w1')
            calls = [lambda got=got: self.queue.begin(got, state.PROCESSING),
                     lambda got=got: self.queue.abort(got.uuid, 'stop')]
            ends = self.at_once(
                lambda number, calls=calls: calls[number % 2]())
            begun = [one for one in ends[::2]
                     if isinstance(one, queue_request.Request)]
            aborted = [one for one in ends[1::2]
                       if isinstance(one, queue_request.Request)]
            self.assertNotEqual(bool(begun), bool(aborted))
            self.assertEqual(
                state.PROCESSING if begun else state.ERROR,
                self.queue.find(request.uuid).state)

    def test_reapplication_is_for_what_the_ramdisk_posted(self):
        self.put(mark='posted')
        self.queue.consume(self.take())
        self.queue.put(contract.NODE, queue_request.REAPPLY,
                       {'mark': 'given'})
        given = self.queue.get('w1')
        self.queue.consume(given)
        self.queue.put(contract.NODE, queue_request.REAPPLY)
        self.assertEqual({'mark': 'given'}, given.inventory)
        self.assertEqual({'mark': 'posted'}, self.queue.get('w1').inventory)

    def test_a_checkpoint_can_be_part_of_a_transaction(self):
        self.put()
        request = self.take()

        def save_and_fail():
            with transaction.writer() as session:
                self.queue.save_checkpoints(request, {'main': 1}, session)
                raise ValueError('rolled back')
        self.assertRaises(ValueError, save_and_fail)
        with transaction.writer() as session:
            self.queue.save_checkpoints(request, {'preprocess': 1}, session)
        self.pass_time(contract.LEASE)
        self.assertEqual({'preprocess': 1}, self.queue.get('w2').checkpoints)

    def test_a_longer_error_than_a_column_holds_is_cut(self):
        self.put()
        request = self.take()
        self.queue.consume(request, 'why: ' + '\xe9' * 70000)
        stored = self.queue.find(request.uuid).last_error
        self.assertLessEqual(len(stored.encode()), 65535)
        self.assertTrue(stored.startswith('why: \xe9'))
        self.assertTrue(stored.endswith('(cut)'))

    def test_a_round_forgets_a_bounded_number(self):
        for number in range(3):
            self.put(f'node-{number}')
            request = self.take()
            with transaction.writer() as session:
                self.queue.consume(request, transaction=session)
        self.assertEqual(2, self.queue.forget(-60, limit=2))
        self.assertEqual(1, self.queue.forget(-60, limit=2))

    def meanwhile(self, name, happens):
        """Have something happen just before a function is first called."""
        module, _dot, attribute = name.rpartition('.')
        function = getattr(importlib.import_module(module), attribute)
        remaining = [happens]

        def call(*args):
            while remaining:
                remaining.pop()()
            return function(*args)
        self.useFixture(fixtures.MonkeyPatch(name, call))

    def replace_all(self):
        """Remove all requests, and put one whose id SQLite has given out."""
        with transaction.writer() as session:
            session.execute(sa.delete(models.Request))
        self.put('node-2')

    def test_what_comes_in_the_place_of_an_old_request_stays(self):
        self.put()
        request = self.take()
        with transaction.writer() as session:
            self.queue.consume(request, transaction=session)
        self.meanwhile('ironic_inspection_rules.db.removal.remove_unlocked',
                       self.replace_all)
        self.queue.forget(-60)
        self.assertIsNotNone(self.queue.find_open('node-2'))

    def test_what_comes_in_the_place_of_that_of_a_deleted_node_stays(self):
        self.put()
        self.meanwhile('ironic_inspection_rules.db.removal.remove_unlocked',
                       self.replace_all)
        unprocessed.destroy_nodes([contract.NODE])
        self.assertIsNotNone(self.queue.find_open('node-2'))

    def test_a_lease_in_the_place_of_another_is_not_prolonged(self):
        self.put()
        held = self.queue.get('w1')

        def replace():
            self.replace_all()
            database_queue.DatabaseQueue(1.0).get('w2')
        self.meanwhile('ironic_inspection_rules.db.lease.lock', replace)
        self.queue.heartbeat([held])
        self.pass_time(2)
        self.assertEqual('node-2', self.queue.get('w3').node_uuid)

    def test_nodes_are_listed_in_order_and_once(self):
        for _turn in range(2):
            for node in ('b', 'a', 'c'):
                self.put(node)
            while request := self.queue.get('w1'):
                with transaction.writer() as session:
                    self.queue.consume(request, transaction=session)
        self.assertEqual(['a', 'b'], unprocessed.list_nodes('', 2))
        self.assertEqual(['c'], unprocessed.list_nodes('b', 2))

    def test_any_error_can_be_stored(self):
        self.put()
        request = self.take()
        self.queue.consume(request, 'r\xe9gle \N{GRINNING FACE} \0 \ud800')
        self.assertIn('r\xe9gle', self.queue.find(request.uuid).last_error)


class SQLiteQueueTestCase(DatabaseQueueMixin, queue_base.QueueTestCase):
    """On the database of the unit tests."""
