# SPDX-License-Identifier: Apache-2.0

"""What of a machine is compared with its peers.

A sketch is small, and what several machines have in common they share, so
that those of a large fleet fit into memory.
"""

import array
from collections.abc import Hashable, Mapping, Sequence
import functools
import re
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.kit.machine.outliers import field_name
from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.machine import part_source

Attributes = tuple[tuple[str, typing.Any], ...]
"""Names and values."""

Item = tuple[str, Attributes]
"""A part: its slot, which may be empty, and what it is."""

Section = tuple[str, Attributes]
"""Fields of one place of the data that are texts: path and value of each."""

_AGENT_ONLY = ('boot', 'bmc_address', 'hostname')
_LISTS = (
    *(source for source in part_source.SOURCES if not source.whole),
    # Firmware of cards is only there; other sources have no such field.
    part_source.Source(part_source.INTERFACE, 'plugin_data.extra.network',
                       ('serial',), ('businfo',), ()))
_PART_PATHS = frozenset(source.path.partition('.*.')[0]
                        for source in _LISTS) | {
    'plugin_data.data', 'plugin_data.inspection_rules', 'plugin_data.logs',
    'plugin_data.all_interfaces', 'plugin_data.valid_interfaces',
    'plugin_data.interfaces',
    # The ramdisk, which is not the machine's.
    'plugin_data.configuration', 'plugin_data.extra.system.kernel',
    'plugin_data.extra.system.os'}
"""What is compared as parts, is told there again, or is never compared."""

_LOAD_UNITS = frozenset((
    'degrees c', 'degrees f', 'c', 'celsius', 'watts', 'w', 'amps', 'a',
    'volts', 'v', 'percent', '%'))
"""Units of sensors whose readings depend on load and surroundings."""

_CONTAINERS = (dict, list)
_PLAIN = frozenset((str, int, float, bool))
_NUMBER = re.compile(r'-?[0-9]{1,15}(?:\.[0-9]+)?')
_SLOT_PREFIX = re.compile('^(/dev/disk/by-path/|pci@)')
_VERSIONS = frozenset(('version', 'firmware', 'revision', 'rev', 'release',
                       'model', 'stepping', 'microcode'))
_PLAIN_VERSION = re.compile(r'[vV]?[0-9]+(?:\.[0-9]+)+|[0-9]{12,}')
_PCI_ID = re.compile('[0-9a-fA-F]{4}')
_DEEPEST = 20
_LARGEST = 1e300
_MOST_FIELDS = 20000


class PartList(typing.NamedTuple):
    """All parts of one kind that one source reports."""

    kind: str
    source: str
    items: tuple[Item, ...]


class Sketch(typing.NamedTuple):
    """What of a machine is compared.

    :param name: what the machine is called in findings.
    :param key: what its peers have in common with it, by label.
    :param paths: of the fields that are numbers, in order.
    :param numbers: their values.
    """

    name: str
    key: tuple[tuple[str, str], ...]
    parts: tuple[PartList, ...]
    sections: tuple[Section, ...]
    paths: tuple[str, ...]
    numbers: 'array.array[float]'


class Shared:
    """The objects that stand for all equal ones.

    What is kept of a fleet grows by the numbers of each machine, which the
    median needs, and by references to what several machines have.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, typing.Any] = {}

    def sketch(self, drawn: Sketch) -> Sketch:
        """Return a sketch made of what is known already."""
        parts = tuple(self.part_list(part_list) for part_list in drawn.parts)
        sections = tuple(self._section(section)
                         for section in drawn.sections)
        return Sketch(drawn.name, self._one(drawn.key), self._one(parts),
                      self._one(sections), self._one(drawn.paths),
                      drawn.numbers)

    def part_list(self, drawn: PartList) -> PartList:
        """Return a list of parts made of what is known already."""
        known = self._known.get(drawn)
        if known is None:
            # A list that one machine has is of parts that others have too.
            known = drawn._replace(items=tuple(map(self._one, drawn.items)))
            self._known[known] = known
        return typing.cast(PartList, known)

    def _section(self, drawn: Section) -> Section:
        known = self._known.get(drawn)
        if known is None:
            path, fields = drawn
            known = (path, tuple(map(self._one, fields)))
            self._known[known] = known
        return typing.cast(Section, known)

    def _one(self, value: typing.Any) -> typing.Any:
        return self._known.setdefault(value, value)


def draw(name: str, facts: views.Facts, by: Sequence[str]) -> Sketch:
    """Return the sketch of a machine, which shares nothing yet.

    :param by: paths of the values that peers have in common; vendor, product
        and board without any.
    """
    data = {'inventory': facts.inventory, 'plugin_data': facts.plugin_data}
    found: dict[str, list[typing.Any]] = {}
    _gather('inventory', data['inventory'], 'inventory', found, 0)
    _gather('plugin_data', data['plugin_data'], 'plugin_data', found, 0)
    sections: dict[str, list[tuple[str, typing.Any]]] = {}
    numbers: list[tuple[str, float]] = []
    for path, values in found.items():
        _note(path, values, sections, numbers)
    numbers.sort()
    return Sketch(
        name, key_of(facts, by), tuple(_parts(data)),
        tuple((section, tuple(sorted(fields, key=_path_of)))
              for section, fields in sorted(sections.items())),
        tuple(path for path, _value in numbers),
        array.array('d', [value for _path, value in numbers]))


def _path_of(field: tuple[str, typing.Any]) -> str:
    return field[0]


BOARD = 'plugin_data.extra.system.motherboard.name'

_MODEL = ('inventory.system_vendor.manufacturer',
          'inventory.system_vendor.product_name', BOARD)


def key_of(facts: views.Facts, by: Sequence[str]
           ) -> tuple[tuple[str, str], ...]:
    """Return what peers of a machine have in common with it.

    :returns: paths and values; what is not reported is left out.
    """
    key = []
    for path, value in values_of(facts, by).items():
        text = ' '.join(str(value).split())
        if path == BOARD and not by and part_identity.written(text) is None:
            # Firmware has a word where it does not know the board.
            continue
        if text:
            key.append((path, text))
    return tuple(key)


def values_of(facts: views.Facts, by: Sequence[str]
              ) -> dict[str, typing.Any]:
    """Return the values that peers have in common, by their paths.

    :returns: plain values; empty text where one is not reported.
    """
    data = {'inventory': facts.inventory, 'plugin_data': facts.plugin_data}
    values: dict[str, typing.Any] = {}
    for path in by or _MODEL:
        value = data_path.get(data, data_path.parse(path))
        values[path] = value if type(value) in _PLAIN else ''
    return values


def _gather(name: str, value: typing.Any, path: str,
            found: dict[str, list[typing.Any]], depth: int) -> None:
    """Collect the values of fields by the path that all machines have."""
    kind = type(value)
    if kind in _CONTAINERS:
        if path in _PART_PATHS or depth > _DEEPEST:
            return
        if kind is dict:
            if not _is_load(value):
                _gather_members(value, path, found, depth)
        else:
            _gather_items(value, path, found, depth)
    elif value is not None and field_name.is_value_compared(path, name):
        found.setdefault(path, []).append(value)


def _is_load(members: dict[str, typing.Any]) -> bool:
    """Check that a mapping is the reading of a sensor that follows load."""
    if 'value' not in members:
        return False
    unit = members.get('unit')
    return isinstance(unit, str) and unit.lower() in _LOAD_UNITS


def _gather_members(members: dict[str, typing.Any], path: str,
                    found: dict[str, list[typing.Any]], depth: int) -> None:
    for name, value in members.items():
        step = name
        if type(value) in _CONTAINERS:
            step = field_name.common(name)
            if step != field_name.MEMBER and not field_name.is_compared(name):
                continue
        _gather(name, value, f'{path}.{step}', found, depth + 1)


def _gather_items(items: list[typing.Any], path: str,
                  found: dict[str, list[typing.Any]], depth: int) -> None:
    if items and all(map(_is_setting, items)):
        for item in items:
            _gather_members({item['name']: item['value']}, path, found,
                            depth)
        return
    path = f'{path}[]'
    if items and type(items[0]) in _CONTAINERS:
        found.setdefault(f'{path} number', []).append(len(items))
    for item in items[:_MOST_FIELDS]:
        # The name of the list has been looked at.
        _gather('', item, path, found, depth + 1)


def _is_setting(item: typing.Any) -> bool:
    """Check that an item of a list is one of a mapping: name and value."""
    return (type(item) is dict and type(item.get('name')) is str
            and type(item.get('value', [])) in _PLAIN)


def _note(path: str, values: list[typing.Any],
          sections: dict[str, list[tuple[str, typing.Any]]],
          numbers: list[tuple[str, float]]) -> None:
    """Sort the values of a field into numbers and texts."""
    texts = []
    amounts = []
    for value in values[:_MOST_FIELDS]:
        kind = type(value)
        if kind is str:
            if _may_be_number(path) and _NUMBER.fullmatch(value):
                amounts.append(float(value))
                continue
            text = common_text(value, not _may_be_number(path))
            if text is not None:
                texts.append(text)
        elif kind is bool:
            texts.append(value)
        elif kind in (int, float) and abs(value) < _LARGEST:
            if _may_be_number(path):
                amounts.append(float(value))
            else:
                texts.append(str(value))
    if len(amounts) == 1:
        numbers.append((path, amounts[0]))
    elif amounts:
        amounts.sort()
        numbers.append((f'{path} least', amounts[0]))
        numbers.append((f'{path} median', amounts[len(amounts) // 2]))
        numbers.append((f'{path} most', amounts[-1]))
    if texts:
        whole = texts[0] if len(values) == 1 and not path.endswith('[]') else (
            tuple(sorted(texts, key=str)))
        sections.setdefault(_section(path), []).append((path, whole))


@functools.lru_cache(50000)
def common_text(text: str, is_version: bool) -> str | None:
    """Return a text that several machines may have, without double spaces.

    :param is_version: it is the value of a version, or the ID of a model.
    :returns: None if the text is one machine's own, or says nothing.
    """
    # Firmware pads some fields with spaces, and not the same in each release.
    text = ' '.join(text.split())
    if is_version and (_PLAIN_VERSION.fullmatch(text)
                       or _PCI_ID.fullmatch(text)):
        # 4.40.10.0 and a date look like addresses, 1.1 like a placeholder.
        return text
    if not text or not field_name.is_common_text(text):
        return None
    # Firmware writes a word where it knows nothing.
    if len(text) > 2 and part_identity.written(text) is None:
        return None
    return text


@functools.lru_cache(20000)
def _section(path: str) -> str:
    return '.'.join(path.split('.')[:3])


@functools.lru_cache(20000)
def _may_be_number(path: str) -> bool:
    """Check that a field is no version, which may look like a number."""
    return not field_name.words(path.rpartition('.')[2]) & _VERSIONS


@functools.lru_cache(5000)
def _is_exact(name: str) -> bool:
    """Check that an attribute is a version, or the ID of a model."""
    return name.endswith('_id') or bool(field_name.words(name) & _VERSIONS)


def _parts(data: Mapping[str, typing.Any]) -> list[PartList]:
    """Return the parts of a machine, by kind and source."""
    inventory = data['inventory']
    reporter = 'redfish'
    if any(name in inventory for name in _AGENT_ONLY):
        reporter = 'agent'
    lists = []
    for source in _LISTS:
        kinds: dict[str, list[Item]] = {}
        if source.is_reported(data):
            kinds[source.kind] = []
            if source.kind == part_source.PCI_DEVICE:
                kinds[part_source.ACCELERATOR] = []
        for name, item in source.items(data):
            slot = source.slot_of(name, item)
            if slot == name and field_name.common(name) == field_name.MEMBER:
                # A name that a kernel gives is no slot.
                slot = None
            kinds.setdefault(source.kind_of(item), []).append(
                (_SLOT_PREFIX.sub('', slot or ''), _attributes(source, item)))
        for kind, items in kinds.items():
            items.sort(key=_order)
            lists.append(PartList(kind, f'{reporter} {source.path}',
                                  tuple(_without_twins(items))))
    return lists


def _order(item: Item) -> tuple[str, str]:
    return item[0], str(item[1])


def _without_twins(items: list[Item]) -> list[Item]:
    """Number the parts that are said to be in one slot."""
    seen: dict[str, int] = {}
    found = []
    for slot, what in items:
        seen[slot] = seen.get(slot, 0) + 1
        if slot and seen[slot] > 1:
            slot = f'{slot} #{seen[slot]}'
        found.append((slot, what))
    return found


def _attributes(source: part_source.Source, item: Mapping[str, typing.Any]
                ) -> Attributes:
    """Return what a part is, without what identifies it."""
    found = []
    for name, value in item.items():
        kind = type(value)
        if kind not in _PLAIN or not _is_attribute(source.path, name):
            continue
        if kind is str:
            value = common_text(value, _is_exact(name))
            if value is None:
                continue
        elif not abs(value) < _LARGEST:
            continue
        found.append((name, value))
    found.sort()
    return tuple(found)


_BY_PATH = {source.path: source for source in _LISTS}


@functools.lru_cache(5000)
def _is_attribute(path: str, name: str) -> bool:
    """Check that a field of a part says what it is, not which or where."""
    source = _BY_PATH[path]
    if name in source.attributes:
        return True
    return name not in source.ids and name not in source.slots and (
        name != 'Locator') and field_name.is_compared(name)
