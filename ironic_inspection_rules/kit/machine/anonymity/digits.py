# SPDX-License-Identifier: Apache-2.0

"""Replace numbers by other numbers with the same number of digits.

A number is given as its digits and their bases. The base of a digit is the
number of its possible values: 10 for a decimal digit, 26 for a small letter,
256 for an octet. A digit is shifted by a distance: in the base 10, the digit 7
shifted by 5 becomes 2.
"""

from collections.abc import Sequence
import functools
import hmac
import string

_MAX_CACHED_NUMBERS = 65536
_DIGITS_THAT_DECIDE = 128
"""Number of digits that determine the shift of a digit. If all digits did, the
time for a text would grow with the square of its length."""


class DigitReplacer:
    """Replaces numbers; a number always has the same replacement.

    Nothing is stored: the same key gives the same replacements again. Two
    numbers of one sort and with the same bases never get the same replacement.

    :param key: a secret; a different key gives different replacements.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.shift = functools.lru_cache(_MAX_CACHED_NUMBERS)(self._shift)

    def _shift(
        self,
        digits: Sequence[int],
        bases: Sequence[int],
        domain: str,
        keeps_prefixes: bool = False,
    ) -> list[int]:
        """Shift the digits of a number by distances that depend on the key.

        For example, the digits 1, 7, 3 may become 8, 0, 5. The first pass
        shifts every digit by a distance that depends on the digits before it.
        The second pass shifts it by a distance that depends on the digits
        after it. With the key, every shift can be undone, so two numbers never
        become the same. The last digit always changes if it has two or more
        possible values.

        :param digits: the digits of the number, from left to right.
        :param bases: the number of possible values of every digit: 10 for a
            decimal digit, 16 for a hexadecimal one.
        :param domain: a name for a sort of numbers. Equal numbers of different
            sorts are replaced differently.
        :param keeps_prefixes: whether to skip the second pass, so that numbers
            which begin alike still do. This is needed for addresses of one
            network.
        """
        key = hmac.digest(self._key, repr((domain, bases)).encode(), 'sha256')
        shifted = [
            _shift_digit(key, place, digits, bases)
            for place in range(len(digits))
        ]
        if not keeps_prefixes:
            # In the second pass, the first digits are made to depend on the
            # last digits.
            shifted.reverse()
            bases_from_behind = bases[::-1]
            second_key = hmac.digest(key, b'back', 'sha256')
            # Place 0 is skipped. It is the last digit now, which must change,
            # and a second shift might undo the first one.
            for place in range(1, len(shifted)):
                shifted[place] = _shift_digit(
                    second_key, place, shifted, bases_from_behind
                )
            shifted.reverse()
        return shifted

    def opaque(self, octets: bytes, domain: str = 'octets') -> bytes:
        """Replace octets of unknown meaning by as many other octets."""
        bases = (256,) * len(octets)
        return bytes(self.shift(octets, bases, domain))

    def hexadecimal(self, digits: str, domain: str) -> str:
        """Replace hexadecimal digits by others, which are in lowercase.

        :param domain: a name for the sort of numbers, see :meth:`_shift`.
        """
        numbers = tuple(int(digit, 16) for digit in digits)
        bases = (16,) * len(numbers)
        shifted = self.shift(numbers, bases, domain)
        return ''.join(f'{number:x}' for number in shifted)


def in_same_case(original: str, replacement: str) -> str:
    """Write hexadecimal digits in capitals if the original has capitals.

    For example, ``52:54:0A`` and ``0a:1b:2c`` give ``0A:1B:2C``.

    :param original: the text that is replaced.
    :param replacement: digits in lowercase, which may have separators.
    """
    if any(character in 'ABCDEF' for character in original):
        return replacement.upper()
    return replacement


def lay_over(text: str, digits: str) -> str:
    """Replace the hexadecimal digits of a text, and keep its separators.

    For example, ``52:54:00`` and ``0a1b2c`` give ``0a:1b:2c``.

    :param digits: the new digits; the text must have the same number of
        digits.
    """
    remaining = iter(digits)
    characters = []
    for character in text:
        if character in string.hexdigits:
            character = next(remaining)
        characters.append(character)
    return ''.join(characters)


def _shift_digit(
    key: bytes, place: int, digits: Sequence[int], bases: Sequence[int]
) -> int:
    """Shift a digit by a distance that is made of the key and earlier digits.

    For example, in the base 10 and with a distance of 5, the digit 7 becomes
    2. With the key, the shifts can be undone from the first digit on, because
    the digits before a digit are known again when it is shifted back.

    :param place: the index of the digit in ``digits`` and ``bases``.
    :param bases: the number of possible values of every digit; a digit with
        only one possible value stays.
    """
    digit = digits[place]
    base = bases[place]
    if base < 2:
        # The digit has only one value.
        return digit
    before = bytes(digits[max(0, place - _DIGITS_THAT_DECIDE) : place])
    hashed = hmac.digest(key, place.to_bytes(4) + before, 'sha256')
    distance = int.from_bytes(hashed[:8])
    is_last = place == len(digits) - 1
    if is_last:
        # The distance is never 0, so that the last digit always changes.
        distance = 1 + distance % (base - 1)
    return (digit + distance) % base
