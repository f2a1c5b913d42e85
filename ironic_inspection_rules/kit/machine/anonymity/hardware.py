# SPDX-License-Identifier: Apache-2.0

"""Replace addresses of hardware: MAC, EUI-64, GUID, WWN.

A MAC address has six octets, and the first three are the number of the vendor.
An EUI-64 has eight octets. It may be derived from a MAC address by a filling,
two octets that are put into its middle: 525400 fffe 123456 is derived from
525400123456. A WWN identifies e.g. a disk. Its first digit is its form, which
says where the number of the vendor is.
"""

import re

from ironic_inspection_rules.kit.machine.anonymity import digits

MAC = 6  # Octets.
EUI_64 = 8
_LOCALLY_ADMINISTERED = 0x02
_PREFIX_OF_QEMU = 0x525400
_GUID_FILLINGS = (b'\x03\x00', b'\xff\xfe', b'\xff\xff')
"""The two middle octets of an EUI-64 that is derived from a MAC address."""
_IPV6_FILLING = b'\xff\xfe'

_PREFIX = re.compile(r'(?i:0x|naa\.|eui\.)?')
_DIGITS_OF_VENDOR_IN_EUI = 6
_MIN_DIGITS_BEHIND_VENDOR = 4  # Fewer could be guessed.
_END_OF_VENDOR_BY_FIRST_DIGIT = {'5': 7, '6': 7, '1': 10, '2': 10}
"""Number of digits of a WWN up to the end of the vendor's number.

The key is the first digit. A WWN of the forms 5 and 6 has one digit before the
vendor's number, and a WWN of the forms 1 and 2 has four.
"""


class HardwareAddressReplacer:
    """Replaces addresses of hardware; the number of the vendor stays.

    Therefore rules can still check the vendor.
    """

    def __init__(self, numbers: digits.DigitReplacer) -> None:
        self._numbers = numbers

    def replace_octets(self, text: str) -> str:
        """Replace a MAC address or a longer address, and keep its notation.

        :param text: at least six pairs of hexadecimal digits. They may be
            separated, e.g. by colons. Separators stay, and must not be
            letters.
        """
        # The separators are removed, and put between the new digits below.
        octets = bytes.fromhex(re.sub('[^0-9A-Fa-f]', '', text))
        replacement = self._replace_address(octets).hex()
        separated = digits.lay_over(text, replacement)
        return digits.in_same_case(text, separated)

    def wwn(self, text: str) -> str:
        """Replace a WWN, EUI-64 or GUID, and keep its notation.

        A number of zeros stays, and so does a MAC address or an EUI-64 that
        has only the digit F.

        :param text: hexadecimal digits, which may be separated, and may follow
            ``0x``, ``naa.`` or ``eui.``.
        """
        prefix_length = 0
        prefix = _PREFIX.match(text)
        if prefix is not None:
            prefix_length = prefix.end()
        behind_prefix = text[prefix_length:]
        number = re.sub('[^0-9A-Fa-f]', '', behind_prefix)
        is_zero = set(number) <= {'0'}
        if not number or is_zero:
            return text
        if len(number) in (2 * MAC, 2 * EUI_64):
            replacement = self._replace_address(bytes.fromhex(number)).hex()
        else:
            replacement = self._replace_number(number)
        separated = digits.lay_over(behind_prefix, replacement)
        return text[:prefix_length] + digits.in_same_case(number, separated)

    def _replace_address(self, octets: bytes) -> bytes:
        """Replace the octets of a MAC address, an EUI-64 or a longer number.

        :param octets: at least six octets. The type of the hardware may
            precede a MAC address, and the prefix of a network precedes the
            EUI-64 in a GID.
        """
        if len(set(octets)) == 1 and octets[0] in (0, 0xFF):
            # Zeros are not an address, and ff:ff:ff:ff:ff:ff is the broadcast
            # address.
            return octets
        if len(octets) < EUI_64:
            # In PXELINUX's BOOTIF, the hardware type precedes the address:
            # 01-52-54-00-12-34-56.
            return octets[:-MAC] + self._replace_mac(octets[-MAC:])
        if len(octets) == EUI_64:
            return self._replace_eui_64(octets)
        # It may be a GID of InfiniBand, which is the prefix of a network
        # followed by the EUI-64 of a port.
        head = octets[:-EUI_64]
        tail = octets[-EUI_64:]
        if tail[3:5] in _GUID_FILLINGS:
            return head + self._replace_eui_64(tail)
        return bytes.fromhex(self._replace_number(octets.hex()))

    def _replace_mac(self, mac: bytes) -> bytes:
        """Replace the octets of a MAC address that follow the vendor's octets.

        For example, ``00:1b:21`` in 00:1b:21:0a:0b:0c is the vendor, and
        stays. A locally administered address has no vendor, so all octets but
        the first are replaced. QEMU's addresses are local, too, but keep their
        prefix 52:54:00, because rules may check it.
        """
        vendor_length = 3
        is_local = mac[0] & _LOCALLY_ADMINISTERED
        if is_local and int.from_bytes(mac[:3]) != _PREFIX_OF_QEMU:
            vendor_length = 1
        vendor = mac[:vendor_length]
        behind_vendor = self._numbers.opaque(
            mac[vendor_length:], f'mac {vendor.hex()}'
        )
        return vendor + behind_vendor

    def _replace_eui_64(self, octets: bytes) -> bytes:
        """Replace an EUI-64 by the EUI-64 of the replaced MAC address.

        The EUI-64 525400 fffe 123456 has two octets in the middle of the MAC
        address 525400123456. Both are replaced in the same way, so that they
        still belong together. In a WWN of the forms 1 and 2, a MAC address
        follows two octets. Any other EUI-64 is replaced as a number.
        """
        filling = octets[3:5]
        if filling in _GUID_FILLINGS:
            mac = octets[:3] + octets[5:]
            is_local = mac[0] & _LOCALLY_ADMINISTERED != 0
            # IPv6 inverts a bit of the MAC address. It is inverted back before
            # the address is replaced, and inverted again in the replacement.
            is_inverted = filling == _IPV6_FILLING and is_local
            if is_inverted:
                mac = _invert_local_bit(mac)
            replacement = self._replace_mac(mac)
            if is_inverted:
                replacement = _invert_local_bit(replacement)
            return replacement[:3] + filling + replacement[3:]
        if octets[0] >> 4 in (1, 2):
            # This is the first format of the IEEE: two octets, then a MAC
            # address.
            return octets[:2] + self._replace_mac(octets[2:])
        return bytes.fromhex(self._replace_number(octets.hex()))

    def _replace_number(self, number: str) -> str:
        """Replace the digits of a number that follow the number of its vendor.

        In the WWN ``5002538e40a1b2c3`` the vendor is ``002538``, which follows
        the 5 of the form. If the first digit is not of a form, the first six
        digits are the vendor. If fewer than four digits follow the vendor,
        they could be guessed, so all digits are replaced.
        """
        vendor_length = _END_OF_VENDOR_BY_FIRST_DIGIT.get(
            number[0], _DIGITS_OF_VENDOR_IN_EUI
        )
        if len(number) < vendor_length + _MIN_DIGITS_BEHIND_VENDOR:
            vendor_length = 0
        behind_vendor = self._numbers.hexadecimal(
            number[vendor_length:], 'wwn'
        )
        return number[:vendor_length].lower() + behind_vendor


def _invert_local_bit(mac: bytes) -> bytes:
    """Invert the bit that says that a MAC address is locally administered.

    For example, 52:54:00:12:34:56 becomes 50:54:00:12:34:56.
    """
    return bytes([mac[0] ^ _LOCALLY_ADMINISTERED]) + mac[1:]
