# SPDX-License-Identifier: Apache-2.0

"""What is stored of a run, and when old ones are removed."""

import datetime
import types

from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.inspection import base as glue

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
            recorder.prepare_run(self.run_, findings, NODE, error, 5, True)
        )

    def test_a_run_that_failed_is_stored_with_what_the_machine_sent(self):
        self.assertFalse(recorder.is_stored(self.run_, NODE.uuid))
        self.store('failed', history.Findings({'cpu': 1}, {}, {}))
        self.assertTrue(recorder.is_stored(self.run_, NODE.uuid))
        self.assertEqual({'cpu': 1}, db_run.get_data(NODE.uuid)['inventory'])

    def test_the_result_of_a_run_is_that_of_the_inspection(self):
        for error, result in ((None, 'ok'), ('failed', 'failed')):
            self.run_ = recorder.RunRecorder(recorder.INSPECTION)
            self.store(error)
            [run] = db_run.list_runs(NODE.uuid, limit=1)
            self.assertEqual((result, error), (run.result, run.error))

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
        again.restore('preprocess', first)
        self.assertEqual({'preprocess': withheld}, again.phases)
        self.assertEqual({'preprocess': places}, again.places)
        again.restore('main', second)
        self.assertEqual(self.run_.phases, again.phases)
        self.assertEqual(self.run_.places, again.places)

    def test_places_of_sensitive_rules_are_kept_apart(self):
        self.run_.revision = 3
        self.run_.places = {'main': {'b': [['node', '/extra/x']]}}
        self.store()
        (kept,) = db_run.list_runs(NODE.uuid, whole=True)
        self.assertEqual(self.run_.places, kept.places)
        self.assertNotIn('/extra/x', str(kept.phases))


class CleanerTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.now, self.found, self.expired = 50.0, [0, 0], []
        today = datetime.datetime(2024, 3, 31)
        self.patch(recorder.time, 'monotonic', lambda: self.now)
        self.patch(timeutils, 'utcnow', lambda: today)
        self.patch(
            db_history,
            'expire',
            lambda before: self.expired.append(before) or self.found[0],
        )
        self.patch(content, 'sweep', lambda: self.found[1])
        self.patch(db_run, 'list_nodes', lambda after, limit: [])
        self.cleaner = recorder.Cleaner()

    def cleaned(self, days=30):
        """Clean once; return how often something was looked for."""
        before = len(self.expired)
        self.cleaner.clean(days)
        return len(self.expired) - before

    def test_what_is_older_than_so_many_days_is_removed(self):
        self.cleaned()
        self.assertEqual([datetime.datetime(2024, 3, 1)], self.expired)

    def test_there_is_time_between(self):
        self.assertEqual(1, self.cleaned())
        self.now += 599
        self.assertEqual(0, self.cleaned())
        self.now += 1
        self.assertEqual([1, 0], [self.cleaned(), self.cleaned()])

    def test_none_where_there_may_be_more(self):
        for found in ([1, 0], [0, 1]):
            self.found = found
            self.assertEqual([1, 1], [self.cleaned(), self.cleaned()])
        self.found = [0, 0]
        self.assertEqual([1, 0], [self.cleaned(), self.cleaned()])

    def test_an_error_of_the_database_fails_nothing_and_is_logged(self):
        def fail():
            raise db_exc.DBError('gone')

        self.patch(content, 'sweep', fail)
        with self.assertLogs(recorder.__name__, 'WARNING') as logs:
            self.assertEqual([1, 1], [self.cleaned(), self.cleaned()])
        self.assertEqual(2, len(logs.output))


class DeletedNodeTestCase(glue.GlueTestCase):
    def record_run(self, node_uuid):
        database.record_run(
            {
                'uuid': uuidutils.generate_uuid(),
                'node_uuid': node_uuid,
                'event': 'inspection',
                'result': 'ok',
                'phases': {},
            },
            keep=1,
        )

    def test_runs_of_deleted_nodes_are_removed_without_a_leader(self):
        node_uuid = self.task.node.uuid
        self.record_run(node_uuid)
        self.record_run(uuidutils.generate_uuid())
        recorder.Cleaner().clean(30)
        self.assertEqual([node_uuid], db_run.list_nodes('', 9))
