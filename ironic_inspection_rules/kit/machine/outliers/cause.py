# SPDX-License-Identifier: Apache-2.0

"""One finding a cause: a missing DIMM is not a smaller memory as well."""

from collections.abc import Iterable, Sequence
import dataclasses
import re

from ironic_inspection_rules.kit.machine.outliers import candidate
from ironic_inspection_rules.kit.machine.outliers import field_name
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.machine import part_source

Candidates = list[candidate.Candidate]

_PCI_DEVICE = re.compile(
    r'([0-9a-f]{4}:)?(?P<device>[0-9a-f]{2}:[0-9a-f]{2})\.[0-9a-f]',
    re.IGNORECASE)
_IN_SLOTS = frozenset((part_source.ACCELERATOR, part_source.INTERFACE,
                       part_source.DISK))
"""Parts that are PCI devices, or may be behind one."""

_MODEL = frozenset(('model', 'product', 'version'))
_DEVICE_MODEL = frozenset(('model', 'product', 'vendor', 'manufacturer'))
_TOTAL = 'physical_mb'
_MOST_SETTINGS = 3  # That are named; a reset changes many.
_SAYS_NOTHING = frozenset(('value', 'unit', 'status', 'state', 'reading'))
"""Names of fields that are only understood with what they are in."""

_LEADS = ('physical_mb', 'model_name', 'version', 'Version', 'count',
          'total', 'product')
"""Fields that say most, the first one first."""


def single_out(parts: Sequence[Candidates], fields: Candidates
               ) -> Candidates:
    """Return one difference for each cause.

    :param parts: what differs in the parts of a machine, by source; those of
        one kind are beside each other.
    :param fields: what differs in its fields.
    """
    by_kind: dict[str, Candidates] = {}
    for found in parts:
        for kind, each in _by_kind(found).items():
            by_kind[kind] = _with_others(by_kind.get(kind, []), each)
    for kind, found in by_kind.items():
        by_kind[kind] = _one_for_each_card(found)
    processors = by_kind.pop(part_source.PROCESSOR, [])
    if len(processors) == 1 or not any(
            each.kind == part_source.PROCESSOR for each in fields):
        by_kind[part_source.PROCESSOR] = processors[:1]
    if part_source.PCI_DEVICE in by_kind:
        by_kind[part_source.PCI_DEVICE] = _unexplained(
            by_kind.pop(part_source.PCI_DEVICE),
            [each for kind, found in by_kind.items() if kind in _IN_SLOTS
             for each in found])
    found = [each for kind in by_kind for each in by_kind[kind]]
    left = [each for each in fields if not _follows(each, fields, by_kind)]
    total = next((each for each in fields if each.field.endswith(_TOTAL)),
                 None)
    if total is not None:
        found = [_with_total(each, total) for each in found]
    return found + _merged(left)


def _by_kind(found: Iterable[candidate.Candidate]) -> dict[str, Candidates]:
    kinds: dict[str, Candidates] = {}
    for each in found:
        kinds.setdefault(each.kind, []).append(each)
    return kinds


def _with_others(known: Candidates, others: Candidates) -> Candidates:
    """Add what another source has seen more of than those before."""
    result = list(known)
    for what in (finding.MISSING, finding.NEW, finding.CHANGED,
                 finding.MOVED):
        before = [each for each in known if each.what == what]
        more = [each for each in others if each.what == what]
        slots = {_plain_slot(each) for each in before}
        new = [each for each in more if _plain_slot(each) not in slots]
        result += new[:max(0, len(more) - len(before))]
    return result


def _plain_slot(each: candidate.Candidate) -> str | None:
    if each.slot is None:
        return None
    return re.sub('[^a-z0-9]', '', each.slot.lower())


def _device(slot: str | None) -> str | None:
    """Return bus and device of a PCI address, without its function."""
    match = _PCI_DEVICE.search(slot or '')
    return match['device'].lower() if match else None


def _one_for_each_card(found: Candidates) -> Candidates:
    """Leave out the other functions of one card, and all moves but one."""
    seen = set()
    result = []
    for each in found:
        device = _device(each.slot)
        key = (each.what, device)
        if each.what == finding.MOVED and device:
            # One card that moves moves all behind it.
            key = (each.what, 'any')
        if key[1] is not None and key in seen:
            continue
        seen.add(key)
        result.append(each)
    return result


def _unexplained(found: Candidates, others: Candidates) -> Candidates:
    """Leave out PCI devices that are the other parts."""
    devices = {_device(each.slot) for each in others} - {None}
    nameless = [each.what for each in others
                if each.slot is None and _may_be_other_device(each)]
    result = []
    for each in found:
        if _device(each.slot) in devices:
            continue
        if each.what in nameless:
            nameless.remove(each.what)
            continue
        if each.what == finding.MOVED and others:
            continue
        result.append(each)
    return result


def _may_be_other_device(part: candidate.Candidate) -> bool:
    """Check that a part may show a PCI device that differs as well.

    A cable that is pulled or a disk of another size is no other device.
    """
    return part.what != finding.CHANGED or any(
        field_name.words(name) & _DEVICE_MODEL for name in part.names)


def _follows(field: candidate.Candidate, fields: Candidates,
             by_kind: dict[str, Candidates]) -> bool:
    """Check whether a field differs because of something else."""
    if field.kind == finding.MEMORY:
        return _changes_amount(by_kind.get(part_source.DIMM, ()))
    about = candidate.component(field.field)
    parts = by_kind.get(about or '', [])
    if field.kind in (part_source.DISK, part_source.INTERFACE,
                      part_source.ACCELERATOR, part_source.PROCESSOR,
                      part_source.POWER_SUPPLY):
        return bool(parts)
    if field.kind == part_source.FIRMWARE and about:
        return any(each.what != finding.MISSING or not field.adds
                   for each in parts)
    if field.kind in (finding.BENCHMARK, finding.FLAG) and (
            about == part_source.PROCESSOR):
        return any(map(_is_model, (*parts, *fields)))
    if field.kind == finding.BENCHMARK:
        return any(each.what == finding.CHANGED for each in parts)
    return False


def _changes_amount(dimms: Iterable[candidate.Candidate]) -> bool:
    return any(each.what != finding.MOVED for each in dimms)


def _is_model(found: candidate.Candidate) -> bool:
    """Check whether a difference is that the processor is another one."""
    names = found.names or (found.field.rpartition('.')[2],)
    return found.kind == part_source.PROCESSOR and any(
        field_name.words(name) & _MODEL for name in names)


def _with_total(part: candidate.Candidate, total: candidate.Candidate
                ) -> candidate.Candidate:
    """Say the whole memory with a DIMM that is missing."""
    if part.kind != part_source.DIMM or part.what != finding.MISSING:
        return part
    return dataclasses.replace(part, has=total.has, value=total.value,
                               count=total.count, of=total.of)


def _merged(fields: Candidates) -> Candidates:
    """Return one difference for the fields that differ for one cause."""
    causes: dict[tuple[str, str], Candidates] = {}
    for each in fields:
        causes.setdefault(candidate.cause(each.field, each.kind),
                          []).append(each)
    merged = []
    for (kind, _about), found in causes.items():
        found.sort(key=_lead)
        first = found[0]
        if kind != finding.BIOS_SETTING:
            merged.append(_named(first))
            continue
        settings = [_named(each) for each in found[:_MOST_SETTINGS]]
        has = '; '.join(str(each.has) for each in settings)
        if len(found) > _MOST_SETTINGS:
            has += f'; {len(found) - _MOST_SETTINGS} more'
        merged.append(dataclasses.replace(
            first, has=has,
            value='; '.join(each.value for each in settings)))
    return merged


def _lead(field: candidate.Candidate) -> tuple[int, int, float, str]:
    last = field.field.rpartition('.')[2]
    place = _LEADS.index(last) if last in _LEADS else len(_LEADS)
    if last.endswith('[] number'):
        place = 0
    if field.kind == finding.BENCHMARK:
        return 0 if last.endswith(' median') else 1, 0, -field.far, last
    beside = 0 if field.field.startswith('inventory') else 1
    return place, beside, 0, field.field


def _named(field: candidate.Candidate) -> candidate.Candidate:
    """Say which field it is, where its kind does not."""
    if field.kind in (finding.FLAG, finding.MEMORY):
        return field
    above, _dot, name = field.field.rpartition('.')
    if name in _SAYS_NOTHING:
        # Sensors are told apart by the mappings that their values are in.
        name = f'{above.rpartition(".")[2]} {name}'
    return dataclasses.replace(field, has=f'{name} {field.has}',
                               value=f'{name} {field.value}')
