# SPDX-License-Identifier: Apache-2.0

"""Calls: an op with the arguments that a rule gives it.

A path is split before its fields are filled in, and each field then fills one
token, whatever its value is. So a machine cannot choose another place than
the one the rule means. A regular expression may hold ``{item…}`` and no other
field. The items of a literal loop are part of the rule: they may hold several
tokens of a path, or part of an expression. Those that a machine sent are
escaped.
"""

import functools
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.i18n import _

Missing = rendering.Missing
Piece = str | interpolation.Field

_FREE = budget.SHORT

_LONGEST_ITEM = 1024
"""Maximum length of a machine's text in an expression, in characters."""


class Call:
    """An op, its literal arguments, and those that depend on data.

    :param missing: the value of an argument with a missing field; by default
        there is none, and the call is not made.
    :raises: :class:`.exceptions.InvalidRule` if the arguments do not fit.
    """

    __slots__ = ('literals', 'op', 'varying')

    def __init__(self, op: registry.Op, args: typing.Any,
                 missing: typing.Any = ...,
                 loop: engine_loop.Loop | None = None) -> None:
        self.op = op
        self.literals: dict[str, typing.Any] = {}
        self.varying: dict[str, rendering.Template] = {}
        bound, problems = op.signature.bind(args)
        if problems:
            raise exceptions.InvalidRule(problems)
        for name, value in bound.items():
            argument = op.signature.by_name[name]
            compiled = compile_argument(op, name, value, loop)
            if not isinstance(compiled, rendering.Template):
                self.literals[name] = arguments.convert(compiled, argument)
                continue
            if missing is not ...:
                compiled = rendering.OrElse(compiled, missing)
            if argument.converts and argument.type not in _READ_FIRST and not (
                    argument.type is value.__class__ is list):
                compiled = _Converted(compiled, functools.partial(
                    _convert, argument))
            self.varying[name] = compiled

    def render(self, roots: budget.View) -> dict[str, typing.Any] | Missing:
        """Return the arguments that depend on the data, by name.

        What the op is given is paid for here.
        """
        rendered = {}
        for name, value in self.varying.items():
            made = rendered[name] = value.render(roots)
            if made.__class__ is not str or len(made) > _FREE:
                if made.__class__ is Missing:
                    return made
                roots.budget.give(made)
        return rendered


class _Converted(rendering.Made):
    """A value read as the type its argument declares."""

    __slots__ = ()


def _convert(argument: arguments.Argument, value: typing.Any) -> typing.Any:
    return arguments.convert(value, argument)


def is_as_written(value: rendering.Template) -> bool:
    """Return whether an argument is rendered without a conversion."""
    return not isinstance(value, _Converted | rendering.OrElse)


def compile_argument(op: registry.Op, name: str, value: typing.Any,
                     loop: engine_loop.Loop | None) -> typing.Any:
    """Compile an argument to a template, or to a value if it has no fields.

    :raises: :class:`.exceptions.OperationError` if it is not usable.
    """
    if name in op.plugin.LITERAL:
        return value
    kind = op.signature.by_name[name].type
    if kind in _READ_FIRST and value is not None:
        return _READ_FIRST[kind](value, loop)
    compiled = template.compile_value(value)
    return _name_missing(compiled) if name in getattr(
        op.plugin, 'TELLS', ()) else compiled


def _name_missing(value: typing.Any) -> typing.Any:
    """Build a template in which each missing field reads ``(missing)``."""
    if isinstance(value, rendering.List):
        return rendering.List([_name_missing(item) for item in value.items])
    if isinstance(value, rendering.Made) and value.make in (
            template.join_text, rendering.zip_mapping):
        return rendering.Made(_name_missing(value.source), value.make)
    if isinstance(value, rendering.Template):
        return rendering.OrElse(value, _('(missing)'))
    return value


def compile_pattern(text: typing.Any,
                    loop: engine_loop.Loop | None = None) -> typing.Any:
    """Compile a regular expression.

    :returns: a pattern, or a template of one if it holds ``{item…}``.
    :raises: :class:`.exceptions.OperationError` if it is invalid.
    """
    if not isinstance(text, str):
        raise exceptions.OperationError(_('must be a regular expression'))
    pieces = _split(text) if loop and '{item' in text else [text]
    if loop is None or not any(
            isinstance(piece, interpolation.Field) for piece in pieces):
        return pattern.Pattern(text)
    if loop.items is not None:
        return loop.for_each(
            pattern.Pattern(''.join(_written(piece, item) for piece in pieces))
            for item in loop.items)
    return _Pattern(
        rendering.List([
            piece if isinstance(piece, str)
            else rendering.Made(template.join([piece]), _escape)
            for piece in pieces]),
        lambda texts: pattern.Pattern(''.join(texts), from_data=True))


class _Pattern(rendering.Made):
    """An expression with a machine's text in it, shown as one value."""

    __slots__ = ()

    parts = ()


def problem(text: typing.Any, loop: engine_loop.Loop | None) -> str | None:
    """Check the fields of a regular expression, and return a message."""
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
           ) -> list[Piece]:
    pieces: list[Piece] = ['']
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


def _written(piece: Piece, item: typing.Any) -> str:
    """Return a piece of an expression with an item of a literal loop."""
    if isinstance(piece, str):
        return piece
    value = data_path.get(item, piece.steps)
    if value is data_path.ABSENT or isinstance(value, dict | list):
        raise exceptions.OperationError(
            _('{%s} is no text in each item of the loop') % piece.text)
    return str(value)


def _escape(value: typing.Any) -> str:
    """Escape a machine's text for an expression."""
    text = str(value)
    if len(text) > _LONGEST_ITEM:
        raise exceptions.OperationError(
            _('the item is longer than %d characters, too long for a regular '
              'expression') % _LONGEST_ITEM)
    return re.escape(text)


def compile_path(text: typing.Any,
                 loop: engine_loop.Loop | None = None) -> typing.Any:
    """Split a path.

    :returns: a path, or a template of one if it has fields; anything but
        text is returned as it is.
    :raises: :class:`.exceptions.OperationError` if it is invalid.
    """
    if not isinstance(text, str):
        return text
    if loop and loop.items is not None:
        written = [interpolation.fill_item(text, item) for item in loop.items]
        if any(each != text for each in written):
            return loop.for_each(map(compile_path, written))
    tokens = [template.join([piece for piece in pieces if piece])
              for pieces in split(interpolation.parse(text))]
    data_path.check(tokens, text)
    if not rendering.varies(tokens):
        return tuple(tokens)
    return rendering.Made(
        rendering.List([rendering.Made(token, _read_token) if isinstance(
            token, rendering.Template) else token for token in tokens]),
        _read_path)


def split(pieces: list[Piece]) -> list[list[Piece]]:
    """Split the pieces of a path into those of each token."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    is_pointer = texts[:1] == pieces[:1] and ''.join(texts[:1]).startswith('/')
    separator = '/' if any('/' in text for text in texts) else '.'
    tokens: list[list[Piece]] = [[]]
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


def _read_path(tokens: list[str]) -> data_path.Path:
    path = tuple(tokens)
    data_path.check(path, data_path.pointer(path))
    return path


def _read_token(value: typing.Any) -> str:
    if isinstance(value, dict | list):
        raise exceptions.OperationError(
            _('%s cannot be part of a path') % suggestion.kind_of(value))
    text = str(value)
    return data_path.Key(text) if text == data_path.APPEND else text


_READ_FIRST: dict[typing.Any, typing.Callable[..., typing.Any]] = {
    data_path.Path: compile_path, pattern.Pattern: compile_pattern}
"""The types whose text is read before its fields are filled in."""
