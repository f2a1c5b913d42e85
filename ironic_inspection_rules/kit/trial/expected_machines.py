# SPDX-License-Identifier: Apache-2.0

"""Machines from files beside the rows of a table, on all processors."""

from collections.abc import Callable, Iterator, Sequence
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.machine import table_comparison
from ironic_inspection_rules.rule_file import document

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

    Files are read and compared in several processes. The machine of a file
    that cannot be read counts as missing.

    :param nodes: the node that each machine is taken for.
    :param paths: files with their inventories.
    :param advance: called with the progress.
    :param complain: called with the reason why a file cannot be read.
    :param by: the column that groups machines, None if none does.
    """
    prepare = functools.partial(_prepare, expected, nodes, by)
    files = [path for path in paths if path != document.STDIN]

    def chunks() -> Iterator[_Chunk]:
        yield from file_work.in_chunks(files, prepare, advance)
        if len(files) < len(paths):
            # Only this process can read standard input.
            work = prepare()
            yield work([document.STDIN])

    def machines() -> Iterator[table_comparison.ComparedMachine]:
        for chunk in chunks():
            for problem in chunk.problems:
                complain(problem)
            yield from chunk.machines

    return list(table_comparison.findings(expected, machines(), by))


def rack_column(expected: table.Table) -> str | None:
    """Return the column that says where a machine stands, if one does."""
    by_name = {column.lower(): column for column in expected.columns}
    for name in _RACKS:
        if name in by_name:
            return by_name[name]
    return None


def _prepare(
    expected: table.Table, nodes: machine_test.Nodes, by: str | None
) -> file_work.Work[_Chunk]:
    """Return a function that compares the machines of some files with a table.

    A file that cannot be read is a problem in the result. The function is made
    anew in every process: one inside of another cannot be sent there.
    """

    def work(paths: Sequence[str]) -> _Chunk:
        chunk = _Chunk([], [])
        for path in paths:
            try:
                facts = machine_test.load_facts(path, nodes.of(path))
            except exceptions.InvalidDocument as exc:
                chunk.problems.append(str(exc))
                continue
            view = budget.View(facts.roots())
            chunk.machines.append(
                table_comparison.compare(expected, path, view, by)
            )
        return chunk

    return work
