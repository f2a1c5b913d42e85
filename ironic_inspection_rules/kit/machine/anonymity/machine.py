# SPDX-License-Identifier: Apache-2.0

"""Anonymous data of machines: what identifies them is replaced."""

from collections.abc import Iterable, Mapping
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
"""Kinds of fields whose numbers are identifiers too."""


class Anonymizer:
    """Replaces what identifies a machine, consistently.

    Serial numbers, addresses, names and UUIDs become others of the same form.
    One identifier has one replacement in all places and machines. The model
    stays. Secrets are removed, also those in texts that have the form of one:
    in URLs, keys, behind ``token=``. So are the logs of the ramdisk.

    :param key: whoever has it gets the same replacements again.
    :ivar name: replaces a name, of a node or a host.
    :ivar uuid: replaces a UUID.
    """

    def __init__(self, key: bytes) -> None:
        # One key and one set of forms for all machines: what several of them
        # have, such as a switch, gets the same replacement everywhere.
        self._forms = form.Forms(key)
        self._replacer = texts.Replacer(self._forms)
        self.name = self._replacer.replace_name
        self.uuid = self._forms.uuid

    def machine(
        self, data: Mapping[str, Any], names: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Return the data of a machine with its identifiers replaced.

        The identifiers are learned from all of the data first, and then
        replaced wherever they stand: if the field ``hostname`` has "node-7",
        it is replaced in "booted node-7", too.

        :param data: ``inventory`` and ``plugin_data``, which are not changed.
        :param names: further names of the machine, such as the name of its
            node.
        """
        # Secrets are masked first, so that they are not learned as names.
        masked = disclosure.data(dict(data))
        identifiers = known.KnownIdentifiers(
            self._forms, self._replacer.replace_name
        )
        # Words that stay, though a field may have them as a name: "eth0" of an
        # interface, and the words of models.
        learning.keep_parts(identifiers, masked)
        for name in names:
            identifiers.add_name(name)
        learning.learn(identifiers, masked)
        document = _Document(self._replacer, learned=identifiers)
        return document.mapping(masked)


class _Document:
    """Replaces identifiers in the data of a machine, of any depth."""

    def __init__(
        self, replacer: texts.Replacer, learned: known.KnownIdentifiers
    ) -> None:
        self._forms = replacer.forms
        self._learned = learned
        self._texts = texts.Texts(replacer, learned)
        self._frames = lldp.Frames(
            self._forms,
            self._texts.replace_name,
            self._texts.replace_identifiers,
        )

    def mapping(
        self,
        data: Mapping[str, Any],
        parent: str = '',
        around: Kind = Kind.OTHER,
    ) -> dict[str, Any]:
        """Replace identifiers in the names and values of a mapping.

        Fields of the kind ``DROPPED``, such as logs, are left out.

        :param parent: the name of the field that has the mapping.
        :param around: the kind of that field.
        """
        replaced = {}
        # Of a pair such as {"name": "Serial Number", "value": "CZ3409XK7Q"}
        # the name says of which kind the value is.
        kind_by_name = learning.kind_of_pair(dict(data))
        for name, value in data.items():
            kind = learning.inner_kind(name, kind_by_name, parent, around)
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

        :param kind: of the field; it says whether its texts are names.
        :param name: of the field.
        """
        if isinstance(value, str):
            return self._texts.replace_in_field(value, kind)
        if isinstance(value, dict):
            return self.mapping(value, name, kind)
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
        # A boolean or None.
        return value

    def _replace_list(
        self, value: list[Any], kind: Kind, name: str
    ) -> list[Any]:
        """Replace identifiers in a list, at any depth.

        :param kind: of the field that has the list.
        :param name: of that field.
        """
        if learning.is_hardware_item(value):
            # ["disk", "sda", "serial", "S4X1NJ0N"] of hardware-detect: the
            # third part is the name of the field that has the fourth.
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

        Ironic's hook extra-hardware makes the number 1.2345e+71 of the serial
        number "12345E67".

        :param kind: of the field.
        """
        if kind not in _KINDS_WITH_NUMBERS or field.says_nothing(str(value)):
            return value
        if not math.isfinite(value):
            return value
        return self._forms.real(value)

    def _replace_integer(self, value: int, kind: Kind) -> int:
        """Replace a whole number that identifies the machine; keep others.

        It identifies the machine if its field says so, as ``serial_number``
        does, or if another field has the same number as a name.

        :param kind: of the field.
        """
        if kind in _KINDS_WITH_NUMBERS and not field.says_nothing(str(value)):
            return self._forms.integer(value)
        replacement = self._learned.replace_number(value)
        if replacement is None:
            return value
        return replacement

    def _replace_lldp(self, value: Any) -> Any:
        """Replace identifiers in LLDP data of switches.

        What is replaced in an element of a frame, such as ``[5, '7377']``,
        follows from its type. A text is replaced as a whole.

        :param value: such elements and texts, in lists and mappings of any
            depth, such as ``{'eth0': [[5, '7377']]}``.
        """
        if lldp.is_element(value):
            return [value[0], self._frames.element(*value)]
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
