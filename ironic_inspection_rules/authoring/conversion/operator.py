# SPDX-License-Identifier: Apache-2.0

"""Condition operators of ironic-inspector as those of this language."""

import re
import typing

from ironic_inspection_rules.authoring.conversion import field
from ironic_inspection_rules.conditions import comparison

Converted = tuple[str, dict[str, typing.Any]]
"""The name of an op, and its arguments by name."""

_FLAGS = re.compile(r'\(\?[aiLmsux]+\)')


def convert(op: str, where: str, value: typing.Any) -> Converted:
    """Find the op that tests the same.

    :param op: the old name, without the prefix.
    :param where: the replacement field.
    :param value: what the old op had beside the field.
    """
    if op in ('eq', 'ne') and isinstance(value, str) and (
            comparison.as_number(value) is not None):
        # Text was never equal to a number: with its quotes it is not.
        return op, {'values': [f'{where[:-1]}!r}}', repr(value)]}
    return _CONVERTERS.get(op, _compare)(op, where, value)


def _compare(op: str, where: str, value: typing.Any) -> Converted:
    return op, {'values': [where, field.escape(value)]}


def _matches(_op: str, where: str, regex: str) -> Converted:
    if not _has_alternatives(regex):
        return 'matches', {'value': where, 'regex': regex}
    # The "$" that was put behind it belongs to the last alternative.
    flags = _FLAGS.match(regex)
    begin = flags[0] if flags else ''
    end = '' if regex.endswith('$') else '$'
    return 'contains', {
        'value': where, 'regex': rf'{begin}\A(?:{regex[len(begin):]}{end})'}


def _in_net(_op: str, where: str, subnet: str) -> Converted:
    return 'in-net', {'address': where, 'subnet': subnet}


def _has_alternatives(regex: str) -> bool:
    """Tell whether there is a ``|`` outside of all parentheses."""
    plain = re.sub(r'\\.|\[\^?\]?(?:\\.|[^\]\\])*\]', '', regex,
                   flags=re.DOTALL)
    depth = 0
    for character in plain:
        depth += {'(': 1, ')': -1}.get(character, 0)
        if character == '|' and not depth:
            return True
    return False


_CONVERTERS: dict[str, typing.Callable[[str, str, typing.Any],
                                      Converted]] = {
    'contains': lambda op, where, value: (
        op, {'value': where, 'regex': value}),
    'is-empty': lambda op, where, value: (op, {'value': where}),
    'matches': _matches,
    'in-net': _in_net,
    # What blueprint 000 calls it.
    'net': _in_net,
}
