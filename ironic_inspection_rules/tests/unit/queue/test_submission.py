# SPDX-License-Identifier: Apache-2.0

from oslo_db import exception as db_exc

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import submission
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base


class FakeConductorAPI:

    def get_topic_for(self, node):
        return f'topic of {node}'

    def continue_inspection(self, *args, **kwargs):
        raise AssertionError('a conductor was called')


class RequestSubmitterTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.queue = database_queue.DatabaseQueue(60)
        self.stored = []
        self.submitter = submission.RequestSubmitter(self.queue, self.wake)

    def wake(self):
        self.stored.append(self.queue.find_open('node'))

    def test_a_request_wakes_workers_once_it_is_stored(self):
        put = self.submitter.put('node', queue_request.CONTINUE, {}, {}, {})
        self.assertEqual([put], self.stored)

    def test_data_are_stored_as_they_came(self):
        posted = {'same': 1, 'gone': 1, 'other': 1}
        self.submitter.put('node', queue_request.CONTINUE, {'cpu': 1}, posted,
                           {'same': 1, 'other': 2, 'new': 1})
        got = self.queue.get('w1')
        self.assertEqual(({'cpu': 1}, posted),
                         (got.inventory, got.plugin_data))
        self.assertEqual({'set': {'other': 2, 'new': 1}, 'unset': ['gone']},
                         got.checkpoints['early'])

    def test_missing_workers_are_noticed(self):
        checked = []
        submitter = submission.RequestSubmitter(
            self.queue, self.wake, lambda: checked.append(True))
        submitter.put('node', queue_request.CONTINUE, {}, {}, {})
        self.assertEqual([True], checked)

    def test_nobody_is_woken_for_what_is_not_stored(self):
        self.submitter.put('node', queue_request.CONTINUE, {}, {}, {})
        self.queue.begin(self.queue.get('w1'), state.PROCESSING)
        self.assertRaises(exceptions.RequestPending, self.submitter.put,
                          'node', queue_request.CONTINUE, {}, {}, {})
        self.assertEqual(1, len(self.stored))

    def test_requests_can_be_found_and_aborted(self):
        put = self.submitter.put('node', queue_request.CONTINUE, {}, {}, {})
        self.assertEqual(put, self.submitter.find_open('node'))
        self.submitter.abort(put.uuid, 'by request')
        self.assertIsNone(self.submitter.find_open('node'))

    def test_data_go_to_the_queue_and_the_rest_to_the_conductor(self):
        conductor_api = submission.QueueingConductorAPI(
            FakeConductorAPI(), self.submitter, posted={'a': 1})
        self.assertEqual('topic of x', conductor_api.get_topic_for('x'))
        conductor_api.continue_inspection(
            None, 'node', inventory={'cpu': 1}, plugin_data={'b': 1},
            topic='t')
        got = self.queue.get('w1')
        self.assertEqual(({'cpu': 1}, {'a': 1}),
                         (got.inventory, got.plugin_data))


LATE = backlog.Backlog(waiting=3, processing=0, delay=61.0)


class WorkerAbsenceTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.asked = 0
        self.found = None
        self.absence = submission.WorkerAbsence(60, self.read,
                                             lambda: self.now)

    def read(self, patience):
        self.assertEqual(60, patience)
        self.asked += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def check(self, found, seconds=61):
        """Check so many seconds later, with such a backlog.

        :returns: what was logged.
        """
        self.found = found
        self.now += seconds
        logger = 'ironic_inspection_rules.queue.submission'
        with self.assertLogs(logger, 'DEBUG') as logs:
            self.absence.check()
            submission.LOG.debug('end')
        return ' '.join(logs.output[:-1])

    def test_warns_once_of_what_nobody_takes(self):
        logged = self.check(LATE)
        self.assertIn('WARNING', logged)
        self.assertIn('3 inspection requests wait, the first for 61 seconds',
                      logged)
        self.assertEqual('', self.check(LATE))

    def test_tells_when_it_is_over(self):
        self.check(LATE)
        self.assertIn('INFO', self.check(None))
        self.assertEqual('', self.check(None))

    def test_does_not_ask_more_often_than_it_is_patient(self):
        self.check(None)
        self.check(None, seconds=59)
        self.assertEqual(1, self.asked)

    def test_survives_a_database_out_of_reach(self):
        self.check(db_exc.DBConnectionError())
        self.assertIn('WARNING', self.check(LATE))
