# SPDX-License-Identifier: Apache-2.0

"""The example in the help of each command, run as it stands there."""

import importlib
import json
import os
import pathlib
import shlex
import subprocess
import unittest

import fixtures

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import fixtures as ironics
from ironic_inspection_rules.tests.live import service
from ironic_inspection_rules.tests.unit.kit.command import test_help

_NODE = 'rack1-07'
_RULES = [
    {
        'description': 'Note the vendor',
        'conditions': [
            {
                'op': '!is-empty',
                'args': {'value': '{inventory[system_vendor][manufacturer]}'},
            }
        ],
        'actions': [
            {
                'op': 'set-attribute',
                'args': {
                    'path': '/extra/vendor',
                    'value': '{inventory[system_vendor][manufacturer]}',
                },
            }
        ],
    }
]
_OF_INSPECTOR = [
    {
        'description': 'Serial number',
        'conditions': [{'op': 'ge', 'field': 'memory_mb', 'value': 1}],
        'actions': [
            {
                'action': 'set-attribute',
                'path': 'extra/serial',
                'value': '{data[inventory][system_vendor][serial_number]}',
            }
        ],
    }
]

_WITH_TABLE = {
    'tables': {
        'orders': {
            'key': 'serial',
            'of': '{inventory.system_vendor.serial_number}',
            'rows': [{'serial': '1DA99XYZ'}],
        }
    },
    'rules': _RULES,
}

_LAST = (
    'baremetal_inspection_rule_restore',
    'baremetal_inspection_rule_purge',
)
"""After these there are no rules that the other examples could be about."""

_OF_REQUESTS = (
    'baremetal_inspection_request_show',
    'baremetal_inspection_request_abort',
)
"""Their examples have a UUID that no request has."""

_RESULTS = (0, 2)
"""2 is a result of commands that compare, and of those that only plan."""


def _words(place: str) -> list[str]:
    """Return the words of the example of a command, by its entry point."""
    module, _colon, attribute = place.partition(':')
    command = getattr(importlib.import_module(module), attribute)
    return shlex.split(command.example)


class ExamplesTestCase(base.IntegrationTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic = ironics.AllInOne.shared(
            {
                'inspection_queue': {'enabled': True},
                'inspection_rules': {'keep_history': 1},
            }
        ).ironic
        self.client = self.ironic.client()
        self.addCleanup(self.client.close)
        self.addCleanup(self.client.call, 'DELETE', '/v1/inspection_rules')
        self.scratch = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        data = base.ramdisk_data(base.new_mac())
        self.write('rules.yaml', _RULES)
        self.write('orders.yaml', _WITH_TABLE)
        self.write('old-rules.yaml', [{**_RULES[0], 'priority': 1}])
        self.write('inspector-rules.json', _OF_INSPECTOR)
        for name in ('one', 'two'):
            self.write(
                f'machines/{name}.json', {'inventory': data['inventory']}
            )

    def write(self, name: str, content: object) -> None:
        path = self.scratch / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))

    def call(self, program: str, *words: str) -> tuple[int, str]:
        done = subprocess.run(
            [*service.console_script(program), *words],
            cwd=self.scratch,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={
                **os.environ,
                'OS_AUTH_TYPE': 'none',
                'OS_ENDPOINT': self.ironic.url,
            },
            check=False,
        )
        return done.returncode, done.stdout

    def test_examples_on_files(self) -> None:
        for name, place in _commands('ironic_inspection_rules.commands'):
            status, output = self.call(
                'ironic-inspection-rules', name, *_words(place)
            )
            if name == 'collect' and status:
                # It says what it would need on this machine.
                self.assertIn('collect needs', output)
                continue
            self.assertIn(status, _RESULTS, f'{name}\n{output}')

    def test_examples_of_the_client(self) -> None:
        mac = base.new_mac()
        node = self.client.enroll([mac], name=_NODE)
        self.addCleanup(self.client.delete, f'/v1/nodes/{node}')
        self.client.call('PUT', '/v1/inspection_rules', _WITH_TABLE)
        self.client.inspect(node, base.ramdisk_data(mac))
        commands = dict(_commands('openstack.baremetal.v1'))
        first = [name for name in commands if name not in _LAST]
        for name in (*first, *_LAST):
            words = _words(commands[name])
            status, output = self.call('openstack', *name.split('_'), *words)
            if name in _OF_REQUESTS:
                self.assertIn(words[0], output, name)
                continue
            self.assertIn(status, _RESULTS, f'{name}\n{output}')


def _commands(group: str) -> list[tuple[str, str]]:
    """Return names and entry points of a group.

    :raises: SkipTest if this is no checkout.
    """
    commands: dict[str, str] = test_help.entry_points(  # type: ignore
        group
    )
    if not commands:
        raise unittest.SkipTest('not a checkout: no setup.cfg')
    return list(commands.items())
