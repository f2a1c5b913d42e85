# SPDX-License-Identifier: Apache-2.0

"""Addresses of hardware, made anonymous: MAC, EUI-64, GUID, WWN."""

import re

from ironic_inspection_rules.kit.machine.anonymity import digits

MAC = 6  # Octets.
EUI_64 = 8
_LOCALLY_ADMINISTERED = 0x02
_QEMU = 0x525400
_GUID_FILLINGS = (b'\x03\x00', b'\xff\xfe', b'\xff\xff')
"""The middle of an EUI-64 that was made of a MAC address."""
_IPV6_FILLING = b'\xff\xfe'

_HEAD = re.compile(r'(?i:0x|naa\.|eui\.)?')
_VENDOR_OF_EUI = 6  # Digits.
_FEWEST_COUNTED = 4  # Digits: fewer could be guessed.
_VENDORS = {'5': 7, '6': 7, '1': 10, '2': 10}
"""Digits of a WWN up to the end of the vendor's number.

IEEE registered and extended: a digit, then the vendor. Others have two bytes
before it, and an EUI nothing.
"""


class Hardware:
    """Replaces addresses of hardware; the vendor's part stays.

    So rules can still ask for the vendor.
    """

    def __init__(self, numbers: digits.Digits) -> None:
        self._numbers = numbers

    def replace_octets(self, text: str) -> str:
        """Replace a MAC address, or a longer address, in its notation.

        :param text: at least six pairs of hexadecimal digits. Separators such
            as colons may be between them; they stay, and have no letters.
        """
        octets = bytes.fromhex(re.sub('[^0-9A-Fa-f]', '', text))
        replacement = self._octets(octets).hex()
        separated = digits.laid_over(text, replacement)
        return digits.cased(text, separated)

    def wwn(self, text: str) -> str:
        """Replace a WWN, EUI-64 or GUID; zeros alone stay.

        :param text: hexadecimal digits, perhaps with ``0x``, ``naa.`` or
            ``eui.`` before them.
        """
        start = 0
        head = _HEAD.match(text)
        if head is not None:
            start = head.end()
        number = text[start:]
        if not number or set(number) <= {'0'}:
            return text
        if len(number) in (2 * MAC, 2 * EUI_64):
            replacement = self._octets(bytes.fromhex(number)).hex()
        else:
            replacement = self._number(number)
        return text[:start] + digits.cased(number, replacement)

    def _octets(self, octets: bytes) -> bytes:
        """Replace the octets of a MAC address, an EUI-64 or a number."""
        if len(set(octets)) == 1 and octets[0] in (0, 0xFF):
            # No address, or that of a broadcast.
            return octets
        # The type of the hardware may come first, as in PXELINUX's BOOTIF.
        if len(octets) < EUI_64:
            return octets[:-MAC] + self._mac(octets[-MAC:])
        if len(octets) == EUI_64:
            return self._eui_64(octets)
        # A GID, say: the prefix of a network, then the EUI-64 of a port.
        head = octets[:-EUI_64]
        tail = octets[-EUI_64:]
        if tail[3:5] in _GUID_FILLINGS:
            return head + self._eui_64(tail)
        return bytes.fromhex(self._number(octets.hex()))

    def _mac(self, mac: bytes) -> bytes:
        """Replace the octets of a MAC address that follow its vendor's.

        A locally administered address has no vendor: all but the first octet
        is replaced. QEMU's addresses are local ones, and yet begin with its
        prefix, which rules may ask for.
        """
        vendor_length = 3
        is_local = mac[0] & _LOCALLY_ADMINISTERED
        if is_local and int.from_bytes(mac[:3]) != _QEMU:
            vendor_length = 1
        vendor = mac[:vendor_length]
        counted = self._numbers.opaque(
            mac[vendor_length:], f'mac {vendor.hex()}'
        )
        return vendor + counted

    def _eui_64(self, octets: bytes) -> bytes:
        """Replace eight octets as the MAC address that they are made of.

        So the address and these octets are still those of one port. Octets
        that are made of no MAC address are replaced as a number.
        """
        filling = octets[3:5]
        if filling in _GUID_FILLINGS:
            mac = octets[:3] + octets[5:]
            inverted = 0
            if filling == _IPV6_FILLING and mac[0] & _LOCALLY_ADMINISTERED:
                # IPv6 inverts the bit: here it is set where the MAC address
                # has it not. It is turned back before the address is
                # replaced, and again in the replacement.
                inverted = _LOCALLY_ADMINISTERED
            replacement = self._mac(_with_first(mac, mac[0] ^ inverted))
            replacement = _with_first(replacement, replacement[0] ^ inverted)
            return replacement[:3] + filling + replacement[3:]
        if octets[0] >> 4 in (1, 2):
            # The IEEE's first format: two octets, then a MAC address.
            return octets[:2] + self._mac(octets[2:])
        return bytes.fromhex(self._number(octets.hex()))

    def _number(self, number: str) -> str:
        """Replace the digits of a WWN that follow its vendor's.

        Where few are left after these, which could be guessed, all are
        replaced.
        """
        vendor_length = _VENDORS.get(number[0], _VENDOR_OF_EUI)
        if len(number) < vendor_length + _FEWEST_COUNTED:
            vendor_length = 0
        counted = self._numbers.hexadecimal(number[vendor_length:], 'wwn')
        return number[:vendor_length].lower() + counted


def _with_first(octets: bytes, first: int) -> bytes:
    """Return octets with another first one."""
    return bytes([first]) + octets[1:]
