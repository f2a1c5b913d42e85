# SPDX-License-Identifier: Apache-2.0

"""Anonymous identifiers: another text, number or UUID of the same form."""

import math
import re
import string
import typing
import uuid

from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import digits
from ironic_inspection_rules.kit.machine.anonymity import hardware

# At least eight hexadecimal digits, with letters of one case among them.
_HEX_WORD = re.compile(
    r'(?=.*[0-9])(?=.*[a-fA-F])'
    r'(?:[0-9a-f]{8,}|[0-9A-F]{8,})'
)
_SEVERAL_DIGITS = re.compile('[0-9]{2,}')


class NameAlphabet(typing.NamedTuple):
    """The characters by which a character of a name may be replaced.

    :ivar kind: a name for the alphabet. Words whose characters are of
        different kinds are replaced differently.
    :ivar characters: none for a character that stays as it is.
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
"""Places of the digits for the version and the variant of a UUID."""


class Forms:
    """Replaces identifiers; an identifier always has the same replacement.

    :param key: secret; another key gives other replacements.
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
        # All are made with one key, so that an identifier has the same
        # replacement in every notation and in every file.
        self._digits = digits.Digits(key)
        addresses = address.Addresses(self._digits)
        numbers = hardware.Hardware(self._digits)
        self.address = addresses.replace
        self.quad = addresses.replace_quad
        self.packed_address = addresses.packed
        self.replace_octets = numbers.replace_octets
        self.wwn = numbers.wwn
        self.opaque = self._digits.opaque

    def uuid(self, text: str) -> str:
        """Replace a UUID by another UUID of its version and notation.

        The first digit of the third group says the version, and stays, as does
        the digit of the variant. A UUID of only 0 or only F identifies nothing
        and stays, too.

        :param text: 32 hexadecimal digits, perhaps with dashes; the caller
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
            # The digit that was left out goes back to its place.
            before = replacement[:place]
            replacement = before + number[place] + replacement[place:]
        if '-' in text:
            replacement = str(uuid.UUID(replacement))
        return digits.in_same_case(text, replacement)

    def text(self, text: str) -> str:
        """Replace letters by letters and digits by digits.

        For example, ``CZ3409XK7Q`` may become ``AB1287YZ5M``. Eight or more
        hexadecimal digits with letters among them become as many other ones.
        Parts between dots are replaced separately: a host has the same name
        with its domain and without it. A number gets no new leading zeros, so
        that it may also be an integer.
        """
        return '.'.join(map(self._replace_word, text.split('.')))

    def integer(self, number: int) -> int:
        """Replace a number, as :meth:`text` replaces its digits."""
        return int(self.text(str(number)))

    def real(self, number: float) -> float:
        """Replace the digits of a number with a fraction; its exponent stays.

        For example, ``1.5e+20`` may become ``7.2e+20``.

        :param number: neither NaN nor infinite.
        :returns: 0 if the other digits make a number that no float can hold.
        """
        digits_and_dot, letter, exponent = repr(number).partition('e')
        replacement = float(self.text(digits_and_dot) + letter + exponent)
        # 1.7e+308 may become 9.4e+308, which is too large for a float.
        if math.isinf(replacement):
            return 0.0
        return replacement

    def _replace_word(self, word: str) -> str:
        """Replace the letters and digits of a word, as its alphabets say.

        The word is taken for a number, of which every character is a digit. In
        "db-7" these digits are 3 and 1 of 26 letters, and 7 of ten digits; the
        dash is none. They are shifted, and written as characters again. Two
        words never get the same replacement.
        """
        alphabets = _find_alphabets(word)
        numbers = []
        bases = []
        for character, alphabet in zip(word, alphabets, strict=True):
            if alphabet.characters:
                numbers.append(_place_in_alphabet(character, alphabet))
                bases.append(len(alphabet.characters))
        # Equal numbers of different alphabets are shifted differently.
        kinds = ''.join(alphabet.kind for alphabet in alphabets)
        shifted = iter(self._digits.shift(tuple(numbers), tuple(bases), kinds))
        replaced = []
        for character, alphabet in zip(word, alphabets, strict=True):
            if alphabet.characters:
                character = alphabet.characters[next(shifted)]
            replaced.append(character)
        return ''.join(replaced)


def _place_in_alphabet(character: str, alphabet: NameAlphabet) -> int:
    """Return the place of a character in its alphabet: 3 of ``d``."""
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
    # A letter of another script becomes a letter of ASCII, and several may
    # have the same place there. The letter itself is part of the kind, so that
    # words that differ only in it are replaced differently.
    kind = f'"{character}'
    if character.isalnum():
        return NameAlphabet(kind, string.ascii_lowercase)
    return NameAlphabet(kind, '')


def _find_alphabets(word: str) -> list[NameAlphabet]:
    """Return the alphabet of every character of a word.

    A character is replaced by a character of its alphabet; an empty alphabet
    keeps it. Of "b-7" the alphabets are the small letters, an empty one, and
    the digits.
    """
    if _HEX_WORD.fullmatch(word):
        # Such as 4ab2c81f: it becomes another hexadecimal number.
        alphabet = _CAPITAL_HEX_DIGITS
        if word == word.lower():
            alphabet = _SMALL_HEX_DIGITS
        return [alphabet] * len(word)
    alphabets = list(map(_alphabet_of_character, word))
    if _SEVERAL_DIGITS.fullmatch(word):
        # A leading zero stays a zero, and no other first digit becomes one:
        # the number may also be an integer, which has no leading zeros.
        alphabets[0] = _FIRST_DIGITS
        if word[0] == '0':
            alphabets[0] = _ZERO
    return alphabets
