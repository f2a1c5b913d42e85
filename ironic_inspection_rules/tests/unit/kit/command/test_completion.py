# SPDX-License-Identifier: Apache-2.0

"""ironic-inspection-rules completion, in the shells that are here."""

import pathlib
import shlex
import shutil
import subprocess

import fixtures

from ironic_inspection_rules.kit.command import completion
from ironic_inspection_rules.tests.unit import base

PROGRAM = completion.PROGRAM
NAME = 'ironic_inspection_rules'

# What zsh has while it completes.
_ZSH = """\
compdef() {{ }}
compadd() {{ shift; print -l -- "$@" }}
compset() {{ }}
_files() {{ print FILES }}
typeset -A _comps
source {path}
words=({words}) CURRENT={count}
_{name}
"""

_BASH = """\
source {path}
COMP_WORDS=({words}) COMP_CWORD=$(({count} - 1))
_{name}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


class CompletionTestCase(base.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.calls = completion.load_commands()

    def offers(self, shell, *words):
        """Return what a shell offers for the last of some words."""
        if not shutil.which(shell):
            self.skipTest(f'no {shell}')
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'script')
        path.write_text(completion.SHELLS[shell](self.calls))
        if shell == 'fish':
            line = shlex.quote(' '.join(words))
            script = f'source {path}; complete -C {line}'
        else:
            script = {'bash': _BASH, 'zsh': _ZSH}[shell].format(
                path=path,
                name=NAME,
                count=len(words),
                words=' '.join(map(shlex.quote, words)),
            )
        arguments = {
            'bash': ['--norc'],
            'fish': ['--no-config'],
            'zsh': ['-f'],
        }[shell]
        done = subprocess.run(
            [shell, *arguments, '-c', script],
            text=True,
            capture_output=True,
            check=False,
        )
        self.assertEqual('', done.stderr)
        return [line.partition('\t')[0] for line in done.stdout.splitlines()]

    def check(self, shell):
        for words, offered in (
            ((PROGRAM, 'l'), 'lint'),
            ((PROGRAM, 'completion', 'z'), 'zsh'),
            ((PROGRAM, 'test', 'rules.yaml', '--exp'), '--expect'),
            ((PROGRAM, 'test', 'rules.yaml', '--format', ''), 'junit'),
        ):
            self.assertIn(offered, self.offers(shell, *words), words)

    def check_files(self, shell):
        """Check that options are not offered where a value or a file is."""
        for words in (
            (PROGRAM, 'prove', '--ask', ''),
            (PROGRAM, 'test', 'rules.yaml', '--inventory', ''),
        ):
            self.assertNotIn('--format', self.offers(shell, *words), words)

    def check_client(self, shell):
        if not any(call.program == completion.CLIENT for call in self.calls):
            self.skipTest('no python-openstackclient')
        client = (completion.CLIENT, 'baremetal', 'inspection', 'rule')
        self.assertIn('plan', self.offers(shell, *client, 'pl'))
        self.assertIn('--prune', self.offers(shell, *client, 'plan', '--pr'))
        self.assertIn(
            'audit', self.offers(shell, *client, 'edit', 'x', '--mode', '')
        )
        client = (client[0], '--os-cloud', 'home', *client[1:])
        self.assertIn('plan', self.offers(shell, *client, 'pl'))
        self.assertIn('--prune', self.offers(shell, *client, 'plan', '--pr'))

    def test_bash(self):
        self.check('bash')
        self.check_files('bash')
        self.check_client('bash')

    def test_bash_completes_files_where_no_option_begins(self):
        self.assertEqual([''], self.offers('bash', PROGRAM, 'lint', ''))
        self.assertIn('--fix', self.offers('bash', PROGRAM, 'lint', '-'))

    def test_bash_completes_a_value_after_an_equals_sign(self):
        for words in (('=',), ('=', 'jso')):
            self.assertIn(
                'json',
                self.offers(
                    'bash', PROGRAM, 'test', 'rules.yaml', '--format', *words
                ),
            )

    def test_zsh(self):
        self.check('zsh')
        self.check_files('zsh')
        self.check_client('zsh')

    def test_zsh_completes_files_or_words(self):
        self.assertEqual(['FILES'], self.offers('zsh', PROGRAM, 'lint', ''))
        self.assertNotIn('FILES', self.offers('zsh', PROGRAM, ''))
        self.assertIn('--fix', self.offers('zsh', PROGRAM, 'lint', '-'))

    def test_zsh_completes_a_value_after_an_equals_sign(self):
        self.assertIn(
            'json',
            self.offers('zsh', PROGRAM, 'test', 'rules.yaml', '--format=jso'),
        )

    def test_fish(self):
        self.check('fish')
        self.check_files('fish')
        self.check_client('fish')

    def test_every_command_is_completed(self):
        names = {
            '_'.join(call.words)
            for call in self.calls
            if call.program == PROGRAM
        }
        self.assertLessEqual({'lint', 'test', 'prove', 'completion'}, names)
        for call in self.calls:
            self.assertIn('--help', call.options)
            self.assertTrue(call.help, call.words)

    def test_completion_that_is_there_is_kept(self):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'script')
        path.write_text(completion.bash(self.calls))
        done = subprocess.run(
            [
                'bash',
                '--norc',
                '-c',
                f'complete -W own openstack; '
                f'source {path}; complete -p openstack {PROGRAM}',
            ],
            text=True,
            capture_output=True,
            check=False,
        )
        first, second = done.stdout.splitlines()
        self.assertIn("-W 'own'", first)
        self.assertIn(f'_{NAME}', second)
