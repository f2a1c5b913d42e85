# SPDX-License-Identifier: Apache-2.0

"""Machines from files beside their peers, on all processors."""

from collections.abc import Callable, Iterator, Sequence
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.machine.outliers import norm_rules
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.rule_file import document


class _Chunk(typing.NamedTuple):
    """The sketches of a chunk of files.

    :param problems: why files cannot be read.
    """

    sketches: list[sketch.Sketch]
    problems: list[str]


def compare(
    paths: Sequence[str],
    by: Sequence[str],
    least: int,
    advance: file_work.Advance,
    complain: Callable[[str], typing.Any],
) -> peers.Result:
    """Read machines from files, on all processors, and find the odd ones.

    :param paths: files with the inventories of machines.
    :param by: paths of the values that peers have in common, see
        :func:`.sketch.draw`.
    :param least: the least number of machines that are peers.
    :param advance: called as files are read, for a progress bar.
    :param complain: called with the reason why a file cannot be read; the
        others are compared all the same.
    """
    machines = peers.Peers(least)
    files = [path for path in paths if path != document.STDIN]
    prepare = functools.partial(_prepare, tuple(by))

    def chunks() -> Iterator[_Chunk]:
        yield from file_work.in_chunks(files, prepare, advance)
        if len(files) < len(paths):
            # Other processes have no standard input: this one reads it.
            work = prepare()
            yield work([document.STDIN])

    for chunk in chunks():
        machines.add(chunk.sketches)
        for problem in chunk.problems:
            complain(problem)
    return machines.find()


def learn(
    result: peers.Result, by: Sequence[str], advance: file_work.Advance
) -> list[dict[str, typing.Any]]:
    """Build rules that record where a machine of a group is odd.

    What is normal is learnt from the machines that are not odd, group by
    group: their files are read once more.

    :param result: what :func:`compare` returned.
    :param by: as for :func:`compare`.
    :returns: rules as plain data.
    """
    norms = norm_rules.Norms(result)
    # What was piped in cannot be read again.
    paths = [path for path in norms.machines if path != document.STDIN]
    prepare = functools.partial(_prepare_norms, tuple(by))
    for chunk in file_work.in_chunks(paths, prepare, advance):
        for path, reduced_machine in chunk:
            norms.add(path, reduced_machine)
    return norms.rules()


def _prepare_norms(
    by: Sequence[str],
) -> file_work.Work[list[tuple[str, norm_rules.Reduced]]]:
    """Build the function that reads a chunk of files for :func:`learn`.

    Worker processes call it. It returns a path and the reduced machine for
    every file.
    """

    def work(paths: Sequence[str]) -> list[tuple[str, norm_rules.Reduced]]:
        reduced_machines = []
        for path in paths:
            facts = machine_file.load(path)
            reduced_machines.append((path, norm_rules.reduce(facts, by)))
        return reduced_machines

    return work


def _prepare(by: Sequence[str]) -> file_work.Work[_Chunk]:
    """Build the function that reads a chunk of files for :func:`compare`.

    Worker processes call it. It returns the sketches of the machines, and
    why files could not be read.
    """

    def work(paths: Sequence[str]) -> _Chunk:
        # What several machines have is one object: it is sent once to the
        # process that compares.
        shared = sketch.Shared()
        chunk = _Chunk([], [])
        for path in paths:
            try:
                facts = machine_file.load(path)
            except exceptions.InvalidDocument as exc:
                chunk.problems.append(str(exc))
                continue
            whole = sketch.draw(path, facts, by)
            chunk.sketches.append(shared.sketch(whole))
        return chunk

    return work
