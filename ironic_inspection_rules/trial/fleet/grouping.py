# SPDX-License-Identifier: Apache-2.0

"""Machines that are treated alike."""

import collections
from collections.abc import Mapping
import json
from typing import Any

_FEW = 10
"""So many values of one place are told apart, however few machines there are.
"""

_PORT = 'port'
_Place = tuple[str, str, str]
_Values = tuple[tuple[_Place, str], ...]


class Groups:
    """Groups machines by what would become of them.

    Where nearly each machine has a value of its own, such as its serial
    number, the value does not keep it out of a group. Ports are alike
    whatever their addresses.
    """

    def __init__(self) -> None:
        self._machines: list[tuple[str, str, _Values]] = []
        self._entries: list[Mapping[str, Any]] = []
        self._values: dict[_Place, set[str]] = collections.defaultdict(set)
        self._counts: collections.Counter[_Place] = collections.Counter()

    def add(self, entry: Mapping[str, Any]) -> None:
        """Take a machine in."""
        values = tuple(sorted(map(_value, entry.get('changes') or ())))
        for place, value in values:
            self._values[place].add(value)
            self._counts[place] += 1
        failed = entry.get('failed_by')
        reason = json.dumps(failed) if failed else entry.get('error') or ''
        self._machines.append((entry['result'], reason, values))
        self._entries.append(entry)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the groups as plain JSON data, the largest first.

        Of a group its first machine tells ``error``; a change whose value
        differs from machine to machine has ``varies``, and no value.
        """
        varying = {place for place, values in self._values.items()
                   if len(values) > _FEW
                   and 2 * len(values) > self._counts[place]}
        groups: dict[Any, dict[str, Any]] = {}
        for (result, reason, values), entry in zip(
                self._machines, self._entries, strict=True):
            key = (result, reason, tuple(
                (place, None if place in varying else value)
                for place, value in values))
            group = groups.get(key)
            if group is None:
                group = groups[key] = {
                    'count': 0, 'result': result, 'error': entry['error'],
                    'failed_by': entry.get('failed_by'),
                    'changes': [_change(place, value, place in varying)
                                for place, value in values],
                    'nodes': []}
            group['count'] += 1
            group['nodes'].append(entry['uuid'])
        return sorted(groups.values(), key=lambda group: -group['count'])


def _value(change: Mapping[str, Any]) -> tuple[_Place, str]:
    where = change['object']
    return ((_PORT if where.startswith(f'{_PORT} ') else where,
             change['op'], change['path']),
            json.dumps(change.get('value'), sort_keys=True))


def _change(place: _Place, value: str, varies: bool) -> dict[str, Any]:
    told: dict[str, Any] = dict(
        zip(('object', 'op', 'path'), place, strict=True))
    if varies:
        return {**told, 'varies': True}
    return {**told, 'value': json.loads(value)}
