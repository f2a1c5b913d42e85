# SPDX-License-Identifier: Apache-2.0

"""Serial numbers and addresses that identify parts."""

import re
import typing

LONGEST = 255
"""Maximum length of an identity; further characters are ignored."""

# A MAC address, or a longer one of pairs of digits.
_MAC = re.compile('([0-9a-f]{2}[:-]){5,}[0-9a-f]{2}')
# A prefix that says which kind of number follows.
_PREFIX = re.compile(r'^(0x|naa\.|eui\.|uuid\.|nguid\.)')
_PLACEHOLDERS = frozenset(
    (
        '',
        'none',
        'null',
        'n/a',
        'na',
        'unknown',
        'default string',
        'not specified',
        'not available',
        'not applicable',
        'not provided',
        'no asset tag',
        'serial number',
        'system serial number',
        'chassis serial number',
        'to be filled by o.e.m.',
        'o.e.m.',
        'empty',
        '[empty]',
        'no dimm',
        '0123456789',
        '123456789',
        '1234567890',
    )
)
"""Texts that firmware reports instead of a serial number."""


def normalise(text: str) -> str:
    """Return an identifier in the form in which identifiers are compared.

    ``S3Z8NB0K`` becomes ``s3z8nb0k``. ``00665532`` becomes ``665532``, because
    Ironic's hook extra-hardware converts this serial number to the number
    665532, but dmidecode reports the text. So if Python reads a text as a
    whole number, the number is compared.
    """
    plain = plain_form(text)
    try:
        return str(int(plain))
    except ValueError:
        return plain


def plain_form(text: str) -> str:
    """Return an identifier without differences of case and notation.

    ``0x5002538E`` becomes ``5002538e``, and ``52-54-00-12-34-56`` becomes
    ``52:54:00:12:34:56``.
    """
    text = _PREFIX.sub('', text.strip().lower())
    if _MAC.fullmatch(text):
        text = text.replace('-', ':')
    return text[:LONGEST]


def is_placeholder(text: str) -> bool:
    """Return whether firmware uses a text instead of a serial number.

    For example, "To be filled by O.E.M.".
    """
    return plain_form(text) in _PLACEHOLDERS


def reported_text(value: typing.Any) -> str | None:
    """Return an identifier as the machine reported it: ``S3Z8NB0K``.

    Blanks around it are removed; use :func:`normalise` for comparisons. A
    whole number becomes text. A number with a fraction or an exponent is not
    an identifier, because it is unknown from which text Ironic's hook has
    computed it.

    :param value: any value that a machine has sent.
    :returns: None if the value identifies nothing, e.g. ``Not Specified``.
    """
    if type(value) is int and abs(value) < 10**LONGEST:
        value = str(value)
    if not isinstance(value, str):
        return None
    plain = plain_form(value)
    # If there is no serial number, firmware uses a word instead, or repeats
    # one character, e.g. "0000" and "ff:ff:ff:ff:ff:ff".
    different_characters = set(plain) - set(':-. ')
    if plain in _PLACEHOLDERS or len(different_characters) <= 1:
        return None
    return value.strip()[:LONGEST]
