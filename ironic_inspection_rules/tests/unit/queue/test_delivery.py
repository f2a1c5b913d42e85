# SPDX-License-Identifier: Apache-2.0

import contextlib
import types

import fixtures
from oslo_db import exception as db_exc
import pymysql
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import external_error
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit.queue import base

ATTEMPTS = 3
RETRY = 2.0


def rolled_back(cause):
    """Return what a session raises that cannot go on after an error."""
    return sa.exc.PendingRollbackError(
        "This Session's transaction has been rolled back due to a previous "
        f'exception during flush. Original exception was: {cause}'
    )


class Killed(BaseException):
    """The process ends here: nothing after this line of it happens."""


class FakeAttempt:
    """An attempt on a node of :class:`FakeNodes`, which is locked."""

    def __init__(self, nodes, request):
        self._nodes = nodes
        self.request = request
        self.task = types.SimpleNamespace(node=request.node_uuid)

    def prepare_earlier_run(self):
        self._nodes.reach('prepare')

    def process(self):
        self._nodes.reach('process')
        return self._nodes.process(self.request)

    def fail(self, reason):
        self._nodes.reach('fail')
        self._nodes.failed[self.request.node_uuid] = reason

    def end(self, error):
        with transaction.writer() as session:
            return self._nodes.queue.consume(self.request, error, session)


class FakeNodes(fixtures.Fixture):
    """Nodes in memory.

    :ivar calls: the steps that were reached, in their order.
    :ivar finding: what checking the state of a node returns.
    :ivar trouble: errors to raise, by the step that raises them.
    """

    def __init__(self, queue):
        self.queue = queue
        self.calls = []
        self.locked = set()
        self.failed = {}
        self.finding = queue_node.NodeCheck()
        self.trouble = {}

    def _setUp(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.queue.node.check', self.check
            )
        )

    def reach(self, step):
        self.calls.append(step)
        if self.trouble.get(step):
            raise self.trouble[step].pop(0)

    @contextlib.contextmanager
    def lock(self, request):
        self.reach('lock')
        self.locked.add(request.node_uuid)
        yield FakeAttempt(self, request)
        self.reach('unlock')
        self.locked.discard(request.node_uuid)

    def check(self, node, request):
        self.reach('check')
        return self.finding

    def process(self, request):
        return self.failed.get(request.node_uuid)


class DeliveryTestCase(base.QueueTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(base.StoppedClock())
        self.queue = database_queue.DatabaseQueue(base.LEASE)
        self.nodes = self.useFixture(FakeNodes(self.queue))
        self.pause = lambda seconds: True
        self.request = self.queue.put('node', queue_request.CONTINUE)

    def deliver(self, name='w1'):
        return self.carry_out(self.queue.get(name))

    def carry_out(self, request):
        return delivery.Delivery(
            self.queue, request, self.nodes.lock, ATTEMPTS, RETRY, self.pause
        ).carry_out()

    def outcome(self):
        request = self.queue.find(self.request.uuid)
        return request.state, request.attempts, request.last_error

    def test_the_steps_come_in_order(self):
        self.assertIs(delivery.Outcome.FINISHED, self.deliver())
        self.assertEqual(
            ['lock', 'check', 'process', 'unlock'], self.nodes.calls
        )
        self.assertEqual((state.FINISHED, 1, None), self.outcome())

    def test_the_node_is_locked_until_the_request_is_consumed(self):
        consume = self.queue.consume
        locked = []

        def consume_and_look(request, error=None, transaction=None):
            locked.extend(self.nodes.locked)
            return consume(request, error, transaction)

        self.queue.consume = consume_and_look
        self.deliver()
        self.assertEqual(['node'], locked)

    def test_a_failed_request_is_not_tried_again(self):
        self.nodes.failed['node'] = 'no disk'
        self.assertIs(delivery.Outcome.FAILED, self.deliver())
        self.assertEqual((state.ERROR, 1, 'no disk'), self.outcome())

    def test_a_locked_node_costs_no_attempt(self):
        self.nodes.trouble['lock'] = [exceptions.NodeBusy('busy')] * 3
        for delay in (RETRY, 2 * RETRY, 4 * RETRY):
            self.assertIs(
                delivery.Outcome.RETRIED, self.deliver(), repr(delay)
            )
            base.pass_time(delay - 0.5)
            self.assertIsNone(self.queue.get('w1'), repr(delay))
            base.pass_time(0.5)
        self.assertIs(delivery.Outcome.FINISHED, self.deliver())
        self.assertEqual((state.FINISHED, 1, None), self.outcome())

    def test_a_node_that_stays_locked_is_waited_for(self):
        self.nodes.trouble['lock'] = [exceptions.NodeBusy('busy')] * 50
        for _turn in range(50):
            self.assertIs(delivery.Outcome.RETRIED, self.deliver())
            base.pass_time(leases.MAX_DELAY)
        self.assertIs(delivery.Outcome.FINISHED, self.deliver())
        self.assertEqual((state.FINISHED, 1, None), self.outcome())

    def test_trouble_of_the_surroundings_fails_no_node(self):
        for trouble in (
            db_exc.DBConnectionError('away'),
            db_exc.DBDeadlock('lost'),
            sa.exc.TimeoutError('the pool is empty'),
            db_exc.DBError(
                pymysql.err.OperationalError(
                    1290, 'running with the --read-only option'
                )
            ),
            exceptions.TemporaryFailure('coordinator'),
            RuntimeError("can't start new thread"),
            *map(
                rolled_back,
                (
                    '(sqlite3.OperationalError) database is locked',
                    "(pymysql.err.OperationalError) (1205, 'Lock wait')",
                    '(psycopg2.errors.DeadlockDetected) deadlock',
                ),
            ),
        ):
            for step in ('lock', 'check', 'process'):
                self.nodes.trouble[step] = [trouble] * 3
                for _turn in range(3):
                    self.assertIs(
                        delivery.Outcome.RETRIED,
                        self.deliver(),
                        (trouble, step),
                    )
                    base.pass_time(leases.MAX_DELAY)
        self.assertEqual({}, self.nodes.failed)
        self.assertEqual(0, self.outcome()[1])
        self.assertIs(delivery.Outcome.FINISHED, self.deliver())

    def test_a_session_that_the_work_has_spoilt_fails_the_node(self):
        for cause in (
            "(pymysql.err.IntegrityError) (1062, 'Duplicate')",
            '(psycopg2.errors.UniqueViolation) duplicate key',
        ):
            self.assertFalse(
                external_error.is_external(rolled_back(cause)), repr(cause)
            )

    def test_a_request_is_given_back_when_the_database_is_there_again(self):
        self.nodes.trouble['process'] = [db_exc.DBConnectionError('away')]
        retry, pauses = self.queue.retry, []

        def away_twice(*args):
            if len(pauses) < 2:
                raise db_exc.DBConnectionError('away')
            retry(*args)

        self.queue.retry = away_twice
        self.pause = pauses.append
        self.assertIs(delivery.Outcome.RETRIED, self.deliver())
        self.assertEqual(([RETRY] * 2, 0), (pauses, self.outcome()[1]))

    def test_what_breaks_off_before_it_begins_is_bounded(self):
        self.nodes.trouble['check'] = [ValueError('surprise')] * 9
        outcomes = []
        while self.queue.find_open('node'):
            outcomes.append(self.deliver())
            base.pass_time(leases.MAX_DELAY)
        self.assertEqual(
            [delivery.Outcome.RETRIED] * 3 + [delivery.Outcome.FAILED],
            outcomes,
        )
        self.assertEqual(1, len(self.left()))

    def left(self):
        base.pass_time(base.LEASE)
        return [request.uuid for request in self.queue.claim_unsettled()]

    def test_a_node_that_cannot_be_failed_is_left_to_the_leader(self):
        self.nodes.finding = queue_node.NodeCheck(obstacle='no way')
        self.nodes.trouble['fail'] = [ValueError('surprise')]
        self.assertIs(delivery.Outcome.FAILED, self.deliver())
        self.assertEqual((state.ERROR, 0, 'no way'), self.outcome())
        self.assertEqual([self.request.uuid], self.left())

    def test_a_node_that_was_failed_is_not(self):
        self.nodes.finding = queue_node.NodeCheck(obstacle='no way')
        self.deliver()
        self.assertEqual([], self.left())

    def test_a_superseded_request_leaves_its_node_alone(self):
        self.nodes.finding = queue_node.NodeCheck(superseded=True)
        self.assertIs(delivery.Outcome.FAILED, self.deliver())
        self.assertEqual(
            (state.ERROR, 0, queue_request.OVERTAKEN), self.outcome()
        )
        self.assertEqual(({}, []), (self.nodes.failed, self.left()))

    def test_the_request_of_a_deleted_node_is_consumed(self):
        self.nodes.trouble['lock'] = [exceptions.NodeGone('gone')]
        self.assertIs(delivery.Outcome.FAILED, self.deliver())
        self.assertEqual((state.ERROR, 0, 'gone'), self.outcome())

    def test_a_wrong_state_of_the_node_fails_the_request(self):
        self.nodes.finding = queue_node.NodeCheck(obstacle='it is active')
        self.assertIs(delivery.Outcome.FAILED, self.deliver())
        self.assertEqual((state.ERROR, 0, 'it is active'), self.outcome())
        self.assertEqual({'node': 'it is active'}, self.nodes.failed)
        self.assertNotIn('process', self.nodes.calls)

    def test_what_was_finished_before_is_only_consumed(self):
        self.nodes.finding = queue_node.NodeCheck(done=True)
        self.assertIs(delivery.Outcome.FINISHED, self.deliver())
        self.assertNotIn('process', self.nodes.calls)
        self.assertEqual((state.FINISHED, 0, None), self.outcome())

    def test_what_failed_for_a_while_is_tried_again(self):
        self.nodes.trouble['process'] = [
            exceptions.TemporaryFailure('database away')
        ]
        self.assertIs(delivery.Outcome.RETRIED, self.deliver())
        self.assertEqual(
            (state.PROCESSING, 0, 'database away'), self.outcome()
        )
        base.pass_time(RETRY)
        self.assertIs(delivery.Outcome.FINISHED, self.deliver())
        self.assertEqual((state.FINISHED, 1, None), self.outcome())

    def test_what_broke_off_is_tried_again(self):
        self.nodes.trouble['process'] = [ValueError('surprise')]
        self.assertIs(delivery.Outcome.RETRIED, self.deliver())
        self.assertEqual((state.PROCESSING, 1, 'surprise'), self.outcome())

    def test_what_may_be_trouble_has_time_to_pass_but_counts(self):
        self.nodes.trouble['process'] = [
            exceptions.DoubtfulFailure('handling it')
        ]
        self.assertIs(delivery.Outcome.RETRIED, self.deliver())
        self.assertEqual((state.PROCESSING, 1, 'handling it'), self.outcome())
        base.pass_time(leases.MAX_DELAY - 1)
        self.assertIsNone(self.queue.get('w1'))
        base.pass_time(1)
        self.assertIs(delivery.Outcome.FINISHED, self.deliver())

    def test_a_queue_that_went_away_gets_its_request_back_by_the_lease(self):
        def retry(*args):
            raise db_exc.DBConnectionError('away')

        self.queue.retry = retry
        self.nodes.trouble['process'] = [db_exc.DBConnectionError('away')]
        self.assertIs(delivery.Outcome.LOST, self.deliver())
        self.assertIsNone(self.queue.get('w2'))
        base.pass_time(base.LEASE)
        self.assertIs(delivery.Outcome.FINISHED, self.deliver('w2'))

    def test_the_log_has_the_place_of_a_bug_in_giving_it_back(self):
        def retry(*args):
            raise KeyError('bug')

        self.queue.retry = retry
        logs = self.useFixture(fixtures.FakeLogger())
        self.nodes.trouble['process'] = [ValueError('surprise')]
        self.assertIs(delivery.Outcome.LOST, self.deliver())
        self.assertIn('left to the end of its lease', logs.output)
        self.assertIn('Traceback', logs.output)

    def test_attempts_are_bounded(self):
        self.nodes.trouble['process'] = [
            ValueError(f'trouble {number}') for number in range(10)
        ]
        for _turn in range(ATTEMPTS):
            self.assertIs(delivery.Outcome.RETRIED, self.deliver())
            base.pass_time(RETRY)
        self.assertIs(delivery.Outcome.FAILED, self.deliver())
        reason = 'given up after 3 attempts; the last one failed: trouble 2'
        self.assertEqual((state.ERROR, 3, reason), self.outcome())
        self.assertEqual({'node': reason}, self.nodes.failed)

    def test_another_worker_goes_on_wherever_one_dies(self):
        for step in ('lock', 'check', 'process'):
            with self.subTest(step=step):
                self.nodes.trouble[step] = [Killed()]
                self.request = self.queue.put('node', queue_request.CONTINUE)
                self.assertRaises(Killed, self.deliver, 'w1')
                self.assertIsNone(self.queue.get('w2'))
                base.pass_time(base.LEASE)
                self.assertIs(delivery.Outcome.FINISHED, self.deliver('w2'))

    def test_a_request_that_kills_its_workers_is_given_up(self):
        self.nodes.trouble['process'] = [Killed(), Killed(), Killed()]
        for number in range(3):
            self.assertRaises(Killed, self.deliver, f'w{number}')
            base.pass_time(base.LEASE)
        self.assertIs(delivery.Outcome.FAILED, self.deliver('w9'))
        self.assertIn('none of the workers lived', self.outcome()[2])

    def test_who_wakes_up_too_late_does_not_fail_the_node(self):
        self.nodes.finding = queue_node.NodeCheck(obstacle='it is active')
        late = self.queue.get('w1')
        base.pass_time(base.LEASE)
        self.queue.get('w2')
        self.assertIs(delivery.Outcome.LOST, self.carry_out(late))
        self.assertEqual({}, self.nodes.failed)

    def test_who_wakes_up_too_late_does_not_begin(self):
        late = self.queue.get('w1')
        base.pass_time(base.LEASE)
        self.deliver('w2')
        self.assertIs(delivery.Outcome.LOST, self.carry_out(late))
        self.assertEqual(1, self.nodes.calls.count('process'))

    def test_a_timeout_ends_in_error(self):
        request = self.queue.put('late', queue_request.TIMEOUT)
        self.queue.abort(self.request.uuid, 'out of the way')
        self.nodes.failed['late'] = 'timed out'
        self.assertIs(delivery.Outcome.FAILED, self.deliver())
        done = self.queue.find(request.uuid)
        self.assertEqual(
            (state.ERROR, 'timed out'), (done.state, done.last_error)
        )


class DecideTestCase(base.base.TestCase):
    def decide(self, **values):
        request = queue_request.Request(
            'uuid', 'node', **{'event': queue_request.CONTINUE, **values}
        )
        return delivery.decide(request, max_attempts=3)

    def test_a_waiting_request_is_processed(self):
        self.assertEqual((state.PROCESSING, None), self.decide())

    def test_a_repetition_is_forgiven(self):
        self.assertEqual(
            (state.PROCESSING, None),
            self.decide(state=state.PROCESSING, attempts=2),
        )

    def test_a_repetition_too_many_is_not(self):
        decided = self.decide(state=state.PROCESSING, attempts=3)
        self.assertEqual(state.ERROR, decided.state)
        self.assertIn('given up after 3 attempts', decided.refusal)

    def test_an_illegal_transition_is_refused(self):
        decided = self.decide(state=state.STARTING)
        self.assertEqual(
            'the event continue is not allowed in the state starting',
            decided.refusal,
        )

    def test_a_timeout_waits_until_it_has_run(self):
        self.assertEqual(
            (state.WAITING, None), self.decide(event=queue_request.TIMEOUT)
        )


class DelayTestCase(base.base.TestCase):
    def test_it_doubles_up_to_a_limit(self):
        self.assertEqual(
            [4.0, 8.0, 16.0, 30.0, 30.0],
            [delivery.retry_delay(failures, 4.0) for failures in range(5)],
        )
        self.assertEqual(30.0, delivery.retry_delay(100000, 1.0))
