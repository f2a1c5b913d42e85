# SPDX-License-Identifier: Apache-2.0

"""The command that tells what a change of rules changes."""

import contextlib
import io
import json
import pathlib

import yaml

from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.rule_file import files

OLD = '- {description: A, actions: [{op: set-attribute, args: [/extra/a, 1]}]}'


class DiffTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.old = self.write('old.yaml', OLD)
        self.new = self.write('new.yaml', OLD.replace('1]', '2]'))
        for name in ('a', 'b'):
            self.write(f'm/{name}.json', files.INVENTORY)
        self.machines = ('--inventory', str(self.directory / 'm'))

    def test_nothing_is_0(self):
        code, output = self.call('diff', self.old, self.old, *self.machines)
        self.assertEqual(0, code)
        self.assertIn('0 of 2', output)

    def test_something_is_2_and_alike_machines_are_told_once(self):
        code, output = self.call('diff', self.old, self.new, *self.machines)
        self.assertEqual(2, code)
        self.assertIn('~ A\n', output)
        self.assertEqual(1, output.count('+ /extra/a: 2'))
        self.assertRegex(output, r'a\.json, .*b\.json')
        self.assertIn('2 of 2', output)

    def test_a_change_on_paper_is_2(self):
        self.assertEqual(2, self.call('diff', self.old, self.new)[0])
        code, output = self.call(
            'diff',
            self.old,
            self.write('c.yaml', OLD.replace('{desc', '{priority: 1, desc')),
            *self.machines,
        )
        self.assertEqual(2, code)
        self.assertIn('0 of 2', output)

    def test_what_is_only_renamed_or_written_otherwise_is_0(self):
        for old, new, told in (
            ('tion: A', 'tion: B', '= A → B (only renamed)\n'),
            (
                '[/extra/a, 1]',
                '{path: extra.a, value: 1}',
                '= A (written otherwise, same meaning)\n',
            ),
        ):
            code, output = self.call(
                'diff',
                self.old,
                self.write('c.yaml', OLD.replace(old, new)),
                *self.machines,
            )
            self.assertEqual(0, code, output)
            self.assertIn(told, output)
            self.assertIn('0 changed', output)
            self.assertIn('; no difference: ', output)

    def test_a_comment_has_all_of_it(self):
        code, output = self.call(
            'diff', self.old, self.new, *self.machines, '-f', 'markdown'
        )
        self.assertEqual(2, code)
        self.assertIn('changed: `A`\n\n```diff\n@@', output)
        self.assertIn('\n+ /extra/a: 2\n```\n', output)
        self.assertIn('2 of 2', output)

    def test_programs_get_all_of_it(self):
        for how, load in (('json', json.loads), ('yaml', yaml.safe_load)):
            _code, output = self.call(
                'diff', self.old, self.new, *self.machines, '-f', how
            )
            read = load(output)
            self.assertEqual(
                ['changed'], [each['change'] for each in read['rules']]
            )
            (group,) = read['machines']
            self.assertEqual(2, len(group['inventories']))
            self.assertEqual(
                ['node', '- /extra/a: 1', '+ /extra/a: 2'], group['lines']
            )

    def test_a_page_is_written(self):
        page = self.directory / 'page.html'
        self.call(
            'diff', self.old, self.new, *self.machines, '--html', str(page)
        )
        text = pathlib.Path(page).read_text()
        self.assertIn('/extra/a', text)
        self.assertIn('b.json', text)

    def test_a_broken_file_is_1_and_the_others_are_told(self):
        self.write('m/c.json', '{')
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, output = self.call(
                'diff', self.old, self.new, *self.machines
            )
        self.assertEqual(1, code)
        self.assertIn('2 of 3', output)
        self.assertIn('c.json', errors.getvalue())
