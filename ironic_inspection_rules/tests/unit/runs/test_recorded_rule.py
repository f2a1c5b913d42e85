# SPDX-License-Identifier: Apache-2.0

"""A rule in a record is read without asking whether it is withheld."""

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run.secrecy import journal
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_change
from ironic_inspection_rules.runs import recorded_rule
from ironic_inspection_rules.tests.unit import base

UUID = 'f5a4a1a2-6fe5-4c5a-8a4c-2c6b2c2c6a01'
PLACE = recorded_change.RecordedPlace('node', ('extra', 'a'))
CHANGE = {
    'object': 'node',
    'op': 'add',
    'path': '/extra/a',
    'before': None,
    'after': 1,
    'action': 'set-attribute',
}
TOLD = {
    'uuid': UUID,
    'description': 'about',
    'revision': 3,
    'conditions': [],
    'actions': ['set-attribute'],
    'changes': [CHANGE],
}
WITHHELD = {'uuid': UUID, 'matched': True, 'withheld': True}


def record(*rules):
    return {
        'main': {
            'rules': list(rules),
            'reverted': [],
            'audit': [],
            'saved': True,
        }
    }


class ReadTestCase(base.TestCase):
    def test_a_withheld_rule_tells_its_uuid(self):
        self.assertEqual(
            {'rule': {'uuid': UUID}, 'withheld': True},
            recorded_rule.read(WITHHELD).described(self.fail),
        )
        self.assertIs(
            TOLD, recorded_rule.read(TOLD).described(lambda fields: fields)
        )

    def test_it_is_found_by_its_places_without_a_change(self):
        for places, found in (
            ([['node', '/extra']], (True, False)),
            ([['node', '/extra/b']], (False, False)),
            ([], (False, False)),
            (None, (False, True)),
        ):
            trail = recorded_rule.read(WITHHELD, {UUID: places}).follow(PLACE)
            self.assertEqual((PLACE, None), (trail.place, trail.change))
            self.assertEqual(found, (trail.is_set, trail.may_be_set))

    def test_another_one_is_found_by_its_change(self):
        trail = recorded_rule.read(TOLD, {UUID: None}).follow(PLACE)
        self.assertEqual(
            (CHANGE, True, False),
            (trail.change, trail.is_set, trail.may_be_set),
        )


class PlacesTestCase(base.TestCase):
    @staticmethod
    def of_sensitive(*names):
        made = journal.Journal()
        made.begin_action(
            model.Rule(uuid='s', sensitive=True, actions=()),
            'set-attribute',
            masked=True,
        )
        for name in names:
            made.record('add', {}, 'node', ('extra', name))
        return runner.PhaseOutcome((), journal=made)

    def test_places_of_a_sensitive_rule_take_room(self):
        self.patch(phase_record, 'LONGEST_RECORD', 100)
        self.assertEqual(
            {'s': None},
            recorded_rule.places_of(
                self.of_sensitive('a' * 60, 'b' * 60, 'c')
            ),
        )

    def test_of_a_sensitive_rule_all_places_are_kept_or_none(self):
        for most, places in (
            (4, [['node', f'/extra/{name}'] for name in 'abcd']),
            (3, None),
        ):
            self.patch(phase_record, 'MOST_CHANGES', most)
            self.assertEqual(
                {'s': places},
                recorded_rule.places_of(self.of_sensitive(*'abcd')),
            )


class WithholdTestCase(base.TestCase):
    def test_a_rule_that_is_not_known_to_be_open_is_withheld(self):
        given = record(TOLD)
        shown, places = recorded_rule.for_readers(given, {}, {'another'})
        self.assertEqual(record(WITHHELD), shown)
        self.assertEqual({'main': {UUID: [['node', '/extra/a']]}}, places)
        self.assertEqual(record(TOLD), given)

    def test_an_open_and_a_built_in_rule_are_told(self):
        for rule, known in ((TOLD, {UUID}), ({**TOLD, 'revision': None}, ())):
            self.assertEqual(
                (record(rule), {}),
                recorded_rule.for_readers(record(rule), {}, known),
            )
