# SPDX-License-Identifier: Apache-2.0

"""Numbers of digits, each replaced by another number of as many digits."""

from collections.abc import Sequence
import functools
import hmac
import string

_CACHED = 65536
_LOOKED_BACK = 128
"""Digits on which the shift of a digit depends: a longer text would take time
by the square of its length."""


class Digits:
    """Replaces numbers, the same one always by the same one.

    Nothing is kept: whoever has the key gets the same replacement again, and
    what differs stays different.

    :param key: secret; another key gives other replacements.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.shift = functools.lru_cache(_CACHED)(self._shift)

    def _shift(
        self,
        digits: Sequence[int],
        bases: Sequence[int],
        domain: str,
        prefix: bool = False,
    ) -> list[int]:
        """Return the digits that replace those of a number.

        Every digit is shifted by a distance that depends on the key and on
        the digits before it. A shift can be undone: two numbers never become
        the same.

        :param digits: of the number, the first one first.
        :param bases: how many values a digit may have, digit by digit.
        :param domain: a name for a sort of numbers. Equal numbers of different
            sorts are replaced differently.
        :param prefix: whether numbers that begin alike still do afterwards, as
            the addresses of one network must.
        """
        key = hmac.digest(self._key, repr((domain, bases)).encode(), 'sha256')
        shifted = [
            _shifted(key, place, digits, bases) for place in range(len(digits))
        ]
        if not prefix:
            # Once more from behind: now the first digits depend on the last
            # ones, and numbers that began alike no longer do.
            shifted.reverse()
            bases_from_behind = bases[::-1]
            second_key = hmac.digest(key, b'back', 'sha256')
            # Not the last digit, which is at place 0 now: a second shift might
            # make it what it was at first.
            for place in range(1, len(shifted)):
                shifted[place] = _shifted(
                    second_key, place, shifted, bases_from_behind
                )
            shifted.reverse()
        return shifted

    def opaque(self, octets: bytes, domain: str = 'octets') -> bytes:
        """Replace octets of unknown meaning by as many others."""
        bases = (256,) * len(octets)
        return bytes(self.shift(octets, bases, domain))

    def hexadecimal(self, digits: str, domain: str) -> str:
        """Replace hexadecimal digits by as many others, in small letters.

        :param domain: a name for the sort of numbers, see :meth:`_shift`.
        """
        numbers = tuple(int(digit, 16) for digit in digits)
        bases = (16,) * len(numbers)
        shifted = self.shift(numbers, bases, domain)
        return ''.join(f'{number:x}' for number in shifted)


def cased(original: str, replacement: str) -> str:
    """Return hexadecimal digits in capitals if the original has them so.

    :param original: the text that is replaced.
    :param replacement: has its digits in small letters. There may be
        separators between them, but no other letters.
    """
    if any(character in 'ABCDEF' for character in original):
        return replacement.upper()
    return replacement


def laid_over(text: str, digits: str) -> str:
    """Return a text with other digits in place of its hexadecimal digits.

    All other characters stay, as the separators of an address or a UUID.

    :param digits: the new digits in their order, as many as the text has.
    """
    remaining = iter(digits)
    characters = []
    for character in text:
        if character in string.hexdigits:
            character = next(remaining)
        characters.append(character)
    return ''.join(characters)


def _shifted(
    key: bytes, place: int, digits: Sequence[int], bases: Sequence[int]
) -> int:
    """Return a digit shifted by a distance made of the key and those before.

    :param place: the index of the digit in ``digits`` and ``bases``.
    :param bases: how many values a digit may have, digit by digit.
    """
    digit = digits[place]
    base = bases[place]
    if base < 2:
        # There is no other digit.
        return digit
    before = bytes(digits[max(0, place - _LOOKED_BACK) : place])
    hashed = hmac.digest(key, place.to_bytes(4) + before, 'sha256')
    distance = int.from_bytes(hashed[:8])
    if place == len(digits) - 1:
        # The last digit becomes another one in any case.
        distance = 1 + distance % (base - 1)
    return (digit + distance) % base
