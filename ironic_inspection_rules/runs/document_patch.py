# SPDX-License-Identifier: Apache-2.0

"""Patches between JSON documents that are nearly the same.

A patch is a list of steps, each with the path to a value: ``[path, value]``
sets it, ``[path]`` removes it from its mapping, and ``[path, null, order]``
puts the items of a list in another order. This patch sets ``b``, removes ``c``
and swaps the two items of the list ``d``::

    [[['a', 'b'], 1], [['c']], [['d'], None, [1, 0]]]
"""

from collections.abc import Iterator
import json
import marshal
from typing import Any

_QUICK_DEPTH = 2
"""Depth at which values that are equal as a whole, e.g. lists of disks, are
skipped, because comparing them at every level would take longer."""

MOST_STEPS = 5000
"""Maximum number of steps, because more would be larger than the document."""

MOST_ORDERED = 1 << 22
"""Maximum number of characters of JSON that are compared to find a new order
of items, because deeply nested values are compared again at every level."""

Step = list[Any]
Patch = list[Step]


def between(before: Any, after: Any) -> Patch:
    """Return the steps from one document to another.

    The search is limited, because both documents come from machines. Beyond
    the limits the patch is a single step that replaces the whole document.

    :param before: plain JSON data, as the json module reads it.
    :param after: data of the same kind.
    """
    if _are_identical(before, after):
        return []
    try:
        return list(_find_steps(before, after, [], _Limits()))
    except _TooManyError:
        return [[[], after]]


def is_whole(patch: Patch) -> bool:
    """Return whether a patch keeps nothing of the old document.

    For example, ``[[[], {'a': 1}]]`` keeps nothing: the path of its only step
    is empty.
    """
    return any(not step[0] for step in patch)


class _TooManyError(Exception):
    """There are too many steps."""


class _Limits:
    """The limits of one patch: on its steps, and on comparisons to find them.

    Both documents come from machines. Without limits, these could make a patch
    that is larger than its documents, or that takes long to find.
    """

    def __init__(self) -> None:
        self._steps = MOST_STEPS
        self._characters_to_order = MOST_ORDERED

    def count_step(self, step: Step) -> Step:
        """Count a step, and return it.

        :raises: _TooManyError if the patch must not have another step.
        """
        if not self._steps:
            raise _TooManyError()
        self._steps -= 1
        return step

    def encode(self, value: Any) -> str | None:
        """Return an item of a list as JSON, to find the item by this text.

        :returns: None if too much has been encoded to find an order; the items
            are then set one by one.
        """
        if self._characters_to_order <= 0:
            return None
        text = json.dumps(value)
        # This text may be too long; then the next one is refused.
        self._characters_to_order -= len(text)
        return text


def apply(document: Any, patch: Patch) -> Any:
    """Apply a patch to a document, and return the new document.

    :param document: not changed. The result shares with it all parts that the
        patch does not change.
    """
    for step in patch:
        document = _apply_step(document, path=step[0], step=step)
    return document


def _are_identical(before: Any, after: Any) -> bool:
    """Return whether documents are equal, including the types of numbers."""
    if before != after:
        return False
    # In Python, 1 == 1.0 == True. Marshaling both is the fastest way to
    # compare the types as well. Version 2 of the format does not depend on
    # which objects are shared in memory.
    return marshal.dumps(before, 2) == marshal.dumps(after, 2)


def _find_steps(
    before: Any, after: Any, path: list[Any], limits: _Limits
) -> Iterator[Step]:
    """Yield the steps from one value to another.

    :param path: the path of both values in their documents.
    :param limits: the limits of the patch.
    :raises: _TooManyError if there are too many steps.
    """
    if len(path) == _QUICK_DEPTH and _are_identical(before, after):
        return
    if type(before) is not type(after):
        yield limits.count_step([path, after])
    elif isinstance(before, dict):
        for name in before:
            if name not in after:
                yield limits.count_step([[*path, name]])
        for name, value in after.items():
            if name in before:
                yield from _find_steps(
                    before[name], value, [*path, name], limits
                )
            else:
                yield limits.count_step([[*path, name], value])
    elif isinstance(before, list):
        yield from _find_steps_of_list(before, after, path, limits)
    elif before != after:
        yield limits.count_step([path, after])


def _find_steps_of_list(
    before: list[Any], after: list[Any], path: list[Any], limits: _Limits
) -> Iterator[Step]:
    """Yield the steps from one list to another.

    If the lengths differ, the whole list is replaced. If only the order of the
    items differs, there is a single step: ``[path, None, order]``.
    """
    if len(before) != len(after):
        yield limits.count_step([path, after])
        return
    steps: list[Step] = []
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        steps += _find_steps(old, new, [*path, place], limits)
    if len(steps) > 1:
        order = _find_order(before, after, limits)
        if order is not None:
            # Do not count this step, because the steps that it replaces have
            # already been counted.
            yield [path, None, order]
            return
    yield from steps


def _find_order(
    before: list[Any], after: list[Any], limits: _Limits
) -> list[int] | None:
    """Return the index that every item of a list had before.

    For example, from ``[a, b, c]`` to ``[c, a, b]`` it is ``[2, 0, 1]``.

    :returns: None if the items differ, or if the search takes too long.
    """
    # The places of every item, by its JSON text. They are in reverse order, so
    # that pop() takes the first of equal items first.
    places: dict[str, list[int]] = {}
    for place in reversed(range(len(before))):
        text = limits.encode(before[place])
        if text is None:
            return None
        places.setdefault(text, []).append(place)
    order = []
    for item in after:
        text = limits.encode(item)
        if text is None:
            return None
        free_places = places.get(text)
        if not free_places:
            return None
        order.append(free_places.pop())
    return order


def _apply_step(value: Any, path: list[Any], step: Step) -> Any:
    """Apply a step to a value: set, remove or reorder a part of it.

    A step is ``[path, value]``, ``[path]`` or ``[path, None, order]``. Only
    mappings and lists on its path are copied.

    :param path: the rest of the path of the step, starting at this value.
    """
    if not path:
        if len(step) == 3:
            return [value[place] for place in step[2]]
        return step[1]
    name, *rest = path
    copied = value.copy()
    is_removal = len(step) == 1
    if is_removal and not rest:
        del copied[name]
    elif not rest and len(step) == 2:
        # The name need not exist before.
        copied[name] = step[1]
    else:
        copied[name] = _apply_step(value[name], rest, step)
    return copied
