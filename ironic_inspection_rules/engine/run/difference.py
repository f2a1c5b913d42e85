# SPDX-License-Identifier: Apache-2.0

"""Differences between two states of a machine."""

import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.engine.run import working_copy

Ports = typing.Sequence[typing.Mapping[str, typing.Any]]
_Values = tuple[data_path.Path, typing.Any, typing.Any]


class Difference(typing.NamedTuple):
    """How two states of a machine differ.

    ``changes`` lead from one to the other. ``closed``: something that differs
    is not among them, as nobody is told of it.
    """

    changes: list[engine_change.Change]
    closed: bool

    def __bool__(self) -> bool:
        return bool(self.changes) or self.closed


def between(one: working_copy.Facts, other: working_copy.Facts,
            ports: Ports) -> Difference:
    """Compare two states of a machine.

    A list counts as one value. The trace of the rules in plugin data is left
    out. Secrets are masked.

    :param ports: the ports, whose addresses name them in changes.
    """
    found = _compare(working_copy.NODE, _without(one.node, 'traits'),
                     _without(other.node, 'traits'))
    found += _compare_traits(one, other)
    for index, port in enumerate(ports):
        found += _compare(engine_change.port_name(port), one.ports[index],
                          other.ports[index])
    found += _compare(working_copy.PLUGIN_DATA,
                      _without(one.plugin_data, trace.KEY),
                      _without(other.plugin_data, trace.KEY))
    closed = one.closed | other.closed
    shown = [change for change in found if not closed
             or not any(_overlap(change, place) for place in closed)]
    return Difference(shown, len(shown) < len(found))


def _overlap(change: engine_change.Change, place: views.Place) -> bool:
    """Return whether a change is of a place, of a part of it, or has it."""
    name, path = place
    common = min(len(path), len(change.place))
    return name == change.object and path[:common] == change.place[:common]


def _without(data: dict[str, typing.Any] | None, name: str
             ) -> dict[str, typing.Any]:
    return {key: value for key, value in (data or {}).items() if key != name}


def _compare_traits(one: working_copy.Facts, other: working_copy.Facts
                    ) -> list[engine_change.Change]:
    before, after = (list((facts.node or {}).get(working_copy.TRAITS) or ())
                     for facts in (one, other))
    changes = []
    for name in sorted(set(before).difference(after)):
        changes.append(engine_change.Change(
            working_copy.TRAITS, 'remove', data_path.pointer([name]),
            before=name, place=(name,)))
    for name in sorted(set(after).difference(before)):
        changes.append(engine_change.Change(
            working_copy.TRAITS, 'add', data_path.pointer([name]),
            value=name, place=(name,)))
    return changes


def _compare(name: str, one: dict[str, typing.Any],
             other: dict[str, typing.Any]) -> list[engine_change.Change]:
    """Compare two states of an object."""
    changes = []
    for path, before, after in _different(one, other):
        if before is data_path.ABSENT:
            op = 'add'
        elif after is data_path.ABSENT:
            op = 'remove'
        else:
            op = 'replace'
        changes.append(engine_change.Change(
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
    return disclosure.value_at(path, value)
