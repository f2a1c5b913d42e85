# SPDX-License-Identifier: Apache-2.0

"""Identifiers of a machine, which are made anonymous wherever they stand.

A serial number, a name or an address that some field of a machine has is also
looked for in all its other texts, in every notation that is usual for it.
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

_MIN_NAME_LENGTH = 4
"""Least length of a name: a shorter word stands in texts by chance."""

_MIN_MIXED_LENGTH = 3
"""Least length of a name with letters and digits, such as ``db7``."""

_MIN_ANYWHERE_LENGTH = 8
"""Least length of a name that is also replaced between other letters, as in
``SNCZ3409XK7Q``."""

_MAX_SPLIT_LENGTH = 100
"""Most characters of a name that is looked for in groups: a machine may send a
very long text, whose pattern would take seconds to compile."""

_MIN_SPLIT_DIGITS = 3
"""Least digits of a name in small letters that is looked for in groups with
other separators than dashes."""

_MIN_NUMBER_DIGITS = 6
"""Least digits of a number in the data that may be a serial number."""

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
"""Words in the data of any machine, which are never taken for a name."""

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_EUI_64_FILLINGS = ('fffe', 'ffff', '0300')
"""The digits in the middle of an EUI-64 that is made of a MAC address."""

_DIGITS_OF_MAC = 12
_DIGITS_OF_EUI_64 = 16

_NUMBER = re.compile('[0-9.,]+')
_ANY_SEPARATORS = '[^0-9a-z]{0,3}'
"""What may be between the groups of an identifier, as in ``CZ34 - 09XK``."""
_DASH_OR_NOTHING = '-?'
_NO_LETTER_OR_DIGIT = re.compile('[^0-9A-Za-z]')

Edge = alternatives.Edge
Replacing = Callable[[str], str]


class ReplacedSpan(NamedTuple):
    """The place of an identifier in a text, and what replaces it.

    :ivar start: the index of its first character.
    :ivar end: the index behind its last character.
    :ivar replacement: in the notation of the identifier.
    """

    start: int
    end: int
    replacement: str


class KnownIdentifiers:
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
        # Words in small letters that are no names, such as "eth0".
        self._kept: set[str] = set()
        # The letters and digits of models and versions: "dl380gen10".
        self._kept_in_groups: set[str] = set()
        # What find() looks for in a text in small letters, by what may not be
        # around it there.
        self._patterns: dict[Edge, set[str]] = {edge: set() for edge in Edge}
        # Functions that replace a match. The keys are the match in small
        # letters, or its digits without separators.
        self._replace: dict[str, Replacing] = {}

    def add_name(self, text: str) -> None:
        """Add a serial number, or the name of a host.

        With the host ``node-7.rack.example.com``, the names ``node-7`` and
        ``rack.example.com`` are added. A text that may mean something else in
        other places, such as ``disk`` or "Not Specified", is not added.
        """
        if field.says_nothing(text) or not self._is_name(text):
            return
        self._add_word(text, self._name(text))
        host, _dot, domain = text.partition('.')
        # Behind the first dot of an address or a version are only numbers.
        is_numeric = re.fullmatch(r'[\d.]*', domain) is not None
        if '.' in domain and not is_numeric:
            self._add_word(domain, self._name(domain))
        if self._is_name(host) and not host.isdecimal():
            self._add_word(host, self._name(host))

    def _is_name(self, text: str) -> bool:
        """Return whether a text is the name of a machine wherever it stands.

        A short text, the name of a field such as ``disk``, and a word that
        :meth:`keep` was called with are not: in other places they mean
        something else.
        """
        shortest = _MIN_NAME_LENGTH
        if _is_mixed(text):
            shortest = _MIN_MIXED_LENGTH
        if len(text) < shortest:
            return False
        lowered = lower_ascii(text)
        return lowered not in _FIELD_NAMES and lowered not in self._kept

    def _add_word(self, text: str, replacement: str) -> None:
        """Add a name in the three ways in which texts may have it.

        The serial number ``CZ3409XK7Q`` is also looked for in groups, such as
        ``CZ34-09XK-7Q``, and as the hexadecimal digits of its octets,
        ``435a33343039584b3751``.

        :param text: the name as some field has it.
        :param replacement: what it is replaced by everywhere.
        """
        self._names[text] = replacement
        lowered = lower_ascii(text)
        unsplit = _NO_LETTER_OR_DIGIT.sub('', lowered)
        # The groups of the text are filled with the characters of the
        # replacement, which must be as many. They are not where the name has
        # an address in it, such as "node-10.0.0.1", whose replacement is
        # longer.
        is_as_long = len(unsplit) == len(
            _NO_LETTER_OR_DIGIT.sub('', replacement)
        )
        # The less likely it is that a text has the name by chance, the less
        # may be around it.
        edge = Edge.WORD
        if _NUMBER.fullmatch(text):
            edge = Edge.NUMBER
        elif len(text) >= _MIN_ANYWHERE_LENGTH and _is_mixed(text):
            edge = Edge.ANYWHERE
        replace = functools.partial(self._replace_name, text)
        self._add_pattern(
            pattern=re.escape(lowered), key=lowered, replace=replace, edge=edge
        )
        may_be_split = (
            _MIN_ANYWHERE_LENGTH <= len(unsplit) <= _MAX_SPLIT_LENGTH
        )
        if may_be_split and is_as_long and not unsplit.isalpha():
            # A label may have the serial number in groups. The first one has
            # two characters or more: "1 2 3 4 5 6 7 8" is a list.
            between = _ANY_SEPARATORS
            if self._is_like_words(text):
                between = _DASH_OR_NOTHING
            pattern = unsplit[0] + between.join(unsplit[1:])
            self._add_pattern(
                pattern=pattern, key=unsplit, replace=replace, edge=edge
            )
        # The digits of a shorter name stand in longer numbers by chance.
        if len(text) < _MIN_NAME_LENGTH:
            return
        # LLDP and NVMe write texts in hexadecimal digits.
        replace_hex = functools.partial(
            _in_same_case, replacement=_octets_as_hex(replacement)
        )
        for name in (text, lowered):
            digits = _octets_as_hex(name)
            self._add_pattern(pattern=digits, key=digits, replace=replace_hex)

    def _is_like_words(self, text: str) -> bool:
        """Return whether a name, in groups, may be words that say a model.

        With blanks between its parts, the host ``controller-0`` is any first
        controller, and ``dl380-gen10`` may be the model of the machine. A
        serial number has capitals only, or some digits.
        """
        digits = sum(map(str.isdigit, text))
        if digits < _MIN_SPLIT_DIGITS and not text.isupper():
            return True
        unsplit = _NO_LETTER_OR_DIGIT.sub('', lower_ascii(text))
        return any(unsplit in kept for kept in self._kept_in_groups)

    def _replace_name(self, name: str, original: str) -> str:
        """Return what replaces a name, written as the name stands in a text.

        For example, ``CZ3409XK7Q`` is replaced by ``AB1287YZ5M``. Then the
        replacement of ``cz34-09xk-7q`` is ``ab12-87yz-5m``.

        :param name: as it was added.
        :param original: as it stands in the text: in capitals, in small
            letters or in groups.
        """
        if original in self._names:
            return self._names[original]
        replacement = self._names[name]
        characters = _NO_LETTER_OR_DIGIT.sub('', replacement)
        if len(_NO_LETTER_OR_DIGIT.sub('', original)) == len(characters):
            replacement = _split_like(original, characters)
        if original.islower():
            return replacement.lower()
        return _in_same_case(original, replacement)

    def _add_pattern(
        self,
        pattern: str,
        key: str,
        replace: Replacing,
        edge: Edge = Edge.ANYWHERE,
    ) -> None:
        """Add the pattern of an identifier, and the function that replaces it.

        The first function that is added under a key stays.

        :param pattern: a regular expression, for texts in small letters.
        :param key: under which :meth:`find` looks the function up. It is what
            the pattern matches, such as ``db-7``, or that without its
            separators, such as ``525400123456``.
        :param edge: what may not be around the identifier.
        """
        self._patterns[edge].add(pattern)
        self._replace.setdefault(key, replace)

    def add_octets(self, text: str) -> None:
        """Add a MAC address, an EUI-64 or a longer address, in any notation.

        With a MAC address its GUIDs are added, and its short form without
        leading zeros.

        :param text: such as ``52:54:00:12:34:56`` or ``5254.0012.3456``.
        """
        digits = _hex_digits_of(text)
        # The four digits in the middle of the last sixteen.
        filling = digits[-10:-6]
        if len(digits) < _DIGITS_OF_EUI_64:
            # The BOOTIF of PXELINUX has the type of the hardware before the
            # address: 01-52-54-00-12-34-56.
            digits = digits[-_DIGITS_OF_MAC:]
        elif filling in _EUI_64_FILLINGS:
            # An EUI-64 that is made of a MAC address. Digits before it, such
            # as the prefix of a GID, belong to a network and not to a port.
            digits = digits[-_DIGITS_OF_EUI_64:]
        is_one_digit_repeated = len(set(digits)) == 1
        if is_one_digit_repeated:
            # No machine has such an address: zeros, or the broadcast.
            return
        self._add_pattern(
            _pattern_with_separators(digits),
            digits,
            self._forms.replace_octets,
        )
        if len(digits) == _DIGITS_OF_MAC and digits not in self._macs:
            self._add_mac(digits)

    def _add_mac(self, digits: str) -> None:
        """Add a MAC address, the GUIDs that are made of it, its short form.

        :param digits: its twelve hexadecimal digits, in small letters.
        """
        self._macs.add(digits)
        # Not by setdefault(): a field may have had the address as a name, and
        # then the function of that name is here.
        self._replace[digits] = self._forms.replace_octets
        self._add_guids(digits)
        # Some switches write no leading zeros: "0:1b:2:…". If no digit is
        # left out, the short form is the address itself.
        short = _write_mac_without_leading_zeros(digits)
        digits_left = len(short) - short.count(':')
        if digits_left < _DIGITS_OF_MAC:
            replacement = _write_mac_without_leading_zeros(
                self._forms.replace_octets(digits)
            )
            replace_short = functools.partial(
                _in_same_case, replacement=replacement
            )
            self._add_pattern(
                pattern=short, key=short, replace=replace_short, edge=Edge.WORD
            )

    def _add_guids(self, mac: str) -> None:
        """Add the GUIDs that are made of a MAC address.

        For example, 525400123456 gives 525400 fffe 123456 and, with a bit
        inverted as in IPv6, 505400 fffe 123456.

        :param mac: twelve hexadecimal digits, in small letters.
        """
        head = mac[:6]
        tail = mac[6:]
        # The bit of locally administered addresses.
        first_octet = int(head[:2], 16) ^ 2
        inverted_head = f'{first_octet:02x}{head[2:]}'
        heads = (head, inverted_head)
        replace = functools.partial(self._replace_guid, mac)
        for start in heads:
            for filling in _EUI_64_FILLINGS:
                # If the GUID was added before its MAC address, the function
                # that it has would not match the replaced address.
                self._replace[start + filling + tail] = replace
        fillings = '|'.join(map(_pattern_with_separators, _EUI_64_FILLINGS))
        for start in heads:
            pattern = _ANY_SEPARATORS.join(
                (
                    _pattern_with_separators(start),
                    f'(?:{fillings})',
                    _pattern_with_separators(tail),
                )
            )
            # The key is that of any filling: all have their function now.
            self._add_pattern(
                pattern, start + _EUI_64_FILLINGS[0] + tail, replace
            )

    def _replace_guid(self, mac: str, original: str) -> str:
        """Replace a GUID by the GUID of the replaced MAC address.

        A GUID has four more digits in the middle of the MAC address: one of
        525400123456 is 525400 fffe 123456. If the MAC address is replaced by
        525400abcdef, the GUID is replaced by 525400 fffe abcdef.

        :param mac: twelve hexadecimal digits, in small letters.
        :param original: the GUID, in any notation.
        """
        replacement = self._forms.replace_octets(mac)
        digits = _hex_digits_of(original)
        # IPv6 inverts a bit of the first octet: 52 becomes 50. If the original
        # has the bit inverted, the replacement gets it inverted too.
        inverted_bit = int(digits[:2], 16) ^ int(mac[:2], 16)
        first_octet = int(replacement[:2], 16) ^ inverted_bit
        filling = digits[6:10]
        guid = f'{first_octet:02x}{replacement[2:6]}{filling}{replacement[6:]}'
        return _lay_over(original, guid)

    def add_wwn(self, text: str) -> None:
        """Add a WWN: hexadecimal digits, perhaps after a prefix.

        Zeros and numbers that are too short for a WWN identify nothing.

        :param text: such as ``0x5002538e40a1b2c3``, or one after ``eui.``.
        """
        digits = re.sub(r'^(0x|naa\.|eui\.)', '', lower_ascii(text))
        if len(digits) >= _DIGITS_OF_MAC and set(digits) != {'0'}:
            self._add_pattern(
                _pattern_with_separators(digits), digits, self._replace_wwn
            )

    def _replace_wwn(self, written: str) -> str:
        """Replace a WWN, and keep its separators and capitals.

        :param written: such as ``50:02:53:8E:40:A1:B2:C3``.
        """
        replacement = self._forms.wwn(_hex_digits_of(written))
        return _lay_over(written, replacement)

    def add_address(self, text: str) -> None:
        """Add an IP address, also in notations that look like no address.

        For example, of 10.0.0.1 these are ``0a000001``, ``167772161``,
        ``010.000.000.001`` and ``10-0-0-1``. A text that is no address, and an
        address that identifies nobody, such as a netmask, is not added.

        :param text: perhaps with a prefix length or a zone.
        """
        parsed = address.parse(re.split('[/%]', text)[0])
        if parsed is None or address.is_common(parsed):
            return
        packed = parsed.packed.hex()
        if isinstance(parsed, ipaddress.IPv6Address):
            self._add_pattern(
                pattern=packed, key=packed, replace=self._replace_packed
            )
            return
        # 10.0.0.1 and 010.000.000.001.
        padded = '.'.join(f'{part:03}' for part in parsed.packed)
        for host in (str(parsed), padded):
            # In host names, other separators stand between the four numbers
            # of an address: "ip-10-0-0-1".
            for separator in '.-_':
                quad = host.replace('.', separator)
                self._add_pattern(
                    pattern=re.escape(quad),
                    key=quad,
                    replace=self._forms.quad,
                    edge=Edge.QUAD,
                )
        self._add_pattern(
            pattern=packed,
            key=packed,
            replace=self._replace_packed,
            edge=Edge.WORD,
        )
        # As one number, 10.0.0.0 is 167772160, which is also 160 MiB in bytes.
        # Addresses that end in 0 are not looked for as numbers: a size of
        # memory would be replaced.
        if parsed.packed[-1]:
            number = str(int(parsed))
            self._add_pattern(
                pattern=number,
                key=number,
                replace=self._replace_decimal,
                edge=Edge.NUMBER,
            )

    def add_dashed(self, text: str) -> None:
        """Add an IPv4 address such as ``10-0-0-1`` or ``10_0_0_1``."""
        self.add_address(re.sub('[-_]', '.', text))

    def add_reverse(self, name: str) -> None:
        """Add the address in the name of a reverse zone.

        :param name: e.g. ``1.0.0.10.in-addr.arpa``.
        """
        host = address.from_reverse(name)
        if host is not None and '/' not in host:
            self.add_address(host)

    def _replace_packed(self, written: str) -> str:
        """Replace an IP address that is written in hexadecimal digits.

        :param written: also with separators, if another field of the machine
            has the same digits as a long address of hardware.
        """
        octets = bytes.fromhex(_hex_digits_of(written))
        replacement = self._forms.packed_address(octets).hex()
        return _lay_over(written, replacement)

    def _replace_decimal(self, written: str) -> str:
        """Replace an IPv4 address that is written as one decimal number.

        :param written: such as ``167772161``, which is 10.0.0.1.
        """
        # A serial number of the same digits may stand in groups: 2026-11-25.
        digits_alone = re.sub('[^0-9]', '', written)
        octets = int(digits_alone).to_bytes(4)
        return str(int.from_bytes(self._forms.packed_address(octets)))

    def add_uuid(self, text: str) -> None:
        """Add a UUID, which may also stand without dashes."""
        digits = lower_ascii(text).replace('-', '')
        if len(set(digits)) > 1:
            self._add_pattern(
                _pattern_with_separators(digits), digits, self._replace_uuid
            )

    def _replace_uuid(self, written: str) -> str:
        """Replace a UUID, and keep its dashes and capitals.

        :param written: 32 hexadecimal digits with any separators.
        """
        replacement = self._forms.uuid(_hex_digits_of(written))
        return _lay_over(written, replacement)

    def keep(self, word: str) -> None:
        """Keep a word in all texts: it is never added as a name.

        A name that was added before is still replaced.

        :param word: such as ``eth0``, in any case.
        """
        self._kept.add(lower_ascii(word))

    def keep_in_groups(self, text: str) -> None:
        """Keep a model or a version where a name has its letters and digits.

        Names that are added later are not looked for in such groups.

        :param text: such as "DL380 Gen10", where the host is "dl380-gen10".
        """
        self._kept_in_groups.add(
            _NO_LETTER_OR_DIGIT.sub('', lower_ascii(text))
        )

    def find(self, text: str) -> Iterator[ReplacedSpan]:
        """Yield the places of known identifiers in a text, from left to right.

        An identifier is found in any notation and in any case. All of them
        must be added before the first call, which compiles the pattern.
        """
        # Patterns are for small letters. The text in small letters is as long,
        # so that an identifier has the same place in both texts.
        lowered = lower_ascii(text)
        for match in self._pattern.finditer(lowered):
            original = text[match.start() : match.end()]
            replace = self._replace.get(match[0])
            if replace is None:
                # It stands with separators: 52:54:00:12:34:56.
                unsplit = _NO_LETTER_OR_DIGIT.sub('', match[0])
                replace = self._replace.get(unsplit)
            if replace is not None:
                yield ReplacedSpan(*match.span(), replace(original))

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The pattern that matches where any identifier stands."""
        return alternatives.compile_any(self._patterns)

    def replace_name(self, text: str) -> str | None:
        """Replace a text that is a known name or MAC address as a whole.

        :returns: None for any other text.
        """
        if lower_ascii(text) in self._macs:
            return self._forms.replace_octets(text)
        return self._names.get(text)

    def replace_number(self, number: int) -> int | None:
        """Replace a known serial number; return None for other numbers.

        A machine may send the serial number "20261125" as a number, too.
        """
        text = str(number)
        # A shorter number is rather a count or a size.
        if len(text) < _MIN_NUMBER_DIGITS or text not in self._names:
            return None
        return self._forms.integer(number)


def lower_ascii(text: str) -> str:
    """Return a text of the same length in small letters.

    Only letters of ASCII are changed.
    """
    # lower() may make several characters of a character outside of ASCII.
    if text.isascii():
        return text.lower()
    return text.translate(_ASCII_LOWER)


def _octets_as_hex(text: str) -> str:
    """Return the octets of a text in hexadecimal: ``64622d37`` of ``db-7``."""
    # JSON may have half of a surrogate pair, which is no text in UTF-8.
    return text.encode(errors='surrogatepass').hex()


def _hex_digits_of(text: str) -> str:
    """Return the hexadecimal digits of a text: ``5254`` of ``52:54``.

    Letters are small in the result.
    """
    return re.sub('[^0-9a-f]', '', lower_ascii(text))


def _is_mixed(text: str) -> bool:
    """Return whether a text has both letters and digits, as ``db7`` has."""
    has_digits = any(map(str.isdigit, text))
    has_letters = any(map(str.isalpha, text))
    return has_digits and has_letters


def _write_mac_without_leading_zeros(mac: str) -> str:
    """Write a MAC address without leading zeros: ``0:1b:2:a:b:c``.

    :param mac: its twelve hexadecimal digits, here ``001b020a0b0c``.
    """
    pairs = re.findall('..', mac)
    return ':'.join(pair.removeprefix('0') for pair in pairs)


def _split_like(text: str, replacement: str) -> str:
    """Divide a replacement as a text is divided.

    For example, ``AB-12 3`` and ``XY789`` give ``XY-78 9``.

    :param replacement: as many letters and digits as the text has.
    """
    remaining = iter(replacement)
    characters = []
    for character in text:
        if not _NO_LETTER_OR_DIGIT.match(character):
            character = next(remaining)
        characters.append(character)
    return ''.join(characters)


def _lay_over(text: str, replacement: str) -> str:
    """Write digits with the separators and the capitals of a text.

    For example, ``52:54:0A`` and ``0a1b2c`` give ``0A:1B:2C``.
    """
    return _in_same_case(text, notation.lay_over(text, replacement))


def _in_same_case(text: str, replacement: str) -> str:
    """Write a replacement in capitals if a text is in capitals."""
    if text.isupper():
        return replacement.upper()
    return replacement


def _pattern_with_separators(digits: str) -> str:
    """Return a pattern for digits that may have separators between pairs.

    It matches ``5254``, ``52:54`` and ``52 54`` if the digits are ``5254``.
    """
    return _ANY_SEPARATORS.join(re.findall('..?', digits))
