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

import threading

from ironic_inspection_rules.ha import election
from ironic_inspection_rules.ha import singleton
from ironic_inspection_rules.tests.unit import base

PATIENCE = 10


class FakeElection:
    """An election that the test decides."""

    def __init__(self):
        self.is_leader = False
        self.ran = threading.Semaphore(0)
        self.lost = []

    def make(self, on_gained, on_lost):
        self.on_gained, self.on_lost = on_gained, on_lost
        return self

    def gain(self):
        self.is_leader = True
        self.on_gained()

    def lose(self):
        self.is_leader = False
        self.on_lost()

    def run(self, stop):
        self.ran.release()
        if self.lost:
            raise self.lost.pop()
        stop.wait()


class SingletonsTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.election = FakeElection()
        self.addCleanup(self.election_ends)
        self.rounds = threading.Semaphore(0)
        self.stop = threading.Event()

    def election_ends(self):
        if self.election.is_leader:
            self.election.lose()

    def make(self, *tasks, period=0.01):
        return singleton.Singletons(self.election.make, tasks, period,
                                    retry_interval=0.01)

    def wait(self, semaphore):
        self.assertTrue(semaphore.acquire(timeout=PATIENCE))

    def test_the_leader_works_in_rounds(self):
        self.make(self.rounds.release)
        self.election.gain()
        for _round in range(3):
            self.wait(self.rounds)

    def test_who_does_not_lead_does_nothing(self):
        self.make(self.rounds.release)._begin()
        self.assertFalse(self.rounds.acquire(timeout=0.05))

    def test_no_task_is_begun_after_the_loss(self):
        done = []
        over = threading.Event()

        def first():
            self.election.lose()

        def second():
            done.append('second')
        it = self.make(first, second)
        work = it._work

        def work_and_tell(reset):
            work(reset)
            over.set()
        it._work = work_and_tell
        self.election.gain()
        self.assertTrue(over.wait(PATIENCE))
        self.assertEqual([], done)

    def test_a_failing_task_does_not_keep_the_others_from_their_turn(self):
        def fail():
            raise ValueError('broken')
        self.make(fail, self.rounds.release)
        self.election.gain()
        for _round in range(2):
            self.wait(self.rounds)

    def test_a_lost_coordinator_is_tried_again(self):
        self.election.lost = [election.CoordinatorLost('away')]
        it = self.make()
        thread = threading.Thread(target=it.run, args=(self.stop,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.stop.set)
        for _run in range(2):
            self.wait(self.election.ran)
