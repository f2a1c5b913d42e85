# SPDX-License-Identifier: Apache-2.0

"""A change of data in the record of a run.

A change is a mapping of the record of a run (:mod:`.phase_record`).
"""

import collections.abc
import dataclasses
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import shortening

CAPABILITIES = ('properties', 'capabilities')

UNKNOWN: typing.Any = object()
"""Stands for a value that is unknown."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedPlace:
    """The place of a value in the record of a run.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``, as
    in the record of a change. ``alias`` is another name of a port,
    ``port <UUID>``, because its address may have changed. The path of a trait
    is its name.
    """

    object: str
    path: data_path.Path
    alias: str | None = None


def sets(change: phase_record.Record, place: RecordedPlace) -> bool:
    """Return whether a change set the value at a place, or removed it.

    For example, a change of ``/extra`` sets ``/extra/rack`` if the two values
    of ``/extra`` differ there. If this is unknown, because the record is
    shortened or hides a secret, the value counts as set.

    :param place: where the value is after the change.
    """
    if not _has_same_object(change, place):
        return False
    item = _find_item_of_list(change, place)
    if item is not None:
        # The change removed an item of the list that contains the place, and
        # the items behind it moved up. Only the place behind the last
        # remaining item has lost its value: of three items, place 2.
        return bool(item.place_index == change['left'])
    path = _path(change)
    if place.path == path or _is_below(path, place.path):
        return True
    if place.path[: len(path)] != path:
        return False
    # The change has set a value that contains the value at this place.
    before = _value_at(change, place, 'before')
    after = _value_at(change, place, 'after')
    if before is UNKNOWN or after is UNKNOWN:
        return True
    return not data_path.same(before, after)


def confirms(change: phase_record.Record, place: RecordedPlace) -> bool:
    """Return whether an action set a value, or a part, to its current value.

    :param change: one of the ``confirmed`` values of the record of a rule.
    """
    return _has_same_object(change, place) and _overlap(
        _path(change), place.path
    )


def is_among(
    written: collections.abc.Iterable[collections.abc.Sequence[str]],
    place: RecordedPlace,
) -> bool:
    """Return whether a rule has set a value, its part, or a value around it.

    :param written: objects and paths that a withheld rule has set, e.g.
        ``['node', '/extra/rack']``; nothing else is kept of the rule.
    :param place: the place of the value.
    """
    for object_name, pointer in written:
        if object_name not in (place.object, place.alias):
            continue
        path: data_path.Path = ()
        if pointer:
            path = data_path.parse(pointer)
        if _overlap(path, place.path):
            return True
    return False


def _overlap(written: data_path.Path, path: data_path.Path) -> bool:
    """Return whether one of two paths is equal to or part of the other.

    For example, ``extra`` and ``extra/rack`` overlap, but ``extra/rack`` and
    ``extra/row`` do not.

    :param written: the path of a value that a rule has set.
    :param path: the path of the value in question.
    """
    # Compare only as many tokens as the shorter path has.
    for written_token, token in zip(written, path, strict=False):
        # An item was appended, and its index is unknown.
        may_be_same = written_token == data_path.APPEND and token.isdigit()
        if written_token != token and not may_be_same:
            return False
    return True


def place_before(
    change: phase_record.Record, place: RecordedPlace
) -> RecordedPlace:
    """Return where a value was before a change that did not set it.

    It has moved if the change removed an item before it in a list: item 3 was
    item 4 before item 0 was removed.

    :param place: the place of the value after the change.
    """
    item = _find_item_of_list(change, place)
    if item is None:
        return place
    # Items before the removed one have not moved, and there are no items
    # behind the last one.
    has_moved = item.removed_index <= item.place_index < change['left']
    if not has_moved:
        return place
    path = list(place.path)
    path[item.depth] = str(item.place_index + 1)
    return dataclasses.replace(place, path=tuple(path))


def still_holds(
    change: phase_record.Record, place: RecordedPlace, present: typing.Any
) -> bool | None:
    """Return whether a value is still the one that a change has set.

    :param place: where the value was after the change.
    :param present: the current value of the place; :data:`.path.ABSENT` if
        there is none, :data:`UNKNOWN` if it could not be read.
    :returns: None if this is unknown, e.g. because the record hides a secret
        or was shortened.
    """
    if present is UNKNOWN:
        return None
    if place.object == working_copy.TRAITS:
        was_added: bool = change['op'] == 'add'
        is_there = present is not data_path.ABSENT
        return was_added == is_there
    if _is_below(_path(change), place.path):
        # The change set a part of the value. If the part differs now, so does
        # the value; otherwise the rest of the value may still differ.
        if _may_part_still_hold(change, place, present):
            return None
        return False
    value_after = _value_at(change, place, 'after')
    if value_after is UNKNOWN:
        return None
    is_interface = (
        place.object == working_copy.NODE
        and len(place.path) == 1
        and place.path[0].endswith('_interface')
    )
    if is_interface and value_after is None:
        # If a rule has set a hardware interface to None, Ironic sets it to the
        # default of the driver.
        return None
    return data_path.same(value_after, present)


def look_up(
    value: typing.Any, path: data_path.Path, whole_path: data_path.Path
) -> typing.Any:
    """Return what a value contains at a path.

    A capability counts as a value below the text of all capabilities: if
    ``/properties/capabilities`` is ``boot_mode:uefi,raid:1``, the path
    ``/properties/capabilities/raid`` leads to ``1``.

    :param path: the path of the value.
    :param whole_path: the path to look up, which begins with the path of the
        value.
    :returns: :data:`.path.ABSENT` if there is no value.
    """
    is_capability = whole_path[:-1] == CAPABILITIES
    if is_capability and len(path) <= len(CAPABILITIES):
        # The value is the text itself, or contains it.
        path_to_text = CAPABILITIES[len(path) :]
        text = data_path.get(value, path_to_text)
        if isinstance(text, str):
            return _parse_capabilities(text).get(
                whole_path[-1], data_path.ABSENT
            )
    return data_path.get(value, whole_path[len(path) :])


def _parse_capabilities(text: str) -> dict[str, str]:
    """Return the capabilities of a node by name, from their text.

    For example, ``boot_mode:uefi,raid:1`` has two capabilities.
    """
    capabilities = {}
    for pair in text.split(','):
        name, _colon, value = pair.partition(':')
        capabilities[name.strip()] = value.strip()
    return capabilities


class _Item(typing.NamedTuple):
    """The item of a list that contains a place, after an item was removed.

    For example, it is ``(2, 0, 3)`` for the place ``/extra/disks/3/name`` and
    a change that has removed ``/extra/disks/0``.

    ``depth``
        The number of tokens of the path of the place that lead to the list;
        the next token is the index.
    ``removed_index``
        The index that the removed item had.
    ``place_index``
        The index of the item that contains the place.
    """

    depth: int
    removed_index: int
    place_index: int


def _find_item_of_list(
    change: phase_record.Record, place: RecordedPlace
) -> _Item | None:
    """Return the item of a list that contains a place, after a removal.

    :param change: a change of any kind.
    :returns: None if the change did not remove an item of a list, or if the
        place is not in that list.
    """
    if 'left' not in change or not _has_same_object(change, place):
        return None
    *path_of_list, removed_index = data_path.parse(change['path'])
    depth = len(path_of_list)
    is_in_list = (
        len(place.path) > depth and list(place.path[:depth]) == path_of_list
    )
    if not is_in_list:
        return None
    place_index = data_path.index(place.path[depth])
    if place_index is None:
        # The token of the place is not an index, so it names no item.
        return None
    return _Item(depth, int(removed_index), place_index)


def _has_same_object(
    change: phase_record.Record, place: RecordedPlace
) -> bool:
    """Return whether a change was made to the object that contains a place."""
    if place.alias is not None and 'port' in change:
        # Compare by UUID, because another port may have had this address.
        return bool(place.alias == f'port {change["port"]}')
    return change['object'] in (place.object, place.alias)


def _is_below(path: data_path.Path, other: data_path.Path) -> bool:
    """Return whether the first path leads to a part of the second path."""
    return len(path) > len(other) and path[: len(other)] == other


def _may_part_still_hold(
    change: phase_record.Record, place: RecordedPlace, present: typing.Any
) -> bool:
    """Return whether a part of a value may still be what a change has set.

    :param change: a change of a value below the place.
    :param present: the current value of the place.
    """
    path = _path(change)
    path_of_container = path[:-1]
    # Capabilities are not in a container, but in a text that look_up() reads.
    if path_of_container != CAPABILITIES:
        container = look_up(present, place.path, path_of_container)
        if not isinstance(container, dict | list):
            return False
    if 'left' in change:
        # An item of a list was removed, so the next item may have its index.
        return True
    part_after = data_path.ABSENT
    if change['op'] != 'remove':
        part_after = change['after']
    if _is_hidden(part_after):
        return True
    return data_path.same(part_after, look_up(present, place.path, path))


def _path(change: phase_record.Record) -> data_path.Path:
    """Return the path of a change, with the index of an appended item."""
    path: str = change.get('at') or change['path']
    return data_path.parse(path)


def _value_at(
    change: phase_record.Record, place: RecordedPlace, side: str
) -> typing.Any:
    """Return the value of a place before or after a change.

    :param place: the place of the change, or a place below it.
    :param side: ``before`` or ``after``.
    :returns: :data:`.path.ABSENT` if there was none, :data:`UNKNOWN` if the
        record hides or shortens it.
    """
    path = _path(change)
    # "add" has no value before, and "remove" has no value after.
    op_without_value = 'remove'
    if side == 'before':
        op_without_value = 'add'
    if change['op'] == op_without_value:
        return data_path.ABSENT
    value = change[side]
    if isinstance(value, str) and _is_hidden(value):
        return UNKNOWN
    # A masked value above the place hides the value of the place.
    for end in range(len(path), len(place.path)):
        above = look_up(value, path, place.path[:end])
        if isinstance(above, str) and disclosure.is_masked(above):
            return UNKNOWN
    part = look_up(value, path, place.path)
    if _is_hidden(part):
        return UNKNOWN
    return part


def _is_hidden(value: typing.Any) -> bool:
    """Return whether a recorded value is masked or shortened."""
    if disclosure.is_masked(value):
        return True
    if not isinstance(value, str):
        return False
    return len(value) > shortening.LONGEST_VALUE and value.endswith(
        shortening.ELLIPSIS
    )
