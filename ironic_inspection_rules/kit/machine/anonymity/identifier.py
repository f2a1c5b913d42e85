# SPDX-License-Identifier: Apache-2.0

"""Find identifiers in texts of a machine by their form.

For example, ``52:54:00:12:34:56`` has the form of a MAC address. Four numbers
such as 2.10.0.1 may be an address or a version. The text around them decides,
e.g. "gateway=" or "firmware".
"""

import enum
import re
from typing import NamedTuple

from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import address_search


class Form(enum.Enum):
    """Forms of identifiers.

    ``KEPT``, ``DATE`` and ``VERSION`` are for texts that only look like an
    identifier. They stay, except in a name or in a known identifier.
    """

    KEPT = 'a time or a PCI address'
    DATE = 'a date, perhaps with a time'
    UUID = 'UUID'
    OCTETS = 'MAC address, or a longer one of pairs of digits'
    WWN = 'worldwide unique number'
    EMAIL = 'e-mail address'
    SITE = 'host in a URL'
    QUALIFIED = 'name of iSCSI or NVMe'
    IP = 'IP address'
    QUAD = 'four numbers that are an IPv4 address, or else a version'
    VERSION = 'four numbers after a word that says they are a version'
    DASHED = 'IPv4 address with dashes, after a word such as "ip-"'
    JOINED = 'IPv4 address joined to a word that says so, such as "ip"'
    DASHED_QUAD = 'four numbers with dashes: an IPv4 address, or a version'
    REVERSE = 'IP address from behind, in the name of a reverse zone'


class Identifier(NamedTuple):
    """A place in a text that identifies something, and its form."""

    start: int
    end: int
    form: Form


FORMS_IN_HOST_NAMES = frozenset(
    (Form.DASHED, Form.JOINED, Form.DASHED_QUAD, Form.REVERSE)
)
"""Forms of addresses that are a part of the name of a host or a zone."""

_HEX = '[0-9A-Fa-f]'
_WORD = '[0-9A-Za-z]'
# The order matters because a time or a PCI address also looks like a run of
# digits. The lookarounds make sure that a match is not a part of something
# longer.
_PATTERNS = {
    Form.KEPT: rf'(?<!{_WORD})(?:{_HEX}{{4}}|{_HEX}{{8}}):{_HEX}{{2}}:'
    rf'{_HEX}{{2}}\.[0-7](?!{_WORD}|\.\d)'
    r'|(?<![0-9A-Za-z:.-])\d\d:\d\d:\d\d(?![0-9A-Za-z:-]|\.\d)',
    Form.DATE: r'(?<![0-9A-Za-z-])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?'
    r'(?:[.,]\d+)?Z?)?(?![0-9A-Za-z:-])',
    Form.UUID: rf'(?<!{_HEX}){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}'
    rf'(?!{_HEX})',
    Form.OCTETS: rf'(?<!{_WORD}){_HEX}{{2}}(?:-{_HEX}{{2}}){{5,}}(?!{_WORD})'
    rf'|(?<![0-9A-Za-z.]){_HEX}{{4}}(?:\.{_HEX}{{4}}){{2}}'
    rf'(?!{_WORD}|\.{_HEX}{{4}}(?!{_WORD}))'
    rf'|(?<=\benx){_HEX}{{12}}(?!{_WORD})',
    # After other letters, as in "fw10.1.2.3", it may be a version.
    Form.JOINED: r'(?:(?<=\bip)|(?<=\baddr)|(?<=\bhost)|(?<=\bdhcp))'
    rf'\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!{_WORD}|\.\d)',
    Form.WWN: rf'(?<!{_WORD})(?:0[xX]{_HEX}{{12,}}'
    rf'|(?:naa|eui)\.{_HEX}{{12,}})(?!{_WORD})',
    Form.EMAIL: r'(?<![\w.+-])[\w.+-]+@(?:[A-Za-z0-9-]+\.)+'
    r'[A-Za-z][A-Za-z0-9-]*',
    Form.SITE: r'(?:(?<=://)|(?<=://\*{6}@))(?!\d+(?:\.\d+){3}(?![.\w-]))'
    r'[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*',
    Form.QUALIFIED: rf'(?<!{_WORD})[in]qn\.\d{{4}}-\d\d\.\S+',
    # Four or more numbers. Only exactly four are an address. The first may be
    # the year of a time: 2026_11_25_10_30.
    Form.DASHED_QUAD: rf'(?<!{_WORD})\d{{1,4}}'
    rf'(?:(?:-\d{{1,3}}){{3,}}|(?:_\d{{1,3}}){{3,}})(?!{_WORD}|[-_]\d)',
    Form.REVERSE: r'(?<![\w.-])(?:(?:\d{1,3}\.){2,4}(?i:in-addr\.arpa)'
    rf'|(?:{_HEX}\.){{32}}(?i:ip6\.arpa))(?!\w)',
}
_RUN_OF_DIGITS = 'run'
_ANY_FORM = re.compile(
    '|'.join(
        [f'(?P<{form.name}>{pattern})' for form, pattern in _PATTERNS.items()]
        + [f'(?P<{_RUN_OF_DIGITS}>{address_search.PATTERN})']
    )
)
_IN_ANY_IDENTIFIER = re.compile(
    r'[:@]|\d[._]\d|[0-9A-Fa-f][.-][0-9A-Fa-f]|[0-9A-Fa-f]{12}|[in]qn\.'
)
"""Matches something that every identifier has, and that most texts lack."""

# The prefix length after the address of a network: "/24".
_PREFIX_LENGTH = re.compile(r'/\d{1,3}(?![0-9A-Za-z]|\.\d)')
# The text that precedes an address, such as "://", "gateway=" and "dns: ".
_PRECEDES_ADDRESS = re.compile(
    r'(?:://|::|[@\[]|(?:\bip|addr|address|gw|gateway|server|host|dns|ntp'
    r'|route|peer|inet)\w{0,4}\s?[=:]\s?)$',
    re.IGNORECASE,
)
# The text that follows an address: a port, or a closing bracket.
_FOLLOWS_ADDRESS = re.compile(r':\d{2,5}(?![0-9A-Za-z.])|::|\]|:/')
# The text that precedes a version: "v", "firmware: ", "rev. ".
_PRECEDES_VERSION = re.compile(
    r'(?<![0-9A-Za-z])(?:(?:v|ver|vers|version|rev|revision|release|firmware'
    r'|fw|bios|build|driver|kernel)[.\s:=,-]{0,3}|v)$',
    re.IGNORECASE,
)
# The text that clouds and DHCP servers put before an address in a host name.
_PRECEDES_ADDRESS_IN_HOST_NAME = re.compile(
    rf'(?<!{_WORD})(?:ip|ipv4|ec2|host|dhcp|addr)[-_]$', re.IGNORECASE
)
_CHARACTERS_LOOKED_AT = 24
"""Number of characters before some numbers that may say what the numbers
are."""

_NUMBERS_OF_IPV4 = 4


def find(text: str) -> list[Identifier]:
    """Find the identifiers in a text, from left to right.

    For example, ``mac 52:54:00:12:34:56`` has one identifier of the form
    ``OCTETS``, from 4 to 21. Dates, times and PCI addresses look like
    identifiers, and are returned with the forms ``DATE`` and ``KEPT``. The
    caller leaves them as they are, except in a name, which is replaced as a
    whole.
    """
    # Most texts have no identifier, and this search is faster than the one
    # below.
    if not _IN_ANY_IDENTIFIER.search(text):
        return []
    identifiers = []
    for match in _ANY_FORM.finditer(text):
        start, end = match.span()
        # Every form is a group of the pattern.
        if match.lastgroup == _RUN_OF_DIGITS:
            # A run of digits and colons may have several addresses, or none.
            for in_run in address_search.find(text, start, end):
                identifiers.append(_classify_address(text, in_run))
        elif match.lastgroup == Form.DASHED_QUAD.name:
            identifiers += _classify_dashed(text, start, end)
        else:
            form = Form[match.lastgroup or '']
            identifiers.append(Identifier(start, end, form))
    return identifiers


def is_any_outside_host_names(identifiers: list[Identifier]) -> bool:
    """Return whether an identifier is more than a part of a host name.

    For example, the address in the host name "ip-10-0-0-1" is only a part of
    it, but the text "10.0.0.1" is an address.
    """
    return any(
        identified.form not in FORMS_IN_HOST_NAMES
        for identified in identifiers
    )


def _classify_address(
    text: str, in_run: address_search.AddressInRun
) -> Identifier:
    """Decide whether numbers in a text are an address or a version.

    Four numbers such as 2.10.0.1 may be either, so the text around them
    decides. In "gateway=2.10.0.1" they have the form ``IP``, in "firmware
    2.10.0.1" they have the form ``VERSION``, and without such a word ``QUAD``.
    The prefix length of a network, as in ``10.0.0.0/24``, is part of the
    identifier.

    :param in_run: the place of the numbers in the text.
    """
    start, end, kind = in_run
    if kind is address_search.Kind.OCTETS:
        return Identifier(start, end, Form.OCTETS)
    before = text[max(0, start - _CHARACTERS_LOOKED_AT) : start]
    prefix_length = _PREFIX_LENGTH.match(text, end)
    if prefix_length:
        end = prefix_length.end()
    # A prefix length or a port never follows a version. If there is one, the
    # numbers are an address, even after the word "version".
    if (
        kind is address_search.Kind.IPV6
        or prefix_length
        or _FOLLOWS_ADDRESS.match(text, end)
        or _PRECEDES_ADDRESS.search(before)
    ):
        return Identifier(start, end, Form.IP)
    if _PRECEDES_VERSION.search(before):
        return Identifier(start, end, Form.VERSION)
    # The text around the numbers does not say what they are.
    return Identifier(start, end, Form.QUAD)


def _classify_dashed(text: str, start: int, end: int) -> list[Identifier]:
    """Find an IPv4 address in numbers with dashes or ``_`` between them.

    The text before the numbers decides. In "ip-10-0-0-1" they are an address,
    with the form ``DASHED``. In "fw-10-0-0-1" they are a version. In
    "node-10-0-0-1" they may be either, with the form ``DASHED_QUAD``.

    :returns: at most one identifier. The list is empty for a version, for
        numbers that are not an IPv4 address, and for an address that
        identifies nobody. It is also empty for four numbers of one digit,
        except after a text such as "ip-".
    """
    numbers = re.split('[-_]', text[start:end])
    if len(numbers) != _NUMBERS_OF_IPV4:
        return []
    host = address.parse('.'.join(numbers))
    if host is None or address.is_common(host):
        return []
    before = text[max(0, start - _CHARACTERS_LOOKED_AT) : start]
    if _PRECEDES_ADDRESS_IN_HOST_NAME.search(before):
        return [Identifier(start, end, Form.DASHED)]
    # "usb-1-1-4-2" is a port, and "2-4-1-0" is a version. Hardly any machine
    # has such an address.
    if all(len(number) == 1 for number in numbers):
        return []
    # "fw_2_10_0_1" is a version as "fw-2-10-0-1" is.
    if _PRECEDES_VERSION.search(before.replace('_', '-')):
        return []
    # The text before the numbers does not say what they are.
    return [Identifier(start, end, Form.DASHED_QUAD)]
