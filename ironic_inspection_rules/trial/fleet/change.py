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

_REMOVED = 'remove'
_NODE = 'node'
_PATHS = {RESOURCE_CLASS: '/resource_class',
          CAPABILITY: '/properties/capabilities'}

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
    :param compared: whether changes have what was there before them, which
        is not what the node has; then there is one for each place.
    """
    before: dict[str, set[str]] = {kind: set() for kind in KINDS}
    if not compared:
        before[TRAIT].update(node.get('traits') or ())
        for kind, path in _PATHS.items():
            before[kind] = _names(kind, node, path)
    after = {kind: set(names) for kind, names in before.items()}
    for change in changes:
        removed = change['op'] == _REMOVED
        if change['object'] == TRAIT:
            name = change['path'][1:]
            (after[TRAIT].discard if removed else after[TRAIT].add)(name)
            if removed and compared:
                before[TRAIT].add(name)
        elif change['object'] == _NODE:
            for kind, path in _PATHS.items():
                if not f'{path}/'.startswith(f'{change["path"]}/'):
                    continue
                inner = path.removeprefix(change['path'])
                if compared:
                    before[kind] = _names(kind, change.get('before'), inner)
                after[kind] = set() if removed else _names(
                    kind, change['value'], inner)
    return {kind: Difference(frozenset(after[kind] - before[kind]),
                             frozenset(before[kind] - after[kind]))
            for kind in KINDS}


def _names(kind: str, value: Any, path: str) -> set[str]:
    """Return the names that are counted of a value.

    :param path: to the value, inside the one that is given.
    """
    for name in path.split('/')[1:]:
        value = value.get(name) if isinstance(value, Mapping) else None
    if value in (None, ''):
        return set()
    if kind == CAPABILITY:
        return set(filter(None, map(str.strip, str(value).split(','))))
    return {str(value)}
