# SPDX-License-Identifier: Apache-2.0

"""Merge differences of a machine that have one cause into one finding.

For example, a missing DIMM makes the memory smaller as well. Only the DIMM is
reported: the missing DIMM explains the smaller memory.

There are differences of parts, such as DIMMs and disks, and differences of
fields, such as totals, settings and benchmarks. Several sources may report the
same part, so a difference of a part may be there twice.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import re

from ironic_inspection_rules.kit.machine.outliers import field_name
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.machine import part_source

Differences = list[peer_difference.PeerDifference]

# A PCI address; its last digit is the function of the device.
_PCI_ADDRESS = re.compile(
    r'([0-9a-f]{4}:)?(?P<device>[0-9a-f]{2}:[0-9a-f]{2})\.[0-9a-f]',
    re.IGNORECASE,
)
_KINDS_AT_PCI_DEVICES = frozenset(
    (part_source.ACCELERATOR, part_source.INTERFACE, part_source.DISK)
)
"""Kinds of parts that are PCI devices, or may be connected to one."""

_KINDS_THAT_REPEAT_PARTS = frozenset(
    (
        part_source.DISK,
        part_source.INTERFACE,
        part_source.ACCELERATOR,
        part_source.PROCESSOR,
        part_source.POWER_SUPPLY,
    )
)
"""Kinds of fields that only repeat the differences of parts."""

_ANY_CARD = 'any'  # In place of a PCI address.
_WORDS_FOR_MODEL = frozenset(('model', 'product', 'version'))
_WORDS_FOR_DEVICE_MODEL = frozenset(
    ('model', 'product', 'vendor', 'manufacturer')
)
_END_OF_MEMORY_TOTAL = 'physical_mb'
_MAX_NAMED_SETTINGS = 3  # A reset changes many settings: few are named.
_NAMES_THAT_NEED_PARENT = frozenset(
    ('value', 'unit', 'status', 'state', 'reading')
)
"""Names of fields that can be understood only with the name of their
parent."""

_TELLING_NAMES = (
    'physical_mb',
    'model_name',
    'version',
    'Version',
    'count',
    'total',
    'product',
)
"""Names of fields, sorted by how much they say."""


def merge_by_cause(
    parts: Sequence[Differences], fields: Differences
) -> Differences:
    """Reduce the differences of a machine from its peers to one per cause.

    For example, a missing DIMM also changes the size of the memory. Only the
    DIMM is reported.

    :param parts: the differences of the parts of the machine, one list per
        source that reports parts, such as dmidecode.
    :param fields: the differences of its fields, such as totals and
        benchmarks.
    """
    # The differences of parts, by kind of part, such as "dimm".
    by_kind = _group_by_kind(parts)
    if part_source.PROCESSOR in by_kind:
        by_kind[part_source.PROCESSOR] = _merge_processors(
            by_kind[part_source.PROCESSOR], fields
        )
    if part_source.PCI_DEVICE in by_kind:
        # Disks, interfaces and accelerators are PCI devices or connected to
        # one, so the same card may be reported as two kinds of parts.
        parts_at_devices: Differences = []
        for kind, differences in by_kind.items():
            if kind in _KINDS_AT_PCI_DEVICES:
                parts_at_devices += differences
        by_kind[part_source.PCI_DEVICE] = _leave_out_explained(
            by_kind[part_source.PCI_DEVICE], parts_at_devices
        )
    independent_fields = []
    for field in fields:
        if not _is_explained(field, fields, by_kind):
            independent_fields.append(field)
    causes: Differences = []
    for differences in by_kind.values():
        causes += differences
    total = _find_memory_total(fields)
    if total is not None:
        causes = [_with_memory_left(part, total) for part in causes]
    return causes + _merge_fields(independent_fields)


def _merge_processors(
    processors: Differences, fields: Differences
) -> Differences:
    """Reduce the differences of several processors to one, or to none.

    All processors of a machine are alike. If several differ, there is one
    cause, which a field such as the name of the model describes better.
    """
    if len(processors) < 2:
        return processors
    if any(field.kind == part_source.PROCESSOR for field in fields):
        return []
    return processors[:1]


def _group_by_kind(sources: Iterable[Differences]) -> dict[str, Differences]:
    """Group differences by the kind of the part, and remove duplicates.

    A difference is there twice if two sources report the part, or if the part
    is a card with several PCI devices.

    :param sources: the differences of parts, one list per source.
    :returns: the differences by kind of part: ``{'dimm': [DIMM A1 is
        missing], 'disk': […]}``.
    """
    by_kind: dict[str, Differences] = {}
    for differences_of_source in sources:
        reported: dict[str, Differences] = {}
        for difference in differences_of_source:
            reported.setdefault(difference.kind, []).append(difference)
        for kind, reported_of_kind in reported.items():
            earlier = by_kind.get(kind, [])
            by_kind[kind] = _merge_source(earlier, reported_of_kind)
    for kind, differences in by_kind.items():
        by_kind[kind] = _keep_one_per_kind_and_card(differences)
    return by_kind


def _merge_source(earlier: Differences, reported: Differences) -> Differences:
    """Add the differences that a source reports beyond the earlier ones.

    Sources such as lshw and dmidecode report the same parts. For example, if
    one source misses a DIMM in A1 and the other misses DIMMs in ``A1`` and
    ``B1``, the result has the DIMM in A1 once, and the DIMM in B1.

    :param earlier: the differences of earlier sources, of one kind of parts.
    :param reported: the differences of the same kind from the next source.
    """
    merged = list(earlier)
    kinds_of_change = (
        finding.MISSING,
        finding.NEW,
        finding.CHANGED,
        finding.MOVED,
    )
    for what in kinds_of_change:
        known = [part for part in earlier if part.what == what]
        of_source = [part for part in reported if part.what == what]
        known_slots = {_comparable_slot(part) for part in known}
        in_other_slots = []
        for part in of_source:
            if _comparable_slot(part) not in known_slots:
                in_other_slots.append(part)
        # Sources may have different names for one slot, so a difference in
        # another slot may be known already. If the source reports two missing
        # DIMMs and one is known, only one is certainly new.
        excess = max(0, len(of_source) - len(known))
        merged += in_other_slots[:excess]
    return merged


def _comparable_slot(part: peer_difference.PeerDifference) -> str | None:
    """Return the letters and digits of a slot: ``dimma1`` for ``DIMM_A1``.

    This is needed because sources write the name of a slot with different
    punctuation and capitals.
    """
    if part.slot is None:
        return None
    return re.sub('[^a-z0-9]', '', part.slot.lower())


def _pci_address(slot: str | None) -> str | None:
    """Return bus and device of a PCI address: ``3b:00`` for ``0000:3b:00.1``.

    All functions of a card have the same bus and device.

    :param slot: the slot of a part; None if it has none.
    :returns: None if the slot is not a PCI address.
    """
    match = _PCI_ADDRESS.search(slot or '')
    if match is None:
        return None
    return match['device'].lower()


def _keep_one_per_kind_and_card(differences: Differences) -> Differences:
    """Keep one difference of each kind per PCI card, and one move in total.

    For example, if a card with two functions, ``3b:00.0`` and ``3b:00.1``, is
    missing, it is reported once. Differences without a PCI address are kept.
    """
    kept_keys = set()
    kept = []
    for difference in differences:
        card = _pci_address(difference.slot)
        if card is None:
            # The difference is not about a card.
            kept.append(difference)
            continue
        if difference.what == finding.MOVED:
            # If one card moves, the addresses of other cards change, too.
            # Therefore all moves have the same key, and only the first is
            # kept.
            key = (finding.MOVED, _ANY_CARD)
        else:
            key = (difference.what, card)
        if key not in kept_keys:
            kept_keys.add(key)
            kept.append(difference)
    return kept


def _leave_out_explained(
    devices: Differences, parts: Differences
) -> Differences:
    """Remove the differences of PCI devices that parts explain.

    For example, a missing network card is both a missing interface and a
    missing PCI device. Only the interface is reported.

    :param devices: the differences of PCI devices.
    :param parts: the differences of disks, interfaces and accelerators, which
        are PCI devices or connected to one.
    """
    addresses = {_pci_address(part.slot) for part in parts} - {None}
    # A part without a slot may be any device. It explains one device that
    # differs in the same way, e.g. is missing. Therefore such parts are
    # counted, by the way in which they differ.
    parts_without_slot: collections.Counter[str] = collections.Counter()
    for part in parts:
        if part.slot is None and _may_be_other_device(part):
            parts_without_slot[part.what] += 1
    unexplained = []
    for device in devices:
        if _pci_address(device.slot) in addresses:
            # The device is one of the parts.
            continue
        if parts_without_slot[device.what] > 0:
            parts_without_slot[device.what] -= 1
            continue
        if device.what == finding.MOVED and parts:
            # The addresses of devices change when a card is added or removed.
            continue
        unexplained.append(device)
    return unexplained


def _may_be_other_device(part: peer_difference.PeerDifference) -> bool:
    """Return whether a part that differs may be another PCI device.

    A changed part is another device only if its model has changed. It is not
    if, for example, a cable was unplugged.
    """
    if part.what != finding.CHANGED:
        return True
    return any(
        field_name.split_words(name) & _WORDS_FOR_DEVICE_MODEL
        for name in part.names
    )


def _is_explained(
    difference: peer_difference.PeerDifference,
    fields: Differences,
    by_kind: Mapping[str, Differences],
) -> bool:
    """Return whether another difference explains the difference of a field.

    These differences are explained:

    * a field about the memory, and a benchmark of it, by a DIMM that is
      missing, new or changed,
    * a field that repeats facts about parts, such as the number of disks, by a
      difference of these parts,
    * the firmware of parts, by a difference of these parts. But a missing part
      does not explain that the machine has a firmware that its peers lack,
    * benchmarks and flags of the processor, by another model of the processor,
    * other benchmarks, by a changed part of the kind that was measured.

    :param difference: the difference of the field.
    :param fields: the differences of all fields.
    :param by_kind: the differences of parts, by kind.
    """
    # The kind of parts that the field describes, such as disks.
    about = peer_difference.part_kind(difference.field)
    if about == finding.MEMORY:
        # The parts of the memory are DIMMs.
        about = part_source.DIMM
    parts = by_kind.get(about or '', [])
    is_benchmark = difference.kind == finding.BENCHMARK
    is_benchmark_of_memory = is_benchmark and about == part_source.DIMM
    if difference.kind == finding.MEMORY or is_benchmark_of_memory:
        return any(dimm.what != finding.MOVED for dimm in parts)
    if difference.kind in _KINDS_THAT_REPEAT_PARTS:
        return bool(parts)
    if difference.kind == part_source.FIRMWARE and about:
        if difference.has_extra:
            # A missing part does not add another firmware.
            return any(part.what != finding.MISSING for part in parts)
        # The firmware of a missing part is missing as well.
        return bool(parts)
    depends_on_model = is_benchmark or difference.kind == finding.FLAG
    if about == part_source.PROCESSOR and depends_on_model:
        return any(map(_is_other_model, (*parts, *fields)))
    if is_benchmark:
        return any(part.what == finding.CHANGED for part in parts)
    # Other fields, such as BIOS settings, do not depend on parts.
    return False


def _is_other_model(difference: peer_difference.PeerDifference) -> bool:
    """Return whether a difference is a different model of the processor."""
    if difference.kind != part_source.PROCESSOR:
        return False
    # For a part, the names of its attributes; for a field, the last name of
    # its path.
    names = difference.names or (difference.field.rpartition('.')[2],)
    return any(
        field_name.split_words(name) & _WORDS_FOR_MODEL for name in names
    )


def _find_memory_total(
    fields: Differences,
) -> peer_difference.PeerDifference | None:
    """Find the difference in the total memory of the machine.

    :returns: None if the machine has as much memory as its peers.
    """
    for difference in fields:
        # Ironic's agent and Redfish report it as
        # "inventory.memory.physical_mb".
        if difference.field.endswith(_END_OF_MEMORY_TOTAL):
            return difference
    return None


def _with_memory_left(
    part: peer_difference.PeerDifference,
    total: peer_difference.PeerDifference,
) -> peer_difference.PeerDifference:
    """Report a missing DIMM with the remaining memory; keep other parts.

    For example, "memory 224 GiB, 9 of 10 have 256 GiB: DIMM A1 is missing".

    :param total: the difference in the total memory of the machine.
    """
    if part.kind != part_source.DIMM or part.what != finding.MISSING:
        return part
    return dataclasses.replace(
        part,
        has=total.has,
        value=total.value,
        count=total.count,
        reporting_count=total.reporting_count,
    )


def _merge_fields(fields: Differences) -> Differences:
    """Merge differences of fields that have one cause.

    BIOS settings are joined. Of other fields, only the most telling one is
    kept, e.g. the name of a model instead of the number of its cores.
    """
    causes: dict[tuple[str, str], Differences] = {}
    for difference in fields:
        cause = peer_difference.cause_key(difference.field, difference.kind)
        causes.setdefault(cause, []).append(difference)
    merged = []
    for (kind, _about), differences in causes.items():
        if kind == finding.BENCHMARK:
            merged.append(_with_name(min(differences, key=_benchmark_key)))
        elif kind == finding.BIOS_SETTING:
            settings = sorted(differences, key=_field_key)
            merged.append(_join_settings(settings))
        else:
            merged.append(_with_name(min(differences, key=_field_key)))
    return merged


def _join_settings(settings: Differences) -> peer_difference.PeerDifference:
    """Join differences of BIOS settings to one, which shows the first few.

    For example, the machine has ``Turbo off; Numa on``, and its peers have
    ``Turbo on; Numa off``.
    """
    of_machine = []
    of_peers = []
    for setting in settings[:_MAX_NAMED_SETTINGS]:
        named = _with_name(setting)
        of_machine.append(str(named.has))
        of_peers.append(named.value)
    left_out = len(settings) - _MAX_NAMED_SETTINGS
    if left_out > 0:
        # The number is added only once, because both texts are parts of one
        # sentence.
        of_machine.append(f'{left_out} more')
    # The settings are sorted. The first one is the field that the finding
    # names.
    return dataclasses.replace(
        settings[0], has='; '.join(of_machine), value='; '.join(of_peers)
    )


def _benchmark_key(
    benchmark: peer_difference.PeerDifference,
) -> tuple[bool, float, str]:
    """Return a key that sorts benchmarks, the most telling first.

    A median comes first, because it says more about a component than its
    slowest core; then the number that is farthest from normal.
    """
    name = benchmark.field.rpartition('.')[2]
    is_no_median = not name.endswith(' median')
    return is_no_median, -benchmark.relative_distance, name


def _field_key(
    difference: peer_difference.PeerDifference,
) -> tuple[int, bool, str]:
    """Return a key that sorts fields, the most telling first.

    The number of items of a list, such as disks, or a field of
    ``_TELLING_NAMES`` comes first, and the inventory comes before plugin data.
    """
    path = difference.field
    name = path.rpartition('.')[2]
    # The lower the rank, the more telling the field.
    rank = len(_TELLING_NAMES)
    if name in _TELLING_NAMES:
        rank = _TELLING_NAMES.index(name)
    elif name.endswith('[] number'):
        rank = 0
    is_plugin_data = not path.startswith('inventory')
    return rank, is_plugin_data, path


def _with_name(
    difference: peer_difference.PeerDifference,
) -> peer_difference.PeerDifference:
    """Put the name of a field before the values of its difference.

    For example, ``bios`` and ``uefi`` at ``inventory.boot.current_boot_mode``
    become ``current_boot_mode bios`` and ``current_boot_mode uefi``. Flags and
    the size of the memory are clear without a name.
    """
    if difference.kind in (finding.FLAG, finding.MEMORY):
        return difference
    above, _dot, name = difference.field.rpartition('.')
    if name in _NAMES_THAT_NEED_PARENT:
        # The parent says what the value belongs to, e.g. a sensor.
        parent = above.rpartition('.')[2]
        name = f'{parent} {name}'
    return dataclasses.replace(
        difference,
        has=f'{name} {difference.has}',
        value=f'{name} {difference.value}',
    )
