# SPDX-License-Identifier: Apache-2.0

"""The Ansible collection of ``deploy/ansible``, with a real Ironic."""

import configparser
import functools
import getpass
import grp
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any
import venv

import fixtures
import yaml

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import distribution
from ironic_inspection_rules.tests.integration import fixtures as ironics
from ironic_inspection_rules.tests.integration import playbook
from ironic_inspection_rules.tests.live import launcher

SOURCE = guide.ROOT / 'deploy' / 'ansible'
MODULE = 'ironic.inspection_rules.rule_set'
TAG = """\
description: Tag big machines
conditions:
  - op: ge
    args: {values: ["{inventory[cpu][count]}", 64]}
actions:
  - op: add-trait
    args: {name: CUSTOM_BIG}
"""
RACK = """\
tables:
  machines:
    file: machines.csv
    key: serial
    of: "{inventory.system_vendor.serial_number}"
    secret: [password]
rules:
  - description: Note the rack
    actions:
      - op: set-attribute
        args:
          path: /extra/rack
          value: "{tables.machines | row | get('rack')}"
"""


@functools.cache
def _collections() -> tempfile.TemporaryDirectory[str]:
    """Install the collection as its page says, once for a process."""
    directory = tempfile.TemporaryDirectory(dir=ironics.TEMP)
    playbook.run(
        directory.name,
        'ansible-galaxy',
        'collection',
        'install',
        str(SOURCE),
        '-p',
        directory.name,
    )
    return directory


class AnsibleMixin:
    """Runs plays on this machine."""

    def setUp(self) -> None:
        if not SOURCE.is_dir():
            self.skipTest('not a checkout: no collection')
        super().setUp()
        self.scratch = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def play(
        self,
        tasks: list[dict[str, Any]],
        *arguments: str,
        ends_with: int = 0,
        **play: Any,
    ) -> str:
        """Run tasks and return what is printed.

        :param play: further keys of the play.
        """
        path = self.scratch / 'play.yml'
        path.write_text(
            yaml.safe_dump(
                [
                    {
                        'hosts': 'localhost',
                        'connection': 'local',
                        'tasks': tasks,
                        'gather_facts': False,
                        **play,
                    }
                ]
            )
        )
        installed = _collections().name
        done = playbook.run(
            installed, 'ansible-playbook', str(path), *arguments
        )
        self.assertEqual(ends_with, done.returncode, done.stdout)
        return done.stdout

    def assert_changed(self, count: int, output: str) -> None:
        recap = re.findall(r'changed=(\d+)', output)
        self.assertEqual([str(count)], recap, output)


class RuleSetTestCase(AnsibleMixin, base.TestCase):
    def rule_sets(
        self,
        *runs: dict[str, Any],
        check: bool = False,
        ends_with: int = 0,
        verbose: bool = False,
    ) -> tuple[str, list[dict[str, Any]]]:
        """Run the module several times in one play.

        :param runs: options of each; ``module`` is another module.
        :returns: what is printed, and what the modules returned.
        """
        results = self.scratch / 'results.json'
        tasks: list[dict[str, Any]] = [
            {
                run.pop('module', MODULE): {
                    'auth_type': 'none',
                    'auth': {'endpoint': self.ironic.url},
                    **run,
                },
                'register': f'result{number}',
            }
            for number, run in enumerate(runs)
        ]
        names = ', '.join(f'result{number}' for number in range(len(runs)))
        tasks.append(
            {
                'ansible.builtin.copy': {
                    'content': f'{{{{ [{names}] }}}}',
                    'dest': str(results),
                },
                'check_mode': False,
                'changed_when': False,
                'diff': False,
            }
        )
        options = ['--diff']
        if check:
            options.append('--check')
        if verbose:
            options.append('-vvv')
        output = self.play(tasks, *options, ends_with=ends_with)
        return output, json.loads('[]' if ends_with else results.read_text())

    def write(self, text: str, name: str = 'rules.yaml') -> str:
        path = self.scratch / name
        path.write_text(text)
        return str(path)

    def stored(self) -> list[str]:
        return [
            rule['description']
            for rule in self.client.call('GET', '/v1/inspection_rules')[
                'inspection_rules'
            ]
        ]

    def test_rules_are_planned_then_put_then_left_as_they_are(self) -> None:
        run = {'src': self.write(TAG), 'message': 'From Ansible'}
        output, _planned = self.rule_sets(dict(run), check=True)
        self.assert_changed(1, output)
        self.assertIn('+ Tag big machines (known after apply)', output)
        self.assertIn('+    name: CUSTOM_BIG', output)
        self.assertIn('1 to create, 0 to update', output)
        self.assertEqual([], self.stored())

        output, (first,) = self.rule_sets(dict(run))
        self.assert_changed(1, output)
        (rule,) = first['rules']
        self.assertEqual(
            ('Tag big machines', 'created'),
            (rule['description'], rule['outcome']),
        )
        self.assertEqual(
            self.client.call('GET', f'/v1/inspection_rules/{rule["uuid"]}')[
                'revision'
            ],
            first['revision'],
        )
        revision = self.client.call('GET', '/v1/inspection_rules/revisions')[
            'revisions'
        ][0]
        self.assertEqual('From Ansible', revision['message'])

        output, (second,) = self.rule_sets(dict(run))
        self.assert_changed(0, output)
        self.assertNotIn('CUSTOM_BIG', output)
        self.assertEqual(
            (first['revision'], 'unchanged'),
            (second['revision'], second['rules'][0]['outcome']),
        )

    def test_rules_are_changed_pruned_and_shown(self) -> None:
        self.create_rule(base.action('log', msg='x'), description='Other')
        rule = yaml.safe_load(TAG)
        changed = yaml.safe_load(TAG.replace('64', '32'))
        info = f'{MODULE}_info'
        output, (put, update, prune, now, then) = self.rule_sets(
            {'rules': [rule]},
            {'rules': [changed]},
            {'rules': [changed], 'prune': True},
            {'module': info},
            {'module': info, 'revision': 1},
        )
        self.assertEqual(
            {'Other': 'unchanged', 'Tag big machines': 'created'},
            _outcomes(put),
        )
        self.assertEqual(
            [['conditions']],
            [
                each['fields']
                for each in update['rules']
                if each['outcome'] == 'updated'
            ],
        )
        self.assertIn('-    - 64\n+    - 32', output)
        self.assertEqual(
            {'Other': 'deleted', 'Tag big machines': 'unchanged'},
            _outcomes(prune),
        )
        self.assertEqual(['Tag big machines'], self.stored())
        self.assertEqual(prune['revision'], now['revision'])
        self.assertEqual(
            [changed['conditions']],
            [each['conditions'] for each in now['rules']],
        )
        self.assertEqual(1, then['revision'])

    def test_tables_of_files_are_planned_and_put_with_their_rules(
        self,
    ) -> None:
        self.write('serial,rack,password\nSN1,A1,s3cret\n', 'machines.csv')
        run = {'src': self.write(RACK)}
        output, (planned,) = self.rule_sets(dict(run), check=True)
        self.assert_changed(1, output)
        self.assertIn('+ table machines: 1 rows new', output)
        self.assertEqual(
            [('machines', 'created')],
            [(each['name'], each['outcome']) for each in planned['tables']],
        )
        output, (first,) = self.rule_sets(dict(run))
        self.assert_changed(1, output)
        self.assertNotIn('s3cret', output + json.dumps(first))
        stored = self.client.call('GET', '/v1/inspection_tables/machines')
        self.assertEqual('A1', stored['rows'][0]['row']['rack'])
        output, _second = self.rule_sets(dict(run))
        self.assert_changed(0, output)

        # Only a row differs, and no rule.
        self.write('serial,rack,password\nSN1,B7,s3cret\n', 'machines.csv')
        output, _changed = self.rule_sets(dict(run))
        self.assert_changed(1, output)
        self.assertIn('-SN1: {"rack": "A1"}', output)
        self.assertNotIn('Nothing to do', output)
        stored = self.client.call('GET', '/v1/inspection_tables/machines')
        self.assertEqual('B7', stored['rows'][0]['row']['rack'])

    def test_problems_are_named_by_their_place(self) -> None:
        self.write(TAG.replace('[cpu][count]', '[cpu][cuont]'), 'a.yaml')
        self.write(TAG.replace('add-trait', 'add-trate'), 'b.yaml')
        output, _none = self.rule_sets(
            {
                'src': [
                    str(self.scratch / name) for name in ('a.yaml', 'b.yaml')
                ]
            },
            ends_with=2,
        )
        self.assertIn('/a.yaml:4:', output)
        self.assertIn('"cuont"', output)
        self.assertIn('b.yaml:6:', output)
        self.assertIn('add-trate', output)
        self.assertEqual([], self.stored())

    def test_nothing_of_a_sensitive_rule_is_printed(self) -> None:
        rule = {
            'description': 'Credentials',
            'sensitive': True,
            'vars': {'user': 'r00t'},
            'conditions': [{'op': 'eq', 'args': ['{node.name}', 'm4chine']}],
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/driver_info/p4ssword', 's3cret'],
                }
            ],
        }
        secrets = ('s3cret', 'p4ssword', 'm4chine', 'r00t')
        path = self.write(yaml.safe_dump([{**rule, 'description': 'Other'}]))
        for check in (True, False):
            output, results = self.rule_sets(
                {'rules': [rule]}, {'src': path}, check=check, verbose=True
            )
            self.assertIn('"module_args"', output)
            self.assertIn('Credentials', output)
            self.assertIn('Nothing uses a value of the rule.', output)
            for secret in secrets:
                self.assertNotIn(secret, output)
                self.assertNotIn(secret, json.dumps(results))
        for wrong in (
            {'rules': [rule], 'nonsense': 1},
            {'rules': [{**rule, 'priority': 'x'}]},
        ):
            output, _none = self.rule_sets(wrong, verbose=True, ends_with=2)
            self.assertIn('"module_args"', output)
            for secret in secrets:
                self.assertNotIn(secret, output)

    def test_an_ironic_without_the_plugin_is_said_to_be_one(self) -> None:
        self.ironic = ironics.AllInOne.shared(
            {'api': {'middleware': None}, 'inspector': {'hooks': None}}
        ).ironic
        output, _none = self.rule_sets({'rules': []}, ends_with=2)
        self.assertIn("Ironic's API runs without the plugin", output)


def _outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {rule['description']: rule['outcome'] for rule in result['rules']}


class DocumentationTestCase(AnsibleMixin, base.IntegrationTestCase):
    def test_options_are_described_as_they_are(self) -> None:
        installed = _collections().name
        for name in (MODULE, f'{MODULE}_info'):
            shown = playbook.run(installed, 'ansible-doc', '--json', name)
            described = json.loads(shown.stdout)[name]['doc']['options']
            read = subprocess.run(
                [sys.executable, '-c', _SPECIFICATION, name],
                text=True,
                capture_output=True,
                cwd=installed,
                check=True,
            )
            taken = json.loads(read.stdout)
            self.assertEqual(set(taken), set(described))
            for option, kind in taken.items():
                for key in (
                    'type',
                    'default',
                    'choices',
                    'aliases',
                    'elements',
                ):
                    default = 'str' if key == 'type' else None
                    self.assertEqual(
                        kind.get(key, default) or None,
                        described[option].get(key, default) or None,
                        f'{name} {option} {key}',
                    )


_SPECIFICATION = """\
import importlib, json, sys
sys.path.insert(0, '.')
from ansible.module_utils import basic
def show(self, argument_spec, **kwargs):
    print(json.dumps(argument_spec))
    sys.exit()
basic.AnsibleModule.__init__ = show
collection, _dot, module = sys.argv[1].rpartition('.')
importlib.import_module(
    f'ansible_collections.{collection}.plugins.modules.{module}').main()
"""


# Stands for systemctl(1) of a host where systemd runs, which this machine may
# lack: what Ansible asks it, and the exit codes. Each request is written down.
_SYSTEMCTL = """\
#!/bin/bash
here=$(dirname "$0")/../units; unit=${2%.service}
[ "$1" = show ] || [ "$1" = is-enabled ] || echo "$*" >> "$here/asked"
[ "$1" = daemon-reload ] && { ls "$here" > "$here/loaded"; exit 0; }
known() { grep -qx "$unit.service" "$here/loaded"; }
case $1 in
    show)
        known && load=loaded || load=not-found
        [ -e "$here/$unit.runs" ] && state=active || state=inactive
        printf 'LoadState=%s\nActiveState=%s\n' $load $state ;;
    is-enabled)
        known || exit 1
        [ -e "$here/$unit.on" ] || { echo disabled; exit 1; }
        echo enabled ;;
    enable) known || exit 1; touch "$here/$unit.on" ;;
    start|restart) known || exit 5; touch "$here/$unit.runs" ;;
    *) exit 1 ;;
esac
"""


class InstallRoleTestCase(AnsibleMixin, base.IntegrationTestCase):
    """The role, on directories that stand for those of a host."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic = launcher.Ironic(
            self.scratch,
            {'api': {'middleware': None}, 'inspector': {'hooks': None}},
        )
        self.ironic.write_config()
        self.units = self.scratch / 'units'
        self.units.mkdir()
        for name in ('ironic-conductor', 'ironic-api'):
            self.units.joinpath(f'{name}.service').touch()
            self.units.joinpath(f'{name}.runs').touch()
        self.units.joinpath('loaded').write_text(
            'ironic-conductor.service\nironic-api.service\n'
        )
        systemctl = self.scratch / 'bin' / 'systemctl'
        systemctl.parent.mkdir()
        systemctl.write_text(_SYSTEMCTL)
        systemctl.chmod(0o755)
        self.useFixture(
            fixtures.EnvironmentVariable(
                'PATH', f'{systemctl.parent}:{os.environ["PATH"]}'
            )
        )
        self.drop_in = self.scratch / 'ironic.conf.d/inspection-rules.conf'

    def environment(self) -> pathlib.Path:
        """Make an environment that has all of this one but the package."""
        path = self.scratch / 'venv'
        venv.create(path, with_pip=True)
        (site,) = path.glob('lib/python*/site-packages')
        # Not as site directories: that would bring the editable package.
        site.joinpath('base.pth').write_text(
            '\n'.join(
                entry for entry in sys.path if entry.endswith('-packages')
            )
        )
        return path

    def install(self, *arguments: str, **variables: Any) -> str:
        prefix = 'ironic_inspection_rules_'
        return self.play(
            [],
            *arguments,
            gather_facts=True,
            roles=[
                {
                    'role': 'ironic.inspection_rules.install',
                    'vars': {
                        prefix + name: value
                        for name, value in variables.items()
                    },
                }
            ],
        )

    def test_a_host_is_set_up_once(self) -> None:
        rules = self.scratch / 'built-in.yaml'
        rules.write_text(f'[{json.dumps(yaml.safe_load(TAG))}]')
        virtualenv = self.environment()
        source = distribution.checkout(self.scratch)
        variables = {
            'package': str(distribution.wheel(source)),
            'virtualenv': str(virtualenv),
            'pip_arguments': '--no-deps --no-index --ignore-installed',
            'config_file': str(self.ironic.config),
            'config_directory': str(self.drop_in.parent),
            'built_in': str(rules),
            'worker': True,
            'options': {
                'inspection_rules': {'keep_runs': 7},
                'inspection_queue': {'enabled': True},
            },
            'owner': getpass.getuser(),
            'group': grp.getgrgid(os.getgid()).gr_name,
            'unit_directory': str(self.units),
        }
        self.install(**variables)
        worker = 'ironic-inspection-worker'
        self.assertEqual(
            [
                'daemon-reload',
                f'enable {worker}',
                f'start {worker}',
                'restart ironic-conductor',
                'restart ironic-api',
                'daemon-reload',
                f'restart {worker}',
            ],
            self.asked_of_systemd(),
        )
        variables['pip_arguments'] = '--no-deps --no-index'
        output = self.install(**variables)
        self.assert_changed(0, output)
        self.assertEqual(['daemon-reload'], self.asked_of_systemd())
        self.assert_systemd_understands_the_worker()

        options = configparser.RawConfigParser(strict=False)
        options.read(self.drop_in)
        self.assertEqual('7', options['inspection_rules']['keep_runs'])
        self.assert_the_plugin_is_on(virtualenv)
        override = self.units.joinpath(
            'ironic-inspection-worker.service.d', 'ironic.conf'
        ).read_text()
        self.assertIn(
            f'ExecStart={virtualenv}/bin/ironic-inspection-worker '
            f'--config-file {self.ironic.config} ',
            override,
        )

    def asked_of_systemd(self) -> list[str]:
        log = self.units / 'asked'
        lines = log.read_text().splitlines()
        log.unlink()
        return lines

    def assert_systemd_understands_the_worker(self) -> None:
        if not shutil.which('systemd-analyze'):
            return
        done = subprocess.run(
            [
                'systemd-analyze',
                'verify',
                '--man=no',
                '--recursive-errors=no',
                str(self.units / 'ironic-inspection-worker.service'),
            ],
            capture_output=True,
            text=True,
        )
        # It looks for the program that the drop-in names, too.
        self.assertEqual(
            (0, []),
            (
                done.returncode,
                [
                    line
                    for line in done.stderr.splitlines()
                    if 'ironic-inspection-worker' in line
                ],
            ),
        )

    def assert_the_plugin_is_on(self, virtualenv: pathlib.Path) -> None:
        """Read the configuration, and have Ironic check it at its start."""
        done = subprocess.run(
            [
                virtualenv / 'bin/python',
                '-c',
                _ON,
                self.ironic.config,
                self.drop_in.parent,
            ],
            capture_output=True,
            text=True,
            cwd=self.units,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            f'inspection-rules {virtualenv} Tag big machines\n', done.stdout
        )


_ON = """\
import sys
from ironic.common import service
from ironic.conf import CONF
import ironic_inspection_rules
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
config, directory = sys.argv[1:]
service.prepare_command(['x', '--config-file', config,
                         '--config-dir', directory])
assert CONF.inspector.hooks.endswith(',inspection-rules')
from ironic_inspection_rules import conf
conf.register_opts(CONF)
where = ironic_inspection_rules.__file__.partition('/lib/')[0]
print(*CONF.api.middleware, where, *(
    rule.description for rule in file_rule.load_built_in(
        document.load(CONF.inspection_rules.built_in),
        registry.installed())))
"""
