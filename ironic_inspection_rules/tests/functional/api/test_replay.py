# SPDX-License-Identifier: Apache-2.0

"""Replays of kept inspections, through HTTP."""

import json

import fixtures
from ironic import objects
from ironic.common import context
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
import webob

from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.inspection import inspection as node_inspection
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import early_phase as early_phase_object
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import test_samples
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.inspection import base as glue

RULES = '/v1/inspection_rules'
HEADERS = {'X-OpenStack-Ironic-API-Version': '1.96'}
UNKNOWN = '00000000-0000-4000-8000-00000000dead'


def uuid_of(number):
    return f'{number:08}-0000-4000-8000-00000000000a'


def rule(number, *actions, conditions=(), **fields):
    return {
        'uuid': uuid_of(number),
        'description': f'rule {number}',
        'conditions': list(conditions),
        'actions': [{'op': op, 'args': args} for op, args in actions],
        **fields,
    }


CPUS = rule(
    1,
    ('set-attribute', ['/extra/cpus', '{inventory.cpu.count}']),
    conditions=[{'op': 'gt', 'args': ['{inventory.cpu.count}', 2]}],
)
EARLY = rule(
    2,
    ('set-plugin-data', ['/rack', '{plugin_data.rack|upper}']),
    phase='early',
    conditions=[{'op': 'exists', 'args': ['{plugin_data.rack}']}],
)
SECRET = rule(
    3,
    ('set-plugin-data', ['/key', 's3cret-{inventory.serial}']),
    phase='preprocess',
    sensitive=True,
)
COPY = rule(
    4,
    ('set-attribute', ['/extra/key', '{plugin_data.key}']),
    ('set-attribute', ['/extra/rack', '{plugin_data.rack}']),
    ('set-port-attribute', ['{ports[0].address}', '/extra/seen', True]),
    ('add-trait', ['CUSTOM_{plugin_data.rack}']),
    conditions=[{'op': 'exists', 'args': ['{plugin_data.rack}']}],
)
SWAPPED = rule(
    5,
    ('set-attribute', ['/extra/was', '{previous.inventory}']),
    conditions=[
        {
            'op': 'ne',
            'args': ['{inventory.serial}', '{previous.inventory.serial}'],
        }
    ],
)
SMALL = rule(
    6,
    ('fail', ['too small: {inventory.cpu.count}']),
    conditions=[{'op': 'lt', 'args': ['{inventory.cpu.count}', 2]}],
    priority=9,
)
AUDITED = rule(7, ('add-trait', ['CUSTOM_LATER']), mode='audit')
BROKEN = rule(
    8,
    ('set-attribute', ['/extra/x', '{inventory.none}']),
    conditions=[{'op': 'eq', 'args': ['{inventory.cpu.count}', 7]}],
)
MASKED = rule(
    9,
    ('set-attribute', ['/extra/seen', True]),
    conditions=[
        {'op': 'matches', 'args': ['{node.driver_info.fake_password}', '[*]+']}
    ],
)
BUILT_IN = rule(20, ('set-plugin-data', ['/built', 1]))
SETS = (
    [CPUS],
    [CPUS, EARLY, SECRET, COPY],
    [SWAPPED, SMALL, AUDITED],
    [EARLY, SECRET, COPY, SWAPPED, SMALL, BROKEN, MASKED],
    [],
)
MACHINES = (
    {'cpu': {'count': 4}, 'serial': 'A'},
    {'cpu': {'count': 1}, 'serial': 'B'},
    {
        'cpu': {'count': 7},
        'serial': 'C',
        'disks': [
            {'name': f'sd{each}', 'size': each << 30} for each in range(40)
        ],
    },
)


class ReplayTestCase(base.TestCase):
    options = {
        'DEFAULT': {'auth_strategy': 'keystone'},
        'inspection_rules': {'keep_history': 30},
    }

    def setUp(self):
        super().setUp()
        built_in = self.useFixture(fixtures.TempDir()).join('rules.json')
        with open(built_in, 'w', encoding='utf-8') as stream:
            json.dump([BUILT_IN], stream)
        self.built_in = built_in
        self.app = self.useFixture(
            application.Application(
                {
                    **self.options,
                    'inspection_rules': {
                        **self.options['inspection_rules'],
                        'built_in': built_in,
                    },
                }
            )
        ).app
        self.admin = context.get_admin_context()
        self.tasks = [self.make_task(number) for number in range(3)]

    def make_task(self, number):
        node = objects.Node(
            self.admin,
            uuid=uuid_of(number),
            name=f'n{number}',
            driver='fake-hardware',
            inspect_interface='agent',
            provision_state='inspecting',
            owner=application.OWNER,
            properties={},
            extra={},
            resource_class=f'class{number}',
            driver_info={'fake_password': 'hunter2'},
        )
        node.create()
        objects.Port(
            self.admin,
            node_id=node.id,
            address=f'52:54:00:00:00:0{number}',
            uuid=uuid_of(100 + number),
        ).create()
        return glue.Task(
            self.admin, objects.Node.get_by_uuid(self.admin, node.uuid)
        )

    def send(self, path, body, method='POST', user='admin'):
        request = webob.Request.blank(
            path, method=method, headers={**HEADERS, 'X-Auth-Token': user}
        )
        request.json_body = body
        request.content_type = 'application/json'
        return request.get_response(self.app)

    def put(self, *rules, **members):
        response = self.send(RULES, {'rules': list(rules), **members}, 'PUT')
        self.assertEqual(200, response.status_int, response.text)

    def inspect(self, task, inventory, **plugin_data):
        """Inspect a machine: early rules, hooks, rules.

        :returns: what it failed with, if it did.
        """
        plugin_data, kept = early_phase.run(self.admin, inventory, plugin_data)
        early_phase_object.EarlyPhase.put(task.context, task.node.uuid, kept)
        task.node.last_error = None
        try:
            with node_inspection.of_task(task, inventory, plugin_data):
                plugin_data['hooked'] = {'before': True}
                hook = node_inspection.PhaseHook()
                hook.preprocess(task, inventory, plugin_data)
                plugin_data['hooked'] = {'after': [1, 2]}
                node_inspection.apply_rules(
                    task, inventory, plugin_data, 'main'
                )
        except ironic_exception.HardwareInspectionFailure as exc:
            return str(exc)

    def replay(self, status=200, user='admin', **body):
        response = self.send(f'{RULES}/replay', body, user=user)
        self.assertEqual(status, response.status_int, response.text)
        return response.json['runs'] if status == 200 else response.text

    def outcomes(self, **body):
        return [
            (each['outcome'], each['reason']) for each in self.replay(**body)
        ]


class RulesOfTheirTimeTestCase(ReplayTestCase):
    def test_every_run_ends_as_it_did(self):
        failed = 0
        for rules in (*SETS, *SETS):
            self.put(*rules)
            for task, machine in zip(self.tasks, MACHINES, strict=True):
                failed += bool(
                    self.inspect(
                        task,
                        dict(machine),
                        rack=f'r{len(rules)}',
                        logs='x' * 50,
                    )
                )
        self.assertEqual(6, failed)
        runs = self.replay()
        self.assertEqual(
            [('same', None)] * 30,
            [(each['outcome'], each['reason']) for each in runs],
        )
        self.assertEqual(
            6, sum(each['then']['result'] == 'failed' for each in runs)
        )
        self.assertNotIn('s3cret', str(runs))
        self.assertNotIn('hunter2', str(runs))

    def test_what_they_ran_on_is_what_is_kept(self):
        """Else equal runs would say nothing."""
        self.put(SWAPPED)
        task = self.tasks[0]
        self.inspect(task, {'serial': 'A'}, rack='r1')
        self.inspect(task, {'serial': 'A'}, rack='r1')
        self.assertEqual(
            {}, objects.Node.get_by_uuid(self.admin, task.node.uuid).extra
        )
        self.inspect(task, {'serial': 'B'})
        self.assertEqual(
            {'was': {'serial': 'A'}},
            objects.Node.get_by_uuid(self.admin, task.node.uuid).extra,
        )
        self.assertEqual([('same', None)] * 3, self.outcomes())

    def test_why_a_rule_did_not_match_is_decided_on_what_it_found(self):
        """Also of a node that is another one by now."""
        asks = rule(
            1,
            ('log', ['seen']),
            conditions=[{'op': 'eq', 'args': ['{node.extra.rack}', 'b2']}],
        )
        self.put(asks)
        self.tasks[0].node.extra = {'rack': 'a1'}
        self.tasks[0].node.save()
        self.inspect(self.tasks[0], {})
        self.tasks[0].node.extra = {'rack': 'b2'}
        self.tasks[0].node.save()
        request = webob.Request.blank(
            f'/v1/nodes/n0/inspection_runs/explain?rule={asks["uuid"]}',
            headers={**HEADERS, 'X-Auth-Token': 'admin'},
        )
        told = request.get_response(self.app).json
        self.assertEqual(
            (
                True,
                None,
                [
                    {
                        'op': 'eq',
                        'result': False,
                        'reason': "values=['a1', 'b2']",
                    }
                ],
            ),
            (told['decided_again'], told['reason'], told['conditions']),
        )

    def test_other_built_in_rules_do_not_matter(self):
        self.inspect(self.tasks[0], {'cpu': {'count': 4}})
        with open(self.built_in, 'w', encoding='utf-8') as stream:
            json.dump([CPUS], stream)
        start.rules.cache_clear()
        self.assertEqual([('same', None)], self.outcomes())

    def test_tables_are_those_of_the_time(self):
        reads = rule(
            1,
            (
                'set-attribute',
                ['/extra/rack', '{tables.racks | row | get("rack")}'],
            ),
        )
        keys = rule(
            2,
            (
                'set-attribute',
                [
                    '/driver_info/fake_password',
                    '{tables.racks | row | get("pin")}',
                ],
            ),
            sensitive=True,
        )
        racks = {
            'key': 'serial',
            'of': '{inventory.serial}',
            'secret': ['pin'],
            'rows': [{'serial': 'A', 'rack': 'r1', 'pin': 's3cret-1'}],
        }
        self.put(reads, keys, tables={'racks': racks})
        task = self.tasks[0]
        self.assertIsNone(self.inspect(task, {'serial': 'A'}))
        node = objects.Node.get_by_uuid(self.admin, task.node.uuid)
        self.assertEqual(
            ('r1', 's3cret-1'),
            (node.extra['rack'], node.driver_info['fake_password']),
        )
        later = {
            **racks,
            'rows': [{'serial': 'A', 'rack': 'r2', 'pin': 's3cret-2'}],
        }
        self.put(reads, keys, tables={'racks': later})
        self.assertEqual([('same', None)], self.outcomes())
        self.put(tables={})
        runs = self.replay()
        self.assertEqual(['same'], [run['outcome'] for run in runs])
        self.assertNotIn('s3cret', str(runs))
        (other,) = self.replay(rules=[reads], tables={'racks': later})
        self.assertEqual('different', other['outcome'])
        self.assertIn('r2', str(other))
        kept = self.send(
            f'/v1/nodes/{task.node.uuid}/inspection_runs?detail=true',
            {},
            'GET',
        ).text
        self.assertIn('r1', kept)
        self.assertNotIn('s3cret', kept)

    def test_a_revision_that_is_gone_is_told_apart(self):
        self.put(CPUS)
        self.inspect(self.tasks[0], {'cpu': {'count': 4}})
        CONF.set_override('keep_revisions', 1, group='inspection_rules')
        self.put(CPUS, COPY)
        self.put(COPY)
        ((outcome, reason),) = self.outcomes()
        self.assertEqual('incomparable', outcome)
        self.assertIn('not kept', reason)

    def test_secrets_that_rules_saw_are_told_apart(self):
        CONF.set_override('mask_secrets', 'never', group='inspection_rules')
        start.rules.cache_clear()
        self.put(MASKED)
        self.inspect(self.tasks[0], {})
        ((outcome, reason),) = self.outcomes()
        self.assertEqual('incomparable', outcome)
        self.assertIn('secrets', reason)

    def test_a_secret_that_was_not_written_is_not_written_again(self):
        self.put(
            rule(
                1,
                (
                    'set-attribute',
                    ['/extra/seen', '{node.driver_info.fake_password}'],
                ),
            )
        )
        self.assertIn('has a secret', self.inspect(self.tasks[0], {}))
        self.assertEqual([('same', None)], self.outcomes())

    def test_what_was_called_then_is_not_called_again(self):
        port = self.useFixture(base.DeadPort())
        self.put(
            rule(
                1,
                ('api-call', [f'http://127.0.0.1:{port}/']),
                ('set-attribute', ['/extra/called', True]),
            )
        )
        self.assertIn('api-call', self.inspect(self.tasks[0], {}))
        ((outcome, reason),) = self.outcomes()
        self.assertEqual('incomparable', outcome)
        self.assertIn('called', reason)


class OtherRulesTestCase(ReplayTestCase):
    def setUp(self):
        super().setUp()
        self.put(CPUS, EARLY, SECRET, COPY, SMALL)
        for task, machine in zip(self.tasks, MACHINES, strict=True):
            self.inspect(task, dict(machine), rack='r1')

    def by_name(self, *rules, **body):
        return {
            each['node']: each
            for each in self.replay(
                rules=list(rules), **{'prune': True, **body}
            )
        }

    def test_the_same_rules_make_no_difference(self):
        runs = self.by_name(CPUS, EARLY, SECRET, COPY, SMALL)
        self.assertEqual({'same'}, {each['outcome'] for each in runs.values()})
        renamed = [
            {**each, 'uuid': uuid_of(50 + number)}
            for number, each in enumerate((CPUS, EARLY, SECRET, COPY, SMALL))
        ]
        self.assertEqual(
            {'same'},
            {each['outcome'] for each in self.by_name(*renamed).values()},
        )

    def test_given_rules_are_added_to_those_in_force(self):
        noted = rule(51, ('set-attribute', ['/extra/noted', True]))
        runs = self.by_name(noted, prune=False)
        # The second one is refused before the new rule runs.
        self.assertEqual(
            ['different', 'same', 'different'],
            [runs[uuid_of(each)]['outcome'] for each in range(3)],
        )
        self.assertEqual(
            [noted['uuid']],
            [
                uuid
                for uuid in runs[uuid_of(0)]['now']['matched']
                if uuid not in runs[uuid_of(0)]['then']['matched']
            ],
        )
        self.assertEqual(
            {'same'},
            {
                each['outcome']
                for each in self.by_name(
                    {**CPUS, 'uuid': None}, prune=False
                ).values()
            },
        )
        passes = self.by_name({**SMALL, 'mode': 'off'}, prune=False)
        self.assertEqual('ok', passes[uuid_of(1)]['now']['result'])

    def test_who_would_end_otherwise_is_told_with_what(self):
        runs = self.by_name(
            EARLY,
            SECRET,
            COPY,
            {
                **SMALL,
                'conditions': [
                    {'op': 'gt', 'args': ['{inventory.cpu.count}', 5]}
                ],
            },
            CPUS,
        )
        self.assertEqual(
            ['same', 'different', 'different'],
            [runs[uuid_of(each)]['outcome'] for each in range(3)],
        )
        passed, failed = runs[uuid_of(1)], runs[uuid_of(2)]
        self.assertEqual(
            ('failed', 'ok'),
            (passed['then']['result'], passed['now']['result']),
        )
        self.assertEqual(
            ('ok', 'failed'),
            (failed['then']['result'], failed['now']['result']),
        )
        self.assertIn('too small: 7', failed['now']['error'])
        self.assertIn(SMALL['uuid'], failed['now']['matched'])

    def test_no_phase_follows_one_that_fails_now(self):
        failed = self.by_name(
            CPUS,
            EARLY,
            SECRET,
            COPY,
            {
                **SMALL,
                'phase': 'preprocess',
                'conditions': [
                    {'op': 'gt', 'args': ['{inventory.cpu.count}', 5]}
                ],
            },
        )[uuid_of(2)]['now']
        self.assertEqual('failed', failed['result'])
        self.assertIn('too small: 7', failed['error'])
        self.assertIn(SMALL['uuid'], failed['matched'])
        self.assertNotIn(COPY['uuid'], failed['matched'])

    def test_what_an_early_rule_leaves_otherwise_comes_later(self):
        runs = self.by_name(
            CPUS,
            SECRET,
            COPY,
            SMALL,
            {
                **EARLY,
                'actions': [
                    {'op': 'set-plugin-data', 'args': ['/rack', 'Z9']}
                ],
            },
        )
        self.assertEqual(
            [
                ('node', 'replace', '/extra/rack', 'R1', 'Z9'),
                ('traits', 'remove', '/CUSTOM_R1', 'CUSTOM_R1', None),
                ('traits', 'add', '/CUSTOM_Z9', None, 'CUSTOM_Z9'),
                ('plugin_data', 'replace', '/rack', 'R1', 'Z9'),
            ],
            [
                (
                    each['object'],
                    each['op'],
                    each['path'],
                    each['before'],
                    each['value'],
                )
                for each in runs[uuid_of(0)]['now']['changes']
            ],
        )

    def test_values_of_sensitive_rules_show_where_others_read_them(self):
        runs = self.by_name(
            CPUS,
            EARLY,
            COPY,
            SMALL,
            {
                **SECRET,
                'actions': [
                    {'op': 'set-plugin-data', 'args': ['/key', 'another']}
                ],
            },
        )
        self.assertEqual('different', runs[uuid_of(0)]['outcome'])
        self.assertEqual(
            [('node', '/extra/key', 'another')],
            [
                (change['object'], change['path'], change['value'])
                for change in runs[uuid_of(0)]['now']['changes']
            ],
        )

    def test_an_inspection_that_went_no_further_may_end_anyhow(self):
        self.put({**SMALL, 'phase': 'preprocess'})
        self.inspect(self.tasks[1], dict(MACHINES[1]))
        runs = self.replay(rules=[], prune=True, nodes=['n1'])
        self.assertEqual(
            ('different', 'unknown'),
            (runs[0]['outcome'], runs[0]['now']['result']),
        )

    def test_what_was_stored_before_is_found_if_it_was_not_read_then(self):
        self.inspect(
            self.tasks[0], {'cpu': {'count': 4}, 'serial': 'X'}, rack='r1'
        )
        last, first = self.replay(rules=[SWAPPED], nodes=['n0'])
        self.assertEqual(
            ('different', 'incomparable'), (last['outcome'], first['outcome'])
        )
        self.assertIn('/extra/was', str(last['now']['changes']))
        self.assertIn('before', first['reason'])


class SampleTestCase(ReplayTestCase):
    def test_the_sample_is_what_the_api_answers(self):
        if not test_samples.SAMPLES.is_dir():
            self.skipTest('not a checkout: no API reference')
        self.put(CPUS)
        self.inspect(self.tasks[0], dict(MACHINES[0]))
        response = self.send(
            f'{RULES}/replay', test_samples.sample('replay-request')
        )
        self.assertEqual(
            known(test_samples.sample('replay-response')), known(response.json)
        )


def known(answer):
    """Leave out what is another one each time."""
    return [{**run, 'run': None, 'created_at': None} for run in answer['runs']]


class AnswerTestCase(ReplayTestCase):
    def setUp(self):
        super().setUp()
        for _ in range(2):
            for task in self.tasks:
                self.inspect(task, {})

    def test_nodes_are_chosen_as_in_a_trial(self):
        for nodes, number in (
            ({}, 6),
            ({'resource_class': 'class1'}, 2),
            (['n0', uuid_of(2)], 4),
            ([], 0),
        ):
            self.assertEqual(number, len(self.replay(nodes=nodes)))
        self.assertEqual(
            ['same', 'same', 'error'],
            [each['outcome'] for each in self.replay(nodes=['n0', UNKNOWN])],
        )

    def test_pages_are_of_nodes(self):
        page = self.send(f'{RULES}/replay', {'limit': 2}).json
        self.assertEqual(
            [uuid_of(0)] * 2 + [uuid_of(1)] * 2,
            [each['node'] for each in page['runs']],
        )
        rest = self.send(
            f'{RULES}/replay', {'limit': 2, 'marker': page['next']}
        ).json
        self.assertEqual(
            ([uuid_of(2)] * 2, None),
            ([each['node'] for each in rest['runs']], rest['next']),
        )

    def test_runs_are_those_since_a_time(self):
        self.assertEqual(6, len(self.replay(since='2020-01-01')))
        self.assertEqual([], self.replay(since='2999-01-01'))

    def test_what_is_wrong_is_400(self):
        for body in (
            {'since': 'yesterday'},
            {'limit': 0},
            {'nodes': 5},
            {'rules': [{'actions': []}]},
            {'phase': 'main'},
            {'limit': 1001},
            {'marker': 5},
        ):
            self.replay(400, **body)

    def test_it_is_for_those_who_may_try_rules_and_read_inventories(self):
        self.replay(403, 'reader')
        self.replay(401, 'nobody')
        self.assertEqual(6, len(self.replay(user='admin')))
