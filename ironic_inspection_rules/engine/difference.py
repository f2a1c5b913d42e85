# SPDX-License-Identifier: Apache-2.0

"""Differences between two states of a machine."""

import typing

from ironic_inspection_rules.engine import journal
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.engine.secrecy import masking

Ports = typing.Sequence[typing.Mapping[str, typing.Any]]
_Values = tuple[data_path.Path, typing.Any, typing.Any]


class Difference(typing.NamedTuple):
    """How two states of a machine differ.

    ``changes`` lead from one to the other. ``withheld``: sensitive rules have
    set something that differs, which is not among them.
    """

    changes: list[journal.Change]
    withheld: bool

    def __bool__(self) -> bool:
        return bool(self.changes) or self.withheld


def between(one: working_copy.Facts, other: working_copy.Facts,
            ports: Ports, withheld: typing.Iterable[journal.Change] = ()
            ) -> Difference:
    """Compare two states of a machine.

    A list counts as one value. The trace of the rules in plugin data is left
    out. Secrets are masked.

    :param ports: the ports, whose addresses name them in changes.
    :param withheld: the changes of sensitive rules that led to the states.
    """
    found = _compare(working_copy.NODE, _without(one.node, 'traits'),
                     _without(other.node, 'traits'))
    found += _compare_traits(one, other)
    for index, port in enumerate(ports):
        found += _compare(journal.port_name(port), one.ports[index],
                          other.ports[index])
    found += _compare(working_copy.PLUGIN_DATA,
                      _without(one.plugin_data, trace.KEY),
                      _without(other.plugin_data, trace.KEY))
    places = {(change.object, change.place) for change in withheld}
    shown = [change for change in found if not places
             or not any(_overlap(change, place) for place in places)]
    return Difference(shown, len(shown) < len(found))


def _overlap(change: journal.Change, place: tuple[str, data_path.Path]
             ) -> bool:
    """Return whether a change is of a place, of a part of it, or has it."""
    name, path = place
    common = min(len(path), len(change.place))
    return name == change.object and path[:common] == change.place[:common]


def _without(data: dict[str, typing.Any] | None, name: str
             ) -> dict[str, typing.Any]:
    return {key: value for key, value in (data or {}).items() if key != name}


def _compare_traits(one: working_copy.Facts, other: working_copy.Facts
                    ) -> list[journal.Change]:
    before, after = (list((facts.node or {}).get(working_copy.TRAITS) or ())
                     for facts in (one, other))
    changes = []
    for name in sorted(set(before).difference(after)):
        changes.append(journal.Change(
            working_copy.TRAITS, 'remove', data_path.pointer([name]),
            before=name, place=(name,)))
    for name in sorted(set(after).difference(before)):
        changes.append(journal.Change(
            working_copy.TRAITS, 'add', data_path.pointer([name]),
            value=name, place=(name,)))
    return changes


def _compare(name: str, one: dict[str, typing.Any],
             other: dict[str, typing.Any]) -> list[journal.Change]:
    """Compare two states of an object."""
    changes = []
    for path, before, after in _different(one, other):
        if before is data_path.ABSENT:
            op = 'add'
        elif after is data_path.ABSENT:
            op = 'remove'
        else:
            op = 'replace'
        changes.append(journal.Change(
            name, op, data_path.pointer(path), _shown(path, after),
            _shown(path, before), path))
    return changes


def _different(one: dict[str, typing.Any], other: dict[str, typing.Any]
               ) -> typing.Iterator[_Values]:
    """Yield the innermost values that differ, in the order of their paths."""
    ahead: list[_Values] = [((), one, other)]
    while ahead:
        path, before, after = ahead.pop()
        if before is after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            ahead += [((*path, key), before.get(key, data_path.ABSENT),
                       after.get(key, data_path.ABSENT))
                      for key in sorted(before.keys() | after.keys(),
                                        key=str, reverse=True)]
        elif not data_path.same(before, after):
            yield path, before, after


def _shown(path: data_path.Path, value: typing.Any) -> typing.Any:
    if value is data_path.ABSENT:
        return None
    return masking.mask_along(path, value)[1]
