# SPDX-License-Identifier: Apache-2.0

"""The types of the columns of a table."""

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


def convert(text: str, kind: str | None) -> typing.Any:
    """Convert a cell of CSV, which is text, to the type of its column.

    Blanks around a cell count for text only. A boolean may be a word such as
    ``yes``, or 1 or 0; an integer has up to 30 digits.

    :param kind: the type of the column; None for text.
    :returns: None for an empty cell, unless its column is text. In a column of
        numbers, a whole number is an int.
    :raises: :class:`.exceptions.OperationError` if it is not of the type.
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
            pass
    raise exceptions.OperationError(wrong_type_message(kind, text))


def has_type(kind: str, value: typing.Any) -> bool:
    """Return whether a value is of a type; null has no type."""
    if isinstance(value, bool):
        # In Python, a bool is an int, too.
        return kind == 'boolean'
    return isinstance(value, _CLASSES[kind])


def wrong_type_message(kind: str, value: typing.Any) -> str:
    """Return the message for a value that is not of a type."""
    return _('must be of type %(kind)s, not %(value)s') % {
        'kind': kind,
        'value': suggestion.quoted(value),
    }
