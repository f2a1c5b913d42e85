# SPDX-License-Identifier: Apache-2.0

"""Plans how to turn the stored rules into the wanted rules.

The wanted rules are the rules that a client posts. First, :func:`match` finds
the stored rule that each of them replaces. Then :func:`plan_steps` makes the
plan, a list of steps: rules are created, updated, moved, deleted or left
unchanged. The service stores the steps. Clients show them as a diff.

Stored rules have a ``position``, a number such as 1.0 or 2.5. Rules of equal
phase and priority run in the order of their positions. A new rule between the
positions 1.0 and 2.0 gets 1.5, so that no other rule has to be stored again.
"""

import bisect
import collections
import dataclasses
import difflib
import functools
import itertools
import operator
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import yaml_text

Fields = typing.Mapping[str, typing.Any]
"""A rule as a mapping of its fields: ``{'uuid': …, 'priority': 0, …}``."""

CREATED = 'created'
UPDATED = 'updated'
MOVED = 'moved'
DELETED = 'deleted'
UNCHANGED = 'unchanged'

_CONTENT = tuple(name for name in model.WRITABLE if name != 'uuid')
_SIGNS = {CREATED: '+', UPDATED: '~', MOVED: '>', DELETED: '-'}
"""Signs in a diff, by the outcome of a step. Other steps are not shown."""


@dataclasses.dataclass(frozen=True)
class RuleStep:
    """The part of the plan that concerns one rule.

    :param before: the stored rule with the fields of :data:`.model.WRITABLE`
        and its ``position``; None if the rule is created.
    :param after: the wanted rule with the same fields; None if the rule is
        deleted.
    :param matched_by: how the two were recognized as one rule, see
        :class:`Match`.
    :param new_position: the new position of a rule that is created or moves;
        None if the rule keeps its position.
    """

    before: Fields | None
    after: Fields | None
    matched_by: str | None = None
    new_position: float | None = None

    @property
    def outcome(self) -> str:
        """What happens to the rule.

        It is CREATED, DELETED, UPDATED if a field differs, MOVED if only its
        position differs, or UNCHANGED.
        """
        if self.before is None:
            return CREATED
        if self.after is None:
            return DELETED
        if self.fields:
            # An updated rule may move as well, but it counts as updated.
            return UPDATED
        if self.new_position is not None:
            return MOVED
        return UNCHANGED

    @property
    def position_after(self) -> float:
        """The position of the rule after the step.

        For a deleted rule, it is the position before.
        """
        if self.new_position is not None:
            return self.new_position
        # Only a stored rule has no new position.
        assert self.before is not None
        return float(self.before['position'])

    @functools.cached_property
    def fields(self) -> list[str]:
        """Names of the fields that differ, e.g. ``['priority']``."""
        before = self.before or {}
        after = self.after or {}
        return [
            name
            for name in model.WRITABLE
            if not model.is_same_value(name, before.get(name), after.get(name))
        ]


class Match(typing.NamedTuple):
    """The stored rule that a wanted rule corresponds to.

    ``matched_by`` tells a user how the stored rule was recognized: by ``uuid``
    or by ``description``. It is None if both rules have the same content and
    no description. Other callers of :func:`plan_steps` may use other words.
    """

    stored: Fields
    matched_by: str | None


def collect_matched_uuids(
    matches: typing.Iterable[Match | None],
) -> set[str]:
    """Return the UUIDs of the stored rules that wanted rules correspond to.

    :param matches: the result of :func:`match`.
    """
    return {
        match_of_rule.stored['uuid']
        for match_of_rule in matches
        if match_of_rule is not None
    }


def match(
    wanted: typing.Sequence[typing.Any], stored_rules: typing.Sequence[Fields]
) -> list[Match | None]:
    """Find the stored rule that corresponds to each wanted rule.

    1. A wanted rule with a UUID is matched by the UUID only.
    2. A wanted rule without a UUID is matched by its description, if the
       description is unique: no other wanted rule without a UUID has it, and
       only one of the stored rules that no UUID matches has it.
    3. The remaining rules without a UUID are matched by their whole content,
       so that a rule that is posted again unchanged is not replaced.

    A wanted rule without a match is new.

    :param wanted: rules as they were posted; items may be of any type.
    :param stored_rules: the stored rules, in order.
    :returns: one item for each wanted rule: its match, or None if it is new.
    :raises: :class:`.exceptions.InvalidRules` if two wanted rules have the
        same UUID.
    """
    # Values that are no valid rules become None, which has no match.
    matchable: list[Fields | None] = []
    for rule in wanted:
        if isinstance(rule, dict) and isinstance(rule.get('uuid'), str | None):
            matchable.append(rule)
        else:
            matchable.append(None)
    return _Matcher(matchable, stored_rules).match()


class _Matcher:
    """Finds the stored rules for wanted rules; uses each stored rule once.

    :param wanted: the rules in order, with None for a value that cannot match.
    :param stored_rules: the stored rules in order.
    :raises: :class:`.exceptions.InvalidRules` if two wanted rules have the
        same UUID.
    """

    def __init__(
        self,
        wanted: typing.Sequence[Fields | None],
        stored_rules: typing.Sequence[Fields],
    ) -> None:
        self._wanted = wanted
        self._stored_rules = stored_rules
        self._stored_by_uuid = {rule['uuid']: rule for rule in stored_rules}
        # The rules that are not matched by UUID, keyed by their description.
        # If two stored rules or two wanted rules share a description, it does
        # not say which rule is meant, so neither of them is included.
        wanted_uuids = _collect_distinct_uuids(wanted)
        self._stored_by_description = _index_by_unique_description(
            rule for rule in stored_rules if rule['uuid'] not in wanted_uuids
        )
        self._wanted_by_description = _index_by_unique_description(
            rule for rule in wanted if rule and not rule.get('uuid')
        )

    def match(self) -> list[Match | None]:
        """Return the match of each wanted rule, or None for a new rule.

        Rules are matched by their UUID or description first. The remaining
        rules without a UUID are matched by their content.
        """
        matches = [
            self._match_by_uuid_or_description(rule) for rule in self._wanted
        ]
        unmatched = self._group_unmatched_by_content(matches)
        if not unmatched:
            return matches
        for index, rule in enumerate(self._wanted):
            if matches[index] is None:
                matches[index] = _match_by_content(rule, unmatched)
        return matches

    def _match_by_uuid_or_description(
        self, rule: Fields | None
    ) -> Match | None:
        """Return the stored rule with the same UUID or description.

        The description is used only if the wanted rule has no UUID, and if the
        description is unique among the rules that are not matched by UUID.

        :param rule: a wanted rule; None for a value that cannot match.
        :returns: None if there is no such stored rule.
        """
        if rule is None:
            return None
        if rule.get('uuid'):
            stored = self._stored_by_uuid.get(rule['uuid'])
            if stored is None:
                # The rule is new, whatever its description is.
                return None
            return Match(stored, 'uuid')
        description = rule.get('description')
        # Posted rules are not validated yet, so this may be of any type.
        if not isinstance(description, str):
            return None
        if description not in self._wanted_by_description:
            # There is no description, or several wanted rules have it.
            return None
        stored = self._stored_by_description.get(description)
        if stored is None:
            return None
        return Match(stored, 'description')

    def _group_unmatched_by_content(
        self, matches: typing.Sequence[Match | None]
    ) -> dict[typing.Hashable, collections.deque[Fields]]:
        """Return the stored rules that have no match yet, by their content.

        :param matches: the match by UUID or description of each wanted rule.
        :returns: for each :func:`_content_key`, the stored rules with this
            content, in the order in which they run.
        """
        matched_uuids = collect_matched_uuids(matches)
        by_content: dict[typing.Hashable, collections.deque[Fields]] = {}
        for rule in self._stored_rules:
            if rule['uuid'] not in matched_uuids:
                equal_rules = by_content.setdefault(
                    _content_key(rule), collections.deque()
                )
                equal_rules.append(rule)
        return by_content


def _match_by_content(
    rule: Fields | None,
    unmatched: typing.Mapping[typing.Hashable, collections.deque[Fields]],
) -> Match | None:
    """Return a stored rule with the same content as a wanted rule.

    :param rule: a wanted rule that UUID and description do not match; None for
        a value that cannot match.
    :param unmatched: the stored rules without a match, by their content. The
        returned rule is removed, so that the next equal rule gets another.
    :returns: None if there is no such stored rule.
    """
    if rule is None:
        return None
    if rule.get('uuid'):
        # A rule with a UUID that is not stored is new.
        return None
    equal_rules = unmatched.get(_content_key(rule))
    if not equal_rules:
        return None
    matched_by = None
    if rule.get('description'):
        # The content includes the description. It is not unique; otherwise the
        # rule would have been matched by it before.
        matched_by = 'description'
    return Match(equal_rules.popleft(), matched_by)


def _collect_distinct_uuids(
    wanted: typing.Sequence[Fields | None],
) -> set[str]:
    """Return the UUIDs of the wanted rules, and check that they are distinct.

    :param wanted: rules, some of which have no UUID; None is skipped.
    :raises: :class:`.exceptions.InvalidRules` if two rules have the same UUID.
    """
    uuids: set[str] = set()
    for index, rule in enumerate(wanted):
        if not rule or not rule.get('uuid'):
            continue
        if rule['uuid'] in uuids:
            twice = exceptions.Problem(
                '/uuid', _('rule %s is there twice') % rule['uuid']
            )
            raise exceptions.InvalidRules({index: [twice]})
        uuids.add(rule['uuid'])
    return uuids


def _index_by_unique_description(
    rules: typing.Iterable[Fields],
) -> dict[str, Fields]:
    """Return the rules with a unique description, by this description.

    Rules without a description, and rules that share a description, are left
    out.
    """
    by_description: dict[str, list[Fields]] = {}
    for rule in rules:
        description = rule.get('description')
        # Posted rules are not validated yet, so this may be of any type.
        if isinstance(description, str) and description:
            by_description.setdefault(description, []).append(rule)
    unique = {}
    for description, rules_with_it in by_description.items():
        if len(rules_with_it) == 1:
            unique[description] = rules_with_it[0]
    return unique


def _content_key(rule: Fields) -> typing.Hashable:
    """Return a key that rules with the same content have in common.

    The content is every writable field except the UUID. A field that is not
    set counts as its default.
    """
    own_vars = rule.get(model.VARS)
    names_of_vars: list[typing.Any] = []
    if isinstance(own_vars, dict):
        # Vars are computed in their order, but mappings that differ only in
        # order compare as equal. So the key includes the order of the names.
        names_of_vars = list(own_vars)
    content: list[typing.Any] = [names_of_vars]
    for name in _CONTENT:
        value = rule.get(name)
        if value is None:
            value = model.DEFAULTS.get(name)
        content.append(value)
    # Lists are not hashable, but their identity is.
    return path.hashable_key(content)


def plan_steps(
    wanted: typing.Sequence[Fields],
    matched: typing.Sequence[Match | None],
    stored_rules: typing.Sequence[Fields],
    prune: bool = True,
) -> list[RuleStep]:
    """Return the steps that turn the stored rules into the wanted rules.

    Nothing is stored here: the caller stores the steps, or shows them as a
    plan. A step may say that its rule is unchanged.

    The ``position`` of a rule is a number such as 3.0 or 1.5. Rules of equal
    phase and priority run in the order of their positions.

    :param wanted: the wanted rules, in the order in which they must run.
    :param matched: the result of :func:`match`: the stored rule for each
        wanted rule, or None for a new one.
    :param stored_rules: all stored rules, in order, with their ``position``.
    :param prune: whether to delete the stored rules that are not wanted. If
        False, all stored rules keep their positions, and new rules come last.
    :returns: a step for each wanted rule, in their order, followed by a step
        for each other stored rule.
    """
    old_positions: list[float | None] = []
    for match_of_rule in matched:
        old_position = None
        if match_of_rule is not None:
            old_position = match_of_rule.stored['position']
        old_positions.append(old_position)
    if prune:
        positions = _positions_in_wanted_order(wanted, old_positions)
    else:
        positions = _positions_with_new_rules_last(old_positions, stored_rules)
    steps = []
    for rule, match_of_rule, position in zip(
        wanted, matched, positions, strict=True
    ):
        steps.append(_step_of_wanted(rule, match_of_rule, position))
    wanted_uuids = collect_matched_uuids(matched)
    for rule in stored_rules:
        if rule['uuid'] in wanted_uuids:
            continue
        if prune:
            steps.append(RuleStep(before=rule, after=None))
        else:
            steps.append(RuleStep(before=rule, after=rule))
    return steps


def _step_of_wanted(
    rule: Fields, match_of_rule: Match | None, position: float
) -> RuleStep:
    """Return the step that creates a wanted rule, or changes the stored one.

    :param match_of_rule: the stored rule that it replaces; None for a new one.
    :param position: the position of the rule after the step.
    """
    if match_of_rule is None:
        return RuleStep(before=None, after=rule, new_position=position)
    new_position = None
    if position != match_of_rule.stored['position']:
        new_position = position
    return RuleStep(
        before=match_of_rule.stored,
        after=rule,
        matched_by=match_of_rule.matched_by,
        new_position=new_position,
    )


def rules_after(steps: typing.Iterable[RuleStep]) -> list[Fields]:
    """Return the rules that are stored after the steps, in order."""
    in_order = sorted(steps, key=operator.attrgetter('position_after'))
    return [step.after for step in in_order if step.after is not None]


def _positions_with_new_rules_last(
    old_positions: typing.Sequence[float | None],
    stored_rules: typing.Sequence[Fields],
) -> list[float]:
    """Return positions that move no rule and put new rules last.

    For example, if the last stored rule is at 7.0, ``[2.0, None, None]``
    becomes ``[2.0, 8.0, 9.0]``.

    :param old_positions: the current position of each wanted rule, None for a
        new rule.
    :param stored_rules: all stored rules.
    """
    last = max((rule['position'] for rule in stored_rules), default=0)
    positions = []
    for old_position in old_positions:
        if old_position is None:
            last += 1
            positions.append(last)
        else:
            positions.append(old_position)
    return positions


def _positions_in_wanted_order(
    wanted: typing.Sequence[Fields],
    old_positions: typing.Sequence[float | None],
) -> list[float]:
    """Return positions that make the rules run in the wanted order.

    1. If positions can rise over the whole set without moving a stored rule,
       return these.
    2. Otherwise, positions rise only among the rules with the same phase and
       priority, because the order of other rules makes no difference. For
       example, if A is stored at 2.0, B is stored at 1.0, and A is wanted
       before B, both keep their positions if their priorities differ.

    No two rules get the same position, because they may get the same priority
    later.

    :param wanted: the rules in the wanted order.
    :param old_positions: the current position of each rule, None for a new
        rule.
    """
    positions = _rising_positions(old_positions)
    if not _moves_stored_rule(old_positions, positions):
        return positions
    groups = _group_by_phase_and_priority(wanted)
    for indexes in groups:
        positions_of_group = _rising_positions(
            [old_positions[index] for index in indexes]
        )
        for index, position in zip(indexes, positions_of_group, strict=True):
            positions[index] = position
    # Rules of different groups may have the same position at this point.
    return _distinct_positions(positions, old_positions, groups)


def _moves_stored_rule(
    old_positions: typing.Sequence[float | None],
    positions: typing.Sequence[float],
) -> bool:
    """Return whether a stored rule gets another position.

    :param old_positions: the current position of each rule, None for a new
        rule.
    """
    for old_position, position in zip(old_positions, positions, strict=True):
        if old_position is not None and old_position != position:
            return True
    return False


def _group_by_phase_and_priority(
    wanted: typing.Sequence[Fields],
) -> list[list[int]]:
    """Return the indexes of the rules, grouped by phase and priority.

    For example, if only the first and the last of three rules have the same
    phase and priority, the groups are ``[[0, 2], [1]]``.
    """
    indexes_by_group: dict[tuple[typing.Any, typing.Any], list[int]] = {}
    for index, rule in enumerate(wanted):
        phase_and_priority = (rule.get('phase'), rule.get('priority'))
        indexes_by_group.setdefault(phase_and_priority, []).append(index)
    return list(indexes_by_group.values())


def _distinct_positions(
    positions: typing.Sequence[float],
    old_positions: typing.Sequence[float | None],
    groups: typing.Iterable[typing.Sequence[int]],
) -> list[float]:
    """Return positions of which no two rules have the same.

    A rule that keeps its old position stays there. Any other rule whose
    position is taken gets a lower one, but stays behind the rule before it in
    its group. If there is no room, all rules get new positions.

    :param positions: the positions, which rise within each group.
    :param old_positions: the current position of each rule, None for a new
        rule.
    :param groups: the indexes of the rules of each group.
    """
    taken_positions = set()
    for position, old_position in zip(positions, old_positions, strict=True):
        if position == old_position:
            taken_positions.add(position)
    distinct = list(positions)
    for indexes in groups:
        previous_position = None
        for index in indexes:
            if positions[index] != old_positions[index]:
                free_position = _find_free_position(
                    previous_position, positions[index], taken_positions
                )
                if free_position is None:
                    return _number_from_one(len(positions))
                distinct[index] = free_position
                taken_positions.add(free_position)
            previous_position = distinct[index]
    return distinct


def _find_free_position(
    low: float | None, position: float, taken: typing.Collection[float]
) -> float | None:
    """Return the given position, or a lower position that is free.

    For example, if 3.0 is taken, return 2.0 without ``low``, or 2.5 if
    ``low`` is 2.0. A lower position keeps the rule before the following rules.

    :param low: the position of the rule before, above which the result must
        be; None if there is no such rule.
    :param position: the position to return if it is free.
    :param taken: the positions of other rules.
    :returns: None if there is no room above ``low``.
    """
    candidate = position
    while candidate in taken:
        if low is None:
            candidate -= 1.0
            continue
        # Halve the distance to the rule before. At last, no float is between
        # the two, and the middle is rounded to either of them.
        middle = (low + candidate) / 2
        if not low < middle < candidate:
            return None
        candidate = middle
    return candidate


def _number_from_one(count: int) -> list[float]:
    """Return positions for rules that all get new ones: 1.0, 2.0, 3.0 …"""
    return [float(number) for number in range(1, count + 1)]


def _rising_positions(
    old_positions: typing.Sequence[float | None],
) -> list[float]:
    """Return rising positions that change as few old positions as possible.

    For example, ``[1.0, None, 2.0]`` becomes ``[1.0, 1.5, 2.0]``, and ``[3.0,
    1.0, 2.0]`` becomes ``[0.0, 1.0, 2.0]``. If there is no room between two
    positions, all rules get new positions.

    :param old_positions: the current position of each rule, None for a new
        rule.
    """
    positions: list[float] = []
    last_kept_position = None
    for index, kept_position in _find_longest_rising(old_positions):
        # The rules between the last rule that keeps its position and this one.
        count_between = index - len(positions)
        positions += _positions_between(
            last_kept_position, kept_position, count_between
        )
        positions.append(kept_position)
        last_kept_position = kept_position
    count_after = len(old_positions) - len(positions)
    positions += _positions_between(
        last_kept_position, high=None, count=count_after
    )
    for position, following in itertools.pairwise(positions):
        if position >= following:
            # Two kept positions are so close that no float fits between them.
            return _number_from_one(len(positions))
    return positions


def _positions_between(
    low: float | None, high: float | None, count: int
) -> list[float]:
    """Return rising positions for rules between two rules that keep theirs.

    - Three rules between 1.0 and 2.0 get 1.25, 1.5 and 1.75.
    - Three rules after 2.0 get 3.0, 4.0 and 5.0.
    - Three rules before 2.0 get -1.0, 0.0 and 1.0.

    :param low: position of the rule before them, None if there is none.
    :param high: position of the rule after them, None if there is none.
    :param count: the number of rules between the two.
    """
    distance = 1.0
    if high is None:
        # Without any other rule, begin with 1.0.
        start = low or 0.0
    elif low is None:
        start = high - count - 1
    else:
        start = low
        distance = (high - low) / (count + 1)
    return [start + distance * number for number in range(1, count + 1)]


@dataclasses.dataclass(frozen=True)
class _RisingEnd:
    """The last rule of a rising subsequence, linked to the rule before it."""

    index: int
    position: float
    previous: '_RisingEnd | None'


def _find_longest_rising(
    old_positions: typing.Sequence[float | None],
) -> list[tuple[int, float]]:
    """Return the longest rising subsequence, as pairs of index and position.

    For example, ``[3.0, None, 1.0, 2.0]`` gives ``[(2, 1.0), (3, 2.0)]``.
    Rules at these indexes keep their positions, so that as few rules as
    possible move.

    The algorithm is patience sorting. A subsequence of a certain length can
    best be extended if its last position is low. So for each length, only the
    subsequence with the lowest last position is kept. A binary search finds
    the longest of them that the current rule can extend.

    :param old_positions: the current position of each rule, None for a new
        rule.
    """
    # The ends of the subsequences of the lengths 1, 2, … Their positions rise.
    ends: list[_RisingEnd] = []
    for index, position in enumerate(old_positions):
        if position is None:
            continue
        length_before = bisect.bisect_left(
            ends, position, key=operator.attrgetter('position')
        )
        previous = None
        if length_before > 0:
            previous = ends[length_before - 1]
        end = _RisingEnd(index, position, previous)
        if length_before == len(ends):
            # This is the longest subsequence so far.
            ends.append(end)
        else:
            # This position is at most that of the end that it replaces.
            ends[length_before] = end
    if not ends:
        return []
    longest = []
    current: _RisingEnd | None = ends[-1]
    while current is not None:
        longest.append((current.index, current.position))
        current = current.previous
    longest.reverse()
    return longest


def plan_lines(steps: typing.Sequence[Fields]) -> typing.Iterator[str]:
    """Yield the plan of a rule set as the lines of a human-readable diff.

    For example, if one rule changes and another rule only moves::

        ~ Set rack (1be26c0b-…, found by description)
        @@ -1,6 +1,6 @@
        …
        -priority: 0
        +priority: 10
        …

        > Log all (77b5de45-…)

        0 to create, 1 to update, 1 to move, 0 to delete

    Rules that do not change are skipped.

    :param steps: a mapping for each rule, with its ``outcome``, ``uuid``,
        ``description`` and ``matched_by``; the rule ``before`` and ``after``
        the change, None if there is no such rule; and the names of the
        ``fields`` that differ.
    """
    # For example, {'created': 0, 'updated': 1, 'moved': 1, 'deleted': 0}.
    count_by_outcome = dict.fromkeys(_SIGNS, 0)
    for step in steps:
        if step['outcome'] in _SIGNS:
            count_by_outcome[step['outcome']] += 1
    for step in steps:
        outcome = step['outcome']
        if outcome not in _SIGNS:
            continue
        name = step['description'] or _('(no description)')
        # The UUID of a new rule may read "(known after apply)". Its
        # parentheses are removed, because the line adds its own.
        identity = step['uuid'].strip('()')
        if step['matched_by']:
            identity += _(', found by %s') % step['matched_by']
        yield f'{_SIGNS[outcome]} {name} ({identity})'
        # A rule that only moves has no fields that differ.
        if outcome != MOVED:
            yield from diff_lines(step)
        yield ''
    if any(count_by_outcome.values()):
        yield (
            _(
                '%(created)d to create, %(updated)d to update, '
                '%(moved)d to move, %(deleted)d to delete'
            )
            % count_by_outcome
        )
    else:
        yield _('Nothing to do: the rules are as they should be')


def diff_lines(step: Fields) -> list[str]:
    """Return the change of a rule as a unified diff of its YAML.

    For example, ``['@@ -1,6 +1,6 @@', …, '-priority: 0', '+priority: 10',
    …]``. The content of a sensitive rule is withheld.

    :param step: the rule ``before`` and ``after`` the change, None if there
        is no such rule, and the names of the ``fields`` that differ.
    """
    before = _yaml_lines(disclosed(step, 'before'))
    after = _yaml_lines(disclosed(step, 'after'))
    diff = list(difflib.unified_diff(before, after, n=3, lineterm=''))
    # Drop the first two lines, which name the files: there are no files.
    return diff[2:]


def _yaml_lines(rule: Fields | None) -> list[str]:
    """Return the lines of a rule in a YAML file; none if there is no rule."""
    if rule is None:
        return []
    return yaml_text.dump(rule).splitlines()


def disclosed(step: Fields, side: str) -> dict[str, typing.Any] | None:
    """Return the rule before or after a step, as any reader may see it.

    If the rule is sensitive before or after the change, its conditions,
    actions and vars read ``(withheld)``. After the change they read
    ``(withheld, new)`` if they differ.

    :param step: the rule ``before`` and ``after`` the change, None if there
        is no such rule, and the names of the ``fields`` that differ.
    :param side: which rule to return: ``before`` or ``after``.
    :returns: None if there is no such rule.
    """
    rule = step[side]
    if rule is None:
        return None
    # Only the rule after the change has the mark "new" at fields that differ.
    differing: typing.Sequence[str] = ()
    if side == 'after':
        differing = step['fields']
    fields = {name: rule[name] for name in model.WRITABLE}
    before_and_after = (step['before'] or {}, step['after'] or {})
    return stored_rule.disclose_side(fields, before_and_after, differing)
