# SPDX-License-Identifier: Apache-2.0

"""The parts of a machine: where inventories have them, and what they are.

A part is known by its serial number, WWN or MAC address, never by a name that
a kernel gives. Profiles, histories and differences ask this description.
"""

import collections
from collections.abc import Iterator, Mapping
import dataclasses
import re
import typing

from ironic_inspection_rules.engine import path as data_path

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

MOST = 2000
"""Parts that are looked at; no real machine has more."""

_LONGEST = 255
_MAC = re.compile('([0-9a-f]{2}[:-]){5,}[0-9a-f]{2}')
_PREFIX = re.compile(r'^(0x|naa\.|eui\.|uuid\.|nguid\.)')
_PLACEHOLDERS = frozenset((
    '', 'none', 'null', 'n/a', 'na', 'unknown', 'default string',
    'not specified', 'not available', 'not applicable', 'no asset tag',
    'serial number', 'system serial number', 'chassis serial number',
    'to be filled by o.e.m.', 'o.e.m.', 'empty', '[empty]', 'no dimm',
    '0123456789', '123456789', '1234567890'))
"""What firmware reports in place of a serial number."""

_PLAIN = frozenset((str, int, float, bool))


@dataclasses.dataclass(frozen=True)
class Source:
    """A place where inventories have parts of one kind.

    :param path: of a list or a mapping of parts, or of a single one; ``*``
        stands for all items of a list or mapping.
    :param ids: names of fields that identify a part; the first is shown.
    :param slots: names of fields that say where in the machine it is.
    :param attributes: names of fields that describe it.
    :param whole: the place is one part, not a list of them.
    :param given_id: the identity of a part that reports none and of which
        each machine has one.
    """

    kind: str
    path: str
    ids: tuple[str, ...]
    slots: tuple[str, ...]
    attributes: tuple[str, ...]
    whole: bool = False
    given_id: str | None = None


_SERIALS = ('serial', 'serial_number')
_SLOTS = ('slot', 'location', 'device_locator')
_NAMES = ('vendor', 'manufacturer', 'model', 'product', 'part_number')

DISKS = Source(DISK, 'inventory.disks', ('wwn_with_extension', 'wwn',
                                         'serial'),
               ('by_path',), ('rotational', 'size', 'vendor', 'model'))
INTERFACES = Source(INTERFACE, 'inventory.interfaces', ('mac_address',),
                    ('pci_address',), ('vendor', 'product'))
PCI = ('vendor_id', 'product_id')
PCI_PATHS = ('plugin_data.pci_devices', 'inventory.pci_devices')
"""The ramdisk has them beside the inventory, Redfish in it."""

SOURCES = (
    Source(SYSTEM, 'inventory.system_vendor', ('serial_number',), (),
           ('manufacturer', 'product_name'), whole=True),
    Source(FIRMWARE, 'inventory.system_vendor.firmware', (), (),
           ('vendor', 'version', 'build_date'), whole=True,
           given_id='system firmware'),
    Source(PROCESSOR, 'inventory.cpu', (), (),
           ('model_name', 'architecture', 'socket_count', 'count'),
           whole=True, given_id='processors'),
    *(Source(PROCESSOR, path, _SERIALS, ('socket', *_SLOTS),
             (*_NAMES, 'model_name', 'cores', 'threads'))
      for path in ('inventory.processors', 'plugin_data.processors')),
    *(Source(DIMM, path, _SERIALS, _SLOTS, (*_NAMES, 'size', 'size_mb'))
      for path in ('inventory.dimms', 'plugin_data.dimms',
                   'plugin_data.extra.memory')),
    DISKS,
    Source(DISK, 'inventory.storage_controllers.*.drives',
           ('serial_number',), (), ('size', 'manufacturer', 'model')),
    INTERFACES,
    *(Source(ACCELERATOR, path, (*_SERIALS, 'uuid'),
             ('pci_address', 'bus', *_SLOTS), (*_NAMES, *PCI))
      for path in ('inventory.accelerators', 'plugin_data.accelerators')),
    *(Source(PCI_DEVICE, path, _SERIALS, ('bus',), PCI)
      for path in PCI_PATHS),
    *(Source(POWER_SUPPLY, path, _SERIALS, _SLOTS, (*_NAMES, 'watts'))
      for path in ('inventory.power_supplies',
                   'plugin_data.power_supplies')),
)

GIVEN_IDS = frozenset(each.given_id for each in SOURCES if each.given_id)
"""The identities of parts that every machine has."""


class Part(typing.NamedTuple):
    """One part of a machine.

    :param ids: what identifies it, as :func:`normalised`; may be empty.
    :param label: the first of them as it was reported, or what people would
        call it.
    :param slot: where in the machine it is, None if that is not known.
    :param source: who reported it, and where.
    """

    kind: str
    ids: tuple[str, ...]
    label: str
    slot: str | None
    what: Mapping[str, typing.Any]
    source: str

    def place(self) -> tuple[str, ...]:
        """Return what to sort parts by."""
        return self.kind, self.label, self.slot or '', self.source


@dataclasses.dataclass(frozen=True)
class Parts:
    """The parts of a machine, and the sources that have reported any.

    :param sources: those that reported a list of parts, perhaps an empty
        one.
    :param texts: identities as they were reported, by their normalised form;
        only of parts that were just read.
    """

    parts: tuple[Part, ...]
    sources: frozenset[str]
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict,
                                                 compare=False)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data, which :meth:`from_dict` reads."""
        return {'parts': [[kind, list(ids), *others]
                          for kind, ids, *others in self.parts],
                'sources': sorted(self.sources)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, typing.Any]) -> 'Parts':
        """Make parts of what :meth:`as_dict` returned."""
        return cls(tuple(Part(kind, tuple(ids), *others)
                         for kind, ids, *others in plain['parts']),
                   frozenset(plain['sources']))


NOTHING = Parts((), frozenset())


def read(inventory: Mapping[str, typing.Any],
         plugin_data: Mapping[str, typing.Any], reporter: str) -> Parts:
    """Find the parts of a machine in its inventory.

    :param reporter: the inspect interface; each of them sees other parts.
    """
    data = {'inventory': inventory, 'plugin_data': plugin_data}
    sources = set()
    found: dict[str, list[list[Part]]] = {}
    texts: dict[str, str] = {}
    left = MOST
    for source in SOURCES:
        items = list(_items(data, source))
        parts = []
        for name, item in items[:left]:
            identities = _identities(source, item)
            part = _part(source, name, item, reporter, identities)
            if part is not None:
                parts.append(part)
                texts.update(identities)
        left -= len(parts)
        if items or isinstance(
                at(data, source.path.partition('.*.')[0]), list):
            sources.add(_named(source, reporter))
            found.setdefault(source.kind, []).append(parts)
            if source.kind == PCI_DEVICE:
                sources.add(_named(source, reporter, ACCELERATOR))
    return Parts(tuple(sorted((part for lists in found.values()
                               for part in _merged(lists)), key=Part.place)),
                 frozenset(sources), texts)


def normalised(text: str) -> str:
    """Return an identity in the one form that is compared."""
    text = _PREFIX.sub('', text.strip().lower())
    if _MAC.fullmatch(text):
        text = text.replace('-', ':')
    return text[:_LONGEST]


def _items(data: Mapping[str, typing.Any], source: Source
           ) -> Iterator[tuple[str, Mapping[str, typing.Any]]]:
    """Return the parts at a place, each with the name that it has there."""
    before, star, after = source.path.partition('.*.')
    for where in (_listed(at(data, before)) if star else [('', data)]):
        there = at(where[1], after if star else source.path)
        if source.whole:
            there = [there]
        for name, item in _listed(there):
            if isinstance(item, Mapping):
                yield name, item


def _listed(value: typing.Any) -> list[tuple[str, typing.Any]]:
    if isinstance(value, Mapping):
        return [(str(name), item) for name, item in value.items()]
    return [('', item) for item in value] if isinstance(value, list) else []


def at(data: typing.Any, path: str) -> typing.Any:
    """Return what is at a path with dots, None where nothing is."""
    found = data_path.get(data, tuple(path.split('.')))
    return None if found is data_path.ABSENT else found


def _identities(source: Source, item: Mapping[str, typing.Any]
                ) -> dict[str, str]:
    """Return what a part is known by.

    :returns: texts as they were reported, by their normalised form; the first
        is shown.
    """
    named = []
    for each in source.ids:
        text = item.get(each)
        if not isinstance(text, str):
            continue
        plain = normalised(text)
        # Firmware without a serial number has a word in its place.
        if plain not in _PLACEHOLDERS and len(set(plain) - set(':-. ')) > 1:
            named.append(text.strip())
    if 'wwn_with_extension' in item and len(named) > 1 and item.get('wwn'):
        # Units of one array share the rest of it.
        named = [text for text in named
                 if text != item['wwn'] or text == named[0]]
    identities: dict[str, str] = {}
    for text in named:
        identities.setdefault(normalised(text), text[:_LONGEST])
    return identities


def _part(source: Source, name: str, item: Mapping[str, typing.Any],
          reporter: str, identities: Mapping[str, str]) -> Part | None:
    kind = source.kind
    if kind == PCI_DEVICE and ACCELERATOR_CLASS.fullmatch(
            str(item.get('class'))):
        kind = ACCELERATOR
    # A machine may have hundreds of PCI devices.
    what = {each: value for each in source.attributes
            if type(value := item.get(each)) in _PLAIN and value != ''}
    if source.given_id and what:
        identities = {source.given_id: source.given_id}
    if not what and not identities:
        return None
    slot = name or None
    for each in source.slots:
        value = item.get(each)
        if type(value) in _PLAIN and value != '':
            slot = str(value)
            break
    if identities:
        label = next(iter(identities.values()))
    else:
        label = ':'.join(map(str, what.values()))[:_LONGEST]
    return Part(kind, tuple(identities), label, slot and slot[:_LONGEST], what,
                _named(source, reporter, kind))


def _named(source: Source, reporter: str, kind: str | None = None) -> str:
    return f'{reporter} {kind or source.kind} {source.path}'


def _merged(lists: list[list[Part]]) -> list[Part]:
    """Merge the lists of parts that several places have of a kind.

    Where one of them has identities, parts without any in the others are the
    same parts. An identity that several parts of a source share is dropped.
    """
    known = [part for parts in lists for part in parts if part.ids]
    count = collections.Counter(
        (part.source, each) for part in known for each in part.ids)
    merged: list[Part] = []
    seen: set[str] = set()
    for part in known:
        ids = tuple(each for each in part.ids if count[part.source, each] == 1)
        if not seen.isdisjoint(ids):
            continue
        seen.update(ids)
        merged.append(part._replace(ids=ids))
    for parts in lists:
        if len(lists) == 1 or not known or any(part.ids for part in parts):
            merged += [part for part in parts if not part.ids]
    return merged
