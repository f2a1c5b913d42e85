# SPDX-License-Identifier: Apache-2.0

"""Schedules of PXE filters: machines pass on one host at most.

A *door* is a host with a filter; it is open while machines pass there.
"""

import logging
import os

from ironic_inspection_rules.tests.simulation import defects
from ironic_inspection_rules.tests.simulation import doors
from ironic_inspection_rules.tests.unit import base

COUNT = int(os.environ.get('IR_SCHEDULES', 240))
FIRST = int(os.environ.get('IR_FIRST_SCHEDULE', 1))
PARTS = 2


class DoorTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def try_schedule(self, seed):
        one = doors.Doors(seed)
        try:
            one.run()
        except AssertionError as exc:
            trace = '\n'.join(one.turns.trace)
            raise AssertionError(f'schedule {seed}: {exc}\n{trace}') from exc


class DoorScheduleTestCase(DoorTestCase):
    def try_part(self, part):
        for seed in range(FIRST + part, FIRST + COUNT, PARTS):
            self.try_schedule(seed)

    def test_the_first_part_of_the_schedules(self):
        self.try_part(0)

    def test_the_second_part_of_the_schedules(self):
        self.try_part(1)


class DoorDefectTestCase(DoorTestCase):
    def assert_found(self, defect, seed):
        self.try_schedule(seed)
        with defect():
            self.assertRaises(AssertionError, self.try_schedule, seed)

    def test_a_leader_that_does_not_wait_for_the_last_one(self):
        self.assert_found(defects.leader_at_once, 12)

    def test_a_door_that_a_late_nft_opens(self):
        self.assert_found(defects.lease_without_end, 29)
