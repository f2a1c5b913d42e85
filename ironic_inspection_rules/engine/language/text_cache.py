# SPDX-License-Identifier: Apache-2.0

"""Caches for texts that come again.

Machines and users choose the texts, so a cache needs a limit in bytes, not
only in entries.
"""

import functools
import typing

_Result = typing.TypeVar('_Result')
_Function = typing.Callable[[str], _Result]


def cache_short_texts(
    maxsize: int, longest: int
) -> typing.Callable[[_Function[_Result]], _Function[_Result]]:
    """Build a decorator that caches a function's results for short texts.

    Long texts are computed anew on every call, so that a client cannot fill
    the memory with them.

    :param maxsize: maximum number of texts in the cache.
    :param longest: maximum length of a text in the cache, in characters.
    """

    def decorate(function: _Function[_Result]) -> _Function[_Result]:
        # For long texts, the function itself is called.
        cached = functools.lru_cache(maxsize=maxsize)(function)

        @functools.wraps(function)
        def call(text: str) -> _Result:
            if len(text) <= longest:
                return cached(text)
            return function(text)

        return call

    return decorate


class EqualTexts:
    """Replaces equal texts by one object, so that a table takes less memory.

    Many of its values, such as racks and models, are in thousands of rows.
    A text is remembered at the place that its hash chooses, until another text
    with that place comes: there is no list of all texts, which could grow.
    Names of columns are few, and all remembered.
    """

    _PLACES = 4096

    def __init__(self) -> None:
        self._texts = [''] * self._PLACES
        # Not sys.intern(): Python 3.12 never frees what that returns, and
        # clients choose the names.
        self._names: dict[str, str] = {}

    def build_mapping(
        self, items: typing.Iterable[tuple[str, typing.Any]]
    ) -> dict[str, typing.Any]:
        """Build a mapping whose texts are those of earlier rows, if equal.

        The result equals ``dict(items)`` and takes less memory. Its new texts
        are remembered for later rows.

        :param items: pairs of the name of a column and a value.
        """
        texts = self._texts
        names = self._names
        mapping = {}
        for name, value in items:
            # No function for this: a table may have a million values.
            if value.__class__ is str:
                place = hash(value) % self._PLACES
                if texts[place] == value:
                    value = texts[place]
                else:
                    texts[place] = value
            mapping[names.setdefault(name, name)] = value
        return mapping
