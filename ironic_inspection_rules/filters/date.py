# SPDX-License-Identifier: Apache-2.0

"""Filters on dates."""

import datetime
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.filters import text
from ironic_inspection_rules.i18n import _

_TIME = re.compile(r'%[HIMSfpXcz]')
_SOME_DAY = datetime.datetime(2023, 5, 17, 10, tzinfo=datetime.UTC)
_LONGEST = 100
"""Characters of a date."""


class Date(plugin.Filter):
    """``date``: a date that is written in a format, as ISO 8601 text.

    The format is that of Python's ``strptime``; where it has a time, the
    text has.
    """

    # Python makes a regular expression of it.
    LITERAL = frozenset({'format'})

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        written = arguments['format']
        try:
            datetime.datetime.strptime(_SOME_DAY.strftime(written), written)
        except (ValueError, re.error):
            yield 'format', _('"%s" is no format of a date') % written

    def __call__(self, value: typing.Any, format: str) -> str:
        if len(text.read(value, or_number=False)) > _LONGEST:
            raise exceptions.OperationError(
                _('the text is longer than %d characters') % _LONGEST)
        read = datetime.datetime.strptime(value, format)
        return (read if _TIME.search(format.replace('%%', ''))
                else read.date()).isoformat()
