# SPDX-License-Identifier: Apache-2.0

"""What is kept of an inspection is as small as it can be.

What a database makes of it, the tests of ``db`` tell.
"""

import random

from oslo_utils import uuidutils

from ironic_inspection_rules.runs import history
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.db import test_history


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
