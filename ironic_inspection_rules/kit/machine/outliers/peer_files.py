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
    """Compare machines with their peers.

    :param paths: files with their inventories.
    :param by: see :func:`.sketch.draw`.
    :param least: machines that make peers.
    :param complain: called with the reason why a file cannot be read.
    """
    compared = peers.Peers(least)
    files = [path for path in paths if path != document.STDIN]
    prepare = functools.partial(_prepare, tuple(by))

    def chunks() -> Iterator[_Chunk]:
        yield from file_work.in_chunks(files, prepare, advance)
        if len(files) < len(paths):
            # Other processes have no standard input: this one reads it.
            work = prepare()
            yield work([document.STDIN])

    for chunk in chunks():
        compared.add(chunk.sketches)
        for problem in chunk.problems:
            complain(problem)
    return compared.find()


def learn(
    result: peers.Result, by: Sequence[str], advance: file_work.Advance
) -> list[dict[str, typing.Any]]:
    """Write rules for machines like those that are not odd.

    The files of the machines are read again.

    :param by: see :func:`.sketch.draw`.
    """
    norms = norm_rules.Norms(result)
    # What was piped in cannot be read again.
    paths = [path for path in norms.machines if path != document.STDIN]
    prepare = functools.partial(_prepare_norms, tuple(by))
    for chunk in file_work.in_chunks(paths, prepare, advance):
        for path, reduced in chunk:
            norms.add(path, reduced)
    return norms.rules()


def _prepare_norms(
    by: Sequence[str],
) -> file_work.Work[list[tuple[str, norm_rules.Reduced]]]:
    """Return the work that reads what rules are made of."""

    def work(paths: Sequence[str]) -> list[tuple[str, norm_rules.Reduced]]:
        reduced = []
        for path in paths:
            facts = machine_file.load(path)
            reduced.append((path, norm_rules.reduce(facts, by)))
        return reduced

    return work


def _prepare(by: Sequence[str]) -> file_work.Work[_Chunk]:
    """Return the work that reads what is compared."""

    def work(paths: Sequence[str]) -> _Chunk:
        # What the machines of a chunk share is sent once.
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
