# SPDX-License-Identifier: Apache-2.0

"""Machines from files beside their peers, on all processors."""

from collections.abc import Callable, Mapping, Sequence
import functools
import json
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import views
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import rules
from ironic_inspection_rules.kit.machine.profile import sort
from ironic_inspection_rules.kit.trial import walk
from ironic_inspection_rules.rule_file import document


class _Drawn(typing.NamedTuple):
    """What came of a chunk of files.

    :param problems: why files cannot be read.
    """

    sketches: list[sketch.Sketch]
    problems: list[str]


def compare(paths: Sequence[str], by: Sequence[str], least: int,
            advance: walk.Advance, complain: Callable[[str], typing.Any]
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
    chunks = walk.in_chunks(files, prepare, advance)
    for drawn in chunks:
        compared.add(drawn.sketches)
        for problem in drawn.problems:
            complain(problem)
    if len(files) < len(paths):
        # Other processes have no standard input.
        drawn = prepare()([document.STDIN])
        compared.add(drawn.sketches)
        for problem in drawn.problems:
            complain(problem)
    return compared.find()


class Norm:
    """The normal machines of a group, each of those that are equal once.

    :ivar keys: values of the paths that peers have in common, of all of them.
    """

    def __init__(self, group: peers.Group) -> None:
        self.label = group.label
        self.is_one_kind = len(group.kinds) == 1
        self.keys: dict[str, list[typing.Any]] = {}
        self.machines: dict[str, views.Facts] = {}

    def add(self, keys: Mapping[str, typing.Any], text: str) -> None:
        """Take in a machine.

        :param text: what :func:`.component.reduced` leaves, as JSON.
        """
        for path, value in keys.items():
            known = self.keys.setdefault(path, [])
            if value not in known:
                known.append(value)
        if text not in self.machines:
            self.machines[text] = views.Facts(*json.loads(text))

    def rules(self) -> list[dict[str, typing.Any]]:
        """Return rules that record where a machine of the group is odd."""
        tolerated = component.Tolerance()
        if not self.is_one_kind:
            # Between two kinds there is a machine that is broken.
            tolerated = component.Tolerance(
                observed=set(component.COMPONENTS))
        only = [_among(path, values) for path, values in self.keys.items()]
        written = []
        for rule in rules.write(list(self.machines.values()), self.label,
                                rules.AUDIT, tolerated, set(self.keys)):
            written.append({**rule, 'conditions': [*only,
                                                   *rule['conditions']]})
        return written


def _among(path: str, values: Sequence[typing.Any]) -> dict[str, typing.Any]:
    """Return the condition that a machine is of a group."""
    root, *names = data_path.parse(path)
    place = root + ''.join(f'[{name}]' for name in names)
    if all(map(str.isidentifier, names)):
        place = '.'.join((root, *names))
    return {'op': 'one-of', 'args': {
        'value': f"{{{place} | default('', true)}}",
        'values': [sort.escape(value) for value in values]}}


def learn(found: peers.Result, by: Sequence[str], advance: walk.Advance
          ) -> list[dict[str, typing.Any]]:
    """Write rules for machines like those that are not odd.

    The files of the machines are read again.

    :param by: see :func:`.sketch.draw`.
    """
    odd = {each.machine for each in found.findings}
    groups = {each.name: number for number, group in enumerate(found.groups)
              for kind in group.kinds for each in kind.sketches
              if each.name not in odd and each.name != document.STDIN}
    norms = [Norm(group) for group in found.groups]
    prepare = functools.partial(_prepare_norm, tuple(by))
    for chunk in walk.in_chunks(sorted(groups), prepare, advance):
        for path, keys, text in chunk:
            norms[groups[path]].add(keys, text)
    return [rule for norm in norms if norm.machines
            for rule in norm.rules()]


def _prepare_norm(by: Sequence[str]
                  ) -> walk.Work[list[tuple[str, dict[str, typing.Any], str]]]:
    def work(paths: Sequence[str]
             ) -> list[tuple[str, dict[str, typing.Any], str]]:
        normal = []
        for path in paths:
            facts = machine_file.load(path)
            small = component.reduced(facts)
            normal.append((path, sketch.values_of(facts, by), json.dumps(
                [small.inventory, small.plugin_data], sort_keys=True)))
        return normal
    return work


def _prepare(by: Sequence[str]) -> walk.Work[_Drawn]:
    def work(paths: Sequence[str]) -> _Drawn:
        # What the machines of a chunk share is sent once.
        shared = sketch.Shared()
        drawn = _Drawn([], [])
        for path in paths:
            try:
                facts = machine_file.load(path)
            except exceptions.InvalidDocument as exc:
                drawn.problems.append(str(exc))
                continue
            drawn.sketches.append(sketch.draw(path, facts, by, shared))
        return drawn
    return work
