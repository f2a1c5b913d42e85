# SPDX-License-Identifier: Apache-2.0

"""Differences between two states of a machine."""

import typing

from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import working_copy

Hidden = hiding.Hidden
_Values = tuple[data_path.Path, typing.Any, typing.Any]


def between(one: working_copy.Facts, other: working_copy.Facts,
            ports: hiding.Ports,
            hidden: Hidden) -> list[journal.Change]:
    """Return the changes that lead from one state of a machine to another.

    A list counts as one value. The trace of the rules in plugin data is left
    out.

    :param ports: the ports, whose addresses name them in changes.
    :param hidden: places to mask. Secrets are always masked.
    """
    found = _compare(working_copy.NODE, _without(one.node, 'traits'),
                     _without(other.node, 'traits'), hidden)
    found += _compare_traits(one, other, hidden)
    for index, name in enumerate(hiding.port_names(ports, hidden)):
        found += _compare(working_copy.PORTS, one.ports[index],
                          other.ports[index], hidden, (str(index),), name)
    return found + _compare(
        working_copy.PLUGIN_DATA, _without(one.plugin_data, trace.KEY),
        _without(other.plugin_data, trace.KEY), hidden)


def _without(data: dict[str, typing.Any] | None, name: str
             ) -> dict[str, typing.Any]:
    return {key: value for key, value in (data or {}).items() if key != name}


def _compare_traits(one: working_copy.Facts, other: working_copy.Facts,
                    hidden: Hidden) -> list[journal.Change]:
    before, after = (list((facts.node or {}).get(working_copy.TRAITS) or ())
                     for facts in (one, other))
    changes = []
    for op, some, others in (('remove', before, after),
                             ('add', after, before)):
        for name in sorted(set(some).difference(others)):
            if hidden.covers(working_copy.NODE, (working_copy.TRAITS, name)):
                name = masking.MASK
            changes.append(journal.Change(
                working_copy.TRAITS, op, data_path.pointer([name]),
                value=name if op == 'add' else None,
                before=name if op == 'remove' else None))
    return changes


def _compare(root: str, one: dict[str, typing.Any],
             other: dict[str, typing.Any], hidden: Hidden,
             start: data_path.Path = (), name: str | None = None
             ) -> list[journal.Change]:
    """Compare two objects that are at ``start`` in the root."""
    changes, hidden_ops = [], set()
    for path, before, after in _different(root, one, other, start, hidden):
        op = ('add' if before is data_path.ABSENT
              else 'remove' if after is data_path.ABSENT else 'replace')
        shown = [_shown(root, path, value, hidden)
                 for value in (after, before)]
        where = path[len(start):]
        if (root, path) in hidden:
            if op in hidden_ops:
                # It would look like the previous one.
                continue
            hidden_ops.add(op)
            where = (masking.MASK,)
        changes.append(journal.Change(
            name or root, op, data_path.pointer(where), *shown))
    return changes


def _different(root: str, one: dict[str, typing.Any],
               other: dict[str, typing.Any], start: data_path.Path,
               hidden: Hidden) -> typing.Iterator[_Values]:
    """Yield the innermost values that differ, in the order of their paths."""
    ahead: list[_Values] = [(start, one, other)]
    while ahead:
        path, before, after = ahead.pop()
        if before is after:
            continue
        if (root, path) not in hidden and hidden.covers(root, path):
            # The sensitive rule may have created it, with all parents.
            before, after = _or_empty(before, after), _or_empty(after, before)
        if (isinstance(before, dict) and isinstance(after, dict)
                and (root, path) not in hidden):
            ahead += [((*path, key), before.get(key, data_path.ABSENT),
                       after.get(key, data_path.ABSENT))
                      for key in sorted(before.keys() | after.keys(),
                                        key=str, reverse=True)]
        elif not data_path.same(before, after):
            yield path, before, after


def _or_empty(value: typing.Any, other: typing.Any) -> typing.Any:
    """Return a value, or a mapping if it is absent beside one."""
    return {} if (value is data_path.ABSENT and other
                  and isinstance(other, dict)) else value


def _shown(root: str, path: data_path.Path, value: typing.Any,
           hidden: Hidden) -> typing.Any:
    if value is data_path.ABSENT:
        return None
    if hidden.covers(root, path):
        return masking.MASK
    return masking.mask_along(path, value)[1]
