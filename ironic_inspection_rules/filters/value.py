# SPDX-License-Identifier: Apache-2.0

"""Filters on any value."""

import typing

from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin


class Default(plugin.Filter):
    """``default``: another value where the field does not exist.

    With ``boolean`` also where it is false, zero, null or empty.
    """

    ACCEPTS_MISSING = True

    def __call__(self, value: typing.Any, default: typing.Any = '',
                 boolean: bool = False) -> typing.Any:
        if value is data_path.ABSENT or boolean and not value:
            return default
        return value
