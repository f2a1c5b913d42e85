# SPDX-License-Identifier: Apache-2.0

"""Make the data of machines anonymous by replacing identifiers.

An identifier is a text or a number that says which machine or site the data
come from, such as a serial number, a MAC address or a host name. Fields have
kinds, according to their names. For example, all of a field ``serial_number``
is a name, but a field ``description`` is a text that may contain identifiers.
"""

from collections.abc import Iterable, Mapping
import functools
import math
from typing import Any

from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.kit.machine.anonymity import field
from ironic_inspection_rules.kit.machine.anonymity import form
from ironic_inspection_rules.kit.machine.anonymity import known
from ironic_inspection_rules.kit.machine.anonymity import learning
from ironic_inspection_rules.kit.machine.anonymity import lldp
from ironic_inspection_rules.kit.machine.anonymity import texts

Kind = field.FieldKind

_FIELDS_OF_LLDP = ('lldp', 'lldp_raw')
_KINDS_WITH_NUMBERS = frozenset((Kind.NAME, Kind.SWITCH, Kind.WWN))
"""Kinds of fields in which numbers are identifiers, too."""


class Anonymizer:
    """Replaces the identifiers of machines, consistently.

    Serial numbers, addresses, names and UUIDs are replaced by others of the
    same form. An identifier has the same replacement in all places and in all
    machines. The model stays. Secrets are masked, including texts that look
    like one: in URLs, keys, and after ``token=``. The logs of the ramdisk are
    removed.

    :param key: the same key gives the same replacements again.
    :ivar name: replaces the name of a node or a host.
    :ivar uuid: replaces a UUID.
    """

    def __init__(self, key: bytes) -> None:
        # All machines share one key and one set of forms, so that identifiers
        # which several machines have, such as a switch, get the same
        # replacement everywhere.
        self._forms = form.FormReplacer(key)
        self._replacer = texts.IdentifierReplacer(self._forms)
        self.name = self._replacer.replace_name
        self.uuid = self._forms.uuid

    def machine(
        self, data: Mapping[str, Any], names: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Return the data of a machine with its identifiers replaced.

        First the identifiers are learned from all of the data. Then they are
        replaced wherever they occur. For example, if the field ``hostname``
        has "node-7", it is replaced in "booted node-7", too.

        :param data: ``inventory`` and ``plugin_data``, which are not changed.
        :param names: further names of the machine, such as the name of its
            node.
        """
        # Secrets are masked first, so that they are not learned as names.
        masked = disclosure.mask_data(dict(data))
        identifiers = known.KnownIdentifiers(
            self._forms, self._replacer.replace_name
        )
        # This comes first, because a word is excluded only from names that are
        # added later.
        learning.exclude_common_words(identifiers, masked)
        for name in names:
            identifiers.add_name(name)
        learning.learn(identifiers, masked)
        document = _Document(self._replacer, learned=identifiers)
        return document.replace_mapping(masked)


class _Document:
    """Replaces identifiers in the data of a machine, at any depth."""

    def __init__(
        self,
        replacer: texts.IdentifierReplacer,
        learned: known.KnownIdentifiers,
    ) -> None:
        self._forms = replacer.forms
        self._learned = learned
        self._texts = texts.TextReplacer(replacer, learned)
        # In LLDP, the versions of a switch need a function of their own: four
        # numbers such as 2.10.0.1 are not an address there.
        self._frames = lldp.LldpReplacer(
            self._forms,
            self._texts.replace_name,
            self._texts.replace_identifiers,
            functools.partial(
                self._texts.replace_identifiers, is_version=True
            ),
        )

    def replace_mapping(
        self,
        data: Mapping[str, Any],
        parent: str = '',
        around: Kind = Kind.OTHER,
    ) -> dict[str, Any]:
        """Replace identifiers in the names and values of a mapping.

        Fields of the kind ``DROPPED``, such as logs, are removed.

        :param parent: the name of the field that has the mapping.
        :param around: the kind of that field.
        """
        replaced = {}
        # In a pair such as {"name": "Serial Number", "value": "CZ3409XK7Q"},
        # the name says the kind of the value.
        kind_by_name = learning.kind_of_pair(dict(data))
        for name, value in data.items():
            kind = learning.kind_of_item(name, kind_by_name, parent, around)
            if kind is Kind.DROPPED:
                continue
            if name in _FIELDS_OF_LLDP:
                replaced[name] = self._replace_lldp(value)
            else:
                new_name = self._texts.replace_identifiers(name)
                replaced[new_name] = self._replace_value(value, kind, name)
        return replaced

    def _replace_value(self, value: Any, kind: Kind, name: str) -> Any:
        """Replace identifiers in the value of a field, at any depth.

        :param value: the value, as JSON.
        :param kind: the kind of the field, which says whether its texts are
            names.
        :param name: the name of the field.
        """
        if isinstance(value, str):
            return self._texts.replace_in_field(value, kind)
        if isinstance(value, dict):
            return self.replace_mapping(value, name, kind)
        if isinstance(value, list):
            return self._replace_list(value, kind, name)
        if learning.is_address_as_number(value, kind, name):
            # 167772161 is 10.0.0.1.
            packed = self._forms.packed_address(value.to_bytes(4))
            return int.from_bytes(packed)
        if type(value) is int:
            return self._replace_integer(value, kind)
        if type(value) is float:
            return self._replace_real(value, kind)
        # The value is a boolean or None.
        return value

    def _replace_list(
        self, value: list[Any], kind: Kind, name: str
    ) -> list[Any]:
        """Replace identifiers in a list, at any depth.

        :param kind: the kind of the field that has the list.
        :param name: the name of that field.
        """
        if learning.is_hardware_item(value):
            # This is an item of hardware-detect, such as ["disk", "sda",
            # "serial", "S4X1NJ0N"]. The third part is the name of a field, and
            # the fourth is its value.
            class_name, device, content_name, content = value
            kind_of_content = learning.kind_of_hardware_item(value)
            return [
                self._texts.replace_identifiers(class_name),
                self._texts.replace_identifiers(device),
                self._texts.replace_identifiers(content_name),
                self._replace_value(content, kind_of_content, content_name),
            ]
        if learning.is_address_in_numbers(value, kind):
            # [10, 0, 0, 1] is an address, octet by octet.
            return list(self._forms.packed_address(bytes(value)))
        return [self._replace_value(item, kind, name) for item in value]

    def _replace_real(self, value: float, kind: Kind) -> float:
        """Replace a number with a fraction in a field of identifiers.

        This is needed because Ironic's hook extra-hardware converts the serial
        number "12345E67" to the number 1.2345e+71. The number stays if it is
        in a field of another kind, if it is a placeholder such as 0.0, or if
        it is infinite or NaN.

        :param kind: the kind of the field.
        """
        if kind not in _KINDS_WITH_NUMBERS or field.says_nothing(str(value)):
            return value
        if not math.isfinite(value):
            return value
        return self._forms.real(value)

    def _replace_integer(self, value: int, kind: Kind) -> int:
        """Replace a whole number that identifies the machine; keep others.

        It identifies the machine if the name of its field says so, e.g.
        ``serial_number``, or if another field has the same number as a name.
        A placeholder such as 0 identifies nothing.

        :param kind: the kind of the field.
        """
        if kind in _KINDS_WITH_NUMBERS and not field.says_nothing(str(value)):
            return self._forms.integer(value)
        replacement = self._learned.replace_number(value)
        if replacement is None:
            return value
        return replacement

    def _replace_lldp(self, value: Any) -> Any:
        """Replace identifiers in the LLDP data of switches.

        In an element, such as ``[5, '73772d31']``, the type 5 decides which
        octets of the content are replaced. A text outside of an element is
        replaced as a whole.

        :param value: elements and texts, in lists and mappings of any depth,
            such as ``{'eth0': [[5, '7377']]}``.
        """
        if lldp.is_element(value):
            return [value[0], self._frames.replace_element(*value)]
        if isinstance(value, list):
            return [self._replace_lldp(item) for item in value]
        if isinstance(value, dict):
            return {
                self._texts.replace_identifiers(name): self._replace_lldp(item)
                for name, item in value.items()
            }
        if isinstance(value, str):
            return self._forms.text(value)
        return value
