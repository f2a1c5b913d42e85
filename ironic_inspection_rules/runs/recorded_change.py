# SPDX-License-Identifier: Apache-2.0

"""A change of data in the record of a run.

Such a change is a mapping, see :mod:`.phase_record`::

    {'object': 'node', 'op': 'replace', 'path': '/extra/rack',
     'before': 'r1', 'after': 'r2', 'action': 'set-attribute'}

The functions compare it with a *place*, which is where a value is: an object,
e.g. the node, and a path in it. If a change removes an item of a list, it has
``left``, the number of items that are left. The items behind the removed item
have then moved, so a value may have had another place before the change.
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

_OP_WITHOUT_VALUE = {'before': 'add', 'after': 'remove'}
"""There is no value before an ``add``, and none after a ``remove``."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedPlace:
    """The place of a value, as the record of a run names it.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``.
    ``path`` is e.g. ``('extra', 'rack')``; the path of a trait is its name.
    ``alias`` is a second name of a port, ``port <UUID>``, because its address
    may have changed.
    """

    object: str
    path: data_path.Path
    alias: str | None = None


def sets(change: phase_record.Record, place: RecordedPlace) -> bool:
    """Return whether a change set the value at a place, or removed it.

    - A change of another object did not set it.
    - A change that removed an item of a list set the place of the last item,
      which is empty now, and no other place in the list.
    - A change of the value, or of a part of it, set it.
    - A change of a value around it set it if both differ at this place. For
      example, a change of ``/extra`` from ``{'rack': 1}`` to ``{'rack': 2}``
      sets ``/extra/rack``. If this is unknown, because the record is shortened
      or hides a secret, the value counts as set.
    - Any other change did not set it.

    :param place: where the value is after the change.
    """
    if not _has_same_object(change, place):
        return False
    item = _find_item_of_list(change, place)
    if item is not None:
        # The items behind the removed one have moved up. Of three items, two
        # are left, and index 2 has no item now.
        return bool(item.place_index == change['left'])
    path = _path(change)
    if place.path == path or _is_below(path, place.path):
        return True
    is_around_place = place.path[: len(path)] == path
    if not is_around_place:
        return False
    before = _value_at(change, place, 'before')
    after = _value_at(change, place, 'after')
    if before is UNKNOWN or after is UNKNOWN:
        return True
    return not data_path.is_same(before, after)


def confirms(change: phase_record.Record, place: RecordedPlace) -> bool:
    """Return whether an action set a value to what it already was.

    The action may also have set a part of the value, or a value around it.

    :param change: one of the ``confirmed`` values of the record of a rule.
    :param place: where the value was when the action ran.
    """
    return _has_same_object(change, place) and _overlap(
        _path(change), place.path
    )


def is_among(
    changed_places: collections.abc.Iterable[collections.abc.Sequence[str]],
    place: RecordedPlace,
) -> bool:
    """Return whether a place overlaps one of the places that a rule has set.

    The rule has then set the value at the place, a part of it, or a value
    around it.

    :param changed_places: the places that a withheld rule has set, e.g.
        ``[['node', '/extra/rack']]``; nothing else is kept of the rule.
    :param place: the place of the value.
    """
    for object_name, pointer in changed_places:
        if object_name not in (place.object, place.alias):
            continue
        changed_path: data_path.Path = ()
        if pointer:
            changed_path = data_path.parse(pointer)
        if _overlap(changed_path, place.path):
            return True
    return False


def _overlap(changed_path: data_path.Path, path: data_path.Path) -> bool:
    """Return whether two paths are equal, or one leads to a part of the other.

    For example, ``extra`` and ``extra/rack`` overlap, but ``extra/rack`` and
    ``extra/row`` do not.

    :param changed_path: the path of a value that a rule has set. A ``-``
        stands for any index of a list.
    :param path: the path of the value in question.
    """
    # Compare only as many tokens as the shorter path has.
    for changed_token, token in zip(changed_path, path, strict=False):
        is_any_index = changed_token == data_path.APPEND and token.isdigit()
        if changed_token != token and not is_any_index:
            return False
    return True


def place_before(
    change: phase_record.Record, place: RecordedPlace
) -> RecordedPlace:
    """Return where a value was before a change that did not set it.

    The value has moved if the change removed an earlier item of its list: it
    is in item 3 now, and was in item 4 before item 0 was removed. Otherwise
    its place is the same.

    :param place: the place of the value after the change.
    """
    item = _find_item_of_list(change, place)
    if item is None:
        # The change did not remove an item of this list.
        return place
    # Items before the removed one have not moved. The last item that is left
    # has the index left - 1.
    has_moved = item.removed_index <= item.place_index < change['left']
    if not has_moved:
        return place
    path = list(place.path)
    path[item.depth] = str(item.place_index + 1)
    return dataclasses.replace(place, path=tuple(path))


def still_holds(
    change: phase_record.Record, place: RecordedPlace, present: typing.Any
) -> bool | None:
    """Return whether a value is still what a change has set it to.

    - A trait is compared by whether the node has it.
    - If the change set only a part of the value, the answer is no if this part
      differs now, and otherwise unknown.
    - Any other value is compared with the recorded value after the change.

    :param place: where the value was after the change.
    :param present: the current value of the place; :data:`.path.ABSENT` if
        there is none, :data:`UNKNOWN` if it could not be read.
    :returns: True or False; None if this is unknown, e.g. because the record
        hides a secret or was shortened.
    """
    if present is UNKNOWN:
        return None
    if place.object == working_copy.TRAITS:
        was_added: bool = change['op'] == 'add'
        is_there = present is not data_path.ABSENT
        return was_added == is_there
    is_part_changed = _is_below(_path(change), place.path)
    if is_part_changed:
        # Nothing is recorded about the rest of the value.
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
        # If a rule sets a hardware interface to None, Ironic sets it to the
        # default of the driver, which the record does not have.
        return None
    return data_path.is_same(value_after, present)


def look_up(
    value: typing.Any, path: data_path.Path, whole_path: data_path.Path
) -> typing.Any:
    """Return the part of a value that is at a path.

    For example, the value ``{'rack': 1}`` of ``/extra`` has the part ``1`` at
    ``/extra/rack``. A capability also counts as a part, although all of them
    are one text: if ``/properties/capabilities`` is ``boot_mode:uefi,raid:1``,
    ``/properties/capabilities/raid`` is ``1``.

    :param path: the path of the value.
    :param whole_path: the path of the part, which begins with ``path``.
    :returns: the part; :data:`.path.ABSENT` if there is none.
    """
    is_capability = whole_path[:-1] == CAPABILITIES
    if is_capability and len(path) <= len(CAPABILITIES):
        # The value is the text of all capabilities, or contains it.
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
    """Return which item of a list contains a place, if an item was removed.

    :param change: a change of any kind.
    :param place: a place after the change.
    :returns: the item; None if the change did not remove an item of a list, or
        if the place is not in this list.
    """
    has_removed_item = 'left' in change
    if not has_removed_item or not _has_same_object(change, place):
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
    # If both name a port by its UUID, compare the UUIDs, because another port
    # may have had this address.
    if place.alias is not None and 'port' in change:
        return bool(place.alias == f'port {change["port"]}')
    return change['object'] in (place.object, place.alias)


def _is_below(path: data_path.Path, other: data_path.Path) -> bool:
    """Return whether the first path leads to a part of the second path."""
    return len(path) > len(other) and path[: len(other)] == other


def _may_part_still_hold(
    change: phase_record.Record, place: RecordedPlace, present: typing.Any
) -> bool:
    """Return whether a part of a value may still be what a change has set.

    For example, a change has set ``/extra/rack`` to ``r1``, and the value in
    question is ``/extra``. If it is ``{'rack': 'r1', …}`` now, the part is
    still the same.

    :param change: a change of a part of the value.
    :param place: the place of the value.
    :param present: the current value of the place.
    :returns: also True if this is unknown.
    """
    path = _path(change)
    # The mapping or list that had the part must still exist. Capabilities are
    # an exception: all of them are in one text, which look_up() reads.
    path_of_container = path[:-1]
    if path_of_container != CAPABILITIES:
        container = look_up(present, place.path, path_of_container)
        if not isinstance(container, dict | list):
            return False
    if 'left' in change:
        # An item of a list was removed, and the next item may have its index
        # now, so it is unknown whether the item is gone.
        return True
    part_after = data_path.ABSENT
    if change['op'] != 'remove':
        part_after = change['after']
    if _is_hidden(part_after):
        return True
    part_now = look_up(present, place.path, path)
    return data_path.is_same(part_after, part_now)


def _path(change: phase_record.Record) -> data_path.Path:
    """Return the path of a change, with the index of an appended item."""
    path: str = change.get('at') or change['path']
    return data_path.parse(path)


def _value_at(
    change: phase_record.Record, place: RecordedPlace, side: str
) -> typing.Any:
    """Return the value of a place before or after a change.

    :param place: the place of the change, or of a part of its value.
    :param side: ``before`` or ``after``.
    :returns: the value; :data:`.path.ABSENT` if there was none,
        :data:`UNKNOWN` if the record hides or shortens it.
    """
    path = _path(change)
    if change['op'] == _OP_WITHOUT_VALUE[side]:
        return data_path.ABSENT
    whole_value = change[side]
    if isinstance(whole_value, str) and _is_hidden(whole_value):
        return UNKNOWN
    # Secrets are masked in the record. If a value between the path of the
    # change and the place is masked, the value of the place is hidden in it.
    for end in range(len(path), len(place.path)):
        value_around_place = look_up(whole_value, path, place.path[:end])
        is_text = isinstance(value_around_place, str)
        if is_text and disclosure.is_masked(value_around_place):
            return UNKNOWN
    part = look_up(whole_value, path, place.path)
    if _is_hidden(part):
        return UNKNOWN
    return part


def _is_hidden(value: typing.Any) -> bool:
    """Return whether a recorded value is masked or shortened.

    A shortened value is longer than other recorded texts, and ends with an
    ellipsis.
    """
    if disclosure.is_masked(value):
        return True
    if not isinstance(value, str):
        return False
    return len(value) > shortening.LONGEST_VALUE and value.endswith(
        shortening.ELLIPSIS
    )
