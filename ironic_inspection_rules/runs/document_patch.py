# SPDX-License-Identifier: Apache-2.0

"""Patches between JSON documents that are nearly the same.

A patch is a list of steps. A path is a list of names and indexes. There are
three kinds of steps:

``[path, value]``
    Set the value at the path.
``[path]``
    Remove the value at the path from its mapping.
``[path, None, order]``
    Put the items of the list at the path in another order: ``[2, 0, 1]`` means
    that the last of three items comes first.

This patch sets ``b`` in ``a``, removes ``c`` and swaps the two items of the
list ``d``::

    [[['a', 'b'], 1], [['c']], [['d'], None, [1, 0]]]
"""

import collections
from collections.abc import Iterator
import json
import marshal
from typing import Any

_QUICK_DEPTH = 2
"""Depth at which values are first compared as a whole, e.g. lists of disks. If
they are equal, their items need not be compared one by one, which is slower.
At every depth this would compare deep values again and again."""

MOST_STEPS = 5000
"""Maximum number of steps, because more would be larger than the document."""

MOST_ORDERED = 1 << 22
"""Maximum number of characters of JSON that are compared to find a new order
of items, because deeply nested values are compared again at every level."""

Step = list[Any]
Patch = list[Step]


def between(before: Any, after: Any) -> Patch:
    """Return the patch from one document to another.

    The search is limited, because both documents come from machines. Beyond
    the limits the patch is a single step that replaces the whole document.

    :param before: the old document, as the json module reads it.
    :param after: the new document, as the json module reads it.
    :returns: the patch; empty if the documents are equal.
    """
    if _are_identical(before, after):
        return []
    try:
        return list(_find_steps(before, after, [], _Limits()))
    except _TooManyError:
        return [[[], after]]


def replaces_document(patch: Patch) -> bool:
    """Return whether a patch replaces the whole document.

    For example, ``[[[], {'a': 1}]]`` does: the path of its step is empty.
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
        """Count a new step of the patch, and return it unchanged.

        :raises: _TooManyError if the patch already has the maximum number of
            steps.
        """
        if not self._steps:
            raise _TooManyError()
        self._steps -= 1
        return step

    def encode(self, value: Any) -> str | None:
        """Return an item of a list as JSON, and count its characters.

        The items of two lists are compared by this text to find out whether
        only their order differs.

        :returns: the text; None if too many characters were encoded before.
        """
        if self._characters_to_order <= 0:
            return None
        text = json.dumps(value)
        # The number may become negative. The next item is then refused.
        self._characters_to_order -= len(text)
        return text


def apply(document: Any, patch: Patch) -> Any:
    """Apply a patch to a document, and return the new document.

    :param document: not changed. The result shares with it all parts that the
        patch does not change.
    """
    for step in patch:
        document = _apply_step(document, step)
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

    - If the types differ, the value is replaced.
    - In two mappings, names that are gone are removed, new names are set, and
      the values of all other names are compared in the same way.
    - In two lists, the items are compared, see :func:`_find_steps_of_list`.
    - Any other value is replaced if it differs.

    :param path: the path of both values in their documents.
    :param limits: counts the steps of the patch.
    :raises: _TooManyError if there are too many steps.
    """
    if len(path) == _QUICK_DEPTH and _are_identical(before, after):
        return
    # Compare the types, because 1 == True, but the JSON differs.
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

    - If the lengths differ, the whole list is replaced.
    - If only the order of the items differs, there is a single step,
      ``[path, None, order]``.
    - Otherwise there are the steps of all items that differ.

    :param path: the path of both lists in their documents.
    :param limits: counts the steps of the patch.
    """
    if len(before) != len(after):
        yield limits.count_step([path, after])
        return
    steps: list[Step] = []
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        steps += _find_steps(old, new, [*path, index], limits)
    # A new order saves space only if it replaces several steps.
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
    """Return the index that every item of the new list had in the old list.

    For example, from ``[a, b, c]`` to ``[c, a, b]`` it is ``[2, 0, 1]``.

    :param before: the old list.
    :param after: the new list, which has the same length.
    :param limits: counts the characters that are compared.
    :returns: the indexes; None if the items differ, or if the lists are too
        long to be compared.
    """
    # The old indexes that no new item has got yet, by the JSON of the item.
    unused_indexes: dict[str, collections.deque[int]] = (
        collections.defaultdict(collections.deque)
    )
    for index, item in enumerate(before):
        text = limits.encode(item)
        if text is None:
            return None
        unused_indexes[text].append(index)
    order = []
    for item in after:
        text = limits.encode(item)
        if text is None:
            return None
        if not unused_indexes[text]:
            # The old list has no such item, or has it less often.
            return None
        order.append(unused_indexes[text].popleft())
    return order


def _apply_step(document: Any, step: Step) -> Any:
    """Apply a step to a document, and return the new document.

    Only mappings and lists on the path of the step are copied.

    :param document: not changed.
    :param step: ``[path, value]``, ``[path]`` or ``[path, None, order]``.
    """
    path = step[0]
    is_removal = len(step) == 1
    is_new_order = len(step) == 3
    if not path and is_new_order:
        return _reorder(document, step[2])
    if not path:
        return step[1]
    new_document = document.copy()
    # Go down to the mapping or list that has the value.
    container = new_document
    *path_of_container, name = path
    for name_on_path in path_of_container:
        container[name_on_path] = container[name_on_path].copy()
        container = container[name_on_path]
    if is_removal:
        del container[name]
    elif is_new_order:
        container[name] = _reorder(container[name], step[2])
    else:
        container[name] = step[1]
    return new_document


def _reorder(items: list[Any], order: list[int]) -> list[Any]:
    """Return the items in another order, given by their indexes."""
    return [items[index] for index in order]
