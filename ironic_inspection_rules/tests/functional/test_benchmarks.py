# SPDX-License-Identifier: Apache-2.0

"""That benchmarks can be called and say what they need, not what they find."""

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import types

import fixtures

from ironic_inspection_rules.tests.functional import test_running_tests
from ironic_inspection_rules.tests.unit import base

TOOLS = test_running_tests.TOOLS


class BenchmarkTestCase(base.TestCase):
    """The command in this process, with a benchmark of three parts."""

    def setUp(self):
        super().setUp()
        if not TOOLS.is_dir():
            self.skipTest('not a checkout: no tools')
        self.useFixture(
            fixtures.MonkeyPatch('sys.path', [str(TOOLS), *sys.path])
        )
        spec = importlib.util.spec_from_file_location(
            'bench', TOOLS / 'bench.py'
        )
        self.bench = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.bench)
        self.common = importlib.import_module('benchmark.common')
        self.done = []
        self.module = types.ModuleType('benchmark.fake', 'A fake.')
        self.module.PARTS = (
            self.part('first'),
            self.part('second', 'there is no db: apt-get install db'),
            self.part('third'),
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'sys.modules', {**sys.modules, 'benchmark.fake': self.module}
            )
        )
        self.bench.BENCHMARKS = {'fake': 'a fake'}

    def part(self, name, missing=None):
        return self.common.Part(
            name,
            name,
            lambda arguments: self.done.append((name, arguments.size)),
            lambda group: group.add_argument(
                *(['--size'] if name == 'first' else [f'--{name}-size']),
                type=int,
                default=3,
            ),
            lambda _arguments: missing,
        )

    def run_main(self, *arguments):
        """Return with what the command ends, and what it prints."""
        output, errors = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
        ):
            try:
                code = self.bench.main(arguments)
            except SystemExit as exc:
                code = exc.code
        return code, output.getvalue(), errors.getvalue()

    def test_all_parts_run_but_those_that_lack_something(self):
        code, _output, errors = self.run_main('fake')
        self.assertEqual(0, code)
        self.assertEqual([('first', 3), ('third', 3)], self.done)
        self.assertEqual(
            'Left out: second: there is no db: apt-get install db\n', errors
        )

    def test_a_part_that_is_asked_for_must_have_what_it_needs(self):
        code, output, _errors = self.run_main(
            'fake', '--only', 'third', 'second'
        )
        self.assertEqual(
            'fake --only second: there is no db: apt-get install db', code
        )
        self.assertEqual(([], ''), (self.done, output))

    def test_it_fails_if_nothing_is_left(self):
        self.module.PARTS = self.module.PARTS[1:2]
        self.assertEqual(1, self.run_main('fake')[0])

    def test_options_reach_the_parts_and_are_repeated(self):
        code, output, _errors = self.run_main(
            'fake', '--only', 'first', '--size', '5'
        )
        self.assertEqual((0, [('first', 5)]), (code, self.done))
        self.assertIn('``tox -e bench -- fake --only first --size 5``', output)

    def test_help_explains_every_part_and_default(self):
        code, output, _errors = self.run_main('fake', '--help')
        self.assertEqual(0, code)
        for name in ('first', 'second', 'third'):
            self.assertIn(f'\n{name}:\n', output)

    def test_an_unknown_name_is_an_error(self):
        code, _output, errors = self.run_main('nonsense')
        self.assertEqual(2, code)
        self.assertIn('nonsense', errors)

    def test_a_table_is_restructuredtext(self):
        table = self.common.Table(
            'Rules', ('What', 'Takes', 'Faster'), goal='to be fast.'
        )
        table.add('one', '1.5 s', '')
        table.add('ten thousand', '1 s', '10 times')
        self.assertEqual(
            """\
.. table:: Rules

   ============  =====  ========
   What          Takes  Faster
   ============  =====  ========
   one           1.5 s
   ten thousand  1 s    10 times
   ============  =====  ========

Goal: to be fast.""",
            table.render(),
        )

    def test_a_row_has_a_cell_for_each_column_and_a_first_one(self):
        table = self.common.Table('Rules', ('What', 'Takes'))
        self.assertRaises(ValueError, table.add, 'one')
        self.assertRaises(ValueError, table.add, '', '1 s')


class BenchTestCase(base.TestCase):
    """The command as it is called."""

    def setUp(self):
        super().setUp()
        if not TOOLS.is_dir():
            self.skipTest('not a checkout: no tools')

    def run_bench(self, *arguments):
        return subprocess.run(
            [sys.executable, str(TOOLS / 'bench.py'), *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, 'PYTHONWARNINGS': 'ignore'},
        )

    def test_every_benchmark_explains_its_options(self):
        for name in ('engine', 'inspection', 'queue', 'fleet', 'offline'):
            done = self.run_bench(name, '--help')
            self.assertEqual((0, ''), (done.returncode, done.stderr))
            self.assertIn('--only PART', done.stdout)

    def test_the_engine_prints_a_row_for_each_number_of_rules(self):
        done = self.run_bench(
            'engine',
            '--only',
            'rules',
            '--rules',
            '10',
            '20',
            '--repeats',
            '1',
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        first = [
            line.split()[0]
            for line in done.stdout.splitlines()
            if line.endswith(' times')
        ]
        self.assertEqual(['10', '20'], first)

    def test_what_is_missing_is_said_in_one_line(self):
        done = self.run_bench(
            'engine', '--only', 'inspector', '--inspector', '/no/such/python'
        )
        self.assertEqual(
            (
                1,
                'engine --only inspector: no ironic-inspector in '
                '/no/such/python: tox -e inspector --notest\n',
            ),
            (done.returncode, done.stderr),
        )

    def test_commands_find_what_the_engine_of_ironic_finds(self):
        done = self.run_bench(
            'offline',
            '--only',
            'commands',
            '--rules',
            '20',
            '--inventories',
            '3',
            '--size',
            '4000',
        )
        self.assertEqual(0, done.returncode, done.stderr)
        [changes] = {
            line.split()[-1]
            for line in done.stdout.splitlines()
            if 'JSON' in line or 'loop around' in line
        }
        self.assertEqual('6', changes)
