# SPDX-License-Identifier: Apache-2.0

"""Compare machines from files with the rows of a table, in parallel."""

from collections.abc import Callable, Sequence
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.machine import table_comparison

_RACK_COLUMNS = ('rack', 'cabinet', 'location')
"""Columns that say where a machine is."""


class _Chunk(typing.NamedTuple):
    """The machines of a chunk of files.

    :ivar problems: the reasons why files cannot be read. These files have no
        machine here.
    """

    machines: list[table_comparison.ComparedMachine]
    problems: list[str]


def compare(
    expected: table.Table,
    nodes: machine_test.Nodes,
    paths: Sequence[str],
    advance: file_work.Advance,
    complain: Callable[[str], typing.Any],
    by: str | None = None,
) -> list[table_comparison.TableFinding]:
    """Compare machines with the rows of a table, and return the findings.

    A finding is a row with its machine, a row without a machine, or a machine
    without a row. Its state is ``right``, ``wrong``, ``missing``,
    ``unexpected`` or ``twice``. If a file cannot be read, its machine counts
    as missing.

    :param nodes: the nodes on which the machines are tried.
    :param paths: the files with the inventories.
    :param complain: called with the reason why a file cannot be read.
    :param by: the column that groups machines, e.g. ``rack``; None for no
        groups.
    """
    # Each process calls this once, and then compares chunks of machines.
    prepare = functools.partial(_RowComparison, expected, nodes, by)
    machines: list[table_comparison.ComparedMachine] = []
    for chunk in file_work.with_standard_input(paths, prepare, advance):
        machines += chunk.machines
        for problem in chunk.problems:
            complain(problem)
    # Rows without a machine or with two machines are only known after all
    # machines have been compared.
    return list(table_comparison.find_states(expected, machines, by))


def rack_column(expected: table.Table) -> str | None:
    """Return the column that says where a machine is, if there is one.

    It is the first of "rack", "cabinet" and "location" that the table has,
    regardless of letter case.
    """
    column_by_name = {column.lower(): column for column in expected.columns}
    for name in _RACK_COLUMNS:
        if name in column_by_name:
            return column_by_name[name]
    return None


class _RowComparison:
    """Compare chunks of machines with a table, in a worker process."""

    def __init__(
        self, expected: table.Table, nodes: machine_test.Nodes, by: str | None
    ) -> None:
        self._expected = expected
        self._nodes = nodes
        self._by = by

    def __call__(self, paths: Sequence[str]) -> _Chunk:
        """Compare the machines of some files with the table.

        A file that cannot be read gives a problem instead of a machine.
        """
        chunk = _Chunk(machines=[], problems=[])
        for path in paths:
            try:
                facts = machine_test.load_facts(path, self._nodes.of(path))
            except exceptions.InvalidDocument as exc:
                chunk.problems.append(str(exc))
                continue
            view = budget.View(facts.roots())
            chunk.machines.append(
                table_comparison.compare(self._expected, path, view, self._by)
            )
        return chunk
