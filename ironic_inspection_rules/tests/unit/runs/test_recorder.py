# SPDX-License-Identifier: Apache-2.0

"""What is stored of a run, as it is found in the database."""

import types

from oslo_utils import uuidutils

from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

NODE = types.SimpleNamespace(
    uuid=uuidutils.generate_uuid(), inspect_interface='agent'
)


class RecorderTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.run_ = recorder.RunRecorder(recorder.INSPECTION)

    def store(self, error=None, findings=None):
        transaction.write(
            recorder.prepare(self.run_, findings, NODE, error, 5, True)
        )

    def test_a_run_that_failed_is_stored_with_what_the_machine_sent(self):
        self.assertFalse(recorder.is_stored(self.run_, NODE.uuid))
        self.store('failed', history.Findings({'cpu': 1}, {}, {}))
        self.assertTrue(recorder.is_stored(self.run_, NODE.uuid))
        self.assertEqual({'cpu': 1}, db_run.get_data(NODE.uuid)['inventory'])

    def test_an_attempt_takes_up_what_those_before_did(self):
        told, withheld = (
            {'rules': [{'uuid': 'a', 'changes': [1]}]},
            {'rules': [{'uuid': 'b', 'withheld': True}]},
        )
        places = {'b': [['node', '/extra/x']]}
        self.run_.phases = {'preprocess': withheld}
        self.run_.places = {'preprocess': places}
        first = self.run_.checkpoint('preprocess')
        self.run_.phases = {'preprocess': withheld, 'main': told}
        second = self.run_.checkpoint('main')

        again = recorder.RunRecorder(recorder.INSPECTION)
        again.take_up('preprocess', first)
        self.assertEqual({'preprocess': withheld}, again.phases)
        self.assertEqual({'preprocess': places}, again.places)
        again.take_up('main', second)
        self.assertEqual(self.run_.phases, again.phases)
        self.assertEqual(self.run_.places, again.places)

    def test_places_of_sensitive_rules_are_kept_apart(self):
        self.run_.revision = 3
        self.run_.places = {'main': {'b': [['node', '/extra/x']]}}
        self.store()
        (kept,) = db_run.list_runs(NODE.uuid, whole=True)
        self.assertEqual(self.run_.places, kept.places)
        self.assertNotIn('/extra/x', str(kept.phases))
