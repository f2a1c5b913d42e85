# SPDX-License-Identifier: Apache-2.0

"""Provides caches for texts that occur repeatedly.

Machines and users choose the texts, so the size of a cache must be limited in
bytes, and not only in entries.
"""

import functools
import typing

_Result = typing.TypeVar('_Result')
_Function = typing.Callable[[str], _Result]


def cache_short_texts(
    maxsize: int, longest: int
) -> typing.Callable[[_Function[_Result]], _Function[_Result]]:
    """Build a decorator that caches a function's results for short texts.

    The results for long texts are not cached, so that a client cannot fill
    the memory with them.

    :param maxsize: maximum number of texts in the cache.
    :param longest: maximum length of a text in the cache, in characters.
    """

    def decorate(function: _Function[_Result]) -> _Function[_Result]:
        """Return the function with a cache for its results."""
        # Long texts bypass the cache and call the function directly.
        cached = functools.lru_cache(maxsize=maxsize)(function)

        @functools.wraps(function)
        def call(text: str) -> _Result:
            if len(text) <= longest:
                return cached(text)
            return function(text)

        return call

    return decorate


class TextInterner:
    """Replaces equal texts with one object, so that a table takes less memory.

    Many values of a table, such as racks and models, occur in thousands of
    rows. The hash of a text selects the slot where the text is remembered,
    until another text with the same slot replaces it. The number of slots is
    fixed because a list of all texts could grow without limit. All names of
    columns are remembered, because there are only a few.
    """

    _SLOTS = 4096

    def __init__(self) -> None:
        self._texts = [''] * self._SLOTS
        # sys.intern() is not used, because Python 3.12 never frees interned
        # texts and clients choose the names.
        self._names: dict[str, str] = {}

    def build_mapping(
        self, items: typing.Iterable[tuple[str, typing.Any]]
    ) -> dict[str, typing.Any]:
        """Build a mapping that reuses equal texts of earlier rows.

        The result equals ``dict(items)`` but takes less memory. Its new texts
        are remembered for later rows.

        :param items: pairs of the name of a column and a value.
        """
        texts = self._texts
        names = self._names
        mapping = {}
        for name, value in items:
            # This is inlined for speed, because a table may have a million
            # values.
            if value.__class__ is str:
                slot = hash(value) % self._SLOTS
                if texts[slot] == value:
                    value = texts[slot]
                else:
                    texts[slot] = value
            mapping[names.setdefault(name, name)] = value
        return mapping
