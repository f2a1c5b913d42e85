# SPDX-License-Identifier: Apache-2.0

"""Kinds of machines of one model, such as those of a rack bought later.

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
_LONGEST_VALUE = 200  # Characters of a value; the rest of it is cut.
_HARDWARE = frozenset(finding.KINDS_OF_PARTS)
"""Kinds of fields of which one alone may divide machines into kinds.

A setting alone does not: it has to agree with fields of another sort.
"""


@dataclasses.dataclass(frozen=True)
class KindDifference:
    """A field by which one kind of machines differs from another."""

    field: str
    value: str


@dataclasses.dataclass(frozen=True)
class MachineKind:
    """Machines of one model that are alike.

    :param differs: the fields in which they differ from the other kinds.
    """

    sketches: tuple[sketch.Sketch, ...]
    differs: tuple[KindDifference, ...] = ()


class _FieldColumn(typing.NamedTuple):
    """The values of one field, in the order of the machines.

    :param kind: of a finding about the field.
    :param values: None where a machine reports nothing. Nearly equal numbers
        have one value.
    :param amounts: the numbers as reported, None if the field is no number.
    """

    kind: str
    path: str
    values: Sequence[typing.Any]
    amounts: Sequence[float] | None = None


class _Feature(typing.NamedTuple):
    """A field that divides machines into populations.

    :param labels: for every machine the number of its population, None where
        its value is that of none.
    :param values: of the populations, by their number.
    :param amounts: for every machine its number, None if the field is none.
    """

    kind: str
    field: str
    labels: tuple[int | None, ...]
    values: tuple[typing.Any, ...]
    amounts: Sequence[float] | None = None


def divide(sketches: Sequence[sketch.Sketch], least: int) -> list[MachineKind]:
    """Divide machines of one model into kinds.

    :param least: machines that are enough for a kind, if they are also a
        quarter of all.
    :returns: the largest kind first; one kind with all machines where nothing
        divides them.
    """
    enough = max(least, len(sketches) * norm.QUARTER)
    populations = _divide(tuple(sketches), enough)
    if len(populations) == 1:
        return [MachineKind(populations[0])]
    populations.sort(key=len, reverse=True)
    differences = _differences(populations, least)
    kinds = []
    for population, differs in zip(populations, differences, strict=True):
        kinds.append(MachineKind(population, tuple(differs)))
    return kinds


def _divide(
    sketches: tuple[sketch.Sketch, ...], enough: float
) -> list[tuple[sketch.Sketch, ...]]:
    """Divide machines by the best feature, and again what that gives.

    :param enough: how many machines a population has at least.
    :returns: populations of machines; all together if no feature divides them.
    """
    if len(sketches) < 2 * enough:
        return [sketches]
    features = list(_dividing_features(sketches, enough))
    best = _best(features)
    if best is None:
        return [sketches]
    # A label is the position of a value of the best feature.
    by_label: list[list[sketch.Sketch]] = [[] for _value in best.values]
    labels = _Assignment(best, features).labels()
    for machine, label in zip(sketches, labels, strict=True):
        by_label[label].append(machine)
    populations = []
    for population in by_label:
        populations += _divide(tuple(population), enough)
    return populations


def _best(features: Sequence[_Feature]) -> _Feature | None:
    """Return the feature with which most kinds of fields agree.

    Features agree that divide machines into the same populations.

    :returns: None where only settings of one kind divide the machines.
    """
    # Kinds of fields by the division that they make.
    kinds: dict[Hashable, set[str]] = {}
    for feature in features:
        kinds.setdefault(feature.labels, set()).add(feature.kind)
    usable = []
    for feature in features:
        is_alone = len(kinds[feature.labels]) == 1
        if feature.kind in _HARDWARE or not is_alone:
            usable.append(feature)
    if not usable:
        return None

    def weight(feature: _Feature) -> tuple[int, int, bool]:
        agreeing = len(kinds[feature.labels])
        labelled = sum(label is not None for label in feature.labels)
        return agreeing, labelled, feature.kind in _HARDWARE

    return max(usable, key=weight)


def _dividing_features(
    sketches: Sequence[sketch.Sketch], enough: float
) -> Iterator[_Feature]:
    """Yield the fields that divide machines into large populations.

    :param enough: how many machines make a population large.
    """
    for column in _columns(sketches):
        feature = _feature(column, enough)
        if feature is not None:
            yield feature


def _columns(sketches: Sequence[sketch.Sketch]) -> Iterator[_FieldColumn]:
    """Yield the fields by which machines may be divided, with all values.

    They are texts, lists of parts, and numbers that are not measured.
    """
    for path, values in field_comparison.texts(sketches):
        yield _FieldColumn(peer_difference.kind_of(path), path, values)
    for (kind, source), lists in part_lists(sketches).items():
        # Equal lists are one object: parts that all machines have alike
        # divide nothing.
        if len(set(map(id, lists))) > 1:
            # A source is "agent" or "redfish", and the path of the list.
            path = source.partition(' ')[2]
            yield from _part_columns(kind, path, lists)
    for path, amounts in field_comparison.numbers(sketches, _is_not_measured):
        kind = peer_difference.kind_of(path, True)
        yield _FieldColumn(kind, path, _unified(amounts), amounts)


def _part_columns(
    kind: str, path: str, lists: Sequence[sketch.PartList | None]
) -> Iterator[_FieldColumn]:
    """Yield columns on the parts of a list: number, attributes and slots.

    :param path: of the list in the data of a machine.
    :param lists: one for every machine; equal ones are the same object.
    """
    # By the id() of a list: what is compared of it, by name.
    values_of_lists: dict[int, dict[str, typing.Any]] = {}
    for part_list in lists:
        if part_list is None or id(part_list) in values_of_lists:
            continue
        values_of_list = {
            'number': len(part_list.items),
            **part_comparison.multisets(part_list),
        }
        slots = tuple(slot for slot, _attributes in part_list.items if slot)
        if slots:
            values_of_list['slots'] = slots
        values_of_lists[id(part_list)] = values_of_list
    # A machine without the list has none of the values.
    values_of_lists[id(None)] = {}
    for name in sorted(set().union(*values_of_lists.values())):
        values = [
            values_of_lists[id(part_list)].get(name) for part_list in lists
        ]
        yield _FieldColumn(kind, f'{path} {name}', values)


def _unified(amounts: Sequence[float]) -> list[float | None]:
    """Return the numbers of machines with one number for nearly equal ones.

    :param amounts: NaN where a machine reports none.
    :returns: None where a machine reports none.
    """
    counts = collections.Counter(
        amount for amount in amounts if not math.isnan(amount)
    )
    unified = norm.unify(counts)
    column: list[float | None] = []
    for amount in amounts:
        if math.isnan(amount):
            column.append(None)
        else:
            column.append(unified.get(amount, amount))
    return column


def _is_not_measured(path: str) -> bool:
    return not peer_difference.is_measured(path)


def part_lists(
    sketches: Sequence[sketch.Sketch],
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
    """Return how a field divides machines, None where it does not.

    It does where two or more of its values are frequent, and nearly all
    machines have one of these.

    :param enough: how many machines make a value frequent.
    """
    counts = collections.Counter(column.values)
    counts.pop(None, None)
    values = {value for value, count in counts.items() if count >= enough}
    in_populations = sum(counts[value] for value in values)
    least = len(column.values) * norm.NEARLY_ALL
    if len(values) < 2 or in_populations < least:
        return None
    # Numbered in the order of machines, so that two features that divide them
    # alike have equal labels.
    numbers: dict[Hashable, int] = {}
    for value in column.values:
        if value in values:
            numbers.setdefault(value, len(numbers))
    labels = tuple(numbers.get(value) for value in column.values)
    return _Feature(
        column.kind, column.path, labels, tuple(numbers), column.amounts
    )


class _Assignment:
    """Finds the population that a machine belongs to, by votes of fields.

    A broken machine may have the value of another population in the best
    feature, or of none. So all features that divide the populations vote.
    """

    def __init__(self, best: _Feature, features: Sequence[_Feature]) -> None:
        self._best = best
        # How many machines a population has, by its number.
        self._sizes = collections.Counter(best.labels)
        self._middles = _middles(best, features)
        # By kind of field: the features that vote, each with its usual label
        # in every population.
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
        """Return how much a machine is like those of a population.

        :param place: the index of the machine.
        :returns: a sort key: the votes, then the label in the best feature,
            then the distance in numbers. Of two populations that are equally
            like it, it belongs to the larger one.
        """
        alike = 0.0
        for voters in self._voters.values():
            # A kind of fields has one vote, shared by its features: a missing
            # card changes many fields of its kind.
            alike += statistics.fmean(
                feature.labels[place] == usual[population]
                for feature, usual in voters
            )
        distance = 0.0
        for amounts, middles in self._middles:
            if not math.isnan(amounts[place]):
                middle = middles[population]
                unit = abs(middle) or 1
                distance += abs(amounts[place] - middle) / unit
        has_label = self._best.labels[place] == population
        return alike, has_label, -distance, self._sizes[population]


def _usual(best: _Feature, feature: _Feature) -> list[int] | None:
    """Return the usual label in another feature for every population.

    Nearly all machines with 8 CPUs have disks of one vendor, which have the
    label 0, and those with 16 CPUs have disks with the label 1: then the usual
    labels are ``[0, 1]``.

    :param best: the feature that divides the populations, such as CPUs.
    :param feature: the other feature, such as disks.
    :returns: None where the other feature does not distinguish populations.
    """
    usual = []
    for counts in _count_labels(best, feature):
        if not counts:
            return None
        [(label, count)] = counts.most_common(1)
        if count < counts.total() * norm.NEARLY_ALL:
            # The population has no usual label.
            return None
        usual.append(label)
    if len(set(usual)) < len(usual):
        # Two populations have the same one.
        return None
    return usual


def _count_labels(
    best: _Feature, feature: _Feature
) -> list[collections.Counter[int]]:
    """Count in every population the machines with a label of a feature.

    A machine without a population or a label is not counted.

    :param best: the feature that divides the populations.
    :returns: numbers of machines by label, for every population.
    """
    counts: list[collections.Counter[int]]
    counts = [collections.Counter() for _value in best.values]
    for population, label in zip(best.labels, feature.labels, strict=True):
        if population is not None and label is not None:
            counts[population][label] += 1
    return counts


def _middles(
    best: _Feature, features: Sequence[_Feature]
) -> list[tuple[Sequence[float], list[float]]]:
    """Return the numbers of machines, and the most frequent in populations.

    :returns: for every feature that is a number: the number of every machine,
        and the most frequent one of every population, such as
        ``([8, 8, 2, 8], [8, 2])``.
    """
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
    """A field in which kinds differ; fields that say most sort first.

    :param is_detail: whether it is an ID or the slots, which say little.
    :param is_setting: whether it is about no part of the machine.
    :param is_beside_inventory: whether it is in plugin data.
    :param texts: the values of the kinds, for people.
    """

    is_detail: bool
    is_setting: bool
    is_beside_inventory: bool
    path: str
    texts: list[str]


def _differences(
    populations: Sequence[Sequence[sketch.Sketch]], least: int
) -> list[list[KindDifference]]:
    """Return the fields in which kinds of machines differ, for every kind.

    Only a field of which every kind has a normal value is taken, and of these
    the most telling ones: parts before settings.

    :param least: how many machines of a kind must report a field.
    """
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
        ranked.append(
            _Ranked(
                is_detail=last in ('slots', 'id'),
                is_setting=column.kind not in _HARDWARE,
                is_beside_inventory=not column.path.startswith('inventory'),
                path=column.path,
                texts=texts,
            )
        )
    ranked.sort()
    differences: list[list[KindDifference]] = [[] for _kind in populations]
    for field in ranked[:_MOST_DIFFERENCES]:
        for place, text in enumerate(field.texts):
            differences[place].append(KindDifference(field.path, text))
    return differences


def _normal_values(
    column: _FieldColumn,
    populations: Sequence[Sequence[sketch.Sketch]],
    least: int,
) -> list[typing.Any]:
    """Return the normal value of every population, None where there is none.

    :param column: of all machines, one population after another.
    """
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
    """Return a value for people; of the values of parts "2 × A, 1 × B"."""
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
    if len(text) > _LONGEST_VALUE:
        text = f'{text[:_LONGEST_VALUE]}…'
    return text
