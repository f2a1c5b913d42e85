# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit import base

OK = state.Verdict.ALLOWED
SAME = state.Verdict.IGNORED
NO = state.Verdict.FORBIDDEN

# Rows: states; columns: inspect, wait, continue, finish, timeout, abort.
EXPECTED = {
    state.ABSENT: (
        (OK, 'starting'),
        (NO, 'absent'),
        (NO, 'absent'),
        (NO, 'absent'),
        (NO, 'absent'),
        (NO, 'absent'),
    ),
    state.STARTING: (
        (SAME, 'starting'),
        (OK, 'waiting'),
        (NO, 'starting'),
        (NO, 'starting'),
        (NO, 'starting'),
        (OK, 'error'),
    ),
    state.WAITING: (
        (NO, 'waiting'),
        (SAME, 'waiting'),
        (OK, 'processing'),
        (NO, 'waiting'),
        (OK, 'error'),
        (OK, 'error'),
    ),
    state.PROCESSING: (
        (NO, 'processing'),
        (NO, 'processing'),
        (NO, 'error'),
        (OK, 'finished'),
        (NO, 'processing'),
        (NO, 'processing'),
    ),
    state.FINISHED: (
        (OK, 'starting'),
        (NO, 'finished'),
        (NO, 'finished'),
        (NO, 'finished'),
        (NO, 'finished'),
        (OK, 'error'),
    ),
    state.ERROR: (
        (OK, 'starting'),
        (NO, 'error'),
        (NO, 'error'),
        (NO, 'error'),
        (NO, 'error'),
        (NO, 'error'),
    ),
}


class ChangesTestCase(base.TestCase):
    def test_every_pair_is_allowed_ignored_or_forbidden(self):
        self.assertEqual({state.ABSENT, *state.STATES}, set(EXPECTED))
        for start, row in EXPECTED.items():
            for event, expected in zip(state.EVENTS, row, strict=True):
                with self.subTest(state=start, event=event):
                    self.assertEqual(expected, state.CHANGES[start, event])

    def test_a_strict_event_seen_again_leads_to_error(self):
        again = state.CHANGES[state.PROCESSING, state.CONTINUE]
        self.assertEqual((NO, state.ERROR), again)

    def test_a_re_entrant_event_seen_again_changes_nothing(self):
        again = state.CHANGES[state.WAITING, state.WAIT]
        self.assertEqual((SAME, state.WAITING), again)

    def test_the_life_of_a_request_ends_in_finished(self):
        reached = state.ABSENT
        for event in (state.INSPECT, state.WAIT, state.CONTINUE, state.FINISH):
            verdict, reached = state.CHANGES[reached, event]
            self.assertIs(OK, verdict, repr(event))
        self.assertEqual(state.FINISHED, reached)
        self.assertIn(reached, state.TERMINAL)
