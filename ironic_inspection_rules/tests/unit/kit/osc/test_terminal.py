# SPDX-License-Identifier: Apache-2.0

"""Nothing that Ironic answers commands the terminal of who asks."""

import copy
import importlib.metadata
import io
import json
import pathlib

import fixtures
from osc_lib.command import command as shipped

from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.command import test_terminal
from ironic_inspection_rules.tests.unit.kit.osc import fakes

HOSTILE = test_terminal.HOSTILE
UUID = '1488521a-795e-4a56-91b8-98f914774d2f'
PREFIX = 'ironic_inspection_rules.kit.osc.'

CHANGE = {
    'object': 'node',
    'op': 'replace',
    'path': f'/extra/{HOSTILE}',
    'before': HOSTILE,
    'after': HOSTILE,
    'value': HOSTILE,
    'action': HOSTILE,
}
CONDITION = {'op': HOSTILE, 'result': False, 'reason': HOSTILE}
RULE = {
    'uuid': UUID,
    'description': HOSTILE,
    'phase': 'main',
    'mode': 'audit',
    'priority': 1,
    'scope': HOSTILE,
    'sensitive': True,
    'vars': {},
    'built_in': False,
    'revision': 1,
    'created_at': HOSTILE,
    'updated_at': HOSTILE,
    'links': [],
    'conditions': [CONDITION],
    'actions': [{'op': HOSTILE, 'args': {HOSTILE: HOSTILE}}],
    'changes': [CHANGE],
    'error': HOSTILE,
    'matched': True,
    'outcome': 'updated',
    'matched_by': 'uuid',
    'fields': ['scope'],
    'runs': 1,
    'failed': 1,
    'audited': 1,
    'seconds': 1.0,
    'last_matched_at': HOSTILE,
    'last_matched_node': HOSTILE,
    'since': HOSTILE,
}
PHASE = {
    'rules': [RULE],
    'reverted': [RULE],
    'audit': [RULE],
    'saved': False,
    'left_out': 1,
}
RUN = {
    'uuid': UUID,
    'node_uuid': UUID,
    'event': HOSTILE,
    'result': HOSTILE,
    'inspect_interface': HOSTILE,
    'error': HOSTILE,
    'revision': 1,
    'created_at': HOSTILE,
    'started_at': None,
    'links': [],
    'phases': {'main': PHASE},
}
REQUEST = {
    'uuid': UUID,
    'node_uuid': UUID,
    'event': HOSTILE,
    'state': 'error',
    'attempts': 1,
    'worker': HOSTILE,
    'last_error': HOSTILE,
    'created_at': '2026-01-01T00:00:00+00:00',
    'started_at': None,
    'finished_at': None,
    'links': [],
}
TABLE = {
    'name': HOSTILE,
    'size': 1,
    'revision': 1,
    'built_in': True,
    'columns': [HOSTILE],
    'secret': [],
    'key': HOSTILE,
    'of': None,
    'types': {},
    'expect': {},
    'rows': [{'key': HOSTILE, 'row': {HOSTILE: HOSTILE}}],
}
TABLE_STEP = {
    'name': HOSTILE,
    'outcome': 'updated',
    'fields': [HOSTILE],
    'rows': {'new': 1, 'changed': 1, 'gone': 0},
    'new': TABLE['rows'],
    'changed': [
        {
            'key': HOSTILE,
            'before': {HOSTILE: HOSTILE},
            'after': {HOSTILE: HOSTILE},
        }
    ],
    'gone': [],
    # As a table of a revision.
    'size': 1,
}
REVISION = {
    'revision': 1,
    'created_at': HOSTILE,
    'user_id': HOSTILE,
    'project_id': HOSTILE,
    'message': HOSTILE,
    'changes': [],
    'rules': [RULE],
    'tables': [{**TABLE_STEP, **TABLE, 'rows': [{HOSTILE: HOSTILE}]}],
    'warnings': [HOSTILE],
}
NODE = {
    'uuid': UUID,
    'name': HOSTILE,
    'traits': [HOSTILE],
    'resource_class': HOSTILE,
    'properties': {'capabilities': HOSTILE},
}

ANSWERS = {
    '/inspection_rules': {
        'inspection_rules': [RULE],
        'warnings': [HOSTILE],
        **REVISION,
    },
    '/inspection_rules/revisions': {'revisions': [REVISION]},
    '/inspection_rules/revisions/1': REVISION,
    '/inspection_rules/revisions/1/restore': REVISION,
    '/inspection_rules/statistics': {'statistics': [RULE]},
    f'/inspection_rules/{UUID}': RULE,
    '/inspection_tables': {'tables': [TABLE]},
    '/inspection_tables/m': TABLE,
    '/inspection_tables/m/machines': {
        'machines': [
            {
                'key': HOSTILE,
                'node': HOSTILE,
                'state': 'wrong',
                'differences': [
                    {'column': HOSTILE, 'expected': HOSTILE, 'found': HOSTILE}
                ],
            }
        ]
    },
    '/inspection_requests': {'inspection_requests': [REQUEST]},
    f'/inspection_requests/{UUID}': REQUEST,
    '/nodes': {'nodes': [NODE]},
    f'/nodes/{UUID}/inventory/reapply': REQUEST,
    '/nodes/one/inventory/reapply': REQUEST,
    '/nodes/one/inspection_runs': {'inspection_runs': [RUN]},
    f'/nodes/one/inspection_runs/{UUID}': RUN,
    '/nodes/one/inspection_runs/explain': {
        **CHANGE,
        'rule': RULE,
        'revision': 1,
        'phase': 'main',
        'run': RUN,
        'conditions': [CONDITION],
        'current_value': HOSTILE,
        'sensitive_rules': [UUID],
        'current': False,
    },
    f'/nodes/{UUID}/inventory': test_terminal.MACHINE,
}


def evaluated(json):
    each = {
        'uuid': UUID,
        'name': HOSTILE,
        'result': 'failed',
        'error': HOSTILE,
        'matched': [UUID],
        'changes': [CHANGE],
        'validates': False,
    }
    if json.get('nodes'):
        return 200, {'nodes': [each], 'next': None}
    return 200, {**each, 'rules': [RULE], 'warnings': [HOSTILE]}


def commands():
    """Return the commands of this project, by name."""
    return {
        each.name.replace('_', ' '): each.load()
        for each in importlib.metadata.entry_points(
            group='openstack.baremetal.v1'
        )
        if each.value.startswith(PREFIX)
    }


class TerminalTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ironic = fakes.Ironic()
        for path, answer in ANSWERS.items():
            for method in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE'):
                # A fresh one each time: commands change what they get.
                self.ironic.routes[method, path] = (
                    lambda answer=answer, **_arguments: (
                        200,
                        copy.deepcopy(answer),
                    )
                )
        self.ironic.routes['POST', '/inspection_rules/evaluate'] = evaluated
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.rules = str(self.directory / 'rules.json')
        pathlib.Path(self.rules).write_text(
            json.dumps([{'uuid': UUID, 'description': 'good', 'actions': []}])
        )

    def words(self):
        """Return the words of each command, in many of its ways."""
        run = 'baremetal node rule run'
        yield f'{run} list', 'one'
        for how in ('table', 'value', 'shell', 'json', 'yaml'):
            yield f'{run} show', 'one', UUID, '-f', how
        for how in ('text', 'json', 'yaml'):
            yield 'baremetal node rule explain', 'one', '-f', how
            yield (
                'baremetal node rule explain',
                'one',
                '--path',
                '/a',
                '-f',
                how,
            )
        for how in ('table', 'csv', 'value', 'json', 'yaml'):
            yield ('baremetal inspection rule statistics', '--long', '-f', how)
        request = 'baremetal inspection request'
        yield (f'{request} list',)
        yield f'{request} list', '--long'
        yield f'{request} show', UUID
        yield f'{request} abort', UUID
        yield 'baremetal inspection reapply', 'one'
        yield ('baremetal inspection table list',)
        yield 'baremetal inspection table show', 'm'
        for how in ('table', 'json', 'csv'):
            yield 'baremetal inspection table machines', 'm', '-f', how
        rule = 'baremetal inspection rule'
        yield (f'{rule} history',)
        yield f'{rule} restore', '1', '--yes'
        for how in ('diff', 'json'):
            yield f'{rule} plan', self.rules, '-f', how
        yield f'{rule} apply', self.rules, '--yes'
        yield f'{rule} import', self.rules
        yield (f'{rule} export',)
        yield f'{rule} export', '--revision', '1'
        yield f'{rule} edit', UUID, '--scope', 'x'
        yield f'{rule} reapply', '--nodes', '--wait'
        for how in ('table', 'json', 'yaml'):
            yield f'{rule} evaluate', '--node', 'one', '-f', how
            yield f'{rule} evaluate', '--nodes', '-f', how
        yield (
            'baremetal inspection data export',
            str(self.directory / f'x{test_terminal.IN_A_NAME}'),
        )

    def call(self, words, ironic):
        """Run a command; return all that it writes, errors too."""
        app = fakes.App(ironic)
        instance = commands()[words[0]](app, None)
        try:
            instance.run(
                instance.get_parser('openstack').parse_args(list(words[1:]))
            )
        except Exception as exc:
            app.stderr.write(str(exc))
        return app.stdout.getvalue() + app.stderr.getvalue()

    def test_no_answer_lets_a_control_character_through(self):
        for words in self.words():
            text = self.call(words, self.ironic)
            self.assertEqual(set(), test_terminal.offends(text), words)
            if words[0].split()[-1] not in ('abort', 'import', 'restore'):
                self.assertIn('202e', text.lower(), words)

    def test_no_error_lets_one_through(self):
        for words in {each[0]: each for each in self.words()}.values():
            text = self.call(words, fakes.Ironic())
            self.assertEqual(set(), test_terminal.offends(text), words)

        def refuse(**_arguments):
            raise ValueError(HOSTILE)

        refusing = fakes.Ironic()
        refusing.routes['GET', '/inspection_rules/statistics'] = refuse
        text = self.call(('baremetal inspection rule statistics',), refusing)
        self.assertIn('202e', text)
        self.assertEqual(set(), test_terminal.offends(text))

    def test_every_command_is_guarded(self):
        self.assertEqual(
            [],
            [
                name
                for name, each in commands().items()
                if not issubclass(each, command.CommandBase)
            ],
        )

    def test_a_list_of_whatever_library_is_guarded(self):
        class Listed(command.CommandBase, shipped.Lister):
            def take_action(self, parsed_args):
                return ('Name',), [(HOSTILE,)]

        app = fakes.App()
        instance = Listed(app, None)
        instance.run(instance.get_parser('x').parse_args([]))
        self.assertIn('202e', app.stdout.getvalue())
        self.assertEqual(set(), test_terminal.offends(app.stdout.getvalue()))
        self.assertIsInstance(instance.app.stdout, io.StringIO)
