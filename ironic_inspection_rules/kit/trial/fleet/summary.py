# SPDX-License-Identifier: Apache-2.0

"""Summarize a dry run of a fleet: counts by rule, groups, gains and losses.

Ironic answers the dry run with an entry per machine::

    {'uuid': …, 'name': 'rack1-u12', 'result': 'ok', 'error': None,
     'matched': [UUID],
     'changes': [{'object': 'node', 'op': 'add', 'path': '/extra/rack',
                  'value': 'b7'}]}

``object`` is ``node``, ``traits``, ``plugin_data`` or e.g. ``port
52:54:00:00:00:01``. The path of a trait is its name, ``/CUSTOM_GPU``.

If the tried rules are compared with the rules in force, the changes lead from
the result of the rules in force to the result of the tried rules.

Names are traits, resource classes and capabilities. A machine gains a name
that it only has after the rules, and loses a name that it only has before.
"""

import collections
from collections.abc import Container, Iterable, Iterator, Mapping
import dataclasses
import json
import operator
from typing import Any, NamedTuple

OK = 'ok'
FAILED = 'failed'
NOT_TRIED = 'error'
"""The result of a machine on which the rules could not be tried."""

TRAIT = 'traits'
RESOURCE_CLASS = 'resource_classes'
CAPABILITY = 'capabilities'
KINDS = (TRAIT, RESOURCE_CLASS, CAPABILITY)
"""Kinds of names that rules give to machines and take away from them."""

_PATH_IN_NODE = {
    RESOURCE_CLASS: '/resource_class',
    CAPABILITY: '/properties/capabilities',
}
"""Paths in a node to the names of a kind. Traits are not part of the node."""

Plain = Mapping[str, Any]

_MOST_SHARED_VALUES = 10
"""If a place has at most this many different values, machines with different
values are always in different groups."""

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

    :ivar value: the value as JSON text, e.g. ``"b7"`` in quotes, because text
        is hashable; None if the value differs from machine to machine.
    """

    place: _Place
    value: str | None


class _Outcome(NamedTuple):
    """What would happen to all machines of a group.

    :ivar reason: why the inspection fails, as text or JSON.
    """

    result: str
    reason: str
    changes: tuple[_ChangeOfGroup, ...]


class Summary:
    """Count what rules would do, machine by machine.

    :param rules: the rules that are tried, with ``uuid``, ``description``,
        ``phase``, ``priority`` and ``mode``.
    :param compared: whether entries contain only the differences from the
        rules in force.
    :ivar results: the number of machines by their result.
    :ivar differ: the number of machines whose result differs from the result
        of the rules in force; 0 without a comparison.
    :ivar gained: the number of machines that gain a name, by kind and name,
        e.g. ``{'traits': {'CUSTOM_GPU': 3}}``.
    :ivar lost: likewise, the number of machines that lose a name.
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
        """Count a machine, and group it if the rules would change or fail it.

        In a comparison, it is grouped if its result differs.

        :param entry: the entry of the machine in an answer of Ironic, with the
            result, the rules that matched, and the changes.
        :param node: the node before the rules, with ``traits``,
            ``resource_class`` and ``properties``.
        """
        listed_machine = {'uuid': entry['uuid'], 'name': entry['name']}
        self.results[entry['result']] += 1
        if entry['result'] == NOT_TRIED:
            self.not_tried.append({**listed_machine, 'error': entry['error']})
            return
        self._count_matches(entry)
        self._count_failure(entry)
        changes = entry.get('changes') or ()
        # For each kind of names, the names before and after the rules.
        difference_by_kind = differences(changes, node, self.compared)
        for kind, difference in difference_by_kind.items():
            # Add one machine to the count of every name.
            self.gained[kind].update(difference.gained)
            self.lost[kind].update(difference.lost)
        if validation_newly_fails(entry, self.compared):
            self.invalid.append(listed_machine)
        if not entry.get('matched'):
            self.unmatched.append(listed_machine)
        if self.compared and entry.get('differs'):
            self.differ += 1
            self.groups.add(entry)
        is_changed_or_failed = changes or entry['result'] == FAILED
        if not self.compared and is_changed_or_failed:
            self.groups.add(entry)

    def _count_matches(self, entry: Plain) -> None:
        """Count a machine for the rules that match it, also in mode ``audit``.

        :param entry: the entry of the machine, with ``matched``, the UUIDs of
            rules, and ``audit``, a list with a mapping per rule in mode
            ``audit``.
        """
        for uuid in entry.get('matched') or ():
            self._counts_of(uuid)['matched'] += 1
        for audited_rule in entry.get('audit') or ():
            # A rule that did not match is listed as well if it has an error.
            if audited_rule.get('matched', True):
                self._counts_of(audited_rule['uuid'])['audited'] += 1

    def _count_failure(self, entry: Plain) -> None:
        """Count a failed inspection for the rule that failed it.

        A rule fails an inspection either on purpose, with the action "fail",
        or because of an error, e.g. a missing field.
        """
        failed_by = entry.get('failed_by')
        if failed_by and failed_by['kind'] == 'fail':
            # The kind "fail" means the action "fail". Any other kind is an
            # error.
            self._counts_of(failed_by['rule'])['failed'] += 1
        elif failed_by:
            self._counts_of(failed_by['rule'])['errors'] += 1
        elif entry['result'] == FAILED:
            # Ironic does not say which rule failed, so count the error without
            # a UUID.
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
        """The number of errors of rules on machines."""
        return sum(rule['errors'] for rule in self.rules.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON data.

        ``differ`` is None without a comparison. Every kind of names has a
        member, e.g. ``'traits': {'gained': {'CUSTOM_GPU': 3}, 'lost': {}}``.
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
        """Return the counts of a rule, which the caller increments.

        Counts are created on first use for a rule that is not among the rules
        of the summary.

        :param uuid: the UUID of the rule; None for errors if Ironic does not
            say which rule failed.
        """
        return self.rules.setdefault(str(uuid), _begin_counts({'uuid': uuid}))


def _sort_by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """Sort counts in descending order, and equal counts by name.

    ``{'b': 1, 'c': 3, 'a': 1}`` becomes ``{'c': 3, 'a': 1, 'b': 1}``.
    """
    by_name = sorted(counts.items())
    # Sorting is stable, so equal counts stay sorted by name.
    return dict(sorted(by_name, key=operator.itemgetter(1), reverse=True))


def _begin_counts(rule: Plain) -> dict[str, Any]:
    """Return the line of a rule in the summary, with all counts at 0.

    An example is ``{'uuid': …, 'description': 'Set rack', …, 'matched': 0}``.
    """
    line: dict[str, Any] = {}
    for name in ('uuid', 'description', 'phase', 'priority', 'mode'):
        line[name] = rule.get(name)
    for name in ('matched', 'failed', 'errors', 'audited'):
        line[name] = 0
    return line


def validation_newly_fails(entry: Plain, compared: bool) -> bool:
    """Return whether deploy validation fails only because of the rules.

    Validation fails if the node lacks traits that its instance requires.

    :param entry: an entry of an answer of Ironic with the results of
        validation: ``validates`` after the rules, ``validates_before`` without
        them, and ``in_force.validates`` after the rules in force. They are
        missing if the node has no instance that requires traits.
    :param compared: whether to compare with the rules in force instead of the
        node without rules.
    """
    fails_after = entry.get('validates') is False
    if not fails_after:
        return False
    if not compared:
        fails_before = entry.get('validates_before') is False
        return not fails_before
    if not entry.get('differs', True):
        # The rules in force do the same, so validation fails with them too.
        return False
    in_force = entry.get('in_force') or {}
    fails_in_force = in_force.get('validates') is False
    return not fails_in_force


@dataclasses.dataclass(frozen=True)
class NameDifference:
    """The names of one kind that a machine has before and after changes."""

    before: frozenset[str]
    after: frozenset[str]

    @property
    def gained(self) -> frozenset[str]:
        """The names that the machine has only after the changes."""
        return self.after - self.before

    @property
    def lost(self) -> frozenset[str]:
        """The names that the machine has only before the changes."""
        return self.before - self.after


def differences(
    changes: Iterable[Plain], node: Mapping[str, Any], compared: bool
) -> dict[str, NameDifference]:
    """Return the names of a machine before and after changes.

    The name of a capability includes its value. For example,
    ``boot_mode:bios`` is lost if ``boot_mode:uefi`` is gained.

    :param changes: the changes, in the order in which they are made.
    :param node: ``traits``, ``resource_class`` and ``properties`` of the node;
        any of them may be missing.
    :param compared: whether "before" means the result of the rules in force
        instead of the present node.
    :returns: the differences by kind, see :data:`KINDS`.
    """
    if compared:
        return _compare_rule_sets(changes)
    return _compare_with_node(changes, node)


def _compare_with_node(
    changes: Iterable[Plain], node: Mapping[str, Any]
) -> dict[str, NameDifference]:
    """Return the names that a node has now, and the names after changes.

    For example, a node has the capability ``boot_mode:bios``, and a change
    sets ``/properties/capabilities`` to ``boot_mode:uefi``. Then
    ``boot_mode:bios`` is only in ``before``, and ``boot_mode:uefi`` is only in
    ``after``.
    """
    # Both have a set of names per kind.
    before = {TRAIT: set(node.get('traits') or ())}
    for kind, path in _PATH_IN_NODE.items():
        before[kind] = _read_names(kind, node, path)
    # Start with copies, and apply the changes to them.
    after = {kind: set(names) for kind, names in before.items()}
    for change in changes:
        if change['object'] == TRAIT and change['op'] == 'remove':
            after[TRAIT].discard(_trait_of(change))
        elif change['object'] == TRAIT:
            after[TRAIT].add(_trait_of(change))
        else:
            # The new value replaces all names of the kind.
            for kind, path in _find_kinds_changed(change):
                after[kind] = _read_names(kind, _new_value(change), path)
    return _pair_by_kind(before, after)


def _compare_rule_sets(changes: Iterable[Plain]) -> dict[str, NameDifference]:
    """Return the names that only one of two rule sets leaves on a node.

    "Before" means the rules in force, and "after" means the tried rules. For
    example, a trait that a change removes is a trait that only the rules in
    force leave, so it is only in ``before``. Names that both leave are not in
    the changes, and make no difference.

    :param changes: the changes that lead from the result of the rules in force
        to the result of the tried rules. Each place changes at most once, so
        the order does not matter.
    """
    before: dict[str, set[str]] = {kind: set() for kind in KINDS}
    after: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for change in changes:
        if change['object'] == TRAIT and change['op'] == 'remove':
            before[TRAIT].add(_trait_of(change))
        elif change['object'] == TRAIT:
            after[TRAIT].add(_trait_of(change))
        else:
            for kind, path in _find_kinds_changed(change):
                before[kind] = _read_names(kind, change.get('before'), path)
                after[kind] = _read_names(kind, _new_value(change), path)
    return _pair_by_kind(before, after)


def _trait_of(change: Plain) -> str:
    """Return the trait that a change adds or removes, e.g. ``CUSTOM_GPU``."""
    # The path is a slash and the name of the trait.
    name: str = change['path'][1:]
    return name


def _pair_by_kind(
    before: Mapping[str, set[str]], after: Mapping[str, set[str]]
) -> dict[str, NameDifference]:
    """Pair the names before and after, by kind.

    For example, ``{'traits': {'CUSTOM_A'}, …}`` and ``{'traits': {'CUSTOM_B'},
    …}`` give a difference that has lost ``CUSTOM_A`` and gained ``CUSTOM_B``.
    """
    by_kind = {}
    for kind in KINDS:
        by_kind[kind] = NameDifference(
            frozenset(before[kind]), frozenset(after[kind])
        )
    return by_kind


def _find_kinds_changed(change: Plain) -> Iterator[tuple[str, str]]:
    """Yield the kinds of names that a change of the node affects.

    A change of ``/properties/capabilities`` affects the capabilities. A change
    of ``/properties`` affects them as well, because the new value contains
    them.

    :returns: pairs of a kind and the path to its names inside the value of the
        change, e.g. ``('capabilities', '')`` for the first of these changes,
        and ``('capabilities', '/capabilities')`` for the second.
    """
    if change['object'] != 'node':
        return
    changed_path = change['path']
    for kind, path_of_names in _PATH_IN_NODE.items():
        # Compare with a slash at the end, so that "/prop" does not match
        # "/properties".
        has_names = f'{path_of_names}/'.startswith(f'{changed_path}/')
        if has_names:
            yield kind, path_of_names.removeprefix(changed_path)


def _new_value(change: Plain) -> Any:
    """Return the value that a change sets, or None for a removal."""
    if change['op'] == 'remove':
        return None
    return change['value']


def _read_names(kind: str, value: Any, path: str) -> set[str]:
    """Read the names of a kind at a path in a value.

    Capabilities are one text: ``boot_mode:uefi,raid:true`` has the names
    ``boot_mode:uefi`` and ``raid:true``. A resource class is a single name.

    :param kind: :data:`RESOURCE_CLASS` or :data:`CAPABILITY`.
    :param value: the node, or the value of a change; it may be of any type.
    :param path: the path inside the value, e.g. ``/capabilities``; empty for
        the value itself.
    """
    # Follow the path. The part before its first slash is empty.
    text = value
    for key in path.split('/')[1:]:
        if not isinstance(text, Mapping):
            return set()
        text = text.get(key)
    if text in (None, ''):
        return set()
    if kind == CAPABILITY:
        capabilities = {part.strip() for part in str(text).split(',')}
        # There may be nothing between two commas.
        return capabilities - {''}
    # A resource class is one name.
    return {str(text)}


class FleetGroups:
    """Group machines by what would happen to them.

    Values that are unique to most machines, e.g. serial numbers, do not
    separate machines. The addresses of ports do not separate them either.
    """

    def __init__(self) -> None:
        # The entries of machines in answers of Ironic, and the outcomes of
        # these machines in the same order.
        self._entries: list[Plain] = []
        self._outcomes: list[_Outcome] = []
        # The distinct values that machines get at a place, as JSON text.
        self._values: dict[_Place, set[str]] = collections.defaultdict(set)
        # The number of changes at a place, over all machines.
        self._counts: collections.Counter[_Place] = collections.Counter()

    def add(self, entry: Plain) -> None:
        """Record what would happen to a machine.

        The groups are formed by :meth:`as_list`, because only after the last
        machine is it known which values are unique to most machines.

        :param entry: the entry of the machine in an answer of Ironic.
        """
        changes = []
        for change in entry.get('changes') or ():
            where = change['object']
            if where.startswith(f'{_PORT} '):
                # The object is e.g. "port 52:54:00:00:00:01". Drop the
                # address, because no two machines have a port with the same
                # address.
                where = _PORT
            place = _Place(where, change['op'], change['path'])
            # Use text, because lists and mappings are not hashable.
            value = json.dumps(change.get('value'), sort_keys=True)
            changes.append(_ChangeOfGroup(place, value))
            self._values[place].add(value)
            self._counts[place] += 1
        failed_by = entry.get('failed_by')
        if failed_by:
            # Use the rule and its action, because the text of the error may
            # contain the name of the machine.
            reason = json.dumps(failed_by)
        else:
            reason = entry.get('error') or ''
        # Sort the changes, because rules may make the same changes in another
        # order.
        outcome = _Outcome(entry['result'], reason, tuple(sorted(changes)))
        self._entries.append(entry)
        self._outcomes.append(outcome)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the groups as plain JSON data, the largest first.

        Machines with the same outcome are in one group. A group has the
        ``error`` of its first machine, and the UUIDs of its machines as
        ``nodes``. If a value is unique to most machines, e.g. a serial number,
        the change has ``varies`` instead of the value.
        """
        # Find the places where values are unique to most machines: there are
        # more distinct values than half the number of changes.
        places_of_unique_values = set()
        for place, values in self._values.items():
            # A place with few values, e.g. ten racks, always separates
            # machines.
            has_many_values = len(values) > _MOST_SHARED_VALUES
            if has_many_values and len(values) > self._counts[place] / 2:
                places_of_unique_values.add(place)
        group_by_outcome: dict[_Outcome, dict[str, Any]] = {}
        for entry, outcome in zip(self._entries, self._outcomes, strict=True):
            # Without the unique values, many machines have the same outcome.
            shared_outcome = _drop_values(outcome, places_of_unique_values)
            if shared_outcome not in group_by_outcome:
                changes = [
                    _describe_change(change)
                    for change in shared_outcome.changes
                ]
                group_by_outcome[shared_outcome] = {
                    'count': 0,
                    'result': shared_outcome.result,
                    'error': entry['error'],
                    'failed_by': entry.get('failed_by'),
                    'changes': changes,
                    'nodes': [],
                }
            group = group_by_outcome[shared_outcome]
            group['count'] += 1
            group['nodes'].append(entry['uuid'])
        return sorted(
            group_by_outcome.values(),
            key=operator.itemgetter('count'),
            reverse=True,
        )


def _drop_values(outcome: _Outcome, places: Container[_Place]) -> _Outcome:
    """Return an outcome without the values at some places.

    Machines that differ only at these places, e.g. by a serial number, are
    then in one group.

    :param places: the places where most machines have a unique value.
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

    An example is ``{'object': 'node', 'op': 'add', 'path': '/extra/rack',
    'value': 'b7'}``. If the value differs from machine to machine, ``'varies':
    True`` replaces it.
    """
    where, op, path = change.place
    plain: dict[str, Any] = {'object': where, 'op': op, 'path': path}
    if change.value is None:
        plain['varies'] = True
    else:
        plain['value'] = json.loads(change.value)
    return plain
