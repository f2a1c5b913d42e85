# SPDX-License-Identifier: Apache-2.0

"""Anonymous identifiers: another text, number or UUID of the same form."""

import re
import string
import uuid

from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import digits
from ironic_inspection_rules.kit.machine.anonymity import hardware

# At least eight hexadecimal digits, with letters of one case among them.
_HEX_WORD = re.compile(
    r'(?=.*[0-9])(?=.*[a-fA-F])'
    r'(?:[0-9a-f]{8,}|[0-9A-F]{8,})'
)
_NUMBER = re.compile('[0-9]{2,}')
_CLASSES = (
    ('d', string.digits),
    ('l', string.ascii_lowercase),
    ('u', string.ascii_uppercase),
)
_HEX = {'h': string.hexdigits[:16], 'H': string.digits + 'ABCDEF'}
_EMPTY_UUIDS = {'0' * 32, 'f' * 32}
_UUID_KEPT = (12, 16)
"""Places of the digits that say the version and the variant of a UUID."""


class Forms:
    """Replaces identifiers, the same one always by the same one.

    :param key: secret; another key gives other replacements.
    :ivar address: replaces an IP address or a network; None if it is none.
    :ivar packed_address: replaces four or sixteen octets.
    :ivar replace_octets: replaces a MAC address or a longer one, in any
        notation.
    :ivar wwn: replaces a WWN, EUI-64 or GUID.
    :ivar opaque: replaces octets of unknown meaning.
    """

    def __init__(self, key: bytes) -> None:
        # All replacements are made with the one key: an identifier has the
        # same one in every form and file.
        self._digits = digits.Digits(key)
        addresses = address.Addresses(self._digits)
        numbers = hardware.Hardware(self._digits)
        self.address = addresses.replace
        self.packed_address = addresses.packed
        self.replace_octets = numbers.replace_octets
        self.wwn = numbers.wwn
        self.opaque = self._digits.opaque

    def uuid(self, text: str) -> str:
        """Replace a UUID by another one of its version and notation.

        A UUID of zeros or of ones only identifies nothing and stays.

        :param text: 32 hexadecimal digits, perhaps with dashes; the caller
            has checked that.
        """
        number = text.replace('-', '')
        if number.lower() in _EMPTY_UUIDS:
            return text
        free_digits = ''.join(
            digit
            for place, digit in enumerate(number)
            if place not in _UUID_KEPT
        )
        replacement = self._digits.hexadecimal(free_digits, 'uuid')
        for place in _UUID_KEPT:
            # The digit that was left out goes back to its place.
            before = replacement[:place]
            replacement = before + number[place] + replacement[place:]
        if '-' in text:
            replacement = str(uuid.UUID(replacement))
        return digits.cased(text, replacement)

    def text(self, text: str) -> str:
        """Replace letters by letters and digits by digits.

        Parts between dots are replaced each on its own: a host has the same
        name with its domain and without it. Numbers have no more zeros in
        front than before, so that they may also be integers.
        """
        return '.'.join(map(self._word, text.split('.')))

    def integer(self, number: int) -> int:
        """Replace a number as its text is replaced."""
        return int(self.text(str(number)))

    def _word(self, word: str) -> str:
        """Replace the characters of a word that have an alphabet.

        The word is taken for a number: a character is a digit, its place in
        its alphabet, and the size of the alphabet is the base of that digit.
        The key shifts these digits, and other words get other replacements.
        """
        kinds, alphabets = _alphabets(word)
        numbers = []
        bases = []
        for character, alphabet in zip(word, alphabets, strict=True):
            if alphabet:
                numbers.append(_number_of(character, alphabet))
                bases.append(len(alphabet))
        shifted = iter(
            self._digits.shift(tuple(numbers), tuple(bases), ''.join(kinds))
        )
        replaced = []
        for character, alphabet in zip(word, alphabets, strict=True):
            if alphabet:
                replaced.append(alphabet[next(shifted)])
            else:
                replaced.append(character)
        return ''.join(replaced)


def _number_of(character: str, alphabet: str) -> int:
    """Return the place of a character in an alphabet that may replace it."""
    if character in alphabet:
        return alphabet.index(character)
    # A letter of another script has none, but any will do.
    return ord(character) % len(alphabet)


def _class_of(character: str) -> tuple[str, str]:
    """Return the kind of a character, and the alphabet that replaces it.

    The alphabet is empty for a character that stays as it is.
    """
    for kind, alphabet in _CLASSES:
        if character in alphabet:
            return kind, alphabet
    # Letters of other scripts become letters of ASCII. Two words that differ
    # only in such a letter must not become the same: so the letter itself is
    # part of the kind, by which words are replaced differently.
    kind = f'"{character}'
    if character.isalnum():
        return kind, string.ascii_lowercase
    return kind, ''


def _alphabets(word: str) -> tuple[list[str], list[str]]:
    """Return for every character of a word its kind and its alphabet.

    A character is replaced by one of its alphabet, and kept if that is empty.
    The kinds are part of the key of the replacement, so that words of
    different kinds are replaced differently.
    """
    if _HEX_WORD.fullmatch(word):
        kind = 'H'
        if word == word.lower():
            kind = 'h'
        return [kind] * len(word), [_HEX[kind]] * len(word)
    kinds = []
    alphabets = []
    for character in word:
        kind, alphabet = _class_of(character)
        kinds.append(kind)
        alphabets.append(alphabet)
    if _NUMBER.fullmatch(word):
        # The first digit is a zero if and only if it was one.
        if word[0] == '0':
            kinds[0] = 'zero'
            alphabets[0] = '0'
        else:
            kinds[0] = 'number'
            alphabets[0] = string.digits[1:]
    return kinds, alphabets
