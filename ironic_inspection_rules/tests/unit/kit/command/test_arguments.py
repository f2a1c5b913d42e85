# SPDX-License-Identifier: Apache-2.0

"""Files and options may come in any order."""

import argparse
import contextlib
import errno
import io
import itertools
import os

from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.kit.command import test
from ironic_inspection_rules.kit.osc import inspection_data
from ironic_inspection_rules.kit.osc import inspection_request
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.kit.osc import rule_set
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.command import test_profile
from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.osc import fakes


def _even(text):
    if int(text) % 2:
        raise argparse.ArgumentTypeError(text)
    return text


def complaint(parse, words):
    """Return the last line that a parser writes before it ends."""
    with (
        contextlib.redirect_stderr(io.StringIO()) as errors,
        contextlib.suppress(SystemExit),
    ):
        parse(words)
    return errors.getvalue().splitlines(keepends=True)[-1]


class ArrangedTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.parser = argparse.ArgumentParser()
        self.parser.add_argument('files', nargs='+')
        self.parser.add_argument(
            '--list', nargs='+', action='extend', default=[]
        )
        self.parser.add_argument(
            '--even', nargs='+', action='extend', default=[], type=_even
        )
        self.parser.add_argument('-o', '--output')
        self.parser.add_argument('--fix', action='store_true')

    def parsed(self, line):
        return vars(
            self.parser.parse_args(
                arguments.arrange_words(self.parser._actions, line.split())
            )
        )

    def check(self, line, **expected):
        self.assertEqual(
            {
                'files': [],
                'list': [],
                'even': [],
                'output': None,
                'fix': False,
                **expected,
            },
            self.parsed(line),
            line,
        )

    def test_every_order_means_the_same(self):
        for parts in itertools.permutations(
            ('--list 1 2', '--fix', '--output x', 'a', 'b')
        ):
            line = ' '.join(parts)
            if '2 a' in line or '2 b' in line:
                # Only the parts themselves tell where the list ends.
                continue
            files = [part for part in parts if part in ('a', 'b')]
            self.check(
                line, files=files, list=['1', '2'], fix=True, output='x'
            )

    def test_files_that_are_missing_are_the_last_of_a_list(self):
        self.check('--list 1 2 a', files=['a'], list=['1', '2'])
        self.check(
            '--list 1 --list 2 a --fix', files=['a'], list=['1', '2'], fix=True
        )
        self.check('b --list 1 2 a', files=['b'], list=['1', '2', 'a'])

    def test_a_list_has_what_its_type_takes(self):
        self.check('--even 2 4 5 a', files=['5', 'a'], even=['2', '4'])

    def test_a_list_may_be_piped_in(self):
        self.check('a --list -', files=['a'], list=['-'])
        self.check('--list - a', files=['a'], list=['-'])
        self.check('--list 1 -', files=['-'], list=['1'])

    def test_other_forms_of_options(self):
        self.check('--list=1 a', files=['a'], list=['1'])
        self.check('--out x a', files=['a'], output='x')
        self.check('-ox a', files=['a'], output='x')
        self.check('--list 1 -- a', files=['a'], list=['1'])
        self.check('--fix -', files=['-'], fix=True)
        self.check('--fix -- -a b', files=['-a', 'b'], fix=True)

    def test_two_files_are_found_as_well(self):
        self.parser = argparse.ArgumentParser()
        self.parser.add_argument('--list', nargs='+')
        self.parser.add_argument('old')
        self.parser.add_argument('new')
        for line in ('--list 1 a b', 'a --list 1 b', 'a b --list 1'):
            self.assertEqual(
                {'old': 'a', 'new': 'b', 'list': ['1']},
                self.parsed(line),
                line,
            )

    def test_what_is_missing_is_missed(self):
        for line, named in (
            ('--list 1', 'files'),
            ('--even 3 a', '--even'),
            ('--list', '--list'),
            ('--lsit 1 a', '--lsit'),
        ):
            plain = complaint(self.parser.parse_args, line.split())
            self.assertIn(named, plain)
            self.assertEqual(plain, complaint(self.parsed, line))


class CommandTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.machine = self.write('a.json', test_profile.GOOD)
        self.rules = self.write('rules.yaml', test_shell.GOOD)

    def test_a_machine_behind_a_tolerance(self):
        for words in (['memory=5%'], ['memory=5%', 'disks=1']):
            last = self.call('profile', self.machine, '--tolerance', *words)
            self.assertEqual(0, last[0])
            self.assertEqual(
                last, self.call('profile', '--tolerance', *words, self.machine)
            )

    def test_rules_behind_an_inventory(self):
        for command, files in (
            ('test', [self.rules]),
            ('lint', [self.rules]),
            ('diff', [self.rules, self.rules]),
        ):
            self.assertEqual(
                self.call(command, *files, '--inventory', self.machine),
                self.call(command, '--inventory', self.machine, *files),
            )

    def test_what_cannot_be_written_is_told_before_the_work(self):
        for options in (
            ('test', self.rules, '--html'),
            ('diff', self.rules, self.rules, '--html'),
            ('profile', self.machine, '-o'),
            ('convert', self.rules, '-o'),
        ):
            for path in (self.directory, self.directory / 'no' / 'x'):
                with contextlib.redirect_stderr(io.StringIO()) as errors:
                    code, _output = self.call(
                        *options,
                        str(path),
                        *(
                            ('--inventory', self.machine)
                            if options[0] == 'test'
                            else ()
                        ),
                    )
                self.assertEqual(64, code)
                self.assertIn(
                    f'no file can be written there: {path}', errors.getvalue()
                )

    def test_a_full_disk_is_told_with_the_file(self):
        full = '/dev/full'
        if not os.path.exists(full):
            self.skipTest('no device that is always full')
        machine = ('--inventory', self.machine)
        for words in (
            ('test', self.rules, *machine, '--html', full),
            ('test', self.rules, *machine, '--coverage', '--html', full),
            ('diff', self.rules, self.rules, '--html', full),
            ('profile', self.machine, '-o', full),
            ('convert', self.rules, '-o', full),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                code, _output = self.call(*words)
            self.assertEqual(1, code, words)
            self.assertIn(full, errors.getvalue())

    def test_full_standard_output_is_told_by_its_name(self):
        full = '/dev/full'
        if not os.path.exists(full):
            self.skipTest('no device that is always full')
        # Longer than what is kept back until the end.
        with open(full, 'w', buffering=1024) as stream:
            with (
                contextlib.redirect_stdout(stream),
                contextlib.redirect_stderr(io.StringIO()) as errors,
            ):
                code = shell.main(['schema'])
            self.assertEqual(1, code)
            self.assertIn(full, errors.getvalue())
            # What is left cannot be written when it is closed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    def test_a_dash_is_standard_output(self):
        self.assertEqual(
            self.call('profile', self.machine),
            self.call('profile', '-o', '-', self.machine),
        )
        self.assertIn(
            '<html',
            self.call(
                'test', self.rules, '--html', '-', '--inventory', self.machine
            )[1],
        )

    def test_a_page_on_standard_output_has_nothing_beside_it(self):
        machine = ('--inventory', self.machine)
        for words in (
            ('test', self.rules, *machine),
            ('test', self.rules, '-f', 'json', *machine),
            ('test', self.rules, '--coverage', *machine),
            ('diff', self.rules, self.rules, *machine),
        ):
            _code, output = self.call(*words, '--html', '-')
            self.assertTrue(output.startswith('<!DOCTYPE html>'), output)
            self.assertTrue(output.rstrip().endswith('</html>'), output)

    def test_the_parser_complains_of_what_was_written(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.call('schema', '--x')
        plain = complaint(argparse.ArgumentParser(prog='').parse_args, ['--x'])
        self.assertIn('--x', plain)
        self.assertTrue(errors.getvalue().endswith(plain), errors.getvalue())

    def test_a_file_that_is_not_there_is_named_once(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.call('test', 'gone.yaml', '--inventory', self.machine)
        missing = os.strerror(errno.ENOENT)
        self.assertEqual(f'gone.yaml: {missing}\n', errors.getvalue())
        _code, output = self.call('test', self.rules, '--inventory', 'gone')
        self.assertEqual(f'gone: it cannot be read: {missing}\n', output)

    def test_a_machine_in_place_of_a_tolerance_is_named(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(
                64, self.call('profile', '--tolerance', self.machine)[0]
            )
        self.assertIn(
            f'"{self.machine}" is no tolerance such as memory=5%',
            errors.getvalue(),
        )


class EmptyPathTestCase(base.TestCase):
    def test_no_option_is_ignored_because_its_path_is_empty(self):
        for kind, *words in (
            (test.Test, 'rules.yaml', '--inventory', 'a', '--expect'),
            (test.Test, 'rules.yaml', '--inventory', 'a', '--node'),
            (test.Test, 'rules.yaml', '--inventory', 'a', '--html'),
            (rule_set.ApplyInspectionRules, 'rules.yaml', '--flavors'),
            (inspection_rule.EvaluateInspectionRules, '--inventory'),
            (inspection_request.ReapplyInspection, 'one', '--inventory'),
            (inspection_data.ExportInspectionData, 'data', '--key'),
        ):
            parser = kind(fakes.App(), None).get_parser('x')
            self.assertIn(
                f'argument {words[-1]}: the name of a file is empty',
                complaint(parser.parse_args, [*words, '']),
            )


class RevisionTestCase(base.TestCase):
    def test_the_set_before_the_first_change_has_a_number(self):
        self.assertEqual(
            [0, 12], [arguments.parse_revision(text) for text in ('0', '12')]
        )

    def test_anything_else_is_no_revision(self):
        for text in ('', '-1', '1.5', 'last', '1' * 10):
            self.assertRaises(
                argparse.ArgumentTypeError, arguments.parse_revision, text
            )
