# SPDX-License-Identifier: Apache-2.0

"""Caches of functions of a text, for short texts only.

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
