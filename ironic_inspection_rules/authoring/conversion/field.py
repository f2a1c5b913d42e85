# SPDX-License-Identifier: Apache-2.0

"""Fields and operators of ironic-inspector as those of this language."""

import re
import string
import typing

from ironic_inspection_rules.conditions import comparison
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import schema
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.legacy import field as old_field
from ironic_inspection_rules.legacy import text as old_text

_DOTTED = re.compile(r'[^\s.\[\]{}!:|]+')
_BRACKETED = re.compile(r'[^\]]{1,255}')
_SPEC = re.compile(r'[^{}]{0,40}')

Steps = tuple[old_field.Step, ...]

Converted = tuple[str, dict[str, typing.Any]]
"""The name of an op, and its arguments by name."""

_FLAGS = re.compile(r'\(\?[aiLmsux]+\)')


class Inconvertible(Exception):
    """This language has no words for something; the message says for what."""


class Path(typing.NamedTuple):
    """A JSON path in this language.

    ``loops`` are the lists whose items it goes through, each after the first
    over the item of the one before; ``field`` is over the item of the last.
    ``in_item`` tells whether it goes on from there.
    """

    field: str
    loops: tuple[str, ...] = ()
    in_item: bool = False


def convert_path(field: str) -> Path:
    """Convert the field of a condition.

    :raises: :class:`Inconvertible`.
    """
    scheme, _path = old_field.split(field)
    steps = old_field.steps(field)
    if not steps:
        raise Inconvertible(
            _('the JSON path "%s" has more than names, indices and [*]')
            % field)
    steps = ('node', *steps) if scheme == 'node' else _of_data(steps)
    if old_field.ANY not in steps:
        return Path(write_field(steps))
    parts = _between_loops(steps)
    if len(parts[0]) < 2 and parts[0] != ('inventory',):
        raise Inconvertible(
            _('the JSON path "%s" goes through everything') % field)
    first, *others = map(write_field, (
        parts[0], *[(interpolation.ITEM, *part) for part in parts[1:]]))
    loops = (first, *others[:-1])
    if len(loops) > schema.DEEPEST_GROUP:
        raise Inconvertible(
            _('the JSON path "%(field)s" has more than %(most)d loops')
            % {'field': field, 'most': schema.DEEPEST_GROUP})
    return Path(others[-1], loops, bool(parts[-1]))


def _of_data(steps: Steps) -> Steps:
    """Return where Ironic has what ironic-inspector had in one document."""
    match steps:
        case ('all_interfaces', name, 'lldp_processed', *rest):
            return ('plugin_data', 'parsed_lldp', name, *rest)
        case (str(name), *rest) if name in old_field.NOW:
            return (*old_field.NOW[name].split('.'), *rest)
        case ('inventory', *_rest):
            return steps
    return ('plugin_data', *steps)


def _between_loops(steps: Steps) -> list[Steps]:
    """Return the steps before, between and after those through items."""
    parts: list[Steps] = [()]
    for step in steps:
        if step is old_field.ANY:
            parts.append(())
        else:
            parts[-1] = (*parts[-1], step)
    return parts


def convert_text(text: str) -> str:
    """Convert a text with ``{data[…]}``, whose result stays text.

    :raises: :class:`Inconvertible`.
    """
    for problem in old_text.problems(text):
        raise Inconvertible(
            _('ironic-inspector failed here on every machine: %s') % problem)
    converted = ''
    for literal, name, spec, conversion in string.Formatter().parse(text):
        converted += escape(literal)
        if name is not None:
            converted += _replacement(name, spec or '', conversion)
    match interpolation.parse(converted):
        case [interpolation.Field(conversion=None, spec=None)]:
            # Alone, a field would keep the type that its value has.
            return f'{converted[:-1]}!s}}'
    return converted


def convert_value(value: typing.Any) -> typing.Any:
    """Convert all texts in a value, see :func:`convert_text`."""
    if isinstance(value, str):
        return convert_text(value)
    if isinstance(value, list):
        return [convert_value(item) for item in value]
    if isinstance(value, dict):
        return {convert_text(key): convert_value(item)
                for key, item in value.items()}
    return value


def escape(value: typing.Any) -> typing.Any:
    """Return a value whose texts have no fields here, but literal braces."""
    if isinstance(value, str):
        return value.replace('{', '{{').replace('}', '}}')
    if isinstance(value, list):
        return [escape(item) for item in value]
    if isinstance(value, dict):
        return {escape(key): escape(item) for key, item in value.items()}
    return value


def _replacement(name: str, spec: str, conversion: str | None) -> str:
    keys = old_text.steps(name)
    if not keys:
        raise Inconvertible(
            _('no field has all data of the machine: {%s}') % name)
    if conversion == 'a' or not _SPEC.fullmatch(spec):
        raise Inconvertible(
            _('the format of {%s} is not known here') % name)
    return write_field(_of_data(keys), (f'!{conversion}' if conversion else '')
                  + (f':{spec}' if spec else ''))


def write_field(steps: typing.Iterable[old_field.Step],
                suffix: str = '') -> str:
    """Write the field that these steps lead to.

    :param suffix: what stands before the closing brace.
    :raises: :class:`Inconvertible`.
    """
    root, *inner = steps
    text = str(root)
    for step in inner:
        if isinstance(step, str) and _DOTTED.fullmatch(step):
            text += f'.{step}'
        elif (isinstance(step, int) and step >= 0) or (
                isinstance(step, str) and _BRACKETED.fullmatch(step)):
            text += f'[{step}]'
        else:
            raise Inconvertible(
                _('a field cannot step into "%s"') % (step,))
    return f'{{{text}{suffix}}}'


def convert_operator(op: str, where: str, value: typing.Any) -> Converted:
    """Find the op that tests the same.

    :param op: the old name, without the prefix.
    :param where: the field that it is about.
    :param value: what the old op had beside the field.
    """
    if op in ('eq', 'ne') and isinstance(value, str) and (
            comparison.as_number(value) is not None):
        # Text was never equal to a number: with its quotes it is not.
        return op, {'values': [f'{where[:-1]}!r}}', repr(value)]}
    if op in _CONVERTERS:
        return _CONVERTERS[op](op, where, value)
    return op, {'values': [where, escape(value)]}


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
    """Return whether there is a ``|`` outside of all parentheses."""
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
