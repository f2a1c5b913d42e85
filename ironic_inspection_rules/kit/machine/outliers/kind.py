# SPDX-License-Identifier: Apache-2.0

"""Kinds of machines among those of one model: a rack that was bought later.

Machines are of several kinds where some value divides them into populations
that are each large enough.
"""

import collections
from collections.abc import Hashable, Iterator, Sequence
import dataclasses
import functools
import math
import statistics
import typing

from ironic_inspection_rules.kit.machine.outliers import candidate
from ironic_inspection_rules.kit.machine.outliers import field_comparison
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import part_comparison
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.machine import part_source

_MOST_DIFFERENCES = 10
_STRUCTURE = frozenset((
    part_source.PROCESSOR, part_source.DIMM, finding.MEMORY,
    part_source.DISK, part_source.INTERFACE, part_source.ACCELERATOR,
    part_source.PCI_DEVICE, part_source.POWER_SUPPLY, part_source.SYSTEM,
    part_source.FIRMWARE))
"""What alone makes machines another kind; a setting alone does not."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """A field by which one kind of machines differs from another."""

    field: str
    value: str


@dataclasses.dataclass(frozen=True)
class Kind:
    """Machines of one model that are alike.

    :param differs: what they have otherwise than the other kinds.
    """

    sketches: tuple[sketch.Sketch, ...]
    differs: tuple[Difference, ...] = ()


class _Feature(typing.NamedTuple):
    """A field that divides machines into populations.

    :param labels: the number of the population of each machine, None where
        it is in neither.
    :param values: of the populations.
    :param amounts: the number of each machine, if the field is one.
    """

    kind: str
    field: str
    labels: tuple[int | None, ...]
    values: tuple[typing.Any, ...]
    amounts: Sequence[float] | None = None


def divide(sketches: Sequence[sketch.Sketch], least: int) -> list[Kind]:
    """Divide machines of one model into kinds.

    :param least: machines that make a kind.
    """
    enough = max(least, len(sketches) * norm.QUARTER)
    parts = _divided(tuple(sketches), enough)
    if len(parts) == 1:
        return [Kind(parts[0])]
    parts.sort(key=lambda part: -len(part))
    ordered = [each for part in parts for each in part]
    bounds = []
    for number, part in enumerate(parts):
        bounds += [number] * len(part)
    differs = _differences(ordered, bounds, len(parts), least)
    return [Kind(part, tuple(differs[number]))
            for number, part in enumerate(parts)]


def _divided(sketches: tuple[sketch.Sketch, ...], enough: float
             ) -> list[tuple[sketch.Sketch, ...]]:
    """Divide machines by the best feature, and the parts again."""
    if len(sketches) < 2 * enough:
        return [sketches]
    features = list(_features(sketches, enough))
    best = _best(features)
    if best is None:
        return [sketches]
    members: list[list[sketch.Sketch]] = [[] for _value in best.values]
    labels = _assigned(best, features)
    for each, label in zip(sketches, labels, strict=True):
        members[label].append(each)
    return [part for each in members
            for part in _divided(tuple(each), enough)]


def _best(features: Sequence[_Feature]) -> _Feature | None:
    """Return the feature by which most others divide machines as well."""
    kinds: dict[Hashable, set[str]] = {}
    for feature in features:
        kinds.setdefault(feature.labels, set()).add(feature.kind)
    usable = [feature for feature in features
              if len(kinds[feature.labels]) > 1 or feature.kind in _STRUCTURE]
    if not usable:
        return None
    return max(usable, key=lambda feature: (
        len(kinds[feature.labels]),
        sum(label is not None for label in feature.labels),
        feature.kind in _STRUCTURE))


def _features(sketches: Sequence[sketch.Sketch], enough: float
              ) -> Iterator[_Feature]:
    for kind, path, column in _columns(sketches):
        feature = _feature(kind, path, column, enough)
        if feature is not None:
            yield feature
    for path, amounts in field_comparison.numbers(sketches, _is_counted):
        feature = _feature(candidate.kind_of(path, True), path,
                           _counted(amounts), enough)
        if feature is not None:
            yield feature._replace(amounts=amounts)


def _counted(amounts: Sequence[float]) -> list[float | None]:
    """Return numbers of machines with one for those that nearly are.

    :param amounts: one of each machine; not a number where it reports none.
    """
    counts = collections.Counter(
        amount for amount in amounts if not math.isnan(amount))
    unified = norm.unify(counts)
    return [None if math.isnan(amount) else unified.get(amount, amount)
            for amount in amounts]


def _is_counted(path: str) -> bool:
    return not candidate.is_measured(path)


def _columns(sketches: Sequence[sketch.Sketch]
             ) -> Iterator[tuple[str, str, list[typing.Any]]]:
    """Yield what is compared of machines, except numbers."""
    for path, column in field_comparison.texts(sketches):
        yield candidate.kind_of(path), path, column
    for (kind, source), lists in part_lists(sketches).items():
        if len({id(each) for each in lists}) == 1:
            continue
        tables: dict[int, dict[str, typing.Any]] = {}
        for each in lists:
            if each is not None and id(each) not in tables:
                tables[id(each)] = {'number': len(each.items),
                                    **part_comparison.multisets(each)}
                slots = tuple(slot for slot, _what in each.items if slot)
                if slots:
                    tables[id(each)]['slots'] = slots
        nothing: dict[str, typing.Any] = {}
        for name in sorted(set().union(*tables.values())):
            # Without who reported it.
            yield kind, f'{source.partition(" ")[2]} {name}', [
                tables.get(id(each), nothing).get(name) for each in lists]


def part_lists(sketches: Sequence[sketch.Sketch]
               ) -> dict[tuple[str, str], list[sketch.PartList | None]]:
    """Return the lists of parts of machines, by kind and source."""
    found: dict[tuple[str, str], list[sketch.PartList | None]] = {}
    for place, each in enumerate(sketches):
        for parts in each.parts:
            key = parts.kind, parts.source
            if key not in found:
                found[key] = [None] * len(sketches)
            found[key][place] = parts
    return found


def _feature(kind: str, path: str, column: Sequence[Hashable], enough: float
             ) -> _Feature | None:
    """Return a feature, None where a field does not divide machines."""
    counts = collections.Counter(column)
    counts.pop(None, None)
    values = sorted((value for value, count in counts.items()
                     if count >= enough),
                    key=lambda value: (-counts[value], str(value)))
    if len(values) < 2 or sum(counts[value] for value in values) < (
            len(column) * norm.NEARLY_ALL):
        return None
    # Numbered as they come, so that features that divide alike are equal.
    numbers: dict[Hashable, int] = {}
    for value in column:
        if value in values:
            numbers.setdefault(value, len(numbers))
    return _Feature(kind, path, tuple(numbers.get(value)
                                      for value in column), tuple(numbers))


def _assigned(best: _Feature, features: Sequence[_Feature]) -> list[int]:
    """Return the population of each machine, of odd ones the nearest.

    A broken machine may look like one of the others in the best feature; what
    else divides the populations outvotes it.
    """
    telling: dict[str, list[tuple[_Feature, list[int]]]] = {}
    for feature in features:
        usual = _usual(best, feature)
        if usual is not None:
            telling.setdefault(feature.kind, []).append((feature, usual))
    sizes = collections.Counter(best.labels)
    middles = _middles(best, features)

    def likeness(place: int, number: int) -> tuple[float, ...]:
        # One vote for each kind: a missing card is in many fields.
        alike = sum(statistics.fmean(
            feature.labels[place] == usual[number]
            for feature, usual in known) for known in telling.values())
        distance = sum(
            abs(amounts[place] - middle[number]) / (abs(middle[number]) or 1)
            for amounts, middle in middles
            if amounts[place] == amounts[place])
        return (alike, best.labels[place] == number, -distance,
                sizes[number])

    return [max(range(len(best.values)),
                key=functools.partial(likeness, place))
            for place in range(len(best.labels))]


def _usual(best: _Feature, feature: _Feature) -> list[int] | None:
    """Return what each population has of a feature, by its label.

    :returns: None where the feature does not tell the populations apart.
    """
    votes: list[collections.Counter[int]] = [
        collections.Counter() for _value in best.values]
    for label, own in zip(best.labels, feature.labels, strict=True):
        if label is not None and own is not None:
            votes[label][own] += 1
    usual = []
    for vote in votes:
        if not vote:
            return None
        [(own, count)] = vote.most_common(1)
        if count < vote.total() * norm.NEARLY_ALL:
            return None
        usual.append(own)
    return usual if len(set(usual)) == len(usual) else None


def _middles(best: _Feature, features: Sequence[_Feature]
             ) -> list[tuple[Sequence[float], list[float]]]:
    """Return numbers of machines, and what is usual in each population."""
    found = []
    for feature in features:
        if feature.amounts is None:
            continue
        usual: list[collections.Counter[float]] = [
            collections.Counter() for _value in best.values]
        for label, amount in zip(best.labels, feature.amounts, strict=True):
            if label is not None:
                usual[label][amount] += 1
        found.append((feature.amounts, [each.most_common(1)[0][0]
                                        for each in usual]))
    return found


def _differences(sketches: Sequence[sketch.Sketch], bounds: Sequence[int],
                 number: int, least: int) -> list[list[Difference]]:
    """Return what each kind has otherwise than the others."""
    ranked = []
    columns: list[tuple[str, str, Sequence[typing.Any], bool]] = [
        (kind, path, column, False)
        for kind, path, column in _columns(sketches)]
    for path, amounts in field_comparison.numbers(sketches, _is_counted):
        columns.append((candidate.kind_of(path, True), path,
                        _counted(amounts), True))
    for kind, path, column, is_number in columns:
        values: list[typing.Any] = []
        for label in range(number):
            normal = norm.shared([
                value for value, own in zip(column, bounds, strict=True)
                if own == label], least)
            values.append(None if normal is None else normal.value)
        if None in values or len(set(values)) < 2:
            continue
        shown = [finding.number(path, value) if is_number
                 else _text(path, value) for value in values]
        last = path.rpartition(' ')[2]
        ranked.append((last in ('slots', 'id'), kind not in _STRUCTURE,
                       not path.startswith('inventory'), path, shown))
    ranked.sort()
    found: list[list[Difference]] = [[] for _number in range(number)]
    for _slots, _weak, _beside, path, shown in ranked[:_MOST_DIFFERENCES]:
        for label, text in enumerate(shown):
            found[label].append(Difference(path, text))
    return found


def _text(path: str, value: typing.Any) -> str:
    """Return a value, and of a multiset how often each is in it."""
    if not isinstance(value, tuple):
        return str(value)
    counts = collections.Counter(value)
    name = path.rpartition(' ')[2]
    texts = [f'{count} × {finding.size("", item)}'
             if name == 'size' and type(item) in (int, float)
             else f'{count} × {item}' for item, count in counts.items()]
    text = ', '.join(texts)
    return text if len(text) < 200 else f'{text[:200]}…'
