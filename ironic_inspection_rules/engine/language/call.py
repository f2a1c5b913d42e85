# SPDX-License-Identifier: Apache-2.0

"""The call of an op, a condition or an action, with compiled arguments.

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

NO_CALL: typing.Any = ...
"""The value of ``missing`` where a call with a missing field is not made."""

_FREE_LENGTH = budget.SHORT

_LONGEST_ITEM = 1024
"""Maximum length of a machine's text in an expression, in characters."""


class Call:
    """A call of an op: literal arguments, and templates of all others.

    ``set-attribute`` of ``/name`` and ``{inventory.hostname}`` has the literal
    ``path``, and the varying ``value``. ``literals`` are values by name,
    converted to their types; ``varying`` are templates by name, which are
    rendered for every machine.

    :param missing: the value of an argument with a missing field;
        :data:`NO_CALL` if the op is not called then.
    :param loop: the loop whose items the arguments may use.
    :raises: :class:`.exceptions.InvalidRule` if the arguments do not fit,
        :class:`.exceptions.OperationError` if one is not usable, such as a
        wrong regular expression.
    """

    __slots__ = ('literals', 'op', 'varying')

    def __init__(
        self,
        op: registry.Op,
        args: typing.Any,
        missing: typing.Any = NO_CALL,
        loop: engine_loop.Loop | None = None,
    ) -> None:
        """Bind the arguments, and compile each to a literal or a template.

        :param op: the op that is called.
        :param args: the arguments as the rule has them.
        """
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
            # Its fields are filled in for every machine, by render().
            if missing is not NO_CALL:
                compiled = rendering.OrElse(compiled, missing)
            if _needs_conversion(argument, value):
                compiled = _Converted(
                    compiled,
                    functools.partial(arguments.convert, argument=argument),
                )
            self.varying[name] = compiled

    def render(self, roots: budget.View) -> dict[str, typing.Any] | Missing:
        """Render the arguments that depend on the data.

        :param roots: the data of the machine by root name. Their budget pays
            for the values; short text is free.
        :returns: the values by name; if a field of any argument is missing,
            that :class:`.rendering.Missing` alone.
        """
        rendered = {}
        for name, argument in self.varying.items():
            value = argument.render(roots)
            # This runs for every op on every machine, mostly with short text:
            # a single comparison must do.
            if value.__class__ is not str or len(value) > _FREE_LENGTH:
                if value.__class__ is Missing:
                    return value
                roots.budget.pay_for_argument(value)
            rendered[name] = value
        return rendered


def _needs_conversion(
    argument: arguments.Argument, written: typing.Any
) -> bool:
    """Return whether the rendered value of an argument needs a conversion.

    ``"5"`` of a machine becomes 5, if the argument is an integer.

    :param written: the argument as the rule has it.
    """
    if argument.type in _READ_FIRST:
        # The template of a path or a pattern already makes one.
        return False
    if argument.type is list and isinstance(written, list):
        # A list with fields stays a list.
        return False
    return argument.converts


class _Converted(rendering.Computed):
    """A value that is converted to the type that its argument declares.

    A class of its own, so that :func:`is_as_written` knows it.
    """

    __slots__ = ()


def is_as_written(value: rendering.Template) -> bool:
    """Return whether an argument always has the value of its field.

    It may have another one by a conversion, as that of ``"5"`` to 5, or by the
    default for a missing field.
    """
    return not isinstance(value, _Converted | rendering.OrElse)


def compile_argument(
    op: registry.Op,
    name: str,
    value: typing.Any,
    loop: engine_loop.Loop | None,
) -> typing.Any:
    """Compile an argument to a template; without fields, to a value.

    In a message, a missing field reads ``(missing)``.

    :param name: the name of the argument.
    :param value: the argument as the rule has it.
    :param loop: the loop whose items the argument may use.
    :raises: :class:`.exceptions.OperationError` if it is not usable.
    """
    if name in op.plugin.LITERAL:
        # It has no fields: braces in it are text.
        return value
    kind = op.signature.by_name[name].type
    if kind in _READ_FIRST and value is not None:
        # In a path or a pattern, text of a machine must not act as syntax.
        return _READ_FIRST[kind](value, loop)
    compiled = template.compile_value(value)
    is_varying = isinstance(compiled, rendering.Template)
    is_message = name in getattr(op.plugin, 'TELLS', ())
    if is_varying and is_message:
        return compiled.with_default(_('(missing)'))
    return compiled


def compile_pattern(
    text: typing.Any, loop: engine_loop.Loop | None = None
) -> typing.Any:
    """Compile a regular expression.

    It may have the items of a loop in it, as ``^{item.name}-[0-9]+$``. Items
    that are written in the rule become parts of the expression, and all are
    checked here. An item of a machine is escaped, so that it matches as text.

    Any other field is taken for a part of the expression. Such a rule was
    refused before, see :func:`find_problem`.

    :returns: a pattern, or the template of a pattern with ``{item…}``.
    :raises: :class:`.exceptions.OperationError` if it is invalid.
    """
    if not isinstance(text, str):
        raise exceptions.OperationError(_('must be a regular expression'))
    if loop is None or '{item' not in text:
        return pattern.Pattern(text)
    pieces = _split_pattern(text)
    if len(pieces) == 1:
        # There is no field in it, only text such as "\{item}".
        return pattern.Pattern(text)
    if loop.items is not None:
        return loop.build_for_each_item(_compile_for_items(pieces, loop.items))
    # The items come from a machine: the expression is compiled there.
    escaped: list[typing.Any] = []
    for piece in pieces:
        if isinstance(piece, str):
            escaped.append(piece)
        else:
            item = template.compile_field(piece)
            escaped.append(rendering.Computed(item, _escape_for_pattern))
    return _PatternWithData(rendering.List(escaped), _compile_with_data)


def _compile_for_items(
    pieces: list[Piece], items: list[typing.Any]
) -> typing.Iterator[pattern.Pattern]:
    """Yield a pattern for every item of a literal loop.

    ``^{item}-[0-9]+$`` and the items ``eth`` and ``ens?`` give the patterns
    ``^eth-[0-9]+$`` and ``^ens?-[0-9]+$``.

    :param pieces: the pieces of the expression; an item fills its fields.
    :param items: the items that the rule has written out.
    :raises: :class:`.exceptions.OperationError` if an item has nothing for a
        field, or null, a list or a mapping, or if a pattern is invalid.
    """
    for item in items:
        text = ''
        for piece in pieces:
            if isinstance(piece, str):
                text += piece
                continue
            value = data_path.get(item, piece.steps)
            is_nothing = value is None or value is data_path.ABSENT
            if is_nothing or isinstance(value, dict | list):
                raise exceptions.OperationError(
                    _('{%s} is no text in each item of the loop') % piece.text
                )
            text += str(value)
        yield pattern.Pattern(text)


def _escape_for_pattern(value: typing.Any) -> str:
    """Escape a machine's text, so that an expression matches it as text.

    ``10.1`` becomes ``10\\.1``: its dot does not match any character.

    :raises: :class:`.exceptions.OperationError` if it is too long.
    """
    text = str(value)
    if len(text) > _LONGEST_ITEM:
        raise exceptions.OperationError(
            _(
                'the item is longer than %d characters, too long for a '
                'regular expression'
            )
            % _LONGEST_ITEM
        )
    return re.escape(text)


def _compile_with_data(texts: list[str]) -> pattern.Pattern:
    """Compile an expression with escaped texts of a machine in it."""
    return pattern.Pattern(''.join(texts), from_data=True)


class _PatternWithData(rendering.Computed):
    """An expression with a machine's text in it.

    Reasons show it as a single value: as it has no parts, they do not show
    what filters of ``{item…}`` did.
    """

    __slots__ = ()

    parts = ()


def find_problem(
    text: typing.Any, loop: engine_loop.Loop | None
) -> str | None:
    """Return the message for the first wrong field of a regular expression.

    Only ``{item…}`` may be a field of it, in a loop. :func:`compile_pattern`
    would take any other field for a part of the expression.

    :param text: the argument as the rule has it.
    :returns: None if no field is wrong.
    """
    if not isinstance(text, str):
        # compile_pattern() reports it.
        return None
    for piece in _split_pattern(
        text, (*interpolation.ROOTS, interpolation.ITEM)
    ):
        if isinstance(piece, str):
            continue
        if piece.root != interpolation.ITEM:
            return (
                _(
                    'a regular expression may hold no field but {item…}, '
                    'and holds {%s}'
                )
                % piece.text
            )
        if loop is None:
            return _('there is no loop for {%s}') % piece.text
    return None


def _split_pattern(
    text: str, roots: tuple[str, ...] = (interpolation.ITEM,)
) -> list[Piece]:
    """Split a regular expression into literal pieces and fields.

    ``[0-9]{2}{item.name}x`` is ``[0-9]{2}``, the field and ``x``. Unlike in
    other text, braces have a meaning here, and a backslash escapes a brace.

    :param roots: the roots of fields; any other field is literal.
    """
    pieces: list[Piece] = []
    literal = ''
    position = 0
    last_closing = text.rfind('}')
    while position < len(text):
        field = None
        if text[position] == '{' and position < last_closing:
            field = interpolation.field_at(text, position)
        if field is not None and field.root in roots:
            pieces += [literal, field]
            literal = ''
            position += len(field.text) + len('{}')
            continue
        end = position + 1
        if text[position] == '\\':
            # With the character that the backslash escapes.
            end += 1
        literal += text[position:end]
        position = end
    return [*pieces, literal]


def compile_path(
    text: typing.Any, loop: engine_loop.Loop | None = None
) -> typing.Any:
    """Split a path into tokens, and compile these.

    ``/extra/{node.name}`` has two tokens, whatever the name of the node is: a
    slash in it separates nothing.

    :returns: a path, or a template if it has fields; a value that is no text
        is returned as it is.
    :raises: :class:`.exceptions.OperationError` if it is invalid.
    """
    if not isinstance(text, str):
        return text
    if loop and loop.items is not None:
        # An item of the rule may be several tokens, such as "extra/rack". A
        # field of the data is always a single token.
        paths = [interpolation.fill_item(text, item) for item in loop.items]
        if any(path != text for path in paths):
            return loop.build_for_each_item(
                compile_path(path) for path in paths
            )
    tokens = []
    for pieces in split_path(interpolation.parse(text)):
        # Without the empty texts between a field and a separator: joined to
        # such a text, a list would become text, which no token may be.
        pieces_to_join = [piece for piece in pieces if piece]
        tokens.append(template.join(pieces_to_join))
    data_path.check(tokens, text)
    if not rendering.any_varies(tokens):
        return tuple(tokens)
    checked: list[typing.Any] = []
    for token in tokens:
        if isinstance(token, rendering.Template):
            checked.append(rendering.Computed(token, _make_token))
        else:
            checked.append(token)
    return rendering.Computed(rendering.List(checked), _read_path)


def split_path(pieces: list[Piece]) -> list[list[Piece]]:
    """Split the pieces of a path into tokens, which are lists of pieces.

    ``/extra/{item.name}_x`` has the tokens ``['extra']`` and ``['', FIELD,
    '_x']``. Only literal pieces have separators: a field never fills several
    tokens.
    """
    # A path that begins with a slash has escapes, such as "~1".
    is_pointer = False
    if pieces and isinstance(pieces[0], str):
        is_pointer = pieces[0].startswith('/')
    # Slashes separate tokens; without any slash, dots do.
    separator = '.'
    for piece in pieces:
        if isinstance(piece, str) and '/' in piece:
            separator = '/'
    tokens: list[list[Piece]] = [[]]
    for piece in pieces:
        if not isinstance(piece, str):
            tokens[-1].append(piece)
            continue
        texts = piece.split(separator)
        if is_pointer:
            # After the split: "~1" is a slash that separates nothing.
            texts = [data_path.unescape(text) for text in texts]
        # Text before the first separator still belongs to the last token.
        end_of_token, *next_tokens = texts
        tokens[-1].append(end_of_token)
        for text in next_tokens:
            tokens.append([text])
    if is_pointer:
        # Nothing stands before the first slash.
        return tokens[1:]
    return tokens


def _read_path(tokens: list[str]) -> data_path.Path:
    """Return the path of rendered tokens, checked like a written path.

    :raises: :class:`.exceptions.OperationError` if it is invalid.
    """
    path = tuple(tokens)
    data_path.check(path, data_path.pointer(path))
    return path


def _make_token(value: typing.Any) -> str:
    """Make a token, one name or index of a path, of the value of a field.

    In the path ``/extra/{inventory.cpu.count}`` the value 8 becomes the second
    token, "8".

    :raises: :class:`.exceptions.OperationError` for a list or a mapping.
    """
    if isinstance(value, dict | list):
        raise exceptions.OperationError(
            _('%s cannot be part of a path') % suggestion.kind_of(value)
        )
    text = str(value)
    if text == data_path.APPEND:
        # In a rule, "-" means the end of a list, where a value is appended. A
        # machine that sends "-" must not choose that: as a Key, which is a
        # text of another class, it is always the name of an attribute.
        return data_path.Key(text)
    return text


_READ_FIRST: dict[typing.Any, typing.Callable[..., typing.Any]] = {
    data_path.Path: compile_path,
    pattern.Pattern: compile_pattern,
}
"""The types whose text is read before its fields are filled in."""
