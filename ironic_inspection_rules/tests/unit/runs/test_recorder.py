# SPDX-License-Identifier: Apache-2.0

"""What is stored of a run, as it is found in the database."""

import types

from oslo_utils import uuidutils

from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

NODE = types.SimpleNamespace(uuid=uuidutils.generate_uuid(),
                             inspect_interface='agent')
SECRET = ['node', ['extra', 'token']]
BEFORE = ['previous', ['plugin_data', 'token']]


class RecorderTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.run_ = recorder.Run(recorder.INSPECTION)

    def store(self, error=None, **fields):
        prepared = recorder.prepare(self.run_, NODE, error, 5, True)
        if prepared is not None:
            prepared()
        return prepared is not None

    def test_what_was_stored_before_is_another_after_an_inspection(self):
        for error, hidden in (('failed', [SECRET, BEFORE]), (None, [SECRET])):
            self.run_ = recorder.Run(recorder.INSPECTION)
            self.run_.run_rules(3)
            self.run_.hide([SECRET, BEFORE])
            self.assertTrue(self.store(error))
            self.assertEqual({NODE.uuid: hidden},
                             db_run.get_hidden([NODE.uuid]))

    def test_only_a_run_that_did_something_is_stored(self):
        self.assertFalse(self.store())
        self.assertFalse(self.store('failed'))
        self.run_.begin({'cpu': 1}, {})
        self.assertFalse(self.store())
        self.assertFalse(recorder.is_stored(self.run_, NODE.uuid))
        self.assertTrue(self.store('failed'))
        self.assertTrue(recorder.is_stored(self.run_, NODE.uuid))
        self.assertEqual({'cpu': 1},
                         db_run.get_data(NODE.uuid)['inventory'])

    def test_what_a_phase_hid_in_those_before_stays_hidden(self):
        told, withheld = {'rules': [{'uuid': 'a', 'changes': [1]}]}, {
            'rules': [{'uuid': 'a'}]}
        self.run_.phases = {'preprocess': told}
        first = self.run_.checkpoint('preprocess')
        self.run_.phases = {'preprocess': withheld, 'main': told}
        second = self.run_.checkpoint('main')

        again = recorder.Run(recorder.INSPECTION)
        again.take_up('preprocess', first)
        self.assertEqual({'preprocess': told}, again.phases)
        again.take_up('main', second)
        self.assertEqual(self.run_.phases, again.phases)

    def test_where_values_are_no_more_is_forgotten(self):
        self.run_.hide([SECRET, SECRET])
        self.run_.hide([BEFORE])
        self.assertEqual([SECRET, BEFORE], self.run_.hidden)
        self.run_.hide([BEFORE], all_of_them=True)
        self.assertEqual([BEFORE], self.run_.hidden)

    def test_what_rules_found_is_kept_and_not_what_they_left(self):
        found = {'a': 1, 'b': [2], 'gone': 3, 'logs': 'x'}
        now = dict(found)
        self.run_.begin({'cpu': 1}, now)
        for changes in ({'b': [4], 'made': 5}, {'b': [6], 'a': 7}):
            before = dict(now)
            now.update(changes)
            now.pop('gone', None)
            self.run_.set_aside(before, now)
        self.assertEqual(
            {'inventory': {'cpu': 1},
             'plugin_data': {'a': 1, 'b': [2], 'gone': 3}},
            self.run_.data(mask=False))
