# SPDX-License-Identifier: Apache-2.0

"""Traits, classes and capabilities that a machine gains and loses."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

TRAIT = 'traits'
RESOURCE_CLASS = 'resource_classes'
CAPABILITY = 'capabilities'
KINDS = (TRAIT, RESOURCE_CLASS, CAPABILITY)

_ADDED = 'add'
_REMOVED = 'remove'
_NODE = 'node'
_PROPERTIES = '/properties'
_PATHS = {RESOURCE_CLASS: '/resource_class',
          CAPABILITY: f'{_PROPERTIES}/capabilities'}

Change = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Difference:
    """The names that a machine has only afterwards, and only before."""

    gained: frozenset[str]
    lost: frozenset[str]


def differences(changes: Iterable[Change], node: Mapping[str, Any],
                compared: bool) -> dict[str, Difference]:
    """Sum up changes, by kind.

    :param changes: in the order in which they are made.
    :param node: ``traits``, ``resource_class`` and ``properties`` as they
        are, each of which may be missing.
    :param compared: whether changes say what was there before them, which
        is not what the node has.
    """
    changes = list(changes)
    return {TRAIT: _traits(changes, node, compared),
            **{kind: _value(kind, path, changes, node, compared)
               for kind, path in _PATHS.items()}}


def _traits(changes: list[Change], node: Mapping[str, Any],
            compared: bool) -> Difference:
    # What is compared with is not known whole: a trait that was there, or
    # was not, if the first change of it takes it away, or adds it.
    before = set(node.get('traits') or ()) if not compared else set()
    after = set(before)
    for change in changes:
        if change['object'] != TRAIT:
            continue
        name = change['path'][1:]
        if change['op'] == _REMOVED:
            if compared:
                before.add(name)
            after.discard(name)
        else:
            after.add(name)
    return Difference(frozenset(after - before), frozenset(before - after))


def _value(kind: str, path: str, changes: list[Change],
           node: Mapping[str, Any], compared: bool) -> Difference:
    before = _of_node(kind, node) if not compared else None
    after = before
    first = True
    for change in changes:
        if change['object'] != _NODE:
            continue
        inside = change['path'] == _PROPERTIES and path.startswith(
            f'{_PROPERTIES}/')
        if change['path'] != path and not inside:
            continue
        if compared and first:
            before, first = _part(change.get('before'), path, inside), False
        after = (None if change['op'] == _REMOVED
                 else _part(change['value'], path, inside))
    one, other = (_names(kind, value) for value in (before, after))
    return Difference(other - one, one - other)


def _of_node(kind: str, node: Mapping[str, Any]) -> Any:
    if kind == RESOURCE_CLASS:
        return node.get('resource_class')
    return (node.get('properties') or {}).get('capabilities')


def _part(value: Any, path: str, inside: bool) -> Any:
    if inside:
        return (value.get(path.rpartition('/')[2])
                if isinstance(value, Mapping) else None)
    return value


def _names(kind: str, value: Any) -> frozenset[str]:
    """Split a value into what is counted."""
    if value in (None, ''):
        return frozenset()
    if kind == CAPABILITY:
        return frozenset(filter(None, (
            part.strip() for part in str(value).split(','))))
    return frozenset([str(value)])
