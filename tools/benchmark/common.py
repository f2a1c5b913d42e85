# SPDX-License-Identifier: Apache-2.0

"""Common code of the benchmarks: parts, tables and requirements.

A benchmark is a module with a docstring and ``PARTS``.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import datetime
import importlib.metadata
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import sqlalchemy as sa

from ironic_inspection_rules.tests import database

INVENTORY_FILE = (
    pathlib.Path(__file__).parents[1]
    / 'samples'
    / 'inventory-virtual-machine.json'
)

_SERVERS = {'mysql': 'MariaDB', 'postgresql': 'PostgreSQL'}
_SERVER_PACKAGES = {'mysql': 'mariadb-server', 'postgresql': 'postgresql'}


def _need_nothing(_arguments: argparse.Namespace) -> str | None:
    """Return None: a part needs nothing unless it says so."""
    return None


def _add_nothing(_group: argparse._ArgumentGroup) -> None:
    """Declare no options: most parts have none of their own."""


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a benchmark, which is measured separately.

    :param name: the name by which ``--only`` chooses it.
    :param summary: a description for ``--help``.
    :param run: a function that measures it, and prints tables.
    :param add_arguments: a function that declares the options of this part.
    :param missing: a function that returns one line about what this machine
        lacks, such as ``there is no nft: apt-get install nftables``; None if
        it lacks nothing. It must be quick.
    """

    name: str
    summary: str
    run: Callable[[argparse.Namespace], None]
    add_arguments: Callable[[argparse._ArgumentGroup], None] = _add_nothing
    missing: Callable[[argparse.Namespace], str | None] = _need_nothing


class Table:
    """A table in reStructuredText, which can be pasted into a document.

    :param title: the title, which includes the unit that all cells share.
    :param columns: the titles of the columns.
    :param goal: the desired figures, as a sentence.
    """

    def __init__(
        self, title: str, columns: Sequence[str], goal: str = ''
    ) -> None:
        self._title = title
        self._rows = [tuple(columns)]
        self._goal = goal

    def add(self, *cells: str) -> None:
        """Add a row.

        :raises: ValueError if the number of cells differs from the number of
            columns, or if the first cell is empty, because that would continue
            the row above.
        """
        if len(cells) != len(self._rows[0]) or not cells[0]:
            raise ValueError(f'{cells} is no row of {self._rows[0]}')
        self._rows.append(cells)

    def render(self) -> str:
        """Return the table as reStructuredText, without a trailing newline."""
        widths = [
            max(map(len, column)) for column in zip(*self._rows, strict=True)
        ]
        border = '  '.join('=' * width for width in widths)
        lines = [border, _line(self._rows[0], widths), border]
        lines += [_line(row, widths) for row in self._rows[1:]]
        lines.append(border)
        text = f'.. table:: {self._title}\n\n'
        text += '\n'.join(f'   {line}' for line in lines)
        if self._goal:
            text += f'\n\nGoal: {self._goal}'
        return text

    def print(self) -> None:
        """Print the table, with an empty line before and after it."""
        print(f'\n{self.render()}\n', flush=True)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return the cells of a row as one line, separated by two blanks."""
    padded = (
        cell.ljust(width) for cell, width in zip(cells, widths, strict=True)
    )
    return '  '.join(padded).rstrip()


def say(text: str) -> None:
    """Print progress to standard error, because tables go elsewhere."""
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    """Return a sentence about the day, the machine and the versions."""
    versions = ', '.join(
        f'{title} {importlib.metadata.version(package)}'
        for title, package in (
            ('Ironic', 'ironic'),
            ('ironic-inspection-rules', 'ironic-inspection-rules'),
        )
    )
    return (
        f'Measured on {datetime.date.today()}: {os.cpu_count()} cores of '
        f'{_processor()}, Linux {platform.release()}, Python '
        f'{platform.python_version()}, {versions}; load of the machine '
        f'before: {os.getloadavg()[0]:.1f}.'
    )


def _processor() -> str:
    """Return the name of the processor, such as ``AMD EPYC 7763``."""
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        name, _colon, value = line.partition(':')
        if name.strip() == 'model name':
            return value.strip()
    return platform.machine()


def missing_program(program: str, package: str) -> str | None:
    """Return what to install if a program is missing, otherwise None.

    :param package: the Debian package that has the program.
    """
    if shutil.which(program):
        return None
    return f'there is no {program}: apt-get install {package}'


def missing_database(kind: str) -> str | None:
    """Return what to install if a database is missing, otherwise None.

    :param kind: ``sqlite``, ``mysql`` or ``postgresql``.
    """
    if kind == 'sqlite' or not database.why_absent(kind):
        return None
    return (
        f'no {_SERVERS[kind]} server lets openstack_citest in: apt-get '
        f'install {_SERVER_PACKAGES[kind]}, start it, then '
        'tox -e venv -- python tools/prepare_databases.py'
    )


def missing_broker() -> str | None:
    """Return what to do if there is no RabbitMQ that may be changed.

    The benchmarks create their own virtual hosts, which requires root.

    :returns: None if there is a usable RabbitMQ.
    """
    missing = missing_program('rabbitmqctl', 'rabbitmq-server')
    if missing:
        return missing
    done = subprocess.run(
        ['rabbitmqctl', '-q', 'list_vhosts'], capture_output=True
    )
    if done.returncode:
        return (
            'rabbitmqctl does not reach RabbitMQ: start rabbitmq-server '
            'and call this as root'
        )
    return None


@contextlib.contextmanager
def server_database() -> Iterator[str]:
    """Create an empty database on the MariaDB of the tests; yield its URL."""
    with database.Database('mysql', ready=False) as made:
        yield made.engine.url.render_as_string(hide_password=False)


def server_version(kind: str) -> str:
    """Return the name and version of the database server of the tests."""
    if kind == 'sqlite':
        return 'SQLite'
    with database.Database(kind, ready=False) as made:
        with made.engine.connect() as connection:
            version = connection.execute(
                sa.text('SELECT version()')
            ).scalar_one()
    # "11.8.3-MariaDB-1", or "PostgreSQL 17.6 (Debian 17.6-1) on x86_64-…".
    number = version.removeprefix('PostgreSQL ').split('-')[0].split()[0]
    return f'{_SERVERS[kind]} {number}'
