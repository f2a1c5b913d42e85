# SPDX-License-Identifier: Apache-2.0

"""Compare machines from files with the rows of a table, in parallel.

The table lists the machines that an operator has ordered, a row per machine.
A row has a key, e.g. the serial number, and the values that are expected of
the machine, e.g. ``{'serial': 'S1', 'rack': 'b7', 'memory_gib': 512}``. The
inventories of the machines that were delivered are in files.
"""

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
    """The machines of a chunk of files, compared with their rows.

    :ivar machines: the machines of the files that can be read.
    :ivar problems: the reasons why the other files cannot be read.
    """

    machines: list[table_comparison.ComparedMachine]
    problems: list[str]


def compare(
    expected: table.Table,
    nodes: machine_test.Nodes,
    paths: Sequence[str],
    advance: file_work.Advance,
    complain: Callable[[str], typing.Any],
    group_column: str | None = None,
) -> list[table_comparison.TableFinding]:
    """Compare machines with the rows of a table, and return the findings.

    A finding is about a row, a machine, or both. Its state is one of:

    * ``right``: the machine has the values of its row.
    * ``wrong``: the machine differs from its row.
    * ``missing``: the row has no machine, or the file of its machine cannot be
      read.
    * ``unexpected``: the machine has no row.
    * ``twice``: several machines have the same key, or have none.

    :param expected: the table with the expected machines.
    :param nodes: the nodes of the machines, whose fields a table may expect
        as well.
    :param paths: the files with the inventories.
    :param advance: called with the number of files of each finished chunk.
    :param complain: called with the reason why a file cannot be read.
    :param group_column: the column that groups machines, e.g. ``rack``; None
        for no groups.
    """
    # Each worker process creates one object of the class from these arguments,
    # and calls it with chunks of the paths.
    prepare = functools.partial(_RowComparison, expected, nodes, group_column)
    machines: list[table_comparison.ComparedMachine] = []
    for chunk in file_work.with_standard_input(paths, prepare, advance):
        machines += chunk.machines
        for problem in chunk.problems:
            complain(problem)
    # Rows without a machine or with two machines are only known after all
    # machines have been compared.
    findings = table_comparison.find_states(expected, machines, group_column)
    return list(findings)


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
        self,
        expected: table.Table,
        nodes: machine_test.Nodes,
        group_column: str | None,
    ) -> None:
        self._expected = expected
        self._nodes = nodes
        self._group_column = group_column

    def __call__(self, paths: Sequence[str]) -> _Chunk:
        """Compare the machines of some files with the table.

        A file that cannot be read gives a problem instead of a machine.
        """
        chunk = _Chunk(machines=[], problems=[])
        for path in paths:
            try:
                node = self._nodes.node_for(path)
                facts = machine_test.load_facts(path, node)
            except exceptions.InvalidDocument as exc:
                chunk.problems.append(str(exc))
                continue
            # The data by root name, e.g. "inventory" and "node".
            data = budget.View(facts.roots())
            # The path serves as the name of the machine.
            machine = table_comparison.compare(
                self._expected, path, data, self._group_column
            )
            chunk.machines.append(machine)
        return chunk
