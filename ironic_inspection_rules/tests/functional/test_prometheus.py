# SPDX-License-Identifier: Apache-2.0

"""Alerts and dashboard, on the metrics as Ironic's exporter names them."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys

import fixtures
from prometheus_client import parser
import yaml

from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import service
from ironic_inspection_rules.runs import metrics
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests import odd_fleet_trial
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.machine.outliers import test_peers

SOURCE = guide.ROOT / 'deploy' / 'prometheus'
RULES = 'ironic-inspection-rules.rules.yml'
RULE = '41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21'


class SourceTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not SOURCE.is_dir():
            self.skipTest('not a checkout: no deploy')


class PromtoolTestCase(SourceTestCase):
    def check(self, *arguments):
        if not shutil.which('promtool'):
            self.skipTest('no promtool')
        done = subprocess.run(
            ['promtool', *arguments],
            cwd=SOURCE,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.assertEqual(0, done.returncode, done.stdout)

    def test_rules_are_understood(self):
        self.check('check', 'rules', RULES)

    def test_alerts_fire_when_they_should(self):
        self.check('test', 'rules', 'tests.yml')

    def test_every_alert_is_tried_and_told_of(self):
        alerts = {rule['alert'] for rule in _rules() if 'alert' in rule}
        tried = SOURCE.joinpath('tests.yml').read_text()
        page = SOURCE.joinpath('README.rst').read_text()
        for alert in alerts:
            self.assertIn(alert, tried)
            self.assertIn(f'``{alert}``', page)


class NamesTestCase(SourceTestCase, base.IronicTestCase):
    """What is asked for is what the code sends, by the exporter's names."""

    def setUp(self):
        super().setUp()
        self.config(group='metrics', backend='collector')
        self.sent = {}
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.metrics_collector.STATISTIC_DATA', self.sent
            )
        )
        self.useFixture(database.Database())
        for phase in ('early', 'preprocess', 'main'):
            metrics.send_phase(phase, True, 1)
            metrics.send_phase(phase, False, 1)
        metrics.send_rules(
            [
                {
                    'rule_uuid': RULE,
                    'label': f'{RULE} (Tag it)',
                    'matched': 1,
                    'failed': 1,
                    'would_fail': 0,
                }
            ]
        )
        for outcome in delivery.Outcome:
            service.count_delivery(outcome)
        service.report_backlog()
        self.assertEqual(
            6 + 3 + 2 + len(delivery.Outcome) + len(backlog.Backlog._fields),
            len(self.sent),
        )

    def exported(self):
        """Return the names that Prometheus sees."""
        if not importlib.util.find_spec('ironic_prometheus_exporter'):
            self.skipTest('no ironic-prometheus-exporter')
        done = subprocess.run(
            [sys.executable, '-c', _EXPORTER],
            text=True,
            check=True,
            capture_output=True,
            input=json.dumps(
                {
                    'hostname': 'one',
                    'payload': self.sent,
                    'timestamp': '2026-11-22T10:00:00.000000',
                }
            ),
        )
        return set(done.stdout.split())

    def test_alerts_and_dashboard_ask_for_what_there_is(self):
        exported = self.exported()
        asked = [rule['expr'] for rule in _rules()]
        for panel in _dashboard()['panels']:
            asked += [target['expr'] for target in panel['targets']]
        recorded = {rule['record'] for rule in _rules() if 'record' in rule}
        names = set(
            re.findall(
                r'\b((?:ironic_inspection|conductor_)[a-z_:]+)\b(?!\()',
                re.sub(r'"[^"]*"', '', ' '.join(asked)),
            )
        )
        self.assertEqual(set(), names - exported - recorded)
        self.assertGreater(len(names), 15)

    def test_the_names_of_rules_become_labels(self):
        names = sorted(name for name in self.exported() if RULE[:8] in name)
        for rule, name in zip(
            sorted(
                (rule for rule in _rules() if 'record' in rule),
                key=lambda rule: rule['record'],
            ),
            names,
            strict=True,
        ):
            pattern, *labels = re.findall(r'"(ironic[^"]+)"', rule['expr'])
            self.assertRegex(name, f'^{pattern}$')
            self.assertEqual(
                [('tag_it',), tuple(RULE.split('-'))],
                [re.fullmatch(label, name).groups() for label in labels],
            )


class OddMachinesTestCase(SourceTestCase):
    def test_each_group_has_its_numbers(self):
        if not shutil.which('jq'):
            self.skipTest('no jq')
        machines = test_peers.fleet(7)
        machines['m02']['inventory']['cpu']['count'] = 4
        for machine in machines.values():
            machine['inventory']['system_vendor']['product_name'] = 'a"\n\\b'
        found = odd_fleet_trial.compare(machines).as_dict()
        done = subprocess.run(
            ['jq', '-rf', str(SOURCE / 'odd-machines.jq')],
            text=True,
            input=json.dumps(found),
            stdout=subprocess.PIPE,
            check=True,
        )
        samples = {
            (sample.name, sample.labels['group']): sample.value
            for family in parser.text_string_to_metric_families(done.stdout)
            for sample in family.samples
        }
        self.assertEqual(
            {
                ('ironic_inspection_odd_machines', 'Acme a" \\b'): 1,
                ('ironic_inspection_compared_machines', 'Acme a" \\b'): 7,
            },
            samples,
        )


# In a process of its own: it makes options of this one's configuration
# required.
_EXPORTER = """
import json, sys
from ironic_prometheus_exporter.parsers import header, ironic
import prometheus_client
message = json.load(sys.stdin)
registry = prometheus_client.CollectorRegistry()
ironic.category_registry(message, registry)
header.timestamp_conductor_registry(message, registry)
print(*(metric.name for metric in registry.collect()))
"""


class DashboardTestCase(SourceTestCase):
    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in _dashboard()['panels']:
            at = panel['gridPos']
            cells = {
                (x, y)
                for x in range(at['x'], at['x'] + at['w'])
                for y in range(at['y'], at['y'] + at['h'])
            }
            self.assertLessEqual(at['x'] + at['w'], 24)
            self.assertEqual(set(), cells & taken, panel['title'])
            taken |= cells

    def test_variables_are_there(self):
        dashboard = _dashboard()
        names = {each['name'] for each in dashboard['templating']['list']}
        used = set(re.findall(r'\$\{?([a-z]+)', json.dumps(dashboard)))
        self.assertEqual(names, used)


def _rules():
    groups = yaml.safe_load(SOURCE.joinpath(RULES).read_text())['groups']
    return [rule for group in groups for rule in group['rules']]


def _dashboard():
    return json.loads(SOURCE.joinpath('dashboard.json').read_text())
