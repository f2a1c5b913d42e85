# SPDX-License-Identifier: Apache-2.0

"""Loops of stock Ironic, whose items are always written out in the rule.

Each turn is converted for itself. Where all turns come out alike but for
the item, they are written as a loop again.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import re
import typing

from ironic_inspection_rules.authoring.conversion import field
from ironic_inspection_rules.authoring.conversion import stock_text
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.i18n import _

Operation = dict[str, typing.Any]

_MARK = re.compile(r'zqitem(\d+)qz')
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*')
_FALSE_WHERE_MISSING = frozenset({
    'eq', 'lt', 'gt', 'matches', 'contains', 'in-net', 'one-of'})


def conditions(items: Sequence[typing.Any],
               turn: Callable[[typing.Any], Operation | bool],
               every: bool) -> Operation | bool:
    """Convert a condition with a loop.

    :param turn: makes the condition for an item.
    :param every: whether it has to hold for all items.
    """
    turns = [turn(item) for item in items]
    if (not every) in turns:
        return not every
    written = [each for each in turns if not isinstance(each, bool)]
    if not written:
        return every
    if len(written) == 1:
        return written[0]
    looped = _again(items, turns, turn)
    if looped is not None:
        return {**looped, 'loop': field.escape(list(items)),
                **({'multiple': 'all'} if every else {})}
    return {'op': 'all-of' if every else 'any-of', 'conditions': written}


def actions(items: Sequence[typing.Any],
            turn: Callable[[typing.Any], Operation | None]
            ) -> list[Operation]:
    """Convert an action with a loop, see :func:`conditions`."""
    turns = [turn(item) for item in items]
    looped = _again(items, turns, turn) if len(turns) > 1 else None
    if looped is not None:
        return [{**looped, 'loop': field.escape(list(items))}]
    return [each for each in turns if each is not None]


def needed(condition: Operation) -> Iterator[str]:
    """Return the fields without which a condition does not hold."""
    name = condition['op'].removeprefix('!')
    if 'loop' in condition or (
            name not in _FALSE_WHERE_MISSING
            and condition['op'] != 'exists'):
        return
    is_not_empty = condition['op'] == '!one-of' and (
        'None' in condition['args']['values'])
    for each in interpolation.fields(list(condition['args'].values())):
        if not each.filters or is_not_empty:
            yield re.split('[!:|]', each.text)[0].strip()


def _again(items: Sequence[typing.Any], turns: Sequence[typing.Any],
           turn: Callable[[typing.Any], typing.Any]) -> Operation | None:
    """Return the operation over ``{item}`` that is that of each turn."""
    names = _names(items[0])
    if names is None or any(_names(item) != names for item in items):
        return None
    marks = [f'zqitem{number}qz' for number in range(len(names) or 1)]
    marked = turn(dict(zip(names, marks, strict=True)) if names
                  else marks[0])
    if not isinstance(marked, dict) or 'conditions' in marked and (
            'args' in marked):
        return None
    for item, made in zip(items, turns, strict=True):
        values = [field.escape(str(value)) for value in (
            item.values() if names else [item])]
        if _replace(marked, values.__getitem__) != made:
            return None
    fields = [f'{{item.{name}}}' for name in names] or ['{item}']
    is_text = [all(isinstance(item[name], str) for item in items)
               for name in names] or [
                   all(isinstance(item, str) for item in items)]

    return typing.cast(Operation, _replace(
        marked, fields.__getitem__, lambda mark: fields[mark] if is_text[mark]
        else f'{fields[mark][:-1]}!s}}'))


def _names(item: typing.Any) -> list[str] | None:
    """Return the keys of a flat item, none of plain text, else None."""
    if isinstance(item, dict):
        plain = all(_is_plain(value) for value in item.values()) and all(
            _NAME.fullmatch(name) for name in item)
        return list(item) if plain and item else None
    return [] if _is_plain(item) else None


def _is_plain(value: typing.Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(
        value, bool) and not re.search(r'[{}]', str(value))


def _replace(value: typing.Any, write: Callable[[int], str],
             alone: Callable[[int], str] | None = None,
             key: str | None = None) -> typing.Any:
    """Put something in place of the marks.

    :param alone: of one that is the whole text, where it keeps its type.
    """
    if isinstance(value, dict):
        return {name: _replace(item, write, alone, name)
                for name, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, write, alone) for item in value]
    if not isinstance(value, str):
        return value
    if key == 'path' and _MARK.fullmatch(value.removeprefix('/')):
        # A path is written into the item as a whole.
        value = value.removeprefix('/')
    elif alone and key not in ('path', 'regex') and (
            mark := _MARK.fullmatch(value)):
        return alone(int(mark[1]))
    return _MARK.sub(lambda mark: write(int(mark[1])), value)


def read_turn(value: typing.Any, item: typing.Any,
              again: bool = True) -> typing.Any:
    """Read all texts in a value that a loop fills in.

    :param item: of this turn.
    :param again: whether the result is formatted once more; it is but for
        what stands in a list.
    """
    if isinstance(value, list):
        return [read_turn(each, item, not isinstance(each, str))
                for each in value]
    if isinstance(value, dict):
        return {read_turn(key, item, False).filled: read_turn(each, item)
                for key, each in value.items()}
    if not isinstance(value, str):
        return value
    try:
        filled = _fill(value, item, again)
        pieces = stock_text.parse(value)
        others = any(name and stock_text.split(name)[0] != interpolation.ITEM
                     for _before, name, _spec, _conversion in pieces)
        if again and others and re.search(
                '[{}]', ''.join(piece[0] for piece in pieces)):
            raise field.Inconvertible(
                _('"%s" is filled in twice by stock Ironic') % value)
        return dataclasses.replace(stock_text.read(
            filled, value if others and filled != value else None),
            twice=again)
    except stock_text.StaysText as exc:
        return stock_text.Text(field.escape(value), value,
                               missing_key=exc.is_missing)


def _fill(text: str, item: typing.Any, again: bool) -> str:
    """Put the item of a loop into text that stock Ironic formats.

    :param again: whether the result is formatted once more.
    :raises: :class:`.StaysText` where the item does not have what is asked.
    """
    filled = ''
    for before, name, spec, conversion in stock_text.parse(text):
        filled += before if again else field.escape(before)
        if name is None:
            continue
        suffix = stock_text.suffix(spec, conversion)
        root, steps = stock_text.split(name)
        if root != interpolation.ITEM:
            filled += f'{{{name}{suffix}}}'
            continue
        value = _step_into(item, steps)
        try:
            shown = f'{{0{suffix}}}'.format(value)
        except (TypeError, ValueError) as exc:
            raise stock_text.StaysText from exc
        filled += shown if again else field.escape(shown)
    return filled


def _step_into(value: typing.Any, steps: list[tuple[bool, str]]
               ) -> typing.Any:
    for dotted, step in steps:
        if dotted:
            raise stock_text.StaysText
        try:
            value = value[int(step) if step.isdecimal() else step]
        except (LookupError, TypeError) as exc:
            raise stock_text.StaysText(isinstance(exc, KeyError)) from exc
    return value
