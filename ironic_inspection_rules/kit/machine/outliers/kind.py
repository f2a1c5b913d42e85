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

from ironic_inspection_rules.kit.machine.outliers import field_comparison
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import part_comparison
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.kit.machine.outliers import sketch

_MOST_DIFFERENCES = 10
_LONGEST_VALUE = 200  # Characters of a difference that are shown.
_STRUCTURE = frozenset(finding.KINDS_OF_PARTS)
"""What alone makes machines another kind; a setting alone does not."""


@dataclasses.dataclass(frozen=True)
class KindDifference:
    """A field by which one kind of machines differs from another."""

    field: str
    value: str


@dataclasses.dataclass(frozen=True)
class MachineKind:
    """Machines of one model that are alike.

    :param differs: what they have otherwise than the other kinds.
    """

    sketches: tuple[sketch.Sketch, ...]
    differs: tuple[KindDifference, ...] = ()


class _FieldColumn(typing.NamedTuple):
    """What machines have of one field.

    :param values: one of each machine, None where it reports nothing.
    :param amounts: the numbers that were reported, if the field is one.
    """

    kind: str
    path: str
    values: Sequence[typing.Any]
    amounts: Sequence[float] | None = None


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


def divide(sketches: Sequence[sketch.Sketch], least: int) -> list[MachineKind]:
    """Divide machines of one model into kinds.

    :param least: machines that make a kind.
    :returns: the largest kind first.
    """
    enough = max(least, len(sketches) * norm.QUARTER)
    populations = _divided(tuple(sketches), enough)
    if len(populations) == 1:
        return [MachineKind(populations[0])]
    populations.sort(key=len, reverse=True)
    differences = _differences(populations, least)
    kinds = []
    for population, differs in zip(populations, differences, strict=True):
        kinds.append(MachineKind(population, tuple(differs)))
    return kinds


def _divided(sketches: tuple[sketch.Sketch, ...], enough: float
             ) -> list[tuple[sketch.Sketch, ...]]:
    """Divide machines by the best feature, and the populations again."""
    if len(sketches) < 2 * enough:
        return [sketches]
    features = list(_features(sketches, enough))
    best = _best(features)
    if best is None:
        return [sketches]
    members: list[list[sketch.Sketch]] = [[] for _value in best.values]
    labels = _Assignment(best, features).labels()
    for machine, label in zip(sketches, labels, strict=True):
        members[label].append(machine)
    populations = []
    for population in members:
        populations += _divided(tuple(population), enough)
    return populations


def _best(features: Sequence[_Feature]) -> _Feature | None:
    """Return the feature by which most others divide machines as well."""
    kinds: dict[Hashable, set[str]] = {}
    for feature in features:
        kinds.setdefault(feature.labels, set()).add(feature.kind)
    usable = []
    for feature in features:
        is_alone = len(kinds[feature.labels]) == 1
        if feature.kind in _STRUCTURE or not is_alone:
            usable.append(feature)
    if not usable:
        return None

    def weight(feature: _Feature) -> tuple[int, int, bool]:
        agreeing = len(kinds[feature.labels])
        labelled = sum(label is not None for label in feature.labels)
        return agreeing, labelled, feature.kind in _STRUCTURE

    return max(usable, key=weight)


def _features(sketches: Sequence[sketch.Sketch], enough: float
              ) -> Iterator[_Feature]:
    for column in _columns(sketches):
        feature = _feature(column, enough)
        if feature is not None:
            yield feature


def _columns(sketches: Sequence[sketch.Sketch]) -> Iterator[_FieldColumn]:
    """Yield what is compared of machines, except what is measured."""
    for path, values in field_comparison.texts(sketches):
        yield _FieldColumn(peer_difference.kind_of(path), path, values)
    for (kind, source), lists in part_lists(sketches).items():
        # Equal lists are one object: parts that all machines have alike
        # divide nothing.
        if len(set(map(id, lists))) > 1:
            # A source is who reported the list, and its path.
            path = source.partition(' ')[2]
            yield from _part_columns(kind, path, lists)
    for path, amounts in field_comparison.numbers(sketches, _is_counted):
        kind = peer_difference.kind_of(path, True)
        yield _FieldColumn(kind, path, _unified(amounts), amounts)


def _part_columns(kind: str, path: str,
                  lists: Sequence[sketch.PartList | None]
                  ) -> Iterator[_FieldColumn]:
    """Yield what parts of one kind say of machines: number, values, slots."""
    tables: dict[int, dict[str, typing.Any]] = {}
    for part_list in lists:
        if part_list is None or id(part_list) in tables:
            continue
        table = {
            'number': len(part_list.items),
            **part_comparison.multisets(part_list),
        }
        slots = tuple(slot for slot, _attributes in part_list.items if slot)
        if slots:
            table['slots'] = slots
        tables[id(part_list)] = table
    # A machine without the list has none of the values.
    tables[id(None)] = {}
    for name in sorted(set().union(*tables.values())):
        values = [tables[id(part_list)].get(name) for part_list in lists]
        yield _FieldColumn(kind, f'{path} {name}', values)


def _unified(amounts: Sequence[float]) -> list[float | None]:
    """Return numbers of machines with one for those that nearly are.

    :param amounts: one of each machine; not a number where it reports none.
    """
    counts = collections.Counter(
        amount for amount in amounts if not math.isnan(amount))
    unified = norm.unify(counts)
    column: list[float | None] = []
    for amount in amounts:
        if math.isnan(amount):
            column.append(None)
        else:
            column.append(unified.get(amount, amount))
    return column


def _is_counted(path: str) -> bool:
    return not peer_difference.is_measured(path)


def part_lists(sketches: Sequence[sketch.Sketch]
               ) -> dict[tuple[str, str], list[sketch.PartList | None]]:
    """Return the lists of parts of machines, by kind and source.

    :returns: one list for every machine, None where it has none.
    """
    columns: dict[tuple[str, str], list[sketch.PartList | None]] = {}
    for place, machine in enumerate(sketches):
        for part_list in machine.parts:
            key = part_list.kind, part_list.source
            if key not in columns:
                columns[key] = [None] * len(sketches)
            columns[key][place] = part_list
    return columns


def _feature(column: _FieldColumn, enough: float) -> _Feature | None:
    """Return a feature, None where a field does not divide machines."""
    counts = collections.Counter(column.values)
    counts.pop(None, None)
    values = {value for value, count in counts.items() if count >= enough}
    having = sum(counts[value] for value in values)
    if len(values) < 2 or having < len(column.values) * norm.NEARLY_ALL:
        return None
    # Numbered as they come, so that features that divide alike are equal.
    numbers: dict[Hashable, int] = {}
    for value in column.values:
        if value in values:
            numbers.setdefault(value, len(numbers))
    labels = tuple(numbers.get(value) for value in column.values)
    return _Feature(column.kind, column.path, labels, tuple(numbers),
                    column.amounts)


class _Assignment:
    """The population that each machine belongs to, of odd ones the nearest.

    A broken machine may look like one of the others in the best feature; what
    else divides the populations outvotes it.
    """

    def __init__(self, best: _Feature, features: Sequence[_Feature]) -> None:
        self._best = best
        self._sizes = collections.Counter(best.labels)
        self._middles = _middles(best, features)
        self._voters: dict[str, list[tuple[_Feature, list[int]]]] = {}
        for feature in features:
            usual = _usual(best, feature)
            if usual is not None:
                voters = self._voters.setdefault(feature.kind, [])
                voters.append((feature, usual))

    def labels(self) -> list[int]:
        """Return the number of the population of each machine."""
        populations = range(len(self._best.values))
        labels = []
        for place in range(len(self._best.labels)):
            likeness = functools.partial(self._likeness, place)
            labels.append(max(populations, key=likeness))
        return labels

    def _likeness(self, place: int, population: int) -> tuple[float, ...]:
        """Return how like the machines of a population a machine is."""
        alike = 0.0
        for voters in self._voters.values():
            # One vote for each kind: a missing card is in many fields.
            alike += statistics.fmean(
                feature.labels[place] == usual[population]
                for feature, usual in voters)
        distance = 0.0
        for amounts, middles in self._middles:
            if not math.isnan(amounts[place]):
                middle = middles[population]
                unit = abs(middle) or 1
                distance += abs(amounts[place] - middle) / unit
        has_label = self._best.labels[place] == population
        return alike, has_label, -distance, self._sizes[population]


def _usual(best: _Feature, feature: _Feature) -> list[int] | None:
    """Return what each population has of a feature, by its label.

    :returns: None where the feature does not tell the populations apart.
    """
    votes: list[collections.Counter[int]]
    votes = [collections.Counter() for _value in best.values]
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
    if len(set(usual)) < len(usual):
        return None
    return usual


def _middles(best: _Feature, features: Sequence[_Feature]
             ) -> list[tuple[Sequence[float], list[float]]]:
    """Return numbers of machines, and what is usual in each population."""
    middles = []
    for feature in features:
        if feature.amounts is None:
            continue
        counts: list[collections.Counter[float]]
        counts = [collections.Counter() for _value in best.values]
        for label, amount in zip(best.labels, feature.amounts, strict=True):
            if label is not None:
                counts[label][amount] += 1
        usual = [count.most_common(1)[0][0] for count in counts]
        middles.append((feature.amounts, usual))
    return middles


class _Ranked(typing.NamedTuple):
    """A field in which kinds differ; those that say most come first.

    :param texts: the values of the kinds.
    """

    is_detail: bool
    is_setting: bool
    is_beside_inventory: bool
    path: str
    texts: list[str]


def _differences(populations: Sequence[Sequence[sketch.Sketch]], least: int
                 ) -> list[list[KindDifference]]:
    """Return in what each kind of machines differs from the others."""
    sketches: list[sketch.Sketch] = []
    for population in populations:
        sketches += population
    ranked = []
    for column in _columns(sketches):
        values = _normal_values(column, populations, least)
        if None in values or len(set(values)) < 2:
            continue
        texts = [_as_text(column, value) for value in values]
        last = column.path.rpartition(' ')[2]
        ranked.append(_Ranked(
            is_detail=last in ('slots', 'id'),
            is_setting=column.kind not in _STRUCTURE,
            is_beside_inventory=not column.path.startswith('inventory'),
            path=column.path,
            texts=texts,
        ))
    ranked.sort()
    differences: list[list[KindDifference]] = [[] for _kind in populations]
    for field in ranked[:_MOST_DIFFERENCES]:
        for place, text in enumerate(field.texts):
            differences[place].append(KindDifference(field.path, text))
    return differences


def _normal_values(column: _FieldColumn,
                   populations: Sequence[Sequence[sketch.Sketch]],
                   least: int) -> list[typing.Any]:
    """Return what is normal in each population, None where nothing is."""
    values: list[typing.Any] = []
    start = 0
    for population in populations:
        end = start + len(population)
        normal = norm.shared(column.values[start:end], least)
        start = end
        if normal is None:
            values.append(None)
        else:
            values.append(normal.value)
    return values


def _as_text(column: _FieldColumn, value: typing.Any) -> str:
    """Return a value, and of a multiset how often each item is in it."""
    if column.amounts is not None:
        return finding.number(column.path, value)
    if not isinstance(value, tuple):
        return str(value)
    is_size = column.path.endswith(' size')
    texts = []
    for item, count in collections.Counter(value).items():
        text = str(item)
        if is_size and type(item) in (int, float):
            text = finding.size('', item)
        texts.append(f'{count} × {text}')
    text = ', '.join(texts)
    if len(text) >= _LONGEST_VALUE:
        text = f'{text[:_LONGEST_VALUE]}…'
    return text
