# SPDX-License-Identifier: Apache-2.0

import io

import fixtures

from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.tests.unit import base


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TableTestCase(base.TestCase):
    ROWS = (['a.yaml:1:1', 'error', 'long ' * 40],)

    def render(self, output):
        return table.render(['Place', 'Level', 'Problem'], self.ROWS, output)

    def test_elsewhere_it_fits_into_200_columns(self):
        lines = self.render(io.StringIO()).splitlines()
        self.assertEqual({200}, {len(line) for line in lines})
        words = []
        for line in lines[3:-1]:
            last_cell = line.split('|')[-2]
            words += last_cell.split()
        self.assertEqual(self.ROWS[0][2].split(), words)

    def test_on_a_terminal_it_fits_and_only_wide_columns_are_narrowed(self):
        self.useFixture(fixtures.EnvironmentVariable('COLUMNS', '60'))
        self.useFixture(fixtures.EnvironmentVariable('NO_COLOR', '1'))
        lines = self.render(Terminal()).splitlines()
        self.assertEqual({60}, {len(line) for line in lines})
        self.assertIn('| a.yaml:1:1 | error |', lines[3])

    def test_the_width_can_be_given_as_for_the_openstack_client(self):
        self.useFixture(
            fixtures.EnvironmentVariable('CLIFF_MAX_TERMINAL_WIDTH', '50')
        )
        self.assertEqual(50, len(self.render(io.StringIO()).splitlines()[0]))

    def test_colour_is_for_terminals_that_want_it(self):
        self.useFixture(fixtures.EnvironmentVariable('TERM', 'xterm'))
        self.useFixture(fixtures.EnvironmentVariable('NO_COLOR'))
        self.assertNotIn('\033', self.render(io.StringIO()))
        self.assertEqual(1, self.render(Terminal()).count('\033[31m'))
        self.useFixture(fixtures.EnvironmentVariable('NO_COLOR', '1'))
        self.assertNotIn('\033', self.render(Terminal()))

    def test_a_cell_commands_no_terminal(self):
        shown = table.render(
            ['\N{ESCAPE}'.encode().hex()],
            [['a\tb\r\x1b[31m\u202e[red]c[/]']],
            Terminal(),
        )
        self.assertIn('b\\r\\x1b[31m\\u202e[red]c[/]', shown)
        self.assertNotIn('\033', shown)

    def test_many_rows_look_as_each_of_them_alone(self):
        rows = [['a', 'ok', '中文'], ['', 'failed', 'x'], ['b c', 'note', '']]
        for output, columns in (
            (io.StringIO(), '80'),
            (Terminal(), '80'),
            (Terminal(), '20'),
        ):
            self.useFixture(fixtures.EnvironmentVariable('COLUMNS', columns))
            together = table.render(['A', 'B', 'C'], rows, output)
            with fixtures.MonkeyPatch(
                'ironic_inspection_rules.kit.terminal.table._divide_into_blocks',
                lambda rows, *_sizes: [[row] for row in rows],
            ):
                self.assertEqual(
                    together, table.render(['A', 'B', 'C'], rows, output)
                )

    def test_no_rows_are_a_table_too(self):
        self.assertEqual(4, len(table.render(['A', 'B'], []).splitlines()))
