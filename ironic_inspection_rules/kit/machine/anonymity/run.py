# SPDX-License-Identifier: Apache-2.0

"""Runs of digits, colons and dots, and the addresses in them.

Where an address ends is not always said: ``addr:10.0.0.1:22``,
``ip=10.0.0.5::10.0.0.1:255.255.255.0:host``, ``mac:52:54:00:12:34:56``.
"""

from collections.abc import Iterator
import enum
import ipaddress
import re

from ironic_inspection_rules.kit.machine.anonymity import address

_QUAD = r'\d{1,3}(?:\.\d{1,3}){3}'
PATTERN = (r'(?<![0-9A-Fa-f:.])'
           rf'(?=[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:|[0-9A-Fa-f:.]*{_QUAD})'
           r'[0-9A-Fa-f:.]+')
_PARTS = re.compile(
    rf'(?<!\.)(?P<quad>{_QUAD})(?![0-9A-Fa-f]|\.[0-9])'
    r'|(?P<hex>[0-9A-Fa-f]+)|::|:|\.')
_PAIR = 2
_OCTETS = 6
_LONGEST_WORD = 8
_LONGEST_IPV6 = 17  # Parts: eight groups and what is between them.
_LONGEST_GROUP = 4
_GROUPS = 8
_LEAST_GROUP = 0x100
"""No IPv6 address of a host begins with a smaller group, some aside."""
_LETTER = re.compile('[A-Za-z]')


class What(enum.Enum):
    """What was found."""

    OCTETS = 'MAC address, or a longer one'
    IPV4 = 'IPv4 address'
    IPV6 = 'IPv6 address'


def addresses(text: str, start: int, end: int
              ) -> Iterator[tuple[int, int, What]]:
    """Yield the addresses of a run, each as where it begins and ends.

    :param start: where the run begins in the text.
    """
    parts = list(_PARTS.finditer(text, start, end))
    first, last = 0, len(parts)
    # The last letters of a word that ends in hexadecimal digits, as in
    # "iface:10.0.0.1", are no group.
    if _LETTER.match(text, start - 1) and start:
        first = _after_word(parts)
    if _LETTER.match(text, end):
        last = _before_word(parts)
    found = list(_found(parts[first:last]))
    if not found and (first or last < len(parts)):
        # The first octet of "MAC52:54:00:12:34:56" is the end of a word.
        found = [each for each in _found(parts) if each[2] is What.OCTETS]
    yield from found


def _after_word(parts: list[re.Match[str]]) -> int:
    return next((place + 1 for place, part in enumerate(parts)
                 if part[0] == ':'), len(parts))


def _before_word(parts: list[re.Match[str]]) -> int:
    return next((place for place in range(len(parts) - 1, -1, -1)
                 if parts[place][0] in (':', '::')), 0)


def _found(parts: list[re.Match[str]]) -> Iterator[tuple[int, int, What]]:
    place = 0
    while place < len(parts):
        start = parts[place].start()
        what, after = What.OCTETS, _octets(parts, place)
        if not after:
            what, after = What.IPV6, _ipv6(parts, place)
        if not after and parts[place]['quad'] and address.parse(
                parts[place][0]):
            what, after = What.IPV4, place + 1
        if not after and len(parts[place]['hex'] or '') > _PAIR:
            # The first octet of "MAC52:54:00:12:34:56" is the end of a word.
            start = parts[place].end() - _PAIR
            what, after = What.OCTETS, _octets(parts, place, _LONGEST_WORD)
        if after:
            yield start, parts[after - 1].end(), what
        place = max(after, place + 1)


def _octets(parts: list[re.Match[str]], place: int, longest: int = _PAIR
            ) -> int:
    """Return what comes after pairs of digits between colons, or 0.

    :param longest: how many digits may be before the first colon.
    """
    if not _PAIR <= len(parts[place]['hex'] or '') <= longest:
        return 0
    after = place + 1
    while (after + 1 < len(parts) and parts[after][0] == ':'
           and len(parts[after + 1]['hex'] or '') == _PAIR):
        after += 2
    if after - place < 2 * _OCTETS - 1:
        return 0
    return after


def _ipv6(parts: list[re.Match[str]], place: int) -> int:
    """Return what comes after the longest IPv6 address, or 0."""
    if parts[place][0] in (':', '.') or parts[place]['quad']:
        return 0
    text = parts[place].string
    groups = gaps = 0
    ends = []
    for after in range(place, min(place + _LONGEST_IPV6, len(parts))):
        part = parts[after]
        if part[0] == '.' or len(part['hex'] or '') > _LONGEST_GROUP:
            break
        gaps += part[0] == '::'
        groups += part['hex'] is not None
        groups += 2 * (part['quad'] is not None)
        if gaps > 1 or groups > _GROUPS:
            break
        if part[0] != ':' and (gaps or groups == _GROUPS):
            ends.append(after + 1)
        if part['quad']:
            break
    for after in reversed(ends):
        host = text[parts[place].start():parts[after - 1].end()]
        if _is_ipv6(host):
            return after
    return 0


def _is_ipv6(host: str) -> bool:
    """Return whether it is an address that a host may have.

    Others are numbers between colons: ``a::b``, ``1:2:3:4:5:6:7:8``.
    """
    parsed = address.parse(host)
    if not isinstance(parsed, ipaddress.IPv6Address):
        return False
    return (parsed.packed[:2] >= _LEAST_GROUP.to_bytes(2)
            or address.has_ipv4(parsed))
