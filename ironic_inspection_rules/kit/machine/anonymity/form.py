# SPDX-License-Identifier: Apache-2.0

"""Replace identifiers by another text, number or UUID of the same form.

The form of a name is its length, its separators, and the sort of character at
every place. For example, ``db-7`` may become ``qx-3``: two small
letters, a dash and a digit. An alphabet is the set of characters that may
stand at a place, such as the small letters.
"""

import math
import re
import string
import typing
import uuid

from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import digits
from ironic_inspection_rules.kit.machine.anonymity import hardware

# At least eight hexadecimal digits, some of them letters, which all have the
# same case, and some of them not.
_HEX_WORD = re.compile(
    r'(?=.*[0-9])(?=.*[a-fA-F])'
    r'(?:[0-9a-f]{8,}|[0-9A-F]{8,})'
)
_SEVERAL_DIGITS = re.compile('[0-9]{2,}')


class NameAlphabet(typing.NamedTuple):
    """The characters that may replace a character of a name.

    :ivar kind: a name for the alphabet. Two words are replaced differently if
        the kinds of their characters differ.
    :ivar characters: the characters; empty if the character stays as it is.
    """

    kind: str
    characters: str


_ALPHABETS = (
    NameAlphabet('d', string.digits),
    NameAlphabet('l', string.ascii_lowercase),
    NameAlphabet('u', string.ascii_uppercase),
)
_SMALL_HEX_DIGITS = NameAlphabet('h', string.digits + 'abcdef')
_CAPITAL_HEX_DIGITS = NameAlphabet('H', string.digits + 'ABCDEF')
_FIRST_DIGITS = NameAlphabet('number', string.digits[1:])
_ZERO = NameAlphabet('zero', '0')
_EMPTY_UUIDS = {'0' * 32, 'f' * 32}
_PLACES_KEPT_IN_UUID = (12, 16)
"""Indices of the digits for the version and the variant of a UUID."""


class FormReplacer:
    """Replaces identifiers; an identifier always has the same replacement.

    :param key: a secret; a different key gives different replacements.
    :ivar address: replaces an IP address or a network; returns None for other
        texts.
    :ivar quad: replaces an IPv4 address with dots, dashes or underscores.
    :ivar packed_address: replaces four or sixteen octets.
    :ivar replace_octets: replaces a MAC address or a longer one, in any
        notation.
    :ivar wwn: replaces a WWN, EUI-64 or GUID.
    :ivar opaque: replaces octets of unknown meaning.
    """

    def __init__(self, key: bytes) -> None:
        # All of these use one key, so that an identifier has the same
        # replacement in every notation and in every file.
        self._digits = digits.DigitReplacer(key)
        addresses = address.AddressReplacer(self._digits)
        numbers = hardware.HardwareAddressReplacer(self._digits)
        self.address = addresses.replace
        self.quad = addresses.replace_quad
        self.packed_address = addresses.packed
        self.replace_octets = numbers.replace_octets
        self.wwn = numbers.wwn
        self.opaque = self._digits.opaque

    def uuid(self, text: str) -> str:
        """Replace a UUID by another UUID of its version and notation.

        The first digit of the third group is the version and stays, and so
        does the digit of the variant. A UUID that is only 0 or only F
        identifies nothing and stays, too.

        :param text: 32 hexadecimal digits, which may have dashes. The caller
            has checked that.
        """
        number = text.replace('-', '')
        if number.lower() in _EMPTY_UUIDS:
            return text
        free_digits = ''.join(
            digit
            for place, digit in enumerate(number)
            if place not in _PLACES_KEPT_IN_UUID
        )
        replacement = self._digits.hexadecimal(free_digits, 'uuid')
        for place in _PLACES_KEPT_IN_UUID:
            # The digit that was not replaced is inserted at its place again.
            before = replacement[:place]
            replacement = before + number[place] + replacement[place:]
        if '-' in text:
            replacement = str(uuid.UUID(replacement))
        return digits.in_same_case(text, replacement)

    def text(self, text: str) -> str:
        """Replace letters by letters and digits by digits.

        For example, ``CZ3409XK7Q`` may become ``AB1287YZ5M``. A word of eight
        or more hexadecimal digits, both letters and decimal digits, becomes as
        many other hexadecimal digits. Parts between dots are replaced
        separately, so that a host has the same name with and without its
        domain. A number gets no new leading zeros, because it may also occur
        as an integer.
        """
        return '.'.join(map(self._replace_word, text.split('.')))

    def integer(self, number: int) -> int:
        """Replace a number, in the same way as :meth:`text` does."""
        return int(self.text(str(number)))

    def real(self, number: float) -> float:
        """Replace the digits of a number with a fraction; the exponent stays.

        For example, ``1.5e+20`` may become ``7.2e+20``.

        :param number: must be neither NaN nor infinite.
        :returns: 0 if the new digits give a number that is too large for a
            float.
        """
        digits_and_dot, letter, exponent = repr(number).partition('e')
        replacement = float(self.text(digits_and_dot) + letter + exponent)
        # 1.7e+308 may become 9.4e+308, which is too large for a float.
        if math.isinf(replacement):
            return 0.0
        return replacement

    def _replace_word(self, word: str) -> str:
        """Replace the letters and digits of a word, using its alphabets.

        The word is treated as a number whose digits are its characters. For
        example, the digits of "db-7" are 3 and 1 in the base 26, and 7 in the
        base 10. The dash is not a digit. The digits are shifted, and written
        as characters again. Two different words with the same alphabets never
        get the same replacement.
        """
        alphabets = _find_alphabets(word)
        numbers = []
        bases = []
        for character, alphabet in zip(word, alphabets, strict=True):
            if alphabet.characters:
                numbers.append(_place_in_alphabet(character, alphabet))
                bases.append(len(alphabet.characters))
        # Equal numbers are shifted differently if their alphabets differ.
        kinds = ''.join(alphabet.kind for alphabet in alphabets)
        shifted = iter(self._digits.shift(tuple(numbers), tuple(bases), kinds))
        replaced = []
        for character, alphabet in zip(word, alphabets, strict=True):
            if alphabet.characters:
                character = alphabet.characters[next(shifted)]
            replaced.append(character)
        return ''.join(replaced)


def _place_in_alphabet(character: str, alphabet: NameAlphabet) -> int:
    """Return the place of a character in its alphabet, e.g. 3 for ``d``."""
    if character in alphabet.characters:
        return alphabet.characters.index(character)
    # A letter of another script may become any letter.
    return ord(character) % len(alphabet.characters)


def _alphabet_of_character(character: str) -> NameAlphabet:
    """Return the alphabet that replaces a character of a word.

    For example, the small letters of ``d``, and an empty one of a dash.
    """
    for alphabet in _ALPHABETS:
        if character in alphabet.characters:
            return alphabet
    # A letter of another script becomes an ASCII letter, and several of them
    # may have the same place there. The letter itself is part of the kind, so
    # that words which differ only in this letter are replaced independently.
    kind = f'"{character}'
    if character.isalnum():
        return NameAlphabet(kind, string.ascii_lowercase)
    return NameAlphabet(kind, '')


def _find_alphabets(word: str) -> list[NameAlphabet]:
    """Return the alphabet of every character of a word.

    A character is replaced by a character of its alphabet. An empty alphabet
    keeps the character. For "b-7" the result is the lowercase letters, an
    empty alphabet and the digits.
    """
    if _HEX_WORD.fullmatch(word):
        # A word such as 4ab2c81f becomes another hexadecimal number.
        alphabet = _CAPITAL_HEX_DIGITS
        if word == word.lower():
            alphabet = _SMALL_HEX_DIGITS
        return [alphabet] * len(word)
    alphabets = list(map(_alphabet_of_character, word))
    if _SEVERAL_DIGITS.fullmatch(word):
        # A leading zero stays a zero, and no other first digit becomes one,
        # because the number may also occur as an integer, which has no leading
        # zeros.
        alphabets[0] = _FIRST_DIGITS
        if word[0] == '0':
            alphabets[0] = _ZERO
    return alphabets
