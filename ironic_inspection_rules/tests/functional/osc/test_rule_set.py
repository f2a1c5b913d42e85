# SPDX-License-Identifier: Apache-2.0

"""The commands for the rule set, over Ironic's API without a network."""

import io
import json
import pathlib
import types
from urllib import parse

import fixtures
from ironic import objects
from ironic.common import context
from osc_lib import exceptions as osc_exceptions
import requests
import webob
import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.kit.osc import rule_set
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit.rule_file import files

UUID = '11111111-1111-4111-8111-111111111111'

RULES = """
- description: one
  actions: [{op: log, args: {msg: one}}]
- description: secret
  sensitive: true
  actions: [{op: log, args: {msg: s3cret}}]
"""


class Baremetal:
    """openstacksdk's proxy over a WSGI application in this process."""

    def __init__(self, app):
        self._app = app

    def request(
        self,
        path,
        method,
        microversion,
        retriable_status_codes,
        params=None,
        **kwargs,
    ):
        query = parse.urlencode(params or {})
        request = webob.Request.blank(
            f'/v1{path}?{query}',
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': microversion},
        )
        if 'json' in kwargs:
            request.json_body = kwargs['json']
            request.content_type = 'application/json'
        if 'data' in kwargs:
            request.body = kwargs['data']
            request.headers.update(kwargs['headers'])
        answer = request.get_response(self._app)
        response = requests.Response()
        response.status_code = answer.status_int
        response._content = answer.body
        response.headers.update(answer.headers)
        response.url = request.url
        return response


class CommandsTestCase(files.FilesTestCase):
    def run_command(self, kind, *arguments):
        """Run a command as if in a pipe.

        :returns: what it returns and what it prints.
        """
        self.stderr = io.StringIO()
        app = types.SimpleNamespace(
            stdout=io.StringIO(),
            stderr=self.stderr,
            options=None,
            client_manager=types.SimpleNamespace(
                sdk_connection=types.SimpleNamespace(
                    config=types.SimpleNamespace(config={}),
                    baremetal=self.baremetal,
                )
            ),
        )
        command = kind(app, None)
        parsed = command.get_parser('test').parse_args(list(arguments))
        result = command.take_action(parsed)
        return result, app.stdout.getvalue()

    def apply(self, text, *arguments):
        return self.run_command(
            rule_set.ApplyInspectionRules,
            self.write('rules.yaml', text),
            '--yes',
            *arguments,
        )

    def plan(self, text, *arguments):
        return self.run_command(
            rule_set.PlanInspectionRules,
            self.write('rules.yaml', text),
            *arguments,
        )


class RuleSetCommandsTestCase(CommandsTestCase):
    def setUp(self):
        super().setUp()
        api = self.useFixture(application.Application())
        self.baremetal = Baremetal(api.app)

    def outcomes(self, text, *arguments):
        _code, printed = self.plan(text, '-f', 'json', *arguments)
        return [
            (rule['description'], rule['outcome'])
            for rule in json.loads(printed)['rules']
        ]

    def test_a_plan_is_plain_in_a_pipe_and_hides_what_is_sensitive(self):
        code, printed = self.plan(RULES)

        self.assertEqual(2, code)
        self.assertIn('+ one (known after apply)\n', printed)
        self.assertIn('+description: one', printed)
        self.assertIn('+    msg: one', printed)
        self.assertIn('2 to create', printed)
        self.assertNotIn('\x1b', printed)
        self.assertNotIn('s3cret', printed)

    def test_what_was_applied_is_no_more_to_do(self):
        self.assertEqual(0, self.apply(RULES, '--message', 'because')[0])

        code, printed = self.plan(RULES)

        self.assertEqual(0, code)
        self.assertIn('Nothing to do', printed)
        self.assertEqual(0, self.apply(RULES)[0])
        _columns, [row] = self.run_command(rule_set.ListRevisions)[0]
        self.assertEqual((1, '2 created', 'because'), (row[0], row[4], row[5]))

    def test_only_what_changes_is_shown(self):
        self.apply(RULES)

        _code, printed = self.plan(RULES.replace('msg: one', 'msg: two'))

        self.assertIn('-    msg: one\n+    msg: two', printed)
        self.assertIn('found by description', printed)
        self.assertIn('1 to update', printed)
        self.assertNotIn('secret', printed)

    def test_other_rules_stay_unless_pruned(self):
        self.apply(RULES)
        other = '{description: new, actions: [{op: log, args: {msg: x}}]}'

        self.assertEqual(
            [
                ('one', 'unchanged'),
                ('secret', 'unchanged'),
                ('new', 'created'),
            ],
            self.outcomes(other),
        )
        self.assertEqual(
            [('new', 'created'), ('one', 'deleted'), ('secret', 'deleted')],
            self.outcomes(other, '--prune'),
        )
        self.apply(other)
        self.assertEqual(
            [
                ('one', 'unchanged'),
                ('secret', 'unchanged'),
                ('new', 'unchanged'),
            ],
            self.outcomes(other),
        )

    def test_what_lint_warns_of_is_shown_and_no_error(self):
        slip = RULES.replace('msg: one', 'msg: "{inventory.cpu.cuont}"')
        path = self.write('slip.yaml', slip)
        for kind, arguments, expected in (
            (rule_set.PlanInspectionRules, (), 2),
            (rule_set.ApplyInspectionRules, ('--yes',), 0),
            (inspection_rule.ImportInspectionRules, (), None),
        ):
            code, _printed = self.run_command(kind, path, *arguments)

            self.assertEqual(expected, code)
            self.assertRegex(
                self.stderr.getvalue(),
                r'slip.yaml:\d+:\d+: warning: #1 \(one\): '
                '.*did you mean "count"',
            )

    def test_of_a_sensitive_rule_lint_says_only_what_kind_it_is(self):
        slip = RULES.replace('msg: s3cret', 'msg: "{inventory.s3cret}"')
        for kind, arguments in (
            (rule_set.PlanInspectionRules, ()),
            (rule_set.ApplyInspectionRules, ('--yes',)),
            (inspection_rule.ImportInspectionRules, ('--replace',)),
        ):
            _code, printed = self.run_command(
                kind, self.write('slip.yaml', slip), *arguments
            )

            self.assertRegex(
                self.stderr.getvalue(),
                r'slip.yaml:\d+:\d+: warning: #2 \(secret\): '
                'No inspection reports a replacement field',
            )
            self.assertNotIn('s3cret', printed + self.stderr.getvalue())

    def test_a_plan_says_that_a_sensitive_rule_shows_what_it_writes(self):
        path = self.write(
            'key.yaml',
            """
- sensitive: true
  actions: [{op: set-attribute, args: {path: /extra/code, value: pa55-word}}]
""",
        )
        code, printed = self.run_command(rule_set.PlanInspectionRules, path)

        self.assertEqual(2, code)
        self.assertIn(
            'anybody who may read the node reads it there',
            self.stderr.getvalue(),
        )
        self.assertNotIn('pa55-word', printed + self.stderr.getvalue())

    def test_the_problems_of_all_rules_are_told_with_their_places(self):
        bad = RULES.replace('msg: one', 'mgs: one') + (
            '- {description: third, priority: -1, actions: []}\n'
        )
        error = self.assertRaises(osc_exceptions.CommandError, self.plan, bad)
        lines = str(error).splitlines()
        self.assertEqual(
            ['#1 (one)', '#1 (one)', '#3 (third)', '#3 (third)'],
            [line.split(': ')[1] for line in lines],
        )
        self.assertRegex(lines[-1], r'rules.yaml:\d+:\d+: .*[ /]actions: ')

    def test_a_priority_out_of_range_is_told_once(self):
        bad = RULES.replace(
            '- description: one', '- description: one\n  priority: 10000'
        )
        error = self.assertRaises(osc_exceptions.CommandError, self.plan, bad)
        self.assertIn('10000', str(error))
        self.assertEqual('', self.stderr.getvalue())

    def test_good_rules_are_planned_without_warnings(self):
        self.plan(RULES)
        self.assertEqual('', self.stderr.getvalue())

    def test_folders_and_what_is_piped_in_are_files_of_rules(self):
        folder = pathlib.Path(self.write('rules.yaml', RULES)).parent
        self.assertEqual(
            2, self.run_command(rule_set.PlanInspectionRules, str(folder))[0]
        )
        self.useFixture(fixtures.MonkeyPatch('sys.stdin', io.StringIO(RULES)))
        self.assertIn(
            '2 created',
            self.run_command(inspection_rule.ImportInspectionRules, '-')[1],
        )
        self.assertEqual(
            0,
            self.run_command(
                rule_set.ApplyInspectionRules, str(folder), '--yes'
            )[0],
        )

    def test_an_edited_rule_is_linted_as_a_whole(self):
        actions = self.write(
            'actions.yaml', '[{op: log, args: {msg: "{inventory.cpu.x}"}}]'
        )
        self.edit('--description', 'new', '--actions', actions)
        self.assertIn('no inspection reports "x"', self.stderr.getvalue())
        self.edit('new', '--priority', '7')
        self.assertIn('no inspection reports "x"', self.stderr.getvalue())

    def test_operations_are_given_as_text_too(self):
        made = self.edit(
            '--description',
            'new',
            '--conditions',
            ' [{"op": "eq", "args": {"values": [1, 1]}}]',
            '--actions',
            '[{op: log, args: {msg: "{vars.a}"}}]',
            '--vars',
            '{"a": {"b": 1}}',
        )

        self.assertEqual(
            [{'op': 'eq', 'args': {'values': [1, 1]}}], made['conditions']
        )
        self.assertEqual(
            [{'op': 'log', 'args': {'msg': '{vars.a}'}}], made['actions']
        )
        self.assertEqual({'a': {'b': 1}}, made['vars'])
        self.assertEqual(
            [], self.edit('new', '--conditions', '[]')['conditions']
        )
        self.assertIn(
            '--actions',
            str(
                self.assertRaises(
                    exceptions.InvalidDocument,
                    self.edit,
                    'new',
                    '--actions',
                    '[{op: log',
                )
            ),
        )

    def test_rules_of_ironic_inspector_are_told_to_be_that(self):
        old = json.dumps(
            [
                {
                    'description': 'old',
                    'conditions': [
                        {'op': 'eq', 'field': 'memory_mb', 'value': number}
                        for number in range(3)
                    ],
                    'actions': [{'action': 'fail', 'message': 'x'}],
                }
            ]
        )
        path = self.write('old.json', old)

        for kind in (
            rule_set.PlanInspectionRules,
            rule_set.ApplyInspectionRules,
            inspection_rule.ImportInspectionRules,
        ):
            error = self.assertRaises(
                osc_exceptions.CommandError, self.run_command, kind, path
            )
            self.assertRegex(
                str(error),
                r'^.*old.json:1:2: #1 \(old\): this is a rule of '
                'ironic-inspector: run "ironic-inspection-rules convert"'
                '[^\n]*$',
            )

    def test_import_twice_makes_no_rule_twice(self):
        path = self.write('rules.yaml', RULES)

        for expected in (
            '2 created, 0 updated, 0 unchanged',
            '0 created, 0 updated, 2 unchanged',
        ):
            _code, printed = self.run_command(
                inspection_rule.ImportInspectionRules, path
            )
            self.assertIn(expected, printed)

    def test_an_export_is_a_file_that_apply_takes(self):
        self.apply(RULES)
        self.apply('[]', '--prune')

        _code, exported = self.run_command(
            inspection_rule.ExportInspectionRules, '--revision', '1'
        )
        self.assertEqual(
            ['one', 'secret'],
            [rule['description'] for rule in yaml.safe_load(exported)],
        )
        self.run_command(rule_set.RestoreRevision, '1', '--yes')

        self.assertEqual(
            (0, 'Nothing to do: the rules are as they should be\n'),
            self.plan(exported, '--prune'),
        )

    def edit(self, *arguments):
        columns, row = self.run_command(
            inspection_rule.EditInspectionRule, *arguments
        )[0]
        return dict(zip(columns, row, strict=True))

    def test_every_field_of_a_rule_can_be_edited(self):
        actions = self.write('actions.yaml', '[{op: log, args: {msg: hello}}]')
        made = self.edit(
            '--description', 'new', '--actions', actions, '--uuid', UUID
        )

        changed = self.edit(
            'new',
            '--scope',
            'rack',
            '--mode',
            'off',
            '--phase',
            'preprocess',
            '--priority',
            '7',
        )

        self.assertEqual(
            (UUID, 'enforce', None),
            (made['uuid'], made['mode'], made['scope']),
        )
        self.assertEqual(
            (UUID, 'off', 'rack', 'preprocess', 7, 2),
            tuple(
                changed[name]
                for name in (
                    'uuid',
                    'mode',
                    'scope',
                    'phase',
                    'priority',
                    'revision',
                )
            ),
        )
        self.assertEqual(
            (None, True, None),
            tuple(
                self.edit(UUID, '--scope', '', '--sensitive')[name]
                for name in ('scope', 'sensitive', 'actions')
            ),
        )

    def test_a_description_of_two_rules_names_none(self):
        self.apply(
            '[{description: a, actions: [{op: log, args: {msg: x}}]},'
            ' {description: a, actions: [{op: log, args: {msg: y}}]}]'
        )

        self.assertRaises(
            exceptions.Conflict, self.edit, 'a', '--priority', '1'
        )
        self.assertRaises(
            exceptions.NotFound, self.edit, 'b', '--priority', '1'
        )

    def test_what_ironic_refuses_is_told_by_file_and_line(self):
        exc = self.assertRaises(
            osc_exceptions.CommandError,
            self.plan,
            RULES + '- {description: bad, actions: [{op: lag}]}\n',
        )

        self.assertIn('rules.yaml:7:', str(exc))

    def test_what_is_no_rule_is_told_by_file_and_line(self):
        for text, line in (
            ('5', 1),
            ('"x"', 1),
            ('null', 1),
            ('\n- 5', 2),
            ('2026-01-01', 1),
        ):
            path = self.write('rules.yaml', text)
            for kind in (
                rule_set.PlanInspectionRules,
                rule_set.ApplyInspectionRules,
                inspection_rule.ImportInspectionRules,
            ):
                error = self.assertRaises(
                    exceptions.InvalidDocument, self.run_command, kind, path
                )
                self.assertIn(f'{path}:{line}:', str(error))
                self.assertIn('a rule must be a mapping', str(error))

    def test_what_is_tried_is_what_is_applied(self):
        self.apply("""
            - description: size
              priority: 5
              actions: [{op: set-attribute, args: {path: /extra/a, value: 1}}]
            - description: small
              actions: [{op: fail, args: {msg: too small}}]
            """)
        machine = self.write('machine.json', '{"inventory": {}}')
        given = """
            - description: small
              mode: 'off'
              actions: [{op: fail, args: {msg: too small}}]
            - description: tag
              actions: [{op: add-trait, args: {name: CUSTOM_A}}]
            """

        def evaluated(*arguments):
            return json.loads(
                self.run_command(
                    inspection_rule.EvaluateInspectionRules,
                    '--inventory',
                    machine,
                    '-f',
                    'json',
                    *arguments,
                )[1]
            )

        for prune, changed in (
            ((), ['/extra/a', '/CUSTOM_A']),
            (('--prune',), ['/CUSTOM_A']),
        ):
            tried = evaluated(
                '--rules', self.write('rules.yaml', given), *prune
            )
            self.assertEqual(
                changed, [each['path'] for each in tried['changes']]
            )
            self.apply(given, *prune)
            in_force = evaluated()
            for answer in (tried, in_force):
                for rule in answer['rules']:
                    rule['uuid'] = None
            self.assertEqual(in_force, tried)

    def test_apply_wants_yes_where_nobody_can_answer(self):
        path = self.write('rules.yaml', RULES)

        exc = self.assertRaises(
            osc_exceptions.CommandError,
            self.run_command,
            rule_set.ApplyInspectionRules,
            path,
        )

        self.assertIn('--yes', str(exc))
        self.assertEqual(2, self.plan(RULES)[0])


class CapacityTestCase(CommandsTestCase):
    """``--flavors`` and ``--max-capacity-loss``."""

    def setUp(self):
        super().setUp()
        built_in = self.write(
            'built-in.yaml',
            """
- description: Refuse old machines
  priority: 20000
  conditions: [{op: eq, args: ["{node.name}", old]}]
  actions: [{op: fail, args: {msg: too old}}]
""",
        )
        api = self.useFixture(
            application.Application(
                {
                    'inspection_rules': {
                        'built_in': built_in,
                        'default_scope': 'site',
                    }
                }
            )
        )
        self.baremetal = Baremetal(api.app)
        self.admin = context.get_admin_context()
        for name, fields in (
            ('big', {}),
            ('old', {}),
            ('small', {'instance_uuid': UUID}),
            ('elsewhere', {'properties': {}}),
            ('broken', {'maintenance': True}),
        ):
            node = objects.Node(
                self.admin,
                **{
                    'driver': 'fake-hardware',
                    'name': name,
                    'resource_class': 'gold.v2',
                    'provision_state': 'available',
                    'properties': {'inspection_scope': 'site'},
                    **fields,
                },
            )
            node.create()
            objects.NodeInventory(
                self.admin,
                node_id=node.id,
                inventory_data={'cpu': {'count': 64 if name == 'big' else 8}},
                plugin_data={},
            ).create()
        self.flavors = self.write(
            'flavors.yaml',
            """
- name: bm.gold
  extra_specs: {"resources:CUSTOM_GOLD_V2": 1, "resources:VCPU": 0}
- name: bm.silver
  extra_specs: {"resources:CUSTOM_SILVER": "1"}
""",
        )

    RULES = """
- description: Small ones are silver
  conditions: [{op: lt, args: ["{inventory.cpu.count}", 16]}]
  actions: [{op: set-attribute, args: [/resource_class, silver]}]
"""

    def planned(self, text, *arguments):
        _code, printed = self.plan(
            text, '--flavors', self.flavors, '-f', 'json', *arguments
        )
        return json.loads(printed)['capacity']

    def test_all_rules_that_would_be_in_force_are_tried(self):
        gold, silver = self.planned(self.RULES)
        self.assertEqual(
            ({'free': 3, 'in_use': 1}, {'free': 2, 'in_use': 0}),
            (gold['before'], gold['after']),
        )
        self.assertEqual(
            [
                ('old', 'free', ['Refuse old machines']),
                ('small', 'in_use', ['Small ones are silver']),
            ],
            sorted(
                (each['name'], each['use'], each['rules'])
                for each in gold['lost']
            ),
        )
        self.assertEqual({'free': 0, 'in_use': 1}, silver['after'])
        self.assertEqual(
            ['small'], [each['name'] for each in silver['gained']]
        )

    def test_rules_that_stay_count_and_pruned_ones_do_not(self):
        self.apply(self.RULES)
        other = '{description: new, actions: [{op: log, args: {msg: x}}]}'
        self.assertEqual(50, self.planned(other)[0]['loss'])
        self.assertEqual(25, self.planned(other, '--prune')[0]['loss'])

    def test_too_great_a_loss_changes_nothing(self):
        for most in ('0', '49.9'):
            error = self.assertRaises(
                osc_exceptions.CommandError,
                self.apply,
                self.RULES,
                '--flavors',
                self.flavors,
                '--max-capacity-loss',
                most,
            )
            self.assertIn(
                'bm.gold: 50.0 % of 4; 1 by Refuse old machines: '
                'old; 1 by Small ones are silver: small',
                str(error),
            )
        self.assertEqual(
            'Nothing to do: the rules are as they should be\n',
            self.plan('[]', '--prune')[1],
        )
        code, printed = self.apply(
            self.RULES, '--flavors', self.flavors, '--max-capacity-loss', '50'
        )
        self.assertEqual(0, code)
        self.assertIn('| 3 → 2 | 1 → 0  |', printed)
        self.assertIn('revision 1', printed)

    def test_a_limit_needs_flavors(self):
        self.assertRaises(
            osc_exceptions.CommandError,
            self.apply,
            self.RULES,
            '--max-capacity-loss',
            '5',
        )
