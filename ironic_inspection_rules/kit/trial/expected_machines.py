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

_RACKS = ('rack', 'cabinet', 'location')
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

    The machine of a file that cannot be read counts as missing.

    :param nodes: the node that each machine is taken for.
    :param paths: files with their inventories.
    :param complain: called with the reason why a file cannot be read.
    :param by: the column that groups machines, None if none does.
    """
    prepare = functools.partial(_RowComparison, expected, nodes, by)
    machines: list[table_comparison.ComparedMachine] = []
    for chunk in file_work.with_standard_input(paths, prepare, advance):
        machines += chunk.machines
        for problem in chunk.problems:
            complain(problem)
    return list(table_comparison.find_states(expected, machines, by))


def rack_column(expected: table.Table) -> str | None:
    """Return the column that says where a machine stands, if one does."""
    by_name = {column.lower(): column for column in expected.columns}
    for name in _RACKS:
        if name in by_name:
            return by_name[name]
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
        """Return the compared machines, and why files have none."""
        chunk = _Chunk([], [])
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
