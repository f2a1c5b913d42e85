# SPDX-License-Identifier: Apache-2.0

"""Sketches of machines: the fields, numbers and parts that are compared.

A sketch has three sorts of data:

* texts, which are grouped in sections, such as ``('plugin_data.extra.cpu',
  (('plugin_data.extra.cpu.model', 'X'),))``,
* numbers, such as 8 at ``inventory.cpu.count``,
* lists of parts. A part is its slot and its attributes, such as ``('0:1:0',
  (('model', 'X'), ('size', 960)))``.

A sketch is small. Machines share the objects that are equal in their sketches,
so that the sketches of a large fleet fit into memory.
"""

import array
import collections
from collections.abc import Hashable, Mapping, Sequence
import functools
import operator
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
"""A part: its slot, which may be empty, and its attributes."""

Section = tuple[str, Attributes]
"""The texts at one place of the data, such as ``plugin_data.extra.cpu``: the
path of the place, and the paths and values of its fields."""

_ONLY_AGENT_REPORTS = ('boot', 'bmc_address', 'hostname')
"""Fields of an inventory that Ironic's agent reports, but Redfish does not."""

# Only outliers use this source. It is the only one that reports the firmware
# of network cards.
_NETWORK_CARDS = part_source.PartSource(
    kind=part_source.INTERFACE,
    path='plugin_data.extra.network',
    ids=('serial',),
    slots=('businfo',),
    attributes=(),
)
_SOURCES_WITH_LISTS = (
    *(source for source in part_source.SOURCES if not source.whole),
    _NETWORK_CARDS,
)
"""Sources with a list of parts. All other sources describe a single part."""

_NOT_COMPARED = frozenset(
    (
        # These are copies of other places, or describe the inspection and not
        # the machine.
        'plugin_data.data',
        'plugin_data.inspection_rules',
        'plugin_data.logs',
        'plugin_data.all_interfaces',
        'plugin_data.valid_interfaces',
        'plugin_data.interfaces',
        # These describe the ramdisk, which does not belong to the machine.
        'plugin_data.configuration',
        'plugin_data.extra.system.kernel',
        'plugin_data.extra.system.os',
    )
)
_PATHS_LEFT_OUT = _NOT_COMPARED | {
    source.path.partition('.*.')[0] for source in _SOURCES_WITH_LISTS
}
"""Paths below which no fields are compared, because the parts there are
compared in another way, or because nothing there is comparable."""

_UNITS_THAT_FOLLOW_LOAD = frozenset(
    (
        'degrees c',
        'degrees f',
        'c',
        'celsius',
        'watts',
        'w',
        'amps',
        'a',
        'volts',
        'v',
        'percent',
        '%',
    )
)
"""Units of sensors whose readings depend on the load or on the environment."""

_CONTAINERS = (dict, list)
_NUMBERS = (int, float)
_SCALARS = frozenset((str, int, float, bool))
_NUMBER = re.compile(r'-?[0-9]{1,15}(?:\.[0-9]+)?')
# This prefix names the kind of path, and is not part of the slot.
_PREFIX_OF_SLOT_PATH = re.compile('^(/dev/disk/by-path/|pci@)')
_WORDS_FOR_VERSION = frozenset(
    (
        'version',
        'firmware',
        'revision',
        'rev',
        'release',
        'model',
        'stepping',
        'microcode',
    )
)
# A version, or a date with its time. Both may look like other kinds of values.
_VERSION_OR_DATE = re.compile(r'[vV]?[0-9]+(?:\.[0-9]+)+|[0-9]{12,}')
_PCI_ID = re.compile('[0-9a-fA-F]{4}')
_MAX_DEPTH = 20
_MAX_NUMBER = 1e300
_MAX_VALUES_OF_LIST = 20000


class PartList(typing.NamedTuple):
    """All parts of one kind that one source reports.

    :param source: the reporter, and the path of the list in the data, e.g.
        ``agent inventory.disks``.
    """

    kind: str
    source: str
    items: tuple[Item, ...]


class Sketch(typing.NamedTuple):
    """The data of a machine that are compared with the data of its peers.

    :param name: the name of the machine in findings.
    :param key: the paths and values that all of its peers have, such as the
        model.
    :param parts: lists of parts, by kind and source.
    :param sections: the fields that are texts.
    :param paths: the sorted paths of the fields that are numbers.
    :param numbers: the values of these fields, in the same order.
    """

    name: str
    key: tuple[tuple[str, str], ...]
    parts: tuple[PartList, ...]
    sections: tuple[Section, ...]
    paths: tuple[str, ...]
    numbers: 'array.array[float]'


class SketchInterner:
    """Replaces equal values of sketches by one object, which saves memory.

    In a fleet of equal machines, only the numbers are stored for every
    machine, because the median needs all of them.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, typing.Any] = {}

    def intern(self, new: Sketch) -> Sketch:
        """Return an equal sketch whose values are shared objects.

        Only the name and the numbers are not shared.
        """
        parts = tuple(map(self.intern_part_list, new.parts))
        sections = tuple(map(self._share_section, new.sections))
        return Sketch(
            name=new.name,
            key=self._first_equal(new.key),
            parts=self._first_equal(parts),
            sections=self._first_equal(sections),
            paths=self._first_equal(new.paths),
            numbers=new.numbers,
        )

    def intern_part_list(self, new: PartList) -> PartList:
        """Return the object that represents all equal lists of parts.

        If an equal list is known, return it. Otherwise make a list of shared
        parts, store it for later calls, and return it.
        """
        shared = self._known.get(new)
        if shared is None:
            # No equal list is known, but some of its parts may be known from
            # other lists. Replace these parts by the known objects.
            shared = new._replace(
                items=tuple(map(self._first_equal, new.items))
            )
            self._known[shared] = shared
        return typing.cast(PartList, shared)

    def _share_section(self, new: Section) -> Section:
        """Return the object that represents all equal sections.

        If an equal section is known, return it. Otherwise make a section of
        shared fields, store it for later calls, and return it.
        """
        shared = self._known.get(new)
        if shared is None:
            # Other sections may have some of the fields.
            path, fields = new
            shared = (path, tuple(map(self._first_equal, fields)))
            self._known[shared] = shared
        return typing.cast(Section, shared)

    def _first_equal(self, value: typing.Any) -> typing.Any:
        """Return the known object that is equal to a value.

        If there is none, store the value itself, so that later calls with an
        equal value return it.
        """
        return self._known.setdefault(value, value)


def build(name: str, facts: views.Facts, by: Sequence[str]) -> Sketch:
    """Draw the sketch of a machine: the part of its data that is compared.

    For example, ``inventory.boot.current_boot_mode`` becomes a text in a
    section, ``inventory.cpu.count`` a number, and ``inventory.disks`` a list
    of parts. The sketch does not share objects with other sketches yet;
    :meth:`SketchInterner.intern` does that.

    :param name: the name of the machine in findings.
    :param facts: the inventory and the plugin data of the machine.
    :param by: the paths of the values that all peers must have; if empty,
        vendor, product and board.
    """
    data = _as_data(facts)
    # The values of fields by path. A path to the items of a list has several.
    values: dict[str, list[typing.Any]] = {}
    for root, value in data.items():
        _collect(name=root, value=value, path=root, values=values, depth=0)
    fields = _Fields()
    for path, values_of_path in values.items():
        fields.add(path, values_of_path)
    # The paths are sorted so that most machines can share the tuple of paths.
    # An array takes a quarter of the memory of a list.
    paths = []
    numbers = array.array('d')
    for path, number in sorted(fields.numbers):
        paths.append(path)
        numbers.append(number)
    return Sketch(
        name=name,
        key=peer_key(facts, by),
        parts=tuple(_part_lists(data)),
        sections=fields.by_section(),
        paths=tuple(paths),
        numbers=numbers,
    )


def _as_data(facts: views.Facts) -> dict[str, typing.Any]:
    """Return the data of a machine as one mapping, in which paths begin."""
    return {'inventory': facts.inventory, 'plugin_data': facts.plugin_data}


BOARD = 'plugin_data.extra.system.motherboard.name'

_PATHS_OF_MODEL = (
    'inventory.system_vendor.manufacturer',
    'inventory.system_vendor.product_name',
    BOARD,
)


def peer_key(
    facts: views.Facts, by: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return the key of a machine; machines with the same key are peers.

    For example, ``(('inventory.system_vendor.manufacturer', 'Dell Inc.'),
    ('inventory.system_vendor.product_name', 'PowerEdge R640'))``.

    :param facts: the inventory and the plugin data of the machine.
    :param by: the paths of the values that all peers must have; if empty,
        vendor, product and board.
    :returns: pairs of path and value. Values that are not reported are
        skipped.
    """
    key = []
    for path, value in peer_values(facts, by).items():
        # Firmware pads some values with spaces.
        text = ' '.join(str(value).split())
        is_usual_board = path == BOARD and not by
        if is_usual_board and part_identity.reported_text(text) is None:
            # Firmware reports a placeholder if it does not know the board.
            continue
        if text:
            key.append((path, text))
    return tuple(key)


def peer_values(
    facts: views.Facts, by: Sequence[str]
) -> dict[str, typing.Any]:
    """Return the values that all peers of a machine must have, by path.

    :param facts: the inventory and the plugin data of the machine.
    :param by: the paths; if empty, vendor, product and board.
    :returns: a value is the empty text if it is not reported, or if it is a
        mapping or a list.
    """
    data = _as_data(facts)
    values: dict[str, typing.Any] = {}
    for path in by or _PATHS_OF_MODEL:
        value = data_path.get(data, data_path.parse(path))
        if type(value) not in _SCALARS:
            value = ''
        values[path] = value
    return values


def _collect(
    name: str,
    value: typing.Any,
    path: str,
    values: dict[str, list[typing.Any]],
    depth: int,
) -> None:
    """Collect the values of fields, by a path that all machines share.

    Three kinds of fields are skipped: fields that are unique to one machine,
    such as a serial number, readings that follow the load, such as a
    temperature, and all fields below :data:`_PATHS_LEFT_OUT`, such as parts.

    :param name: the name of the field; empty for an item of a list.
    :param value: the value of the field; a mapping or a list is searched.
    :param path: the path of the field, without names that are unique to one
        machine.
    :param values: receives the values, by path.
    :param depth: the number of mappings and lists around the value.
    """
    if type(value) not in _CONTAINERS:
        # A text, a number or a boolean is collected.
        if value is not None and field_name.is_value_compared(path, name):
            values.setdefault(path, []).append(value)
        return
    # All other values are mappings and lists, which are searched.
    if path in _PATHS_LEFT_OUT or depth > _MAX_DEPTH:
        return
    if type(value) is list:
        _collect_items(value, path, values, depth)
    elif not _is_load_reading(value):
        _collect_members(value, path, values, depth)


def _is_load_reading(members: Mapping[str, typing.Any]) -> bool:
    """Return whether a mapping is a sensor's reading that follows the load.

    For example, ``{'value': 41, 'unit': 'degrees C'}``.
    """
    if 'value' not in members:
        return False
    unit = members.get('unit')
    return isinstance(unit, str) and unit.lower() in _UNITS_THAT_FOLLOW_LOAD


def _collect_members(
    members: Mapping[str, typing.Any],
    path: str,
    values: dict[str, list[typing.Any]],
    depth: int,
) -> None:
    """Collect the values in a mapping, by names that all machines share.

    For example, the values below "eth0" on one machine and below "eno1" on
    another are both collected under the path ``….*``. Mappings and lists whose
    name says that they are unique to a machine, such as its addresses, are
    skipped.

    :param members: the mapping.
    :param path: the path of the mapping.
    :param values: receives the values, by path.
    :param depth: the number of mappings and lists around the mapping.
    """
    for name, value in members.items():
        # The step is the name of the member in the path.
        step = name
        if type(value) in _CONTAINERS:
            # "eth0" becomes "*", and "DIMM 3" becomes "DIMM*".
            step = field_name.common_name(name)
            # Kernel names such as "sda" and "eth0" are collected, because all
            # machines may have such a part.
            is_kernel_name = step == field_name.MEMBER
            if not is_kernel_name and not field_name.is_compared(name):
                continue
        _collect(
            name=name,
            value=value,
            path=f'{path}.{step}',
            values=values,
            depth=depth + 1,
        )


def _collect_items(
    items: Sequence[typing.Any],
    path: str,
    values: dict[str, list[typing.Any]],
    depth: int,
) -> None:
    """Collect the values of all items of a list under one path, ``…[]``.

    If the items are mappings or lists, their number is also collected, under
    ``…[] number``. A list of settings, ``[{'name': 'Turbo', 'value': 'on'}]``,
    is read as the mapping ``{'Turbo': 'on'}``.

    :param items: the list.
    :param path: the path of the list.
    :param values: receives the values, by path.
    :param depth: the number of mappings and lists around the list.
    """
    if items and all(map(_is_setting, items)):
        for item in items:
            _collect_members(
                {item['name']: item['value']}, path, values, depth
            )
        return
    path_of_items = f'{path}[]'
    if items and type(items[0]) in _CONTAINERS:
        values.setdefault(f'{path_of_items} number', []).append(len(items))
    for item in items[:_MAX_VALUES_OF_LIST]:
        # Items have no name, and the name of the list was checked before.
        _collect(
            name='',
            value=item,
            path=path_of_items,
            values=values,
            depth=depth + 1,
        )


def _is_setting(item: typing.Any) -> bool:
    """Return whether an item of a list is a setting with a name and a value.

    For example, ``{'name': 'Turbo', 'value': 'on'}``.
    """
    if type(item) is not dict or type(item.get('name')) is not str:
        return False
    value = item.get('value')
    return type(value) in _SCALARS


class _Fields:
    """The fields of a machine: numbers and texts.

    :ivar numbers: pairs of a path and a number.
    """

    def __init__(self) -> None:
        self.numbers: list[tuple[str, float]] = []
        # Pairs of a path and a text, or a tuple of texts, by section.
        self._texts: dict[str, list[tuple[str, typing.Any]]] = {}

    def add(self, path: str, values: Sequence[typing.Any]) -> None:
        """Add the values of one path, which may be numbers, texts or both.

        Versions are texts, even if they look like numbers. Texts that are not
        comparable are skipped.

        :param values: several values if the path leads to the items of a list.
        """
        is_version = _is_version(path)
        texts = []
        amounts = []
        for value in values[:_MAX_VALUES_OF_LIST]:
            if not is_version and _is_number(value):
                amounts.append(float(value))
                continue
            text = _as_text(value, is_version)
            if text is not None:
                texts.append(text)
        if amounts:
            self._add_numbers(path, amounts)
        if texts:
            # The texts are sorted because the order of items in a list differs
            # between machines. A list with one text stays a list because other
            # machines may have more items.
            content: typing.Any = tuple(sorted(texts, key=str))
            is_in_list = path.endswith('[]')
            if len(values) == 1 and not is_in_list:
                content = texts[0]
            texts_of_section = self._texts.setdefault(
                _path_of_section(path), []
            )
            texts_of_section.append((path, content))

    def _add_numbers(self, path: str, amounts: list[float]) -> None:
        """Add one number, or the least, median and greatest of several.

        A machine may have several numbers under one path, such as one per
        core: 2400, 2500, 2600 and 3000 give ``PATH least`` 2400, ``PATH
        median`` 2600 and ``PATH most`` 3000.
        """
        if len(amounts) == 1:
            self.numbers.append((path, amounts[0]))
            return
        amounts.sort()
        middle = len(amounts) // 2
        self.numbers += [
            (f'{path} least', amounts[0]),
            (f'{path} median', amounts[middle]),
            (f'{path} most', amounts[-1]),
        ]

    def by_section(self) -> tuple[Section, ...]:
        """Return the texts by section, sorted by path.

        A section is a pair: its path, and the pairs of path and text in it.
        """
        by_path = operator.itemgetter(0)
        sections = []
        for section, fields in sorted(self._texts.items()):
            # The values are not part of the sort key, because values of
            # different types cannot be compared.
            fields.sort(key=by_path)
            sections.append((section, tuple(fields)))
        return tuple(sections)


def _is_number(value: typing.Any) -> bool:
    """Return whether a value is compared as a number.

    Numbers and texts such as ``'3.5'`` are. Booleans, NaN, numbers of 1e300 or
    more, and texts with more than 15 digits before the point are not, because
    a float cannot distinguish two texts of that length.
    """
    if type(value) is str:
        return _NUMBER.fullmatch(value) is not None
    return type(value) in _NUMBERS and abs(value) < _MAX_NUMBER


def _as_text(value: typing.Any, is_version: bool) -> typing.Any:
    """Return a value as text to compare; a boolean stays a boolean.

    Numbers are compared as numbers elsewhere, unless they are versions.

    :param is_version: whether the value is a version, which may be a number.
    :returns: None if there is nothing to compare.
    """
    kind = type(value)
    if kind is str:
        return common_text(value, is_version)
    if kind is bool:
        return value
    if is_version and kind in _NUMBERS and abs(value) < _MAX_NUMBER:
        return str(value)
    return None


@functools.lru_cache(50000)
def common_text(text: str, is_version: bool) -> str | None:
    """Return a text without padding if several machines may have it.

    :param is_version: whether the field is a version, or the ID of a model.
    :returns: None if the text says nothing, or if it is unique to one machine,
        such as an address.
    """
    # Firmware pads some fields with spaces, and the padding differs between
    # releases.
    unpadded = ' '.join(text.split())
    if is_version and (
        _VERSION_OR_DATE.fullmatch(unpadded) or _PCI_ID.fullmatch(unpadded)
    ):
        # Versions such as 4.40.10.0 and dates look like addresses, and 1.1
        # looks like a placeholder. They are accepted before these checks.
        return unpadded
    if not unpadded or not field_name.is_common_text(unpadded):
        return None
    # Firmware writes a placeholder, such as "None", if it does not know a
    # value.
    may_be_placeholder = len(unpadded) > 2
    if may_be_placeholder and part_identity.reported_text(unpadded) is None:
        return None
    return unpadded


@functools.lru_cache(20000)
def _path_of_section(path: str) -> str:
    """Return the path of the section of a field: its first three steps.

    For example, ``plugin_data.extra.cpu`` for ``plugin_data.extra.cpu.model``.
    Machines of one model often have the same texts in a section, and then
    share one object for it.
    """
    return '.'.join(path.split('.')[:3])


@functools.lru_cache(20000)
def _is_version(path: str) -> bool:
    """Return whether a field is a version, where ``1.10`` is not a number."""
    name = path.rpartition('.')[2]
    return bool(field_name.split_words(name) & _WORDS_FOR_VERSION)


@functools.lru_cache(5000)
def _is_version_or_id(name: str) -> bool:
    """Return whether an attribute is a version, or the ID of a model."""
    return name.endswith('_id') or bool(
        field_name.split_words(name) & _WORDS_FOR_VERSION
    )


def _part_lists(data: Mapping[str, typing.Any]) -> list[PartList]:
    """Return the parts of a machine, by kind and source.

    Ironic's agent and Redfish describe the same part differently. Their lists
    are not compared with each other: they have different source names, even if
    the path is the same.

    :param data: the inventory and the plugin data, in which paths begin.
    :returns: an empty list if a source reports that there are no parts; no
        list for a kind that it does not report.
    """
    reporter = 'redfish'
    if any(name in data['inventory'] for name in _ONLY_AGENT_REPORTS):
        reporter = 'agent'
    lists = []
    for source in _SOURCES_WITH_LISTS:
        for kind, items in _items_by_kind(source, data).items():
            items.sort(key=_slot_then_attributes)
            numbered = tuple(_number_slots(items))
            source_name = f'{reporter} {source.path}'
            lists.append(PartList(kind, source_name, numbered))
    return lists


def _items_by_kind(
    source: part_source.PartSource, data: Mapping[str, typing.Any]
) -> dict[str, list[Item]]:
    """Return the parts that a source reports, by kind.

    For example, ``{'disk': [('0:1:0', (('model', 'X'), ('size', 960)))]}`` is
    a disk in the slot ``0:1:0``.

    :returns: an empty list if the source reports that there are no parts of
        the kind; no list for a kind that it does not report.
    """
    by_kind: dict[str, list[Item]] = {}
    if source.is_reported(data):
        # PCI devices are of two kinds, because some are accelerators.
        for kind in source.kinds:
            by_kind[kind] = []
    for name, part in source.items(data):
        slot = source.slot_of(name, part) or ''
        is_kernel_name = field_name.common_name(name) == field_name.MEMBER
        if slot == name and is_kernel_name:
            # A name that the kernel assigned, such as "sda", is not a slot,
            # because it may differ after the next boot.
            slot = ''
        item = (
            _PREFIX_OF_SLOT_PATH.sub('', slot),
            _compared_attributes(source, part),
        )
        by_kind.setdefault(source.kind_of(part), []).append(item)
    return by_kind


def _slot_then_attributes(item: Item) -> tuple[str, str]:
    """Return the sort key of a part: its slot, then its attributes as text."""
    slot, attributes = item
    return slot, str(attributes)


def _number_slots(items: Sequence[Item]) -> list[Item]:
    """Number the parts whose slots have the same name: "A1", "A1 #2".

    Some firmware uses one name for several slots, but parts are compared with
    the parts in the same slot of other machines. Parts without a slot are not
    numbered.
    """
    count: collections.Counter[str] = collections.Counter()
    numbered = []
    for slot, attributes in items:
        count[slot] += 1
        numbered_slot = slot
        if slot and count[slot] > 1:
            numbered_slot = f'{slot} #{count[slot]}'
        numbered.append((numbered_slot, attributes))
    return numbered


def _compared_attributes(
    source: part_source.PartSource, part: Mapping[str, typing.Any]
) -> Attributes:
    """Return the attributes of a part that are compared, sorted by name.

    For example, ``(('model', 'X'), ('size', 960))`` for a disk. IDs, slots and
    texts that are unique to one machine are skipped.
    """
    attributes = []
    for name, value in part.items():
        if _is_attribute_compared(source.path, name):
            compared = _compared_value(name, value)
            if compared is not None:
                attributes.append((name, compared))
    attributes.sort()
    return tuple(attributes)


def _compared_value(name: str, value: typing.Any) -> typing.Any:
    """Return the value of a part's attribute in the form that is compared.

    :param name: the name of the attribute.
    :returns: None if the value is not compared: a text that is unique to one
        machine, a number that is too large or NaN, a mapping or a list.
    """
    if type(value) is str:
        return common_text(value, is_version=_is_version_or_id(name))
    if type(value) in _SCALARS and abs(value) < _MAX_NUMBER:
        return value
    return None


_SOURCE_BY_PATH = {source.path: source for source in _SOURCES_WITH_LISTS}


@functools.lru_cache(5000)
def _is_attribute_compared(path: str, name: str) -> bool:
    """Return whether the name of a field of a part allows to compare it.

    Its value is checked by :func:`_compared_value`. The attributes that the
    source lists are always compared. IDs and slots are not. Of the other
    fields, those are skipped whose name says that the value is unique to one
    machine, such as an address.

    :param path: the path of the source that reports the part.
    """
    source = _SOURCE_BY_PATH[path]
    if name in source.attributes:
        return True
    if name in source.ids or name in source.slots or name == 'Locator':
        return False
    return field_name.is_compared(name)
