# SPDX-License-Identifier: Apache-2.0

"""What is old is removed now and then; what is kept is as small as it can be.

What a database makes of it, the tests of ``db`` tell.
"""

import datetime
import random

from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.db import test_history


class CleanerTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.now, self.found, self.expired = 50.0, [0, 0], []
        today = datetime.datetime(2024, 3, 31)
        self.patch(history.time, 'monotonic', lambda: self.now)
        self.patch(timeutils, 'utcnow', lambda: today)
        self.patch(
            db_history,
            'expire',
            lambda before: self.expired.append(before) or self.found[0],
        )
        self.patch(content, 'sweep', lambda: self.found[1])
        self.cleaner = history.Cleaner()

    def cleaned(self, days=30):
        """Clean once; return how often something was looked for."""
        before = len(self.expired)
        self.cleaner.clean(days)
        return len(self.expired) - before

    def test_what_is_older_than_so_many_days_is_removed(self):
        self.cleaned()
        self.assertEqual([datetime.datetime(2024, 3, 1)], self.expired)

    def test_there_is_time_between(self):
        self.assertEqual(1, self.cleaned())
        self.now += 599
        self.assertEqual(0, self.cleaned())
        self.now += 1
        self.assertEqual([1, 0], [self.cleaned(), self.cleaned()])

    def test_none_where_there_may_be_more(self):
        for found in ([1, 0], [0, 1]):
            self.found = found
            self.assertEqual([1, 1], [self.cleaned(), self.cleaned()])
        self.found = [0, 0]
        self.assertEqual([1, 0], [self.cleaned(), self.cleaned()])

    def test_an_error_of_the_database_fails_nothing_and_is_logged(self):
        def fail():
            raise db_exc.DBError('gone')

        self.patch(content, 'sweep', fail)
        with self.assertLogs(history.__name__, 'WARNING') as logs:
            self.assertEqual([1, 1], [self.cleaned(), self.cleaned()])
        self.assertEqual(2, len(logs.output))


class PrepareTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.machine = test_history.node()

    def keep(self, found):
        kept = history.prepare(uuidutils.generate_uuid(), self.machine, found)
        database.keep_inspection(kept)
        return kept.values

    def test_a_patch_is_kept_where_it_is_small(self):
        found = test_history.document()
        first = self.keep(found)
        self.assertIsNone(first['patch'])
        self.assertIsNone(self.keep(found)['patch'])
        found['inventory']['disks'].reverse()
        small = self.keep(found)
        self.assertEqual(first['content'], small['content'])
        self.assertIsNotNone(small['patch'])
        found['plugin_data']['noise'] = random.Random(1).randbytes(600).hex()
        large = self.keep(found)
        self.assertIsNone(large['patch'])
        self.assertNotEqual(first['content'], large['content'])

    def test_parts_that_are_known_are_stored_once(self):
        found = test_history.document()
        first = self.keep(found)
        found['inventory']['memory']['total'] = 1
        self.assertEqual(first['parts'], self.keep(found)['parts'])
        del found['inventory']['disks'][0]
        self.assertNotEqual(first['parts'], self.keep(found)['parts'])
