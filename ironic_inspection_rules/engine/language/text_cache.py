# SPDX-License-Identifier: Apache-2.0

"""Less memory and time for texts that come again.

Machines and users choose the texts, so a cache needs a limit in bytes, not
only in entries.
"""

import functools
import typing

_Result = typing.TypeVar('_Result')
_Function = typing.Callable[[str], _Result]


def for_short(
    maxsize: int, longest: int
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

    def mapping(
        self, items: typing.Iterable[tuple[str, typing.Any]]
    ) -> dict[str, typing.Any]:
        """Build a mapping whose texts are those remembered, where equal.

        :param items: the names and values; all mappings share their names.
        """
        texts = self._texts
        names = self._names
        mapping = {}
        for name, value in items:
            # Here, not in a function: a table may have a million values.
            if value.__class__ is str:
                place = hash(value) % self._PLACES
                if texts[place] == value:
                    value = texts[place]
                else:
                    texts[place] = value
            mapping[names.setdefault(name, name)] = value
        return mapping
