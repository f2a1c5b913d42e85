# SPDX-License-Identifier: Apache-2.0

"""The clients that operators have, as they are."""

import json
import subprocess

from openstack import connection

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action
from ironic_inspection_rules.tests.live import service

_ACTIONS = [action('set-attribute', '/extra/a', 1)]
_CONDITIONS = [{'op': 'eq', 'args': [1, 1]}]


class CommandLineTestCase(base.TestCase):
    """The ``openstack`` command with python-ironicclient."""

    def openstack(self, *arguments: str) -> str:
        done = subprocess.run(
            [
                *service.console_script('openstack'),
                '--os-auth-type',
                'none',
                '--os-endpoint',
                self.ironic.url,
                'baremetal',
                'inspection',
                'rule',
                *arguments,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_a_rule_from_its_making_to_its_end(self) -> None:
        made = json.loads(
            self.openstack(
                'create',
                '-f',
                'json',
                '--actions',
                json.dumps(_ACTIONS),
                '--priority',
                '5',
                '--sensitive',
                'false',
            )
        )
        self.assertEqual([], made['conditions'])
        self.assertEqual(5, made['priority'])
        self.assertEqual({'a': 1}, self.inspect()['extra'])
        self.openstack(
            'set', made['uuid'], '--description', 'one', '--priority', '7'
        )
        shown = json.loads(self.openstack('show', '-f', 'json', made['uuid']))
        self.assertEqual((7, 'one'), (shown['priority'], shown['description']))
        listed = json.loads(self.openstack('list', '-f', 'json'))
        self.assertEqual([made['uuid']], [rule['uuid'] for rule in listed])
        self.openstack('unset', made['uuid'], '--description', '--priority')
        shown = json.loads(self.openstack('show', '-f', 'json', made['uuid']))
        self.assertEqual((0, None), (shown['priority'], shown['description']))
        self.openstack('delete', made['uuid'])
        self.assertEqual([], json.loads(self.openstack('list', '-f', 'json')))


class SdkTestCase(base.TestCase):
    """openstacksdk."""

    def test_a_rule_from_its_making_to_its_end(self) -> None:
        cloud = connection.Connection(
            auth_type='none',
            endpoint=self.ironic.url,
            baremetal_endpoint_override=self.ironic.url,
        )
        self.addCleanup(cloud.close)
        rules = cloud.baremetal
        made = rules.create_inspection_rule(
            actions=_ACTIONS, conditions=_CONDITIONS, description='one'
        )
        self.assertEqual('main', made.phase)
        self.assertEqual({'a': 1}, self.inspect()['extra'])
        self.assertEqual(
            _CONDITIONS, rules.get_inspection_rule(made.id).conditions
        )
        self.assertEqual(
            [made.id], [rule.id for rule in rules.inspection_rules()]
        )
        (detailed,) = rules.inspection_rules(detail=True)
        self.assertEqual(_ACTIONS, detailed.actions)
        patched = rules.patch_inspection_rule(
            made, [{'op': 'replace', 'path': '/priority', 'value': 3}]
        )
        self.assertEqual(3, patched.priority)
        rules.delete_inspection_rule(made)
        self.assertEqual([], list(rules.inspection_rules()))
