# SPDX-License-Identifier: Apache-2.0

"""Runs of digits, colons and dots, and the addresses in them.

They are looked for in text that a machine sends, to replace them when its
data are made anonymous. A run is divided into *parts*: hexadecimal numbers,
four numbers with dots between them (a *quad*), and separators. Places are
indices in the list of parts.

Where an address ends is not always said: ``addr:10.0.0.1:22``,
``ip=10.0.0.5::10.0.0.1:255.255.255.0:host``, ``mac:52:54:00:12:34:56``.
"""

from collections.abc import Iterator
import enum
import ipaddress
import re
import typing

from ironic_inspection_rules.kit.machine.anonymity import address

_QUAD = r'\d{1,3}(?:\.\d{1,3}){3}'
PATTERN = (
    r'(?<![0-9A-Fa-f:.])'
    rf'(?=[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:|[0-9A-Fa-f:.]*{_QUAD})'
    r'[0-9A-Fa-f:.]+'
)
# The parts of a run: four numbers with dots, hexadecimal digits, separators.
_PARTS = re.compile(
    rf'(?<!\.)(?P<quad>{_QUAD})(?![0-9A-Fa-f]|\.[0-9])'
    r'|(?P<hex>[0-9A-Fa-f]+)|::|:|\.'
)
_PAIR = 2
_OCTETS = 6
_LONGEST_WORD = 8
_LONGEST_IPV6 = 17  # Parts: eight groups and what is between them.
_LONGEST_GROUP = 4
_GROUPS = 8
_LEAST_GROUP = 0x100
"""Addresses of hosts in IPv6 begin with at least that, but for those that
have one of IPv4 in them."""
_LETTER = re.compile('[A-Za-z]')


class Kind(enum.Enum):
    """Kinds of addresses."""

    OCTETS = 'MAC address, or a longer one'
    IPV4 = 'IPv4 address'
    IPV6 = 'IPv6 address'


class AddressInRun(typing.NamedTuple):
    """An address in a text.

    :ivar start: the place of its first character.
    :ivar end: the place after its last one.
    """

    start: int
    end: int
    kind: Kind


def find(text: str, start: int, end: int) -> list[AddressInRun]:
    """Return the MAC, IPv4 and IPv6 addresses in a run.

    Letters of words beside the run, which may look like hexadecimal digits,
    are no part of an address, unless it is the first octet of a MAC address.

    :param start: where the run begins in the text.
    :param end: where the text goes on after it.
    """
    parts = list(_PARTS.finditer(text, start, end))
    first = 0
    last = len(parts)
    # The run of "iface:10.0.0.1" begins with the last letters of a word.
    is_behind_letter = start > 0 and _LETTER.match(text, start - 1)
    if is_behind_letter:
        first = _after_word(parts)
    if _LETTER.match(text, end):
        last = _before_word(parts)
    whole_groups = parts[first:last]
    addresses = list(_addresses(whole_groups))
    if not addresses and len(whole_groups) < len(parts):
        # "MAC52:54:00:12:34:56": the first octet is joined to a word.
        for candidate in _addresses(parts):
            if candidate.kind is Kind.OCTETS:
                addresses.append(candidate)
    return addresses


def _after_word(parts: list[re.Match[str]]) -> int:
    """Return the place after the word that a run begins in.

    It ends with the first colon; without one, all of the run is the word.
    """
    for place, part in enumerate(parts):
        if part[0] == ':':
            return place + 1
    return len(parts)


def _before_word(parts: list[re.Match[str]]) -> int:
    """Return the place before the word that a run ends in.

    It begins after the last colon; without one, all of the run is the word.
    """
    for place in reversed(range(len(parts))):
        if parts[place][0] in (':', '::'):
            return place
    return 0


def _addresses(parts: list[re.Match[str]]) -> Iterator[AddressInRun]:
    """Yield the addresses in the parts of a run, from left to right.

    At a place, a MAC address is tried before one of IPv6, whose groups may
    look like pairs of digits, and the longest address is taken. The search
    goes on behind an address.
    """
    place = 0
    while place < len(parts):
        part = parts[place]
        start = part.start()
        kind = Kind.OCTETS
        after = _octets(parts, place)
        if not after:
            kind = Kind.IPV6
            after = _ipv6(parts, place)
        if not after and part['quad'] and address.parse(part[0]):
            kind = Kind.IPV4
            after = place + 1
        if not after and _digits(part) > _PAIR:
            # A word may be joined to the first octet, as in "MAC52:54:…". Of
            # its hexadecimal digits, the last two are the octet.
            start = part.end() - _PAIR
            kind = Kind.OCTETS
            after = _octets(parts, place, _LONGEST_WORD)
        if after:
            yield AddressInRun(start, parts[after - 1].end(), kind)
        place = max(after, place + 1)


def _digits(part: re.Match[str]) -> int:
    """Return the number of hexadecimal digits of a part, 0 of others."""
    return len(part['hex'] or '')


def _octets(
    parts: list[re.Match[str]], place: int, longest: int = _PAIR
) -> int:
    """Return the place after a MAC address or a longer address of octets.

    It is at least six pairs of hexadecimal digits with colons between them.

    :param place: where the address begins.
    :param longest: how many digits may be before the first colon.
    :returns: 0 if there is no such address.
    """
    if not _PAIR <= _digits(parts[place]) <= longest:
        return 0
    after = place + 1
    while after + 1 < len(parts):
        if parts[after][0] != ':' or _digits(parts[after + 1]) != _PAIR:
            break
        after += 2
    # Parts: octets and the colons between them.
    least_parts = 2 * _OCTETS - 1
    if after - place < least_parts:
        return 0
    return after


def _ipv6(parts: list[re.Match[str]], place: int) -> int:
    """Return the place after the longest IPv6 address that begins at a place.

    :returns: 0 if there is none.
    """
    if not _may_begin_ipv6(parts, place):
        return 0
    text = parts[place].string
    for after in reversed(_ends_of_ipv6(parts, place)):
        host = text[parts[place].start() : parts[after - 1].end()]
        if _is_ipv6(host):
            return after
    return 0


def _ends_of_ipv6(parts: list[re.Match[str]], place: int) -> list[int]:
    """Return where a slice of parts may end that is an IPv6 address.

    ``fe80::1:2`` is an address up to ``::``, up to ``1`` and up to ``2``.

    :param parts: digits, colons and dots of a text, in their order.
    :param place: where the slice begins.
    """
    groups = 0
    # How often there is "::", which stands for any number of groups.
    gaps = 0
    ends = []
    for number in range(place, min(place + _LONGEST_IPV6, len(parts))):
        part = parts[number]
        if part[0] == '.' or _digits(part) > _LONGEST_GROUP:
            break
        if part[0] == '::':
            gaps += 1
        elif part['hex'] is not None:
            groups += 1
        elif part['quad'] is not None:
            # An IPv4 address takes the place of two groups, the last ones.
            groups += 2
        if gaps > 1 or groups > _GROUPS:
            break
        has_all_groups = gaps > 0 or groups == _GROUPS
        if part[0] != ':' and has_all_groups:
            ends.append(number + 1)
        if part['quad']:
            break
    return ends


def _may_begin_ipv6(parts: list[re.Match[str]], place: int) -> bool:
    """Return whether a part may be the first one of an IPv6 address."""
    part = parts[place]
    if part[0] == '::':
        # Where "a::b" is no address, its end is none either.
        return not (place and parts[place - 1]['hex'])
    return part['hex'] is not None


def _is_ipv6(host: str) -> bool:
    """Return whether a text is an IPv6 address that a host may have.

    A valid address such as ``a::b`` or ``1:2:3:4:5:6:7:8`` is taken for mere
    numbers between colons: its first group is too small for a host.
    """
    parsed = address.parse(host)
    if not isinstance(parsed, ipaddress.IPv6Address):
        return False
    first_group = int.from_bytes(parsed.packed[:2])
    return first_group >= _LEAST_GROUP or address.has_ipv4(parsed)
