# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""What became of machines, printed as it comes.

Nothing of a machine is kept longer than it takes to print it, but for a
block of lines of a table, and for what machines have in common.
"""

import collections
import functools
import typing

from ironic_inspection_rules.offline import machine_test
from ironic_inspection_rules.offline import report

_BLOCK = 1000
"""So many machines share a table, whose widths only then are known."""


class Listing(typing.Protocol):
    """Prints machines, in the order that it is given them."""

    @property
    def tell(self) -> machine_test.Tell:
        """What is wanted of each machine."""

    def add(self, told: typing.Any) -> None:
        """Print one more, sooner or later."""

    def end(self, results: collections.Counter[str]) -> None:
        """Print what is left.

        :param results: how many machines there were of each.
        """


class Json:
    """A list in JSON, each machine on a line if there are many."""

    def __init__(self, output: typing.TextIO, indented: bool) -> None:
        self.tell = functools.partial(report.as_json,
                                      indent=2 if indented else None)
        self._output = output
        self._before = '['

    def add(self, told: str) -> None:
        """Print one machine."""
        self._output.write(self._before + told)
        self._before = ',\n'

    def end(self, results: collections.Counter[str]) -> None:
        """End the list."""
        self._output.write(']\n')


class Yaml:
    """A list in YAML."""

    tell = staticmethod(report.as_yaml)

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output

    def add(self, told: str) -> None:
        """Print one machine."""
        self._output.write(told)

    def end(self, results: collections.Counter[str]) -> None:
        """Print nothing more."""


class Table:
    """A line for each machine, and the sum."""

    tell = staticmethod(report.row)

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output
        self._rows: list[report.Row] = []

    def add(self, told: report.Row) -> None:
        """Print a block of machines when it is full."""
        self._rows.append(told)
        if len(self._rows) == _BLOCK:
            self._print()

    def end(self, results: collections.Counter[str]) -> None:
        """Print the last block and the sum."""
        if self._rows:
            self._print()
        self._output.write(f'{report.total(results)}\n')

    def _print(self) -> None:
        self._output.write(f'{report.rows_table(self._rows)}\n')
        self._rows.clear()


class Details:
    """All about each machine, those with the same rules and changes once."""

    tell = staticmethod(report.details)

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output
        self._groups: dict[tuple[str, str], list[str]] = {}

    def add(self, told: tuple[str, str, str]) -> None:
        """Put one machine to those that are like it."""
        path, verdict, body = told
        self._groups.setdefault((verdict, body), []).append(path)

    def end(self, results: collections.Counter[str]) -> None:
        """Print all groups."""
        self._output.write('\n\n'.join(
            '\n'.join([*paths[:-1], f'{paths[-1]}: {verdict}', body]).rstrip()
            for (verdict, body), paths in self._groups.items()) + '\n')
