# SPDX-License-Identifier: Apache-2.0

"""Totals of a dry run of a fleet: by rule, by group, traits won and lost."""

import collections
from collections.abc import Container, Iterable, Iterator, Mapping
import dataclasses
import json
import operator
from typing import Any, NamedTuple

OK = 'ok'
FAILED = 'failed'
NOT_TRIED = 'error'
"""The result of a machine of which nothing is known."""

TRAIT = 'traits'
RESOURCE_CLASS = 'resource_classes'
CAPABILITY = 'capabilities'
KINDS = (TRAIT, RESOURCE_CLASS, CAPABILITY)
"""Names that a machine has, and rules give and take."""

_PATHS = {
    RESOURCE_CLASS: '/resource_class',
    CAPABILITY: '/properties/capabilities',
}
"""Where a node has the names of a kind; traits are beside the node."""

Plain = Mapping[str, Any]

_FEW = 10
"""Up to so many different values of one place always keep machines apart."""

_PORT = 'port'


class _Place(NamedTuple):
    """A change without its value.

    :ivar where: ``node``, ``traits``, ``plugin_data`` or ``port``.
    :ivar op: ``add``, ``replace`` or ``remove``.
    :ivar path: a JSON pointer to the value, below ``where``.
    """

    where: str
    op: str
    path: str


class _ChangeOfGroup(NamedTuple):
    """A change of a machine, or of all machines of a group.

    Other than in an answer of Ironic, its value can be hashed.

    :ivar value: as JSON; None where it differs from machine to machine.
    """

    place: _Place
    value: str | None


class _Alike(NamedTuple):
    """What machines of a group have in common.

    :ivar reason: why the inspection fails, as text or JSON.
    """

    result: str
    reason: str
    changes: tuple[_ChangeOfGroup, ...]


class Summary:
    """Counts what rules would do, machine by machine.

    :param rules: those that are tried: ``uuid``, ``description``, ``phase``.
    :param compared: whether entries have only what differs from the rules in
        force.
    :ivar results: how many machines have each result.
    :ivar differ: how many machines end otherwise than by the rules in force;
        0 where nothing is compared.
    :ivar gained: how many machines get each name, by kind; ``lost`` how many
        lose it.
    :ivar invalid: machines whose instances would no longer validate.
    :ivar unmatched: machines that no rule matches.
    :ivar not_tried: machines on which the rules could not be tried, with the
        ``error``.
    """

    def __init__(self, rules: Iterable[Plain], compared: bool) -> None:
        self.compared = compared
        self.results: collections.Counter[str] = collections.Counter()
        self.differ = 0
        self.rules = {rule['uuid']: _rule(rule) for rule in rules}
        self.gained = {kind: collections.Counter[str]() for kind in KINDS}
        self.lost = {kind: collections.Counter[str]() for kind in KINDS}
        self.invalid: list[dict[str, Any]] = []
        self.unmatched: list[dict[str, Any]] = []
        self.not_tried: list[dict[str, Any]] = []
        self.groups = FleetGroups()

    def add(self, entry: Plain, node: Plain) -> None:
        """Count a machine, and group it if the rules make a difference to it.

        :param entry: of an answer of Ironic: the result of the machine, rules
            that matched, changes.
        :param node: as it is: ``traits``, ``resource_class``, ``properties``.
        """
        named = {'uuid': entry['uuid'], 'name': entry['name']}
        self.results[entry['result']] += 1
        if entry['result'] == NOT_TRIED:
            self.not_tried.append({**named, 'error': entry['error']})
            return
        self._count_matches(entry)
        self._count_failure(entry)
        changes = entry.get('changes') or ()
        by_kind = differences(changes, node, self.compared)
        for kind, difference in by_kind.items():
            self.gained[kind].update(difference.gained)
            self.lost[kind].update(difference.lost)
        if validation_newly_fails(entry, self.compared):
            self.invalid.append(named)
        if not entry.get('matched'):
            self.unmatched.append(named)
        if self.compared:
            differs = bool(entry.get('differs'))
            if differs:
                self.differ += 1
        else:
            differs = bool(changes) or entry['result'] == FAILED
        if differs:
            self.groups.add(entry)

    def _count_matches(self, entry: Plain) -> None:
        """Count a machine for every rule that matches it, audited ones too."""
        for uuid in entry.get('matched') or ():
            self._counts_of(uuid)['matched'] += 1
        for audited in entry.get('audit') or ():
            if audited.get('matched', True):
                self._counts_of(audited['uuid'])['audited'] += 1

    def _count_failure(self, entry: Plain) -> None:
        """Count by which rule an inspection failed, if it did."""
        failed = entry.get('failed_by')
        if failed and failed['kind'] == 'fail':
            # The rule has the action "fail"; any other failure is an error.
            self._counts_of(failed['rule'])['failed'] += 1
        elif failed:
            self._counts_of(failed['rule'])['errors'] += 1
        elif entry['result'] == FAILED:
            # Ironic does not say which rule it was.
            self._counts_of(None)['errors'] += 1

    @property
    def machines(self) -> int:
        """The number of machines, tried or not."""
        return sum(self.results.values())

    @property
    def tried(self) -> int:
        """The number of machines that the rules were tried on."""
        return self.machines - self.results[NOT_TRIED]

    @property
    def errors(self) -> int:
        """The number of times that a rule could not be carried out."""
        return sum(rule['errors'] for rule in self.rules.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON data."""
        differ = None
        if self.compared:
            differ = self.differ
        names = {}
        for kind in KINDS:
            names[kind] = {
                'gained': _most_first(self.gained[kind]),
                'lost': _most_first(self.lost[kind]),
            }
        return {
            'machines': self.machines,
            'tried': self.tried,
            'ok': self.results[OK],
            'failed': self.results[FAILED],
            'differ': differ,
            'rules': list(self.rules.values()),
            **names,
            'invalid_instances': self.invalid,
            'unmatched': self.unmatched,
            'not_tried': self.not_tried,
            'groups': self.groups.as_list(),
        }

    def _counts_of(self, uuid: str | None) -> dict[str, Any]:
        """Return the counts of a rule, also of one that was not named."""
        return self.rules.setdefault(str(uuid), _rule({'uuid': uuid}))


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts, the largest first, equal ones by their names."""
    by_name = sorted(counts.items())
    return dict(sorted(by_name, key=operator.itemgetter(1), reverse=True))


def _rule(rule: Plain) -> dict[str, Any]:
    """Return a rule of which nothing is counted yet."""
    counted = {}
    for name in ('uuid', 'description', 'phase', 'priority', 'mode'):
        counted[name] = rule.get(name)
    for name in ('matched', 'failed', 'errors', 'audited'):
        counted[name] = 0
    return counted


def validation_newly_fails(entry: Plain, compared: bool) -> bool:
    """Check whether deploy validation fails after the rules, but not before.

    It fails where the node lacks traits that its instance asks for.

    :param entry: of an answer of Ironic, with what validation says: after the
        rules ``validates``, without them ``validates_before``, after the rules
        in force ``in_force.validates``.
    :param compared: whether "before" means: after the rules in force.
    """
    # Without an instance that asks for traits the members are absent.
    if entry.get('validates') is not False:
        return False
    if not compared:
        return entry.get('validates_before') is not False
    if not entry.get('differs', True):
        # The rules in force do the same, so that validation fails for both.
        return False
    in_force = entry.get('in_force') or {}
    return in_force.get('validates') is not False


@dataclasses.dataclass(frozen=True)
class NameDifference:
    """The names that a machine has before and afterwards."""

    before: frozenset[str]
    after: frozenset[str]

    @property
    def gained(self) -> frozenset[str]:
        """The names that the machine has only afterwards."""
        return self.after - self.before

    @property
    def lost(self) -> frozenset[str]:
        """The names that the machine had only before."""
        return self.before - self.after


def differences(
    changes: Iterable[Plain], node: Mapping[str, Any], compared: bool
) -> dict[str, NameDifference]:
    """Return the names that changes give to a machine or take from it.

    The name of a capability has its value: one that gets another value is
    lost and gained.

    :param changes: in the order in which they are made.
    :param node: ``traits``, ``resource_class`` and ``properties`` as they
        are, each of which may be missing.
    :param compared: whether the changes lead from what the rules in force
        would leave to what other rules would, and not from what the node has.
    :returns: by kind, one of :data:`KINDS`.
    """
    if compared:
        return _of_comparison(changes)
    return _of_node(changes, node)


def _of_node(
    changes: Iterable[Plain], node: Mapping[str, Any]
) -> dict[str, NameDifference]:
    """Return the difference that changes make to the names of a node."""
    before = {TRAIT: set(node.get('traits') or ())}
    for kind, path in _PATHS.items():
        before[kind] = _names(kind, node, path)
    after = {kind: set(names) for kind, names in before.items()}
    for change in changes:
        name_of_trait = change['path'][1:]
        if change['object'] != TRAIT:
            for kind, path in _places_within(change):
                after[kind] = _names(kind, _new_value(change), path)
        elif change['op'] == 'remove':
            after[TRAIT].discard(name_of_trait)
        else:
            after[TRAIT].add(name_of_trait)
    return _by_kind(before, after)


def _of_comparison(changes: Iterable[Plain]) -> dict[str, NameDifference]:
    """Return the difference between what two rule sets leave on a node.

    Names that both leave are not among them.

    :param changes: from what the rules in force leave. They are the difference
        of two states, in which no place is changed twice: their order does
        not matter.
    """
    before: dict[str, set[str]] = {kind: set() for kind in KINDS}
    after: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for change in changes:
        name_of_trait = change['path'][1:]
        if change['object'] != TRAIT:
            for kind, path in _places_within(change):
                before[kind] = _names(kind, change.get('before'), path)
                after[kind] = _names(kind, _new_value(change), path)
        elif change['op'] == 'remove':
            before[TRAIT].add(name_of_trait)
        else:
            after[TRAIT].add(name_of_trait)
    return _by_kind(before, after)


def _by_kind(
    before: Mapping[str, set[str]], after: Mapping[str, set[str]]
) -> dict[str, NameDifference]:
    """Return the names before and after as one value for each kind."""
    by_kind = {}
    for kind in KINDS:
        by_kind[kind] = NameDifference(
            frozenset(before[kind]), frozenset(after[kind])
        )
    return by_kind


def _places_within(change: Plain) -> Iterator[tuple[str, str]]:
    """Yield the kinds of names that a change of a node changes.

    Traits are left out: they are changes of their own.

    :returns: a kind, and where its names are in the value of the change.
    """
    if change['object'] != 'node':
        return
    for kind, path in _PATHS.items():
        path_within = _path_within(change, path)
        if path_within is not None:
            yield kind, path_within


def _new_value(change: Plain) -> Any:
    """Return the value that a change sets, None if it removes one."""
    if change['op'] == 'remove':
        return None
    return change['value']


def _path_within(change: Plain, path: str) -> str | None:
    """Return where a place of the node is in the value of a change.

    A change of ``/properties`` changes the capabilities too: in its value
    they are at ``/capabilities``.

    :param path: of the place in the node.
    :returns: a path in the value; None if the change is elsewhere.
    """
    if not f'{path}/'.startswith(f'{change["path"]}/'):
        return None
    return path.removeprefix(change['path'])


def _names(kind: str, value: Any, path: str) -> set[str]:
    """Return the names of a kind that are at a path in a value."""
    at_path = value
    for name in path.split('/')[1:]:
        if not isinstance(at_path, Mapping):
            return set()
        at_path = at_path.get(name)
    if at_path in (None, ''):
        return set()
    if kind == CAPABILITY:
        capabilities = {part.strip() for part in str(at_path).split(',')}
        # Between two commas there may be none.
        return capabilities - {''}
    return {str(at_path)}


class FleetGroups:
    """Groups machines by what would become of them.

    Where most machines have a value of their own, such as a serial number,
    the value does not keep them apart. Ports are alike whatever their
    addresses.
    """

    def __init__(self) -> None:
        # The answers of Ironic, one for a machine; and what would become of
        # these machines, in the same order.
        self._entries: list[Plain] = []
        self._outcomes: list[_Alike] = []
        # The different values that machines get at a place, as JSON; and how
        # many machines get one.
        self._values: dict[_Place, set[str]] = collections.defaultdict(set)
        self._counts: collections.Counter[_Place] = collections.Counter()

    def add(self, entry: Plain) -> None:
        """Note what would become of a machine.

        Groups are made at the end: only when all machines are there is it
        known at which places most machines have a value of their own.
        """
        changes = []
        for change in entry.get('changes') or ():
            kind = change['object']
            if kind.startswith(f'{_PORT} '):
                # Without the address: every machine has others.
                kind = _PORT
            place = _Place(kind, change['op'], change['path'])
            value = json.dumps(change.get('value'), sort_keys=True)
            changes.append(_ChangeOfGroup(place, value))
            self._values[place].add(value)
            self._counts[place] += 1
        failed_by = entry.get('failed_by')
        if failed_by:
            # The texts of errors may differ where one rule fails them all.
            reason = json.dumps(failed_by)
        else:
            reason = entry.get('error') or ''
        outcome = _Alike(entry['result'], reason, tuple(sorted(changes)))
        self._entries.append(entry)
        self._outcomes.append(outcome)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the groups as plain JSON data, the largest first.

        A group has the ``error`` of its first machine. Where most machines
        have a value of their own, a change has ``varies`` and no value; any
        other difference of values makes another group.
        """
        places_of_own_values = {
            place
            for place, values in self._values.items()
            if self._has_own_values(place, len(values))
        }
        groups: dict[_Alike, dict[str, Any]] = {}
        for entry, outcome in zip(self._entries, self._outcomes, strict=True):
            alike = _without_values(outcome, places_of_own_values)
            if alike not in groups:
                groups[alike] = {
                    'count': 0,
                    'result': alike.result,
                    'error': entry['error'],
                    'failed_by': entry.get('failed_by'),
                    'changes': list(map(_as_dict, alike.changes)),
                    'nodes': [],
                }
            group = groups[alike]
            group['count'] += 1
            group['nodes'].append(entry['uuid'])
        return sorted(
            groups.values(), key=operator.itemgetter('count'), reverse=True
        )

    def _has_own_values(self, place: _Place, different: int) -> bool:
        """Check whether most machines have a value of their own at a place.

        :param different: how many different values there are at the place.
        """
        if different <= _FEW:
            return False
        return different > self._counts[place] / 2


def _without_values(outcome: _Alike, places: Container[_Place]) -> _Alike:
    """Return what becomes of a machine, without the values at some places.

    Machines that differ in nothing else are then in one group.

    :param places: where most machines have a value of their own.
    """
    changes = []
    for change in outcome.changes:
        if change.place in places:
            change = change._replace(value=None)
        changes.append(change)
    return outcome._replace(changes=tuple(changes))


def _as_dict(change: _ChangeOfGroup) -> dict[str, Any]:
    """Return a change of a group as plain JSON data."""
    where, op, path = change.place
    plain: dict[str, Any] = {'object': where, 'op': op, 'path': path}
    if change.value is None:
        plain['varies'] = True
    else:
        plain['value'] = json.loads(change.value)
    return plain
