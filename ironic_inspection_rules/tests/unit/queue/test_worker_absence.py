# SPDX-License-Identifier: Apache-2.0

from oslo_db import exception as db_exc

from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.queue import worker_absence
from ironic_inspection_rules.tests.unit import base

LATE = backlog.Backlog(waiting=3, processing=0, delay=61.0)


class WorkerAbsenceTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.asked = 0
        self.found = None
        self.absence = worker_absence.WorkerAbsence(
            60, self.read, lambda: self.now
        )

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
        logger = 'ironic_inspection_rules.queue.worker_absence'
        with self.assertLogs(logger, 'DEBUG') as logs:
            self.absence.check()
            worker_absence.LOG.debug('end')
        return ' '.join(logs.output[:-1])

    def test_warns_once_of_what_nobody_takes(self):
        logged = self.check(LATE)
        self.assertIn('WARNING', logged)
        self.assertIn(
            '3 inspection requests wait, the first for 61 seconds', logged
        )
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
