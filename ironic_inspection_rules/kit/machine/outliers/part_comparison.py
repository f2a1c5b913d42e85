# SPDX-License-Identifier: Apache-2.0

"""Parts of machines beside those of their peers, as one source has them."""

import collections
from collections.abc import Hashable, Iterable, Sequence
import typing

from ironic_inspection_rules.kit.machine.outliers import candidate
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.machine import part_source

_STEADY = .5
"""A share of machines with all normal slots, where slots say something."""

_FIRST = ('size', 'size_mb', 'Size', 'capacity', 'firmware',
          'firmware_version', 'model', 'model_name', 'product',
          'part_number', 'Part Number', 'Version', 'product_id',
          'speed_mbps', 'vendor', 'manufacturer', 'Manufacturer',
          'vendor_id')
"""The attributes that say most about a part, in this order."""

_DESCRIBE = ('size', 'size_mb', 'Size', 'vendor', 'manufacturer',
             'Manufacturer', 'model', 'model_name', 'product', 'part_number',
             'Part Number', 'Version')
_MOST_ATTRIBUTES = 3

Attributes = typing.Mapping[str, typing.Any]
Found = dict[int, list[candidate.Candidate]]


def compare(lists: Sequence[sketch.PartList | None], least: int) -> Found:
    """Compare the parts that one source reports of machines.

    :param lists: one of each machine, None where nothing is reported; equal
        ones are the same object.
    :param least: machines that must report something.
    :returns: what differs, by the place of the machine.
    """
    places: dict[int, list[int]] = {}
    distinct: dict[int, sketch.PartList] = {}
    for place, each in enumerate(lists):
        if each is not None:
            places.setdefault(id(each), []).append(place)
            distinct[id(each)] = each
    of = sum(map(len, places.values()))
    if of < least or len(distinct) == 1:
        return {}
    counted = [(distinct[number], len(places[number]))
               for number in distinct]
    slots = _normal_slots(counted, of)
    differences: dict[int, list[candidate.Candidate]] = {}
    if slots:
        by_slot = _BySlot(counted, slots, of, least)
        for number, each in distinct.items():
            differences[number] = by_slot.differences(each)
        rest = [(_without(each, True), count) for each, count in counted]
    else:
        rest = counted
    if any(each.items for each, _count in rest) or not slots:
        together = _Together(rest, of, least)
        for number, each in distinct.items():
            differences.setdefault(number, []).extend(together.differences(
                _without(each, True) if slots else each))
    return {place: found for number, found in differences.items() if found
            for place in places[number]}


def _without(each: sketch.PartList, slotted: bool) -> sketch.PartList:
    """Leave out the parts with a slot."""
    return each._replace(items=tuple(
        item for item in each.items if bool(item[0]) is not slotted))


def _normal_slots(counted: Iterable[tuple[sketch.PartList, int]], of: int
                  ) -> frozenset[str]:
    """Return the slots that are filled in nearly all machines.

    :returns: none where slots are called otherwise in each machine.
    """
    count: collections.Counter[str] = collections.Counter()
    for each, machines in counted:
        for slot, _what in each.items:
            if slot:
                count[slot] += machines
    normal = frozenset(slot for slot, machines in count.items()
                       if machines >= of * norm.NEARLY_ALL)
    usual = sum(machines for each, machines in counted
                if normal == {slot for slot, _what in each.items if slot})
    return normal if usual >= of * _STEADY else frozenset()


class _BySlot:
    """Machines whose parts are in the same slots."""

    def __init__(self, counted: Sequence[tuple[sketch.PartList, int]],
                 slots: frozenset[str], of: int, least: int) -> None:
        self._slots = slots
        self._of = of
        self._filled: collections.Counter[str] = collections.Counter()
        values: dict[tuple[str, str], collections.Counter[typing.Any]] = {}
        for each, machines in counted:
            for slot, what in each.items:
                if slot not in slots:
                    continue
                self._filled[slot] += machines
                for name, value in what:
                    values.setdefault((slot, name), collections.Counter())[
                        value] += machines
        self._norms = {}
        for key, counts in values.items():
            found = norm.shared_counts(counts, least)
            if found is not None:
                self._norms[key] = found
        self._normal_parts: dict[str, dict[str, typing.Any]] = {}
        for (slot, name), found in self._norms.items():
            self._normal_parts.setdefault(slot, {})[name] = found.value
        self._drop_varying(counted)

    def _drop_varying(self, counted: Sequence[tuple[sketch.PartList, int]]
                      ) -> None:
        """Forget attributes by which many machines would be odd."""
        odd: collections.Counter[str] = collections.Counter()
        for each, machines in counted:
            names = {name for slot, what in each.items
                     for name in self._odd(slot, what)}
            for name in names:
                odd[name] += machines
        for name, machines in odd.items():
            if machines > self._of * norm.QUARTER:
                self._norms = {key: found for key, found
                               in self._norms.items() if key[1] != name}

    def _odd(self, slot: str, what: sketch.Attributes) -> list[str]:
        """Return the names of attributes that are not normal in a slot."""
        found = []
        for name, value in what:
            normal = self._norms.get((slot, name))
            if normal is not None and value not in normal.accepted:
                found.append(name)
        return found

    def differences(self, each: sketch.PartList
                    ) -> list[candidate.Candidate]:
        """Return what is otherwise than in the machines of the peers."""
        own = {slot: dict(what) for slot, what in each.items if slot}
        missing = sorted(self._slots - own.keys())
        new = sorted(own.keys() - self._slots)
        moved = []
        for slot in list(new):
            home = next((other for other in missing
                         if self._is_like(own[slot], other)), None)
            if home is not None:
                moved.append((home, slot))
                missing.remove(home)
                new.remove(slot)
        found = []
        for slot in missing:
            found.append(self._candidate(
                each, finding.MISSING, slot, None,
                describe(each.kind, self._normal_parts.get(slot, {})),
                adds=False))
        for slot in new:
            found.append(candidate.Candidate(
                each.kind, finding.NEW, slot, each.source,
                describe(each.kind, own[slot]), 'nothing there',
                self._of - 1, self._of - 1, self._of))
        if not missing and not new:
            for home, slot in moved:
                found.append(self._candidate(
                    each, finding.MOVED, home, slot, home))
        for slot, what in each.items:
            names = self._odd(slot, what)
            if names:
                found.append(self._changed(each, slot, own[slot], names))
        return found

    def _is_like(self, part: Attributes, slot: str) -> bool:
        """Check that a part is what peers have in a slot."""
        return all((slot, name) not in self._norms
                   or value in self._norms[slot, name].accepted
                   for name, value in part.items())

    def _candidate(self, each: sketch.PartList, what: str, slot: str,
                   has: str | None, value: str, adds: bool = True
                   ) -> candidate.Candidate:
        filled = self._filled[slot]
        return candidate.Candidate(
            each.kind, what, slot, each.source, has, value, filled, filled,
            self._of, adds=adds)

    def _changed(self, each: sketch.PartList, slot: str, part: Attributes,
                 names: Sequence[str]) -> candidate.Candidate:
        names = sorted(names, key=_importance)[:_MOST_ATTRIBUTES]
        normal = self._norms[slot, names[0]]
        has = {name: part[name] for name in names}
        usual = {name: self._norms[slot, name].value for name in names}
        return candidate.Candidate(
            each.kind, finding.CHANGED, slot, each.source,
            attributes(each.kind, has), attributes(each.kind, usual),
            normal.count, normal.fitting, normal.of, names=tuple(names))


class _Together:
    """Machines whose parts have no slots: they are counted."""

    def __init__(self, counted: Sequence[tuple[sketch.PartList, int]],
                 of: int, least: int) -> None:
        self._of = of
        numbers: collections.Counter[Hashable] = collections.Counter()
        values: dict[str, collections.Counter[typing.Any]] = {}
        for each, machines in counted:
            numbers[len(each.items)] += machines
        names = {name for each, _machines in counted
                 for _slot, what in each.items for name, _value in what}
        for each, machines in counted:
            held = multisets(each)
            for name in names:
                values.setdefault(name, collections.Counter())[
                    held.get(name, ())] += machines
        self._number = norm.shared_counts(numbers, least)
        self._values = {}
        for name, counts in sorted(values.items()):
            found = norm.shared_counts(counts, least)
            if found is not None and found.value != ():
                self._values[name] = found

    def differences(self, each: sketch.PartList
                    ) -> list[candidate.Candidate]:
        """Return what is otherwise than in the machines of the peers."""
        normal = self._number
        if normal is None:
            return []
        number = len(each.items)
        lost: dict[str, list[typing.Any]] = {}
        more: dict[str, list[typing.Any]] = {}
        for name, held in multisets(each).items():
            shared = self._values.get(name)
            if shared is None or held in shared.accepted:
                continue
            gone, come = difference(held, shared.accepted)
            if gone:
                lost[name] = gone
            if come:
                more[name] = come
        found = []
        if number not in normal.accepted:
            if not number:
                lost = {name: list(shared.value)
                        for name, shared in self._values.items()}
            found.append(self._number_differs(each, normal, lost, more))
        surplus = max(0, number - normal.value)
        changed = {name: values for name, values in more.items()
                   if len(values) > surplus and name in lost}
        if changed:
            found.append(self._changed(each, changed, lost))
        return found

    def _number_differs(self, each: sketch.PartList, normal: norm.Norm,
                        lost: Attributes, more: Attributes
                        ) -> candidate.Candidate:
        number = len(each.items)
        fewer = number < normal.value
        which = {name: values[0] for name, values
                 in (lost if fewer else more).items()}
        said = describe(each.kind, which) if which else ''
        return candidate.Candidate(
            each.kind, finding.MISSING if fewer else finding.NEW, None,
            each.source, str(number) if fewer or not said
            else f'{number} ({said})',
            f'{normal.value} ({said})' if fewer and said
            else str(normal.value),
            normal.count, normal.fitting, normal.of, adds=not fewer)

    def _changed(self, each: sketch.PartList, changed: Attributes,
                 lost: Attributes) -> candidate.Candidate:
        names = sorted(changed, key=_importance)[:_MOST_ATTRIBUTES]
        normal = self._values[names[0]]
        return candidate.Candidate(
            each.kind, finding.CHANGED, None, each.source,
            attributes(each.kind, {name: changed[name][0] for name in names}),
            attributes(each.kind, {name: lost[name][0] for name in names}),
            normal.count, normal.fitting, normal.of, names=tuple(names))


def multisets(each: sketch.PartList) -> dict[str, tuple[typing.Any, ...]]:
    """Return the values of each attribute of some parts, in order."""
    found: dict[str, list[typing.Any]] = {}
    for _slot, what in each.items:
        for name, value in what:
            found.setdefault(name, []).append(value)
    return {name: tuple(sorted(values, key=str))
            for name, values in found.items()}


def difference(held: Sequence[typing.Any],
               accepted: Iterable[Sequence[typing.Any]]
               ) -> tuple[list[typing.Any], list[typing.Any]]:
    """Return what a multiset lacks of the nearest normal one, and has more."""
    best: tuple[list[typing.Any], list[typing.Any]] | None = None
    own = collections.Counter(held)
    for normal in accepted:
        usual = collections.Counter(normal)
        gone = sorted((usual - own).elements(), key=str)
        come = sorted((own - usual).elements(), key=str)
        if best is None or len(gone) + len(come) < len(best[0]) + len(
                best[1]):
            best = gone, come
    return best or ([], list(held))


def _importance(name: str) -> tuple[int, str]:
    place = _FIRST.index(name) if name in _FIRST else len(_FIRST)
    return place, name


def describe(kind: str, part: Attributes) -> str:
    """Return what a part is, for people."""
    words = [_value(kind, name, part[name]) for name in _DESCRIBE
             if name in part]
    if not words and 'vendor_id' in part:
        words = [f'{part["vendor_id"]}:{part.get("product_id", "")}']
    if not words:
        words = [f'{name} {value}' for name, value
                 in sorted(part.items())[:_MOST_ATTRIBUTES]]
    return ' '.join(dict.fromkeys(words)) or 'one'


def attributes(kind: str, part: Attributes) -> str:
    """Return some attributes of a part, for people."""
    words = []
    for name, value in part.items():
        text = _value(kind, name, value)
        words.append(text if name.lower() == 'size' else f'{name} {text}')
    return ', '.join(words)


def _value(kind: str, name: str, value: typing.Any) -> str:
    number = type(value) in (int, float)
    if number and name == 'size':
        return finding.size(kind, value)
    if number and name == 'size_mb':
        return finding.size(part_source.DIMM, value * 1024 * 1024)
    return str(value).strip()
