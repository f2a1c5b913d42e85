# SPDX-License-Identifier: Apache-2.0

"""The pipelines of ``deploy/ci``: what their jobs do, with a real Ironic."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import fixtures
import yaml

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import playbook
from ironic_inspection_rules.tests.live import service

SOURCE = guide.ROOT / 'deploy' / 'ci'
STARTER = SOURCE / 'starter'
TAG = """\
description: Tag big machines
conditions:
  - op: ge
    args: {values: ["{inventory[cpu][count]}", 64]}
actions:
  - op: add-trait
    args: {name: CUSTOM_BIG}
"""
MACHINE = """\
inventory:
  cpu: {count: 96, architecture: x86_64}
  interfaces: []
"""


class PipelineTestCase(base.TestCase):
    """A repository of rules, on a machine that runs jobs."""

    def setUp(self) -> None:
        if not SOURCE.is_dir():
            self.skipTest('not a checkout: no pipelines')
        super().setUp()
        self.scratch = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.bin = self.scratch / 'inspection-rules' / 'bin'
        self.write('repository/rules/tag.yaml', TAG)
        self.write('repository/machines/big.yaml', MACHINE)
        for name in ('openstack', 'ironic-inspection-rules'):
            _interpreter, _flag, program = service.console_script(name)
            self.program(name, f'#!{sys.executable}\n{program}\n')
        self.clouds = self.write(
            'clouds.yaml',
            json.dumps(
                {
                    'clouds': {
                        'one': {
                            'auth_type': 'none',
                            'auth': {'endpoint': self.ironic.url},
                        }
                    }
                }
            ),
        )

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, name: str, text: str) -> None:
        self.write(f'inspection-rules/bin/{name}', text).chmod(0o755)

    def recorded(self, name: str) -> None:
        """Have a program write down what it is asked, and do nothing."""
        self.program(
            name,
            f'#!/bin/bash\nprintf "%s\\n" "$@" >> {self.scratch}/{name}.log\n',
        )

    def asked(self, name: str) -> list[str]:
        return self.scratch.joinpath(f'{name}.log').read_text().splitlines()

    def shell(self, text: str, ends_with: int = 0, **variables: str) -> None:
        done = subprocess.run(
            ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', text],
            cwd=self.scratch / 'repository',
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                **variables,
                'PATH': f'{self.bin}:{os.environ["PATH"]}',
            },
        )
        self.assertEqual(ends_with, done.returncode, f'{text}\n{done.stdout}')

    def break_the_rules(self) -> None:
        self.write(
            'repository/rules/tag.yaml', TAG.replace('add-trait', 'add-trate')
        )

    def assert_planned(self, path: str) -> None:
        """Check that the comment has the plan, and nothing was done."""
        comment = self.scratch.joinpath('repository', path).read_text()
        self.assertIn('````diff\n+ Tag big machines', comment)
        self.assertIn('1 to create, 0 to update', comment)
        self.assertEqual([], self.stored())

    def stored(self) -> list[str]:
        return [
            rule['description']
            for rule in self.client.call('GET', '/v1/inspection_rules')[
                'inspection_rules'
            ]
        ]


class GitHubTestCase(PipelineTestCase):
    def run_step(self, name: str, ends_with: int = 0, **inputs: str) -> None:
        action = yaml.safe_load(
            STARTER.joinpath(
                '.github', 'actions', 'inspection-rules', 'action.yml'
            ).read_text()
        )
        given = {
            f'inputs.{key}': inputs.get(key, value.get('default', ''))
            for key, value in action['inputs'].items()
        }
        given['github.event.pull_request.html_url'] = 'https://example/1'
        (step,) = (
            step for step in action['runs']['steps'] if step['name'] == name
        )
        self.assertNotIn('${{', step['run'])
        self.shell(
            step['run'],
            ends_with,
            GITHUB_SHA='4711',
            GITHUB_REPOSITORY='site/rules',
            GITHUB_STEP_SUMMARY=str(self.scratch / 'summary.md'),
            **{
                key: re.sub(
                    r'\$\{\{ (\S+) \}\}', lambda match: given[match[1]], value
                )
                for key, value in step['env'].items()
            },
        )

    def test_rules_are_checked_planned_and_applied(self) -> None:
        self.recorded('python3')
        self.run_step('Install', package='file:///one.whl')
        self.assertIn(
            'ironic-inspection-rules[prove] @ file:///one.whl',
            self.asked('python3'),
        )
        self.run_step('Check')
        self.recorded('gh')
        clouds = self.clouds.read_text()
        self.run_step('Plan', clouds=clouds)
        self.assert_planned('plan.md')
        self.assertEqual(
            ['pr', 'comment', 'https://example/1', '--body-file', 'plan.md'],
            self.asked('gh')[-5:],
        )
        self.run_step('Apply', clouds=clouds)
        self.assertEqual(['Tag big machines'], self.stored())

    def test_a_plan_replaces_the_plan_before_and_no_other_comment(
        self,
    ) -> None:
        if not shutil.which('jq'):
            self.skipTest('no jq')
        plan = '### Plan of the inspection rules\n'
        comments = [
            {'viewerDidAuthor': is_own, 'body': body, 'url': f'a-{number}'}
            for number, is_own, body in (
                (1, True, plan),
                (2, True, 'The tests have passed'),
                (3, False, plan),
            )
        ]
        answer = self.write('answer.json', json.dumps({'comments': comments}))
        self.recorded('gh')
        with self.bin.joinpath('gh').open('a') as program:
            # gh applies the last argument as jq does.
            program.write(f'[ "$2" != view ] || jq -r "${{@: -1}}" {answer}\n')
        self.run_step('Plan', clouds=self.clouds.read_text())
        self.assertEqual(
            ['body=@plan.md', 'repos/site/rules/issues/comments/1'],
            self.asked('gh')[-2:],
        )

    def test_bad_rules_and_a_lost_cloud_fail_the_job(self) -> None:
        self.recorded('gh')
        self.run_step(
            'Plan',
            ends_with=1,
            clouds=json.dumps(
                {
                    'clouds': {
                        'one': {
                            'auth_type': 'none',
                            'auth': {'endpoint': 'http://127.0.0.1:1'},
                        }
                    }
                }
            ),
        )
        self.assertFalse(self.scratch.joinpath('gh.log').exists())
        self.run_step('Check', ends_with=1, expect='other.yaml')
        self.run_step('Check', expect='')
        self.break_the_rules()
        self.run_step('Check', ends_with=1)


class GitLabTestCase(PipelineTestCase):
    def run_job(self, name: str, ends_with: int = 0, **variables: str) -> None:
        pipeline = yaml.safe_load(
            STARTER.joinpath('.gitlab-ci.yml').read_text()
        )
        self.shell(
            '\n'.join(pipeline[name]['script']),
            ends_with,
            **{
                **pipeline['variables'],
                'CI_COMMIT_SHA': '4711',
                'CI_API_V4_URL': 'https://example/api',
                'CI_MERGE_REQUEST_PROJECT_ID': '7',
                'CI_MERGE_REQUEST_IID': '12',
                'INSPECTION_RULES_TOKEN': 'secret',
                'OS_CLIENT_CONFIG_FILE': str(self.clouds),
                **variables,
            },
        )

    def test_rules_are_checked_planned_and_applied(self) -> None:
        self.run_job(
            'inspection-rules-check',
            ends_with=1,
            INSPECTION_RULES_EXPECT='other.yaml',
        )
        self.run_job('inspection-rules-check')
        self.assertIn(
            '<testsuite',
            self.scratch.joinpath('repository', 'junit.xml').read_text(),
        )
        self.recorded('curl')
        self.run_job('inspection-rules-plan')
        self.assert_planned('plan.md')
        asked = self.asked('curl')
        self.assertIn('body@plan.md', asked)
        self.assertEqual(
            'https://example/api/projects/7/merge_requests/12/notes', asked[-1]
        )
        self.run_job('inspection-rules-apply')
        self.assertEqual(['Tag big machines'], self.stored())


class StarterTestCase(PipelineTestCase):
    """The starter as it is copied, with its rules and machines."""

    def setUp(self) -> None:
        super().setUp()
        repository = self.scratch / 'repository'
        shutil.rmtree(repository)
        shutil.copytree(STARTER, repository)

    def assert_applied(self) -> None:
        stored = self.stored()
        self.assertIn('Tag machines with 64 processors and more', stored)
        self.assertIn('server-64: verdict', stored)


class GitHubStarterTestCase(StarterTestCase, GitHubTestCase):
    def test_rules_are_checked_planned_and_applied(self) -> None:
        self.run_step('Check')
        self.recorded('gh')
        clouds = self.clouds.read_text()
        self.run_step('Plan', clouds=clouds)
        comment = self.scratch.joinpath('repository', 'plan.md').read_text()
        self.assertIn('0 to update', comment)
        self.assertEqual([], self.stored())
        self.run_step('Apply', clouds=clouds)
        self.assert_applied()

    def test_bad_rules_and_a_lost_cloud_fail_the_job(self) -> None:
        # A machine that is no more as expected.
        expected = self.scratch / 'repository' / 'expected.yaml'
        expected.write_text(expected.read_text().replace('CUSTOM_BIG', 'X'))
        self.run_step('Check', ends_with=1)


class GitLabStarterTestCase(StarterTestCase, GitLabTestCase):
    def test_rules_are_checked_planned_and_applied(self) -> None:
        self.run_job('inspection-rules-check')
        self.recorded('curl')
        self.run_job('inspection-rules-plan')
        self.assertEqual([], self.stored())
        self.run_job('inspection-rules-apply')
        self.assert_applied()


class ZuulTestCase(PipelineTestCase):
    def play(self, name: str, ends_with: int = 0, **of_job: str) -> None:
        jobs = yaml.safe_load(
            SOURCE.joinpath(
                'zuul', 'zuul.d', 'inspection-rules.yaml'
            ).read_text()
        )
        variables: dict[str, Any] = {
            **jobs[0]['job']['vars'],
            **of_job,
            'ansible_user_dir': str(self.scratch),
            'ansible_connection': 'local',
            'returned': str(self.scratch / 'repository' / 'returned'),
            'inspection_rules_cloud': {
                'OS_AUTH_TYPE': 'none',
                'OS_ENDPOINT': self.ironic.url,
            },
            'zuul': {
                'project': {'src_dir': str(self.scratch / 'repository')},
                'newrev': '4711',
            },
        }
        done = playbook.run(
            str(self.scratch),
            'ansible-playbook',
            '-i',
            'localhost,',
            '-e',
            json.dumps(variables),
            str(
                SOURCE.joinpath(
                    'zuul', 'playbooks', 'inspection-rules', f'{name}.yaml'
                )
            ),
            ANSIBLE_ACTION_PLUGINS=str(self.scratch / 'plugins'),
        )
        self.assertEqual(ends_with, done.returncode, done.stdout)

    def test_rules_are_checked_planned_and_applied(self) -> None:
        self.write('plugins/zuul_return.py', _ZUUL_RETURN)
        self.play('check', ends_with=2, inspection_rules_expect='other.yaml')
        self.play('check')
        self.play('plan')
        returned = json.loads(
            self.scratch.joinpath('repository', 'returned').read_text()
        )
        (plan,) = returned['data']['zuul']['warnings']
        self.assertIn('1 to create, 0 to update', plan)
        self.assertEqual([], self.stored())
        self.play('apply')
        self.assertEqual(['Tag big machines'], self.stored())


class ZuulStarterTestCase(StarterTestCase, ZuulTestCase):
    def test_rules_are_checked_planned_and_applied(self) -> None:
        self.play('check')
        self.play('apply')
        self.assert_applied()

    def test_a_machine_that_is_no_more_as_expected_fails_the_job(self) -> None:
        expected = self.scratch / 'repository' / 'expected.yaml'
        expected.write_text(expected.read_text().replace('CUSTOM_BIG', 'X'))
        self.play('check', ends_with=2)


# Only executors of Zuul have it.
_ZUUL_RETURN = """\
import json
from ansible.plugins import action

class ActionModule(action.ActionBase):
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        with open(task_vars['returned'], 'w') as file:
            json.dump(self._task.args, file)
        return {'changed': False}
"""
