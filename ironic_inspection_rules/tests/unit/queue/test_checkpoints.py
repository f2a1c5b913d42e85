# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.queue import checkpoints
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit.queue import base


class CheckpointsTestCase(base.QueueTestCase):

    def setUp(self):
        super().setUp()
        self.request = self.queue.put('node', queue_request.CONTINUE)

    def begin(self, worker):
        begun = self.queue.begin(self.queue.get(worker), state.PROCESSING)
        return checkpoints.Checkpoints(self.queue, begun)

    def test_a_new_request_has_none(self):
        saved = self.begin('w1')
        self.assertEqual(self.request.uuid, saved.request_uuid)
        self.assertIsNone(saved.read('main'))

    def test_the_next_attempt_reads_what_was_saved(self):
        saved = self.begin('w1')
        saved.save('preprocess', [1])
        saved.save('main', [2])
        saved.save('main', [3])
        base.pass_time(base.LEASE)
        later = self.begin('w2')
        for reader in (saved, later):
            self.assertEqual([1], reader.read('preprocess'))
            self.assertEqual([3], reader.read('main'))

    def test_who_lost_the_request_cannot_save(self):
        saved = self.begin('w1')
        base.pass_time(base.LEASE)
        later = self.begin('w2')
        self.assertRaises(exceptions.LeaseLost, saved.save, 'main', [1])
        self.assertIsNone(later.read('main'))

    def test_a_checkpoint_is_a_sign_of_life(self):
        saved = self.begin('w1')
        base.pass_time(base.LEASE - 1)
        saved.save('main', [1])
        base.pass_time(base.LEASE - 1)
        self.assertIsNone(self.queue.get('w2'))
