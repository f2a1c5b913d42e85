# SPDX-License-Identifier: Apache-2.0

"""Arguments that are read before the fields in them are filled in.

A path is split as the rule has it, and each field then fills one token,
whatever is in it. So a machine cannot choose another place than the one the
rule means. A regular expression may hold ``{item…}`` and no other field. The
items of a loop that is written out in the rule are part of the rule: they may
hold more of a path or of an expression. One that a machine sent stands for
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
"""Longest text of a machine in an expression, in characters."""


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
    """Return what is wrong with the fields of an expression, if anything."""
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
    """Split an expression into text and fields over some roots."""
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


def compile_path(text: typing.Any,
                 loop: engine_loop.Loop | None = None) -> typing.Any:
    """Split a path.

    :param text: as the rule has it.
    :param loop: the loop it is in.
    :returns: the path where it has no fields, else a template of it; what
        is no text as it is.
    :raises: :class:`.exceptions.OperationError` where it is none.
    """
    if not isinstance(text, str):
        return text
    if loop and loop.items is not None:
        written = [interpolation.fill_item(text, item) for item in loop.items]
        if any(each != text for each in written):
            return loop.for_each(map(compile_path, written))
    tokens = split(interpolation.parse(text))
    compiled = [_compile_token(token) for token in tokens]
    data_path.check(compiled, text)
    if any(isinstance(token, template.Template) for token in compiled):
        return _Path(compiled)
    return tuple(compiled)


def split(pieces: list[str | interpolation.Field]
          ) -> list[list[str | interpolation.Field]]:
    """Return the pieces of each token of a path."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    is_pointer = texts[:1] == pieces[:1] and ''.join(texts[:1]).startswith('/')
    separator = '/' if any('/' in text for text in texts) else '.'
    tokens: list[list[str | interpolation.Field]] = [[]]
    for piece in pieces:
        if not isinstance(piece, str):
            tokens[-1].append(piece)
            continue
        first, *others = piece.split(separator)
        tokens[-1].append(first)
        tokens += [[text] for text in others]
    if is_pointer:
        tokens = [[data_path.unescape(piece) if isinstance(piece, str)
                   else piece for piece in token] for token in tokens[1:]]
    return tokens


def _compile_token(pieces: list[str | interpolation.Field]) -> typing.Any:
    compiled = template.join([piece for piece in pieces if piece])
    if isinstance(compiled, template.Template):
        return _Token(compiled)
    return compiled


class _Token(template.Template):
    """A token out of the data."""

    __slots__ = ('_template',)

    def __init__(self, value: template.Template) -> None:
        self._template = value

    def render(self, roots: template.Roots) -> str | template.Missing:
        value = self._template.render(roots)
        if isinstance(value, template.Missing):
            return value
        if isinstance(value, dict | list):
            raise exceptions.OperationError(
                _('a value of type %s cannot be part of a path')
                % type(value).__name__)
        text = str(value)
        return data_path.Key(text) if text == data_path.APPEND else text


class _Path(template.Template):
    """A path, some of whose tokens are out of the data."""

    __slots__ = ('_tokens',)

    def __init__(self, tokens: list[typing.Any]) -> None:
        self._tokens = template.List(tokens)

    def render(self, roots: template.Roots) -> (
            data_path.Path | template.Missing):
        tokens = self._tokens.render(roots)
        return tokens if isinstance(tokens, template.Missing) else (
            tuple(tokens))
