# SPDX-License-Identifier: Apache-2.0

"""Replace and read identifiers in LLDP.

A switch sends frames, which consist of elements. Ramdisks report an element
as its type and its content, in hexadecimal digits. For example, ``[5,
'73772d31']`` is an element of the type 5, the name of a system, with the
content ``sw-1``. In some types, the first octet is a subtype, which says what
the other octets are. The types and subtypes are defined by IEEE 802.1AB and by
TIA-1057 (LLDP-MED).
"""

from collections.abc import Callable
import ipaddress
import re
from typing import Any

from ironic_inspection_rules.kit.machine.anonymity import form
from ironic_inspection_rules.kit.machine.anonymity import hardware

_CHASSIS_ID = 1
_PORT_ID = 2
_PORT_DESCRIPTION = 4
_SYSTEM_NAME = 5
_DESCRIPTION = 6
_TYPES_OF_NAMES = (_PORT_DESCRIPTION, _SYSTEM_NAME)
_TYPES_OF_DESCRIPTIONS = (_PORT_DESCRIPTION, _DESCRIPTION)
_MANAGEMENT_ADDRESS = 8
_ORGANIZATION = 127

_LENGTH_WITHOUT_IDENTIFIER = {0: 0, 3: 2, 7: 4}
"""The number of octets of the elements that identify nothing, by their type:
the end, the time to live, and the capabilities."""

_SUBTYPE_OF_MAC = {_CHASSIS_ID: 4, _PORT_ID: 3}
"""The subtype that says that an ID is a MAC address, by the type of the ID."""
_SUBTYPE_OF_NETWORK_ADDRESS = {_CHASSIS_ID: 5, _PORT_ID: 4}
"""The subtype that says that an ID is a family and a network address."""
_ADDRESS_LENGTH_BY_FAMILY = {1: 4, 2: 16}
"""The number of octets of an address, by its family (1 is IPv4, 2 is IPv6)."""
_INTERFACE_LENGTH = 5
"""The number of octets behind a management address that say which interface
has it: one for the sort of number, four for the number."""

_IEEE_802_1 = bytes.fromhex('0080c2')
_IEEE_802_3 = bytes.fromhex('00120f')
_LLDP_MED = bytes.fromhex('0012bb')
_VLAN_NAME = 3
_LENGTH_BEFORE_VLAN_NAME = 3
"""The number of octets before the name of a VLAN: two for the number of the
VLAN, one for the length of the name."""
_MED_SUBTYPES_OF_NAMES = (8, 11)
"""A serial number, and an asset ID."""
_BEGINNINGS_OF_MED_NAMES = tuple(
    _LLDP_MED + bytes([subtype]) for subtype in _MED_SUBTYPES_OF_NAMES
)
_MED_SUBTYPES_OF_VERSIONS = (5, 6, 7, 9, 10)
"""Revisions of hardware, firmware and software, a manufacturer, a model."""

_MAX_LENGTH = 507
"""The most octets that can follow the subtype of an organization."""
_LENGTH_OF_NUMBERS = {
    # Numbers of VLANs.
    (_IEEE_802_1, 1): 2,
    (_IEEE_802_1, 2): 3,
    # The identity of a protocol is the beginning of its frames, after an octet
    # for the length. In a frame of a spanning tree, the MAC address of a
    # switch follows the first eight octets.
    (_IEEE_802_1, 4): 9,
    # A digest of numbers of VLANs, and the number of one.
    (_IEEE_802_1, 5): 4,
    (_IEEE_802_1, 6): 2,
    # Link aggregation.
    (_IEEE_802_1, 7): 5,
    # Congestion, bandwidths, flow control, and priorities.
    (_IEEE_802_1, 8): 2,
    (_IEEE_802_1, 9): 21,
    (_IEEE_802_1, 10): 21,
    (_IEEE_802_1, 11): 2,
    (_IEEE_802_1, 12): _MAX_LENGTH,
    # Virtual bridges, and their channels.
    (_IEEE_802_1, 13): 9,
    (_IEEE_802_1, 14): _MAX_LENGTH,
    # Speed, power, link aggregation, and the largest frame.
    (_IEEE_802_3, 1): 5,
    (_IEEE_802_3, 2): 25,
    (_IEEE_802_3, 3): 5,
    (_IEEE_802_3, 4): 2,
    # Saving of energy, more capabilities, and measurements of power.
    (_IEEE_802_3, 5): 10,
    (_IEEE_802_3, 6): 4,
    (_IEEE_802_3, 7): 2,
    (_IEEE_802_3, 8): 22,
    # Capabilities, policy, and power.
    (_LLDP_MED, 1): 3,
    (_LLDP_MED, 2): 4,
    (_LLDP_MED, 4): 3,
}
"""The most octets of numbers that identify nothing, by organization and
subtype."""

_TEXT_BY_ENCODING = {
    'utf-8': re.compile(r'[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*'),
    # Some switches do not write UTF-8. Latin-1 can decode any octets, but the
    # octets of a number are hardly ever letters only.
    'latin-1': re.compile(r'[\w \t\r\n!-~]*'),
}
"""Patterns for octets that are a text, by the encoding, which is tried in this
order."""

Replacing = Callable[[str], str]


class LldpReplacer:
    """Replaces the identifiers of a switch in LLDP.

    :param forms: replaces addresses and unknown octets.
    :param replace_name: replaces a whole text, which is a name.
    :param replace_identifiers: replaces the identifiers inside a text.
    :param replace_in_version: replaces the identifiers inside the text of a
        version, in which four numbers are not an address.
    """

    def __init__(
        self,
        forms: form.FormReplacer,
        replace_name: Replacing,
        replace_identifiers: Replacing,
        replace_in_version: Replacing,
    ) -> None:
        self._forms = forms
        self._replace_name = replace_name
        self._replace_identifiers = replace_identifiers
        self._replace_in_version = replace_in_version

    def replace_element(self, kind: int, content: str) -> str:
        """Replace the identifiers in the content of an element.

        For example, an element of type 5 with the content ``73772d31`` has the
        name ``sw-1`` of a switch. The result may be ``71682d38``, the name
        ``qh-8``.

        :param kind: the type of the element, a number.
        :param content: hexadecimal digits.
        """
        try:
            octets = bytes.fromhex(content)
        except ValueError:
            # These are not hexadecimal digits, so nothing is known about the
            # content.
            return self._replace_name(content)
        return self._replace_octets(kind, octets).hex()

    def _replace_octets(self, kind: int, octets: bytes) -> bytes:
        """Replace the identifiers in the octets of an element.

        The type of the element decides what is replaced:

        * the name of a system, or the description of a port: all of the text,
        * the description of a system: the identifiers inside the text,
        * the ID of a chassis or a port, a management address, and content that
          an organization defines: the octets that its parts and subtypes say,
        * the end, the time to live, and capabilities: nothing, unless the
          element is longer than usual,
        * an unknown type: all octets.

        :param kind: the type of the element, a number.
        """
        if not octets:
            return octets
        if kind in _TYPES_OF_NAMES:
            return self._replace_text(octets, self._replace_name)
        if kind == _DESCRIPTION:
            # The description may contain the name of the switch at any place.
            return self._replace_text(octets, self._replace_identifiers)
        if kind in _SUBTYPE_OF_MAC:
            # The first octet is the subtype of the ID, and stays.
            return octets[:1] + self._replace_id(kind, octets[0], octets[1:])
        if kind == _MANAGEMENT_ADDRESS:
            return self._replace_management_address(octets)
        if kind == _ORGANIZATION:
            # Three octets are the organization, and one is the subtype.
            rest = self._replace_organization(
                octets[:3], octets[3:4], octets[4:]
            )
            return octets[:4] + rest
        length_kept = _LENGTH_WITHOUT_IDENTIFIER.get(kind, 0)
        return self._replace_after(length_kept, octets)

    def _replace_after(self, length_kept: int, octets: bytes) -> bytes:
        """Replace octets of unknown meaning, but not the first ones.

        :param length_kept: the number of octets that stay.
        """
        unknown = self._forms.opaque(octets[length_kept:])
        return octets[:length_kept] + unknown

    def _replace_id(self, kind: int, subtype: int, octets: bytes) -> bytes:
        """Replace the ID of a chassis or a port by one of the same form.

        For example, the chassis ID ``04 885a92ec5459`` has the subtype 4,
        which says that the octets of a MAC address follow.

        :param kind: the type of the element, which is the ID of a chassis or a
            port.
        :param subtype: says what the octets are. The same number may have
            different meanings in a chassis ID and in a port ID.
        :param octets: the ID without its subtype.
        """
        if subtype == _SUBTYPE_OF_MAC[kind] and len(octets) == hardware.MAC:
            digits = self._forms.replace_octets(octets.hex())
            return bytes.fromhex(digits)
        if subtype == _SUBTYPE_OF_NETWORK_ADDRESS[kind] and octets:
            # The first octet is the family: 1 if an IPv4 address follows, 2 if
            # an IPv6 address follows.
            family = octets[0]
            address = self._replace_address(family, octets[1:])
            return octets[:1] + address
        # Any other ID is treated as text, such as the name of a port.
        return self._replace_text(octets, self._replace_name)

    def _replace_management_address(self, octets: bytes) -> bytes:
        """Replace the address in an element of a management address.

        The first octet is the length of the family and the address, the second
        is the family, and the address follows. After it come the interface and
        the OID, which stay. For example, ``05 01 0a000001 …`` has the address
        10.0.0.1: five octets, of which the first is the family 1, IPv4.
        """
        length = octets[0]
        if length == 0 or len(octets) == 1:
            # There is no family, so nothing is known about the other octets.
            return self._replace_after(1, octets)
        # The length counts the octets after itself.
        address_end = 1 + length
        address = self._replace_address(octets[1], octets[2:address_end])
        rest = octets[address_end:]
        # The interface is followed by the length of the OID, and by the OID.
        length_kept = _INTERFACE_LENGTH
        if len(rest) > _INTERFACE_LENGTH:
            length_kept = _INTERFACE_LENGTH + 1 + rest[_INTERFACE_LENGTH]
        return octets[:2] + address + self._replace_after(length_kept, rest)

    def _replace_address(self, family: int, octets: bytes) -> bytes:
        """Replace an IP address or, depending on its length, a MAC address.

        :param family: 1 for IPv4, 2 for IPv6. If the octets do not have the
            length of its addresses, the length decides.
        """
        if len(octets) == _ADDRESS_LENGTH_BY_FAMILY.get(family):
            return self._forms.packed_address(octets)
        if len(octets) == hardware.MAC:
            return bytes.fromhex(self._forms.replace_octets(octets.hex()))
        return self._forms.opaque(octets)

    def _replace_organization(
        self, organization: bytes, subtype: bytes, rest: bytes
    ) -> bytes:
        """Replace the identifiers in the content that an organization defines.

        IEEE defines numbers, which stay, and the name of a VLAN. LLDP-MED
        defines texts, numbers and places. If the organization or the subtype
        is unknown, all of the content is replaced.

        :param organization: the number of the organization, three octets.
        :param subtype: an octet whose meaning the organization defines; empty
            if the element ends before it.
        :param rest: the content after the subtype.
        """
        number = 0
        if subtype:
            number = subtype[0]
        if (organization, number) == (_IEEE_802_1, _VLAN_NAME):
            return self._replace_vlan_name(rest)
        if organization == _LLDP_MED and number in _MED_SUBTYPES_OF_NAMES:
            return self._replace_text(rest, self._replace_name)
        if organization == _LLDP_MED and number in _MED_SUBTYPES_OF_VERSIONS:
            return self._replace_text(rest, self._replace_in_version)
        # The numbers at the beginning identify nothing. All octets after them
        # are replaced.
        length_kept = _LENGTH_OF_NUMBERS.get((organization, number), 0)
        return self._replace_after(length_kept, rest)

    def _replace_vlan_name(self, octets: bytes) -> bytes:
        """Replace the name of a VLAN that follows its number and its length.

        For example, ``0065 04 64622d37`` is the VLAN 101, "db-7".
        """
        head = octets[:_LENGTH_BEFORE_VLAN_NAME]
        name = octets[_LENGTH_BEFORE_VLAN_NAME:]
        new_name = self._replace_text(name, self._replace_name)
        if len(new_name) != len(name):
            # An address in the name may have become longer or shorter. The
            # last octet of the head is the length of the name.
            head = head[:-1] + bytes([min(len(new_name), 255)])
        return head + new_name

    def _replace_text(self, octets: bytes, replace: Replacing) -> bytes:
        """Replace a text that is given as octets, and keep its encoding.

        Octets that are not a text, such as a MAC address, are replaced by as
        many other octets.

        :param replace: a function that returns the new text.
        """
        # Some switches end a text with zeros.
        text_octets = octets.rstrip(b'\0')
        encoding = _encoding_of_text(text_octets)
        if encoding is None:
            return self._forms.opaque(octets)
        replacement = replace(text_octets.decode(encoding))
        return replacement.encode(encoding) + octets[len(text_octets) :]


def is_element(value: Any) -> bool:
    """Return whether a value is an LLDP element, e.g. ``[5, '7377']``."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and type(value[0]) is int
        and isinstance(value[1], str)
    )


def read_name(kind: int, content: str) -> str | None:
    """Read the name, the serial number or the asset ID of a switch.

    For example, the element of type 5 with the content ``73772d31`` has the
    name ``sw-1``.

    :param kind: the type of the element, a number.
    :param content: hexadecimal digits.
    :returns: None if the element has none of these, or if it is not a text.
    """
    octets = _read_hex(content)
    if kind == _SYSTEM_NAME:
        return _read_text(octets)
    # The number of the organization and the subtype precede the text.
    if kind == _ORGANIZATION and octets[:4] in _BEGINNINGS_OF_MED_NAMES:
        return _read_text(octets[4:])
    return None


def read_description(kind: int, content: str) -> str | None:
    """Read the description of a switch or of its port.

    :param kind: the type of the element, a number.
    :param content: hexadecimal digits.
    :returns: None if the element has no description, or if it is not a text.
    """
    if kind not in _TYPES_OF_DESCRIPTIONS:
        return None
    return _read_text(_read_hex(content))


def read_mac(kind: int, content: str) -> str | None:
    """Read the MAC address of an element, to learn it as an identifier.

    For example, the chassis ID ``04525400123456`` has the subtype 4 and gives
    ``525400123456``.

    :param kind: the type of the element, a number.
    :param content: hexadecimal digits.
    :returns: twelve digits; None if the element has no MAC address.
    """
    octets = _read_hex(content)
    if octets and octets[0] == _SUBTYPE_OF_MAC.get(kind):
        mac = octets[1:]
    else:
        # A switch may have a MAC address as its management address.
        mac = _read_network_address(kind, octets)
    if len(mac) != hardware.MAC:
        return None
    return mac.hex()


def read_address(kind: int, content: str) -> str | None:
    """Read the network address of an element, if it is an IP address.

    For example, the management address ``05010a000001…`` has 10.0.0.1: five
    octets follow the 05, of which the first is the family 1, IPv4.

    :param kind: the type of the element, a number.
    :param content: hexadecimal digits.
    :returns: None if the element has no such address.
    """
    octets = _read_hex(content)
    packed = _read_network_address(kind, octets)
    if not packed:
        return None
    family = octets[1]
    if len(packed) != _ADDRESS_LENGTH_BY_FAMILY.get(family):
        return None
    return str(ipaddress.ip_address(packed))


def _read_network_address(kind: int, octets: bytes) -> bytes:
    """Return the octets of a network address in an element.

    In a management address, and in the ID of a chassis or a port, the address
    follows the second octet, which is its family.

    :param kind: the type of the element, a number.
    :param octets: the content of the element.
    :returns: four octets for IPv4, or another number of octets for another
        family; none if the element has no such address.
    """
    if not octets:
        return b''
    if kind == _MANAGEMENT_ADDRESS:
        # The first octet is the length of the family and the address that
        # follow it.
        return octets[2 : 1 + octets[0]]
    if octets[0] == _SUBTYPE_OF_NETWORK_ADDRESS.get(kind):
        return octets[2:]
    return b''


def _read_hex(content: str) -> bytes:
    """Return the octets that hexadecimal digits stand for.

    :returns: no octets if the content has other characters.
    """
    try:
        return bytes.fromhex(content)
    except ValueError:
        return b''


def _read_text(octets: bytes) -> str | None:
    """Decode a text, without the zeros at its end; None if it is no text."""
    text_octets = octets.rstrip(b'\0')
    encoding = _encoding_of_text(text_octets)
    if encoding is None:
        return None
    return text_octets.decode(encoding)


def _encoding_of_text(octets: bytes) -> str | None:
    """Return the encoding in which octets are a text, e.g. ``utf-8``.

    :returns: None if the octets are not a text, but e.g. a MAC address.
    """
    for encoding, pattern in _TEXT_BY_ENCODING.items():
        try:
            text = octets.decode(encoding)
        except UnicodeDecodeError:
            continue
        if pattern.fullmatch(text):
            return encoding
    return None
