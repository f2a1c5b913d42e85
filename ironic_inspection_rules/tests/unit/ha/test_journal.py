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

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import journal
from ironic_inspection_rules.ha import memory_queue
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.ha import state
from ironic_inspection_rules.tests.unit import base


class JournalTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.queue = memory_queue.MemoryQueue(60, clock=lambda: self.now)
        self.request = self.queue.put('node', queue.CONTINUE)

    def begin(self, worker):
        begun = self.queue.begin(self.queue.get(worker), state.PROCESSING)
        return journal.Journal(self.queue, begun)

    def test_a_new_journal_is_empty(self):
        notes = self.begin('w1')
        self.assertEqual(self.request.uuid, notes.request_uuid)
        self.assertIsNone(notes.read('main'))

    def test_the_next_attempt_reads_what_was_noted(self):
        notes = self.begin('w1')
        notes.note('preprocess', [1])
        notes.note('main', [2])
        notes.note('main', [3])
        self.now += 60
        later = self.begin('w2')
        for reader in (notes, later):
            self.assertEqual([1], reader.read('preprocess'))
            self.assertEqual([3], reader.read('main'))

    def test_who_lost_the_request_cannot_note(self):
        notes = self.begin('w1')
        self.now += 60
        later = self.begin('w2')
        self.assertRaises(exceptions.LeaseLost, notes.note, 'main', [1])
        self.assertIsNone(later.read('main'))

    def test_a_note_is_a_sign_of_life(self):
        notes = self.begin('w1')
        self.now += 59
        notes.note('main', [1])
        self.now += 59
        self.assertIsNone(self.queue.get('w2'))
