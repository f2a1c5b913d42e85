# SPDX-License-Identifier: Apache-2.0

"""Serial numbers and addresses that identify parts."""

import re
import typing

LONGEST = 255
"""Characters of an identity that are looked at."""

# A MAC address, or a longer one of pairs of digits.
_MAC = re.compile('([0-9a-f]{2}[:-]){5,}[0-9a-f]{2}')
# What says which kind of number follows.
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
"""What firmware reports in place of a serial number."""


def normalise(text: str) -> str:
    """Return an identifier in the form in which identifiers are compared.

    ``S3Z8NB0K`` becomes ``s3z8nb0k``, and ``00665532`` becomes ``665532``:
    Ironic's hook extra-hardware turns that serial number into the number
    665532, while dmidecode reports the text. So of every text that Python
    reads as a whole number, the number is compared.
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
    """Return whether firmware writes a text in place of a serial number.

    For example, "To be filled by O.E.M.".
    """
    return plain_form(text) in _PLACEHOLDERS


def reported_text(value: typing.Any) -> str | None:
    """Return an identifier as the machine reported it: ``S3Z8NB0K``.

    The text is as the machine has written it, without blanks around it;
    :func:`normalise` makes the form that is compared. A whole number becomes a
    text. A number with a fraction or an exponent is no identifier: nobody
    knows of which text Ironic's hook has made the number.

    :param value: any value that a machine has sent.
    :returns: None if the value identifies nothing, such as ``Not Specified``.
    """
    if type(value) is int and abs(value) < 10**LONGEST:
        value = str(value)
    if not isinstance(value, str):
        return None
    plain = plain_form(value)
    # Firmware without a serial number has a word in its place, or fills it
    # with one character, such as "0000" and "ff:ff:ff:ff:ff:ff".
    different_characters = set(plain) - set(':-. ')
    if plain in _PLACEHOLDERS or len(different_characters) <= 1:
        return None
    return value.strip()[:LONGEST]
