# SPDX-License-Identifier: Apache-2.0

"""Options between files, and files that are written."""

import argparse
import contextlib
import errno
import io
import os

from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.command import test_profile
from ironic_inspection_rules.tests.unit.kit.command import test_shell


def complaint(parse, words):
    """Return the last line that a parser writes before it ends."""
    with contextlib.redirect_stderr(io.StringIO()) as errors, (
            contextlib.suppress(SystemExit)):
        parse(words)
    return errors.getvalue().splitlines(keepends=True)[-1]


class CommandTestCase(test_shell.CallTestCase):

    def setUp(self):
        super().setUp()
        self.machine = self.write('a.json', test_profile.GOOD)
        self.rules = self.write('rules.yaml', test_shell.GOOD)

    def test_options_may_be_between_files(self):
        for command in ('test', 'lint', 'diff'):
            last = self.call(command, self.rules, self.rules,
                             '--inventory', self.machine, '-f', 'json')
            self.assertEqual(last, self.call(
                command, '-f', 'json', self.rules, '--inventory',
                self.machine, '--', self.rules), command)
            self.assertEqual(last, self.call(
                command, f'--inventory={self.machine}', self.rules,
                '-f', 'json', self.rules), command)

    def test_files_that_an_option_has_taken_are_missed(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, _output = self.call('test', '--inventory', self.machine,
                                      self.rules)

        self.assertEqual(64, code)
        self.assertIn('<file>', errors.getvalue())

    def test_what_cannot_be_written_is_told_before_the_work(self):
        for options in (('test', self.rules, '--html'),
                        ('diff', self.rules, self.rules, '--html'),
                        ('profile', self.machine, '-o'),
                        ('convert', self.rules, '-o')):
            for path in (self.directory, self.directory / 'no' / 'x'):
                with contextlib.redirect_stderr(io.StringIO()) as errors:
                    code, _output = self.call(
                        *options, str(path), *(
                            ('--inventory', self.machine)
                            if options[0] == 'test' else ()))
                self.assertEqual(64, code)
                self.assertIn(f'no file can be written there: {path}',
                              errors.getvalue())

    def test_a_full_disk_is_told_with_the_file(self):
        full = '/dev/full'
        if not os.path.exists(full):
            self.skipTest('no device that is always full')
        machine = ('--inventory', self.machine)
        for words in (('test', self.rules, *machine, '--html', full),
                      ('test', self.rules, *machine, '--coverage',
                       '--html', full),
                      ('diff', self.rules, self.rules, '--html', full),
                      ('profile', self.machine, '-o', full),
                      ('convert', self.rules, '-o', full)):
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
            with contextlib.redirect_stdout(stream), (
                    contextlib.redirect_stderr(io.StringIO())) as errors:
                code = shell.main(['schema'])
            self.assertEqual(1, code)
            self.assertIn(full, errors.getvalue())
            # What is left cannot be written when it is closed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    def test_a_dash_is_standard_output(self):
        self.assertEqual(
            self.call('profile', self.machine),
            self.call('profile', '-o', '-', self.machine))
        self.assertIn('<html', self.call(
            'test', self.rules, '--html', '-', '--inventory',
            self.machine)[1])

    def test_a_page_on_standard_output_has_nothing_beside_it(self):
        machine = ('--inventory', self.machine)
        for words in (('test', self.rules, *machine),
                      ('test', self.rules, '-f', 'json', *machine),
                      ('test', self.rules, '--coverage', *machine),
                      ('diff', self.rules, self.rules, *machine)):
            _code, output = self.call(*words, '--html', '-')
            self.assertTrue(output.startswith('<!DOCTYPE html>'), output)
            self.assertTrue(output.rstrip().endswith('</html>'), output)

    def test_the_parser_complains_of_what_was_written(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.call('schema', 'x')
        plain = complaint(argparse.ArgumentParser(prog='').parse_args, ['x'])
        self.assertIn('x', plain)
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
            self.assertEqual(64, self.call('profile', '--tolerance',
                                           self.machine)[0])
        self.assertIn(f'"{self.machine}" is no tolerance such as memory=5%',
                      errors.getvalue())


class RevisionTestCase(base.TestCase):

    def test_the_set_before_the_first_change_has_a_number(self):
        self.assertEqual([0, 12], [arguments.revision(text)
                                   for text in ('0', '12')])

    def test_anything_else_is_no_revision(self):
        for text in ('', '-1', '1.5', 'last', '1' * 10):
            self.assertRaises(argparse.ArgumentTypeError, arguments.revision,
                              text)
