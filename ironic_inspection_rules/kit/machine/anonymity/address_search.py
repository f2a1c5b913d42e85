# SPDX-License-Identifier: Apache-2.0

"""Find MAC and IP addresses in runs of digits, colons and dots.

Texts that a machine sends are searched for addresses, which are replaced when
the data are made anonymous. A run is divided into *parts*: hexadecimal
numbers, four numbers separated by dots (a *quad*), and separators. A place is
an index in the list of parts. For example, the run ``fe80::1`` has the parts
``fe80``, ``::`` and ``1``, and the ``1`` has the place 2.

It is often unclear where an address ends: ``addr:10.0.0.1:22``,
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
_PART = re.compile(
    rf'(?<!\.)(?P<quad>{_QUAD})(?![0-9A-Fa-f]|\.[0-9])'
    r'|(?P<hex>[0-9A-Fa-f]+)|::|:|\.'
)
_DIGITS_OF_OCTET = 2
_OCTETS_OF_MAC = 6

_MAX_DIGITS_BEHIND_WORD = 8
"""Most digits before the first colon of a MAC address. All but the last two
are letters of a word, as in "face52:54:00:12:34:56"."""

_GROUPS_OF_IPV6 = 8
_MAX_DIGITS_OF_GROUP = 4
# An address has at most eight groups and nine separators.
_MAX_PARTS_OF_IPV6 = 17

_MIN_FIRST_GROUP = 0x100
"""Least first group of an IPv6 address that a host has. Addresses that contain
an IPv4 address may begin with less."""

_LETTER = re.compile('[A-Za-z]')


class Kind(enum.Enum):
    """Kinds of addresses."""

    OCTETS = 'MAC address, or a longer one'
    IPV4 = 'IPv4 address'
    IPV6 = 'IPv6 address'


class AddressInRun(typing.NamedTuple):
    """An address in a text.

    :ivar start: the index of its first character.
    :ivar end: the index after its last character.
    """

    start: int
    end: int
    kind: Kind


def find(text: str, start: int, end: int) -> list[AddressInRun]:
    """Find the MAC, IPv4 and IPv6 addresses in a run.

    A run is a piece of a text that consists of hexadecimal digits, colons and
    dots, such as ``10.0.0.5::10.0.0.1:255.255.255.0:``. In "iface:10.0.0.1"
    the run is "face:10.0.0.1", because the letters "face" could be digits.
    Such letters of a neighboring word are not part of an address.

    :param start: the index at which the run begins in the text.
    :param end: the index after the run.
    """
    parts = list(_PART.finditer(text, start, end))
    first = 0
    after_last = len(parts)
    is_behind_letter = start > 0 and _LETTER.match(text, start - 1)
    if is_behind_letter:
        # The run of "iface:10.0.0.1" begins with the last letters of a word.
        first = _after_word(parts)
    if _LETTER.match(text, end):
        # The run of "fe80::1:default" ends with the first letters of a word.
        after_last = _before_word(parts)
    # The parts that do not belong to a word.
    whole_groups = parts[first:after_last]
    addresses = list(_find_addresses(whole_groups))
    if not addresses and len(whole_groups) < len(parts):
        # "MAC52:54:00:12:34:56": the first octet is joined to a word.
        for candidate in _find_addresses(parts):
            if candidate.kind is Kind.OCTETS:
                addresses.append(candidate)
    return addresses


def _after_word(parts: list[re.Match[str]]) -> int:
    """Return the place after the word with which a run begins.

    In "iface:10.0.0.1" the run is "face:10.0.0.1". Its beginning could be
    digits, but belongs to the word "iface", which began before the run. The
    word ends at the first single colon. Without one, all of the run belongs to
    the word.

    :param parts: the parts of the run, in order.
    :returns: the index of the first part after the word, in ``parts``.
    """
    for place, part in enumerate(parts):
        if part[0] == ':':
            return place + 1
    return len(parts)


def _before_word(parts: list[re.Match[str]]) -> int:
    """Return the place before the word with which a run ends.

    In "fe80::1:default" the run is "fe80::1:defa". Its end could be digits,
    but belongs to the word "default", which continues after the run. The word
    begins after the last colon. Without a colon, all of the run belongs to the
    word.

    :param parts: the parts of the run, in order.
    :returns: the index of the last colon, in ``parts``.
    """
    for place in reversed(range(len(parts))):
        if parts[place][0] in (':', '::'):
            return place
    return 0


def _find_addresses(parts: list[re.Match[str]]) -> Iterator[AddressInRun]:
    """Yield the addresses in the parts of a run, from left to right.

    The search continues after an address, so no part belongs to two of them.
    """
    end_of_last = 0
    for place, part in enumerate(parts):
        if part.start() < end_of_last:
            continue
        in_run = _address_at(parts, place)
        if in_run is not None:
            end_of_last = in_run.end
            yield in_run


def _address_at(parts: list[re.Match[str]], place: int) -> AddressInRun | None:
    """Return the address that begins at a place; None if there is none.

    These addresses are tried, in this order: a MAC address, an IPv6 address,
    an IPv4 address, and a MAC address whose first octet is joined to a word.
    MAC addresses are tried before IPv6 addresses, because the groups of an
    IPv6 address may look like pairs of digits.

    :param parts: the parts of the run.
    :param place: an index in ``parts``.
    """
    part = parts[place]
    end = _end_of_octets(parts, place)
    if end is not None:
        return AddressInRun(part.start(), end, Kind.OCTETS)
    end = _end_of_ipv6(parts, place)
    if end is not None:
        return AddressInRun(part.start(), end, Kind.IPV6)
    if part['quad'] and address.parse(part[0]):
        return AddressInRun(part.start(), part.end(), Kind.IPV4)
    if _count_digits(part) <= _DIGITS_OF_OCTET:
        return None
    # A word may be joined to the first octet, as in "MAC52:54:…". Then the
    # octet is the last two hexadecimal digits before the colon.
    end = _end_of_octets(parts, place, longest=_MAX_DIGITS_BEHIND_WORD)
    if end is None:
        return None
    start = part.end() - _DIGITS_OF_OCTET
    return AddressInRun(start, end, Kind.OCTETS)


def _count_digits(part: re.Match[str]) -> int:
    """Return the number of hexadecimal digits of a part.

    :returns: 0 for a separator, and for four numbers with dots.
    """
    return len(part['hex'] or '')


def _end_of_octets(
    parts: list[re.Match[str]], place: int, longest: int = _DIGITS_OF_OCTET
) -> int | None:
    """Return where an address of octets, such as a MAC address, ends.

    Such an address is six or more pairs of hexadecimal digits, separated by
    colons. For example, 52:54:00:12:34:56 has eleven parts: six octets and
    five colons.

    :param parts: the parts of the run.
    :param place: the place at which the address begins.
    :param longest: the most digits that may be before the first colon.
    :returns: the index in the text after the last digit; None if there is no
        such address.
    """
    if not _DIGITS_OF_OCTET <= _count_digits(parts[place]) <= longest:
        return None
    # The place after the last octet so far. A colon and an octet may follow.
    after = place + 1
    while after + 1 < len(parts):
        if (
            parts[after][0] != ':'
            or _count_digits(parts[after + 1]) != _DIGITS_OF_OCTET
        ):
            break
        after += 2
    # There is one colon less than there are octets.
    least_parts = 2 * _OCTETS_OF_MAC - 1
    if after - place < least_parts:
        return None
    return parts[after - 1].end()


def _end_of_ipv6(parts: list[re.Match[str]], place: int) -> int | None:
    """Return the end of the longest IPv6 address that begins at a place.

    The longest address is tried first: "fe80::1" could also end after
    "fe80::". The separator "::" is a gap: it stands for any number of groups
    that are zero.

    :param parts: the parts of the run.
    :param place: the place at which the address begins.
    :returns: the index in the text after the last character; None if there is
        no such address.
    """
    part = parts[place]
    begins_with_gap = part[0] == '::'
    if not begins_with_gap and part['hex'] is None:
        # Neither four numbers with dots nor a single colon begin an address.
        return None
    if begins_with_gap and place > 0 and parts[place - 1]['hex']:
        # All of "a::b" was tried before, and is not an address. Its end "::b"
        # is not searched separately.
        return None
    # A match has a reference to all of the text that was searched.
    text = part.string
    start = part.start()
    for end in reversed(_possible_ends_of_ipv6(parts, place)):
        if _is_host_ipv6(text[start:end]):
            return end
    return None


def _possible_ends_of_ipv6(
    parts: list[re.Match[str]], place: int
) -> list[int]:
    """Return where an IPv6 address that begins at a place may end.

    For example, "fe80::1:2" may end after "fe80::", "fe80::1" and "fe80::1:2".

    :param parts: the parts of the run.
    :param place: the place at which the address begins.
    :returns: indices in the text, in ascending order.
    """
    groups = 0
    # The number of "::", which stands for any number of groups.
    gaps = 0
    ends = []
    for part in parts[place : place + _MAX_PARTS_OF_IPV6]:
        if part[0] == '.' or _count_digits(part) > _MAX_DIGITS_OF_GROUP:
            break
        if part[0] == '::':
            gaps += 1
        elif part['hex'] is not None:
            groups += 1
        elif part['quad'] is not None:
            # An IPv4 address replaces the last two groups.
            groups += 2
        if gaps > 1 or groups > _GROUPS_OF_IPV6:
            # No address has a second "::" or a ninth group.
            break
        has_all_groups = gaps > 0 or groups == _GROUPS_OF_IPV6
        # After a single colon, another group must follow.
        if part[0] != ':' and has_all_groups:
            ends.append(part.end())
        if part['quad']:
            # Nothing can follow the IPv4 address.
            break
    return ends


def _is_host_ipv6(host: str) -> bool:
    """Return whether a text is an IPv6 address that a host may have.

    ``a::b`` and ``1:2:3:4:5:6:7:8`` are valid addresses, but are treated as
    numbers between colons, because their first group is too small for a host.
    """
    parsed = address.parse(host)
    if not isinstance(parsed, ipaddress.IPv6Address):
        return False
    first_group = int.from_bytes(parsed.packed[:2])
    return first_group >= _MIN_FIRST_GROUP or address.has_ipv4(parsed)
