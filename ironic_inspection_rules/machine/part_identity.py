# SPDX-License-Identifier: Apache-2.0

"""Serial numbers and addresses that identify parts.

Sources write the same identifier differently, e.g. ``00665532`` and
``665532``, or ``52-54-00-12-34-56`` and ``52:54:00:12:34:56``. So identifiers
are normalized before they are compared. A placeholder is a text that firmware
reports although the part has no serial number, e.g. ``Not Specified``.
"""

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

    ``S3Z8NB0K`` becomes ``s3z8nb0k``, and ``00665532`` becomes ``665532``.

    Leading zeros are removed because Ironic's hook extra-hardware converts the
    serial number ``00665532`` to the number 665532, while dmidecode reports
    the text.
    """
    plain = plain_form(text)
    # The hook converts a text if int() accepts it, so do the same.
    try:
        return str(int(plain))
    except ValueError:
        return plain


def plain_form(text: str) -> str:
    """Return an identifier in lower case and in one notation.

    ``0x5002538E`` becomes ``5002538e``, and ``52-54-00-12-34-56`` becomes
    ``52:54:00:12:34:56``. At most :data:`LONGEST` characters are kept.
    """
    text = _PREFIX.sub('', text.strip().lower())
    if _MAC.fullmatch(text):
        text = text.replace('-', ':')
    return text[:LONGEST]


def is_placeholder(text: str) -> bool:
    """Return whether a text is a known placeholder, "To be filled by O.E.M.".

    One repeated character, such as ``0000``, is no known placeholder: the keys
    of a table may look so. :func:`reported_text` refuses both.
    """
    return plain_form(text) in _PLACEHOLDERS


def reported_text(value: typing.Any) -> str | None:
    """Return an identifier as the machine reported it, or None.

    - A text is returned without blanks around it, e.g. ``S3Z8NB0K``. Use
      :func:`normalise` to compare it.
    - A placeholder such as ``Not Specified`` or ``0000`` is None.
    - A whole number becomes text, because Ironic's hook extra-hardware
      converts serial numbers that consist of digits to numbers.
    - Any other value is None. A number such as 1.5e7 is not an identifier,
      because it is unknown from which text the hook computed it.

    :param value: any value that a machine has sent.
    """
    # str() refuses numbers with thousands of digits, so a number has the same
    # maximum length as a text.
    if type(value) is int and abs(value) < 10**LONGEST:
        value = str(value)
    if not isinstance(value, str):
        return None
    plain = plain_form(value)
    # If there is no serial number, firmware uses a word instead, or repeats
    # one character, e.g. "0000" and "ff:ff:ff:ff:ff:ff".
    different_characters = set(plain) - set(':-. ')
    repeats_one_character = len(different_characters) <= 1
    if plain in _PLACEHOLDERS or repeats_one_character:
        return None
    return value.strip()[:LONGEST]
