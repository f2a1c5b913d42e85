# SPDX-License-Identifier: Apache-2.0

"""The places in inventories that list parts.

The ramdisk reports parts in the inventory and, by its collectors, in plugin
data; Redfish reports them in the inventory.
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
"""PCI classes: 3D controllers, co-processors, processing accelerators."""

Item = Mapping[str, typing.Any]

_SIZES_OF_EMPTY_SLOTS = ('no module installed', 'not installed', '0 mb', '0')
"""What dmidecode has in place of the size of a module in an empty slot."""

_PLAIN = frozenset((str, int, float, bool))


def _is_plain(value: typing.Any) -> bool:
    """Return whether a value is a text with content, a number or a boolean.

    An empty text, None, a mapping and a list are not.
    """
    # By type, which is faster: a machine may have hundreds of PCI devices.
    return type(value) in _PLAIN and value != ''


def _accept_any(_name: str, _item: Item) -> bool:
    """Take every item of a place for a part."""
    return True


def _is_bank_with_module(name: str, item: Item) -> bool:
    """Return whether an entry of extra-hardware is a bank with a module.

    lshw gives an empty bank no size, and a word in place of a serial number.

    :param name: of the entry, e.g. ``bank:0``.
    """
    if not name.startswith('bank:'):
        # It is the number of banks, or the size of all memory.
        return False
    if '[empty]' in str(item.get('description')).lower():
        return False
    return bool(
        item.get('size') or part_identity.reported_text(item.get('serial'))
    )


def _is_slot_with_module(_name: str, item: Item) -> bool:
    """Check that an entry of dmidecode is a slot with a module.

    Of an empty slot, the size is "No Module Installed".
    """
    return str(item.get('Size')).strip().lower() not in _SIZES_OF_EMPTY_SLOTS


def _is_socket_with_processor(_name: str, item: Item) -> bool:
    """Check that an entry of dmidecode is a socket with a processor.

    Of an empty socket, the status is "Unpopulated".
    """
    return 'unpopulated' not in str(item.get('Status')).lower()


@dataclasses.dataclass(frozen=True)
class PartSource:
    """A place where inventories have parts of one kind.

    :param path: of a list or a mapping of parts, or of a single one; ``*``
        stands for all items of a list or mapping.
    :param ids: names of fields that identify a part; the first is shown.
    :param slots: names of fields that say where in the machine it is.
    :param attributes: names of fields that describe it.
    :param whole: whether the place is one part, not a list of parts.
    :param given_id: the identity that this project gives to a part which
        reports none, and of which every machine has exactly one.
    :param is_part: whether an item, with the name that it has there, is a
        part.
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

        The name of a part is its key in a mapping. It is empty where the parts
        are a list, and where the place is one part. Items for which
        ``is_part`` is False, such as empty slots, are left out.

        :param data: ``inventory`` and ``plugin_data`` of the machine.
        """
        for value in self._values_at_path(data):
            named_items = items_with_names(value)
            if self.whole:
                # The mapping is the part, and not a mapping of parts.
                named_items = [('', value)]
            for name, item in named_items:
                if isinstance(item, Mapping) and self.is_part(name, item):
                    yield name, item

    def _values_at_path(self, data: Item) -> Iterator[typing.Any]:
        """Yield the value at the path, or one for every item that ``*`` means.

        ``inventory.storage_controllers.*.drives`` has the drives of every
        controller.
        """
        above, star, below = self.path.partition('.*.')
        if not star:
            yield value_at(data, self.path)
            return
        for _name, item in items_with_names(value_at(data, above)):
            yield value_at(item, below)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its items; some PCI devices are accelerators."""
        if self.kind == PCI_DEVICE:
            return PCI_DEVICE, ACCELERATOR
        return (self.kind,)

    def is_reported(self, data: Item) -> bool:
        """Return whether the data say so if there are no such parts.

        An empty list of disks says that the machine has no disks. Without a
        list, the disks may be there unseen, and must not count as missing.
        """
        # A single part is there or is not reported. No machine runs without
        # memory: an empty list of modules means that they could not be read.
        if self.whole or self.kind == DIMM:
            return False
        above = self.path.partition('.*.')[0]
        return isinstance(value_at(data, above), dict | list)

    def kind_of(self, item: Item) -> str:
        """Return the kind of an item, one of :attr:`kinds`."""
        if self.kind != PCI_DEVICE:
            return self.kind
        if ACCELERATOR_CLASS.fullmatch(str(item.get('class'))):
            return ACCELERATOR
        return PCI_DEVICE

    def describe(self, item: Item) -> dict[str, typing.Any]:
        """Return the plain attributes of a part.

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
        """Return the slot of a part, such as ``DIMM_A1``; None if unknown.

        :param name: name of the part in a mapping of parts, else empty.
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
"""The ramdisk has them beside the inventory, Redfish in it."""

BIOS_PATH = 'plugin_data.extra.firmware.bios'
"""Where Ironic's hook extra-hardware has what the ramdisk's collector saw."""

DMI_BIOS_PATH = 'plugin_data.dmi.bios'
"""Where the collector dmi-decode of the ramdisk has it."""

SYSTEM_FIRMWARE = 'system firmware'
PROCESSORS = 'processors'

GIVEN_IDS = frozenset((SYSTEM_FIRMWARE, PROCESSORS))
"""The identities of parts that every machine has; they are shown nowhere."""

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

    ``{'sda': {…}}`` gives ``[('sda', {…})]``, and ``[{…}]`` gives ``[('',
    {…})]``: the items of a list have no names. Any other value has no items.
    """
    if isinstance(value, Mapping):
        return [(str(name), item) for name, item in value.items()]
    if isinstance(value, list):
        return [('', item) for item in value]
    return []


def value_at(data: typing.Any, path: str) -> typing.Any:
    """Return the value at a path, None where there is none.

    :param path: with dots, such as ``inventory.cpu.count``.
    """
    value = data_path.get(data, tuple(path.split('.')))
    if value is data_path.ABSENT:
        return None
    return value
