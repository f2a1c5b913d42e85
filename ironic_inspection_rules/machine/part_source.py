# SPDX-License-Identifier: Apache-2.0

"""The places in inspection data that list the parts of a machine.

The ramdisk reports parts in the inventory and, by its collectors, in plugin
data. Redfish reports parts in the inventory. For example, disks are in
``inventory.disks``::

    [{'name': '/dev/sda', 'serial': 'S3Z8', 'by_path': '…', 'size': 480}, …]

A :class:`PartSource` describes such a place, and an item is an entry of its
list or mapping. Some fields of an item identify the part (``serial``), some
say in which slot it is (``by_path``), and some are its attributes (``size``).
"""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import re
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.machine import part_identity

PROCESSOR = 'processor'
DIMM = 'dimm'
DISK = 'disk'
INTERFACE = 'interface'
ACCELERATOR = 'accelerator'
PCI_DEVICE = 'pci-device'
POWER_SUPPLY = 'power-supply'
SYSTEM = 'system'
FIRMWARE = 'firmware'

ACCELERATOR_CLASS = re.compile('(0x)?(0302|0b40|12).*')
"""PCI classes of 3D controllers, co-processors and processing accelerators."""

Item = Mapping[str, typing.Any]
"""An entry of a place, which usually describes one part."""

_SIZES_OF_EMPTY_SLOTS = ('no module installed', 'not installed', '0 mb', '0')
"""Texts that dmidecode reports as the size of a module in an empty slot."""

_PLAIN = frozenset((str, int, float, bool))


def _is_plain(value: typing.Any) -> bool:
    """Return whether a value is a nonempty text, a number or a boolean."""
    # Compare types, which is faster than isinstance(): a machine may have
    # hundreds of PCI devices.
    return type(value) in _PLAIN and value != ''


def _accept_any(_name: str, _item: Item) -> bool:
    """Accept every item of a place as a part."""
    return True


def _is_bank_with_module(name: str, item: Item) -> bool:
    """Return whether an entry of extra-hardware is a bank with a module.

    A bank is a slot for a memory module. For an empty bank, lshw reports
    ``[empty]`` in the description, or no size and a word such as ``Unknown``
    instead of a serial number.

    :param name: the name of the entry, e.g. ``bank:0``.
    """
    if not name.startswith('bank:'):
        # The entry is the number of banks, or the size of all memory.
        return False
    if '[empty]' in str(item.get('description')).lower():
        return False
    has_size = bool(item.get('size'))
    serial_number = part_identity.reported_text(item.get('serial'))
    return has_size or serial_number is not None


def _is_slot_with_module(_name: str, item: Item) -> bool:
    """Return whether an entry of dmidecode is a slot with a module.

    The size of an empty slot is "No Module Installed".
    """
    return str(item.get('Size')).strip().lower() not in _SIZES_OF_EMPTY_SLOTS


def _is_socket_with_processor(_name: str, item: Item) -> bool:
    """Return whether an entry of dmidecode is a socket with a processor.

    The status of an empty socket is "Unpopulated".
    """
    return 'unpopulated' not in str(item.get('Status')).lower()


@dataclasses.dataclass(frozen=True)
class PartSource:
    """A place where inventories have parts of one kind.

    :param path: the path of a list or mapping of parts, e.g.
        ``inventory.disks``, or of a single part. ``*`` stands for all items of
        a list or mapping.
    :param ids: names of fields that identify a part. The first one is shown.
    :param slots: names of fields that say where in the machine the part is.
    :param attributes: names of fields that describe the part.
    :param whole: whether the place is one part instead of a list of parts,
        e.g. ``inventory.system_vendor.firmware``.
    :param given_id: the identity that this package assigns to a part that
        reports none and that each machine has exactly once, e.g. the firmware.
    :param is_part: takes the name and the value of an item, and returns
        whether it is a part; False for e.g. an empty slot.
    """

    kind: str
    path: str
    ids: tuple[str, ...]
    slots: tuple[str, ...]
    attributes: tuple[str, ...]
    whole: bool = False
    given_id: str | None = None
    is_part: Callable[[str, Item], bool] = _accept_any

    def items(self, data: Item) -> Iterator[tuple[str, Item]]:
        """Yield the parts that a machine has in this place, with their names.

        The name of a part is its key in a mapping of parts. The name is empty
        if the parts are a list, or if the place is one part. Items for which
        :attr:`is_part` returns False, e.g. empty slots, are skipped.

        :param data: the inspection data: ``{'inventory': {…}, 'plugin_data':
            {…}}``.
        """
        for value in self._values_at_path(data):
            if self.whole:
                # The mapping itself is the part, not a mapping of parts.
                named_items = [('', value)]
            else:
                named_items = items_with_names(value)
            for name, item in named_items:
                if isinstance(item, Mapping) and self.is_part(name, item):
                    yield name, item

    def _values_at_path(self, data: Item) -> Iterator[typing.Any]:
        """Yield the value at the path; with ``*``, the values at all paths.

        For example, ``inventory.storage_controllers.*.drives`` yields the
        drives of each controller.

        :param data: the inspection data, see :meth:`items`.
        """
        above, star, below = self.path.partition('.*.')
        if not star:
            yield value_at(data, self.path)
            return
        for _name, item in items_with_names(value_at(data, above)):
            yield value_at(item, below)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that its items may have.

        A PCI device may be an accelerator, e.g. a GPU.
        """
        if self.kind == PCI_DEVICE:
            return PCI_DEVICE, ACCELERATOR
        return (self.kind,)

    def is_reported(self, data: Item) -> bool:
        """Return whether the data have the complete list of these parts.

        If so, a part that is not in the list is not in the machine: an empty
        list of disks means that it has none. Without the list, the machine may
        have disks that were not reported.

        The result is always False for two sorts of places. A single part, e.g.
        the firmware, has no list. And no machine runs without memory, so an
        empty list of memory modules means that they could not be read.

        :param data: the inspection data, see :meth:`items`.
        """
        if self.whole or self.kind == DIMM:
            return False
        # With "*", the outer list is enough: an empty list of controllers
        # means that there are no drives.
        list_path = self.path.partition('.*.')[0]
        return isinstance(value_at(data, list_path), dict | list)

    def kind_of(self, item: Item) -> str:
        """Return the kind of an item, one of :attr:`kinds`.

        The PCI class of a PCI device says whether it is an accelerator.
        """
        if self.kind != PCI_DEVICE:
            return self.kind
        if ACCELERATOR_CLASS.fullmatch(str(item.get('class'))):
            return ACCELERATOR
        return PCI_DEVICE

    def describe(self, item: Item) -> dict[str, typing.Any]:
        """Return the attributes of a part, e.g. ``{'core_count': 16}``.

        Attributes that are missing, empty, lists or mappings are skipped.
        Names are normalized, because sources write them differently:
        dmidecode's ``Core Count`` becomes ``core_count``.
        """
        described = {}
        for name in self.attributes:
            value = item.get(name)
            if _is_plain(value):
                common_name = name.lower().replace(' ', '_')
                described[common_name] = value
        return described

    def slot_of(self, name: str, item: Item) -> str | None:
        """Return the slot of a part, e.g. ``DIMM_A1``; None if unknown.

        It is the first of the fields :attr:`slots` that the item has. If it
        has none of them, it is the name of the part.

        :param name: the key of the part in a mapping of parts, otherwise
            empty.
        """
        for field in self.slots:
            value = item.get(field)
            if _is_plain(value):
                return str(value)
        return name or None


_SERIALS = ('serial', 'serial_number')
_SLOTS = ('slot', 'location', 'device_locator')
_NAMES = ('vendor', 'manufacturer', 'model', 'product', 'part_number')
_MODULE = (*_NAMES, 'size', 'size_mb')

DISKS = PartSource(
    kind=DISK,
    path='inventory.disks',
    ids=('wwn_with_extension', 'wwn', 'serial'),
    slots=('by_path',),
    attributes=('rotational', 'size', 'vendor', 'model'),
)
INTERFACES = PartSource(
    kind=INTERFACE,
    path='inventory.interfaces',
    ids=('mac_address',),
    slots=('pci_address',),
    attributes=('vendor', 'product'),
)
PCI = ('vendor_id', 'product_id')
PCI_PATHS = ('plugin_data.pci_devices', 'inventory.pci_devices')
"""The ramdisk has PCI devices in plugin data, Redfish in the inventory."""

BIOS_PATH = 'plugin_data.extra.firmware.bios'
"""The BIOS data of the ramdisk's collector, stored by Ironic's hook
extra-hardware."""

DMI_BIOS_PATH = 'plugin_data.dmi.bios'
"""The BIOS data of the ramdisk's collector dmi-decode."""

SYSTEM_FIRMWARE = 'system firmware'
PROCESSORS = 'processors'

GIVEN_IDS = frozenset((SYSTEM_FIRMWARE, PROCESSORS))
"""The identities of parts that every machine has; they are never shown."""

SOURCES = (
    PartSource(
        kind=SYSTEM,
        path='inventory.system_vendor',
        ids=('serial_number',),
        slots=(),
        attributes=('manufacturer', 'product_name'),
        whole=True,
    ),
    PartSource(
        kind=FIRMWARE,
        path='inventory.system_vendor.firmware',
        ids=(),
        slots=(),
        attributes=('vendor', 'version', 'build_date'),
        whole=True,
        given_id=SYSTEM_FIRMWARE,
    ),
    PartSource(
        kind=FIRMWARE,
        path=BIOS_PATH,
        ids=(),
        slots=(),
        attributes=('vendor', 'version', 'date'),
        whole=True,
        given_id=SYSTEM_FIRMWARE,
    ),
    PartSource(
        kind=FIRMWARE,
        path=DMI_BIOS_PATH,
        ids=(),
        slots=(),
        attributes=('Vendor', 'Version', 'Release Date'),
        whole=True,
        given_id=SYSTEM_FIRMWARE,
    ),
    PartSource(
        kind=PROCESSOR,
        path='inventory.cpu',
        ids=(),
        slots=(),
        attributes=('model_name', 'architecture', 'socket_count', 'count'),
        whole=True,
        given_id=PROCESSORS,
    ),
    *(
        PartSource(
            kind=PROCESSOR,
            path=path,
            ids=_SERIALS,
            slots=('socket', *_SLOTS),
            attributes=(*_NAMES, 'model_name', 'cores', 'threads'),
        )
        for path in ('inventory.processors', 'plugin_data.processors')
    ),
    PartSource(
        kind=PROCESSOR,
        path='plugin_data.dmi.cpu',
        ids=('Serial Number',),
        slots=('Socket Designation',),
        attributes=('Manufacturer', 'Version', 'Core Count'),
        is_part=_is_socket_with_processor,
    ),
    *(
        PartSource(
            kind=DIMM,
            path=path,
            ids=_SERIALS,
            slots=_SLOTS,
            attributes=_MODULE,
        )
        for path in ('inventory.dimms', 'plugin_data.dimms')
    ),
    PartSource(
        kind=DIMM,
        path='plugin_data.extra.memory',
        ids=('serial',),
        slots=('slot',),
        attributes=_MODULE,
        is_part=_is_bank_with_module,
    ),
    PartSource(
        kind=DIMM,
        path='plugin_data.dmi.memory.devices',
        ids=('Serial Number',),
        slots=('Locator',),
        attributes=('Manufacturer', 'Part Number', 'Size'),
        is_part=_is_slot_with_module,
    ),
    DISKS,
    PartSource(
        kind=DISK,
        path='inventory.storage_controllers.*.drives',
        ids=('serial_number',),
        slots=(),
        attributes=('size', 'manufacturer', 'model'),
    ),
    INTERFACES,
    *(
        PartSource(
            kind=ACCELERATOR,
            path=path,
            ids=(*_SERIALS, 'uuid'),
            slots=('pci_address', 'bus', *_SLOTS),
            attributes=(*_NAMES, *PCI),
        )
        for path in ('inventory.accelerators', 'plugin_data.accelerators')
    ),
    *(
        PartSource(
            kind=PCI_DEVICE,
            path=path,
            ids=_SERIALS,
            slots=('bus',),
            attributes=PCI,
        )
        for path in PCI_PATHS
    ),
    *(
        PartSource(
            kind=POWER_SUPPLY,
            path=path,
            ids=_SERIALS,
            slots=_SLOTS,
            attributes=(*_NAMES, 'watts'),
        )
        for path in ('inventory.power_supplies', 'plugin_data.power_supplies')
    ),
)


def items_with_names(value: typing.Any) -> list[tuple[str, typing.Any]]:
    """Return the items of a mapping or a list, each with its name.

    - The mapping ``{'sda': {…}}`` gives ``[('sda', {…})]``.
    - The list ``[{…}]`` gives ``[('', {…})]``: its items have no names.
    - Any other value, e.g. None, has no items.
    """
    if isinstance(value, Mapping):
        return [(str(name), item) for name, item in value.items()]
    if isinstance(value, list):
        return [('', item) for item in value]
    return []


def value_at(data: typing.Any, path: str) -> typing.Any:
    """Return the value at a path, or None if there is no value.

    :param data: the inspection data, or any part of them.
    :param path: a path with dots, e.g. ``inventory.cpu.count``.
    """
    value = data_path.get(data, tuple(path.split('.')))
    if value is data_path.ABSENT:
        return None
    return value
