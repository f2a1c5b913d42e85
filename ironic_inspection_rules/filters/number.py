# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Filters on numbers."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.i18n import _

Number = int | float

_MOST_DIGITS = 5000
"""More than a number has that Python reads from text."""

_LONGEST = 100
"""Characters of a number that is written as text."""


def read(value: typing.Any) -> Number:
    """Return the number that a value is.

    :raises: :class:`.exceptions.OperationError` where it is none.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise exceptions.OperationError(
        _('takes a number, not a value of type %s') % type(value).__name__)


def _read_text(value: typing.Any) -> typing.Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        raise exceptions.OperationError(
            _('the text is longer than %d characters') % _LONGEST)
    return value if isinstance(value, str | bool) else read(value)


class Int(plugin.Filter):
    """``int``: a whole number, cut off, also of text."""

    def __call__(self, value: typing.Any) -> int:
        value = _read_text(value)
        try:
            return int(value)
        except ValueError:
            return int(float(value))


class Float(plugin.Filter):
    """``float``: a number with a fraction, also of text."""

    def __call__(self, value: typing.Any) -> float:
        return float(_read_text(value))


class Round(plugin.Filter):
    """``round``: rounded to so many digits, of the type it was."""

    def __call__(self, value: typing.Any, precision: int = 0) -> Number:
        # Further to the left of the point every number is zero.
        return round(read(value), max(precision, -_MOST_DIGITS))


class Abs(plugin.Filter):
    """``abs``: without its sign."""

    def __call__(self, value: typing.Any) -> Number:
        return abs(read(value))
