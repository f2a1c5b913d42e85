# SPDX-License-Identifier: Apache-2.0

"""Identifiers by their form: each is replaced by another of the same form.

Nothing is kept: whoever has the key gets the same replacement again, and what
differs stays different.
"""

from collections.abc import Sequence
import functools
import hmac
import ipaddress
import re
import string
import uuid

_HEX_WORD = re.compile(r'(?=.*[0-9])(?=.*[a-fA-F])'
                       r'(?:[0-9a-f]{8,}|[0-9A-F]{8,})')
_CLASSES = (('d', string.digits), ('l', string.ascii_lowercase),
            ('u', string.ascii_uppercase))
_HEX = {'h': string.hexdigits[:16], 'H': string.digits + 'ABCDEF'}
_EMPTY_UUIDS = {'0' * 32, 'f' * 32}
_UUID_KEPT = (12, 16)
"""Places of the digits that say what kind of UUID it is."""

_LOCALLY_ADMINISTERED = 0x02
_QEMU = 0x525400
_GUID_FILLINGS = (0x0300, 0xfffe, 0xffff)
"""The middle of an EUI-64 that was made of a MAC address."""

_NOT_PUBLIC = [ipaddress.ip_network(network) for network in (
    '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16',
    '100.64.0.0/10', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24',
    '198.18.0.0/15', 'fe80::/64', 'fd00::/8', 'fc00::/8', '2001:db8::/32')]
"""Networks that an address stays in: many sites use the same."""

_CACHED = 65536
_LOOKED_BACK = 128

_IPV4 = 32
_RESERVED_IPV4 = 0xf << 28
_LOCAL_IPV6 = 0xfd << 120


class Forms:
    """Replaces identifiers, the same one always by the same one.

    :param key: secret; another key gives other replacements.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._digits = functools.lru_cache(_CACHED)(self._shifted)

    def _shifted(self, digits: Sequence[int], bases: Sequence[int],
                 domain: str, prefix: bool = False) -> list[int]:
        """Shift each digit by a number made of the key and the other digits.

        Two numbers never become one, as each shift can be undone, and the
        last digit is always another one.

        :param bases: how many values each digit may have.
        :param domain: numbers of different names are shifted differently.
        :param prefix: whether numbers that begin alike still do.
        """
        key = hmac.digest(self._key, repr((domain, bases)).encode(), 'sha256')
        made = [_shift(key, place, digits, bases)
                for place in range(len(digits))]
        if not prefix:
            # Once more from behind: the first digits depend on the last ones.
            made.reverse()
            bases = bases[::-1]
            key = hmac.digest(key, b'back', 'sha256')
            for place in range(1, len(made)):
                made[place] = _shift(key, place, made, bases)
            made.reverse()
        return made

    def octets(self, text: str) -> str:
        """Replace a MAC address, or a longer one of pairs of digits.

        The vendor's part stays, so that rules can still ask for it.

        :param text: at least six pairs of hexadecimal digits, with anything
            between them.
        """
        octets = bytes.fromhex(re.sub('[^0-9A-Fa-f]', '', text))
        if len(set(octets)) == 1 and octets[0] in (0, 0xff):
            return text
        # A type may come first, as in the BOOTIF that PXELINUX gives.
        head, mac, filling = octets[:-6], octets[-6:], b''
        if len(octets) >= 8:
            head, mac, filling = (octets[:-8], octets[-8:-5] + octets[-3:],
                                  octets[-5:-3])
        if filling and int.from_bytes(filling) not in _GUID_FILLINGS:
            made = octets[:3] + self.opaque(octets[3:])
        else:
            kept = 3
            if mac[0] & _LOCALLY_ADMINISTERED and (
                    int.from_bytes(mac[:3]) != _QEMU):
                kept = 1
            mac = mac[:kept] + self.opaque(mac[kept:],
                                           f'mac {mac[:kept].hex()}')
            made = head + mac[:3] + filling + mac[3:]
        digits = iter(made.hex())
        return _cased(text, ''.join(
            next(digits) if character in string.hexdigits else character
            for character in text))

    def opaque(self, octets: bytes, domain: str = 'octets') -> bytes:
        """Replace octets of unknown meaning."""
        return bytes(self._digits(octets, (256,) * len(octets), domain))

    def wwn(self, text: str) -> str:
        """Replace a WWN, EUI-64 or GUID; the vendor's part stays.

        :param text: hexadecimal digits, perhaps with ``0x``, ``naa.`` or
            ``eui.`` before them.
        """
        head = re.match(r'(?i:0x|naa\.|eui\.)?', text)
        start = head.end() if head else 0
        digits = text[start:]
        if not digits or set(digits) <= {'0'}:
            return text
        # IEEE registered and extended: a digit, then the vendor. Others
        # have two bytes before it, and an EUI nothing.
        kept = {'5': 7, '6': 7, '1': 10, '2': 10}.get(digits[0], 6)
        if text[:start].lower() == 'eui.':
            kept = 6
        if len(digits) < kept + 4:
            kept = 0
        tail = digits[kept:]
        return text[:start] + digits[:kept] + _cased(
            tail, self._hex(tail, 'wwn'))

    def _hex(self, digits: str, domain: str) -> str:
        return ''.join(f'{digit:x}' for digit in self._digits(
            tuple(int(digit, 16) for digit in digits), (16,) * len(digits),
            domain))

    def uuid(self, text: str) -> str:
        """Replace a UUID by another one of its version."""
        digits = text.replace('-', '')
        if digits.lower() in _EMPTY_UUIDS:
            return text
        free = ''.join(digit for place, digit in enumerate(digits)
                       if place not in _UUID_KEPT)
        made = self._hex(free, 'uuid')
        for place in _UUID_KEPT:
            made = made[:place] + digits[place] + made[place:]
        return _cased(text, str(uuid.UUID(made)))

    def address(self, text: str) -> str | None:
        """Replace an IP address or a network; None if it is none.

        Addresses of one network stay in one network. Private ones stay in
        their private network, public ones come into a reserved one.
        """
        host, slash, length = text.partition('/')
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return None
        if _is_common(address):
            return text
        width = address.max_prefixlen
        kept = next((network.prefixlen for network in _NOT_PUBLIC
                     if address.version == network.version
                     and address in network), 0)
        # Bit by bit, so that networks stay networks.
        bits = f'{int(address):0{width}b}'
        made = self._digits(tuple(map(int, bits[kept:])),
                            (2,) * (width - kept), f'net {bits[:kept]}', True)
        value = int(bits[:kept] + ''.join(map(str, made)), 2)
        if not kept:
            value = (value & (1 << 28) - 1 | _RESERVED_IPV4
                     if width == _IPV4
                     else value & (1 << 120) - 1 | _LOCAL_IPV6)
        if slash and int(length) < width:
            suffix = width - int(length)
            if not int(address) & (1 << suffix) - 1:
                value = value >> suffix << suffix
        return f'{type(address)(value)}{slash}{length}'

    def text(self, text: str) -> str:
        """Replace letters by letters and digits by digits.

        Parts between dots are replaced each on its own: a host has the same
        name with its domain and without it.
        """
        return '.'.join(map(self._word, text.split('.')))

    def _word(self, word: str) -> str:
        shape, alphabets = '', []
        if _HEX_WORD.fullmatch(word):
            kind = 'h' if word == word.lower() else 'H'
            shape, alphabets = kind * len(word), [_HEX[kind]] * len(word)
        else:
            for character in word:
                kind, alphabet = next(
                    ((name, characters) for name, characters in _CLASSES
                     if character in characters),
                    ('l', string.ascii_lowercase) if character.isalnum()
                    else (f'"{character}', ''))
                shape += kind
                alphabets.append(alphabet)
        replaced = [(character, alphabet) for character, alphabet
                    in zip(word, alphabets, strict=True) if alphabet]
        made = iter(self._digits(
            tuple(alphabet.find(character) if character in alphabet
                  else ord(character) % len(alphabet)
                  for character, alphabet in replaced),
            tuple(len(alphabet) for _character, alphabet in replaced), shape))
        return ''.join(alphabet[next(made)] if alphabet else character
                       for character, alphabet
                       in zip(word, alphabets, strict=True))


def _shift(key: bytes, place: int, digits: Sequence[int],
           bases: Sequence[int]) -> int:
    base = bases[place]
    if base < 2:
        return digits[place]
    before = bytes(digits[max(0, place - _LOOKED_BACK):place])
    turn = int.from_bytes(
        hmac.digest(key, place.to_bytes(4) + before, 'sha256')[:8])
    # The last digit becomes another one in any case.
    return (digits[place] + (1 + turn % (base - 1) if place == len(digits) - 1
                             else turn % base)) % base


def _is_common(address: ipaddress.IPv4Address | ipaddress.IPv6Address
                   ) -> bool:
    """Return whether an address identifies nobody, such as a netmask."""
    if (address.is_unspecified or address.is_loopback or address.is_multicast):
        return True
    if address.max_prefixlen != _IPV4:
        return False
    rest = ~int(address) & (1 << _IPV4) - 1
    return rest & rest + 1 == 0 and rest.bit_length() <= 24


def _cased(text: str, made: str) -> str:
    """Write digits as a text does: in capitals or not."""
    return made.upper() if any(
        character in 'ABCDEF' for character in text) else made
