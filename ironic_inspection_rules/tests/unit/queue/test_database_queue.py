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
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit.queue import base as queue_base

NODE = 'd3a2c2a6-4ab1-4a0c-9d5e-0c6a5f4d9b11'
OTHER = '7f6b1f52-5f3c-4b71-8a75-3c1c5a2ce0fd'
UNKNOWN = '11111111-2222-4333-8444-555555555555'


class DatabaseQueueMixin:
    """What the queue must do on every kind of database."""

    threads = 4

    def setUp(self):
        super().setUp()
        self.useFixture(queue_base.StoppedClock())
        self.queue = database_queue.DatabaseQueue(queue_base.LEASE)

    def pass_time(self, seconds):
        queue_base.pass_time(seconds)

    def stored_checkpoints(self):
        with transaction.reader() as session:
            return list(
                session.execute(
                    sa.select(models.RequestRow.checkpoints).order_by(
                        models.RequestRow.id
                    )
                ).scalars()
            )

    def put(self, node=NODE, event=queue_request.CONTINUE, mark='first'):
        return self.queue.put(
            node, event, {'mark': mark}, {'logs': mark}, {'early': mark}
        )

    def take(self, worker='w1'):
        request = self.queue.get(worker)
        return self.queue.begin(request, state.PROCESSING)

    def test_a_request_waits_with_all_that_was_posted(self):
        put = self.put()
        got = self.queue.get('w1')
        self.assertEqual(put.uuid, got.uuid)
        self.assertEqual(
            (NODE, queue_request.CONTINUE, state.WAITING, 0, 'w1'),
            (got.node_uuid, got.event, got.state, got.attempts, got.worker),
        )
        self.assertEqual(
            ({'mark': 'first'}, {'logs': 'first'}, {'early': 'first'}),
            (got.inventory, got.plugin_data, got.checkpoints),
        )

    def test_an_empty_queue_gives_nothing(self):
        self.assertIsNone(self.queue.get('w1'))

    def test_posted_inventories_come_before_reapplications(self):
        for node in ('again-1', 'again-2'):
            self.put(node, queue_request.REAPPLY)
        for node in ('fresh-1', 'fresh-2'):
            self.put(node)

        self.assertEqual(
            ['fresh-1', 'fresh-2', 'again-1', 'again-2'],
            [self.queue.get('w1').node_uuid for _each in range(4)],
        )

    def test_a_reapplication_waits_for_others_for_ten_minutes_at_most(self):
        self.put('again', queue_request.REAPPLY)
        self.pass_time(601)
        self.put('fresh')

        self.assertEqual(
            ['again', 'fresh'],
            [self.queue.get('w1').node_uuid for _each in range(2)],
        )

    def test_a_reapplication_that_is_retried_waits_for_others_too(self):
        for node in ('again-1', 'again-2'):
            self.put(node, queue_request.REAPPLY)
        for _node in range(2):
            self.queue.retry(self.queue.get('w1'), 5, 'locked', True)
        self.assertIsNone(self.queue.get('w1'))
        self.pass_time(6)
        self.put('fresh')

        self.assertEqual(
            ['fresh', 'again-1', 'again-2'],
            [self.queue.get('w1').node_uuid for _each in range(3)],
        )

    def test_it_waits_for_the_end_of_its_delay(self):
        self.put('again', queue_request.REAPPLY)
        for delay in (5, 30):
            self.queue.retry(self.queue.get('w1'), delay, 'locked', True)
            self.pass_time(delay - 1)
            self.assertIsNone(self.queue.get('w1'), repr(delay))
            self.pass_time(2)
        self.assertEqual('again', self.queue.get('w1').node_uuid)

    def test_it_waits_for_others_for_ten_minutes_at_most(self):
        self.put('again', queue_request.REAPPLY)
        self.queue.retry(self.queue.get('w1'), 5, 'locked', True)
        self.pass_time(606)
        self.put('fresh')
        self.assertEqual(
            ['again', 'fresh'],
            [self.queue.get('w1').node_uuid for _each in range(2)],
        )

    def test_it_has_waited_for_others_once(self):
        self.put('again', queue_request.REAPPLY)
        self.pass_time(601)
        got = self.queue.get('w1')
        for _retry in range(2):
            self.queue.retry(got, 5, 'locked', True)
            self.pass_time(4)
            self.assertIsNone(self.queue.get('w1'))
            self.pass_time(2)
            self.put()
            got = self.queue.get('w1')
            self.assertEqual('again', got.node_uuid)
            self.queue.consume(self.queue.get('w1'))

    def test_what_waited_longest_comes_first(self):
        first, second = self.put(NODE), self.put(OTHER)
        self.assertEqual(
            [first.uuid, second.uuid],
            [self.queue.get('w1').uuid, self.queue.get('w2').uuid],
        )

    def test_a_leased_request_is_given_to_nobody_else(self):
        self.put()
        self.queue.get('w1')
        self.pass_time(queue_base.LEASE - 1)
        self.assertIsNone(self.queue.get('w2'))

    def test_beginning_counts_an_attempt(self):
        self.put()
        begun = self.take()
        self.assertEqual((state.PROCESSING, 1), (begun.state, begun.attempts))
        found = self.queue.find(begun.uuid)
        self.assertEqual((state.PROCESSING, 1), (found.state, found.attempts))

    def test_getting_alone_counts_no_attempt(self):
        self.put()
        self.queue.get('w1')
        self.pass_time(queue_base.LEASE)
        self.assertEqual(0, self.queue.get('w2').attempts)

    def test_after_the_lease_another_worker_is_given_the_request(self):
        self.put()
        lost = self.take('w1')
        self.pass_time(queue_base.LEASE)
        again = self.queue.get('w2')
        self.assertEqual(
            (lost.uuid, state.PROCESSING, 1, 'w2'),
            (again.uuid, again.state, again.attempts, again.worker),
        )

    def test_who_gave_a_request_back_holds_it_no_longer(self):
        self.put()
        given = self.take('w1')
        self.queue.retry(given, 5)
        self.assertEqual({given.delivery}, self.queue.heartbeat([given]))
        for attempt in (
            lambda: self.queue.begin(given, state.PROCESSING),
            lambda: self.queue.consume(given),
        ):
            self.assertRaises(exceptions.LeaseLost, attempt)

    def test_who_lost_the_lease_cannot_touch_the_request(self):
        self.put()
        lost = self.take('w1')
        self.pass_time(queue_base.LEASE)
        taken = self.take('w2')
        for attempt in (
            lambda: self.queue.begin(lost, state.PROCESSING),
            lambda: self.queue.save_checkpoints(lost, {}),
            lambda: self.queue.consume(lost),
            lambda: self.queue.retry(lost, 0),
        ):
            self.assertRaises(exceptions.LeaseLost, attempt)
        found = self.queue.find(taken.uuid)
        self.assertEqual(
            (taken.token, state.PROCESSING, 2),
            (found.token, found.state, found.attempts),
        )

    def test_the_same_worker_needs_the_token_of_its_last_delivery(self):
        self.put()
        lost = self.take('w1')
        self.pass_time(queue_base.LEASE)
        self.take('w1')
        self.assertRaises(exceptions.LeaseLost, self.queue.consume, lost)

    def test_a_sign_of_life_keeps_the_lease(self):
        self.put()
        held = self.take('w1')
        for _turn in range(3):
            self.pass_time(queue_base.LEASE - 1)
            self.assertEqual(set(), self.queue.heartbeat([held]))
        self.assertIsNone(self.queue.get('w2'))

    def test_going_on_is_a_sign_of_life(self):
        self.put()
        got = self.queue.get('w1')
        self.pass_time(queue_base.LEASE - 1)
        begun = self.queue.begin(got, state.PROCESSING)
        self.pass_time(queue_base.LEASE - 1)
        self.assertIsNone(self.queue.get('w2'))
        self.queue.save_checkpoints(begun, {'main': []})
        self.pass_time(queue_base.LEASE - 1)
        self.assertIsNone(self.queue.get('w2'))

    def test_a_sign_of_life_tells_what_was_lost(self):
        self.put(NODE)
        self.put(OTHER)
        lost = self.take('w1')
        self.pass_time(queue_base.LEASE)
        kept = self.take('w1')
        taken = self.take('w2')
        self.assertEqual(lost.uuid, taken.uuid)
        self.assertEqual(
            {lost.delivery}, self.queue.heartbeat([lost, kept, taken])
        )
        self.assertEqual(set(), self.queue.heartbeat([]))

    def test_a_clock_that_was_set_back_delays_nothing(self):
        put = self.put()
        self.pass_time(-86400)
        self.assertEqual(put.uuid, self.queue.get('w1').uuid)
        self.pass_time(-86400)
        self.assertEqual(put.uuid, self.queue.get('w2').uuid)

    def test_a_clock_that_was_set_back_a_little_delays_nothing(self):
        for seconds in (1, 20, 60, 100):
            put = self.put(f'node {seconds}')
            self.pass_time(-seconds)
            self.assertEqual(put.uuid, self.queue.get('w1').uuid)

    def test_a_clock_that_was_set_back_does_not_put_off_for_longer(self):
        self.put()
        got = self.queue.get('w1')
        self.queue.retry(got, 20.0, 'locked', is_external=True)
        self.assertIsNone(self.queue.get('w1'))
        self.pass_time(-11)
        self.assertEqual(got.uuid, self.queue.get('w1').uuid)

    def test_a_clock_that_is_corrected_takes_nothing_away(self):
        self.put()
        self.queue.get('w1')
        self.pass_time(-queue_base.LEASE / 2)
        self.assertIsNone(self.queue.get('w2'))

    def test_trouble_of_the_surroundings_is_no_attempt(self):
        self.put()
        for failures in range(1, 4):
            got = self.queue.get('w1')
            self.queue.begin(got, state.PROCESSING)
            self.queue.retry(got, 0, 'read only', is_external=True)
            found = self.queue.find(got.uuid)
            self.assertEqual(
                (0, failures), (found.attempts, found.lock_failures)
            )

    def test_a_consumed_request_is_finished(self):
        self.put()
        request = self.take()
        self.queue.consume(request)
        self.pass_time(2 * queue_base.LEASE)
        self.assertIsNone(self.queue.get('w2'))
        done = self.queue.find(request.uuid)
        self.assertEqual((state.FINISHED, None), (done.state, done.last_error))

    def test_a_failed_request_tells_why(self):
        self.put()
        request = self.take()
        self.queue.consume(request, 'no disk')
        done = self.queue.find(request.uuid)
        self.assertEqual(
            (state.ERROR, 'no disk'), (done.state, done.last_error)
        )

    def test_a_retried_request_comes_again_after_its_delay(self):
        self.put()
        request = self.take()
        self.queue.retry(request, 5, 'database away')
        self.assertIsNone(self.queue.get('w1'))
        self.pass_time(5)
        again = self.queue.get('w2')
        self.assertEqual(
            (request.uuid, state.PROCESSING, 1, 'database away'),
            (again.uuid, again.state, again.attempts, again.last_error),
        )

    def test_notes_reach_the_next_attempt(self):
        self.put()
        saved = self.queue.save_checkpoints(self.take(), {'preprocess': ['x']})
        self.assertEqual({'preprocess': ['x']}, saved.checkpoints)
        self.pass_time(queue_base.LEASE)
        self.assertEqual(saved.checkpoints, self.queue.get('w2').checkpoints)

    def test_the_same_inventory_again_is_the_same_request(self):
        first = self.put(mark='first')
        again = self.put(mark='second')
        self.assertEqual(first.uuid, again.uuid)
        got = self.queue.get('w1')
        self.assertEqual(
            ({'mark': 'second'}, {'early': 'second'}),
            (got.inventory, got.checkpoints),
        )
        self.assertIsNone(self.queue.get('w2'))

    def test_new_data_have_the_whole_time_to_lock_the_node(self):
        node_uuid = self.put(mark='first').node_uuid
        self.queue.retry(self.queue.get('w1'), 5, is_external=True)
        self.assertEqual(1, self.queue.find_open(node_uuid).lock_failures)
        self.put(mark='second')
        self.assertEqual(0, self.queue.find_open(node_uuid).lock_failures)

    def test_new_data_are_not_missed_by_a_worker_about_to_begin(self):
        self.put(mark='first')
        stale = self.queue.get('w1')
        self.put(mark='second')
        self.assertRaises(
            exceptions.LeaseLost, self.queue.begin, stale, state.PROCESSING
        )
        self.assertEqual({'mark': 'second'}, self.queue.get('w2').inventory)

    def test_new_data_replace_none_that_a_worker_begins_with_meanwhile(self):
        self.put(mark='first')
        self.meanwhile(
            'ironic_inspection_rules.db.request.renew_request', self.take
        )

        self.assertRaises(exceptions.RequestPending, self.put, mark='second')

        self.pass_time(queue_base.LEASE)
        self.assertEqual({'mark': 'first'}, self.queue.get('w2').inventory)

    def test_a_request_that_is_stored_since_the_query_is_found(self):
        stored = self.put(mark='first')
        find_open = db_request._find_open
        answers = [None]

        def miss_once(*args):
            if answers:
                return answers.pop()
            return find_open(*args)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.request._find_open', miss_once
            )
        )

        again = self.put(mark='second')

        self.assertEqual(stored.uuid, again.uuid)

    def test_a_node_in_processing_takes_no_second_request(self):
        self.put()
        self.take()
        for event in (
            queue_request.CONTINUE,
            queue_request.REAPPLY,
            queue_request.TIMEOUT,
        ):
            self.assertRaises(exceptions.RequestPending, self.put, event=event)

    def test_a_posted_inventory_replaces_what_else_waits(self):
        for event in (queue_request.REAPPLY, queue_request.TIMEOUT):
            waiting = self.put(event=event)
            posted = self.put()
            self.assertEqual(state.ERROR, self.queue.find(waiting.uuid).state)
            self.queue.consume(self.queue.get('w1'))
            self.assertEqual(
                state.FINISHED, self.queue.find(posted.uuid).state
            )

    def test_what_ends_meanwhile_is_not_superseded(self):
        for node, supersede in (
            (NODE, self.queue.supersede),
            (OTHER, self.put),
        ):
            self.put(node, queue_request.REAPPLY)
            held = self.queue.get('w1')
            self.end_before_it_is_superseded(held)

            supersede(node)

            ended = self.queue.find(held.uuid)
            self.assertEqual(
                (state.FINISHED, None), (ended.state, ended.last_error)
            )
        self.assertEqual(
            queue_request.CONTINUE, self.queue.find_open(OTHER).event
        )

    def end_before_it_is_superseded(self, held):
        """Have a worker end a request that another process has just read."""
        supersede = db_request._supersede
        ends = [held]

        def end_then_supersede(*args, **kwargs):
            if ends:
                with futures.ThreadPoolExecutor(1) as threads:
                    threads.submit(self.queue.consume, ends.pop()).result()
            return supersede(*args, **kwargs)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.request._supersede',
                end_then_supersede,
            )
        )

    def test_nothing_replaces_a_posted_inventory(self):
        self.put()
        for event in (queue_request.REAPPLY, queue_request.TIMEOUT):
            self.assertRaises(
                exceptions.RequestPending, self.put, event=event, mark='second'
            )

    def test_a_reapplication_replaces_no_data_that_wait(self):
        waiting = self.put(event=queue_request.REAPPLY)

        self.assertRaises(
            exceptions.RequestPending,
            self.put,
            event=queue_request.REAPPLY,
            mark='second',
        )
        self.assertEqual(waiting.uuid, self.queue.get('w1').uuid)

    def test_a_reapplication_of_the_data_that_wait_is_that_request(self):
        for event in (queue_request.REAPPLY, queue_request.CONTINUE):
            waiting = self.put(event=event, mark='first')

            again = self.put(event=queue_request.REAPPLY, mark='first')

            self.assertEqual(waiting, again)
            taken = self.queue.get('w1')
            self.assertEqual(
                (waiting.uuid, {'mark': 'first'}),
                (taken.uuid, taken.inventory),
            )
            self.queue.consume(taken)

    def test_a_reapplication_of_other_data_learns_who_sent_those(self):
        for event in (queue_request.REAPPLY, queue_request.CONTINUE):
            self.queue.put(NODE, event, {'a': 1}, {}, sender='192.0.2.1')

            refused = self.assertRaises(
                exceptions.AnotherSender,
                self.queue.put,
                NODE,
                queue_request.REAPPLY,
                {'a': 1},
                {'b': 2},
                sender='192.0.2.2',
            )

            self.assertEqual('192.0.2.1', refused.sender)
            self.queue.consume(self.queue.get('w1'))

    def test_a_node_takes_a_new_request_when_the_last_is_done(self):
        self.put()
        done = self.take()
        self.queue.consume(done)
        self.assertNotEqual(done.uuid, self.put().uuid)

    def test_the_open_request_of_a_node_is_known(self):
        self.assertIsNone(self.queue.find_open(NODE))
        put = self.put()
        self.assertEqual(put.uuid, self.queue.find_open(NODE).uuid)
        self.queue.consume(self.take())
        self.assertIsNone(self.queue.find_open(NODE))

    def test_a_waiting_request_can_be_aborted(self):
        request = self.put()
        aborted = self.queue.abort(request.uuid, 'by request')
        self.assertEqual(
            (state.ERROR, 'by request'), (aborted.state, aborted.last_error)
        )
        self.assertEqual(state.ERROR, self.queue.find(request.uuid).state)
        self.assertIsNone(self.queue.get('w1'))

    def test_an_aborted_request_is_not_begun(self):
        self.put()
        got = self.queue.get('w1')
        self.queue.abort(got.uuid, 'by request')
        self.assertRaises(
            exceptions.LeaseLost, self.queue.begin, got, state.PROCESSING
        )

    def test_only_a_waiting_request_can_be_aborted(self):
        self.put()
        request = self.take()
        self.assertRaises(
            exceptions.RequestNotWaiting,
            self.queue.abort,
            request.uuid,
            'by request',
        )
        self.queue.consume(request)
        self.assertRaises(
            exceptions.RequestNotWaiting,
            self.queue.abort,
            request.uuid,
            'by request',
        )
        self.assertRaises(
            exceptions.RequestNotFound, self.queue.abort, UNKNOWN, 'by request'
        )

    def test_what_a_dead_worker_held_is_returned(self):
        self.put()
        held = self.take('w1')
        self.assertEqual([], self.queue.expire())
        self.pass_time(queue_base.LEASE)
        self.assertEqual([(held.uuid, NODE, 'w1')], self.queue.expire())
        self.assertEqual([], self.queue.expire())
        self.assertRaises(exceptions.LeaseLost, self.queue.consume, held)
        self.assertEqual(held.uuid, self.queue.get('w2').uuid)

    def test_what_ended_outside_of_a_transaction_is_settled_later(self):
        self.put()
        done = self.take('w1')
        self.queue.consume(done)
        self.assertTrue(self.queue.is_held(NODE, done.delivery))
        self.pass_time(queue_base.LEASE)
        self.assertFalse(self.queue.is_held(NODE, done.delivery))
        self.assertEqual([], self.queue.expire())
        (left,) = self.queue.claim_unsettled()
        self.assertEqual(done.uuid, left.uuid)
        self.assertTrue(self.queue.is_held(NODE, left.delivery))
        self.assertEqual([], self.queue.claim_unsettled())
        self.pass_time(queue_base.LEASE)
        (later,) = self.queue.claim_unsettled()
        self.queue.settle(left)
        self.pass_time(queue_base.LEASE)
        self.assertEqual(1, len(self.queue.claim_unsettled()))
        self.pass_time(queue_base.LEASE)
        self.queue.settle(*self.queue.claim_unsettled())
        self.pass_time(queue_base.LEASE)
        self.assertEqual([], self.queue.claim_unsettled())
        self.assertEqual(state.FINISHED, self.queue.find(done.uuid).state)

    def test_it_is_known_which_delivery_holds_a_node(self):
        self.put()
        first = self.queue.get('w1')
        self.assertTrue(self.queue.is_held(NODE, first.delivery))
        self.assertFalse(self.queue.is_held(OTHER, first.delivery))
        self.pass_time(queue_base.LEASE)
        self.assertTrue(self.queue.is_held(NODE, first.delivery))
        second = self.queue.get('w1')
        self.assertFalse(self.queue.is_held(NODE, first.delivery))
        self.assertTrue(self.queue.is_held(NODE, second.delivery))
        self.queue.retry(second, 0)
        self.assertFalse(self.queue.is_held(NODE, second.delivery))

    def test_a_done_request_is_not_prolonged(self):
        self.put()
        done = self.take('w1')
        self.queue.consume(done)
        self.assertEqual({done.delivery}, self.queue.heartbeat([done]))
        self.pass_time(queue_base.LEASE)
        self.assertFalse(self.queue.is_held(NODE, done.delivery))

    def test_what_attempts_have_done_is_forgotten_at_the_end(self):
        self.put()
        self.queue.consume(
            self.queue.save_checkpoints(self.take(), {'main': ['secret']})
        )
        aborted = self.put(OTHER)
        self.queue.abort(aborted.uuid, 'by request')
        self.assertEqual([{}, {}], self.stored_checkpoints())

    def test_only_the_machine_replaces_data_that_wait(self):
        first = self.queue.put(
            NODE,
            queue_request.CONTINUE,
            {'a': 1},
            {},
            sender='192.0.2.1',
            trusted=False,
        )
        refused = self.assertRaises(
            exceptions.AnotherSender,
            self.queue.put,
            NODE,
            queue_request.CONTINUE,
            {'a': 2},
            {},
            sender='192.0.2.2',
            trusted=False,
        )
        self.assertEqual('192.0.2.1', refused.sender)
        for data, trusted in (({'a': 1}, False), ({'a': 2}, True)):
            again = self.queue.put(
                NODE,
                queue_request.CONTINUE,
                data,
                {},
                sender='192.0.2.3',
                trusted=trusted,
            )
            self.assertEqual(
                (first.uuid, '192.0.2.3'), (again.uuid, again.sender)
            )
        self.assertEqual({'a': 2}, self.queue.get('w1').inventory)

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
        self.assertEqual(
            ['SELECT'], [statement.split()[0] for statement in asked]
        )

    def test_a_request_is_put_in_one_transaction(self):
        with queue_base.statements() as asked:
            self.put()
        # What is open and which data are replaced; data and request.
        self.assertEqual(
            ['SELECT', 'SELECT', 'INSERT', 'INSERT', 'COMMIT'],
            [statement.split()[0] for statement in asked],
        )

    def test_a_claim_that_comes_too_late_gets_nothing(self):
        request = self.put()
        claim = leases._claim
        others = [None]

        def stall(*args):
            if others:
                others.pop()
                self.assertEqual(1, self.queue.get('w2').token)
            return claim(*args)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.lease._claim', stall
            )
        )
        self.assertIsNone(self.queue.get('w1'))
        self.assertEqual('w2', self.queue.find(request.uuid).worker)

    def test_a_lease_that_was_prolonged_meanwhile_is_not_claimed(self):
        self.put()
        held = self.take('w1')
        self.pass_time(queue_base.LEASE)
        claim = leases._claim

        def prolong(*args):
            self.queue.heartbeat([held])
            return claim(*args)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.lease._claim', prolong
            )
        )
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

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.lease._claim', lose
            )
        )
        self.assertNotIn(self.queue.get('w1').uuid, lost)

    def test_a_worker_tries_each_locked_request_once(self):
        put = [self.put(f'node-{number}').uuid for number in range(20)]
        tried = []

        def find_locked(candidate, *args):
            self.assertNotIn(candidate.id, tried)
            tried.append(candidate.id)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.db.lease._claim', find_locked
            )
        )

        self.assertIsNone(self.queue.get('w1'))

        self.assertEqual(len(put), len(tried))

    def test_many_share_the_requests(self):
        put = {self.put(f'node-{number}').uuid for number in range(12)}

        def drain(number):
            return [
                request.uuid
                for request in iter(lambda: self.queue.get(f'w{number}'), None)
            ]

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
            lambda number: self.queue.abort(request.uuid, f'by {number}')
        )
        self.assertEqual(
            1,
            len(
                [
                    one
                    for one in ended
                    if isinstance(one, queue_request.Request)
                ]
            ),
        )

    def test_a_request_is_either_begun_or_aborted(self):
        for number in range(5):
            request = self.put(f'node-{number}')
            got = self.queue.get('w1')
            calls = [
                lambda got=got: self.queue.begin(got, state.PROCESSING),
                lambda got=got: self.queue.abort(got.uuid, 'stop'),
            ]
            ends = self.at_once(
                lambda number, calls=calls: calls[number % 2]()
            )
            begun = [
                one
                for one in ends[::2]
                if isinstance(one, queue_request.Request)
            ]
            aborted = [
                one
                for one in ends[1::2]
                if isinstance(one, queue_request.Request)
            ]
            self.assertNotEqual(bool(begun), bool(aborted))
            expected = state.ERROR
            if begun:
                expected = state.PROCESSING
            self.assertEqual(expected, self.queue.find(request.uuid).state)

    def test_reapplication_is_for_what_the_ramdisk_posted(self):
        self.put(mark='posted')
        self.queue.consume(self.take())
        self.queue.put(NODE, queue_request.REAPPLY, {'mark': 'given'})
        given = self.queue.get('w1')
        self.queue.consume(given)
        self.queue.put(NODE, queue_request.REAPPLY)
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
        self.pass_time(queue_base.LEASE)
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

        def call(*args, **kwargs):
            while remaining:
                remaining.pop()()
            return function(*args, **kwargs)

        self.useFixture(fixtures.MonkeyPatch(name, call))

    def replace_all(self):
        """Remove all requests, and put one whose id SQLite has given out."""
        with transaction.writer() as session:
            session.execute(sa.delete(models.RequestRow))
        self.put('node-2')

    def test_what_comes_in_the_place_of_an_old_request_stays(self):
        self.put()
        request = self.take()
        with transaction.writer() as session:
            self.queue.consume(request, transaction=session)
        self.meanwhile(
            'ironic_inspection_rules.db.removal.remove_unlocked',
            self.replace_all,
        )
        self.queue.forget(-60)
        self.assertIsNotNone(self.queue.find_open('node-2'))

    def test_what_comes_in_the_place_of_that_of_a_deleted_node_stays(self):
        self.put()
        self.meanwhile(
            'ironic_inspection_rules.db.removal.remove_unlocked',
            self.replace_all,
        )
        unprocessed.destroy_nodes([NODE])
        self.assertIsNotNone(self.queue.find_open('node-2'))

    def test_what_ends_during_a_sign_of_life_is_lost(self):
        self.put()
        held = self.take('w1')
        self.meanwhile(
            'ironic_inspection_rules.db.lease.lock',
            lambda: self.queue.consume(held),
        )
        self.assertEqual({held.delivery}, self.queue.heartbeat([held]))

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


class WakeTestCase(queue_base.QueueTestCase):
    def setUp(self):
        super().setUp()
        self.stored = []
        self.queue = database_queue.DatabaseQueue(
            queue_base.LEASE, after_put=[self.wake]
        )

    def wake(self):
        self.stored.append(self.queue.find_open(NODE))

    def test_a_request_wakes_workers_once_it_is_stored(self):
        put = self.queue.put(NODE, queue_request.CONTINUE, {}, {})
        self.assertEqual([put], self.stored)

    def test_nobody_is_woken_for_what_is_not_stored(self):
        self.queue.put(NODE, queue_request.CONTINUE, {}, {})
        self.queue.begin(self.queue.get('w1'), state.PROCESSING)
        self.assertRaises(
            exceptions.RequestPending,
            self.queue.put,
            NODE,
            queue_request.CONTINUE,
            {},
            {},
        )
        self.assertEqual(1, len(self.stored))
