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

"""How much of a run is kept: machines that nobody knows fill these records."""

import json
import typing

LONGEST_VALUE = 4096
"""Characters of JSON that one value may have."""

LONGEST_TEXT = 1024
"""Characters that one message may have."""

LONGEST_RECORD = 1 << 20
"""Characters of JSON that all values of one phase may have together."""

MOST_CHANGES = 10_000
"""How many changes of one phase are kept."""

ELLIPSIS = '…'

_SHORT_NUMBER = 64
"""Bits of a number whose digits need not be counted."""


def shorten(value: typing.Any, longest: int = LONGEST_VALUE
            ) -> tuple[typing.Any, int]:
    """Cut a value that is too long to be kept.

    :param value: plain JSON data.
    :param longest: characters of JSON that it may have.
    :returns: the value, or text that shows its beginning; and how many
        characters it takes.
    """
    if value is None or isinstance(value, float) or (
            isinstance(value, int) and value.bit_length() < _SHORT_NUMBER):
        return value, 8
    text = value if isinstance(value, str) else json.dumps(
        value, ensure_ascii=False)
    if len(text) <= longest:
        return value, len(text)
    return text[:longest] + ELLIPSIS, longest


def shorten_text(text: str | None) -> str | None:
    """Cut a message that is too long to be kept."""
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return text[:LONGEST_TEXT] + ELLIPSIS
