# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""ironic-inspector's client, as it is, and the rules it brings."""

import json
import os
import pathlib
import shlex
import subprocess

import fixtures
import ironic_inspector_client

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.live import service

PAGE = 'admin/moving-from-inspector.rst'
RULES = [
    {'description': 'Remember the vendor',
     'conditions': [
         {'field': 'data://inventory.system_vendor.manufacturer',
          'op': 'is-empty', 'invert': True},
         {'field': 'node://extra.vendor', 'op': 'is-empty'}],
     'actions': [
         {'action': 'set-attribute', 'path': 'extra/vendor',
          'value': '{data[inventory][system_vendor][manufacturer]}'},
         {'action': 'set-capability', 'name': 'known', 'value': 'yes'}]},
    {'description': 'Nothing is known before the first action',
     'conditions': [{'field': 'node://extra.vendor', 'op': 'is-empty',
                     'invert': True}],
     'actions': [{'action': 'set-attribute', 'path': 'extra/late',
                  'value': True}]},
]


class InspectorClientTestCase(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.client.call, 'DELETE', '/v1/rules')

    def openstack(self, *arguments: str) -> str:
        done = subprocess.run(
            [*service.console_script('openstack'), '--os-auth-type', 'none',
             '--os-endpoint', self.ironic.url, '--inspector-url',
             self.ironic.url, 'baremetal', 'introspection', 'rule',
             *arguments], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_commands_from_import_to_purge(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'r')
        path.write_text(json.dumps(RULES))
        first, second = json.loads(self.openstack(
            'import', '-f', 'json', str(path)))
        self.assertEqual(RULES[0]['description'], first['Description'])
        self.assertEqual([first, second], json.loads(
            self.openstack('list', '-f', 'json')))
        shown = json.loads(self.openstack('show', '-f', 'json',
                                          first['UUID']))
        self.assertEqual(RULES[0]['actions'], shown['actions'])
        self.openstack('delete', second['UUID'])
        self.openstack('purge')
        self.assertEqual([], json.loads(self.openstack('list', '-f',
                                                       'json')))

    def test_rules_run_as_they_did(self) -> None:
        client = ironic_inspector_client.ClientV1(
            api_version=(1, 18), inspector_url=self.ironic.url)
        for rule in RULES:
            client.rules.from_json(rule)
        node = self.inspect()
        self.assert_inspected(node)
        vendor = base.ramdisk_data(base.new_mac())['inventory'][
            'system_vendor']['manufacturer']
        self.assertEqual({'vendor': vendor}, node['extra'])
        self.assertEqual('known:yes', node['properties']['capabilities'])

    def test_the_page_about_moving_says_how(self) -> None:
        if not guide.exists(PAGE):
            self.skipTest('not a checkout: no documentation')
        directory = self.useFixture(fixtures.TempDir()).path
        for name, text in guide.files(PAGE).items():
            pathlib.Path(directory, name).write_text(text)
        step, = (step for step in guide.steps(PAGE)
                 if step.command.startswith('openstack')
                 and ' import ' in step.command)
        command = step.command.replace(
            'openstack', shlex.join(service.console_script('openstack')), 1)
        printed = guide.carry_out(
            guide.Step(command, step.output), directory, {
                **os.environ, 'OS_AUTH_TYPE': 'none',
                'OS_ENDPOINT': self.ironic.url,
                'INSPECTOR_URL': self.ironic.url})
        self.assertEqual(guide.without_uuids(step.output),
                         guide.without_uuids(printed))

    def test_an_error_is_told_to_the_user(self) -> None:
        client = ironic_inspector_client.ClientV1(
            inspector_url=self.ironic.url)
        error = self.assertRaises(
            ironic_inspector_client.ClientError, client.rules.create,
            [{'op': 'eq', 'field': 'a b', 'value': 1}],
            [{'action': 'fail', 'message': 'no'}])
        self.assertIn('/conditions/0/field', str(error))
        self.assertNotIn('Ironic-style', str(error))
