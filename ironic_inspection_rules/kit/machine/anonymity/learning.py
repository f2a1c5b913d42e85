# SPDX-License-Identifier: Apache-2.0

"""Learn the identifiers of a machine, to replace them in all of its data.

The names of fields say which values are names and addresses. The learned
values are then replaced in all other texts, too. For example, ``db-7`` is
learned from the field ``hostname``, and is replaced in "booted db-7".

Fields have kinds, according to their names. For example, ``hostname`` is of
the kind ``NAME``, ``bmc_address`` is of the kind ``ADDRESS``, and ``wwn`` is
of the kind ``WWN``.
"""

from collections.abc import Iterator
import ipaddress
import re
from typing import Any

from ironic_inspection_rules.kit.machine.anonymity import field
from ironic_inspection_rules.kit.machine.anonymity import identifier
from ironic_inspection_rules.kit.machine.anonymity import known
from ironic_inspection_rules.kit.machine.anonymity import lldp

Kind = field.FieldKind

# Addresses without separators: MAC addresses, EUI-64, and InfiniBand
# addresses.
BARE_OCTETS = re.compile('[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16}|[0-9A-Fa-f]{40}')
# A WWN, or a part of one. The GUIDs of InfiniBand have groups of four digits.
ANY_WWN = re.compile(
    r'(?i:0x|naa\.|eui\.)?[0-9A-Fa-f]{8,}'
    '|[0-9A-Fa-f]{4}(?:[:-][0-9A-Fa-f]{4}){3,}'
)
# Parts of an item of hardware-detect: class, device, name, value.
_PARTS_OF_HARDWARE_ITEM = 4
_OCTETS_OF_ADDRESSES = (4, 16)  # IPv4 and IPv6.
_LARGEST_OCTET = 255
_LOWEST_HOST_ADDRESS = 1 << 24
_NAME_OF_ADDRESS_FIELD = re.compile(
    '(?:ip|addr|address|addresses|gateway|server|servers)$', re.IGNORECASE
)
_MIN_SERIAL_LENGTH = 8
_MIN_SERIAL_DIGITS = 3
_KINDS_OF_NAMES = frozenset((Kind.NAME, Kind.SWITCH))
_ADD_METHOD_BY_FORM = {
    identifier.Form.OCTETS: known.KnownIdentifiers.add_octets,
    identifier.Form.WWN: known.KnownIdentifiers.add_wwn,
    identifier.Form.UUID: known.KnownIdentifiers.add_uuid,
    identifier.Form.IP: known.KnownIdentifiers.add_address,
    identifier.Form.QUAD: known.KnownIdentifiers.add_address,
    identifier.Form.JOINED: known.KnownIdentifiers.add_address,
    identifier.Form.DASHED: known.KnownIdentifiers.add_dashed,
    identifier.Form.REVERSE: known.KnownIdentifiers.add_reverse,
}
"""The method that adds an identifier of a form to the known identifiers."""

_FIELDS_WITH_PARTS = frozenset(
    (
        'interfaces',
        'disks',
        'all_interfaces',
        'valid_interfaces',
        'lldp_raw',
        'parsed_lldp',
    )
)
"""Fields that have one entry per interface or disk."""

# The keys of a pair such as {"name": "Serial Number", "value": "CZ3409XK7Q"}.
_KEYS_OF_NAME = frozenset(('name', 'key', 'field', 'attribute', 'label'))
_KEYS_OF_VALUE = frozenset(('value', 'data', 'content'))
# A serial number in groups. All groups but the first must have a digit: "CZ34
# 09XK 7Q".
_SERIAL_IN_GROUPS = (
    r'(?-i:[0-9A-Z]{2,6}(?: (?=[A-Z]*[0-9])[0-9A-Z]{2,6})+)(?![^\s"\',;])'
)
# A name or a number that follows its label: "Serial Number: CZ3409XK7Q".
_LABELLED_NAME = re.compile(
    r'(?<![0-9A-Za-z])(?:(?P<serial>serial(?:[ _-]?(?:number|no\.?|num))?'
    r'|s/?n|(?:asset|service)[ _-]?tag)|(?:host|node)[ _-]?name|fqdn)'
    rf'[ \t]*[:=][ \t]*["\']?(?P<value>{_SERIAL_IN_GROUPS}|[^\s"\',;]+)',
    re.IGNORECASE,
)
# The host name in the kernel option "ip", in which it is the fifth part.
_HOST_IN_IP_OPTION = re.compile(
    r'(?<![\w.])ip=(?:(?:\[[^\]\s]*\]|[^:\s]*):){4}(?P<value>[\w.-]+):'
)


def learn(
    identifiers: known.KnownIdentifiers,
    value: Any,
    kind: Kind = Kind.OTHER,
    name: str = '',
) -> None:
    """Add all identifiers in a value to the known identifiers.

    For example, ``{'hostname': 'db-7', 'bmc_address': '10.0.0.5'}`` adds the
    name ``db-7`` and the address ``10.0.0.5``. Mappings and lists are searched
    at any depth.

    :param identifiers: receives the identifiers.
    :param value: the value of a field in the data of a machine.
    :param kind: the kind of the field, which says whether its texts are names.
    :param name: the name of the field.
    """
    if isinstance(value, dict):
        # In a pair such as {"name": "Serial Number", "value": "CZ3409XK7Q"},
        # the name says the kind of the value.
        kind_by_name = kind_of_pair(value)
        for key, item in value.items():
            # The key may be an identifier, too: some machines send mappings
            # whose keys are serial numbers or addresses.
            _learn_text(identifiers, key, Kind.OTHER)
            if kind in _KINDS_OF_NAMES and _looks_like_serial(key):
                identifiers.add_name(key)
            item_kind = kind_of_item(key, kind_by_name, name, kind)
            learn(identifiers, item, item_kind, key)
    elif isinstance(value, list):
        _learn_list(identifiers, value, kind, name)
    elif isinstance(value, str):
        _learn_text(identifiers, value, kind)
    elif type(value) is int and _is_identifying_number(value, kind):
        identifiers.add_name(str(value))
    elif is_address_as_number(value, kind, name):
        identifiers.add_address(str(ipaddress.IPv4Address(value)))


def _is_identifying_number(number: int, kind: Kind) -> bool:
    """Return whether a whole number is an identifier, and is to be learned.

    In ``{'serial_number': 8814237709}`` it is, and in ``{'size': 8814237709}``
    it is not.

    :param kind: the kind of the field that has the number.
    """
    if kind is Kind.WWN:
        # A short number is only a part, such as the number of the vendor.
        return ANY_WWN.fullmatch(str(number)) is not None
    return kind in _KINDS_OF_NAMES


def _learn_list(
    identifiers: known.KnownIdentifiers,
    value: list[Any],
    kind: Kind,
    name: str,
) -> None:
    """Add all identifiers in a list.

    Three forms of lists are not searched item by item:

    * an element of LLDP: ``[5, '73772d31']``,
    * the octets of an address: ``[10, 0, 0, 1]``,
    * an item of hardware-detect: ``['disk', 'sda', 'serial', 'S4X1NJ0N']``.

    :param identifiers: receives the identifiers.
    :param kind: the kind of the field that has the list.
    :param name: the name of that field.
    """
    if lldp.is_element(value):
        _learn_element(identifiers, *value)
    elif is_address_in_numbers(value, kind):
        address = ipaddress.ip_address(bytes(value))
        identifiers.add_address(str(address))
    elif is_hardware_item(value):
        _class, _device, _name, content = value
        learn(identifiers, content, kind_of_hardware_item(value))
    else:
        for item in value:
            learn(identifiers, item, kind, name)


def _learn_text(
    identifiers: known.KnownIdentifiers, text: str, kind: Kind
) -> None:
    """Add the identifiers in a text, and the text itself if it is a name.

    Identifiers are recognized by their form, e.g. as a MAC address. Names in a
    text are also recognized by a label: "Serial Number: CZ3409XK7Q".

    Depending on the kind of the field, all of the text is added, too:

    * an address of digits without separators, if the field is for addresses or
      for switches,
    * a WWN, or the name of a disk without one, if the field is for WWNs,
    * a name, if the field is for names or switches,
    * the name of a host, if the field is for addresses.

    A text that has the form of an address, a WWN or a UUID is not added as a
    name.

    :param identifiers: receives the identifiers.
    :param kind: the kind of the field that has the text.
    """
    learned_places = set()
    by_form = identifier.find(text)
    for start, end, form in by_form:
        if form is identifier.Form.QUAD and field.is_version(text, kind):
            # Four numbers such as 2.10.0.1 are a version in this field, not an
            # address.
            continue
        if form in _ADD_METHOD_BY_FORM:
            _ADD_METHOD_BY_FORM[form](identifiers, text[start:end])
            learned_places.add((start, end))
    is_learned_whole = (0, len(text)) in learned_places
    # The field of an address may have the name of a host instead. An address
    # that is only a part of a host name, as in "ip-10-0-0-1", does not count.
    has_address = identifier.is_any_outside_host_names(by_form)
    is_host = kind is Kind.ADDRESS and not has_address
    is_name = kind in _KINDS_OF_NAMES or is_host
    may_be_mac = kind in (Kind.ADDRESS, Kind.SWITCH)
    if may_be_mac and BARE_OCTETS.fullmatch(text):
        identifiers.add_octets(text)
    elif kind is Kind.WWN and ANY_WWN.fullmatch(text):
        identifiers.add_wwn(text)
    elif kind is Kind.WWN and not is_learned_whole:
        identifiers.add_name_for_wwn(text)
    elif is_name and not is_learned_whole:
        identifiers.add_name(text)
    _learn_labelled_names(identifiers, text)


def _learn_labelled_names(
    identifiers: known.KnownIdentifiers, text: str
) -> None:
    """Add the names in a text that follow a label.

    :param text: the text, such as "Serial Number: CZ3409XK7Q" or the command
        line of a kernel.
    """
    for match in _LABELLED_NAME.finditer(text):
        is_serial = match['serial'] is not None
        # A dot at the end belongs to the sentence.
        labelled = match['value'].rstrip('.')
        has_digit = re.search(r'\d', labelled) is not None
        if is_serial and not has_digit:
            # "Serial: enabled" is about a serial port.
            continue
        identifiers.add_name(labelled)
        # In "SN: AB1234 2U" only the first group is the serial number.
        identifiers.add_name(labelled.split(' ')[0])
    for match in _HOST_IN_IP_OPTION.finditer(text):
        identifiers.add_name(match['value'])


def _looks_like_serial(key: str) -> bool:
    """Return whether the key of a mapping looks like a serial number.

    It must have at least eight characters, and at least three must be digits.
    For example, ``CZ3409XK7Q`` does, but ``location`` does not.
    """
    digits = sum(map(str.isdigit, key))
    return len(key) >= _MIN_SERIAL_LENGTH and digits >= _MIN_SERIAL_DIGITS


def _learn_element(
    identifiers: known.KnownIdentifiers, kind: int, content: str
) -> None:
    """Add the identifiers of a switch or its port in an LLDP element.

    An element has a name or another text, a MAC address, or an IP address. For
    example, an element of type 5 with the content ``73772d31`` has the name
    ``sw-1``.

    :param kind: the type of the element.
    :param content: the octets of the element, in hexadecimal.
    """
    name = lldp.read_name(kind, content)
    if name:
        _learn_text(identifiers, name, Kind.NAME)
    description = lldp.read_description(kind, content)
    if description:
        _learn_text(identifiers, description, Kind.OTHER)
    mac = lldp.read_mac(kind, content)
    if mac:
        identifiers.add_octets(mac)
    address = lldp.read_address(kind, content)
    if address:
        identifiers.add_address(address)


def exclude_common_words(
    identifiers: known.KnownIdentifiers, value: Any, name: str = ''
) -> None:
    """Exclude words that many machines have from the identifiers.

    These words are the names of interfaces and disks, and the words of models
    and versions. A switch may have a port ``eth0``, and a host may have the
    name of a vendor. If such names were identifiers, they would be replaced in
    the data of all parts.

    :param identifiers: receives the words that are not to be replaced.
    :param value: the value of a field in the data of a machine. Mappings and
        lists are searched at any depth.
    :param name: the name of the field that has the value.
    """
    if name in _FIELDS_WITH_PARTS:
        for part_name, part in _named_parts(value):
            # A serial number identifies the machine, even as a name.
            if not _is_named_by_serial(part_name, part):
                identifiers.exclude_word(part_name)
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                _exclude_model(identifiers, key, item)
            exclude_common_words(identifiers, item, key)
    elif isinstance(value, list):
        for item in value:
            exclude_common_words(identifiers, item)


def _exclude_model(
    identifiers: known.KnownIdentifiers, name: str, text: str
) -> None:
    """Exclude the text of a field from the identifiers if it is a model.

    For example, "ProLiant DL380" in ``product_name`` excludes the words
    "ProLiant" and "DL". Otherwise the host name "proliant" would be replaced
    in the model. Versions are excluded as a whole.

    :param name: the name of the field that has the text.
    """
    if field.is_model(name):
        for word in re.findall('[A-Za-z]+', text):
            identifiers.exclude_word(word)
    if field.kind_of(name) is Kind.VERSION:
        identifiers.exclude_model(text)


def _named_parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names of interfaces or disks, each with the data of the part.

    The name of a part is its key, as in ``{"eth0": {…}}``, or one of its
    fields, as in ``[{"name": "/dev/sda", …}]``. A disk has two names:
    ``/dev/sda`` and ``sda``.

    :param value: the value of a field with parts, which may be anything.
    """
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, dict) and isinstance(part.get('name'), str):
                name = part['name']
                _folder, _slash, short_name = name.rpartition('/')
                yield name, part
                yield short_name, part


def _is_named_by_serial(name: str, part: Any) -> bool:
    """Return whether the name of a part is also its identifier.

    For example, ``{"name": "S4X1NJ0N", "serial": "S4X1NJ0N"}``.
    """
    if not isinstance(part, dict):
        return False
    for field_name, value in part.items():
        if value == name and field.kind_of(field_name) is Kind.NAME:
            return True
    return False


def kind_of_pair(value: dict[str, Any]) -> Kind | None:
    """Return the kind of the value in a mapping of a name and a value.

    For example, ``Kind.NAME`` for ``{"name": "Serial Number", "value":
    "CZ3409XK7Q"}``.

    :returns: None if the mapping is not such a pair, or if the name does not
        say the kind.
    """
    has_value = any(known.lower_ascii(key) in _KEYS_OF_VALUE for key in value)
    if not has_value:
        return None
    for key, name in value.items():
        if known.lower_ascii(key) in _KEYS_OF_NAME and isinstance(name, str):
            kind = field.kind_of(name)
            if kind is not Kind.OTHER:
                return kind
    return None


def kind_of_item(
    key: str, kind_by_name: Kind | None, name: str, around: Kind
) -> Kind:
    """Return the kind of a value in a mapping.

    :param key: the key of the value.
    :param kind_by_name: the kind of the value of a pair, such as ``{"name":
        "Serial Number", "value": "CZ3409XK7Q"}``, according to its name; None
        if the mapping is not a pair.
    :param name: the name of the field that has the mapping.
    :param around: the kind of that field.
    """
    if kind_by_name and known.lower_ascii(key) in _KEYS_OF_VALUE:
        return kind_by_name
    return field.inner_kind(key, name, around)


def is_address_in_numbers(value: list[Any], kind: Kind) -> bool:
    """Return whether a list has the octets of an IP address as numbers.

    For example, ``[10, 0, 0, 1]``, or sixteen numbers for IPv6.

    :param kind: the kind of the field that has the list.
    """
    if kind is not Kind.ADDRESS or len(value) not in _OCTETS_OF_ADDRESSES:
        return False
    return all(
        type(octet) is int and 0 <= octet <= _LARGEST_OCTET for octet in value
    )


def is_address_as_number(value: Any, kind: Kind, name: str) -> bool:
    """Return whether a value is an IPv4 address as one number.

    For example, 167772161 is 10.0.0.1. Numbers below 16777216 (1.0.0.0) are
    counts, because no host has such an address.

    :param kind: the kind of the field that has the value.
    :param name: the name of that field.
    """
    if kind is not Kind.ADDRESS or type(value) is not int:
        return False
    # The name must match, too: "gateway_metric" is a field of this kind, but
    # its value is not an address.
    is_in_range = _LOWEST_HOST_ADDRESS <= value < 1 << 32
    return is_in_range and _NAME_OF_ADDRESS_FIELD.search(name) is not None


def is_hardware_item(value: list[Any]) -> bool:
    """Return whether a list is an item of the tool hardware-detect.

    For example, ``["disk", "sda", "serial", "S4X1NJ0N"]``.
    """
    if len(value) != _PARTS_OF_HARDWARE_ITEM:
        return False
    return all(isinstance(part, str) for part in value[:3])


def kind_of_hardware_item(value: list[str]) -> Kind:
    """Return the kind of the value in an item of hardware-detect.

    In ``["disk", "sda", "serial", "S4X1NJ0N"]``, the third part is the name of
    a field, and the fourth part is its value.
    """
    class_name, _device, name, _content = value
    return field.inner_kind(name, class_name, field.kind_of(class_name))
