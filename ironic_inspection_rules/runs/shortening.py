# SPDX-License-Identifier: Apache-2.0

"""Shortens values and messages that are too long to be kept.

A shortened value is the beginning of its JSON text and an ellipsis: a list of
1000 disks becomes the text ``[{"name": "sda", "size": 480103981056}, {"na…``.
Unknown machines choose how large values are, so a value is shortened without
encoding all of it.
"""

from collections.abc import Iterable, Iterator
import json
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure

LONGEST_VALUE = 4096
"""Maximum length of one value, in characters of JSON."""

LONGEST_TEXT = 1024
"""Maximum length of one message, in characters."""

ELLIPSIS = '…'

_SHORT_NUMBER = 64
"""Maximum size in bits of a number whose digits need not be counted."""

_MOST_BITS = 14_000
"""Maximum size in bits of a number that is written in digits.

Such a number has up to 4215 digits. Python refuses to write more than 4300.
"""

_LENGTH_OF_SHORT = 8
"""Assumed length of a short value such as a number, in characters."""


def shorten(
    value: typing.Any, longest: int = LONGEST_VALUE, path: data_path.Path = ()
) -> tuple[typing.Any, int]:
    """Mask the secrets of a value, and shorten it if it is too long to keep.

    :param value: plain JSON data.
    :param longest: maximum length of the value, in characters of JSON.
    :param path: the path of the value, e.g. ``('extra', 'password')``. Secrets
        are recognized by the names in it.
    :returns: two items: the value, or a shortened text if it is too long; and
        its approximate length in characters of JSON.
    """
    if value is None:
        # None stands for no value, which has no length.
        return None, 0
    is_short_number = isinstance(value, float)
    if isinstance(value, int):
        is_short_number = value.bit_length() < _SHORT_NUMBER
    if is_short_number:
        # Do not spend time on counting its digits.
        return disclosure.mask_value_at(path, value), _LENGTH_OF_SHORT
    # Drop the rest of a value that is clearly too long, before the slower
    # steps below.
    beginning = value
    is_complete = True
    is_short_text = isinstance(value, str) and len(value) <= longest
    if not is_short_text:
        clip = _Clip(longest)
        beginning = clip.take(value)
        is_complete = clip.is_complete
    beginning = disclosure.mask_value_at(path, beginning)
    # Now that secrets are masked, cut the text at its exact length.
    if isinstance(beginning, str):
        text = beginning
    else:
        text = json.dumps(beginning, ensure_ascii=False)
    if is_complete and len(text) <= longest:
        return beginning, len(text)
    return text[:longest] + ELLIPSIS, longest


class _Clip:
    """Takes the beginning of a value without looking at the rest.

    It counts how many characters of JSON may still be taken. A part is counted
    with the fewest characters that it can have, so the beginning is never too
    short.

    :param characters: how many characters to take at least, if the value has
        so many.
    :ivar is_complete: whether the whole value was taken.
    """

    def __init__(self, characters: int) -> None:
        self._characters_left = characters
        self.is_complete = True

    def take(self, value: typing.Any) -> typing.Any:
        """Return the beginning of a value, and count its characters.

        - Of a text, the first characters are taken.
        - Of a mapping or a list, the first items are taken, and of the last
          one of them only the beginning.
        - Any other value counts as one character, because the shortest number
          has one digit.
        """
        if isinstance(value, str):
            return self._take_text(value)
        if isinstance(value, dict):
            beginning = {}
            for key, item in self._take_items(value.items()):
                # Take the key before the item, because it comes first in JSON.
                name = self._take_text(key)
                beginning[name] = self.take(item)
            return beginning
        if isinstance(value, list):
            return [self.take(item) for item in self._take_items(value)]
        self._characters_left -= 1
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            # This number has more digits than may be kept, and Python would
            # refuse to write them.
            self.is_complete = False
            return ELLIPSIS
        return value

    def _take_text(self, text: str) -> str:
        """Return the beginning of a text, and count its characters.

        If the text is too long, one character too much is taken. The number of
        characters left is then negative, so :meth:`_take_items` takes nothing
        more.
        """
        beginning = text[: max(self._characters_left, 0) + 1]
        if beginning != text:
            self.is_complete = False
        self._characters_left -= len(beginning)
        return beginning

    def _take_items(self, items: Iterable[typing.Any]) -> Iterator[typing.Any]:
        """Yield items until too many characters were taken.

        The caller counts the characters of every item. The comma and the space
        behind it, which are 2 characters, are counted here.
        """
        for item in items:
            if self._characters_left < 0:
                self.is_complete = False
                return
            self._characters_left -= 2
            yield item


def shorten_text(text: str | None) -> str | None:
    """Shorten a message that is too long to be kept; None stays None."""
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return text[:LONGEST_TEXT] + ELLIPSIS
