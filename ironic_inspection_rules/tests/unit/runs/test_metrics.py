# SPDX-License-Identifier: Apache-2.0

"""What Ironic's metrics get, as a statsd server receives it."""

import fixtures

from ironic_inspection_rules.runs import metrics
from ironic_inspection_rules.tests.unit import base

RULE = '41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21'


class MetricsTestCase(base.StatsdTestCase):
    def received(self, count):
        """Return the next datagrams."""
        return [self.listener.recv(1000).decode() for _each in range(count)]

    def test_a_phase_is_counted_by_its_result_and_timed(self):
        metrics.send_phase('main', True, 0.25)
        metrics.send_phase('early', False, 2)

        self.assertEqual(
            [
                'ironic.InspectionRules.main.ok:1|c',
                'ironic.InspectionRules.main.time:250.0|ms',
                'ironic.InspectionRules.early.failed:1|c',
                'ironic.InspectionRules.early.time:2000|ms',
            ],
            self.received(4),
        )

    def test_matches_and_failures_of_rules_are_counted(self):
        metrics.send_rules(
            [
                {
                    'rule_uuid': RULE,
                    'label': f'{RULE} (Tag: "Größe" ≥ 64 GB)',
                    'matched': 3,
                    'failed': 1,
                    'would_fail': 0,
                },
                {
                    'rule_uuid': 'quiet',
                    'label': 'quiet',
                    'matched': 0,
                    'failed': 0,
                    'would_fail': 0,
                },
                {
                    'rule_uuid': 'last',
                    'label': 'last',
                    'matched': 1,
                    'failed': 0,
                    'would_fail': 0,
                },
            ]
        )

        name = f'ironic.InspectionRules.rule.tag_gr_e_64_gb.{RULE}'
        self.assertEqual(
            [
                f'{name}.matched:3|c',
                f'{name}.failed:1|c',
                'ironic.InspectionRules.rule.last.matched:1|c',
            ],
            self.received(3),
        )

    def test_a_rule_in_mode_audit_fails_no_inspection(self):
        metrics.send_rules(
            [
                {
                    'rule_uuid': 'tried',
                    'label': 'tried',
                    'matched': 3,
                    'failed': 3,
                    'would_fail': 2,
                }
            ]
        )

        name = 'ironic.InspectionRules.rule.tried'
        self.assertEqual(
            [
                f'{name}.matched:3|c',
                f'{name}.failed:1|c',
                f'{name}.would_fail:2|c',
            ],
            self.received(3),
        )


class ExporterTestCase(base.IronicTestCase):
    """The Prometheus exporter skips what it takes for nobody's metric."""

    def setUp(self):
        super().setUp()
        self.config(group='metrics', backend='collector')
        self.collected = {}
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.metrics_collector.STATISTIC_DATA',
                self.collected,
            )
        )

    def test_metrics_are_the_conductors(self):
        metrics.send_phase('main', True, 0.25)
        metrics.send_phase('main', True, 0.5)
        prefix = 'ironic.conductor.manager.InspectionRules.main'
        self.assertEqual(
            {
                f'{prefix}.ok': {'count': 2, 'type': 'counter'},
                f'{prefix}.time': {'count': 2, 'sum': 750, 'type': 'timer'},
            },
            self.collected,
        )

    def test_the_names_of_rules_are_ones_for_prometheus(self):
        metrics.send_rules(
            [
                {
                    'rule_uuid': RULE,
                    'label': f'{RULE} (Tag it)',
                    'matched': 3,
                    'failed': 0,
                    'would_fail': 0,
                }
            ]
        )
        self.assertEqual(
            {
                'ironic.conductor.manager.InspectionRules.rule.tag_it.'
                f'{RULE.replace("-", "_")}.matched': {
                    'count': 3,
                    'type': 'counter',
                }
            },
            self.collected,
        )
