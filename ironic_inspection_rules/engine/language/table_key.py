# SPDX-License-Identifier: Apache-2.0

"""The keys of rows in tables, and the keys by which machines find rows.

A key is a text. The ``key`` of a table computes it from a row, e.g.
``{rack}-{unit}`` gives ``r1-7``. The ``of`` of a table computes a key from the
data of a machine, and the machine has the row with the same key.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem


class KeyTemplate:
    """The template of a key, of a row or of a machine.

    :param pieces: literal text and fields, in order.
    :raises: :class:`.exceptions.OperationError` if a field cannot be parsed.
    """

    __slots__ = ('_parts',)

    def __init__(
        self, pieces: typing.Iterable[str | interpolation.Field]
    ) -> None:
        """Compile the fields; ``_parts`` has templates and literal text."""
        self._parts: list[typing.Any] = []
        for piece in pieces:
            if isinstance(piece, interpolation.Field):
                self._parts.append(template.compile_field(piece))
            else:
                self._parts.append(piece)

    def compute(self, roots: budget.View) -> str | None:
        """Compute the key of a row, or of a machine that looks for its row.

        For example, ``{rack}-{unit}`` and the row ``{'rack': 'r1', 'unit':
        7}`` give ``r1-7``.

        :param roots: the row as the root ``item``, or the data of the machine
            by root name.
        :returns: the key; None if a field is missing or null, or if the key
            would be empty.
        :raises: :class:`.exceptions.OperationError` if a filter fails, or if
            a field is a list or a mapping.
        """
        texts = []
        for part in self._parts:
            value = rendering.render_value(part, roots)
            if value == '':
                # One of several columns of a key may have an empty cell.
                continue
            text = as_key_text(value)
            if text is None:
                return None
            texts.append(text)
        joined = ''.join(texts)
        roots.budget.pay_for_result(joined)
        return joined or None


def compile_machine_key(text: str) -> KeyTemplate:
    """Compile the key of a machine: ``{inventory.system_vendor.serial}``."""
    return KeyTemplate(interpolation.parse(text))


def _check_column(
    column: str,
    secret: typing.Collection[str],
    known: typing.Collection[str] | None,
) -> typing.Iterator[Problem]:
    """Yield the problem of a column that a key reads, if any.

    The column may be secret, or no row may have it.

    :param secret: the secret columns, which keys must not read.
    :param known: all columns; None if they are unknown.
    """
    if column in secret:
        yield Problem(
            '/key',
            _('reads the secret column "%s"; keys are shown')
            % suggestion.shorten(column),
        )
    elif known is not None and column not in known:
        yield suggestion.unknown_problem('/key', _('column'), column, known)


def compile_row_key(
    key: str,
    secret: typing.Collection[str],
    known: typing.Collection[str] | None = None,
) -> KeyTemplate:
    """Compile the ``key`` of a table to a template that reads a row.

    The row is the root ``item`` of the template: ``{rack}-{unit}`` reads
    ``{item.rack}`` and ``{item.unit}``.

    :param key: a column or a text with columns, e.g. ``serial`` or
        ``{rack}-{unit}``.
    :param secret: the secret columns, which the key must not read.
    :param known: all columns; None if they are unknown.
    :raises: :class:`.exceptions.InvalidTables` if the key reads no column, a
        secret column or an unknown column, or if it cannot be parsed.
    """
    pieces = list(_parse_key(key))
    fields = [
        piece for piece in pieces if isinstance(piece, interpolation.Field)
    ]
    problems: list[Problem] = []
    if not fields:
        problems.append(Problem('/key', _('reads no column')))
    for field in fields:
        if field.root is None:
            # The text is not a path, e.g. {rack unit} with a blank.
            problems.append(
                Problem(
                    '/key',
                    _('{%s} is no path over a column')
                    % suggestion.shorten(field.text),
                )
            )
    for field in fields:
        if field.root is not None:
            # The row is the root, and the column is the first step.
            problems += _check_column(field.steps[0], secret, known)
    if problems:
        raise exceptions.InvalidTables(problems)
    try:
        return KeyTemplate(pieces)
    except exceptions.OperationError as exc:
        raise exceptions.InvalidTables([Problem('/key', str(exc))]) from exc


def find_columns(key: str) -> set[str]:
    """Return the columns that a key reads: ``rack`` of ``{rack | upper}-1``.

    :param key: the ``key`` of a table, valid for :func:`compile_row_key`.
    """
    columns = set()
    for piece in _parse_key(key):
        if isinstance(piece, interpolation.Field) and piece.steps:
            columns.add(piece.steps[0])
    return columns


def _parse_key(key: str) -> typing.Iterator[str | interpolation.Field]:
    """Yield the pieces of a row's key: literals, and fields over ``item``.

    ``r-{rack}`` gives ``r-`` and the field ``{item.rack}``. ``rack`` gives
    only the field. So a column is always the first step of its field.
    """
    if '{' not in key and '}' not in key:
        # It is a single column, whose name may contain any other character.
        yield interpolation.Field(key, interpolation.ITEM, (key,))
        return
    for piece in interpolation.parse(key):
        if isinstance(piece, interpolation.Field) and piece.root is not None:
            # In {rack}, the column was parsed as the root.
            yield piece._replace(
                root=interpolation.ITEM, steps=(piece.root, *piece.steps)
            )
        else:
            yield piece


def as_key_text(value: typing.Any) -> str | None:
    """Return the text of a key: 7 as ``7``, true as ``true``.

    :returns: None for a value that is missing, null or empty.
    :raises: :class:`.exceptions.OperationError` for a list or a mapping.
    """
    if value is None or value == '' or rendering.is_missing(value):
        return None
    if value is True:
        # Write booleans as JSON does, not as Python does.
        return 'true'
    if value is False:
        return 'false'
    if isinstance(value, str | int | float):
        return str(value)
    raise exceptions.OperationError(
        _('a key is text or a number, not %s')
        % suggestion.describe_type(value)
    )
