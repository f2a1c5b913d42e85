# SPDX-License-Identifier: Apache-2.0

"""Divide machines of one model into kinds, e.g. those that were bought later.

Machines are of several kinds if some value divides them into populations that
are all large enough. For example, if 30 machines have 512 GiB of memory and 20
have 256 GiB, there are two populations.

A field that divides machines in this way is a feature. It gives every machine
a label: the number of the population that has the value of the machine. Three
machines with 512, 512 and 256 GiB have the labels 0, 0 and 1.
"""

import collections
from collections.abc import Hashable, Iterator, Sequence
import dataclasses
import functools
import itertools
import math
import statistics
import typing

from ironic_inspection_rules.kit.machine.outliers import field_comparison
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import norm
from ironic_inspection_rules.kit.machine.outliers import part_comparison
from ironic_inspection_rules.kit.machine.outliers import peer_difference
from ironic_inspection_rules.kit.machine.outliers import sketch

_MAX_REPORTED_DIFFERENCES = 10
_MAX_VALUE_LENGTH = 200  # Characters of a value; the rest of it is cut.
_KINDS_OF_HARDWARE = frozenset(finding.KINDS_OF_PARTS)
"""Kinds of fields that may divide machines on their own.

A setting divides machines only if fields of another kind agree with it.
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

    :param kind: the kind of findings about the field.
    :param values: the values; None if a machine reports nothing. Nearly equal
        numbers have been made equal.
    :param amounts: the numbers as reported; None if the field is a text.
    """

    kind: str
    path: str
    values: Sequence[typing.Any]
    amounts: Sequence[float] | None = None


class _Feature(typing.NamedTuple):
    """A field that divides machines into populations.

    :param kind: the kind of findings about the field, e.g. ``disk``.
    :param field: the path of the field.
    :param labels: for every machine, the number of its population, e.g. ``(0,
        0, 1, None)``; None if the value of the machine is rare.
    :param values: the values of the populations, by number of the population.
    :param amounts: the number of every machine; None if the field is a text.
    """

    kind: str
    field: str
    labels: tuple[int | None, ...]
    values: tuple[typing.Any, ...]
    amounts: Sequence[float] | None = None


def divide(
    sketches: Sequence[sketch.Sketch], min_peers: int
) -> list[MachineKind]:
    """Divide machines of one model into kinds.

    For example, 30 machines with 512 GiB of memory and 20 with 256 GiB are two
    kinds, and none of them is odd.

    :param sketches: the machines of one group.
    :param min_peers: the number of machines that is enough for a kind,
        provided that they are also a quarter of all machines.
    :returns: the kinds, the largest first. If nothing divides the machines,
        one kind with all of them.
    """
    min_machines = max(min_peers, len(sketches) * norm.QUARTER)
    populations = _divide_by_best_feature(tuple(sketches), min_machines)
    if len(populations) == 1:
        return [MachineKind(populations[0])]
    populations.sort(key=len, reverse=True)
    differences = _find_differences(populations, min_peers)
    kinds = []
    for population, differs in zip(populations, differences, strict=True):
        kinds.append(MachineKind(population, tuple(differs)))
    return kinds


def _divide_by_best_feature(
    sketches: tuple[sketch.Sketch, ...], min_machines: float
) -> list[tuple[sketch.Sketch, ...]]:
    """Divide machines by the best feature, then divide the populations again.

    A feature is a field whose values divide the machines. For example, if half
    of them have 512 GiB of memory and the others 256 GiB, the size of the
    memory divides them into two populations.

    :param min_machines: the least number of machines in a population.
    :returns: the populations; only one if no feature divides the machines.
    """
    if len(sketches) < 2 * min_machines:
        # There are too few machines for two populations.
        return [sketches]
    features = list(_dividing_features(sketches, min_machines))
    best = _choose_best(features)
    if best is None:
        return [sketches]
    # A label is the number of a population.
    by_label: list[list[sketch.Sketch]] = [[] for _value in best.values]
    labels = _PopulationFinder(best, features).find_labels()
    for machine, label in zip(sketches, labels, strict=True):
        by_label[label].append(machine)
    populations = []
    for population in by_label:
        populations += _divide_by_best_feature(tuple(population), min_machines)
    return populations


def _choose_best(features: Sequence[_Feature]) -> _Feature | None:
    """Choose the feature with which the most kinds of fields agree.

    Two features agree if their populations are the same, e.g. if the machines
    with more memory, and only these, have larger disks. If several features
    are equally good, the one that labels the most machines is chosen. If these
    are still several, a field of the hardware is chosen before a setting.

    :returns: None if nothing but settings divides the machines, and no
        settings of different kinds agree.
    """
    # The kinds of fields that divide the machines in the same way. The labels
    # describe the way: (0, 0, 1) if the third machine differs from the others.
    kinds_by_labels: dict[Hashable, set[str]] = {}
    for feature in features:
        kinds_by_labels.setdefault(feature.labels, set()).add(feature.kind)
    # The features that are enough to divide the machines.
    usable = []
    for feature in features:
        is_alone = len(kinds_by_labels[feature.labels]) == 1
        # A setting alone is not enough to assume different kinds of machines.
        if feature.kind in _KINDS_OF_HARDWARE or not is_alone:
            usable.append(feature)
    if not usable:
        return None

    def weight(feature: _Feature) -> tuple[int, int, bool]:
        """Return a sort key, which is greatest for the best feature."""
        agreeing = len(kinds_by_labels[feature.labels])
        labelled = sum(label is not None for label in feature.labels)
        return agreeing, labelled, feature.kind in _KINDS_OF_HARDWARE

    return max(usable, key=weight)


def _dividing_features(
    sketches: Sequence[sketch.Sketch], min_machines: float
) -> Iterator[_Feature]:
    """Yield the fields that divide machines into large populations.

    :param min_machines: the number of machines that makes a population large.
    """
    for column in _dividing_columns(sketches):
        feature = _build_feature(column, min_machines)
        if feature is not None:
            yield feature


def _dividing_columns(
    sketches: Sequence[sketch.Sketch],
) -> Iterator[_FieldColumn]:
    """Yield the fields that may divide machines.

    They are texts, properties of parts, and numbers that are not measured.
    Texts, numbers and lists of parts that are equal on all machines are
    skipped. A column has the value of every machine.
    """
    for path, values in field_comparison.text_columns(sketches):
        kind = peer_difference.finding_kind(path)
        yield _FieldColumn(kind=kind, path=path, values=values)
    # The properties of parts: their number, attributes and slots.
    for (kind, source), lists in part_lists_by_source(sketches).items():
        # Equal lists are the same object, so their id() can be compared.
        are_all_equal = len(set(map(id, lists))) == 1
        if not are_all_equal:
            # A source is e.g. "agent inventory.disks".
            _reporter, _space, path = source.partition(' ')
            yield from _part_columns(kind, path, lists)
    for path, amounts in field_comparison.number_columns(
        sketches, _is_not_measured
    ):
        kind = peer_difference.finding_kind(path, is_number=True)
        yield _FieldColumn(
            kind=kind,
            path=path,
            values=_make_capacities_equal(amounts),
            amounts=amounts,
        )


def _part_columns(
    kind: str, path: str, lists: Sequence[sketch.PartList | None]
) -> Iterator[_FieldColumn]:
    """Yield the properties of a list of parts: number, attributes and slots.

    For example, the column ``inventory.disks size`` has ``(960, 960)`` for a
    machine with two disks of size 960.

    :param path: the path of the list in the data of a machine.
    :param lists: one list for every machine; equal lists are the same object.
    """
    # The properties of a list by its id(), e.g. {'number': 2, 'size': (1, 1)}.
    values_of_lists: dict[int, dict[str, typing.Any]] = {}
    for part_list in lists:
        if part_list is None or id(part_list) in values_of_lists:
            continue
        values_of_list = {
            'number': len(part_list.items),
            **part_comparison.multisets_by_attribute(part_list),
        }
        slots = tuple(slot for slot, _attributes in part_list.items if slot)
        if slots:
            values_of_list['slots'] = slots
        values_of_lists[id(part_list)] = values_of_list
    # A machine that does not report the list has no values.
    values_of_lists[id(None)] = {}
    for name in sorted(set().union(*values_of_lists.values())):
        values = [
            values_of_lists[id(part_list)].get(name) for part_list in lists
        ]
        yield _FieldColumn(kind=kind, path=f'{path} {name}', values=values)


def _make_capacities_equal(amounts: Sequence[float]) -> list[float | None]:
    """Replace nearly equal capacities of machines by the most frequent one.

    Otherwise they would divide machines of one kind. For example, 960000,
    960000 and 960100 become three times 960000. Counts, such as 8 processors,
    stay.

    :param amounts: one number per machine; NaN if it reports nothing.
    :returns: one number per machine; None if it reports nothing.
    """
    reported = [amount for amount in amounts if not math.isnan(amount)]
    replacements = norm.find_common_capacities(collections.Counter(reported))
    column: list[float | None] = []
    for amount in amounts:
        if math.isnan(amount):
            column.append(None)
        else:
            column.append(replacements.get(amount, amount))
    return column


def _is_not_measured(path: str) -> bool:
    """Return whether a field is a count or a capacity, not a measurement."""
    return not peer_difference.is_measured(path)


def part_lists_by_source(
    sketches: Sequence[sketch.Sketch],
) -> dict[tuple[str, str], list[sketch.PartList | None]]:
    """Return the lists of parts of machines, by kind and source.

    A source is a list in the data, such as ``agent inventory.disks``.

    :returns: one list of parts for every machine, in the order of the
        machines; None if a machine does not report it.
    """
    columns: dict[tuple[str, str], list[sketch.PartList | None]] = {}
    for index, machine in enumerate(sketches):
        for part_list in machine.parts:
            key = part_list.kind, part_list.source
            if key not in columns:
                columns[key] = [None] * len(sketches)
            columns[key][index] = part_list
    return columns


def _build_feature(
    column: _FieldColumn, min_machines: float
) -> _Feature | None:
    """Build the feature of a field that divides machines into populations.

    The field must have two or more frequent values, and nearly all machines
    must have one of them. For example, if two machines make a value frequent,
    the values 8, 8, 16, 8, 16, 12 give the labels 0, 0, 1, 0, 1, None.

    :param min_machines: the number of machines that makes a value frequent.
    :returns: None if the field does not divide the machines.
    """
    counts = collections.Counter(column.values)
    # None means that the machine does not report the field.
    counts.pop(None, None)
    frequent = {
        value for value, count in counts.items() if count >= min_machines
    }
    in_populations = sum(counts[value] for value in frequent)
    nearly_all = len(column.values) * norm.NEARLY_ALL
    if len(frequent) < 2 or in_populations < nearly_all:
        return None
    # Values are numbered in the order of the first machine that has them.
    # Therefore two features that divide the machines in the same way have
    # equal labels.
    numbers: dict[Hashable, int] = {}
    for value in column.values:
        if value in frequent:
            numbers.setdefault(value, len(numbers))
    labels = tuple(numbers.get(value) for value in column.values)
    return _Feature(
        kind=column.kind,
        field=column.path,
        labels=labels,
        values=tuple(numbers),
        amounts=column.amounts,
    )


class _Voter(typing.NamedTuple):
    """A feature that distinguishes populations.

    :param usual_labels: the label that is usual in a population, by number of
        the population.
    """

    feature: _Feature
    usual_labels: Sequence[int]


class _UsualNumbers(typing.NamedTuple):
    """A field that is a number.

    :param amounts: the number of every machine.
    :param usual_amounts: the most frequent number of a population, by number
        of the population.
    """

    amounts: Sequence[float]
    usual_amounts: Sequence[float]


class _Likeness(typing.NamedTuple):
    """How much a machine is like a population; greater means more alike.

    The first member that differs decides.

    :param votes: the votes for the population, at most one per kind of fields.
    :param has_label: whether the best feature of the machine says that it
        belongs to the population.
    :param nearness: the negative distance between the numbers of the machine
        and the usual numbers of the population.
    :param size: the number of machines in the population.
    """

    votes: float
    has_label: bool
    nearness: float
    size: int


class _PopulationFinder:
    """Finds the population that a machine belongs to, by votes of fields.

    A population is a set of machines that share a value of the best feature. A
    broken machine may have a rare value of that feature, or the value of
    another population. Therefore all features that distinguish the populations
    vote.

    :param best: the feature that divides the machines into populations.
    :param features: all features, including the best one.
    """

    def __init__(self, best: _Feature, features: Sequence[_Feature]) -> None:
        self._best = best
        # The number of machines in a population, by the number of the
        # population.
        self._sizes = collections.Counter(best.labels)
        self._usual_numbers = _find_usual_numbers(best, features)
        # The features that vote, by kind of field, such as "disk".
        self._voters: dict[str, list[_Voter]] = {}
        for feature in features:
            usual_labels = _find_usual_labels(best, feature)
            if usual_labels is not None:
                voter = _Voter(feature, usual_labels)
                self._voters.setdefault(feature.kind, []).append(voter)

    def find_labels(self) -> list[int]:
        """Return, for every machine, the population that it is most like.

        It may differ from the population that the value of the best feature
        says.
        """
        populations = range(len(self._best.values))
        labels = []
        for index in range(len(self._best.labels)):
            likeness = functools.partial(self._rate_likeness, index)
            labels.append(max(populations, key=likeness))
        return labels

    def _rate_likeness(self, index: int, population: int) -> _Likeness:
        """Return how much a machine is like a population.

        :param index: the index of the machine.
        :param population: the number of the population.
        """
        return _Likeness(
            votes=self._count_votes(index, population),
            has_label=self._best.labels[index] == population,
            nearness=-self._measure_distance(index, population),
            size=self._sizes[population],
        )

    def _count_votes(self, index: int, population: int) -> float:
        """Return the votes that a machine belongs to a population.

        A feature votes for the population if the machine has the label that is
        usual there. All features of one kind share one vote. Otherwise a
        missing card, which changes many fields of its kind, would outvote all
        other kinds.
        """
        votes = 0.0
        for voters in self._voters.values():
            votes += statistics.fmean(
                voter.feature.labels[index] == voter.usual_labels[population]
                for voter in voters
            )
        return votes

    def _measure_distance(self, index: int, population: int) -> float:
        """Return how far the numbers of a machine are from usual numbers.

        It decides between populations with equal votes. Distances are relative
        to the usual number, because fields have different units.
        """
        distance = 0.0
        for field in self._usual_numbers:
            amount = field.amounts[index]
            usual_amount = field.usual_amounts[population]
            if not math.isnan(amount):
                unit = abs(usual_amount) or 1
                distance += abs(amount - usual_amount) / unit
        return distance


def _find_usual_labels(best: _Feature, feature: _Feature) -> list[int] | None:
    """Return the label of a feature that is usual in every population.

    A feature is a field, such as the size of the disks. Its labels number its
    values, e.g. 0 for 480 GB and 1 for 960 GB. Assume that one population has
    8 CPUs and another has 16. If nearly all machines with 8 CPUs have disks of
    480 GB, and nearly all with 16 CPUs have disks of 960 GB, the usual labels
    are ``[0, 1]``.

    :param best: the feature that divides machines into populations, in this
        example the number of CPUs.
    :param feature: another feature, in this example the size of the disks.
    :returns: the usual label of every population. None if the feature does not
        distinguish the populations, because one of them has no usual label or
        two have the same label.
    """
    usual = []
    for counts in _count_labels(best, feature):
        if not counts:
            # All machines of the population have rare values of the feature.
            return None
        [(label, count)] = counts.most_common(1)
        nearly_all = counts.total() * norm.NEARLY_ALL
        if count < nearly_all:
            # No value is usual in the population.
            return None
        usual.append(label)
    are_different = len(set(usual)) == len(usual)
    if not are_different:
        # Two populations have the same usual label.
        return None
    return usual


def _count_labels(
    best: _Feature, feature: _Feature
) -> list[collections.Counter[int]]:
    """Count the machines with a label of a feature, by population.

    For example, ``[Counter({0: 9, 1: 1}), Counter({1: 10})]``: in the first
    population, nine machines have the label 0 and one has the label 1.
    Machines without a population or a label are not counted.

    :param best: the feature that divides the machines into populations.
    :param feature: another feature, whose labels are counted.
    :returns: the number of machines by label, for every population.
    """
    counts: list[collections.Counter[int]]
    counts = [collections.Counter() for _value in best.values]
    for population, label in zip(best.labels, feature.labels, strict=True):
        if population is not None and label is not None:
            counts[population][label] += 1
    return counts


def _find_usual_numbers(
    best: _Feature, features: Sequence[_Feature]
) -> list[_UsualNumbers]:
    """Return the features that are numbers, with the usual numbers.

    For example, if the machines of the first population have 8 CPUs, and the
    machine of the second has 2, the amounts are ``[8, 8, 2, 8]``, and the
    usual amounts are ``[8, 2]``.

    :param best: the feature that divides the machines into populations.
    """
    numbers = []
    for feature in features:
        if feature.amounts is None:
            continue
        counts: list[collections.Counter[float]]
        counts = [collections.Counter() for _value in best.values]
        for label, amount in zip(best.labels, feature.amounts, strict=True):
            if label is not None:
                counts[label][amount] += 1
        usual_amounts = []
        for counts_of_population in counts:
            [(amount, _count)] = counts_of_population.most_common(1)
            usual_amounts.append(amount)
        numbers.append(_UsualNumbers(feature.amounts, usual_amounts))
    return numbers


class _Ranked(typing.NamedTuple):
    """A field in which kinds differ; the most telling field sorts first.

    :param is_detail: whether the field is an ID or the slots, which say
        little.
    :param is_setting: whether the field does not describe a part of the
        machine.
    :param is_beside_inventory: whether the field is in the plugin data.
    :param texts: the value of every kind, as text for people.
    """

    is_detail: bool
    is_setting: bool
    is_beside_inventory: bool
    path: str
    texts: list[str]


def _find_differences(
    populations: Sequence[Sequence[sketch.Sketch]], min_peers: int
) -> list[list[KindDifference]]:
    """Find the fields in which kinds of machines differ, most telling first.

    A field is used only if every kind has a normal value. At most ten fields
    are returned.

    :param populations: the machines of every kind.
    :param min_peers: the number of machines of a kind that must report a
        field.
    :returns: one list for every kind.
    """
    sketches: list[sketch.Sketch] = []
    for population in populations:
        sketches += population
    ranked = []
    for column in _dividing_columns(sketches):
        values = _normal_values(column, populations, min_peers)
        are_all_equal = len(set(values)) == 1
        if None in values or are_all_equal:
            continue
        texts = [_format_value(column, value) for value in values]
        # The path of a property of parts ends with its name: "inventory.disks
        # size".
        last_word = column.path.rpartition(' ')[2]
        ranked.append(
            _Ranked(
                is_detail=last_word in ('slots', 'id'),
                is_setting=column.kind not in _KINDS_OF_HARDWARE,
                is_beside_inventory=not column.path.startswith('inventory'),
                path=column.path,
                texts=texts,
            )
        )
    ranked.sort()
    differences: list[list[KindDifference]] = [[] for _kind in populations]
    for field in ranked[:_MAX_REPORTED_DIFFERENCES]:
        for index, text in enumerate(field.texts):
            differences[index].append(KindDifference(field.path, text))
    return differences


def _normal_values(
    column: _FieldColumn,
    populations: Sequence[Sequence[sketch.Sketch]],
    min_peers: int,
) -> list[typing.Any]:
    """Return the normal value of every population; None if it has none.

    For example, ``[8, 16]`` if the machines of the first population have 8
    disks, and the machines of the second have 16.

    :param column: the values of all machines, one population after another.
    :param min_peers: the number of machines of a population that must report
        a value.
    """
    values: list[typing.Any] = []
    values_left = iter(column.values)
    for population in populations:
        values_of_population = itertools.islice(values_left, len(population))
        normal = norm.find_norm(values_of_population, min_peers)
        if normal is None:
            values.append(None)
        else:
            values.append(normal.value)
    return values


def _format_value(column: _FieldColumn, value: typing.Any) -> str:
    """Return a value as text for people, e.g. "2 × A, 1 × B"."""
    if column.amounts is not None:
        return finding.format_number(column.path, value)
    if not isinstance(value, tuple):
        return str(value)
    # The value has the values of all parts or items of a list. Only the sizes
    # of parts get a unit.
    is_size = column.path.endswith(' size')
    texts = []
    for item, count in collections.Counter(value).items():
        text = str(item)
        if is_size and type(item) in (int, float):
            text = finding.format_size('', item)
        texts.append(f'{count} × {text}')
    text = ', '.join(texts)
    if len(text) > _MAX_VALUE_LENGTH:
        text = f'{text[:_MAX_VALUE_LENGTH]}…'
    return text
