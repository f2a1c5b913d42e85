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

_PATH_IN_NODE = {
    RESOURCE_CLASS: '/resource_class',
    CAPABILITY: '/properties/capabilities',
}
"""Where a node has the names of a kind; traits are beside the node."""

Plain = Mapping[str, Any]

_MOST_SHARED_VALUES = 10
"""Most values of a place that always keep machines apart."""

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

    :ivar value: as JSON text, such as ``"b7"`` in quotes, which can be hashed;
        None where it differs from machine to machine.
    """

    place: _Place
    value: str | None


class _Outcome(NamedTuple):
    """What would become of all machines of a group.

    :ivar reason: why the inspection fails, as text or JSON.
    """

    result: str
    reason: str
    changes: tuple[_ChangeOfGroup, ...]


class Summary:
    """Counts what rules would do, machine by machine.

    :param rules: the rules that are tried: ``uuid``, ``description``,
        ``phase``.
    :param compared: whether entries have only what differs from the rules in
        force.
    :ivar results: the number of machines by their result.
    :ivar differ: the number of machines that end otherwise than by the rules
        in force; 0 without a comparison.
    :ivar gained: by kind, the numbers of machines that get a name, such as
        ``{'traits': {'CUSTOM_GPU': 3}}``.
    :ivar lost: likewise, the numbers of machines that lose a name.
    :ivar invalid: machines whose instances would no longer validate.
    :ivar unmatched: machines that no rule matches.
    :ivar not_tried: machines on which the rules could not be tried, with the
        ``error``.
    """

    def __init__(self, rules: Iterable[Plain], compared: bool) -> None:
        self.compared = compared
        self.results: collections.Counter[str] = collections.Counter()
        self.differ = 0
        self.rules = {rule['uuid']: _begin_counts(rule) for rule in rules}
        self.gained = {kind: collections.Counter[str]() for kind in KINDS}
        self.lost = {kind: collections.Counter[str]() for kind in KINDS}
        self.invalid: list[dict[str, Any]] = []
        self.unmatched: list[dict[str, Any]] = []
        self.not_tried: list[dict[str, Any]] = []
        self.groups = FleetGroups()

    def add(self, entry: Plain, node: Plain) -> None:
        """Count a machine, and group it if the rules make a difference.

        :param entry: the entry of the machine in an answer of Ironic: result,
            rules that matched, changes.
        :param node: the node before the rules: ``traits``,
            ``resource_class``, ``properties``.
        """
        listed_machine = {'uuid': entry['uuid'], 'name': entry['name']}
        self.results[entry['result']] += 1
        if entry['result'] == NOT_TRIED:
            self.not_tried.append({**listed_machine, 'error': entry['error']})
            return
        self._count_matches(entry)
        self._count_failure(entry)
        changes = entry.get('changes') or ()
        by_kind = differences(changes, node, self.compared)
        for kind, difference in by_kind.items():
            # Every name counts one more machine.
            self.gained[kind].update(difference.gained)
            self.lost[kind].update(difference.lost)
        if validation_newly_fails(entry, self.compared):
            self.invalid.append(listed_machine)
        if not entry.get('matched'):
            self.unmatched.append(listed_machine)
        if self.compared:
            # From what the rules in force do.
            differs = bool(entry.get('differs'))
            if differs:
                self.differ += 1
        else:
            # From what the machine is without the rules.
            differs = bool(changes) or entry['result'] == FAILED
        if differs:
            self.groups.add(entry)

    def _count_matches(self, entry: Plain) -> None:
        """Count a machine for every rule that matches it, audited ones too.

        :param entry: with the UUIDs of the rules as ``matched``, and with a
            mapping for every rule in mode ``audit`` as ``audit``.
        """
        for uuid in entry.get('matched') or ():
            self._counts_of(uuid)['matched'] += 1
        for audited_rule in entry.get('audit') or ():
            if audited_rule.get('matched', True):
                self._counts_of(audited_rule['uuid'])['audited'] += 1

    def _count_failure(self, entry: Plain) -> None:
        """Count a failed inspection for the rule that failed it.

        A rule fails an inspection on purpose, with the action "fail", or by
        an error, such as a field that is missing.
        """
        failed_by = entry.get('failed_by')
        if failed_by and failed_by['kind'] == 'fail':
            # The kind "fail" is the action "fail"; any other is an error.
            self._counts_of(failed_by['rule'])['failed'] += 1
        elif failed_by:
            self._counts_of(failed_by['rule'])['errors'] += 1
        elif entry['result'] == FAILED:
            # Ironic does not say which rule it was: counted without a UUID.
            self._counts_of(uuid=None)['errors'] += 1

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
        """Return the summary as plain JSON data.

        ``differ`` is None without a comparison. Every kind of names has a
        member such as ``'traits': {'gained': {'CUSTOM_GPU': 3}, 'lost': {}}``.
        """
        differ = None
        if self.compared:
            differ = self.differ
        changes_by_kind = {}
        for kind in KINDS:
            changes_by_kind[kind] = {
                'gained': _sort_by_count(self.gained[kind]),
                'lost': _sort_by_count(self.lost[kind]),
            }
        return {
            'machines': self.machines,
            'tried': self.tried,
            'ok': self.results[OK],
            'failed': self.results[FAILED],
            'differ': differ,
            'rules': list(self.rules.values()),
            **changes_by_kind,
            'invalid_instances': self.invalid,
            'unmatched': self.unmatched,
            'not_tried': self.not_tried,
            'groups': self.groups.as_list(),
        }

    def _counts_of(self, uuid: str | None) -> dict[str, Any]:
        """Return the counts of a rule, to be added to.

        A rule that was not among the rules of the summary gets counts when it
        is first asked for.

        :param uuid: None for errors of which Ironic does not say the rule.
        """
        return self.rules.setdefault(str(uuid), _begin_counts({'uuid': uuid}))


def _sort_by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """Sort counts, the largest first, and equal counts by their names.

    ``{'b': 1, 'c': 3, 'a': 1}`` becomes ``{'c': 3, 'a': 1, 'b': 1}``.
    """
    by_name = sorted(counts.items())
    # Equal counts stay in the order that they have by now.
    return dict(sorted(by_name, key=operator.itemgetter(1), reverse=True))


def _begin_counts(rule: Plain) -> dict[str, Any]:
    """Return a rule with all counts at 0, as a line of the summary.

    For example ``{'uuid': …, 'description': 'Set rack', …, 'matched': 0}``.
    """
    line: dict[str, Any] = {}
    for name in ('uuid', 'description', 'phase', 'priority', 'mode'):
        line[name] = rule.get(name)
    for name in ('matched', 'failed', 'errors', 'audited'):
        line[name] = 0
    return line


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
    """The names of a kind that a machine has before and afterwards."""

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
    """Return the names of a machine before and after changes.

    The name of a capability includes the value: ``boot_mode:bios`` is lost
    where ``boot_mode:uefi`` is gained.

    :param changes: in the order in which they are made.
    :param node: ``traits``, ``resource_class`` and ``properties`` of the node,
        any of which may be missing.
    :param compared: whether "before" is what the rules in force would leave,
        and not what the node has.
    :returns: the differences by kind, see :data:`KINDS`.
    """
    if compared:
        return _compare_rule_sets(changes)
    return _compare_with_node(changes, node)


def _compare_with_node(
    changes: Iterable[Plain], node: Mapping[str, Any]
) -> dict[str, NameDifference]:
    """Return the names that a node has, and has after changes.

    A node with the capability ``boot_mode:bios``, and a change of
    ``/properties/capabilities`` to ``boot_mode:uefi``, give both names: the
    first only before, the second only after.
    """
    before = {TRAIT: set(node.get('traits') or ())}
    for kind, path in _PATH_IN_NODE.items():
        before[kind] = _read_names(kind, node, path)
    after = {kind: set(names) for kind, names in before.items()}
    for change in changes:
        if change['object'] != TRAIT:
            # The new value replaces all names of a kind that are in it.
            for kind, path in _find_kinds_changed(change):
                after[kind] = _read_names(kind, _new_value(change), path)
            continue
        # The path of a trait is its name after a slash.
        name_of_trait = change['path'][1:]
        if change['op'] == 'remove':
            after[TRAIT].discard(name_of_trait)
        else:
            after[TRAIT].add(name_of_trait)
    return _pair_by_kind(before, after)


def _compare_rule_sets(changes: Iterable[Plain]) -> dict[str, NameDifference]:
    """Return the names that only one of two rule sets leaves on a node.

    :param changes: lead from what the rules in force leave to what the other
        rules leave. No place changes twice, and the order does not matter. A
        trait that is removed is one that only the rules in force leave.
    """
    before: dict[str, set[str]] = {kind: set() for kind in KINDS}
    after: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for change in changes:
        if change['object'] != TRAIT:
            for kind, path in _find_kinds_changed(change):
                before[kind] = _read_names(kind, change.get('before'), path)
                after[kind] = _read_names(kind, _new_value(change), path)
            continue
        # The path of a trait is its name after a slash.
        name_of_trait = change['path'][1:]
        if change['op'] == 'remove':
            before[TRAIT].add(name_of_trait)
        else:
            after[TRAIT].add(name_of_trait)
    return _pair_by_kind(before, after)


def _pair_by_kind(
    before: Mapping[str, set[str]], after: Mapping[str, set[str]]
) -> dict[str, NameDifference]:
    """Pair the names of traits, resource classes and capabilities by kind.

    ``{'traits': {'CUSTOM_A'}, …}`` before and ``{'traits': {'CUSTOM_B'}, …}``
    after give a difference that has lost ``CUSTOM_A`` and gained ``CUSTOM_B``.
    """
    by_kind = {}
    for kind in KINDS:
        by_kind[kind] = NameDifference(
            frozenset(before[kind]), frozenset(after[kind])
        )
    return by_kind


def _find_kinds_changed(change: Plain) -> Iterator[tuple[str, str]]:
    """Yield the kinds of names that a change of the node affects.

    :returns: pairs of a kind and the path of its names in the value of the
        change, such as ``('capabilities', '/capabilities')`` for a change of
        ``/properties``.
    """
    if change['object'] != 'node':
        return
    for kind, path in _PATH_IN_NODE.items():
        # The names are in the value that has changed, or are that value. With
        # a slash at the end, "/prop" is no beginning of "/properties".
        if f'{path}/'.startswith(f'{change["path"]}/'):
            yield kind, path.removeprefix(change['path'])


def _new_value(change: Plain) -> Any:
    """Return the value that a change sets, None for a removal."""
    if change['op'] == 'remove':
        return None
    return change['value']


def _read_names(kind: str, value: Any, path: str) -> set[str]:
    """Read the names of a kind at a path in a value.

    Capabilities are a text such as ``boot_mode:uefi,raid:true``, which has two
    names; a resource class is one name.

    :param path: from the value on, such as ``/capabilities``; empty for the
        value itself.
    """
    text = value
    for key in path.split('/')[1:]:
        if not isinstance(text, Mapping):
            return set()
        text = text.get(key)
    if text in (None, ''):
        return set()
    if kind == CAPABILITY:
        capabilities = {part.strip() for part in str(text).split(',')}
        # Two commas may have nothing between them.
        return capabilities - {''}
    return {str(text)}


class FleetGroups:
    """Groups machines by what would become of them.

    Where most machines have a value of their own, such as a serial number,
    the value does not keep them apart. Ports are alike whatever their
    addresses.
    """

    def __init__(self) -> None:
        # The entries of machines in answers of Ironic, and what would become
        # of these machines, in the same order.
        self._entries: list[Plain] = []
        self._outcomes: list[_Outcome] = []
        # The different values that machines get at a place, as JSON; and the
        # number of changes there.
        self._values: dict[_Place, set[str]] = collections.defaultdict(set)
        self._counts: collections.Counter[_Place] = collections.Counter()

    def add(self, entry: Plain) -> None:
        """Note what would become of a machine.

        The groups are made at the end. Only then it is known which changes
        give most machines a value of their own, such as a serial number.

        :param entry: the machine in an answer of Ironic.
        """
        changes = []
        for change in entry.get('changes') or ():
            where = change['object']
            if where.startswith(f'{_PORT} '):
                # Such as "port 52:54:00:00:00:01": no two machines have a
                # port of the same address.
                where = _PORT
            place = _Place(where, change['op'], change['path'])
            # As text, as a list or a mapping can be in no set.
            value = json.dumps(change.get('value'), sort_keys=True)
            changes.append(_ChangeOfGroup(place, value))
            self._values[place].add(value)
            self._counts[place] += 1
        failed_by = entry.get('failed_by')
        if failed_by:
            # The rule and its action. The texts of their errors may have the
            # name of the machine in them.
            reason = json.dumps(failed_by)
        else:
            reason = entry.get('error') or ''
        # Sorted, as rules may make the same changes in another order.
        outcome = _Outcome(entry['result'], reason, tuple(sorted(changes)))
        self._entries.append(entry)
        self._outcomes.append(outcome)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the groups as plain JSON data, the largest first.

        A group has the ``error`` of its first machine. Where most machines
        have a value of their own, such as a serial number, a change has
        ``varies`` in place of it. The ``nodes`` of a group are their UUIDs.
        """
        places_of_own_values = set()
        for place, values in self._values.items():
            # Ten racks, for example, always keep machines apart.
            are_few = len(values) <= _MOST_SHARED_VALUES
            if not are_few and len(values) > self._counts[place] / 2:
                places_of_own_values.add(place)
        group_by_outcome: dict[_Outcome, dict[str, Any]] = {}
        for entry, outcome in zip(self._entries, self._outcomes, strict=True):
            shared = _drop_values(outcome, places_of_own_values)
            if shared not in group_by_outcome:
                group_by_outcome[shared] = {
                    'count': 0,
                    'result': shared.result,
                    'error': entry['error'],
                    'failed_by': entry.get('failed_by'),
                    'changes': list(map(_describe_change, shared.changes)),
                    'nodes': [],
                }
            group = group_by_outcome[shared]
            group['count'] += 1
            group['nodes'].append(entry['uuid'])
        return sorted(
            group_by_outcome.values(),
            key=operator.itemgetter('count'),
            reverse=True,
        )


def _drop_values(outcome: _Outcome, places: Container[_Place]) -> _Outcome:
    """Return an outcome without the values at some places.

    Machines that differ only there, as by a serial number in their names, are
    then in one group.

    :param places: where most machines have a value of their own.
    """
    changes = []
    for change in outcome.changes:
        if change.place in places:
            changes.append(change._replace(value=None))
        else:
            changes.append(change)
    return outcome._replace(changes=tuple(changes))


def _describe_change(change: _ChangeOfGroup) -> dict[str, Any]:
    """Return a change of a group as plain JSON data.

    For example ``{'object': 'node', 'op': 'add', 'path': '/extra/rack',
    'value': 'b7'}``, with ``'varies': True`` in place of a value that differs
    from machine to machine.
    """
    where, op, path = change.place
    plain: dict[str, Any] = {'object': where, 'op': op, 'path': path}
    if change.value is None:
        plain['varies'] = True
    else:
        plain['value'] = json.loads(change.value)
    return plain
