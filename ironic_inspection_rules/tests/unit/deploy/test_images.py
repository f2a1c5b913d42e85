# SPDX-License-Identifier: Apache-2.0

"""The layers on images of Kolla and Metal3, as far as no image is needed."""

import os
import pathlib
import re
import shlex
import subprocess

import fixtures
from ironic.conf import CONF
import jinja2

from ironic_inspection_rules import conf
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

SOURCE = guide.ROOT / 'deploy'
DBSYNC = 'ironic-inspection-rules-dbsync'


class ImageMixin:
    """Directories that stand for an image."""

    def setUp(self):
        if not SOURCE.is_dir():
            self.skipTest('not a checkout: no deploy')
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.log = self.root / 'asked'

    def write(self, path, text, mode=0o644):
        target = self.root / path.lstrip('/')
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def record(self, *programs):
        """Have programs write down what they are asked."""
        for name in programs:
            self.write(
                f'usr/bin/{name}',
                f'#!/bin/bash\necho {name} "$@" >> {self.log}\n',
                0o755,
            )

    def run_in(self, text, ends_with=0, **variables):
        """Run a line, with the paths of an image below our root."""
        done = subprocess.run(
            [
                'bash',
                '-ec',
                re.sub(
                    r'(?<![\w.}])/(bin|usr|tmp|etc)/',
                    rf'{self.root}/\1/',
                    text,
                ),
            ],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                'PATH': f'{self.root}/usr/bin:{os.environ["PATH"]}',
                **variables,
            },
        )
        self.assertEqual(ends_with, done.returncode, done.stdout)

    def asked(self):
        lines = self.log.read_text().splitlines()
        self.log.unlink()
        return lines

    def read_config(self, *files):
        conf.register_opts(CONF)
        CONF(
            [],
            project='ironic',
            default_config_dirs=[],
            default_config_files=[str(file) for file in files],
        )
        conf.check(CONF)


class KollaTestCase(ImageMixin, base.IronicTestCase):
    def lines(self, package='git+https://x/rules'):
        """Render the override as kolla-build does.

        :returns: what is run in ``ironic-base``, and in ``ironic-api``.
        """
        blocks = ('ironic_base_footer', 'ironic_api_footer')
        override = SOURCE.joinpath('kolla', 'template-override.j2')
        template = jinja2.Environment(
            loader=jinja2.DictLoader(
                {
                    'parent': '@'.join(
                        f'{{% block {name} %}}{{% endblock %}}'
                        for name in blocks
                    ),
                    'override': override.read_text().replace(
                        "package = ''", f"package = '{package}'"
                    ),
                }
            )
        ).get_template('override')
        rendered = template.render(parent_template='parent')
        return [
            part.strip().removeprefix('RUN ') for part in rendered.split('@')
        ]

    def test_the_package_is_installed_under_constraints(self):
        self.record('pip')
        self.run_in(self.lines()[0])
        (asked,) = self.asked()
        self.assertIn(
            '-c /requirements/upper-constraints.txt git+https://x/rules', asked
        )
        self.run_in(self.lines('')[0], ends_with=1)
        self.assertFalse(self.log.exists())

    def test_the_bootstrap_container_makes_the_tables(self):
        script = '/usr/local/bin/kolla_ironic_extend_start'
        self.write(
            script,
            'if [[ "${!KOLLA_BOOTSTRAP[@]}" ]]; then\n'
            '    ironic-dbsync upgrade\n'
            '    ironic-dbsync online_data_migrations\n    exit 0\nfi\n'
            'if [[ "${!KOLLA_UPGRADE[@]}" ]]; then\n'
            '    ironic-dbsync upgrade\n    exit 0\nfi\n',
        )
        self.run_in(self.lines()[1])
        self.record('ironic-dbsync', DBSYNC)
        self.run_in(f'. {script}', KOLLA_BOOTSTRAP='')
        self.assertEqual(
            [
                'ironic-dbsync upgrade',
                f'{DBSYNC} upgrade',
                'ironic-dbsync online_data_migrations',
            ],
            self.asked(),
        )
        self.run_in(f'. {script}', KOLLA_UPGRADE='')
        self.assertEqual(
            ['ironic-dbsync upgrade', f'{DBSYNC} upgrade'], self.asked()
        )

    def test_the_build_fails_where_the_script_is_another(self):
        self.write('/usr/local/bin/kolla_ironic_extend_start', 'exit 0\n')
        self.run_in(self.lines()[1], ends_with=1)

    def test_ironic_understands_the_configuration(self):
        path = SOURCE / 'kolla' / 'config' / 'ironic.conf'
        with_queue = self.root / 'ironic.conf'
        with_queue.write_text(
            re.sub('^#', '', path.read_text(), flags=re.MULTILINE).replace(
                ' Durable inspection; needs worker.yml and a coordination '
                'service.\n',
                '',
            )
        )
        for file in (path, with_queue):
            self.read_config(file)
            self.assertEqual(['inspection-rules'], CONF.api.middleware)
            self.assertTrue(
                CONF.inspector.hooks.endswith(',inspection-rules'), repr(file)
            )
            self.assertIn('ramdisk-error', CONF.inspector.hooks)
        self.assertTrue(CONF.inspection_queue.enabled)


class Metal3TestCase(ImageMixin, base.IronicTestCase):
    def instructions(self, name):
        """Return what follows an instruction, for each of the last image."""
        text = SOURCE.joinpath('metal3', 'Dockerfile').read_text()
        joined = re.sub(r'\\\n', '', text.rpartition('\nFROM ')[2])
        return re.findall(rf'^{name} (.*)$', joined, re.MULTILINE)

    def test_the_python_of_ironic_gets_the_package(self):
        self.write('usr/bin/ironic', f'#!{self.root}/usr/bin/python3.99\n')
        self.write('tmp/wheels/one.whl', '')
        self.record('python3.99')
        self.run_in(self.instructions('RUN')[0])
        # What is there is not changed by what the package requires.
        self.assertEqual(
            [
                'python3.99 -m pip list --format=freeze',
                f'python3.99 -m pip install --no-cache-dir --prefix /usr '
                f'-c {self.root}/tmp/constraints.txt '
                f'{self.root}/tmp/wheels/one.whl',
            ],
            self.asked(),
        )
        self.assertTrue(self.root.joinpath('tmp', 'constraints.txt').exists())

    def test_tables_are_made_at_each_start(self):
        self.write(
            'bin/runironic',
            '#!/usr/bin/bash\n'
            'run_ironic_dbsync() { ironic-dbsync upgrade; }\n'
            'if [[ "${IRONIC_SKIP_DBSYNC:-false}" != true ]]; then\n'
            '    run_ironic_dbsync\nfi\n'
            'exec /usr/bin/ironic --config-dir "${IRONIC_CONF_DIR}"\n',
        )
        self.run_in(self.instructions('RUN')[1])
        self.record('ironic-dbsync', DBSYNC, 'ironic')
        made = f'{DBSYNC} --config-file /conf/ironic/ironic.conf upgrade'
        started = 'ironic --config-dir /conf/ironic'
        self.run_in(
            self.root.joinpath('bin', 'runironic').read_text(),
            IRONIC_CONF_DIR='/conf/ironic',
        )
        self.assertEqual(
            ['ironic-dbsync upgrade', made, started], self.asked()
        )
        # The operator has a job for Ironic's own tables.
        self.run_in(
            self.root.joinpath('bin', 'runironic').read_text(),
            IRONIC_CONF_DIR='/conf/ironic',
            IRONIC_SKIP_DBSYNC='true',
        )
        self.assertEqual([made, started], self.asked())

    def test_the_build_fails_where_the_script_is_another(self):
        self.write('bin/runironic', 'exec ironic\n')
        self.run_in(self.instructions('RUN')[1], ends_with=1)

    def test_the_hooks_of_the_image_stay(self):
        template = 'etc/ironic/ironic.conf.j2'
        self.write(
            template,
            '[inspector]\nhooks = $default_hooks'
            "{% if env.LLDP == '1' %},parse-lldp{% if env.NETWORKING %}"
            ',local-link-connection{% endif %}{% endif %}\n'
            'add_ports = all\n',
        )
        self.run_in(self.instructions('RUN')[2])
        for env, hooks in (
            ({}, ''),
            ({'LLDP': '1'}, ',parse-lldp'),
            (
                {'LLDP': '1', 'NETWORKING': 'true'},
                ',parse-lldp,local-link-connection',
            ),
        ):
            rendered = jinja2.Template(
                self.root.joinpath(template).read_text()
            ).render(env=env)
            self.assertIn(
                f'hooks = $default_hooks{hooks},inspection-rules\n', rendered
            )
        self.write(template, '[inspector]\nadd_ports = all\n')
        self.run_in(self.instructions('RUN')[2], ends_with=1)

    def test_the_environment_goes_before_what_the_image_renders(self):
        rendered = self.root / 'ironic.conf'
        rendered.write_text(
            '[DEFAULT]\nrpc_transport = none\n[inspector]\n'
            'hooks = $default_hooks,inspection-rules\n'
        )
        for line in self.instructions('ENV'):
            # As a build reads it: quotes and backslashes go.
            name, _equals, value = shlex.split(line)[0].partition('=')
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.read_config(rendered)
        self.assertEqual(['inspection-rules'], CONF.api.middleware)
        self.assertTrue(CONF.inspector.hooks.endswith(',inspection-rules'))
        self.assertIn('ramdisk-error', CONF.inspector.hooks)
        source, target = self.instructions('COPY')[-1].split()
        self.assertEqual(CONF.inspection_rules.built_in, target)
        rules = document.load(str(SOURCE / 'metal3' / source))
        (rule,) = file_rule.load_built_in(rules, registry.installed())
        self.assertEqual('audit', rule.mode)
