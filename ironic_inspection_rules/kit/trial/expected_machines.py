# SPDX-License-Identifier: Apache-2.0

"""Machines from files beside the rows of a table, on all processors."""

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
"""Columns by which people look for machines."""


class _Chunk(typing.NamedTuple):
    """Machines of a chunk of files.

    :ivar problems: why files cannot be read, which have no machine here.
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

    A finding is a row with its machine, or one of the two alone, and a state:
    ``right``, ``wrong``, ``missing``, ``unexpected`` or ``twice``. The machine
    of a file that cannot be read counts as missing.

    :param nodes: the node that each machine is taken for.
    :param paths: files with their inventories.
    :param complain: called with the reason why a file cannot be read.
    :param by: the column that groups machines, such as ``rack``; None if none
        does.
    """
    # Called once in every process, which then compares chunks of machines.
    prepare = functools.partial(_RowComparison, expected, nodes, by)
    machines: list[table_comparison.ComparedMachine] = []
    for chunk in file_work.with_standard_input(paths, prepare, advance):
        machines += chunk.machines
        for problem in chunk.problems:
            complain(problem)
    # Only all machines together show which rows have none, or two.
    return list(table_comparison.find_states(expected, machines, by))


def rack_column(expected: table.Table) -> str | None:
    """Return the column that says where a machine stands, if one does.

    It is the first of "rack", "cabinet" and "location" that the table has, in
    upper or lower case: "Rack" is such a column as well.
    """
    column_by_name = {column.lower(): column for column in expected.columns}
    for name in _RACK_COLUMNS:
        if name in column_by_name:
            return column_by_name[name]
    return None


class _RowComparison:
    """Compares a chunk of machines with a table, in a worker process."""

    def __init__(
        self, expected: table.Table, nodes: machine_test.Nodes, by: str | None
    ) -> None:
        self._expected = expected
        self._nodes = nodes
        self._by = by

    def __call__(self, paths: Sequence[str]) -> _Chunk:
        """Compare the machines of some files with the table.

        A file that cannot be read has no machine, but a problem.
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
