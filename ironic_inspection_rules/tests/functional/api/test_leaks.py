# SPDX-License-Identifier: Apache-2.0

"""No output of the system tells what sensitive rules wrote.

Each value that rules handle is a canary, and each output is searched for it:
answers of the API, logs, notifications, metrics, statistics, commands, pages.
"""

from collections.abc import Iterable
import io
import itertools
import json
import logging
import random
import types

from cliff import columns
import fixtures
from ironic import objects
import webob

from ironic_inspection_rules.api import routes
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.inspection import keeping
from ironic_inspection_rules.osc import inspection_rule
from ironic_inspection_rules.osc import inspection_run
from ironic_inspection_rules.osc import inventory_history
from ironic_inspection_rules.osc import replay
from ironic_inspection_rules.osc import rule_set
from ironic_inspection_rules.tests.functional.api import test_replay
from ironic_inspection_rules.tests.functional.osc import test_rule_set
from ironic_inspection_rules.tests.unit.api import test_notification
from ironic_inspection_rules.tests.unit.engine import test_secrecy

CANARY = test_secrecy.CANARY
MAC = test_secrecy.MAC
NODE = 'n1'
"""The node with a port of this address."""

DATA = {'inventory/unprocessed', 'inventory/history/{uuid}', 'inventory',
        'traits', 'traits/{name}'}
"""Calls below a node that show what is stored of it, whoever stored it."""

LEFT_OUT = {*(f'nodes/{{node}}/{each}' for each in DATA),
            'traits', 'traits/{name}',
            *(f'introspection/{{node}}/data{each}'
              for each in ('', '/unprocessed')), 'inspection_requests',
            'inspection_requests/{uuid}'}

PATHS = ('/extra', '/extra/x', '/extra/copy', '/extra/copies', '/extra/z',
         '/properties/capabilities', '/plugin_data/list', '/plugin_data/copy',
         '/plugin_data/x')

COUNTER = keeping.counter.__wrapped__
"""Makes what counts rules; in tests another one has its place."""

INVENTORY = {'vendor': 'x', 'cpu': {'count': 4}}


def numbered(rules):
    """Return rules with a UUID and an order of their own."""
    return [{'uuid': test_replay.uuid_of(number), 'priority': 900 - number,
             'description': f'rule {number}', **rule,
             'conditions': list(rule.get('conditions', ()))}
            for number, rule in enumerate(rules, 30)]


def rendered(result):
    """Yield the texts of what a command returns."""
    if isinstance(result, columns.FormattableColumn):
        yield str(result.human_readable())
    elif isinstance(result, Iterable) and not isinstance(result, str | dict):
        for each in result:
            yield from rendered(each)
    else:
        yield str(result)


class LeakTestCase(test_replay.ReplayTestCase):

    options = {'DEFAULT': {'notification_level': 'debug'},
               'metrics': {'backend': 'collector'},
               'inspection_rules': {'keep_history': 30,
                                    'statistics_period': 3600}}

    def setUp(self):
        super().setUp()
        self.logs = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        self.notifier = test_notification.FakeNotifier()
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.common.rpc.get_versioned_notifier', self.notifier))
        self.metrics = {}
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.common.metrics_collector.STATISTIC_DATA', self.metrics))
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.conductor.before_stop',
            lambda flush: None))
        counter = COUNTER()
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.inspection.keeping.counter',
            lambda: counter))
        self.baremetal = test_rule_set.Baremetal(self.app)
        self.ends = []
        self.stored = False

    def inspect_it(self):
        """Inspect the node, and store what Ironic would store."""
        task = self.tasks[1]
        plugin_data = {'list': [], 'items': [{'name': 'a'}]}
        error = self.inspect(task, INVENTORY, **plugin_data)
        self.ends.append(error)
        if not error and not self.stored:
            self.stored = True
            objects.NodeInventory(
                self.admin, node_id=task.node.id, inventory_data=INVENTORY,
                plugin_data=plugin_data).create()

    def get(self, path):
        request = webob.Request.blank(f'/v1/{path}',
                                      headers=test_replay.HEADERS)
        response = request.get_response(self.app)
        return response.status_int, response.text

    def answers(self, chance):
        """Yield what calls answer, by path."""
        node = f'nodes/{NODE}'
        runs = json.loads(self.get(f'{node}/inspection_runs')[1])
        revisions = json.loads(self.get('inspection_rules/revisions')[1])
        rules = json.loads(self.get('inspection_rules')[1])
        explained = [f'{node}/inspection_runs/explain?path={path}'
                     for path in PATHS]
        explained += [f'{node}/inspection_runs/explain?port={MAC}&path={path}'
                      for path in PATHS[:2]]
        explained += [f'{node}/inspection_runs/explain?trait=CUSTOM_COPY']
        some = chance.sample(rules['inspection_rules'], 7)
        explained += [f'{node}/inspection_runs/explain?rule={rule["uuid"]}'
                      for rule in some]
        made = {
            'nodes/{node}/inspection_runs/{uuid}': [
                f'{node}/inspection_runs/{run["uuid"]}'
                for run in runs['inspection_runs']],
            'nodes/{node}/inspection_runs/explain': explained,
            'inspection_rules/{uuid}': [
                f'inspection_rules/{rule["uuid"]}' for rule in some],
            'inspection_rules/revisions/{revision}': [
                f'inspection_rules/revisions/{each["revision"]}'
                for each in revisions['revisions']],
            'rules/{uuid}': ['rules/x'],
            'inspection_parts': ['inspection_parts?id=x']}
        for route in routes.TABLE:
            if route.method != 'GET' or route.path in LEFT_OUT:
                continue
            for path in made.get(route.path, [
                    route.path.replace('{node}', NODE),
                    route.path.replace('{node}', NODE) + '?detail=true']):
                self.assertNotIn('{', path)
                yield path, self.get(path)[1]

    def trials(self):
        """Yield what trying the rules in force, or others, answers."""
        open_rules = numbered(
            make(field) for field in ('{node.extra.x}', '{plugin_data}')
            for make in test_secrecy.OPEN[:6])
        for rules in ({}, {'rules': open_rules}):
            for body in ({'node': NODE}, {'nodes': [NODE]},
                         {'node': NODE, 'inventory': INVENTORY}):
                yield str(body), self.send(
                    f'{test_replay.RULES}/evaluate', {**body, **rules}).text
            yield 'replay', self.send(f'{test_replay.RULES}/replay',
                                      {'nodes': [NODE], **rules}).text

    def run_command(self, kind, *arguments):
        app = types.SimpleNamespace(
            stdout=io.StringIO(), stderr=io.StringIO(), options=None,
            client_manager=types.SimpleNamespace(
                sdk_connection=types.SimpleNamespace(
                    config=types.SimpleNamespace(config={}),
                    baremetal=self.baremetal)))
        command = kind(app, None)
        parsed = command.get_parser('test').parse_args(list(arguments))
        result = command.take_action(parsed)
        return ' '.join((*rendered(result), app.stdout.getvalue(),
                         app.stderr.getvalue()))

    def printed(self):
        """Yield what commands print, and the pages that they write."""
        page = self.useFixture(fixtures.TempDir()).join('page.html')
        for kind, arguments in (
                (inspection_rule.EvaluateInspectionRules, ['--node', NODE]),
                (inspection_rule.EvaluateInspectionRules,
                 ['--nodes', NODE, '--report', page, '--jobs', '1']),
                (inspection_rule.ExportInspectionRules, []),
                (inspection_run.ExplainInspection, [NODE]),
                (inspection_run.ShowInspectionRun, [NODE]),
                (inspection_run.ListInspectionRuns, [NODE]),
                (inspection_run.ShowStatistics, ['--long']),
                (inventory_history.ListInventories, [NODE]),
                (replay.ReplayInspectionRules, ['--jobs', '1']),
                (rule_set.ListRevisions, [])):
            yield kind.__name__, self.run_command(kind, *arguments)
        with open(page, encoding='utf-8') as stream:
            yield 'page', stream.read()

    def assert_silent(self, chance):
        keeping.counter().flush()
        for name, text in itertools.chain(
                self.answers(chance), self.trials(), self.printed(), (
                    ('logs', self.logs.output),
                    ('notifications', str(self.notifier.sent)),
                    ('metrics', str(self.metrics)),
                    ('errors', str(self.ends)))):
            self.assertNotIn(CANARY, text.lower(), name)

    def test_whatever_open_rules_do_with_it(self):
        chance = random.Random(7)
        # A summary of nodes has the traits that Ironic shows of them.
        pairs = [(secret, field) for secret, field in test_secrecy.SECRETS
                 if secret['actions'][0]['op'] != 'add-trait']
        secrets = [{**secret, 'sensitive': True,
                    'phase': chance.choice(self.phases(secret))}
                   for secret, _field in pairs]
        self.put(*numbered([*secrets, *(
            {**make(field), 'mode': 'audit'} for _secret, field in pairs
            for make in test_secrecy.OPEN), *(
                make(field) for _secret, field in pairs
                for make in (test_secrecy.OPEN[0], test_secrecy.OPEN[3]))]))
        self.inspect_it()
        self.assertIn(CANARY, str(objects.Node.get_by_name(
            self.admin, NODE).extra), self.ends)
        self.assert_silent(chance)
        # What they left is there still.
        self.put()
        self.put(*numbered(make(field) for _secret, field in pairs
                           for make in test_secrecy.OPEN[:1]))
        self.inspect_it()
        self.assert_silent(chance)

    @staticmethod
    def phases(rule):
        """Return the phases that a rule may have."""
        if rule['actions'][0]['op'].endswith('plugin-data'):
            return model.PHASES
        return model.PHASES[1:]
