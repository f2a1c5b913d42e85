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

"""Tables that fit where they are shown, as those of the openstack client.

On a terminal a table is as wide as it, and may be coloured; anywhere else it
is as wide as it needs to be, for tools that search in it.
"""

import os
import re
import shutil
import sys
import typing

import prettytable

_COLOURS = {'error': 31, 'failed': 31, 'warning': 33, 'note': 36,
            'ok': 32}
_ESCAPE = re.compile(r'\033\[\d+m')
_NARROWEST = 8
_WIDTH = 'CLIFF_MAX_TERMINAL_WIDTH'
"""The variable by which commands of cliff are told how wide to be."""


def render(columns: typing.Sequence[str],
           rows: typing.Iterable[typing.Sequence[typing.Any]],
           output: typing.TextIO | None = None) -> str:
    """Return a table as text.

    :param output: where it will be shown, standard output if not given.
    """
    table = prettytable.PrettyTable(columns, align='l')
    table.add_rows([[str(cell) for cell in row] for row in rows])
    width = _width(output or sys.stdout)
    if width:
        table.max_width = _fitting(table, width)
    return str(table)


def coloured(word: str, output: typing.TextIO | None = None) -> str:
    """Colour a verdict where a person looks at it."""
    colour = _COLOURS.get(word)
    if colour is None or 'NO_COLOR' in os.environ or not (
            output or sys.stdout).isatty():
        return word
    return f'\033[{colour}m{word}\033[0m'


def _width(output: typing.TextIO) -> int | None:
    given = os.environ.get(_WIDTH, '')
    if given.isdecimal():
        return int(given) or None
    return shutil.get_terminal_size().columns if output.isatty() else None


def _fitting(table: prettytable.PrettyTable, width: int) -> dict[str, int]:
    """Narrow the widest columns until all of them fit, the others not."""
    widths = {
        name: max(len(_ESCAPE.sub('', line))
                  for cell in (name, *(row[index] for row in table.rows))
                  for line in str(cell).split('\n') or [''])
        for index, name in enumerate(table.field_names)}
    # Borders and blanks are three characters a column, and one more.
    surplus = sum(widths.values()) + 3 * len(widths) + 1 - width
    while surplus > 0:
        widest = max(widths, key=lambda name: widths[name])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
        surplus -= 1
    return widths
