# SPDX-License-Identifier: Apache-2.0

"""Rules and their revision are of one snapshot, whatever other threads do."""

import json
import pathlib

import fixtures
from ironic.common import context
from ironic.conf import CONF
import webob

from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

RULE = '11111111-1111-4111-8111-111111111111'
refresh = repository.Repository.refresh


def overtaken(rules, asked):
    """Refresh rules; another thread takes up a change right afterwards."""
    read = refresh(rules, asked)
    rules.snapshot = repository.Snapshot((read.revision or 0) + 1)
    return read


class SnapshotTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = path / 'rules.yaml'
        path.write_text(
            json.dumps(
                [
                    {
                        'uuid': RULE,
                        'phase': 'early',
                        'actions': [
                            {'op': 'set-plugin-data', 'args': ['/seen', True]}
                        ],
                    }
                ]
            )
        )
        self.app = self.useFixture(
            application.Application(
                {'inspection_rules': {'built_in': str(path)}}
            )
        ).app
        self.patch(repository.Repository, 'refresh', overtaken)

    def test_early_rules_are_those_of_the_revision_that_is_noted(self):
        CONF.set_override('keep_history', 1, 'inspection_rules')
        self.addCleanup(
            CONF.clear_override, 'keep_history', 'inspection_rules'
        )
        plugin_data, kept = early_phase.run(
            context.get_admin_context(), {}, {}
        )
        self.assertIs(True, plugin_data.get('seen'))
        self.assertEqual(0, kept['found']['revision'])

    def test_rules_that_are_evaluated_are_those_that_were_read(self):
        request = webob.Request.blank(
            '/v1/inspection_rules/evaluate',
            method='POST',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        request.json = {'inventory': {}, 'phase': 'early'}
        request.content_type = 'application/json'
        answer = request.get_response(self.app).json
        self.assertEqual([RULE], [each['uuid'] for each in answer['rules']])
