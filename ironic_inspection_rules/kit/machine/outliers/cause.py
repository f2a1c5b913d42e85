# SPDX-License-Identifier: Apache-2.0

"""Differences of a machine that have one cause, made one finding of outliers.

A missing DIMM makes the memory smaller as well: only the DIMM is reported.
"""

from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import re

from ironic_inspection_rules.kit.machine.outliers import field_name
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.machine import part_source

Differences = list[peer_difference.PeerDifference]

# A PCI address; its last digit is the function of the device.
_PCI_DEVICE = re.compile(
    r'([0-9a-f]{4}:)?(?P<device>[0-9a-f]{2}:[0-9a-f]{2})\.[0-9a-f]',
    re.IGNORECASE,
)
_IN_SLOTS = frozenset(
    (part_source.ACCELERATOR, part_source.INTERFACE, part_source.DISK)
)
"""Parts that are PCI devices, or may be behind one."""

_WITH_PARTS = frozenset(
    (
        part_source.DISK,
        part_source.INTERFACE,
        part_source.ACCELERATOR,
        part_source.PROCESSOR,
        part_source.POWER_SUPPLY,
    )
)
"""Kinds whose fields only repeat what differs in the parts."""

_ANY_DEVICE = 'any'  # In place of a PCI address: moves of all devices.
_MODEL = frozenset(('model', 'product', 'version'))
_DEVICE_MODEL = frozenset(('model', 'product', 'vendor', 'manufacturer'))
_TOTAL = 'physical_mb'
_MOST_SETTINGS = 3  # That are named; a reset changes many.
_SAYS_NOTHING = frozenset(('value', 'unit', 'status', 'state', 'reading'))
"""Names of fields that are only understood with what they are in."""

_LEADS = (
    'physical_mb',
    'model_name',
    'version',
    'Version',
    'count',
    'total',
    'product',
)
"""Fields that say most, the first one first."""


def single_out(
    parts: Sequence[Differences], fields: Differences
) -> Differences:
    """Reduce the differences of a machine from its peers to one per cause.

    A part that is missing or changed also changes fields, other parts and
    totals; a report names only the part.

    :param parts: differences of the parts of the machine, a list for every
        source that reports parts.
    :param fields: differences of its fields, such as totals and benchmarks.
    """
    by_kind = _parts_by_kind(parts)
    processors = by_kind.pop(part_source.PROCESSOR, [])
    fields_name_processor = any(
        field.kind == part_source.PROCESSOR for field in fields
    )
    # All processors of a machine are alike, so that several that differ have
    # one cause: one is reported, or none where a field such as the name of
    # the model says it better.
    if len(processors) == 1 or not fields_name_processor:
        by_kind[part_source.PROCESSOR] = processors[:1]
    if part_source.PCI_DEVICE in by_kind:
        devices = by_kind.pop(part_source.PCI_DEVICE)
        # Disks, interfaces and accelerators are PCI devices or behind one.
        parts_in_slots: Differences = []
        for kind, differences in by_kind.items():
            if kind in _IN_SLOTS:
                parts_in_slots += differences
        by_kind[part_source.PCI_DEVICE] = _leave_out_explained(
            devices, parts_in_slots
        )
    independent_fields = []
    for field in fields:
        if not _follows(field, fields, by_kind):
            independent_fields.append(field)
    total = _total(fields)
    causes = []
    for differences in by_kind.values():
        for part in differences:
            if total is None:
                causes.append(part)
            else:
                # A missing DIMM is reported with the memory that is left.
                causes.append(_with_total(part, total))
    return causes + _merge(independent_fields)


def _parts_by_kind(parts: Iterable[Differences]) -> dict[str, Differences]:
    """Return the differences of parts by kind, without those reported twice.

    Two sources may report one part, and one card may be several PCI devices.

    :param parts: a list of differences for every source.
    """
    by_kind: dict[str, Differences] = {}
    for differences in parts:
        of_source: dict[str, Differences] = {}
        for difference in differences:
            of_source.setdefault(difference.kind, []).append(difference)
        for kind, of_kind in of_source.items():
            earlier = by_kind.get(kind, [])
            by_kind[kind] = _merge_source(earlier, of_kind)
    for kind, differences in by_kind.items():
        by_kind[kind] = _one_for_each_card(differences)
    return by_kind


def _merge_source(earlier: Differences, reported: Differences) -> Differences:
    """Return the differences of parts, with those of one more source.

    Sources such as lshw and dmidecode report the same parts. A difference is
    added only where it is not one that a source before has reported.

    :param earlier: differences by the sources before, of one kind of parts.
    :param reported: those of the same kind by the next source.
    """
    result = list(earlier)
    kinds_of_change = (
        finding.MISSING,
        finding.NEW,
        finding.CHANGED,
        finding.MOVED,
    )
    for what in kinds_of_change:
        before = [part for part in earlier if part.what == what]
        now = [part for part in reported if part.what == what]
        slots = {_comparable_slot(part) for part in before}
        candidates = []
        for part in now:
            if _comparable_slot(part) not in slots:
                candidates.append(part)
        # Sources may have different names for one slot, so that a difference
        # in another slot is perhaps a known one. Only as many are added as
        # this source has more of the kind of change.
        excess = max(0, len(now) - len(before))
        result += candidates[:excess]
    return result


def _comparable_slot(part: peer_difference.PeerDifference) -> str | None:
    """Return the letters and digits of a slot.

    Sources write the name of one slot with other signs and capitals.
    """
    if part.slot is None:
        return None
    return re.sub('[^a-z0-9]', '', part.slot.lower())


def _device(slot: str | None) -> str | None:
    """Return bus and device of a PCI address, without its function."""
    match = _PCI_DEVICE.search(slot or '')
    if match is None:
        return None
    return match['device'].lower()


def _one_for_each_card(differences: Differences) -> Differences:
    """Return one difference for each PCI card, and one for all that moved.

    A card may be several functions of one PCI device.
    """
    reported = set()
    result = []
    for part in differences:
        device = _device(part.slot)
        if device is None:
            # The part has no PCI address.
            result.append(part)
            continue
        key = (part.what, device)
        if part.what == finding.MOVED:
            # A card that moves changes the addresses of other devices.
            key = (part.what, _ANY_DEVICE)
        if key not in reported:
            reported.add(key)
            result.append(part)
    return result


def _leave_out_explained(
    devices: Differences, parts: Differences
) -> Differences:
    """Return the differences of PCI devices that parts do not explain.

    :param parts: differences of disks, interfaces and accelerators, which
        are PCI devices or behind one.
    """
    places = {_device(part.slot) for part in parts} - {None}
    # Which device a part without a slot is, is not known: it explains one
    # device that differs in the same way, such as one that is missing. A part
    # with another size or link explains none: its device is still the same.
    changes_without_slot = []
    for part in parts:
        if part.slot is None and _may_be_other_device(part):
            changes_without_slot.append(part.what)
    result = []
    for device in devices:
        if _device(device.slot) in places:
            continue
        if device.what in changes_without_slot:
            changes_without_slot.remove(device.what)
            continue
        if device.what == finding.MOVED and parts:
            # The addresses of devices change when a card comes or goes.
            continue
        result.append(device)
    return result


def _may_be_other_device(part: peer_difference.PeerDifference) -> bool:
    """Check that a part that differs may be a PCI device that differs.

    A changed part is not, unless its model is another one: with a cable that
    is pulled, or another size of a disk, the device stays the same.
    """
    if part.what != finding.CHANGED:
        return True
    return any(field_name.words(name) & _DEVICE_MODEL for name in part.names)


def _follows(
    difference: peer_difference.PeerDifference,
    fields: Differences,
    by_kind: Mapping[str, Differences],
) -> bool:
    """Check whether a difference of a field is explained by another one.

    Such a field is not reported: the part that differs, or the model of the
    processor, is.

    :param fields: the differences of all fields, this one among them.
    :param by_kind: the parts that differ, by kind.
    """
    if difference.kind == finding.MEMORY:
        dimms = by_kind.get(part_source.DIMM, ())
        return any(dimm.what != finding.MOVED for dimm in dimms)
    # The kind of part that the field is about, such as disks.
    about = peer_difference.part_kind(difference.field)
    parts = by_kind.get(about or '', [])
    if difference.kind in _WITH_PARTS:
        return bool(parts)
    if difference.kind == part_source.FIRMWARE and about:
        # With a missing part its firmware is missing as well. Firmware that
        # is there in addition has another cause.
        if difference.adds:
            return any(part.what != finding.MISSING for part in parts)
        return bool(parts)
    depends_on_model = difference.kind in (finding.BENCHMARK, finding.FLAG)
    if about == part_source.PROCESSOR and depends_on_model:
        return any(map(_is_model, (*parts, *fields)))
    if difference.kind == finding.BENCHMARK:
        return any(part.what == finding.CHANGED for part in parts)
    return False


def _is_model(difference: peer_difference.PeerDifference) -> bool:
    """Check whether a difference says that the processor is another model."""
    if difference.kind != part_source.PROCESSOR:
        return False
    names = difference.names or (difference.field.rpartition('.')[2],)
    return any(field_name.words(name) & _MODEL for name in names)


def _total(fields: Differences) -> peer_difference.PeerDifference | None:
    """Return the difference in the whole memory of the machine."""
    for field in fields:
        if field.field.endswith(_TOTAL):
            return field
    return None


def _with_total(
    part: peer_difference.PeerDifference, total: peer_difference.PeerDifference
) -> peer_difference.PeerDifference:
    """Return a difference that names the whole memory for a missing DIMM.

    Other differences stay as they are.
    """
    if part.kind != part_source.DIMM or part.what != finding.MISSING:
        return part
    return dataclasses.replace(
        part, has=total.has, value=total.value, count=total.count, of=total.of
    )


def _merge(fields: Differences) -> Differences:
    """Return one difference for every cause that fields differ for.

    BIOS settings are joined; of other fields the most telling one stays.
    """
    causes: dict[tuple[str, str], Differences] = {}
    for difference in fields:
        cause = peer_difference.cause(difference.field, difference.kind)
        causes.setdefault(cause, []).append(difference)
    merged = []
    for (kind, _about), differences in causes.items():
        differences.sort(key=_most_telling_first)
        if kind == finding.BIOS_SETTING:
            merged.append(_joined_settings(differences))
        else:
            merged.append(_with_name(differences[0]))
    return merged


def _joined_settings(settings: Differences) -> peer_difference.PeerDifference:
    """Return one difference for all BIOS settings of a machine that differ.

    Its values name the first three, and how many more there are.
    """
    named = [_with_name(setting) for setting in settings[:_MOST_SETTINGS]]
    has = '; '.join(str(setting.has) for setting in named)
    more = len(settings) - _MOST_SETTINGS
    if more > 0:
        has += f'; {more} more'
    value = '; '.join(setting.value for setting in named)
    return dataclasses.replace(settings[0], has=has, value=value)


def _most_telling_first(
    difference: peer_difference.PeerDifference,
) -> tuple[int, int, float, str]:
    """Return a sort key of a differing field among those of its cause.

    The one that sorts first is reported for all. Of benchmarks that is a
    median, then the one that is farthest off; of others a number of parts or
    a field of ``_LEADS``, and one of the inventory before others.
    """
    path = difference.field
    last = path.rpartition('.')[2]
    if difference.kind == finding.BENCHMARK:
        # The median says more about a component than its slowest core.
        return int(not last.endswith(' median')), 0, -difference.far, last
    place = len(_LEADS)
    if last in _LEADS:
        place = _LEADS.index(last)
    if last.endswith('[] number'):
        place = 0
    is_plugin_data = not path.startswith('inventory')
    return place, int(is_plugin_data), 0, path


def _with_name(
    field: peer_difference.PeerDifference,
) -> peer_difference.PeerDifference:
    """Return a difference with the name of its field in its values.

    Flags and the size of the memory are clear without it.
    """
    if field.kind in (finding.FLAG, finding.MEMORY):
        return field
    above, _dot, name = field.field.rpartition('.')
    if name in _SAYS_NOTHING:
        # The mapping that a value is in has the name, such as a sensor.
        parent = above.rpartition('.')[2]
        name = f'{parent} {name}'
    return dataclasses.replace(
        field, has=f'{name} {field.has}', value=f'{name} {field.value}'
    )
