# SPDX-License-Identifier: Apache-2.0

"""The call of an op, which is a condition or an action.

Arguments are compiled before any data are known. A path is split before its
fields are filled in, and each field fills exactly one token. So a machine
cannot redirect the path to another place. A regular expression may contain
``{item…}`` and no other field. The items of a literal loop are part of the
rule, so they may contain several tokens of a path or parts of an expression.
Items from a machine are escaped.
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
"""Passed as ``missing`` if an op must not be called with a missing field."""

_FREE_LENGTH = budget.SHORT
"""Maximum length of a text that the budget does not pay for, in characters."""

_LONGEST_ITEM = 1024
"""Maximum length of an item from a machine in an expression, in characters."""


class Call:
    """A call of an op: its literal arguments, and templates of the others.

    ``set-attribute`` of ``/name`` and ``{inventory.hostname}`` has the literal
    argument ``path`` and the varying argument ``value``. ``literals`` are
    values by name, converted to their types. ``varying`` are templates by
    name, which are rendered for each machine.

    :param missing: the value of an argument with a missing field, or
        :data:`NO_CALL` if the op must not be called then.
    :param loop: the loop whose items the arguments may use.
    :raises: :class:`.exceptions.InvalidRule` if the arguments do not match the
        op; :class:`.exceptions.OperationError` if an argument is not usable,
        e.g. an invalid regular expression.
    """

    __slots__ = ('literals', 'op', 'varying')

    def __init__(
        self,
        op: registry.Op,
        args: typing.Any,
        missing: typing.Any = NO_CALL,
        loop: engine_loop.Loop | None = None,
    ) -> None:
        """Bind the arguments and compile each to a literal or a template.

        :param op: the op to call.
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
            # The template is rendered for each machine. Wrap it, so that a
            # missing field is replaced and the result has the right type.
            if missing is not NO_CALL:
                compiled = rendering.TemplateWithDefault(compiled, missing)
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
        :returns: the values by name; or the :class:`.rendering.Missing` of the
            first argument with a missing field.
        """
        rendered = {}
        for name, argument in self.varying.items():
            value = argument.render(roots)
            # Keep this fast: it runs for every op on every machine, mostly
            # with short text, which needs only one comparison.
            if value.__class__ is not str or len(value) > _FREE_LENGTH:
                if value.__class__ is Missing:
                    return value
                roots.budget.pay_for_argument(value)
            rendered[name] = value
        return rendered


def _needs_conversion(
    argument: arguments.Argument, written: typing.Any
) -> bool:
    """Return whether the rendered value of an argument must be converted.

    For example, ``"5"`` from a machine becomes 5 if the argument is an
    integer.

    :param written: the argument as the rule has it.
    """
    if argument.type in _COMPILERS:
        # The template of a path or a pattern gives the right type already.
        return False
    if argument.type is list and isinstance(written, list):
        # A list with fields stays a list.
        return False
    return argument.converts


class _Converted(rendering.ComputedTemplate):
    """A value that is converted to the type that its argument declares.

    This is a separate class so that
    :func:`keeps_value_of_field` can recognize it.
    """

    __slots__ = ()


def keeps_value_of_field(compiled: rendering.Template) -> bool:
    """Return whether an argument always has the value of its field.

    It may have another value if ``"5"`` is converted to 5, or if a missing
    field has a default.

    :param compiled: an argument with fields, as :class:`Call` compiled it.
    """
    return not isinstance(compiled, _Converted | rendering.TemplateWithDefault)


def compile_argument(
    op: registry.Op,
    name: str,
    value: typing.Any,
    loop: engine_loop.Loop | None,
) -> typing.Any:
    """Compile an argument to a template, or to a value if it has no fields.

    In a message to users, a missing field becomes ``(missing)``.

    :param name: the name of the argument.
    :param value: the argument as the rule has it.
    :param loop: the loop whose items the argument may use.
    :raises: :class:`.exceptions.OperationError` if the argument is not usable.
    """
    if name in op.plugin.LITERAL:
        # A literal argument has no fields: braces in it are plain text.
        return value
    kind = op.signature.by_name[name].type
    if kind in _COMPILERS and value is not None:
        # Text from a machine must not act as syntax in a path or a pattern.
        return _COMPILERS[kind](value, loop)
    compiled = template.compile_value(value)
    is_varying = isinstance(compiled, rendering.Template)
    # TELLS has the names of arguments that are messages. Only actions have it.
    is_message = name in getattr(op.plugin, 'TELLS', ())
    if is_varying and is_message:
        return compiled.with_default(_('(missing)'))
    return compiled


def compile_pattern(
    text: typing.Any, loop: engine_loop.Loop | None = None
) -> typing.Any:
    """Compile a regular expression, which may contain items of a loop.

    For example, ``^{item.name}-[0-9]+$`` contains the name of an item.
    Items that are written in the rule become part of the expression, and they
    are all checked here. Items from a machine are escaped, so that they match
    as plain text.

    Any other field is treated as part of the expression. Rules with such
    fields have been rejected before, see :func:`find_problem`.

    :returns: a pattern, or the template of a pattern with ``{item…}``.
    :raises: :class:`.exceptions.OperationError` if the expression is invalid.
    """
    if not isinstance(text, str):
        raise exceptions.OperationError(_('must be a regular expression'))
    if loop is None:
        return pattern.Pattern(text)
    pieces = _split_pattern(text)
    has_field = any(isinstance(piece, interpolation.Field) for piece in pieces)
    if not has_field:
        # The braces of e.g. "[0-9]{2}" and "\{item}" are no fields.
        return pattern.Pattern(text)
    if loop.items is not None:
        return loop.build_for_each_item(_compile_for_items(pieces, loop.items))
    # The items come from a machine, so the expression is compiled for each
    # machine, after the values of its fields are escaped.
    escaped: list[typing.Any] = []
    for piece in pieces:
        if isinstance(piece, str):
            escaped.append(piece)
        else:
            item = template.compile_field(piece)
            escaped.append(
                rendering.ComputedTemplate(item, _escape_for_pattern)
            )
    return _PatternWithData(
        rendering.ListTemplate(escaped), _compile_with_data
    )


def _compile_for_items(
    pieces: list[Piece], items: list[typing.Any]
) -> typing.Iterator[pattern.Pattern]:
    """Yield a pattern for each item of a literal loop.

    ``^{item}-[0-9]+$`` and the items ``eth`` and ``ens?`` give the patterns
    ``^eth-[0-9]+$`` and ``^ens?-[0-9]+$``.

    :param pieces: the pieces of the expression; its fields are filled with the
        item.
    :param items: the items that are written in the rule.
    :raises: :class:`.exceptions.OperationError` if the value of a field in an
        item is missing, null, a list or a mapping, or if a pattern is invalid.
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
    """Escape text from a machine so that an expression matches it as text.

    ``10.1`` becomes ``10\\.1``, so that its dot does not match any character.

    :raises: :class:`.exceptions.OperationError` if the text is too long.
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
    """Compile an expression that contains escaped text from a machine."""
    return pattern.Pattern(''.join(texts), from_data=True)


class _PatternWithData(rendering.ComputedTemplate):
    """An expression that contains text from a machine.

    Reasons show it as a single value. It has no parts, so reasons do not show
    what the filters of ``{item…}`` did.
    """

    __slots__ = ()

    parts = ()


def find_problem(
    text: typing.Any, loop: engine_loop.Loop | None
) -> str | None:
    """Return the message for the first wrong field in a regular expression.

    Only ``{item…}`` is allowed, and only in a loop. :func:`compile_pattern`
    would treat any other field as part of the expression.

    :param text: the argument as the rule has it.
    :returns: None if there is no wrong field.
    """
    if not isinstance(text, str):
        # compile_pattern() reports a value that is not text.
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

    ``[0-9]{2}{item.name}x`` gives ``[0-9]{2}``, the field, and ``x``. In an
    expression, unlike in other text, braces have their own meaning and a
    backslash escapes a brace.

    :param roots: the roots of fields. Fields over other roots are literal.
    """
    pieces: list[Piece] = []
    literal = ''
    position = 0
    # An opening brace after the last closing brace does not begin a field.
    last_closing = text.rfind('}')
    while position < len(text):
        field = None
        if text[position] == '{' and position < last_closing:
            field = interpolation.field_at(text, position)
        if field is not None and field.root in roots:
            pieces += [literal, field]
            literal = ''
            position += len(field.in_braces)
        elif text[position] == '\\':
            # Include the character that the backslash escapes.
            literal += text[position : position + 2]
            position += 2
        else:
            literal += text[position]
            position += 1
    return [*pieces, literal]


def compile_path(
    text: typing.Any, loop: engine_loop.Loop | None = None
) -> typing.Any:
    """Split a path into tokens, and compile the tokens.

    ``/extra/{node.name}`` always has two tokens, because a slash in the name
    of the node does not separate tokens.

    :returns: a path, or a template if the path has fields. A value that is not
        text is returned as it is.
    :raises: :class:`.exceptions.OperationError` if the path is invalid.
    """
    if not isinstance(text, str):
        return text
    if loop and loop.items is not None:
        # An item in the rule may consist of several tokens, e.g. "extra/rack".
        # A field from the data is always a single token.
        paths = [interpolation.fill_item(text, item) for item in loop.items]
        depends_on_item = any(path != text for path in paths)
        if depends_on_item:
            return loop.build_for_each_item(
                compile_path(path) for path in paths
            )
    tokens = []
    for pieces in split_path(interpolation.parse(text)):
        # Drop the empty texts between a field and a separator. If a list were
        # joined to such a text, it would become text, and lists must be
        # rejected as tokens.
        pieces_to_join = [piece for piece in pieces if piece]
        tokens.append(template.join(pieces_to_join))
    data_path.check(tokens, text)
    if not rendering.any_varies(tokens):
        return tuple(tokens)
    # For each machine, make a token of each field's value, and then build and
    # check the path.
    checked: list[typing.Any] = []
    for token in tokens:
        if isinstance(token, rendering.Template):
            checked.append(rendering.ComputedTemplate(token, _make_token))
        else:
            checked.append(token)
    return rendering.ComputedTemplate(
        rendering.ListTemplate(checked), _read_path
    )


def split_path(pieces: list[Piece]) -> list[list[Piece]]:
    """Split the pieces of a path into tokens, which are lists of pieces.

    ``/extra/{item.name}_x`` has the tokens ``['extra']`` and ``['', FIELD,
    '_x']``. Only literal pieces contain separators, so a field never fills
    several tokens.
    """
    # A path that begins with a slash may contain escapes, e.g. "~1".
    is_pointer = False
    if pieces and isinstance(pieces[0], str):
        is_pointer = pieces[0].startswith('/')
    # Tokens are separated by slashes or, if there is no slash, by dots.
    separator = '.'
    if any(isinstance(piece, str) and '/' in piece for piece in pieces):
        separator = '/'
    tokens: list[list[Piece]] = [[]]
    for piece in pieces:
        if isinstance(piece, interpolation.Field):
            tokens[-1].append(piece)
            continue
        for number, text in enumerate(piece.split(separator)):
            is_after_separator = number > 0
            if is_after_separator:
                tokens.append([])
            if is_pointer:
                # Unescape after the split, because "~1" is a slash that does
                # not separate tokens.
                text = data_path.unescape(text)
            tokens[-1].append(text)
    if is_pointer:
        # Drop the empty token before the first slash.
        return tokens[1:]
    return tokens


def _read_path(tokens: list[str]) -> data_path.Path:
    """Build a path from tokens whose fields are filled in, and check it.

    :raises: :class:`.exceptions.OperationError` if it is invalid.
    """
    path = tuple(tokens)
    data_path.check(path, data_path.pointer(path))
    return path


def _make_token(value: typing.Any) -> str:
    """Build a token of a path from the value of a field.

    A token is one name or index. In the path ``/extra/{inventory.cpu.count}``,
    the value 8 becomes the second token, "8".

    :raises: :class:`.exceptions.OperationError` for a list or a mapping.
    """
    if isinstance(value, dict | list):
        raise exceptions.OperationError(
            _('%s cannot be part of a path') % suggestion.describe_type(value)
        )
    text = str(value)
    if text == data_path.APPEND:
        # In a rule, "-" is the end of a list, where a value is appended. A
        # machine that sends "-" must not be able to append. A Key is a
        # subclass of text that is always the name of an attribute.
        return data_path.Key(text)
    return text


_COMPILERS: dict[typing.Any, typing.Callable[..., typing.Any]] = {
    data_path.Path: compile_path,
    pattern.Pattern: compile_pattern,
}
"""The types of arguments whose text is parsed before its fields are filled
in, with the functions that compile them."""
