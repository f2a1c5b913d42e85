# SPDX-License-Identifier: Apache-2.0

"""The start of a service that runs rules."""

import json

import fixtures
from ironic.common.inspection_rules import engine

from ironic_inspection_rules import exceptions
from ironic_inspection_rules import hook
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.tests.unit.inspection import base


class StartTestCase(base.GlueTestCase):
    def test_missing_tables_are_one_clear_line(self):
        start.rules.cache_clear()
        self.addCleanup(start.rules.cache_clear)
        logs = self.useFixture(fixtures.FakeLogger(level=50))
        self.useFixture(base.database.Database(ready=False))

        self.assertRaises(
            exceptions.DatabaseNotReady, hook.InspectionRulesHook
        )

        self.assertIn('ironic-inspection-rules-dbsync upgrade', logs.output)
        self.assertEqual(1, len(logs.output.splitlines()))

    def test_an_ironic_that_lacks_a_name_is_one_clear_line(self):
        logs = self.useFixture(fixtures.FakeLogger(level=50))
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.conductor.deployments.validate_node', lambda node: None
            )
        )

        self.assertRaises(
            exceptions.UnsupportedIronic, hook.InspectionRulesHook
        )

        self.assertIn(
            'ironic.conductor.deployments.validate_node takes '
            '(node) instead of (task, event)',
            logs.output,
        )
        self.assertEqual(1, len(logs.output.splitlines()))

    def test_a_built_in_rule_with_the_uuid_of_a_stored_one(self):
        start.rules.cache_clear()
        self.addCleanup(start.rules.cache_clear)
        uuid = '0a1b2c3d-0000-4000-8000-000000000001'
        actions = [{'op': 'log', 'args': {'msg': 'a'}}]
        adoption.store(
            [
                {
                    'uuid': uuid,
                    'version': '1.0',
                    'priority': 0,
                    'phase': 'main',
                    'sensitive': False,
                    'conditions': [],
                    'actions': actions,
                }
            ]
        )
        path = self.create_tempfiles(
            [
                (
                    'rules',
                    json.dumps(
                        [
                            {
                                'uuid': uuid,
                                'description': 'twin',
                                'actions': actions,
                            }
                        ]
                    ),
                )
            ]
        )[0]
        self.config(group='inspection_rules', built_in=path)

        exc = self.assertRaises(exceptions.InvalidDocument, start.rules)

        for part in (path, 'twin', uuid):
            self.assertIn(part, str(exc))

    def test_options_limit_the_phases(self):
        self.config(
            group='inspection_rules',
            phase_time_limit=3,
            phase_operation_limit=400,
            early_phase_time_limit=5,
            early_phase_operation_limit=600,
            loop_limit=700,
        )

        rules = start.load()

        # As a replay has them, by the options of another time.
        for limits in (rules.limits, rules.with_options(rules.options).limits):
            self.assertEqual(
                {
                    'early': (5, 600, 700),
                    'preprocess': (3, 400, 700),
                    'main': (3, 400, 700),
                },
                {
                    phase: (of_phase.time, of_phase.operations, of_phase.loop)
                    for phase, of_phase in limits.items()
                },
            )


class ConductorTestCase(base.GlueTestCase):
    def test_rules_run_where_ironic_applies_its_own(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.inspection_rules.engine.apply_rules',
                engine.apply_rules,
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.start.rules',
                lambda: base.rules(
                    base.rule(('set-attribute', ['/extra/ran', 1]))
                ),
            )
        )
        for name in ('around_inspection', 'after_removal'):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f'ironic_inspection_rules.patches.inspection.{name}',
                    lambda call: None,
                )
            )
        hook.prepare_conductor()

        engine.apply_rules(self.task, {}, {}, 'main')

        self.assertEqual({'ran': 1}, self.stored_node().extra)
