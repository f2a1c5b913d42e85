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

    def test_an_attempt_takes_up_what_those_before_did(self):
        told, withheld = {'rules': [{'uuid': 'a', 'changes': [1]}]}, {
            'rules': [{'uuid': 'b', 'withheld': True}]}
        places = {'b': [['node', '/extra/x']]}
        self.run_.phases = {'preprocess': withheld}
        self.run_.places = {'preprocess': places}
        first = self.run_.checkpoint('preprocess')
        self.run_.phases = {'preprocess': withheld, 'main': told}
        second = self.run_.checkpoint('main')

        again = recorder.Run(recorder.INSPECTION)
        again.take_up('preprocess', first)
        self.assertEqual({'preprocess': withheld}, again.phases)
        self.assertEqual({'preprocess': places}, again.places)
        again.take_up('main', second)
        self.assertEqual(self.run_.phases, again.phases)
        self.assertEqual(self.run_.places, again.places)

    def test_places_of_sensitive_rules_are_kept_apart(self):
        self.run_.run_rules(3)
        self.run_.places = {'main': {'b': [['node', '/extra/x']]}}
        self.assertTrue(self.store())
        kept, = db_run.list_runs(NODE.uuid, whole=True)
        self.assertEqual(self.run_.places, kept.places)
        self.assertNotIn('/extra/x', str(kept.phases))

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
