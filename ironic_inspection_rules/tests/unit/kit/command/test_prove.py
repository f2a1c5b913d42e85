# SPDX-License-Identifier: Apache-2.0

"""The command that asks about all machines."""

import contextlib
import gc
import io
import json
import os
import unittest

import fixtures

from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit.kit.command import test_shell

try:
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

RULES = """
- description: A
  conditions: [{op: ge, args: ['{inventory.cpu.count}', 8]}]
  actions: [{op: set-attribute, args: [/resource_class, a]}]
- description: B
  conditions: [{op: gt, args: ['{inventory.cpu.count}', 15]}]
  actions: [{op: set-attribute, args: [/resource_class, b]}]
"""


class ProveTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.kit.command.prove._DEFAULT_SECONDS',
                leisure.SECONDS,
            )
        )
        self.rules = self.write('rules.yaml', RULES)

    def ask(self, *words):
        code, output = self.call('prove', *words, '-f', 'json')
        return code, json.loads(output)['answers']

    def test_yes_is_2_and_test_reads_its_witness(self):
        folder = self.directory / 'found'
        code, answers = self.ask(
            self.rules, '--ask', 'conflict', '--witness', str(folder)
        )
        self.assertEqual(2, code)
        self.assertEqual(
            [(['A', 'B'], 'yes')],
            [(each['rules'], each['verdict']) for each in answers],
        )
        code, output = self.call(
            'test',
            self.rules,
            '--inventory',
            answers[0]['witness'],
            '-f',
            'json',
        )
        self.assertEqual(0, code)
        self.assertIn('"B"', output)

    def test_only_no_is_0(self):
        code, answers = self.ask(self.rules, '--ask', 'dead')
        self.assertEqual(0, code)
        self.assertEqual(['no', 'no'], [each['verdict'] for each in answers])

    def refusal(self, *words):
        """Return what is printed where the words are refused."""
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, output = self.call('prove', self.rules, *words)
        self.assertNotIn(code, (0, 2))
        self.assertEqual('', output)
        return errors.getvalue()

    def test_a_gap_is_at_an_attribute_that_rules_may_set(self):
        for path, said in (
            ('resource', 'did you mean "resource_class"?'),
            ('/uuid', '"uuid" does not exist or may not be'),
            ('/node/traits/A', '"traits" does not exist'),
            ('/name/a', 'is not a mapping'),
            ('//a', 'does not name an attribute'),
        ):
            output = self.refusal('--ask', f'gap:{path}')
            self.assertIn(f'gap:{path}: ', output)
            self.assertIn(said, output)
        for path in ('node', '/node/extra/a', 'plugin_data.x'):
            self.assertEqual([f'gap:{path}'], question.parse(f'gap:{path}'))

    def test_a_time_limit_is_a_number_of_seconds(self):
        for text in ('-1', 'nan', 'x', '1_0'):
            self.assertIn(
                f'"{text}" is no number of seconds',
                self.refusal(f'--time-limit={text}'),
            )

    def test_sets_are_compared(self):
        same = self.write(
            'same.yaml',
            RULES.replace(
                "gt, args: ['{inventory.cpu.count}', 15]",
                "lt, args: [15, '{inventory.cpu.count}']",
            ),
        )
        self.assertEqual(0, self.ask(self.rules, '--equivalent', same)[0])
        other = self.write('other.yaml', RULES.replace('15', '16'))
        self.assertEqual(2, self.ask(self.rules, '--equivalent', other)[0])

    def test_the_garbage_collector_does_not_disturb_the_solver(self):
        answers = question.Proof.answers
        enabled = []

        def note_collector(proof, questions):
            enabled.append(gc.isenabled())
            return answers(proof, questions)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.kit.proof.question.Proof.answers',
                note_collector,
            )
        )
        self.assertTrue(gc.isenabled())

        self.ask(self.rules)

        self.assertEqual([False], enabled)
        self.assertTrue(gc.isenabled())

    def test_a_wrong_question_is_1(self):
        self.assertEqual(1, self.call('prove', self.rules, '--ask', 'x')[0])

    def test_folders_are_read(self):
        self.assertEqual(
            2, self.ask(str(self.directory), '--ask', 'conflict')[0]
        )

    def test_without_the_solver_one_line_says_what_to_install(self):
        self.useFixture(
            fixtures.MonkeyPatch('importlib.util.find_spec', lambda name: None)
        )
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            code, output = self.call('prove', self.rules)
        self.assertEqual((1, ''), (code, output))
        self.assertEqual(
            'prove needs z3-solver: pip install '
            '"ironic-inspection-rules[prove]"\n',
            stderr.getvalue(),
        )

    def test_a_full_disk_is_told_with_the_file(self):
        full = '/dev/full'
        if not os.path.exists(full):
            self.skipTest('no device that is always full')
        folder = self.directory / 'found'
        file = folder / 'inventories' / '001-conflict.json'
        file.parent.mkdir(parents=True)
        file.symlink_to(full)
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            code, _output = self.call(
                'prove',
                self.rules,
                '--ask',
                'conflict',
                '--witness',
                str(folder),
            )
        self.assertEqual(1, code)
        self.assertIn(str(file), stderr.getvalue())

    def test_out_of_time_is_unknown(self):
        code, answers = self.ask(
            self.rules, '--ask', 'conflict', '--time-limit', '0'
        )
        self.assertEqual(0, code)
        self.assertEqual(
            [('unknown', 'the time limit is reached')],
            [(each['verdict'], each['reason']) for each in answers],
        )

    def test_a_folder_for_witnesses_is_asked_for(self):
        for words, said in (
            (('--ask', 'conflict'), True),
            (('--ask', 'dead'), False),
        ):
            _code, output = self.call('prove', self.rules, *words)
            self.assertEqual(said, '--witness' in output, words)

    def test_real_rule_sets_are_understood(self):
        rules = unknown = 0
        for path in sorted(
            shared_data.directory().joinpath('rules-ironic').iterdir()
        ):
            _code, answers = self.ask(
                str(path), '--ask', 'dead,shadowed,conflict'
            )
            rules += len({tuple(each['rules']) for each in answers})
            unknown += len(
                {
                    tuple(each['rules'])
                    for each in answers
                    if each['verdict'] == question.UNKNOWN
                }
            )
        self.assertLessEqual(unknown, rules / 10)
