# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import json
import pathlib

import fixtures
from openstack.compute.v2 import flavor as sdk_flavor
from osc_lib import exceptions as osc_exceptions
import requests
import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.client import fleet
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

EVALUATE = ('POST', '/inspection_rules/evaluate')
IN_FORCE = {
    'uuid': '1488521a-795e-4a56-91b8-98f914774d2f',
    'description': 'Tag',
    'phase': 'main',
    'priority': 5,
    'mode': 'enforce',
    'sensitive': False,
    'built_in': False,
}
RULE = {
    'description': 'Tag',
    'priority': 7,
    'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}],
}
TAGGED = {
    'object': 'traits',
    'op': 'add',
    'path': '/CUSTOM_A',
    'value': 'CUSTOM_A',
    'before': None,
}
ERROR = (
    'Inspection rule 0f6a2d1c-1f0a-4f6e-9c3d-5d1a7b2c4e60 (The machine '
    'is what was ordered), fail: too small'
)


def entry(uuid, **fields):
    return {
        'uuid': uuid,
        'name': f'name of {uuid}',
        'result': 'ok',
        'error': None,
        'matched': [IN_FORCE['uuid']],
        'changes': [],
        **fields,
    }


class EvaluateNodesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ironic = fakes.Ironic()
        self.app = fakes.App(self.ironic)
        self.scratch = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.ironic.routes['GET', '/inspection_rules'] = (
            200,
            {'inspection_rules': [IN_FORCE]},
        )
        self.has('a', 'b')
        self.says()

    def has(self, *uuids):
        self.ironic.routes['GET', '/nodes'] = (
            200,
            {
                'nodes': [
                    {
                        'uuid': uuid,
                        'name': None,
                        'traits': ['CUSTOM_B'],
                        'resource_class': 'baremetal',
                        'properties': {'capabilities': 'raid:1'},
                    }
                    for uuid in uuids
                ]
            },
        )

    def says(self, **entries):
        """Have Ironic say something else of some nodes."""

        def answer(json):
            nodes = []
            for uuid in json['nodes']:
                node = entry(uuid, **entries.get(uuid, {}))
                if json.get('compare'):
                    node.setdefault('differs', False)
                nodes.append(node)
            return 200, {'nodes': nodes, 'next': None}

        self.ironic.routes[EVALUATE] = answer

    def evaluate(self, *arguments):
        command = inspection_rule.EvaluateInspectionRules(self.app, None)
        return command.take_action(
            command.get_parser('openstack').parse_args(arguments)
        )

    def rules(self, *rules):
        path = self.scratch / 'rules.yaml'
        path.write_text(yaml.safe_dump(list(rules)))
        return str(path)

    def printed(self):
        return json.loads(self.app.stdout.getvalue())

    def test_rules_in_force_are_tried_on_all_nodes(self):
        self.says(a={'changes': [TAGGED]})
        self.assertEqual(0, self.evaluate('--nodes', '-f', 'json'))
        self.assertEqual(
            [{'json': {'nodes': ['a', 'b']}}], self.ironic.asked(*EVALUATE)
        )
        printed = self.printed()
        self.assertEqual(
            {
                'made',
                'title',
                'compared',
                'filters',
                'rules',
                'nodes',
                'summary',
            },
            set(printed),
        )
        self.assertEqual(
            [
                {
                    name: IN_FORCE[name]
                    for name in (
                        'uuid',
                        'description',
                        'phase',
                        'priority',
                        'mode',
                        'sensitive',
                    )
                }
            ],
            printed['rules'],
        )
        self.assertEqual(
            {
                **entry('a', changes=[TAGGED]),
                'traits': ['CUSTOM_B'],
                'resource_class': 'baremetal',
            },
            printed['nodes'][0],
        )
        self.assertEqual(
            {'gained': {'CUSTOM_A': 1}, 'lost': {}},
            printed['summary']['traits'],
        )
        self.assertFalse(printed['compared'])

    def test_an_answer_without_a_result_is_an_error(self):
        path = self.rules(RULE)
        for words, fields, name in (
            ((), {'result': None}, 'result'),
            ((), {'result': 'maybe'}, 'result'),
            (('--rules', path), {'result': None}, 'result'),
            (('--rules', path), {'differs': None}, 'differs'),
            (('--rules', path), {'differs': 'no'}, 'differs'),
        ):
            self.says(b=fields)
            error = self.assertRaises(
                exceptions.Invalid, self.evaluate, '--nodes', *words
            )
            self.assertIn('node name of b has', str(error))
            self.assertIn(f'"{name}"', str(error))
        self.assertEqual('', self.app.stdout.getvalue())

    def test_a_node_that_was_not_tried_is_not_compared(self):
        self.says(b={'result': 'error', 'error': 'gone', 'differs': None})
        path = self.rules(RULE)
        self.assertEqual(0, self.evaluate('--nodes', '--rules', path))

    def test_filters_choose_the_nodes(self):
        self.evaluate(
            '--nodes', 'resource_class=baremetal', 'traits=A,B', '-f', 'json'
        )
        (asked,) = self.ironic.asked('GET', '/nodes')
        self.assertEqual(
            {
                'resource_class': 'baremetal',
                'traits': 'A,B',
                'fields': 'uuid,name,traits,resource_class,properties',
            },
            asked['params'],
        )
        self.assertEqual(
            {'resource_class': 'baremetal', 'traits': 'A,B'},
            self.printed()['filters'],
        )

    def test_filters_that_match_no_node_are_an_error(self):
        self.has()
        error = self.assertRaises(
            osc_exceptions.CommandError,
            self.evaluate,
            '--nodes',
            'resource_class=typo',
            'maintenance=false',
        )
        self.assertEqual(
            'No node matches resource_class=typo maintenance=false', str(error)
        )
        self.assertEqual(0, self.evaluate('--nodes'))

    def test_options_with_lists_may_be_repeated(self):
        other = self.scratch / 'other.yaml'
        other.write_text(yaml.safe_dump([{**RULE, 'description': 'Other'}]))
        self.evaluate(
            '--nodes',
            'owner=x',
            '--rules',
            self.rules(RULE),
            '--nodes',
            'lessee=y',
            '--rules',
            str(other),
            '-f',
            'json',
        )
        self.assertEqual(
            {'owner': 'x', 'lessee': 'y'}, self.printed()['filters']
        )
        (asked,) = self.ironic.asked(*EVALUATE)
        self.assertEqual(
            [RULE['description'], 'Other'],
            [rule['description'] for rule in asked['json']['rules']],
        )

    def test_an_answer_without_all_nodes_is_an_error(self):
        self.ironic.routes[EVALUATE] = 200, {'nodes': [entry('a')]}
        error = self.assertRaises(
            exceptions.Invalid, self.evaluate, '--nodes', '-f', 'json'
        )
        self.assertIn('1 of 2 nodes', str(error))

    def test_nodes_come_in_order_however_many_pages_they_are(self):
        uuids = [f'node-{number:03}' for number in range(2 * fleet.PAGE + 50)]
        self.has(*uuids)
        self.evaluate('--nodes', '--jobs', '3', '-f', 'json')
        self.assertEqual(
            uuids, [node['uuid'] for node in self.printed()['nodes']]
        )
        self.assertEqual(
            [fleet.PAGE, fleet.PAGE, 50],
            sorted(
                (
                    len(asked['json']['nodes'])
                    for asked in self.ironic.asked(*EVALUATE)
                ),
                reverse=True,
            ),
        )

    def test_given_rules_are_compared_with_those_in_force(self):
        self.says(
            a={'differs': True, 'changes': [TAGGED], 'in_force': {}},
            b={'differs': False},
        )
        self.assertEqual(
            2,
            self.evaluate(
                '--nodes', '--rules', self.rules(RULE), '-f', 'json'
            ),
        )
        (asked,) = self.ironic.asked(*EVALUATE)
        self.assertTrue(asked['json']['compare'])
        self.assertEqual(1, self.printed()['summary']['differ'])

    def test_nothing_that_differs_is_no_difference(self):
        self.says(a={'differs': False}, b={'differs': False})
        self.assertEqual(
            0, self.evaluate('--nodes', '--rules', self.rules(RULE))
        )

    def test_a_machine_that_is_refused_is_no_error(self):
        refused = {
            'differs': True,
            'result': 'failed',
            'error': 'no',
            'failed_by': {
                'rule': IN_FORCE['uuid'],
                'op': 'fail',
                'kind': 'fail',
            },
            'in_force': {},
        }
        self.says(a=refused)
        rules = self.rules(RULE)
        self.assertEqual(2, self.evaluate('--nodes', '--rules', rules))
        self.assertEqual(2, self.evaluate('--nodes'))
        self.says(
            a={
                **refused,
                'failed_by': {**refused['failed_by'], 'kind': 'error'},
            }
        )
        self.assertEqual(1, self.evaluate('--nodes', '--rules', rules))
        self.assertEqual(1, self.evaluate('--nodes'))

    def test_a_machine_of_which_nothing_is_known_is_only_told(self):
        unknown = {'result': 'error', 'error': 'no data', 'matched': []}
        self.says(a=unknown)
        self.assertEqual(0, self.evaluate('--nodes'))
        self.assertIn(
            'nothing is known of them: 1 (name of a)',
            self.app.stdout.getvalue(),
        )
        self.says(a=unknown, b=unknown)
        self.assertEqual(1, self.evaluate('--nodes'))

    def test_no_comparison_tells_all(self):
        self.evaluate('--nodes', '--no-compare', '--rules', self.rules(RULE))
        (asked,) = self.ironic.asked(*EVALUATE)
        self.assertNotIn('compare', asked['json'])

    def test_a_rule_has_one_uuid_on_all_pages(self):
        self.has(*map(str, range(fleet.PAGE + 1)))
        self.evaluate(
            '--nodes',
            '--rules',
            self.rules(
                RULE, {**RULE, 'description': 'New'}, {**RULE, 'uuid': 'mine'}
            ),
        )
        pages = [
            [rule['uuid'] for rule in asked['json']['rules']]
            for asked in self.ironic.asked(*EVALUATE)
        ]
        self.assertEqual(2, len(pages))
        self.assertEqual(pages[0], pages[1])
        # "apply" would have the first one take the place of the stored one.
        self.assertEqual([IN_FORCE['uuid'], 'mine'], pages[0][::2])

    def test_a_rule_goes_by_the_one_that_it_would_replace(self):
        self.evaluate('--nodes', '--rules', self.rules(RULE), '-f', 'json')
        self.assertEqual(
            [
                {
                    'uuid': IN_FORCE['uuid'],
                    'description': 'Tag',
                    'phase': 'main',
                    'priority': 7,
                    'mode': 'enforce',
                    'sensitive': False,
                }
            ],
            self.printed()['rules'],
        )

    def test_given_rules_are_among_those_in_force(self):
        others = [
            {
                **IN_FORCE,
                'uuid': uuid,
                'description': uuid,
                'built_in': uuid == 'b',
            }
            for uuid in 'ab'
        ]
        self.ironic.routes['GET', '/inspection_rules'] = (
            200,
            {'inspection_rules': [*others, IN_FORCE]},
        )
        rules = self.rules(RULE, {**RULE, 'description': 'New'})
        for more, names in (
            ((), ['a', 'b', 'Tag', 'New']),
            (('--prune',), ['b', 'Tag', 'New']),
        ):
            self.ironic.calls.clear()
            self.app.stdout = io.StringIO()
            self.evaluate('--nodes', '--rules', rules, '-f', 'json', *more)
            (asked,) = self.ironic.asked(*EVALUATE)
            self.assertEqual(bool(more), asked['json'].get('prune', False))
            self.assertEqual(
                names,
                [rule['description'] for rule in self.printed()['rules']],
            )
            self.assertEqual(
                ['Tag', 'New'],
                [rule['description'] for rule in asked['json']['rules']],
            )

    def test_what_is_in_force_is_known_by_all_that_is_in_it(self):
        actions = RULE['actions']
        self.ironic.routes['GET', '/inspection_rules'] = (
            200,
            {
                'inspection_rules': [
                    {
                        **IN_FORCE,
                        'description': None,
                        'priority': 0,
                        'actions': actions,
                    }
                ]
            },
        )
        self.evaluate('--nodes', '--rules', self.rules({'actions': actions}))
        (asked,) = self.ironic.asked(*EVALUATE)
        self.assertEqual(
            [IN_FORCE['uuid']],
            [rule['uuid'] for rule in asked['json']['rules']],
        )
        (listed,) = self.ironic.asked('GET', '/inspection_rules')
        self.assertEqual('true', listed['params']['detail'])

    def test_rules_of_one_uuid_are_named_by_their_file(self):
        twice = {**RULE, 'uuid': IN_FORCE['uuid']}
        path = self.rules(twice, {**twice, 'uuid': twice['uuid'].upper()})
        error = self.assertRaises(
            osc_exceptions.CommandError,
            self.evaluate,
            '--nodes',
            '--rules',
            path,
        )
        self.assertIn(f'{path}:', str(error))
        self.assertIn('is there twice', str(error))

    def test_what_is_no_rule_is_named_by_its_file(self):
        for text in ('5', '"x"', 'null', '[5]', '2026-01-01'):
            path = self.scratch / 'rules.yaml'
            path.write_text(text)
            for arguments in (('--nodes',), ('--node', 'a')):
                error = self.assertRaises(
                    exceptions.InvalidDocument,
                    self.evaluate,
                    *arguments,
                    '--rules',
                    str(path),
                )
                self.assertIn(f'{path}:1:', str(error))
        self.assertEqual([], self.ironic.asked(*EVALUATE))

    def test_tables_say_what_matters(self):
        self.says(
            a={
                'differs': True,
                'changes': [
                    TAGGED,
                    {
                        'object': 'node',
                        'op': 'replace',
                        'path': '/resource_class',
                        'value': 'gpu',
                        'before': 'baremetal',
                    },
                ],
                'in_force': {'validates': True},
                'validates': False,
            },
            b={'differs': False, 'matched': []},
        )
        self.evaluate('--nodes', '--rules', self.rules(RULE))
        text = self.app.stdout.getvalue()
        for line in (
            '2 machines: 2 pass, 0 would fail; 1 gets another result',
            'Tag',
            '+ CUSTOM_A',
            '~ /resource_class = "gpu"',
            'trait',
            'Instances that would no longer validate: 1 (name of a)',
            'No rule matches: 1 (name of b)',
        ):
            self.assertIn(line, text)

    def test_tables_say_what_becomes_of_each_of_a_few_machines(self):
        self.has('a', 'b', 'c', 'd')
        self.says(
            a={
                'changes': [
                    TAGGED,
                    {
                        'object': 'traits',
                        'op': 'remove',
                        'path': '/CUSTOM_B',
                        'value': None,
                    },
                    {
                        'object': 'node',
                        'op': 'replace',
                        'path': '/resource_class',
                        'value': 'gpu',
                    },
                ]
            },
            c={'result': 'failed', 'error': ERROR},
            d={'result': 'error', 'error': 'nothing known'},
        )
        self.evaluate('--nodes')
        lines = [
            line
            for line in self.app.stdout.getvalue().splitlines()
            if line.startswith('name of') and ' would ' in line
        ]
        self.assertEqual(
            [
                'name of a passes and would have resource class gpu and '
                'traits CUSTOM_A',
                'name of b passes and would have resource class baremetal and '
                'traits CUSTOM_B, as it has now',
                f'name of c would fail: {ERROR}',
            ],
            lines,
        )

    def test_a_trait_is_added_or_removed(self):
        for op, line in (
            ('add', '+ CUSTOM_A'),
            ('replace', '+ CUSTOM_A'),
            ('remove', '- CUSTOM_A'),
        ):
            self.app = fakes.App(self.ironic)
            self.says(a={'changes': [{**TAGGED, 'op': op}], 'differs': True})
            self.evaluate('--nodes', '--rules', self.rules(RULE))
            self.assertIn(line, self.app.stdout.getvalue())

    def test_changes_of_sensitive_rules_are_said_to_be_withheld(self):
        withheld = 'What sensitive rules would change is withheld.'
        for sensitive in (False, True):
            rule = {**IN_FORCE, 'sensitive': sensitive}
            self.ironic.routes['GET', '/inspection_rules'] = (
                200,
                {'inspection_rules': [rule]},
            )
            self.app.stdout = io.StringIO()
            self.evaluate('--nodes')
            lines = self.app.stdout.getvalue().splitlines()
            self.assertIs(sensitive, withheld in lines)

    def test_a_difference_that_is_not_shown_may_be_withheld(self):
        self.says(a={'differs': True, 'in_force': {}}, b={'differs': False})
        self.evaluate('--nodes', '--rules', self.rules(RULE))
        self.assertIn(
            'passes, nothing changes but what sensitive rules may set',
            self.app.stdout.getvalue(),
        )

    def test_they_do_not_of_many_or_of_differences(self):
        self.evaluate('--nodes', '--rules', self.rules(RULE))
        self.has(*map(str, range(11)))
        self.evaluate('--nodes')
        self.assertNotIn('would have', self.app.stdout.getvalue())

    def test_a_report_on_standard_output_has_nothing_beside_it(self):
        for more in ((), ('-f', 'json'), ('-f', 'yaml')):
            self.app.stdout = io.StringIO()
            self.evaluate('--nodes', '--report', '-', *more)
            output = self.app.stdout.getvalue()
            self.assertTrue(output.startswith('<!DOCTYPE html>'), output)
            self.assertTrue(output.rstrip().endswith('</html>'), output)

    def test_the_report_is_a_page(self):
        path = self.scratch / 'report.html'
        self.evaluate('--nodes', '--report', str(path))
        self.assertIn('The rules in force', path.read_text())
        self.assertIn(str(path), self.app.stdout.getvalue())

    def test_options_that_do_not_go_together_are_refused(self):
        for arguments in (
            ('--nodes', '--node', 'a'),
            ('--nodes', '--inventory', 'a'),
            ('--node', 'a', '--report', 'b'),
            ('--node', 'a', '--no-compare'),
            ('--node', 'a', '--flavors', 'nova'),
            ('--nodes', '--compare'),
            ('--nodes', '--prune'),
            ('--node', 'a', '--prune'),
        ):
            self.assertRaises(
                osc_exceptions.CommandError, self.evaluate, *arguments
            )
        self.assertEqual([], self.ironic.calls)

    def test_a_page_needs_a_folder_before_anything_is_asked(self):
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            stopped = self.assertRaises(
                SystemExit,
                self.evaluate,
                '--nodes',
                '--report',
                '/not/there/x.html',
            )
        self.assertEqual(1, stopped.code)
        self.assertIn(
            'no file can be written there: /not/there/x.html',
            stderr.getvalue(),
        )
        self.assertEqual([], self.ironic.calls)

    def test_a_folder_is_no_page(self):
        folder = self.useFixture(fixtures.TempDir()).path
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.assertRaises(
                SystemExit, self.evaluate, '--nodes', '--report', folder
            )
        *usage, line = stderr.getvalue().splitlines()
        self.assertTrue(
            line.endswith(f': no file can be written there: {folder}'), line
        )
        self.assertIn('--report', line)
        self.assertNotIn('Traceback', ''.join(usage))
        self.assertEqual([], self.ironic.calls)

    def test_a_bad_rule_is_named_by_its_file(self):
        path = self.rules(RULE)
        self.ironic.routes[EVALUATE] = (
            400,
            {
                'error_message': json.dumps(
                    {
                        'faultstring': 'Refused',
                        'problems': [
                            {
                                'pointer': '/rules/0/actions/0',
                                'detail': 'no',
                                'hint': 'perhaps',
                            }
                        ],
                    }
                )
            },
        )
        # The answer names the rule, so nothing else is asked of Ironic.
        for traits in (
            (200, {'traits': []}),
            (403, {'error_message': 'not yours'}),
            (500, {'error_message': 'database is away'}),
        ):
            self.ironic.routes['GET', '/traits'] = traits
            error = self.assertRaises(
                osc_exceptions.CommandError,
                self.evaluate,
                '--nodes',
                '--rules',
                path,
            )
            self.assertIn(
                f'{path}:2:5: #1 (Tag): action 1: no; perhaps', str(error)
            )

    def flavors(self):
        """Write two flavors, which free nodes may or may not take."""
        path = self.scratch / 'flavors.json'
        path.write_text(
            json.dumps(
                [
                    {
                        'name': 'bm',
                        'extra_specs': {
                            'resources:CUSTOM_BAREMETAL': 1,
                            'capabilities:x': 'y',
                        },
                    },
                    {'name': 'vm', 'vcpus': 4, 'extra_specs': {}},
                ]
            )
        )
        return str(path)

    def has_a_free_node_less(self):
        """Let rules change the resource class of one of two free nodes."""
        free = {
            'name': None,
            'traits': [],
            'resource_class': 'baremetal',
            'provision_state': 'available',
            'instance_uuid': None,
            'maintenance': False,
            'retired': False,
            'power_state': 'power off',
        }
        self.ironic.routes['GET', '/nodes'] = (
            200,
            {'nodes': [{'uuid': 'a', **free}, {'uuid': 'b', **free}]},
        )
        change = {
            'object': 'node',
            'op': 'replace',
            'path': '/resource_class',
            'value': 'gpu',
        }
        self.says(
            a={
                'differs': False,
                'changed_by': [IN_FORCE['uuid']],
                'changes': [change],
            },
            b={'differs': False},
        )

    def test_flavors_are_counted_without_comparing(self):
        self.has_a_free_node_less()

        self.evaluate(
            '--nodes',
            '--rules',
            self.rules(RULE),
            '--flavors',
            self.flavors(),
            '-f',
            'json',
        )

        compared = [
            asked['json'].get('compare')
            for asked in self.ironic.asked(*EVALUATE)
        ]
        self.assertEqual([True, None], compared)
        bm, _vm = self.printed()['capacity']
        self.assertEqual({'free': 2, 'in_use': 0}, bm['before'])
        self.assertEqual({'free': 1, 'in_use': 0}, bm['after'])
        [lost] = bm['lost']
        self.assertEqual('a', lost['uuid'])
        self.assertEqual([IN_FORCE['uuid']], lost['rules'])
        self.assertEqual(50, bm['loss'])

    def test_tables_say_what_becomes_of_flavors(self):
        self.has_a_free_node_less()

        self.evaluate(
            '--nodes',
            '--rules',
            self.rules(RULE),
            '--flavors',
            self.flavors(),
            '--report',
            str(self.scratch / 'report.html'),
        )

        text = self.app.stdout.getvalue()
        for line in (
            '2 → 1',
            '1 by Tag: a',
            'Not counted of bm, as '
            'Placement is not asked for it: capabilities:x',
            'No node can take vm: it asks for',
        ):
            self.assertIn(line, text)

    def test_flavors_are_read_from_nova(self):
        asked = []

        def flavors(_class, compute, microversion):
            asked.append((compute, microversion))
            return [
                sdk_flavor.Flavor(name=name, vcpus=4, extra_specs=specs)
                for name, specs in (
                    (
                        'bm',
                        {'resources:CUSTOM_BM': '1', 'resources:VCPU': '0'},
                    ),
                    ('half', {'resources:CUSTOM_BM': '1'}),
                    ('vm', {}),
                )
            ]

        self.useFixture(
            fixtures.MonkeyPatch(
                'openstack.compute.v2.flavor.Flavor.list', flavors
            )
        )
        self.app.cloud.compute = 'compute'
        self.evaluate('--nodes', '--flavors', 'nova', '-f', 'json')
        self.assertEqual([('compute', '2.61')], asked)
        bm, half = self.printed()['capacity']
        self.assertIsNone(bm['problem'])
        self.assertIn('VCPU=4', half['problem'])

    def test_an_answer_of_nova_that_is_no_json_is_blamed_on_nova(self):
        def fail(_class, _compute, microversion):
            answer = requests.Response()
            answer._content = b'<html>'
            answer.json()

        self.useFixture(
            fixtures.MonkeyPatch(
                'openstack.compute.v2.flavor.Flavor.list', fail
            )
        )
        self.app.cloud.compute = 'compute'
        error = self.assertRaises(
            osc_exceptions.CommandError,
            self.evaluate,
            '--nodes',
            '--flavors',
            'nova',
        )
        self.assertIn('The flavors of the compute service', str(error))

    def test_no_flavors_of_bare_metal_are_told(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'openstack.compute.v2.flavor.Flavor.list',
                lambda *_args, **_kwargs: [],
            )
        )
        self.app.cloud.compute = 'compute'
        self.assertRaises(
            osc_exceptions.CommandError,
            self.evaluate,
            '--nodes',
            '--flavors',
            'nova',
        )

    def test_a_file_without_flavors_is_refused(self):
        path = self.scratch / 'flavors.yaml'
        path.write_text('[]')
        error = self.assertRaises(
            osc_exceptions.CommandError,
            self.evaluate,
            '--nodes',
            '--flavors',
            str(path),
        )
        self.assertIn('has no flavor', str(error))

    def test_what_is_no_flavor_is_named(self):
        for flavors in (
            [{'name': 'a'}],
            [5],
            [{'extra_specs': {}}],
            [{'name': 'a', 'extra_specs': {}, 'ram': 'x'}],
        ):
            path = self.scratch / 'flavors.yaml'
            path.write_text(yaml.safe_dump(flavors))
            error = self.assertRaises(
                osc_exceptions.CommandError,
                self.evaluate,
                '--nodes',
                '--flavors',
                str(path),
            )
            self.assertIn('flavor 1 ', str(error))

    def test_no_nodes_are_no_question(self):
        self.has()
        self.assertEqual(0, self.evaluate('--nodes'))
        self.assertEqual([], self.ironic.asked(*EVALUATE))
