# SPDX-License-Identifier: Apache-2.0

"""Find odd machines among many files, which are read on all processors.

Worker processes read the files in chunks. They return only a sketch of every
machine: the fields and parts that are compared. The main process groups
machines of one model as peers, and compares their sketches.
"""

from collections.abc import Callable, Sequence
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
    """The result of reading a chunk of files.

    :param sketches: the sketches of the machines, in the order of the files.
    :param problems: the reasons why files cannot be read.
    """

    sketches: list[sketch.Sketch]
    problems: list[str]


def compare(
    paths: Sequence[str],
    by: Sequence[str],
    min_peers: int,
    advance: file_work.Advance,
    complain: Callable[[str], typing.Any],
) -> peers.Result:
    """Read machines from files, on all processors, and find the odd ones.

    :param paths: files with the inventories of machines.
    :param by: the paths of the values that all peers must have; if empty, the
        paths of the vendor, the product and the board.
    :param min_peers: the least number of machines that are peers.
    :param advance: called as files are read, for a progress bar.
    :param complain: called with the reason why a file cannot be read; the
        other files are compared nevertheless.
    """
    machines = peers.Peers(min_peers)
    prepare = functools.partial(_SketchReader, tuple(by))
    for chunk in file_work.with_standard_input(paths, prepare, advance):
        machines.add(chunk.sketches)
        for problem in chunk.problems:
            complain(problem)
    return machines.find()


def learn(
    result: peers.Result, by: Sequence[str], advance: file_work.Advance
) -> list[dict[str, typing.Any]]:
    """Learn rules that record where a machine of a group is odd.

    The machines that are not odd are normal, and their files are read again.

    :param result: the result of :func:`compare`.
    :param by: the paths of the values that all peers have.
    :param advance: called as files are read, for a progress bar.
    :returns: rules as plain data.
    """
    norms = norm_rules.Norms(result)
    # Standard input cannot be read again.
    paths = [path for path in norms.machines if path != document.STDIN]
    prepare = functools.partial(_ReducedReader, tuple(by))
    for chunk in file_work.in_chunks(paths, prepare, advance):
        for path, reduced_machine in chunk:
            norms.add(path, reduced_machine)
    return norms.rules()


class _ReducedReader:
    """Reads a chunk of files for :func:`learn`, in a worker process.

    :param by: the paths of the values that all peers have, such as
        ``inventory.system_vendor.product_name``.
    """

    def __init__(self, by: Sequence[str]) -> None:
        self._by = by

    def __call__(
        self, paths: Sequence[str]
    ) -> list[tuple[str, norm_rules.Reduced]]:
        """Return the path of every file, and the reduced data of its machine.

        The data are reduced to the small part that rules are learned from.

        :raises: :class:`.exceptions.InvalidDocument` if a file that
            :func:`compare` has read cannot be read again.
        """
        reduced_machines = []
        for path in paths:
            facts = machine_file.load(path)
            reduced_machine = norm_rules.reduce(facts, self._by)
            reduced_machines.append((path, reduced_machine))
        return reduced_machines


class _SketchReader:
    """Reads a chunk of files for :func:`compare`, in a worker process.

    :param by: the paths of the values that all peers must have; if empty, the
        paths of the vendor, the product and the board.
    """

    def __init__(self, by: Sequence[str]) -> None:
        self._by = by

    def __call__(self, paths: Sequence[str]) -> _Chunk:
        """Return the sketches of machines, and why files cannot be read."""
        # Equal values of several machines are one object, which is sent only
        # once to the process that compares.
        shared = sketch.SketchInterner()
        chunk = _Chunk([], [])
        for path in paths:
            try:
                facts = machine_file.load(path)
            except exceptions.InvalidDocument as exc:
                chunk.problems.append(str(exc))
                continue
            # The path of the file is the name of the machine.
            whole = sketch.build(path, facts, self._by)
            chunk.sketches.append(shared.intern(whole))
        return chunk
