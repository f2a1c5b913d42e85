# SPDX-License-Identifier: Apache-2.0

"""Paths with replacement fields.

A path is split as the rule has it, and each field then fills one token,
whatever is in it. So a machine cannot choose another place than the one the
rule means. The items of a loop that is written out in the rule are part of
the rule: they may hold more of the path.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _


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
