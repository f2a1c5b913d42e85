# SPDX-License-Identifier: Apache-2.0

"""Regular expressions with the item of a loop in them.

An expression may hold ``{item…}`` and no other field. An item that is written
out in the rule is part of the expression; one that a machine sent stands for
itself.
"""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

_LONGEST_ITEM = 1024
"""How much text of a machine an expression may take."""


def compile_pattern(text: typing.Any,
                    loop: engine_loop.Loop | None = None) -> typing.Any:
    """Compile a regular expression.

    :param text: as the rule has it.
    :param loop: the loop it is in.
    :returns: the pattern where no item is in it, else a template of it.
    :raises: :class:`.exceptions.OperationError` where it is none.
    """
    if not isinstance(text, str):
        raise exceptions.OperationError(_('must be a regular expression'))
    pieces = _split(text) if loop and '{item' in text else [text]
    if loop is None or not any(
            isinstance(piece, interpolation.Field) for piece in pieces):
        return pattern.Pattern(text)
    if loop.items is not None:
        return loop.for_each(
            pattern.Pattern(''.join(_written(piece, item)
                                    for piece in pieces))
            for item in loop.items)
    return _Pattern([template.join([piece]) for piece in pieces])


def problem(text: typing.Any, loop: engine_loop.Loop | None) -> str | None:
    """Tell which field an expression must not hold, if any."""
    if not isinstance(text, str):
        return None
    for piece in _split(text, (*interpolation.ROOTS, interpolation.ITEM)):
        if isinstance(piece, str):
            continue
        if piece.root != interpolation.ITEM:
            return _('a regular expression may hold no field but {item…}, '
                     'and holds {%s}') % piece.text
        if loop is None:
            return _('there is no loop for {%s}') % piece.text
    return None


def _split(text: str, roots: tuple[str, ...] = (interpolation.ITEM,)
           ) -> list[str | interpolation.Field]:
    """Tell the fields over some roots from the rest of an expression."""
    pieces: list[str | interpolation.Field] = ['']
    position = 0
    last = text.rfind('}')
    while position < len(text):
        end = position + 1
        if text[position] == '\\':
            end += 1
        field = None
        if text[position] == '{' and position < last:
            field = interpolation.field_at(text, position)
        if field and field.root in roots:
            pieces += [field, '']
            end = position + len(field.text) + 2
        else:
            pieces[-1] = str(pieces[-1]) + text[position:end]
        position = end
    return pieces


def _written(piece: str | interpolation.Field, item: typing.Any) -> str:
    """Return a piece of an expression with an item of the rule in it."""
    if isinstance(piece, str):
        return piece
    value = data_path.get(item, piece.steps)
    if value is data_path.ABSENT or isinstance(value, dict | list):
        raise exceptions.OperationError(
            _('{%s} is no text in each item of the loop') % piece.text)
    return str(value)


class _Pattern(template.Template):
    """An expression with text of a machine in it."""

    __slots__ = ('_pieces',)

    def __init__(self, pieces: list[typing.Any]) -> None:
        self._pieces = pieces

    def render(self, roots: template.Roots) -> (
            pattern.Pattern | template.Missing):
        text = ''
        for piece in self._pieces:
            if isinstance(piece, str):
                text += piece
                continue
            value = piece.render(roots)
            if isinstance(value, template.Missing):
                return value
            value = str(value)
            if len(value) > _LONGEST_ITEM:
                raise exceptions.OperationError(
                    _('the item is longer than %d characters, too long for '
                      'a regular expression') % _LONGEST_ITEM)
            text += re.escape(value)
        return pattern.Pattern(text, from_data=True)
