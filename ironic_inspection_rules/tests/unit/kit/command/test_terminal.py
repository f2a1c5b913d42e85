# SPDX-License-Identifier: Apache-2.0

"""No file and no machine commands the terminal of who works with them."""

import contextlib
import importlib.metadata
import io
import json
import os

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.tests.unit.kit.command import test_shell

HOSTILE = (
    '\x1b[2J\x1b[31m\x1b]0;x\x07\x9b31m\r\x08\x00\x7f\x85\u2028\u2029'
    '\u202e\u2066\u200f\u061c'
)
IN_A_NAME = HOSTILE.replace('\x00', '')
"""A file may have any character in its name but NUL."""

OLD = [
    {
        'description': HOSTILE,
        'conditions': [
            {'op': 'eq', 'field': f'data://{HOSTILE}', 'value': HOSTILE}
        ],
        'actions': [{'action': 'fail', 'message': HOSTILE}],
    }
]
RULES = [
    {
        'description': HOSTILE.replace('\x00', ''),
        'conditions': [
            {'op': 'eq', 'args': ['{plugin_data[text]}', IN_A_NAME]},
            {'op': 'eq', 'args': [f'{{inventory[{IN_A_NAME}]}}', 'x']},
        ],
        'actions': [
            {
                'op': 'set-attribute',
                'args': {
                    'path': f'/extra/{IN_A_NAME}',
                    'value': '{plugin_data[text]}',
                },
            }
        ],
    },
    {
        'description': 'sets',
        'actions': [
            {
                'op': 'set-attribute',
                'args': {
                    'path': '/extra/{plugin_data[text]}',
                    'value': '{plugin_data[text]}',
                },
            }
        ],
    },
    {
        'description': 'fails',
        'priority': 1,
        'conditions': [{'op': 'eq', 'args': ['{inventory[cpu][count]}', 1]}],
        'actions': [{'op': 'fail', 'args': {'msg': '{plugin_data[text]}'}}],
    },
]
BROKEN = [
    {
        'description': HOSTILE,
        HOSTILE: HOSTILE,
        'scope': HOSTILE,
        'mode': HOSTILE,
        'conditions': [{'op': HOSTILE, 'args': [HOSTILE]}],
        'actions': [{'op': 'set-attribute', 'args': {HOSTILE: HOSTILE}}],
    }
]
WITH_TABLE = {
    'rules': [],
    'tables': {
        'orders': {
            'key': 'serial',
            'of': '{inventory.system_vendor.serial_number}',
            'expect': {IN_A_NAME: '{inventory.cpu.count}'},
            'rows': [{'serial': IN_A_NAME, IN_A_NAME: HOSTILE}],
        }
    },
}
MACHINE = {
    'inventory': {
        'cpu': {'count': 2, 'model_name': HOSTILE},
        HOSTILE: HOSTILE,
        'system_vendor': {
            'product_name': HOSTILE,
            'manufacturer': HOSTILE,
            'serial_number': HOSTILE,
        },
        'disks': [{'name': HOSTILE, 'size': 1, 'model': HOSTILE}],
        'interfaces': [{'name': HOSTILE, 'mac_address': HOSTILE}],
    },
    'plugin_data': {'text': HOSTILE},
}


def offends(text):
    """Return the characters of a text that a terminal obeys."""
    return {
        character
        for character in text
        if ord(character) in exceptions.CONTROL_CHARACTERS
        and character not in '\n\t'
    }


class TerminalTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.rules, self.other, self.broken, self.old, self.orders = (
            self.write(f'{name}{IN_A_NAME}.json', json.dumps(rules))
            for name, rules in (
                ('rules', RULES),
                ('other', RULES[:1]),
                ('broken', BROKEN),
                ('old', OLD),
                ('orders', WITH_TABLE),
            )
        )
        self.machine, failing = (
            self.write(f'{name}{IN_A_NAME}.json', json.dumps(machine))
            for name, machine in (
                ('a', MACHINE),
                (
                    'b',
                    {
                        **MACHINE,
                        'inventory': {
                            **MACHINE['inventory'],
                            'cpu': {'count': 1},
                        },
                    },
                ),
            )
        )
        self.machines = [self.machine, failing]
        self.nothing = os.path.join(
            os.path.dirname(self.rules), f'no{IN_A_NAME}'
        )
        self.expected = self.write(
            'expected.yaml',
            json.dumps({self.machine: {'result': HOSTILE}, HOSTILE: {}}),
        )

    def calls(self):
        """Return the words of each command, in many of its ways."""
        inventories = ['--inventory', *self.machines]
        for rules in (self.rules, self.broken, self.old, self.nothing):
            yield 'lint', rules
            yield 'lint', rules, *inventories
            yield 'convert', rules
            yield 'test', rules, *inventories
            yield 'test', rules, '--inventory', self.machine
            yield 'test', rules, *inventories, '--details'
            yield 'test', rules, *inventories, '--coverage'
            yield 'test', rules, *inventories, '--expect', self.expected
            yield 'test', rules, '--inventory', self.nothing
            yield 'diff', rules, self.other, *inventories
            for how in ('json', 'yaml'):
                yield 'test', rules, *inventories, '-f', how
                yield 'test', rules, *inventories, '--coverage', '-f', how
                yield 'diff', rules, self.other, *inventories, '-f', how
            for how in ('json', 'sarif'):
                yield 'lint', rules, '-f', how
        for how in ('table', 'json', 'csv'):
            yield 'table', self.orders, *inventories, '-f', how
        yield 'lint', self.other, '--fix'
        yield 'profile', self.machine
        yield 'profile', self.machine, '--name', HOSTILE
        yield 'profile', self.nothing
        yield ('schema',)
        yield 'schema', self.orders
        for command in self.commands():
            yield command, HOSTILE, f'--{HOSTILE}'
        yield (HOSTILE,)

    def commands(self):
        return {
            each.name
            for each in importlib.metadata.entry_points(group=shell.COMMANDS)
        }

    def test_no_command_lets_a_control_character_through(self):
        seen = set()
        for words in self.calls():
            output, errors = io.StringIO(), io.StringIO()
            with (
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(errors),
            ):
                shell.main(words)
            for text in (output.getvalue(), errors.getvalue()):
                self.assertEqual(set(), offends(text), (words, text))
                if '202e' in text:
                    seen.add(words[0])

        # The walk says something only where hostile text gets out at all.
        self.assertLessEqual(self.commands() - {'schema'}, seen)
        self.assertLessEqual(
            self.commands(), {words[0] for words in self.calls()}
        )
