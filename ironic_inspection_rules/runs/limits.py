# SPDX-License-Identifier: Apache-2.0

"""How much of a run is kept: machines that nobody knows fill these records."""

import collections.abc
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

Mask = typing.Callable[[typing.Any], typing.Any]

_SHORT_NUMBER = 64
"""Bits of a number whose digits need not be counted."""


def shorten(value: typing.Any, longest: int = LONGEST_VALUE,
            mask: Mask = lambda value: value) -> tuple[typing.Any, int]:
    """Cut a value that is too long to be kept.

    :param value: plain JSON data.
    :param longest: characters of JSON that it may have.
    :param mask: masks the secrets in it.
    :returns: the value, or text that shows its beginning; and how many
        characters it takes.
    """
    if value is None or isinstance(value, float) or (
            isinstance(value, int) and value.bit_length() < _SHORT_NUMBER):
        return mask(value), 8
    clip = _Clip(longest)
    beginning = mask(clip.take(value))
    text = beginning if isinstance(beginning, str) else json.dumps(
        beginning, ensure_ascii=False)
    if clip.is_whole and len(text) <= longest:
        return beginning, len(text)
    return text[:longest] + ELLIPSIS, longest


class _Clip:
    """The beginning of a value: no more of it is looked at.

    :param room: characters of JSON that it has at least, if there are so
        many.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self.is_whole = True

    def take(self, value: typing.Any) -> typing.Any:
        """Return the beginning of a value, which is about as long."""
        if isinstance(value, str):
            return self._cut(value)
        if isinstance(value, dict):
            return {self._cut(key): self.take(item)
                    for key, item in self._begin(value.items())}
        if isinstance(value, list):
            return [self.take(item) for item in self._begin(value)]
        self._room -= 1
        if isinstance(value, int) and value.bit_length() > 4 * LONGEST_VALUE:
            self.is_whole = False
            return ELLIPSIS
        return value

    def _cut(self, text: str) -> str:
        cut = text[:max(self._room, 0) + 1]
        self.is_whole = self.is_whole and cut == text
        self._room -= len(cut)
        return cut

    def _begin(self, items: collections.abc.Iterable[typing.Any]
               ) -> collections.abc.Iterator[typing.Any]:
        for item in items:
            if self._room < 0:
                self.is_whole = False
                return
            self._room -= 2
            yield item


def shorten_text(text: str | None) -> str | None:
    """Cut a message that is too long to be kept."""
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return text[:LONGEST_TEXT] + ELLIPSIS
