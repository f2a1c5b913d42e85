# SPDX-License-Identifier: Apache-2.0

"""Plans how to turn the stored rules into the wanted rules.

The service that stores the rules makes the plan. Clients show it as a diff.
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

CREATED = 'created'
UPDATED = 'updated'
MOVED = 'moved'
DELETED = 'deleted'
UNCHANGED = 'unchanged'

_CONTENT = tuple(name for name in model.WRITABLE if name != 'uuid')
_SIGNS = {CREATED: '+', UPDATED: '~', MOVED: '>', DELETED: '-'}


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
        """What happens to the rule, as one word: CREATED, MOVED and so on."""
        if self.before is None:
            return CREATED
        if self.after is None:
            return DELETED
        if self.fields:
            # An updated rule may move as well, but it counts as updated.
            return UPDATED
        if self.new_position is None:
            return UNCHANGED
        return MOVED

    @property
    def position_after(self) -> float:
        """The position after the step; for a deleted rule, its last one."""
        if self.new_position is not None:
            return self.new_position
        # A new rule always has a new position, so this rule is a stored one.
        assert self.before is not None
        return float(self.before['position'])

    @functools.cached_property
    def fields(self) -> list[str]:
        """Names of the fields that differ."""
        before = self.before or {}
        after = self.after or {}
        return [
            name
            for name in model.WRITABLE
            if not model.is_same_value(name, before.get(name), after.get(name))
        ]


class Match(typing.NamedTuple):
    """The stored rule that a wanted rule corresponds to.

    ``matched_by`` tells a user how the rule was recognized: by ``uuid`` or by
    ``description``. It is None if both rules have the same content and no
    description. Other callers of :func:`plan_steps` may use other words.
    """

    rule: Fields
    matched_by: str | None


def match(
    wanted: typing.Sequence[typing.Any], present: typing.Sequence[Fields]
) -> list[Match | None]:
    """Find the stored rule that corresponds to each wanted rule.

    Rules are matched by their UUID first. A wanted rule without a UUID is
    matched by its description, if the description is unique both among the
    wanted rules without a UUID and among the stored rules that no UUID
    matches. The remaining rules are matched by their whole content, so that a
    rule that is posted again unchanged is not replaced. A wanted rule without
    a match is new.

    :param wanted: rules as they were posted; items may be of any type.
    :returns: one item for each wanted rule: its match, or None if it is new.
    :raises: :class:`.exceptions.InvalidRules` if two wanted rules have the
        same UUID.
    """
    matchable: list[Fields | None] = []
    for rule in wanted:
        if isinstance(rule, dict) and isinstance(rule.get('uuid'), str | None):
            matchable.append(rule)
        else:
            # The value is not a valid rule, so it has no match.
            matchable.append(None)
    return _Matcher(matchable, present).match()


class _Matcher:
    """Finds the stored rules for wanted rules; uses each stored rule once.

    :param wanted: the rules in order, with None for a value that cannot match.
    :param present: the stored rules in order.
    :raises: :class:`.exceptions.InvalidRules` if two wanted rules have the
        same UUID.
    """

    def __init__(
        self,
        wanted: typing.Sequence[Fields | None],
        present: typing.Sequence[Fields],
    ) -> None:
        self._wanted = wanted
        self._present = present
        self._uuids = _collect_distinct_uuids(wanted)
        self._by_uuid = {rule['uuid']: rule for rule in present}
        # The rules that are not matched by UUID, keyed by their description.
        # If two stored rules or two wanted rules share a description, it does
        # not say which rule is meant, so neither of them is included.
        self._stored_by_description = _index_by_unique_description(
            rule for rule in present if rule['uuid'] not in self._uuids
        )
        self._wanted_by_description = _index_by_unique_description(
            rule for rule in wanted if rule and not rule.get('uuid')
        )

    def match(self) -> list[Match | None]:
        """Return the match of each wanted rule, or None for a new rule.

        Rules are matched by UUID or description, otherwise by content.
        """
        matches = [
            self._match_by_uuid_or_description(rule) for rule in self._wanted
        ]
        unmatched_by_content = self._list_unmatched_by_content(matches)
        if not unmatched_by_content:
            return matches
        for index, rule in enumerate(self._wanted):
            if matches[index] is not None:
                continue
            # A rule is new if its UUID is not stored.
            if rule is None or rule.get('uuid'):
                continue
            equal_rules = unmatched_by_content[_content_key(rule)]
            if not equal_rules:
                continue
            matched_by = None
            if rule.get('description'):
                # Several rules share this description; otherwise the rule
                # would have been matched by it above.
                matched_by = 'description'
            # Take the stored rule, so that the next equal rule gets another.
            matches[index] = Match(equal_rules.popleft(), matched_by)
        return matches

    def _match_by_uuid_or_description(
        self, rule: Fields | None
    ) -> Match | None:
        """Return the stored rule with the same UUID or description.

        The description is used only if the wanted rule has no UUID, and if no
        other rule that is not matched by UUID has the same description.
        """
        if rule is None:
            return None
        if rule.get('uuid'):
            stored = self._by_uuid.get(rule['uuid'])
            if stored is None:
                # The rule is new, whatever its description is.
                return None
            return Match(stored, 'uuid')
        description = rule.get('description')
        # A posted value may be of any type.
        if not isinstance(description, str):
            return None
        if description not in self._wanted_by_description:
            return None
        stored = self._stored_by_description.get(description)
        if stored is None:
            return None
        return Match(stored, 'description')

    def _list_unmatched_by_content(
        self, matches: typing.Sequence[Match | None]
    ) -> dict[typing.Hashable, collections.deque[Fields]]:
        """Return the stored rules that have no match yet, by their content.

        Rules with equal content are listed in the order in which they run.

        :param matches: the match by UUID or description of each wanted rule.
        """
        matched_uuids = {
            match_of_rule.rule['uuid']
            for match_of_rule in matches
            if match_of_rule is not None
        }
        by_content: dict[typing.Hashable, collections.deque[Fields]] = (
            collections.defaultdict(collections.deque)
        )
        for rule in self._present:
            if rule['uuid'] not in matched_uuids:
                by_content[_content_key(rule)].append(rule)
        return by_content


def _collect_distinct_uuids(
    wanted: typing.Sequence[Fields | None],
) -> set[str]:
    """Return the UUIDs of the wanted rules, which must be distinct.

    :raises: :class:`.exceptions.InvalidRules` if two rules have the same one.
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
    """Map each description that only one of the rules has to that rule."""
    by_description: dict[str, list[Fields]] = {}
    for rule in rules:
        description = rule.get('description')
        # A posted rule is not validated yet, so this can be of any type.
        if isinstance(description, str) and description:
            by_description.setdefault(description, []).append(rule)
    unique = {}
    for description, rules_with_it in by_description.items():
        if len(rules_with_it) == 1:
            unique[description] = rules_with_it[0]
    return unique


def _content_key(rule: Fields) -> typing.Hashable:
    """Return a hashable key for the content of a rule.

    The content is every writable field except the UUID. Rules with the same
    content have the same key: a field that is not set counts as its default.
    """
    own_vars = rule.get(model.VARS)
    names_of_vars: list[typing.Any] = []
    if isinstance(own_vars, dict):
        # Vars are computed in their order, but mappings that differ only in
        # order compare as equal. So the key includes the order.
        names_of_vars = list(own_vars)
    content: list[typing.Any] = [names_of_vars]
    for name in _CONTENT:
        value = rule.get(name)
        if value is None:
            value = model.DEFAULTS.get(name)
        content.append(value)
    return path.identity(content)


def plan_steps(
    wanted: typing.Sequence[Fields],
    matched: typing.Sequence[Match | None],
    present: typing.Sequence[Fields],
    prune: bool = True,
) -> list[RuleStep]:
    """Decide whether each rule is created, changed, moved or deleted.

    This function stores nothing: the caller stores the steps, or shows them as
    a plan. The ``position`` of a rule is a number such as 3.0 or 1.5. Rules of
    equal phase and priority run in the order of their positions.

    :param wanted: the wanted rules, in the order in which they must run.
    :param matched: the result of :func:`match`: the stored rule for each
        wanted rule, or None for a new one.
    :param present: all stored rules, in order, with their ``position``.
    :param prune: whether to delete the stored rules that are not wanted. If
        False, all stored rules keep their positions, and new rules come last.
    :returns: a step for each wanted rule, in their order, followed by a step
        for each other stored rule. Unchanged rules have steps too.
    """
    old_positions: list[float | None] = []
    for match_of_rule in matched:
        if match_of_rule is None:
            old_positions.append(None)
        else:
            old_positions.append(match_of_rule.rule['position'])
    if prune:
        positions = _positions_in_wanted_order(wanted, old_positions)
    else:
        positions = _positions_with_new_rules_last(old_positions, present)
    steps = []
    for rule, match_of_rule, position in zip(
        wanted, matched, positions, strict=True
    ):
        if match_of_rule is None:
            steps.append(
                RuleStep(before=None, after=rule, new_position=position)
            )
            continue
        stored = match_of_rule.rule
        new_position = None
        if position != stored['position']:
            new_position = position
        steps.append(
            RuleStep(
                before=stored,
                after=rule,
                matched_by=match_of_rule.matched_by,
                new_position=new_position,
            )
        )
    wanted_uuids = {
        match_of_rule.rule['uuid']
        for match_of_rule in matched
        if match_of_rule is not None
    }
    for rule in present:
        if rule['uuid'] in wanted_uuids:
            continue
        if prune:
            steps.append(RuleStep(before=rule, after=None))
        else:
            steps.append(RuleStep(before=rule, after=rule))
    return steps


def rules_after(steps: typing.Iterable[RuleStep]) -> list[Fields]:
    """Return the rules that are stored after the steps, in order."""
    in_order = sorted(steps, key=operator.attrgetter('position_after'))
    return [step.after for step in in_order if step.after is not None]


def _positions_with_new_rules_last(
    old_positions: typing.Sequence[float | None],
    present: typing.Sequence[Fields],
) -> list[float]:
    """Return positions that move no rule and put new rules last.

    :param old_positions: the current position of each rule, None for a new
        rule.
    :param present: the stored rules.
    """
    last = max((rule['position'] for rule in present), default=0)
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

    Positions that rise over the whole set are preferred. If these would move
    a stored rule, positions rise only among the rules with the same phase and
    priority, because the order of other rules makes no difference. For
    example, if A is stored at 2.0, B is stored at 1.0, and A is wanted before
    B, both keep their positions if their priorities differ. No two rules get
    the same position, because they may get the same priority later.

    :param old_positions: the current position of each rule, None for a new
        rule.
    """
    positions = _rising_positions(old_positions)
    moves_stored_rule = False
    for old_position, position in zip(old_positions, positions, strict=True):
        if old_position is not None and old_position != position:
            moves_stored_rule = True
    if not moves_stored_rule:
        return positions
    # Indexes of the rules for each phase and priority. The order of positions
    # matters only among the rules of one group.
    indexes_of_equals = collections.defaultdict(list)
    for index, rule in enumerate(wanted):
        phase_and_priority = (rule.get('phase'), rule.get('priority'))
        indexes_of_equals[phase_and_priority].append(index)
    for indexes in indexes_of_equals.values():
        among_equals = _rising_positions(
            [old_positions[index] for index in indexes]
        )
        for index, position in zip(indexes, among_equals, strict=True):
            positions[index] = position
    # Each group got its positions independently, so two rules may have the
    # same position. A rule that keeps its old position stays there; the other
    # rules get a free position.
    taken_positions = {
        position
        for position, old_position in zip(
            positions, old_positions, strict=True
        )
        if position == old_position
    }
    for indexes in indexes_of_equals.values():
        position_before = None
        for index in indexes:
            if positions[index] != old_positions[index]:
                free = _find_free_position(
                    position_before, positions[index], taken_positions
                )
                if free is None:
                    # There is no room left, so all rules get new positions.
                    return _number_from_one(len(positions))
                positions[index] = free
                taken_positions.add(free)
            position_before = positions[index]
    return positions


def _find_free_position(
    low: float | None, position: float, taken: typing.Collection[float]
) -> float | None:
    """Return the given position, or the next lower one that is free.

    For example, if 3.0 is taken, return 2.0 without ``low``, or 2.5 if
    ``low`` is 2.0.

    :param low: the position must be above this one; None for no limit.
    :param taken: the positions of other rules.
    :returns: None if there is no room above ``low``.
    """
    free = position
    while free in taken:
        if low is None:
            free -= 1.0
        else:
            free = (low + free) / 2
            if free <= low:
                return None
    return free


def _number_from_one(count: int) -> list[float]:
    """Return positions for rules that all get new ones: 1.0, 2.0, 3.0 …"""
    return [float(number) for number in range(1, count + 1)]


def _rising_positions(
    old_positions: typing.Sequence[float | None],
) -> list[float]:
    """Return rising positions that change as few old positions as possible.

    For example, ``[1.0, None, 2.0]`` becomes ``[1.0, 1.5, 2.0]``. If there is
    no room between two positions, all rules get new positions.

    :param old_positions: the current position of each rule, None for a new
        rule.
    """
    positions: list[float] = []
    last_kept = None
    # Index of the first rule without a position.
    next_index = 0
    for index, kept_position in _find_longest_rising(old_positions):
        # The rules between this one and the previous one that keeps its place.
        positions += _positions_between(
            last_kept, kept_position, count=index - next_index
        )
        positions.append(kept_position)
        last_kept = kept_position
        next_index = index + 1
    # The rules after the last one that keeps its position.
    count_of_rest = len(old_positions) - next_index
    positions += _positions_between(last_kept, high=None, count=count_of_rest)
    for position, following in itertools.pairwise(positions):
        if position >= following:
            # Two kept positions are so close that no float fits between them.
            return _number_from_one(len(positions))
    return positions


def _positions_between(
    low: float | None, high: float | None, count: int
) -> list[float]:
    """Return rising positions for rules between two rules that keep theirs.

    For example, three rules between 1.0 and 2.0 get 1.25, 1.5 and 1.75. Three
    rules after 2.0 get 3.0, 4.0 and 5.0.

    :param low: position of the rule before them, None if there is none.
    :param high: position of the rule after them, None if there is none.
    """
    width = 1.0
    if high is None:
        start = low or 0.0
    elif low is None:
        start = high - count - 1
    else:
        start = low
        width = (high - low) / (count + 1)
    return [start + width * number for number in range(1, count + 1)]


def _find_longest_rising(
    values: typing.Sequence[float | None],
) -> list[tuple[int, float]]:
    """Return the longest rising subsequence, as pairs of index and number.

    Rules at these indexes keep their positions, so that as few rules as
    possible move: ``[3.0, None, 1.0, 2.0]`` gives ``[(2, 1.0), (3, 2.0)]``.

    The algorithm is patience sorting. For each length, ``tails`` has the
    smallest number in which a rising subsequence of that length can end. A
    binary search in ``tails`` finds the longest subsequence that the current
    number can extend. At the end, the longest subsequence is read backwards.

    :param values: the numbers; None for a rule without a position.
    """
    tails: list[float] = []
    # For each length, as in tails: the index of the last number.
    index_of_tail: list[int] = []
    # For the index of a number: the index of its predecessor.
    previous_index: dict[int, int] = {}
    for index, value in enumerate(values):
        if value is None:
            continue
        # Length of the longest subsequence that this number can extend.
        length = bisect.bisect_left(tails, value)
        if length:
            previous_index[index] = index_of_tail[length - 1]
        # If this is the longest subsequence so far, the slices are empty, and
        # the assignments append.
        tails[length : length + 1] = [value]
        index_of_tail[length : length + 1] = [index]
    backwards: list[tuple[int, float]] = []
    last_index = None
    if index_of_tail:
        last_index = index_of_tail[-1]
    while last_index is not None:
        value = values[last_index]
        assert value is not None
        backwards.append((last_index, value))
        last_index = previous_index.get(last_index)
    return backwards[::-1]


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
    count = {
        outcome: sum(step['outcome'] == outcome for step in steps)
        for outcome in _SIGNS
    }
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
        if outcome != MOVED:
            yield from diff_lines(step)
        yield ''
    if any(count.values()):
        yield (
            _(
                '%(created)d to create, %(updated)d to update, '
                '%(moved)d to move, %(deleted)d to delete'
            )
            % count
        )
    else:
        yield _('Nothing to do: the rules are as they should be')


def diff_lines(step: Fields) -> list[str]:
    """Return the change of a rule as a diff of YAML, without file names.

    The content of a sensitive rule is withheld.

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
    """Return one side of a step in a form that any reader may see.

    The content is withheld if the rule is sensitive before or after the
    change.

    :param step: the rule ``before`` and ``after`` the change, None if there
        is no such rule, and the names of the ``fields`` that differ.
    :param side: the side to return: ``before`` or ``after``.
    :returns: None if the step has no rule on that side.
    """
    rule = step[side]
    if rule is None:
        return None
    # A plan marks the differing fields only in the rule after the change.
    differing: typing.Sequence[str] = ()
    if side == 'after':
        differing = step['fields']
    fields = {name: rule[name] for name in model.WRITABLE}
    before_and_after = (step['before'] or {}, step['after'] or {})
    return stored_rule.disclose_side(fields, before_and_after, differing)
