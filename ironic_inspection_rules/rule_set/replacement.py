# SPDX-License-Identifier: Apache-2.0

"""Plans how the stored rules become the wanted rules.

The service that stores the rules makes the plan; clients show it as a diff.
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
    """The part of the plan for one rule.

    :param before: the stored rule with the fields of :data:`.model.WRITABLE`
        and its ``position``, None for a rule that is created.
    :param after: the rule as it shall be, with these fields; None for a rule
        that is deleted.
    :param matched_by: why the two are one rule, see :class:`Match`.
    :param new_position: the position of a rule that is created or moves, None
        where a rule keeps its own.
    """

    before: Fields | None
    after: Fields | None
    matched_by: str | None = None
    new_position: float | None = None

    @property
    def outcome(self) -> str:
        """What becomes of the rule, as one word: CREATED, MOVED and so on."""
        if self.before is None:
            return CREATED
        if self.after is None:
            return DELETED
        if self.fields:
            # Its position may change as well.
            return UPDATED
        if self.new_position is None:
            return UNCHANGED
        return MOVED

    @property
    def position_after(self) -> float:
        """The position that the rule has afterwards, or a deleted one had."""
        if self.new_position is not None:
            return self.new_position
        # A new rule always has a new position.
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
    """The stored rule that a wanted rule is.

    ``matched_by`` is how a user knows that it is the same: ``uuid`` or
    ``description``; None where both have the same content and no description.
    Other callers of :func:`decide` may have another word there.
    """

    rule: Fields
    matched_by: str | None


def match(
    wanted: typing.Sequence[typing.Any], present: typing.Sequence[Fields]
) -> list[Match | None]:
    """Find the stored rule that each wanted rule is.

    Rules are matched by their UUID first. Wanted rules without a UUID are
    matched by their description, where that is unique among the stored rules
    that are left and among themselves. The others are matched by their whole
    content, so that these change nothing. A rule without a match is new.

    :param wanted: rules as they were posted; may be anything.
    :raises: :class:`.exceptions.InvalidRules` where two have the same UUID.
    """
    matcher = _Matcher([_rule_or_none(rule) for rule in wanted], present)
    return matcher.match()


def _rule_or_none(posted: typing.Any) -> Fields | None:
    """Return a posted rule, or None if it can match no stored rule.

    That is anything but a mapping, and a mapping whose ``uuid`` is no text.
    """
    if not isinstance(posted, dict):
        return None
    if not isinstance(posted.get('uuid'), str | None):
        return None
    return posted


class _Matcher:
    """Finds the stored rules of wanted rules, no stored rule twice.

    :param wanted: the rules in order, None for a value that is no rule.
    :param present: the stored rules in order.
    :raises: :class:`.exceptions.InvalidRules` where two wanted rules have the
        same UUID.
    """

    def __init__(
        self,
        wanted: typing.Sequence[Fields | None],
        present: typing.Sequence[Fields],
    ) -> None:
        self._wanted = wanted
        self._present = present
        self._uuids = _distinct_uuids(wanted)
        self._by_uuid = {rule['uuid']: rule for rule in present}
        # Stored and wanted rules that are not matched by UUID, by description.
        # A description that two stored rules have, or two wanted ones, does
        # not say which of the two is meant: both are left out.
        self._stored_by_description = _unique(
            rule for rule in present if rule['uuid'] not in self._uuids
        )
        self._wanted_by_description = _unique(
            rule for rule in wanted if rule and not rule.get('uuid')
        )

    def match(self) -> list[Match | None]:
        """Return the stored rule for every wanted rule, None for a new rule.

        Rules are matched by UUID or description, else by content.
        """
        matches = [self._match_by_name(rule) for rule in self._wanted]
        unmatched_by_content = self._list_unmatched_by_content(matches)
        if not unmatched_by_content:
            return matches
        for index, rule in enumerate(self._wanted):
            # A rule with a UUID that is not stored is new.
            if matches[index] or not rule or rule.get('uuid'):
                continue
            equal_rules = unmatched_by_content[_content(rule)]
            if not equal_rules:
                continue
            matched_by = None
            if rule.get('description'):
                # Several rules have this description. Otherwise the rule would
                # have been matched by it before.
                matched_by = 'description'
            # The next equal rule gets another stored rule.
            matches[index] = Match(equal_rules.popleft(), matched_by)
        return matches

    def _match_by_name(self, rule: Fields | None) -> Match | None:
        """Return the stored rule of the same UUID, else of the description.

        A description counts only if the wanted rule has no UUID, and no other
        wanted or stored rule that is still to be matched has it.
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
        """Return the stored rules without a match so far, by their content.

        Equal rules are in the order in which they run.

        :param matches: those by UUID or description, for every wanted rule.
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
                by_content[_content(rule)].append(rule)
        return by_content


def _distinct_uuids(wanted: typing.Sequence[Fields | None]) -> set[str]:
    """Return the UUIDs of wanted rules, which have to be distinct.

    :raises: :class:`.exceptions.InvalidRules` where two are the same.
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


def _unique(rules: typing.Iterable[Fields]) -> dict[str, Fields]:
    """Return rules by their description where that is unique."""
    by_description: dict[str, list[Fields]] = {}
    for rule in rules:
        description = rule.get('description')
        # A wanted rule may have anything there.
        if isinstance(description, str) and description:
            by_description.setdefault(description, []).append(rule)
    unique = {}
    for description, rules_with_it in by_description.items():
        if len(rules_with_it) == 1:
            unique[description] = rules_with_it[0]
    return unique


def _content(rule: Fields) -> typing.Hashable:
    """Return a key for the content of a rule, which is all but its UUID.

    The key can be hashed. Two rules with the same content have the same key: a
    field that one of them leaves out counts as its default.
    """
    own_vars = rule.get(model.VARS)
    names_of_vars: list[typing.Any] = []
    if isinstance(own_vars, dict):
        # Vars are computed in their order, and mappings that differ only in
        # their order are equal. So the order is a part of the key.
        names_of_vars = list(own_vars)
    content: list[typing.Any] = [names_of_vars]
    for name in _CONTENT:
        value = rule.get(name)
        if value is None:
            value = model.DEFAULTS.get(name)
        content.append(value)
    return path.identity(content)


def decide(
    wanted: typing.Sequence[Fields],
    matched: typing.Sequence[Match | None],
    present: typing.Sequence[Fields],
    prune: bool = True,
) -> list[RuleStep]:
    """Decide of every rule whether it is created, changed, moved or deleted.

    Nothing is stored here: the caller stores the steps, or shows them as a
    plan. The ``position`` of a rule is a number such as 3.0 or 1.5. Rules of
    equal phase and priority run in the order of their positions.

    :param wanted: the wanted rules, in the order in which they shall run.
    :param matched: the result of :func:`match`: the stored rule for every
        wanted rule, None for a new one.
    :param present: all stored rules, in order, with their ``position``.
    :param prune: whether stored rules that are not wanted are deleted. If not,
        all stored rules keep their positions, and new ones come last.
    :returns: a step for every wanted rule in their order, then for the other
        stored rules; also for rules that do not change.
    """
    old_positions: list[float | None] = []
    for match_of_rule in matched:
        if match_of_rule is None:
            old_positions.append(None)
        else:
            old_positions.append(match_of_rule.rule['position'])
    if prune:
        positions = _positions_in_set(wanted, old_positions)
    else:
        positions = _positions_behind(old_positions, present)
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
    """Return the stored rules after some steps, in their order."""
    in_order = sorted(steps, key=operator.attrgetter('position_after'))
    return [step.after for step in in_order if step.after is not None]


def _positions_behind(
    old_positions: typing.Sequence[float | None],
    present: typing.Sequence[Fields],
) -> list[float]:
    """Return positions where no rule moves and new ones come last.

    :param old_positions: the position that each rule has, None for a new one.
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


def _positions_in_set(
    wanted: typing.Sequence[Fields],
    old_positions: typing.Sequence[float | None],
) -> list[float]:
    """Return positions in which rules run in the order wanted.

    Positions that rise for the whole set are best. Where these would move a
    rule that is stored, they rise only among the rules of one phase and
    priority: no other order makes a difference. Where the stored position of
    rule A is 2.0 and that of B is 1.0, and A is wanted before B, both keep
    theirs if their priorities differ. No two rules come to one position, as a
    change may give them the same priority later.

    :param old_positions: the position that each rule has, None for a new one.
    """
    positions = _rising_positions(old_positions)
    moves_any = any(
        old_position not in (None, position)
        for old_position, position in zip(
            old_positions, positions, strict=True
        )
    )
    if not moves_any:
        return positions
    # By phase and priority, the indexes of the rules that have them: the
    # order of positions matters only among these.
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
    # The rules of every phase and priority got their positions without a look
    # at the others, so two rules may have the same position. A rule that keeps
    # its old position stays there; others get a free position.
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
                free = _free_position(
                    position_before, positions[index], taken_positions
                )
                if free is None:
                    # There is no room: all rules get new positions.
                    return _whole_numbers(len(positions))
                positions[index] = free
                taken_positions.add(free)
            position_before = positions[index]
    return positions


def _free_position(
    low: float | None, position: float, taken: typing.Collection[float]
) -> float | None:
    """Return a free position: the given one, or the next lower one.

    If 3.0 is taken, it is 2.0 without ``low``, and 2.5 with 2.0 as ``low``.

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


def _whole_numbers(count: int) -> list[float]:
    """Return the positions of rules that all get new ones: 1, 2, 3 …"""
    return [float(number) for number in range(1, count + 1)]


def _rising_positions(
    old_positions: typing.Sequence[float | None],
) -> list[float]:
    """Return rising positions of rules, and change as few as possible.

    ``[1.0, None, 2.0]`` becomes ``[1.0, 1.5, 2.0]``. If there is no room
    between two positions, all rules get new ones.

    :param old_positions: the positions of the rules, None for a new rule.
    """
    positions: list[float] = []
    last_kept = None
    # Index of the first rule that has no position yet.
    next_index = 0
    for index, kept_position in _longest_rising(old_positions):
        # The rules between this one and the last that keeps its position.
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
            # Two kept positions are so near that no float is between them.
            return _whole_numbers(len(positions))
    return positions


def _positions_between(
    low: float | None, high: float | None, count: int
) -> list[float]:
    """Return rising positions for rules between two that keep theirs.

    Between 1.0 and 2.0 three rules get 1.25, 1.5 and 1.75; behind 2.0 they
    get 3.0, 4.0 and 5.0.

    :param low: position of the rule before them, None if there is none.
    :param high: position of the rule behind them, None if there is none.
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


def _longest_rising(
    values: typing.Sequence[float | None],
) -> list[tuple[int, float]]:
    """Return the longest rising subsequence of numbers: index and number.

    Rules at these indexes keep their positions, so as few as possible move:
    of ``[3.0, None, 1.0, 2.0]`` it is ``[(2, 1.0), (3, 2.0)]``.

    This is patience sorting. ``tails`` has, for every length, the least number
    that a rising part of that length may end with, so a binary search finds
    the longest part that a number can follow. With the number, that part is
    longer by one. At the end, the longest part is read backwards.

    :param values: None where there is no number.
    """
    tails: list[float] = []
    # By length, as in tails: the index of the number that the part ends with.
    index_of_tail: list[int] = []
    # By the index of a number: the index of the number before it in its part.
    previous_index: dict[int, int] = {}
    for index, value in enumerate(values):
        if value is None:
            continue
        # Length of the longest part that this number can follow.
        length = bisect.bisect_left(tails, value)
        if length:
            previous_index[index] = index_of_tail[length - 1]
        # The slice is empty if there is no longer part: then this appends.
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
    """Yield the plan of a rule set as lines of a diff, for people to read.

    For example, where one rule changes, and another one only moves::

        ~ Set rack (1be26c0b-…, found by description)
        @@ -1,6 +1,6 @@
        …
        -priority: 0
        +priority: 10
        …

        > Log all (77b5de45-…)

        0 to create, 1 to update, 1 to move, 0 to delete

    Rules that do not change are left out.

    :param steps: a mapping for every rule: its ``outcome``, ``uuid``,
        ``description`` and ``matched_by``; the rule ``before`` and ``after``
        the change, None where there is none; and the names of the ``fields``
        that differ.
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
        # A new rule may have "(known after apply)" in place of its UUID, which
        # is in parentheses already.
        identity = step['uuid'].strip('()')
        if step['matched_by']:
            identity += _(', found by %s') % step['matched_by']
        yield f'{_SIGNS[outcome]} {name} ({identity})'
        if outcome != MOVED:
            yield from lines(step)
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


def lines(step: Fields) -> list[str]:
    """Return the change of a rule as a diff of YAML, without file names.

    The content of a sensitive rule is not in it.

    :param step: the rule ``before`` and ``after`` the change, None where
        there is none, and the names of the ``fields`` that differ.
    """
    before = _yaml_lines(disclosed(step, 'before'))
    after = _yaml_lines(disclosed(step, 'after'))
    diff = list(difflib.unified_diff(before, after, n=3, lineterm=''))
    # The first two lines are the names of files, of which there are none.
    return diff[2:]


def _yaml_lines(rule: Fields | None) -> list[str]:
    if rule is None:
        return []
    return yaml_text.dump(rule).splitlines()


def disclosed(step: Fields, side: str) -> dict[str, typing.Any] | None:
    """Return a rule of a plan as anybody may see it.

    Its content is withheld if the rule is sensitive before or after.

    :param step: the rule ``before`` and ``after`` the change, None if there
        is none, and the names of the ``fields`` that differ.
    :param side: ``before`` or ``after``: which of both to return.
    :returns: None if the step has no rule on that side.
    """
    rule = step[side]
    if rule is None:
        return None
    # A plan marks what is new in the rule after the change only.
    differing: typing.Sequence[str] = ()
    if side == 'after':
        differing = step['fields']
    fields = {name: rule[name] for name in model.WRITABLE}
    before_and_after = (step['before'] or {}, step['after'] or {})
    return stored_rule.disclose_side(fields, before_and_after, differing)
