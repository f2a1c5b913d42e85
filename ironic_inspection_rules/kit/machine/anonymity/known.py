# SPDX-License-Identifier: Apache-2.0

"""Identifiers of a machine, which are made anonymous wherever they stand.

A serial number, a name or an address that some field has is also looked for
in all other texts, in every notation that is usual for it.
"""

from collections.abc import Callable, Iterator
import functools
import ipaddress
import re
import string
from typing import NamedTuple

from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import alternatives
from ironic_inspection_rules.kit.machine.anonymity import digits as notation
from ironic_inspection_rules.kit.machine.anonymity import field
from ironic_inspection_rules.kit.machine.anonymity import form

_SHORTEST = 4
"""Fewest characters of a name: a shorter word stands in texts by chance."""

_SHORTEST_MIXED = 3
"""The same of a name with letters and digits, such as ``db7``."""

_SHORTEST_ANYWHERE = 8
"""The same of a name that is also replaced where letters are around it, as in
``SNCZ3409XK7Q``."""

_SHORTEST_NUMBER = 6
"""Fewest digits of a number in the data that may be a serial number."""
_FIELD_NAMES = frozenset(
    (
        'address',
        'architecture',
        'bios',
        'boot',
        'client_id',
        'count',
        'cpu',
        'cpus',
        'data',
        'disk',
        'disks',
        'driver',
        'extra',
        'firmware',
        'flags',
        'frequency',
        'hctl',
        'host',
        'hostname',
        'interface',
        'interfaces',
        'inventory',
        'ipmi',
        'lldp',
        'mac',
        'manufacturer',
        'memory',
        'model',
        'model_name',
        'name',
        'network',
        'node',
        'numa',
        'plugin_data',
        'product',
        'rotational',
        'serial',
        'server',
        'size',
        'speed',
        'system',
        'system_vendor',
        'total',
        'uefi',
        'vendor',
        'version',
        'x86_64',
    )
)
"""Words that are no name of a machine, even if a machine has that name.

They stand in the data of any machine, where they mean something else.
"""
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_FILLINGS = ('fffe', 'ffff', '0300')
"""The digits in the middle of an EUI-64 that is made of a MAC address."""

_MAC = 12  # Digits.
_EUI_64 = 16

_NUMBER = re.compile('[0-9.,]+')
_SPACE = '[-:._ ]?'
# A name of letters and digits, perhaps in groups with dashes between them.
_SPLIT = re.compile('(?=.*[a-z])(?=.*[0-9])[a-z0-9]+(?:-[a-z0-9]+)*')

Edge = alternatives.Edge
Replacing = Callable[[str], str]


class KnownIdentifier(NamedTuple):
    """A known identifier in a text.

    :ivar made: what replaces it, in its notation.
    """

    start: int
    end: int
    made: str


class Known:
    """The identifiers of a machine, and their replacements.

    :param forms: replaces identifiers of a known form, such as addresses.
    :param name: replaces a name.
    """

    def __init__(self, forms: form.Forms, name: Replacing) -> None:
        self._forms = forms
        self._name = name
        # Replacements by name, in the notation in which it was added.
        self._names: dict[str, str] = {}
        # The digits of MAC addresses.
        self._macs: set[str] = set()
        # Words in small letters that are no names.
        self._kept: set[str] = set()
        # What find() looks for in a text in small letters, by what may not be
        # around it there.
        self._patterns: dict[Edge, set[str]] = {edge: set() for edge in Edge}
        # Functions that replace a match. The keys are the match in small
        # letters, or its digits without separators.
        self._replace: dict[str, Replacing] = {}

    def add_name(self, text: str) -> None:
        """Add a serial number, or the name of a host and its two parts.

        The parts are the host without its domain, and the domain. A text that
        may mean something else elsewhere is not added.
        """
        if field.says_nothing(text) or not self._is_name(text):
            return
        self._add_word(text, self._name(text))
        host, _dot, domain = text.partition('.')
        if '.' in domain and not re.fullmatch(r'[\d.]*', domain):
            self._add_word(domain, self._name(domain))
        if self._is_name(host) and not host.isdecimal():
            self._add_word(host, self._name(host))

    def _is_name(self, text: str) -> bool:
        """Return whether a text is the name of a machine wherever it stands.

        A short text, the name of a field and a word to keep are not: in other
        places they mean something else.
        """
        shortest = _SHORTEST
        if _is_mixed(text):
            shortest = _SHORTEST_MIXED
        if len(text) < shortest:
            return False
        lowered = lower_ascii(text)
        return lowered not in _FIELD_NAMES and lowered not in self._kept

    def _add_word(self, text: str, replacement: str) -> None:
        """Add a name, as text and as the hexadecimal digits of its octets.

        :param text: the name as some field has it.
        :param replacement: what it is replaced by everywhere.
        """
        self._names[text] = replacement
        lowered = lower_ascii(text)
        # The less likely it is that a text has the name by chance, the less
        # may be around it.
        edge = Edge.WORD
        if _NUMBER.fullmatch(text):
            edge = Edge.NUMBER
        elif len(text) >= _SHORTEST_ANYWHERE and _is_mixed(text):
            edge = Edge.ANYWHERE
        replace = functools.partial(self._as_name, text)
        self._add(re.escape(lowered), lowered, replace, edge)
        unsplit = lowered.replace('-', '')
        # The replacement of an address in a name may be longer.
        is_as_long = len(unsplit) == len(replacement.replace('-', ''))
        is_long = len(unsplit) >= _SHORTEST_ANYWHERE
        if is_as_long and is_long and _SPLIT.fullmatch(lowered):
            # A label may have the serial number in groups.
            self._add('-?'.join(unsplit), unsplit, replace, Edge.WORD)
        if len(text) < _SHORTEST:
            return
        # LLDP and NVMe write texts in hexadecimal digits.
        hex_digits = replacement.encode().hex()
        replace_hex = functools.partial(_like, replacement=hex_digits)
        for name in (text, lowered):
            digits = name.encode().hex()
            self._add(digits, digits, replace_hex)

    def _as_name(self, name: str, original: str) -> str:
        """Return what replaces a name.

        :param original: the name as it stands there, perhaps in capitals.
        """
        if original in self._names:
            return self._names[original]
        replacement = self._names[name]
        if _groups(original) != _groups(name):
            replacement = _split_like(original, replacement)
        if original.islower():
            return replacement.lower()
        return _like(original, replacement)

    def _add(
        self,
        pattern: str,
        key: str,
        replace: Replacing,
        edge: Edge = Edge.ANYWHERE,
    ) -> None:
        """Add the pattern of an identifier, and the function that replaces it.

        The first function of an identifier stays.

        :param pattern: for texts in small letters.
        :param key: by which :meth:`find` gets the function: the identifier in
            small letters, or its digits.
        :param edge: what may not be around the identifier.
        """
        self._patterns[edge].add(pattern)
        self._replace.setdefault(key, replace)

    def add_octets(self, text: str) -> None:
        """Add a MAC address, an EUI-64 or a longer address, in any notation.

        With a MAC address the addresses are added that are made of it.
        """
        digits = re.sub('[^0-9a-f]', '', lower_ascii(text))
        # The four digits in the middle of the last sixteen.
        filling = digits[-10:-6]
        if len(digits) < _EUI_64:
            # A BOOTIF has the type of the hardware before the address.
            digits = digits[-_MAC:]
        elif filling in _FILLINGS:
            # An EUI-64 that is made of a MAC address. Digits before it, such
            # as the prefix of a GID, belong to a network and not to a port.
            digits = digits[-_EUI_64:]
        if len(set(digits)) == 1:
            # Such as zeros or ff: that is the address of no machine.
            return
        self._add(_spaced(digits), digits, self._forms.replace_octets)
        if len(digits) == _MAC and digits not in self._macs:
            self._add_mac(digits)

    def _add_mac(self, digits: str) -> None:
        """Add a MAC address, the GUIDs that are made of it, its short form.

        :param digits: its twelve hexadecimal digits, in small letters.
        """
        self._macs.add(digits)
        # Set and not setdefault(): it may have been added as a name before.
        self._replace[digits] = self._forms.replace_octets
        self._add_guids(digits)
        # Without leading zeros, as some switches write it: "0:1b:2:…". One
        # without leading zeros has no other form.
        short = _short(digits)
        digits_left = len(short) - short.count(':')
        if digits_left < _MAC:
            replacement = _short(self._forms.replace_octets(digits))
            replace_short = functools.partial(_like, replacement=replacement)
            self._add(short, short, replace_short, Edge.WORD)

    def _add_guids(self, mac: str) -> None:
        """Add the GUIDs that are made of a MAC address.

        A GUID is the first half of the address, a filling of four digits, and
        the second half. IPv6 inverts a bit of the first half.

        :param mac: twelve hexadecimal digits, in small letters.
        """
        head = mac[:6]
        tail = mac[6:]
        # The bit of locally administered addresses.
        first_octet = int(head[:2], 16) ^ 2
        inverted_head = f'{first_octet:02x}{head[2:]}'
        replace = functools.partial(self._as_guid, mac)
        fillings = '|'.join(map(_spaced, _FILLINGS))
        for start in (head, inverted_head):
            for filling in _FILLINGS:
                # The GUID may have been added before its MAC address was
                # known: then it would not match the replaced address.
                self._replace[start + filling + tail] = replace
            pattern = (
                f'{_spaced(start)}{_SPACE}(?:{fillings}){_SPACE}'
                f'{_spaced(tail)}'
            )
            # One pattern finds the GUIDs of all fillings, for which find()
            # has the function by now.
            self._add(pattern, start + _FILLINGS[0] + tail, replace)

    def _as_guid(self, mac: str, original: str) -> str:
        """Return the GUID of the replacement of a MAC address.

        A GUID is the first half of the address, a filling of four digits, and
        the second half.

        :param original: the GUID of the address, in any notation.
        """
        replacement = self._forms.replace_octets(mac)
        digits = re.sub('[^0-9a-f]', '', lower_ascii(original))
        # IPv6 inverts a bit of the first octet. Which one differs in the GUID
        # and the address, is inverted in the replacement as well.
        inverted = int(digits[:2], 16) ^ int(mac[:2], 16)
        first = int(replacement[:2], 16) ^ inverted
        filling = digits[6:10]
        guid = f'{first:02x}{replacement[2:6]}{filling}{replacement[6:]}'
        return _laid_over(original, guid)

    def add_wwn(self, text: str) -> None:
        """Add a WWN: hexadecimal digits, perhaps after a prefix.

        Zeros and numbers that are too short for a WWN identify nothing.
        """
        digits = re.sub(r'^(0x|naa\.|eui\.)', '', lower_ascii(text))
        if len(digits) >= _MAC and set(digits) != {'0'}:
            self._add(_spaced(digits), digits, self._as_wwn)

    def _as_wwn(self, written: str) -> str:
        """Return the replacement of a WWN, in the notation of the WWN."""
        digits = re.sub('[^0-9A-Fa-f]', '', written)
        return _laid_over(written, self._forms.wwn(digits))

    def add_address(self, text: str) -> None:
        """Add the notations of an IP address that are not seen by their form.

        ``10.0.0.1`` is added as ``010.000.000.001``, ``10-0-0-1``,
        ``0a000001`` and so on. An address that identifies nobody, such as a
        netmask, is not added.

        :param text: perhaps with a prefix length or a zone; any other text is
            passed over.
        """
        parsed = address.parse(re.split('[/%]', text)[0])
        if parsed is None or address.is_common(parsed):
            return
        packed = parsed.packed.hex()
        if isinstance(parsed, ipaddress.IPv6Address):
            self._add(packed, packed, self._as_packed)
            return
        lowered = str(parsed)
        padded = '.'.join(f'{part:03}' for part in parsed.packed)
        # Host names have an address with other separators: "ip-10-0-0-1".
        for quad in dict.fromkeys((lowered, padded)):
            pattern = quad.replace('.', '[._-]')
            self._add(pattern, quad, self._as_quad, Edge.QUAD)
        for separator in '-_':
            # find() looks the function up by the text that a pattern matches:
            # it may have these separators.
            self._replace[lowered.replace('.', separator)] = self._as_quad
            self._replace[padded.replace('.', separator)] = self._as_quad
        self._add(packed, packed, self._as_packed, Edge.WORD)

    def add_dashed(self, text: str) -> None:
        """Add an IPv4 address that has dashes between its numbers."""
        self.add_address(text.replace('-', '.'))

    def add_reverse(self, name: str) -> None:
        """Add the address that a name of a reverse zone is of."""
        host = address.from_reverse(name)
        if host is not None and '/' not in host:
            self.add_address(host)

    def _as_quad(self, written: str) -> str:
        """Return the replacement of an IPv4 address, with its separator."""
        separator = re.sub('[0-9]', '', written)[0]
        replacement = self._forms.address(written.replace(separator, '.'))
        return (replacement or written).replace('.', separator)

    def _as_packed(self, written: str) -> str:
        """Return the replacement of an IP address in hexadecimal digits."""
        replacement = self._forms.packed_address(bytes.fromhex(written)).hex()
        return _like(written, replacement)

    def add_uuid(self, text: str) -> None:
        """Add a UUID, which may also stand without dashes."""
        digits = lower_ascii(text).replace('-', '')
        if len(set(digits)) > 1:
            self._add(digits, digits, self._forms.uuid)

    def keep(self, word: str) -> None:
        """Keep a word in all texts: it is no name of a machine.

        Of names that are added later only.
        """
        self._kept.add(lower_ascii(word))

    def find(self, text: str) -> Iterator[KnownIdentifier]:
        """Yield the identifiers in a text with their replacements, in order.

        An identifier is found in any notation and in any case, but only one
        that was added before the first call.
        """
        # Patterns are for small letters. Places are the same in both texts.
        lowered = lower_ascii(text)
        for match in self._pattern.finditer(lowered):
            original = text[match.start() : match.end()]
            replace = self._replace.get(match[0])
            if replace is None:
                digits = re.sub('[-:._ ]', '', match[0])
                replace = self._replace.get(digits)
            if replace is not None:
                yield KnownIdentifier(*match.span(), replace(original))

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        return alternatives.compiled(self._patterns)

    def name(self, text: str) -> str | None:
        """Return what replaces a text that is a known name, else None."""
        if lower_ascii(text) in self._macs:
            return self._forms.replace_octets(text)
        return self._names.get(text)

    def number(self, number: int) -> int | None:
        """Return what replaces a number that is a known serial number."""
        text = str(number)
        if len(text) < _SHORTEST_NUMBER or text not in self._names:
            return None
        return self._forms.integer(number)


def lower_ascii(text: str) -> str:
    """Return a text of the same length in small letters.

    Only letters of ASCII are changed.
    """
    # lower() may make several characters of one that is not in ASCII.
    if text.isascii():
        return text.lower()
    return text.translate(_ASCII_LOWER)


def _is_mixed(text: str) -> bool:
    """Return whether a text has letters and digits."""
    has_digits = any(map(str.isdigit, text))
    has_letters = any(map(str.isalpha, text))
    return has_digits and has_letters


def _short(mac: str) -> str:
    """Write a MAC address without leading zeros, as some switches do."""
    pairs = re.findall('..', mac)
    return ':'.join(pair.removeprefix('0') for pair in pairs)


def _groups(text: str) -> list[int]:
    """Return how many characters a text has between its dashes."""
    return [len(group) for group in text.split('-')]


def _split_like(text: str, replacement: str) -> str:
    """Write a replacement in the groups that a text has between its dashes.

    :param replacement: with as many other characters as the text has.
    """
    remaining = iter(replacement.replace('-', ''))
    characters = []
    for character in text:
        if character != '-':
            character = next(remaining, '')
        characters.append(character)
    return ''.join(characters)


def _laid_over(text: str, replacement: str) -> str:
    """Write digits in the notation of a text."""
    return _like(text, notation.laid_over(text, replacement))


def _like(text: str, replacement: str) -> str:
    """Write a replacement in capitals if a text is in capitals."""
    if text.isupper():
        return replacement.upper()
    return replacement


def _spaced(digits: str) -> str:
    """Return a pattern of digits, perhaps with a separator between pairs."""
    return _SPACE.join(re.findall('..?', digits))
