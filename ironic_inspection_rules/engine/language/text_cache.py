# SPDX-License-Identifier: Apache-2.0

"""Caches of functions of a text, for short texts only.

Machines and users choose the texts, so a cache needs a limit in bytes, not
only in entries.
"""

import functools
import typing

_Known = typing.TypeVar('_Known')


def for_short(maxsize: int, longest: int) -> typing.Callable[
        [typing.Callable[[str], _Known]], typing.Callable[[str], _Known]]:
    """Build a decorator that caches the results of a function of a text.

    :param longest: maximum length of the texts in the cache.
    """
    def decorate(function: typing.Callable[[str], _Known]
                 ) -> typing.Callable[[str], _Known]:
        known = functools.lru_cache(maxsize=maxsize)(function)

        @functools.wraps(function)
        def call(text: str) -> _Known:
            return known(text) if len(text) <= longest else function(text)

        return call

    return decorate
