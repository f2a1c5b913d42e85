# SPDX-License-Identifier: Apache-2.0

"""The pipelines of ``deploy/ci``, by what they say, and pre-commit's hooks."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import fixtures
from keystoneauth1 import loading
from openstack import config
import yaml

from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

SOURCE = guide.ROOT / 'deploy' / 'ci'
STARTER = SOURCE / 'starter'
WORKFLOW = STARTER / '.github' / 'workflows' / 'inspection-rules.yml'
ACTION = STARTER / '.github' / 'actions' / 'inspection-rules' / 'action.yml'
GITLAB = STARTER / '.gitlab-ci.yml'
ZUUL = SOURCE / 'zuul' / 'zuul.d' / 'inspection-rules.yaml'
HOOKS = guide.ROOT / '.pre-commit-hooks.yaml'


class CheckoutTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if not SOURCE.is_dir():
            self.skipTest('not a checkout: no pipelines')

    def read(self, path):
        return yaml.safe_load(path.read_text())


class PipelineTestCase(CheckoutTestCase):
    def test_forges_know_all_keys(self):
        if not importlib.util.find_spec('check_jsonschema'):
            self.skipTest('no check-jsonschema')
        for schema, path, *further in (
            ('github-actions', ACTION),
            ('github-workflows', WORKFLOW),
            ('gitlab-ci', GITLAB, '--data-transform', 'gitlab-ci'),
        ):
            done = subprocess.run(
                [
                    sys.executable,
                    '-m',
                    'check_jsonschema',
                    '--builtin-schema',
                    f'vendor.{schema}',
                    str(path),
                    *further,
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual(0, done.returncode, done.stdout)

    def test_github_applies_what_was_checked_on_the_main_branch(self):
        jobs = self.read(WORKFLOW)['jobs']
        for name in ('plan', 'apply'):
            self.assertEqual('check', jobs[name]['needs'])
        self.assertIn("github.ref == 'refs/heads/main'", jobs['apply']['if'])
        self.assertIn("event_name == 'push'", jobs['apply']['if'])
        # A change may say what the job does: it gets no more than the login
        # to the package.
        self.assertEqual(
            ['INSPECTION_RULES_NETRC'],
            re.findall(r'secrets\.(\w+)', str(jobs['check'])),
        )
        inputs = self.read(ACTION)['inputs']
        for name, job in jobs.items():
            given = job['steps'][-1]['with']
            self.assertEqual(name, given['command'])
            self.assertLessEqual(given.keys(), inputs.keys())
            self.assertEqual(
                '${{ vars.INSPECTION_RULES_PACKAGE }}', given['package']
            )

    def test_what_to_install_is_asked_for(self):
        run = self.read(ACTION)['runs']['steps'][0]['run']
        line = self.read(GITLAB)['.inspection-rules']['before_script'][0]
        for text, name in (
            (run, 'PACKAGE'),
            (line, 'INSPECTION_RULES_PACKAGE'),
        ):
            told = subprocess.run(
                ['/bin/bash', '-ec', text],
                capture_output=True,
                text=True,
                env={'PATH': '/nowhere'},
            )
            self.assertNotEqual(0, told.returncode, (text, name))
            self.assertIn(f'{name}: ', told.stderr)
            self.assertNotIn('not found', told.stderr)

    def test_no_address_is_left_to_fill_in(self):
        for path in SOURCE.parent.rglob('*'):
            if path.is_file() and path.suffix != '.pyc':
                self.assertNotIn('OWNER', path.read_text(), path)

    def test_the_shell_of_the_action_gets_values_by_its_environment(self):
        for step in self.read(ACTION)['runs']['steps']:
            self.assertNotIn('${{', step['run'], step['name'])

    def test_the_comment_on_github_is_as_long_as_a_comment_may_be(self):
        directory = self.useFixture(fixtures.TempDir()).path
        for name, text in (
            ('openstack', 'printf "+ %80000s\\n" end; exit 2'),
            ('gh', ':'),
        ):
            path = pathlib.Path(directory, name)
            path.write_text(f'#!/bin/bash\n{text}\n')
            path.chmod(0o755)
        (run,) = (
            step['run']
            for step in self.read(ACTION)['runs']['steps']
            if step['name'] == 'Plan'
        )
        subprocess.run(
            ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', run],
            check=True,
            cwd=directory,
            env={
                **os.environ,
                'PATH': f'{directory}:{os.environ["PATH"]}',
                'GITHUB_STEP_SUMMARY': 'summary.md',
            },
        )
        summary = pathlib.Path(directory, 'summary.md').read_text()
        self.assertIn(' end\n````\n', summary)
        comment = pathlib.Path(directory, 'plan.md').read_text()
        self.assertLess(len(comment), 65536)
        self.assertTrue(
            comment.endswith(
                '\nThe rest is in the summary of this job.\n````\n'
            )
        )

    def test_gitlab_applies_what_was_checked_on_the_main_branch(self):
        jobs = self.read(GITLAB)
        for name in ('plan', 'apply'):
            self.assertEqual(
                ['inspection-rules-check'],
                jobs[f'inspection-rules-{name}']['needs'],
            )
        (check,) = jobs['inspection-rules-apply']['rules']
        self.assertEqual(
            '$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH', check['if']
        )
        self.assertIn(check, jobs['inspection-rules-check']['rules'])

    def test_the_playbooks_of_zuul_are_there(self):
        jobs = {}
        for each in self.read(ZUUL):
            if 'job' in each:
                jobs[each['job']['name']] = each['job']
            project = each.get('project', {})
        for name, job in jobs.items():
            for phase in ('pre-run', 'run'):
                if phase in job:
                    path = SOURCE / 'zuul' / job[phase]
                    self.assertEqual(
                        'all', self.read(path)[0]['hosts'], (name, phase)
                    )
        self.assertNotIn('secrets', jobs['inspection-rules-check'])
        for name in ('plan', 'apply'):
            job = jobs[f'inspection-rules-{name}']
            self.assertTrue(job['post-review'], name)
        self.assertIn('inspection-rules-check', project['gate']['jobs'])
        self.assertEqual(
            {'jobs': ['inspection-rules-apply']}, project['promote']
        )

    def test_the_credentials_are_of_the_whole_system(self):
        page = guide.Page('deploy/ci/README.rst')
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'clouds')
        path.write_text(page.files['clouds.yaml'])
        (cloud,) = config.OpenStackConfig(
            config_files=[str(path)], load_envvars=False
        ).get_all()
        (secret,) = yaml.safe_load(
            re.sub(r'!.*\n.*', 'x', page.files['zuul.d/secret.yaml'])
        )
        options = {
            option.dest
            for option in loading.get_plugin_loader('password').get_options()
        }
        for auth in (
            cloud.config['auth'],
            {
                name.removeprefix('OS_').lower(): value
                for name, value in secret['secret']['data'].items()
            },
        ):
            self.assertLessEqual(auth.keys(), options, repr(auth))
            # Rules belong to no project: Ironic asks for this scope.
            self.assertEqual('all', auth['system_scope'])

    def test_the_page_names_what_is_to_be_set(self):
        page = SOURCE.joinpath('README.rst').read_text()
        for path in (WORKFLOW, GITLAB):
            for name in re.findall(
                r'secrets\.(\w+)|\$(OS_CLIENT_\w+|'
                r'INSPECTION_RULES_'
                r'(?:TOKEN|EXPECT|NETRC))',
                path.read_text(),
            ):
                self.assertIn(f'``{name[0] or name[1]}``', page)


class StarterTestCase(CheckoutTestCase):
    """The rules and machines of the starter, as they are copied."""

    def call(self, *words):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(STARTER)
        return shell.main([*words])

    def test_the_rules_are_right_and_do_what_is_expected(self):
        self.assertEqual(0, self.call('lint', 'rules'))
        rules = ('test', 'rules', '--inventory', 'machines')
        self.assertEqual(0, self.call(*rules, '--expect', 'expected.yaml'))
        # One machine is not like the others: without what is expected of
        # it, the check would fail.
        self.assertEqual(2, self.call(*rules))

    def unknown(self, *words):
        """Return the rules about which a proof answers "unknown"."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(0, self.call('prove', *words, '-f', 'json'))
        answers = json.loads(output.getvalue())['answers']
        return {
            name
            for answer in answers
            for name in answer['rules']
            if answer['verdict'] == 'unknown'
        }

    def test_a_profile_makes_what_follows_it_uncertain(self):
        if not importlib.util.find_spec('z3'):
            self.skipTest('no z3')
        tag = 'Tag machines with 64 processors and more'
        self.assertEqual({'server-64: begin', tag}, self.unknown('rules'))
        # As README.md says to do.
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'tag')
        (rule,) = self.read(STARTER / 'rules' / 'tag.yaml')
        path.write_text(yaml.safe_dump([rule | {'priority': 31}]))
        self.assertEqual(
            {'server-64: begin'},
            self.unknown('rules/server-64.yaml', str(path)),
        )

    def test_pre_commit_tries_what_is_expected(self):
        if not importlib.util.find_spec('pre_commit'):
            self.skipTest('no pre-commit')
        path = STARTER / '.pre-commit-config.yaml'
        subprocess.run(
            [sys.executable, '-m', 'pre_commit', 'validate-config', str(path)],
            check=True,
        )
        known = {hook['id'] for hook in self.read(HOOKS)}
        for repository in self.read(path)['repos']:
            for hook in repository['hooks']:
                self.assertIn(hook['id'], known)

    def test_pre_commit_tries_rules_when_what_is_expected_changes(self):
        (repository,) = self.read(STARTER / '.pre-commit-config.yaml')['repos']
        hooks = {hook['id']: hook for hook in self.read(HOOKS)}
        for hook in repository['hooks']:
            hooks[hook['id']].update(hook)
        files = hooks['inspection-rules-test']['files']
        for path in STARTER.rglob('*.*'):
            name = path.relative_to(STARTER).as_posix()
            is_tried = name == 'expected.yaml' or name.startswith(
                ('rules/', 'machines/')
            )
            self.assertEqual(is_tried, bool(re.search(files, name)), name)

    def test_hooks_of_other_folders_are_described(self):
        readme = (SOURCE / 'README.rst').read_text()
        text = readme.rpartition(':caption: .pre-commit-config.yaml\n\n')[2]
        (repository,) = yaml.safe_load(text)['repos']
        (hook,) = repository['hooks']
        hooks = {known['id']: known for known in self.read(HOOKS)}
        known = hooks[hook['id']]
        self.assertLessEqual(hook.keys(), known.keys())
        command, folder = known['entry'].rsplit(' ', 1)
        self.assertEqual('rules', folder)
        self.assertEqual(f'{command} inspection', hook['entry'])


class HooksTestCase(CheckoutTestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        for name, text in (
            (
                'rules/tag.yaml',
                'description: Tag\nactions:\n'
                '- {op: add-trait, args: [CUSTOM_BIG]}\n',
            ),
            ('machines/one.yaml', 'inventory: {cpu: {count: 1}}\n'),
        ):
            path = self.directory / name
            path.parent.mkdir()
            path.write_text(text)

    def run_hook(self, name, *changed):
        """Run a hook as pre-commit does.

        :param changed: paths of the files of a commit; none: of all files.
        :returns: the exit status, None if the hook is not for these files.
        """
        (hook,) = (hook for hook in self.read(HOOKS) if hook['id'] == name)
        program, *arguments = shlex.split(hook['entry'])
        self.assertEqual('ironic-inspection-rules', program)
        files = changed or [
            path.relative_to(self.directory).as_posix()
            for path in self.directory.rglob('*.*')
        ]
        concerned = [path for path in files if re.search(hook['files'], path)]
        if not concerned:
            return None
        if hook.get('pass_filenames', True):
            arguments += concerned
        return shell.main(arguments)

    def test_pre_commit_understands_them(self):
        if not importlib.util.find_spec('pre_commit'):
            self.skipTest('no pre-commit')
        subprocess.run(
            [
                sys.executable,
                '-m',
                'pre_commit',
                'validate-manifest',
                str(HOOKS),
            ],
            check=True,
        )

    def test_hooks_lint_mend_and_test(self):
        self.assertEqual(0, self.run_hook('inspection-rules-test'))
        self.assertEqual(1, self.run_hook('inspection-rules-lint'))
        self.assertEqual(0, self.run_hook('inspection-rules-fix'))
        self.assertIn(
            'name: CUSTOM_BIG',
            self.directory.joinpath('rules/tag.yaml').read_text(),
        )
        self.assertEqual(0, self.run_hook('inspection-rules-lint'))
        self.directory.joinpath('rules/tag.yaml').write_text(
            'actions: [{op: fail, args: {msg: no}}]\n'
        )
        self.assertEqual(2, self.run_hook('inspection-rules-test'))

    def test_rows_of_tables_are_checked_as_part_of_the_rules(self):
        for name, good, bad in (
            ('rows.csv', 'serial\nSN1\n', 'serial\nSN1\nSN1\n'),
            ('rows.yaml', '- serial: SN1\n', '- serail: SN1\n'),
            ('rows.json', '[{"serial": "SN1"}]', '[{"serial": null}]'),
        ):
            self.directory.joinpath('rules/tag.yaml').write_text(
                f'tables: {{machines: {{file: {name}, key: serial}}}}\n'
                'rules:\n- conditions:\n'
                '  - op: exists\n'
                '    args: {value: "{tables.machines | row(\'SN1\')}"}\n'
                '  actions: [{op: log, args: {msg: seen}}]\n'
            )
            rows = self.directory / 'rules' / name
            for text, lint, test in ((good, 0, 0), (bad, 1, 1)):
                rows.write_text(text)
                for hook, status in (
                    ('inspection-rules-lint', lint),
                    ('inspection-rules-fix', lint),
                    ('inspection-rules-test', test),
                ):
                    self.assertEqual(
                        status,
                        self.run_hook(hook, f'rules/{name}'),
                        f'{hook} {name}',
                    )
            rows.unlink()
