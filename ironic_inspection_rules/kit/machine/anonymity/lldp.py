# SPDX-License-Identifier: Apache-2.0

"""Replace and read identifiers in LLDP.

Ramdisks report LLDP elements as a type and hexadecimal digits. The types and
subtypes are defined by IEEE 802.1AB and by TIA-1057 (LLDP-MED).
"""

from collections.abc import Callable
import contextlib
import ipaddress
from typing import Any

from ironic_inspection_rules.kit.machine.anonymity import form
from ironic_inspection_rules.kit.machine.anonymity import hardware

_CHASSIS_ID = 1
_PORT_ID = 2
_SYSTEM_NAME = 5
_DESCRIPTION = 6
_TYPES_OF_NAMES = (4, _SYSTEM_NAME)
_TYPES_WITHOUT_IDENTIFIER = (0, 3, 7)  # End, time to live, capabilities.
_MANAGEMENT_ADDRESS = 8
_ORGANIZATION = 127

_SUBTYPE_OF_MAC = {_CHASSIS_ID: 4, _PORT_ID: 3}
"""The subtype that says that an ID is a MAC address, by the type of the ID."""
_SUBTYPE_OF_NETWORK_ADDRESS = {_CHASSIS_ID: 5, _PORT_ID: 4}
"""The subtype that says that an ID is a family and a network address."""
_ADDRESS_LENGTH_BY_FAMILY = {1: 4, 2: 16}
"""The number of octets of an address, by its family (1 is IPv4, 2 is IPv6)."""

_IEEE_802_1 = bytes.fromhex('0080c2')
_IEEE_802_3 = bytes.fromhex('00120f')
_LLDP_MED = bytes.fromhex('0012bb')
_VLAN_NAME = 3
_MED_SUBTYPES_OF_TEXTS = (8, 11)
_MED_SUBTYPES_THAT_STAY = (1, 2, 4, 5, 6, 7, 9, 10)

Replacing = Callable[[str], str]


class Frames:
    """Replaces the identifiers of a switch in LLDP.

    :param forms: replaces addresses and unknown octets.
    :param replace_name: replaces a whole text, which is a name.
    :param replace_identifiers: replaces the identifiers inside a text.
    """

    def __init__(
        self,
        forms: form.Forms,
        replace_name: Replacing,
        replace_identifiers: Replacing,
    ) -> None:
        self._forms = forms
        self._replace_name = replace_name
        self._replace_identifiers = replace_identifiers

    def element(self, kind: int, content: str) -> str:
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

        If the type of the element is unknown, all octets are replaced.
        """
        if kind in _TYPES_WITHOUT_IDENTIFIER or not octets:
            return octets
        if kind in _TYPES_OF_NAMES:
            return _replace_text(octets, replace=self._replace_name)
        if kind == _DESCRIPTION:
            # The description may contain the name of the switch at any place.
            return _replace_text(octets, replace=self._replace_identifiers)
        if kind in _SUBTYPE_OF_MAC:
            return octets[:1] + self._replace_id(kind, octets[0], octets[1:])
        if kind == _MANAGEMENT_ADDRESS:
            return self._replace_management_address(octets)
        if kind == _ORGANIZATION:
            rest = self._replace_organization(
                octets[:3], octets[3:4], octets[4:]
            )
            return octets[:4] + rest
        return self._forms.opaque(octets)

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
        return _replace_text(octets, replace=self._replace_name)

    def _replace_management_address(self, octets: bytes) -> bytes:
        """Replace the address in an element of a management address.

        The first octet is the length of the family and the address, the second
        is the family, and the address follows. After it come the interface and
        the OID, which stay. For example, ``05 01 0a000001 …`` has the address
        10.0.0.1: five octets, of which the first is the family 1, IPv4.
        """
        length = octets[0]
        address_end = 1 + length
        # If the element is cut off, the family and the address may be missing.
        family = 0
        if len(octets) > 1:
            family = octets[1]
        address = self._replace_address(family, octets[2:address_end])
        return octets[:2] + address + octets[address_end:]

    def _replace_address(self, family: int, octets: bytes) -> bytes:
        """Replace an IP address or, depending on its length, a MAC address.

        :param family: 1 for IPv4, 2 for IPv6; other families are all treated
            alike.
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

        The content of IEEE has only one identifier, the name of a VLAN. The
        content of LLDP-MED has texts and places. If the organization is
        unknown, all of the content is replaced.

        :param organization: the number of the organization, three octets.
        :param subtype: an octet whose meaning the organization defines; empty
            if the element ends before it.
        :param rest: the content after the subtype.
        """
        number = 0
        if subtype:
            number = subtype[0]
        if (organization, number) == (_IEEE_802_1, _VLAN_NAME):
            # Two octets are the number of the VLAN, the third is the length
            # of the name.
            return rest[:3] + _replace_text(rest[3:], self._replace_name)
        if organization in (_IEEE_802_1, _IEEE_802_3):
            return rest
        if organization == _LLDP_MED and number in _MED_SUBTYPES_THAT_STAY:
            return rest
        if organization == _LLDP_MED and number in _MED_SUBTYPES_OF_TEXTS:
            return _replace_text(rest, self._replace_name)
        return self._forms.opaque(rest)


_DIGITS_OF_MAC_ID = 14
"""Number of hexadecimal digits of an ID with a MAC address. Its subtype is one
octet, and the address has six."""


def is_element(value: Any) -> bool:
    """Return whether a value is an LLDP element, e.g. ``[5, '7377']``."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and type(value[0]) is int
        and isinstance(value[1], str)
    )


def read_text(kind: int, content: str) -> str | None:
    """Read the text of an element, e.g. ``sw-1`` for ``73772d31``.

    :param kind: the type of the element, a number.
    :param content: hexadecimal digits.
    :returns: None if the element has no text, or if it is not UTF-8.
    """
    if kind not in (*_TYPES_OF_NAMES, _DESCRIPTION):
        return None
    try:
        return bytes.fromhex(content).decode()
    except ValueError:
        return None


def is_name(kind: int) -> bool:
    """Return whether an element is the name of the switch.

    :param kind: the type of the element, a number.
    """
    return kind == _SYSTEM_NAME


def read_mac(kind: int, content: str) -> str | None:
    """Read the MAC address of an element, to learn it as an identifier.

    For example, the chassis ID ``04525400123456`` has the subtype 4 and gives
    ``525400123456``.

    :param kind: the type of the element, a number.
    :param content: hexadecimal digits, which begin with the subtype.
    :returns: twelve digits; None if the element is not an ID with a MAC
        address.
    """
    if kind not in _SUBTYPE_OF_MAC or len(content) != _DIGITS_OF_MAC_ID:
        return None
    if not content.startswith(f'{_SUBTYPE_OF_MAC[kind]:02x}'):
        return None
    return content[2:]


def read_address(kind: int, content: str) -> str | None:
    """Read the management address of an element, if it is an IP address.

    For example, ``05010a000001…`` has 10.0.0.1: five octets follow the 05, of
    which the first is the family 1, IPv4.

    :param kind: the type of the element, a number.
    :param content: hexadecimal digits.
    :returns: None if the element has no such address.
    """
    try:
        octets = bytes.fromhex(content)
    except ValueError:
        return None
    if kind != _MANAGEMENT_ADDRESS or len(octets) < 2:
        return None
    # The first octet is the length of the family and the address that follow
    # it.
    packed = octets[2 : 1 + octets[0]]
    if len(packed) != _ADDRESS_LENGTH_BY_FAMILY.get(octets[1]):
        return None
    return str(ipaddress.ip_address(packed))


def _replace_text(octets: bytes, replace: Replacing) -> bytes:
    """Replace a text that is given as octets, and keep its encoding.

    :param replace: a function that returns the new text.
    """
    # Some switches do not write UTF-8. Latin-1 can decode any octets, so the
    # second attempt always succeeds in decoding.
    for encoding in ('utf-8', 'latin-1'):
        with contextlib.suppress(UnicodeDecodeError):
            return replace(octets.decode(encoding)).encode(encoding)
    return octets
