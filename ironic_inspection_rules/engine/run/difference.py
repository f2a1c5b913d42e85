# SPDX-License-Identifier: Apache-2.0

"""Differences between two states of a machine, as changes.

Unlike the journal, which lists every change that rules made, a difference
lists only values that are not the same in the end. It shows how two sets of
rules treat one machine differently.
"""

import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.engine.run import working_copy

Ports = typing.Sequence[typing.Mapping[str, typing.Any]]
State = dict[str, typing.Any]
"""An object, e.g. the node, at one time: ``{'name': 'n1', 'extra': {…}}``."""


class StateDifference(typing.NamedTuple):
    """The differences between two states of a machine.

    :ivar changes: the changes that lead from the first state to the second,
        except for withheld changes.
    :ivar has_withheld: whether there are also changes at places whose values
        are withheld, because a sensitive rule has set them.
    """

    changes: list[engine_change.Change]
    has_withheld: bool

    def __bool__(self) -> bool:
        return bool(self.changes) or self.has_withheld


class _Pair(typing.NamedTuple):
    """The values at a path before and after; ABSENT if there is no value."""

    path: data_path.Path
    before: typing.Any
    after: typing.Any


def between(
    before: working_copy.Facts, after: working_copy.Facts, ports: Ports
) -> StateDifference:
    """Compare everything that rules may change in two states of a machine.

    A list counts as one value. The trace that rules leave in the plugin data
    is ignored. Secrets are masked. If a sensitive rule has set a value, nobody
    may see it. A change of such a value is left out, and the result only says
    that there is one.

    :param ports: the ports of the machine. Changes use their addresses as
        names.
    """
    node_before = _without(before.node, working_copy.TRAITS)
    node_after = _without(after.node, working_copy.TRAITS)
    changes = _compare(working_copy.NODE, node_before, node_after)
    changes += _compare_traits(_traits(before), _traits(after))
    # Rules cannot add, remove or reorder ports.
    for index, port in enumerate(ports):
        name = engine_change.port_name(port)
        changes += _compare(name, before.ports[index], after.ports[index])
    data_before = _without(before.plugin_data, trace.KEY)
    data_after = _without(after.plugin_data, trace.KEY)
    changes += _compare(working_copy.PLUGIN_DATA, data_before, data_after)
    withheld_places = before.withheld_places | after.withheld_places
    visible_changes = [
        change
        for change in changes
        if not _touches_any(change, withheld_places)
    ]
    has_withheld = len(visible_changes) < len(changes)
    return StateDifference(visible_changes, has_withheld)


def _touches_any(
    change: engine_change.Change, places: typing.Iterable[views.Place]
) -> bool:
    """Return whether a change is at one of the places, above or below it.

    For example, a change of the node at ``/extra`` or ``/extra/rack/unit``
    touches the place ``('node', ('extra', 'rack'))``, but a change at
    ``/extra/row`` does not.
    """
    return any(
        name == change.object and data_path.overlap(path, change.place)
        for name, path in places
    )


def _without(data: State | None, omitted: str) -> State:
    """Return a copy of an object without one of its values.

    :param data: the node or the plugin data. None for an unknown node, which
        is treated as empty.
    """
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
    """Return the changes of traits: first all removals, then all additions.

    For example, the changes from ``{'CUSTOM_A'}`` to ``{'CUSTOM_B'}`` are
    ``remove`` at ``/CUSTOM_A`` and ``add`` at ``/CUSTOM_B``.
    """
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

    Secrets in their values are masked.

    :param name: the name of the object in changes, e.g. ``node``.
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
    """Yield the innermost values that differ, in the order of their paths.

    Between ``{'extra': {'a': 1, 'b': [2]}}`` and ``{'extra': {'b': [3]}}``,
    these are 1 and no value at ``('extra', 'a')``, and ``[2]`` and ``[3]`` at
    ``('extra', 'b')``. Only mappings are compared member by member.
    """
    # Use a stack instead of recursion, so that deep data do not exhaust
    # Python's stack.
    ahead = [_Pair((), before, after)]
    while ahead:
        pair = ahead.pop()
        if pair.before is pair.after:
            continue
        if isinstance(pair.before, dict) and isinstance(pair.after, dict):
            # Reverse the members, because the end of the stack comes first.
            ahead += reversed(_pair_members(pair))
        elif not data_path.is_same(pair.before, pair.after):
            yield pair


def _pair_members(mappings: _Pair) -> list[_Pair]:
    """Pair the members of two mappings by name, in the order of the names.

    Members that are the same object in both mappings are skipped. Most equal
    members are the same object, because rules copy only what they change.
    """
    path, before, after = mappings
    members = []
    for name in sorted(before.keys() | after.keys(), key=str):
        member_before = before.get(name, data_path.ABSENT)
        member_after = after.get(name, data_path.ABSENT)
        if member_before is not member_after:
            members.append(_Pair((*path, name), member_before, member_after))
    return members


def _disclose(path: data_path.Path, value: typing.Any) -> typing.Any:
    """Return a value without secrets, or None if there is no value."""
    if value is data_path.ABSENT:
        return None
    return disclosure.mask_value_at(path, value)
