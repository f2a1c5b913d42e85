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
    """Return the value of a cell of CSV, which is text, by its column's type.

    Blanks around it count for text only. A boolean may be a word such as
    ``yes``, or 1 or 0; an integer has up to 30 digits.

    :param kind: the type of its column; None is text.
    :returns: null for an empty cell, if its column is not text. A whole
        number is an int also in a column of numbers.
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
    raise exceptions.OperationError(not_of(kind, text))


def is_of(kind: str, value: typing.Any) -> bool:
    """Return whether a value is of a type; null is of none."""
    if isinstance(value, bool):
        # To Python it is an integer.
        return kind == 'boolean'
    return isinstance(value, _CLASSES[kind])


def not_of(kind: str, value: typing.Any) -> str:
    """Return the message for a value that is not of a type."""
    return _('must be of type %(kind)s, not %(value)s') % {
        'kind': kind,
        'value': suggestion.quoted(value),
    }
