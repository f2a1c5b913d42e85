# SPDX-License-Identifier: Apache-2.0

"""Caches of functions of a text, for short texts only; equal texts.

Machines and users choose the texts, so a cache needs a limit in bytes, not
only in entries.
"""

import functools
import typing

_Result = typing.TypeVar('_Result')
_Function = typing.Callable[[str], _Result]


def for_short(maxsize: int, longest: int
              ) -> typing.Callable[[_Function[_Result]], _Function[_Result]]:
    """Build a decorator that caches the results of a function of a text.

    :param maxsize: maximum number of texts in the cache.
    :param longest: maximum length of a text in the cache, in characters.
    """
    def decorate(function: _Function[_Result]) -> _Function[_Result]:
        cached = functools.lru_cache(maxsize=maxsize)(function)

        @functools.wraps(function)
        def call(text: str) -> _Result:
            if len(text) <= longest:
                return cached(text)
            return function(text)

        return call

    return decorate


class EqualTexts:
    """Finds texts that are equal, of which one is kept instead of many.

    In a table many values, such as racks and models, are in thousands of rows.
    Of each of some hash values it knows the text that had it last.
    """

    _PLACES = 4096

    def __init__(self) -> None:
        self._texts = [''] * self._PLACES

    def mapping(self, items: typing.Iterable[tuple[str, typing.Any]]
                ) -> dict[str, typing.Any]:
        """Return a mapping in which known texts take the place of equal ones.

        :param items: the names and values; only values are replaced.
        """
        texts = self._texts
        made = {}
        for name, value in items:
            # Without a call for each of a million values.
            if value.__class__ is str:
                place = hash(value) % self._PLACES
                if texts[place] == value:
                    value = texts[place]
                else:
                    texts[place] = value
            made[name] = value
        return made
