# SPDX-License-Identifier: Apache-2.0

"""Converts and checks values by the types of table columns."""

import math
import re
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

TYPES = ('integer', 'number', 'boolean', 'string')

_INTEGER = re.compile(r'[+-]?[0-9]{1,30}')
_NUMBER = re.compile(r'[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')

_CLASSES: typing.Mapping[str, tuple[type, ...]] = {
    'integer': (int,),
    'number': (int, float),
    'boolean': (bool,),
    'string': (str,),
}
"""The Python classes of the values that a column of each type may have."""


def convert(text: str, kind: str | None) -> typing.Any:
    """Convert the text of a CSV cell to the type of its column.

    White space around a cell is kept only in text columns. A boolean may be a
    word such as ``yes``, or 1 or 0. An integer has at most 30 digits.

    :param kind: the type of the column; None means text.
    :returns: the value; None for an empty cell, unless the column is text. In
        a ``number`` column, a whole number becomes an int.
    :raises: :class:`.exceptions.OperationError` if the text is not
        of the type.
    """
    if kind is None or kind == 'string':
        return text
    written = text.strip()
    if not written:
        return None
    if kind == 'integer' and _INTEGER.fullmatch(written):
        return int(written)
    if kind == 'number':
        if _INTEGER.fullmatch(written):
            return int(written)
        if _NUMBER.fullmatch(written) and math.isfinite(float(written)):
            return float(written)
    if kind == 'boolean':
        try:
            return strutils.bool_from_string(written, strict=True)
        except ValueError:
            # The error below is the same for all types.
            pass
    raise exceptions.OperationError(wrong_type_message(kind, text))


def has_type(kind: str, value: typing.Any) -> bool:
    """Return whether a value is of a type; None is of no type."""
    if isinstance(value, bool):
        # In Python, bool is a subclass of int.
        return kind == 'boolean'
    return isinstance(value, _CLASSES[kind])


def wrong_type_message(kind: str, value: typing.Any) -> str:
    """Return the message for a value that is not of a type."""
    return _('must be of type %(kind)s, not %(value)s') % {
        'kind': kind,
        'value': suggestion.quote(value),
    }
