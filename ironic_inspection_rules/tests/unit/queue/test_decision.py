# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.queue import decision
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit import base


class DecideTestCase(base.TestCase):

    def decide(self, **values):
        request = queue_request.Request('uuid', 'node', **{
            'event': queue_request.CONTINUE, **values})
        return decision.decide(request, max_attempts=3)

    def test_a_waiting_request_is_processed(self):
        self.assertEqual((state.PROCESSING, None), self.decide())

    def test_a_repetition_is_forgiven(self):
        self.assertEqual((state.PROCESSING, None),
                         self.decide(state=state.PROCESSING, attempts=2))

    def test_a_repetition_too_many_is_not(self):
        decided = self.decide(state=state.PROCESSING, attempts=3)
        self.assertEqual(state.ERROR, decided.state)
        self.assertIn('given up after 3 attempts', decided.refusal)

    def test_an_illegal_transition_is_refused(self):
        decided = self.decide(state=state.STARTING)
        self.assertEqual('the event continue is not allowed in the state '
                         'starting', decided.refusal)

    def test_a_timeout_waits_until_it_has_run(self):
        self.assertEqual((state.WAITING, None),
                         self.decide(event=queue_request.TIMEOUT))


class DelayTestCase(base.TestCase):

    def test_it_doubles_up_to_a_limit(self):
        self.assertEqual([4.0, 8.0, 16.0, 30.0, 30.0],
                         [decision.delay(failures, 4.0)
                          for failures in range(5)])
        self.assertEqual(30.0, decision.delay(100000, 1.0))
