# SPDX-License-Identifier: Apache-2.0

"""Differences between two states of a machine, as changes."""

import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.engine.run import working_copy

Ports = typing.Sequence[typing.Mapping[str, typing.Any]]
State = dict[str, typing.Any]
"""An object as it was at one time."""


class StateDifference(typing.NamedTuple):
    """The differences between two states of a machine.

    ``changes`` lead from the first to the second. ``closed``: there are more
    of them, at places whose values are withheld.
    """

    changes: list[engine_change.Change]
    closed: bool

    def __bool__(self) -> bool:
        return bool(self.changes) or self.closed


class _Pair(typing.NamedTuple):
    """The values at a path before and after."""

    path: data_path.Path
    before: typing.Any
    after: typing.Any


def between(
    before: working_copy.Facts, after: working_copy.Facts, ports: Ports
) -> StateDifference:
    """Compare two states of a machine in all that rules may change.

    A list counts as one value. The trace of the rules in plugin data is left
    out. Secrets are masked. Changes at places whose values are withheld are
    left out, and ``closed`` says that there are some.

    :param ports: the ports, whose addresses name them in changes.
    """
    node_before = _without(before.node, working_copy.TRAITS)
    node_after = _without(after.node, working_copy.TRAITS)
    changes = _compare(working_copy.NODE, node_before, node_after)
    changes += _compare_traits(_traits(before), _traits(after))
    # Rules neither add ports nor remove them: they stay in their order.
    for index, port in enumerate(ports):
        name = engine_change.port_name(port)
        changes += _compare(name, before.ports[index], after.ports[index])
    data_before = _without(before.plugin_data, trace.KEY)
    data_after = _without(after.plugin_data, trace.KEY)
    changes += _compare(working_copy.PLUGIN_DATA, data_before, data_after)
    closed_places = before.closed | after.closed
    open_changes = [
        change for change in changes if not _touches_any(change, closed_places)
    ]
    return StateDifference(open_changes, len(open_changes) < len(changes))


def _touches_any(
    change: engine_change.Change, places: typing.Iterable[views.Place]
) -> bool:
    """Return whether a change is of one of the places, or around or in it."""
    for name, path in places:
        common = min(len(path), len(change.place))
        if name == change.object and path[:common] == change.place[:common]:
            return True
    return False


def _without(data: State | None, omitted: str) -> State:
    """Return an object without one of its values; None is an empty one."""
    if data is None:
        return {}
    rest = data.copy()
    rest.pop(omitted, None)
    return rest


def _traits(facts: working_copy.Facts) -> set[str]:
    """Return the names of the node's traits."""
    if facts.node is None:
        return set()
    return set(facts.node.get(working_copy.TRAITS) or ())


def _compare_traits(
    before: set[str], after: set[str]
) -> list[engine_change.Change]:
    """Return a change for each trait that was removed or added."""
    changes = []
    for name in sorted(before - after):
        pointer = data_path.pointer([name])
        changes.append(
            engine_change.Change(
                working_copy.TRAITS,
                'remove',
                pointer,
                before=name,
                place=(name,),
            )
        )
    for name in sorted(after - before):
        pointer = data_path.pointer([name])
        changes.append(
            engine_change.Change(
                working_copy.TRAITS, 'add', pointer, value=name, place=(name,)
            )
        )
    return changes


def _compare(
    name: str, before: State, after: State
) -> list[engine_change.Change]:
    """Return the changes that lead from one state of an object to another.

    :param name: the name of the object in changes.
    """
    changes = []
    for pair in _find_differing(before, after):
        if pair.before is data_path.ABSENT:
            op = 'add'
        elif pair.after is data_path.ABSENT:
            op = 'remove'
        else:
            op = 'replace'
        changes.append(
            engine_change.Change(
                name,
                op,
                data_path.pointer(pair.path),
                value=_disclose(pair.path, pair.after),
                before=_disclose(pair.path, pair.before),
                place=pair.path,
            )
        )
    return changes


def _find_differing(before: State, after: State) -> typing.Iterator[_Pair]:
    """Yield the innermost values that differ, in the order of their paths."""
    ahead = [_Pair((), before, after)]
    while ahead:
        pair = ahead.pop()
        if pair.before is pair.after:
            continue
        if isinstance(pair.before, dict) and isinstance(pair.after, dict):
            ahead += _children(pair)
        elif not data_path.same(pair.before, pair.after):
            yield pair


def _children(pair: _Pair) -> list[_Pair]:
    """Return the values in which two mappings may differ, last name first.

    Rules copy only what they change: equal values are mostly one object.
    """
    children = []
    for name in pair.before.keys() | pair.after.keys():
        before = pair.before.get(name, data_path.ABSENT)
        after = pair.after.get(name, data_path.ABSENT)
        if before is not after:
            children.append(_Pair((*pair.path, name), before, after))
    children.sort(key=_last_name, reverse=True)
    return children


def _last_name(pair: _Pair) -> str:
    return str(pair.path[-1])


def _disclose(path: data_path.Path, value: typing.Any) -> typing.Any:
    """Return a value without secrets; None if there is none."""
    if value is data_path.ABSENT:
        return None
    return disclosure.value_at(path, value)
