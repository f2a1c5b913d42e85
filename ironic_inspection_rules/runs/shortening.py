# SPDX-License-Identifier: Apache-2.0

"""Shortens values and messages that are too long to be kept."""

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
    :param path: the path of the value; secrets are recognized by their names.
    :returns: the value, or the beginning of its text and an ellipsis if it is
        too long; and its approximate length in characters of JSON, which is 0
        for None, because None stands for no value.
    """
    if value is None:
        return None, 0
    # The digits of a short number need not be counted.
    is_short_number = isinstance(value, float)
    if isinstance(value, int):
        is_short_number = value.bit_length() < _SHORT_NUMBER
    if is_short_number:
        return disclosure.value_at(path, value), _LENGTH_OF_SHORT
    beginning = value
    is_whole = True
    # A text that is not too long is used unchanged.
    if not isinstance(value, str) or len(value) > longest:
        clip = _Clip(longest)
        beginning = clip.take(value)
        is_whole = clip.is_whole
    beginning = disclosure.value_at(path, beginning)
    if isinstance(beginning, str):
        text = beginning
    else:
        text = json.dumps(beginning, ensure_ascii=False)
    if is_whole and len(text) <= longest:
        return beginning, len(text)
    return text[:longest] + ELLIPSIS, longest


class _Clip:
    """Takes the beginning of a value without looking at the rest.

    :param room: minimum number of characters of JSON to take, if the value has
        so many.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self.is_whole = True

    def take(self, value: typing.Any) -> typing.Any:
        """Return the beginning of a value, as long as there is room.

        Texts and keys use up as many characters as they have. An item of a
        list or a mapping uses up two for its separator, and any other value
        uses up one, because the shortest number has one digit.
        """
        if isinstance(value, str):
            return self._cut(value)
        if isinstance(value, dict):
            beginning = {}
            for key, item in self._first_items(value.items()):
                # Cut the key before the item, so that it is counted first.
                name = self._cut(key)
                beginning[name] = self.take(item)
            return beginning
        if isinstance(value, list):
            return [self.take(item) for item in self._first_items(value)]
        self._room -= 1
        # Such a number is too long in any case, and Python would refuse to
        # write its digits.
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            self.is_whole = False
            return ELLIPSIS
        return value

    def _cut(self, text: str) -> str:
        """Return the beginning of a text, and use up room for it."""
        # A text that is too long is cut one character behind the room. The
        # room is then negative, so _first_items() yields nothing more.
        cut = text[: max(self._room, 0) + 1]
        self.is_whole = self.is_whole and cut == text
        self._room -= len(cut)
        return cut

    def _first_items(
        self, items: Iterable[typing.Any]
    ) -> Iterator[typing.Any]:
        """Yield items while there is room.

        Every item uses up room for its separator from the next item.
        """
        for item in items:
            if self._room < 0:
                self.is_whole = False
                return
            self._room -= 2
            yield item


def shorten_text(text: str | None) -> str | None:
    """Shorten a message that is too long to be kept."""
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return text[:LONGEST_TEXT] + ELLIPSIS
