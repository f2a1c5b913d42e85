# SPDX-License-Identifier: Apache-2.0

"""Kayobe's own role and its default rules, unchanged, on a real Ironic.

``IR_KAYOBE`` names a checkout of Kayobe, ``IR_ANSIBLE_COLLECTIONS`` a
directory with the collection ``openstack.cloud``.
"""

import json
import os
import pathlib
import sys
from typing import Any

import fixtures

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import playbook

_VARIABLES = {
    'ipmi_username': 'admin',
    'ipmi_password': 's3cret',
    'ipa_kernel_options': [],
    'ipa_kernel_upstream_url': '',
    'inspector_rules_redfish_enabled': True,
}

# What ansible/overcloud-introspection-rules.yml gives to the role.
_ROLE = """\
- hosts: localhost
  connection: local
  gather_facts: false
  vars_files: ["{{ kayobe }}/ansible/inventory/group_vars/all/inspector"]
  roles:
    - role: "{{ kayobe }}/ansible/roles/ironic-inspector-rules"
      ironic_inspector_venv: "{{ venv }}"
      ironic_inspector_auth_type: none
      ironic_inspector_auth: {endpoint: "{{ ironic }}"}
      ironic_inspector_rules: "{{ inspector_rules }}"
      inspector_rule_var_ipmi_username: "{{ inspector_ipmi_username }}"
      inspector_rule_var_ipmi_password: "{{ inspector_ipmi_password }}"
      inspector_rule_var_redfish_username: "{{ inspector_redfish_username }}"
      inspector_rule_var_redfish_password: "{{ inspector_redfish_password }}"
      inspector_rule_var_lldp_switch_port_interface: eth0
      inspector_rule_var_deploy_kernel: http://images.example.com/kernel
      inspector_rule_var_deploy_ramdisk: http://images.example.com/ramdisk
"""


class RoleTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        kayobe = os.environ.get('IR_KAYOBE')
        collections = os.environ.get('IR_ANSIBLE_COLLECTIONS')
        if not kayobe or not collections:
            self.skipTest('no IR_KAYOBE, or no IR_ANSIBLE_COLLECTIONS')
        self.kayobe = pathlib.Path(kayobe)
        self.collections = collections
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def play(self) -> str:
        """Run the role, and return what it says in the end."""
        path = self.directory / 'rules.yml'
        path.write_text(_ROLE)
        done = playbook.run(
            str(self.directory),
            'ansible-playbook',
            '-i',
            'localhost,',
            '-e',
            json.dumps(
                {
                    **_VARIABLES,
                    'kayobe': str(self.kayobe),
                    'venv': self.environment(),
                    'ironic': self.ironic.url,
                }
            ),
            str(path),
            ANSIBLE_COLLECTIONS_PATH=os.pathsep.join(
                (self.collections, str(self.stand_in()))
            ),
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertNotIn('s3cret', done.stdout)
        return done.stdout.splitlines()[-2]

    def stand_in(self) -> pathlib.Path:
        """Return collections with a role that would install openstacksdk."""
        role = self.directory.joinpath(
            'ansible_collections',
            'stackhpc',
            'openstack',
            'roles',
            'os_openstacksdk',
            'tasks',
        )
        role.mkdir(parents=True, exist_ok=True)
        role.joinpath('main.yml').write_text('[]\n')
        return self.directory

    def environment(self) -> str:
        """Return a directory whose Python is this one."""
        python = self.directory / 'bin' / 'python'
        python.parent.mkdir(exist_ok=True)
        if not python.exists():
            python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
            python.chmod(0o755)
        return str(self.directory)

    def get(self, path: str) -> Any:
        return self.client.call('GET', f'/v1/inspection_rules{path}')

    def test_the_role_registers_its_rules(self) -> None:
        self.assertRegex(self.play(), 'failed=0')
        rules = self.get('')['inspection_rules']
        self.assertEqual(12, len(rules))
        first = self.revision()
        # It deletes and creates each rule again, as it does on stock Ironic.
        self.assertRegex(self.play(), 'failed=0')
        self.assertEqual(
            {rule['uuid'] for rule in rules},
            {rule['uuid'] for rule in self.get('')['inspection_rules']},
        )
        # A rule that comes back as it was costs no revision.
        self.assertEqual(first, self.revision())

    def revision(self) -> int:
        newest: int = self.get('/revisions')['revisions'][0]['revision']
        return newest
