# SPDX-License-Identifier: Apache-2.0

"""Caches by text, for short texts only.

Machines and users choose texts, so what a cache holds needs a bound in bytes,
not only in entries.
"""

import functools
import typing

_Known = typing.TypeVar('_Known')


def for_short(maxsize: int, longest: int) -> typing.Callable[
        [typing.Callable[[str], _Known]], typing.Callable[[str], _Known]]:
    """Build a decorator that keeps the results of a function of a text.

    :param longest: how many characters a text may have for that.
    """
    def decorate(function: typing.Callable[[str], _Known]
                 ) -> typing.Callable[[str], _Known]:
        known = functools.lru_cache(maxsize=maxsize)(function)

        @functools.wraps(function)
        def call(text: str) -> _Known:
            return known(text) if len(text) <= longest else function(text)

        return call

    return decorate
