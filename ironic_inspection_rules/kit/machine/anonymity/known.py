# SPDX-License-Identifier: Apache-2.0

"""The identifiers of a machine, which are replaced wherever they occur.

If some field of a machine has a serial number, a name or an address, all other
texts of the machine are searched for it, in every notation that is common. For
example, the MAC address 52:54:00:12:34:56 is also found as ``525400123456``
and as ``01-52-54-00-12-34-56``.

An identifier is stored as patterns and keys. A pattern is a part of the
regular expression that finds it. A key is the text that was found, in
lowercase and perhaps without separators. It leads to the function that
replaces the text.
"""

from collections.abc import Callable, Iterator
import functools
import ipaddress
import operator
import re
import string
from typing import NamedTuple

from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import alternatives
from ironic_inspection_rules.kit.machine.anonymity import digits as notation
from ironic_inspection_rules.kit.machine.anonymity import field
from ironic_inspection_rules.kit.machine.anonymity import form

_MIN_NAME_LENGTH = 4
"""Least length of a name; texts contain shorter words by chance."""

_MIN_MIXED_LENGTH = 3
"""Least length of a name with letters and digits, such as ``db7``."""

_MIN_ANYWHERE_LENGTH = 8
"""Least length of a name that is also replaced between other letters, e.g. in
``SNCZ3409XK7Q``."""

_MAX_SPLIT_LENGTH = 100
"""Longest name that is also searched for in groups. A machine may send a very
long text, and compiling a pattern of that length would take seconds."""

_MIN_SPLIT_DIGITS = 3
"""Least number of digits for a lowercase name to be searched for in groups
with separators other than dashes."""

_MIN_NUMBER_DIGITS = 6
"""Least number of digits for a number in the data to be taken for a serial
number."""

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
"""Words that occur in the data of any machine, and are never taken for a
name."""

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_EUI_64_FILLINGS = ('fffe', 'ffff', '0300')
"""The middle digits of an EUI-64 that is derived from a MAC address."""

_DIGITS_OF_MAC = 12
_DIGITS_OF_EUI_64 = 16

_NUMBER = re.compile('[0-9.,]+')
_ANY_SEPARATORS = '[^0-9a-z]{0,3}'
"""Separators between the groups of an identifier, e.g. in ``CZ34 - 09XK``."""
_DASH_OR_NOTHING = '-?'
_NO_LETTER_OR_DIGIT = re.compile('[^0-9A-Za-z]')
_HEX_DIGITS = re.compile('[0-9a-f]+')

Edge = alternatives.Edge
Replacing = Callable[[str], str]


class ReplacedSpan(NamedTuple):
    """The place of an identifier in a text, and its replacement.

    :ivar start: the index of its first character.
    :ivar end: the index after its last character.
    :ivar replacement: the replacement, in the notation of the identifier.
    """

    start: int
    end: int
    replacement: str


class KnownIdentifiers:
    """The identifiers of a machine, and their replacements.

    :param forms: replaces identifiers of a known form, such as addresses.
    :param new_name: a function that returns the replacement of a name.
    """

    def __init__(self, forms: form.FormReplacer, new_name: Replacing) -> None:
        self._forms = forms
        self._new_name = new_name
        # Replacements by name. The name is in the notation in which it was
        # added.
        self._names: dict[str, str] = {}
        # The digits of MAC addresses.
        self._macs: set[str] = set()
        # Lowercase words that are not names, such as "eth0".
        self._excluded_words: set[str] = set()
        # The letters and digits of models and versions: "dl380gen10".
        self._models: set[str] = set()
        # The patterns that find() searches for in the lowercase text, by the
        # characters that must not surround a match; each with one of its keys.
        self._patterns: dict[Edge, dict[str, str]] = {
            edge: {} for edge in Edge
        }
        # Functions that replace a match. The key is the match in lowercase, or
        # its digits without separators.
        self._replace: dict[str, Replacing] = {}

    def add_name(self, text: str) -> None:
        """Add a serial number, or the name of a host.

        For the host ``node-7.rack.example.com``, the names ``node-7`` and
        ``rack.example.com`` are also added. A text that may mean something
        else in other places, such as ``disk`` or "Not Specified", is not
        added.
        """
        if field.says_nothing(text) or not self._is_name(text):
            return
        self._add_word(text, self._new_name(text))
        # The part before the first dot is the name of the host.
        host, _dot, domain = text.partition('.')
        # Addresses and versions have only numbers after the first dot.
        is_numeric = re.fullmatch(r'[\d.]*', domain) is not None
        if '.' in domain and not is_numeric:
            self._add_word(domain, self._new_name(domain))
        if self._is_name(host) and not host.isdecimal():
            self._add_word(host, self._new_name(host))

    def _is_name(self, text: str) -> bool:
        """Return whether a text names the machine wherever it occurs.

        A short text, the name of a field such as ``disk``, and an excluded
        word such as ``eth0`` do not, because they mean something else in other
        places.
        """
        shortest = _MIN_NAME_LENGTH
        if _is_mixed(text):
            shortest = _MIN_MIXED_LENGTH
        if len(text) < shortest:
            return False
        lowered = lower_ascii(text)
        if lowered in _FIELD_NAMES:
            return False
        return lowered not in self._excluded_words

    def _add_word(self, text: str, replacement: str) -> None:
        """Add the patterns that find a name in texts, with its replacement.

        A text may write the serial number ``CZ3409XK7Q`` as it is, in groups
        such as ``CZ34-09XK-7Q``, or as the hexadecimal digits of its octets,
        ``435a33343039584b3751``. The last two notations are only added for
        names that are long enough not to occur by chance.

        :param text: the name as the inventory has it.
        :param replacement: the text that replaces the name everywhere.
        """
        self._names[text] = replacement
        lowered = lower_ascii(text)
        # The less likely it is that a text has the name by chance, the fewer
        # restrictions are put on the surrounding characters.
        edge = Edge.WORD
        if _NUMBER.fullmatch(text):
            edge = Edge.NUMBER
        elif len(text) >= _MIN_ANYWHERE_LENGTH and _is_mixed(text):
            edge = Edge.ANYWHERE
        replace = functools.partial(self._replace_name, text)
        self._add_pattern(
            pattern=re.escape(lowered), key=lowered, replace=replace, edge=edge
        )
        if _may_be_in_groups(text, replacement):
            separators = _ANY_SEPARATORS
            if self._is_like_words(text):
                separators = _DASH_OR_NOTHING
            unsplit = _letters_and_digits_of(text)
            # The first group must have at least two characters, because "1 2 3
            # 4 5 6 7 8" is a list.
            in_groups = unsplit[0] + separators.join(unsplit[1:])
            self._add_pattern(
                pattern=in_groups, key=unsplit, replace=replace, edge=edge
            )
        # Longer numbers contain the hexadecimal digits of a shorter name by
        # chance.
        if len(text) < _MIN_NAME_LENGTH:
            return
        # LLDP and NVMe write some texts as hexadecimal digits.
        replace_hex = functools.partial(
            _in_same_case, replacement=_octets_as_hex(replacement)
        )
        for name in (text, lowered):
            digits = _octets_as_hex(name)
            self._add_pattern(pattern=digits, key=digits, replace=replace_hex)

    def _is_like_words(self, text: str) -> bool:
        """Return whether a name, if written in groups, may mean a model.

        If blanks may separate its parts, the host ``controller-0`` matches any
        first controller, and ``dl380-gen10`` may match the model of the
        machine. Serial numbers are recognized by their capitals or by several
        digits.
        """
        digits = sum(map(str.isdigit, text))
        if digits < _MIN_SPLIT_DIGITS and not text.isupper():
            return True
        unsplit = _letters_and_digits_of(text)
        return any(unsplit in model for model in self._models)

    def _replace_name(self, name: str, original: str) -> str:
        """Return the replacement of a name, written as the name is in a text.

        For example, if ``AB1287YZ5M`` replaces ``CZ3409XK7Q``, the replacement
        of ``cz34-09xk-7q`` is ``ab12-87yz-5m``.

        :param name: the name as it was added.
        :param original: the name as it is in the text, e.g. in capitals, in
            lowercase or in groups.
        """
        if original in self._names:
            # The text has the name as some field has it.
            return self._names[original]
        replacement = self._names[name]
        new_characters = _NO_LETTER_OR_DIGIT.sub('', replacement)
        old_characters = _NO_LETTER_OR_DIGIT.sub('', original)
        if len(old_characters) == len(new_characters):
            replacement = _split_like(original, new_characters)
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

        If a key has a function already, that function stays.

        :param pattern: a regular expression for lowercase texts.
        :param key: the key by which :meth:`find` looks up the function: the
            text that the pattern matches, such as ``db-7``, or the same text
            without separators, such as ``525400123456``.
        :param edge: the characters that must not surround the identifier.
        """
        self._patterns[edge][pattern] = key
        self._replace.setdefault(key, replace)

    def add_octets(self, text: str) -> None:
        """Add a MAC address, an EUI-64 or a longer address, in any notation.

        For a MAC address, the GUIDs derived from it are also added, and the
        short form without leading zeros.

        :param text: the address, such as ``52:54:00:12:34:56`` or
            ``5254.0012.3456``.
        """
        digits = _hex_digits_of(text)
        # The four digits in the middle of the last sixteen. They say whether
        # the digits around them are a MAC address.
        filling = digits[-10:-6]
        if len(digits) < _DIGITS_OF_EUI_64:
            # In the BOOTIF of PXELINUX, the hardware type precedes the
            # address: 01-52-54-00-12-34-56.
            digits = digits[-_DIGITS_OF_MAC:]
        elif filling in _EUI_64_FILLINGS:
            # The last sixteen digits are an EUI-64 that is derived from a MAC
            # address. Digits before it, such as the prefix of a GID, belong to
            # a network and not to a port.
            digits = digits[-_DIGITS_OF_EUI_64:]
        is_one_digit_repeated = len(set(digits)) == 1
        if is_one_digit_repeated:
            # Such an address, e.g. only zeros or the broadcast address, does
            # not belong to a machine.
            return
        self._add_pattern(
            _pattern_with_separators(digits),
            digits,
            self._forms.replace_octets,
        )
        if len(digits) == _DIGITS_OF_MAC and digits not in self._macs:
            self._add_mac(digits)

    def _add_mac(self, digits: str) -> None:
        """Add a MAC address, the GUIDs derived from it, and its short form.

        :param digits: the twelve hexadecimal digits of the address, in
            lowercase.
        """
        self._macs.add(digits)
        # The function must be overwritten: if a field has the same address as
        # a name, the key has the function of that name.
        self._replace[digits] = self._forms.replace_octets
        self._add_guids(digits)
        # Some switches omit leading zeros: "0:1b:2:…". If the address has
        # none, the short form equals the address and is not added.
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
        """Add the GUIDs that are derived from a MAC address.

        For example, 525400123456 gives 525400 fffe 123456 and, with a bit
        inverted as in IPv6, 505400 fffe 123456.

        :param mac: the twelve hexadecimal digits of the address, in lowercase.
        """
        head = mac[:6]
        tail = mac[6:]
        # The exclusive or with 2 inverts the bit of locally administered
        # addresses.
        first_octet = int(head[:2], 16) ^ 2
        inverted_head = f'{first_octet:02x}{head[2:]}'
        replace = functools.partial(self._replace_guid, mac)
        for start in (head, inverted_head):
            for filling in _EUI_64_FILLINGS:
                guid = start + filling + tail
                # If the GUID was added before its MAC address, its present
                # function returns digits that do not match the replaced MAC
                # address.
                self._replace[guid] = replace
                self._add_pattern(
                    _pattern_with_separators(guid), guid, replace
                )

    def _replace_guid(self, mac: str, original: str) -> str:
        """Replace a GUID by the GUID of the replaced MAC address.

        A GUID has four more digits in the middle of the MAC address, e.g.
        525400 fffe 123456 for the MAC address 525400123456. If the MAC address
        is replaced by 525400abcdef, the GUID is replaced by 525400 fffe
        abcdef.

        :param mac: the twelve hexadecimal digits of the MAC address, in
            lowercase.
        :param original: the GUID, in any notation.
        """
        replacement = self._forms.replace_octets(mac)
        digits = _hex_digits_of(original)
        # IPv6 inverts a bit of the first octet: 52 becomes 50. If this bit is
        # inverted in the original, it must be inverted in the replacement,
        # too.
        inverted_bit = int(digits[:2], 16) ^ int(mac[:2], 16)
        first_octet = int(replacement[:2], 16) ^ inverted_bit
        filling = digits[6:10]
        guid = f'{first_octet:02x}{replacement[2:6]}{filling}{replacement[6:]}'
        return _lay_over(original, guid)

    def add_wwn(self, text: str) -> None:
        """Add a WWN, or a part of one, that consists of hexadecimal digits.

        Zeros are not added because they identify nothing.

        :param text: at least eight digits, such as ``0x5002538e40a1b2c3``. The
            prefix may also be ``eui.`` or ``naa.``, and the digits may be
            separated.
        """
        without_prefix = re.sub(r'^(0x|naa\.|eui\.)', '', lower_ascii(text))
        digits = _hex_digits_of(without_prefix)
        if set(digits) == {'0'}:
            return
        pattern = _pattern_with_separators(digits)
        if len(digits) >= _DIGITS_OF_MAC:
            self._add_pattern(pattern, digits, self._forms.wwn)
            return
        # Longer numbers contain so few digits by chance, so letters and digits
        # must not surround a match. Therefore the digits after "0x" need a
        # pattern of their own, in which "0x" is a part of the match.
        for prefix in ('', '0x'):
            self._add_pattern(
                pattern=prefix + pattern,
                key=prefix + digits,
                replace=self._forms.wwn,
                edge=Edge.WORD,
            )

    def add_name_for_wwn(self, text: str) -> None:
        """Add the name that a disk without a WWN has in its place.

        For example, ``t10.ATA SAMSUNG S4X1NJ0N``. The name is only searched
        for as a whole. A text of fewer than eight characters is not added,
        because other texts contain it by chance.
        """
        is_long = len(text) >= _MIN_ANYWHERE_LENGTH
        if is_long and not field.says_nothing(text):
            self._add_word(text, self._new_name(text))

    def add_address(self, text: str) -> None:
        """Add an IP address, including notations that do not look like one.

        For example, 10.0.0.1 may be written ``0a000001``, ``167772161``,
        ``010.000.000.001`` and ``10-0-0-1``. A text that is not an address,
        and an address that identifies nobody, such as a netmask, is not added.

        :param text: the address, which may have a prefix length or a zone.
        """
        parsed = address.parse(re.split('[/%]', text)[0])
        if parsed is None or address.is_common(parsed):
            return
        packed = parsed.packed.hex()
        if isinstance(parsed, ipaddress.IPv6Address):
            # The usual notations of IPv6 are recognized by their form.
            self._add_pattern(
                pattern=packed, key=packed, replace=self._replace_packed
            )
            return
        # 10.0.0.1 and 010.000.000.001.
        padded = '.'.join(f'{part:03}' for part in parsed.packed)
        for host in (str(parsed), padded):
            # In host names, other separators divide the four numbers of an
            # address: "ip-10-0-0-1".
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
        # Addresses that end in 0 are not searched for as numbers, because that
        # could replace a memory size.
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
        """Add the address that is encoded in the name of a reverse zone.

        :param name: the name, e.g. ``1.0.0.10.in-addr.arpa``.
        """
        host = address.from_reverse(name)
        if host is not None and '/' not in host:
            self.add_address(host)

    def _replace_packed(self, written: str) -> str:
        """Replace an IP address that is written as hexadecimal digits.

        :param written: the digits. They may have separators if another field
            of the machine has the same digits as a long hardware address.
        """
        octets = bytes.fromhex(_hex_digits_of(written))
        replacement = self._forms.packed_address(octets).hex()
        return _lay_over(written, replacement)

    def _replace_decimal(self, written: str) -> str:
        """Replace an IPv4 address that is written as one decimal number.

        :param written: the number, such as ``167772161`` for 10.0.0.1.
        """
        # The digits may be in groups, as in 2026-11-25, if a serial number has
        # the same digits.
        digits_alone = re.sub('[^0-9]', '', written)
        octets = int(digits_alone).to_bytes(4)
        return str(int.from_bytes(self._forms.packed_address(octets)))

    def add_uuid(self, text: str) -> None:
        """Add a UUID, which is also found without its dashes."""
        digits = lower_ascii(text).replace('-', '')
        if len(set(digits)) > 1:
            self._add_pattern(
                _pattern_with_separators(digits), digits, self._replace_uuid
            )

    def _replace_uuid(self, written: str) -> str:
        """Replace a UUID; dashes and capitals stay.

        :param written: 32 hexadecimal digits with any separators.
        """
        replacement = self._forms.uuid(_hex_digits_of(written))
        return _lay_over(written, replacement)

    def exclude_word(self, word: str) -> None:
        """Exclude a word from the names that are added from now on.

        If the word was added as a name before, it is still replaced.

        :param word: the word, such as ``eth0``, in any case.
        """
        self._excluded_words.add(lower_ascii(word))

    def exclude_model(self, text: str) -> None:
        """Never take a model or a version for a name written in groups.

        For example, after the model "DL380 Gen10" was excluded, a host name
        "dl380-gen10" that is added later is not found in "DL380 Gen10".
        """
        self._models.add(_letters_and_digits_of(text))

    def find(self, text: str) -> Iterator[ReplacedSpan]:
        """Yield the places of known identifiers in a text, from left to right.

        Identifiers are found in any notation and in any case. All of them must
        be added before the first call, because it compiles the pattern.
        """
        # Patterns match lowercase. The lowercase text has the same length, so
        # that an identifier has the same place in both texts.
        lowered = lower_ascii(text)
        for match in self._pattern.finditer(lowered):
            original = text[match.start() : match.end()]
            replace = self._replace.get(match[0])
            if replace is None:
                # The match has separators, as in 52:54:00:12:34:56.
                unsplit = _NO_LETTER_OR_DIGIT.sub('', match[0])
                replace = self._replace.get(unsplit)
            if replace is not None:
                yield ReplacedSpan(*match.span(), replace(original))

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The pattern that matches every identifier."""
        return alternatives.compile_any(
            [*self._patterns_beyond_names(), *self._patterns.items()]
        )

    def _patterns_beyond_names(self) -> list[tuple[Edge, list[str]]]:
        """Return the patterns of identifiers that begin with a shorter name.

        If a name is found first, the rest of the longer identifier stays
        readable. For example, the serial number ``5254001a`` is the beginning
        of the MAC address ``5254001abbcc``. Only names of hexadecimal digits
        are the beginning of an address.

        :returns: lists of one pattern, the pattern of the longest identifier
            first, each with the characters that must not surround a match.
        """
        unsplit_names = map(_letters_and_digits_of, self._names)
        beginnings = tuple(filter(_HEX_DIGITS.fullmatch, unsplit_names))
        beyond = []
        for edge, keys in self._patterns.items():
            for pattern, key in keys.items():
                unsplit = _letters_and_digits_of(key)
                # Without its last character, a name does not begin with
                # itself.
                if unsplit[:-1].startswith(beginnings):
                    beyond.append((len(unsplit), pattern, edge))
        # The pattern is part of the sort key, so that the order is always the
        # same.
        beyond.sort(key=operator.itemgetter(0, 1), reverse=True)
        return [(edge, [pattern]) for _length, pattern, edge in beyond]

    def replace_name(self, text: str) -> str | None:
        """Replace a text if all of it is a known name or MAC address.

        The name must be written as it was added, and the MAC address without
        separators.

        :returns: None for any other text.
        """
        if lower_ascii(text) in self._macs:
            return self._forms.replace_octets(text)
        return self._names.get(text)

    def replace_number(self, number: int) -> int | None:
        """Replace a known serial number; return None for other numbers.

        This is needed because a machine may send the serial number "20261125"
        as a number, too.
        """
        text = str(number)
        # A shorter number is more likely a count or a size.
        if len(text) < _MIN_NUMBER_DIGITS or text not in self._names:
            return None
        return self._forms.integer(number)


def lower_ascii(text: str) -> str:
    """Return a text in lowercase, without a change of its length.

    Only ASCII letters are changed.
    """
    # str.lower() may turn a character outside of ASCII into several
    # characters.
    if text.isascii():
        return text.lower()
    return text.translate(_ASCII_LOWER)


def _octets_as_hex(text: str) -> str:
    """Return a text's octets in hexadecimal: ``64622d37`` for ``db-7``."""
    # JSON may contain half of a surrogate pair, which strict UTF-8 cannot
    # encode.
    return text.encode(errors='surrogatepass').hex()


def _hex_digits_of(text: str) -> str:
    """Return the hexadecimal digits of a text: ``5254`` for ``52:54``.

    Letters are lowercase in the result.
    """
    return re.sub('[^0-9a-f]', '', lower_ascii(text))


def _letters_and_digits_of(text: str) -> str:
    """Return the letters and digits of a text, in lowercase: ``cz34``."""
    return _NO_LETTER_OR_DIGIT.sub('', lower_ascii(text))


def _may_be_in_groups(name: str, replacement: str) -> bool:
    """Return whether texts are searched for a name that is written in groups.

    A label may have a serial number in groups: ``CZ34-09XK-7Q``. Such a name
    must have a digit, and must be long enough not to occur by chance.

    :param replacement: the text that replaces the name. Its characters are
        distributed over the groups, so it must have as many of them. It has
        not if the name contains an address, as in "node-10.0.0.1", because the
        replacement of an address is longer.
    """
    unsplit = _letters_and_digits_of(name)
    if unsplit.isalpha():
        return False
    if not _MIN_ANYWHERE_LENGTH <= len(unsplit) <= _MAX_SPLIT_LENGTH:
        return False
    return len(unsplit) == len(_letters_and_digits_of(replacement))


def _is_mixed(text: str) -> bool:
    """Return whether a text has both letters and digits, e.g. ``db7``."""
    has_digits = any(map(str.isdigit, text))
    has_letters = any(map(str.isalpha, text))
    return has_digits and has_letters


def _write_mac_without_leading_zeros(mac: str) -> str:
    """Write a MAC address without leading zeros: ``0:1b:2:a:b:c``.

    :param mac: the twelve hexadecimal digits, in this example
        ``001b020a0b0c``.
    """
    pairs = re.findall('..', mac)
    return ':'.join(pair.removeprefix('0') for pair in pairs)


def _split_like(text: str, replacement: str) -> str:
    """Divide a replacement into the groups that a text has.

    For example, ``AB-12 3`` and ``XY789`` give ``XY-78 9``.

    :param replacement: must have as many letters and digits as the text.
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
    """Return a replacement, in capitals if the text is in capitals."""
    if text.isupper():
        return replacement.upper()
    return replacement


def _pattern_with_separators(digits: str) -> str:
    """Return a pattern for digits that may have separators between pairs.

    For example, the pattern for ``5254`` matches ``5254``, ``52:54`` and ``52
    54``.
    """
    return _ANY_SEPARATORS.join(re.findall('..?', digits))
