# SPDX-License-Identifier: Apache-2.0

"""The plan of a change: which stored rule is which, doubles, places, its diff.

It is decided where rules are stored; clients show it as lines of a diff.
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

    ``before`` and ``after`` have the fields of :data:`.model.WRITABLE`, None
    where there is no rule. ``matched_by`` is why the two are one rule, see
    :class:`Match`. ``position`` is its new place, None where it keeps the one
    that it has.
    """

    before: Fields | None
    after: Fields | None
    matched_by: str | None = None
    position: float | None = None

    @property
    def outcome(self) -> str:
        """What becomes of the rule, as one word: CREATED, MOVED and so on."""
        if self.before is None:
            return CREATED
        if self.after is None:
            return DELETED
        if self.fields:
            # Its place may change as well.
            return UPDATED
        if self.position is None:
            return UNCHANGED
        return MOVED

    @property
    def place(self) -> float:
        """The place that the rule has among the others afterwards."""
        if self.position is not None:
            return self.position
        # A new rule always has a position.
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
            if not model.same(name, before.get(name), after.get(name))
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
    """Return what was posted, None for what can match no stored rule."""
    if not isinstance(posted, dict):
        return None
    if not isinstance(posted.get('uuid'), str | None):
        return None
    return posted


class _Matcher:
    """Finds stored rules for wanted ones, of which no two get the same.

    :param wanted: the rules in order, None for what can be none.
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
        # What no UUID matches, by descriptions that only one rule of its side
        # has.
        self._stored_by_description = _unique(
            rule for rule in present if rule['uuid'] not in self._uuids
        )
        self._wanted_by_description = _unique(
            rule for rule in wanted if rule and not rule.get('uuid')
        )

    def match(self) -> list[Match | None]:
        """Return the match of each wanted rule, None for new ones.

        Rules are matched by UUID or description, and the others by content.
        """
        matches = [self._by_name(rule) for rule in self._wanted]
        stored_by_content = self._by_content(matches)
        if not stored_by_content:
            return matches
        for index, rule in enumerate(self._wanted):
            # One with a UUID that is not stored is new.
            if matches[index] or not rule or rule.get('uuid'):
                continue
            same = stored_by_content[_content(rule)]
            if same:
                reason = None
                if rule.get('description'):
                    # Several rules have it: otherwise it would have matched
                    # before.
                    reason = 'description'
                # Several equal rules are matched with as many stored ones.
                matches[index] = Match(same.popleft(), reason)
        return matches

    def _by_name(self, rule: Fields | None) -> Match | None:
        """Return the stored rule of the same UUID, or else description.

        By description only where the wanted rule has no UUID, and no other
        rule on either side has that description.
        """
        if rule is None:
            return None
        if rule.get('uuid'):
            stored = self._by_uuid.get(rule['uuid'])
            if stored is None:
                # It is new, whatever its description.
                return None
            return Match(stored, 'uuid')
        description = rule.get('description')
        # It was posted, and may be anything.
        if not isinstance(description, str):
            return None
        if description not in self._wanted_by_description:
            return None
        stored = self._stored_by_description.get(description)
        if stored is None:
            return None
        return Match(stored, 'description')

    def _by_content(
        self, matches: typing.Sequence[Match | None]
    ) -> dict[typing.Hashable, collections.deque[Fields]]:
        """Return the stored rules without a match so far, by their content.

        :param matches: those by UUID or description, for every wanted rule.
        """
        # Also those that a wanted rule names by UUID, whether they match or
        # not.
        taken = set(self._uuids)
        for match_of_rule in matches:
            if match_of_rule is not None:
                taken.add(match_of_rule.rule['uuid'])
        by_content: dict[typing.Hashable, collections.deque[Fields]] = (
            collections.defaultdict(collections.deque)
        )
        for rule in self._present:
            if rule['uuid'] not in taken:
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
    for description, same in by_description.items():
        if len(same) == 1:
            unique[description] = same[0]
    return unique


def _content(rule: Fields) -> typing.Hashable:
    """Return a key for the content of a rule: all but its UUID.

    It can be hashed, and two rules of the same content have the same key.
    """
    own_vars = rule.get(model.VARS)
    content: list[typing.Any] = [[]]
    if isinstance(own_vars, dict):
        # Vars are computed in their order, which a mapping does not compare.
        content = [list(own_vars)]
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
    """Decide what becomes of all rules, those that are not wanted last.

    Nothing is changed: the steps are stored, or shown as a plan. The place of
    a rule, its ``position``, is a number. Rules of equal priority run in the
    order of their places.

    :param wanted: the rules that shall be, in order.
    :param matched: the result of :func:`match` for them.
    :param present: the stored rules, in order, each with its ``position``.
    :param prune: whether stored rules that are not wanted go. Where they
        stay, all stored rules keep their places, and new ones come last.
    :returns: a step for every rule, also for one that does not change.
    """
    present_places: list[float | None] = []
    for match_of_rule in matched:
        position = None
        if match_of_rule is not None:
            position = match_of_rule.rule['position']
        present_places.append(position)
    if prune:
        places = _places_in_set(wanted, present_places)
    else:
        places = _places_behind(present_places, present)
    steps = []
    kept = set()
    for rule, match_of_rule, place in zip(
        wanted, matched, places, strict=True
    ):
        if match_of_rule is None:
            steps.append(RuleStep(None, rule, position=place))
            continue
        before = match_of_rule.rule
        kept.add(before['uuid'])
        # None where the rule does not move.
        new_place = None
        if place != before['position']:
            new_place = place
        steps.append(
            RuleStep(before, rule, match_of_rule.matched_by, new_place)
        )
    for rule in present:
        if rule['uuid'] in kept:
            continue
        after: Fields | None = rule
        if prune:
            after = None
        steps.append(RuleStep(rule, after))
    return steps


def rules_after(steps: typing.Iterable[RuleStep]) -> list[Fields]:
    """Return the stored rules after some steps, in their order."""
    steps = sorted(steps, key=operator.attrgetter('place'))
    return [step.after for step in steps if step.after is not None]


def _places_behind(
    present_places: typing.Sequence[float | None],
    present: typing.Sequence[Fields],
) -> list[float]:
    """Return places where no rule moves and new ones come last.

    :param present_places: the place that each rule has, None for a new one.
    :param present: the stored rules.
    """
    last = max((rule['position'] for rule in present), default=0)
    places = []
    for position in present_places:
        if position is None:
            last += 1
            position = last
        places.append(position)
    return places


def _places_in_set(
    wanted: typing.Sequence[Fields],
    present_places: typing.Sequence[float | None],
) -> list[float]:
    """Return places in which rules run in the order wanted.

    Places that rise for the whole set are best. Where these would move a rule
    that is stored, they rise only among the rules of one phase and priority:
    no other order makes a difference.

    :param present_places: the place that each rule has, None for a new one.
    """
    places = _rising_places(present_places)
    moves_any = any(
        present_place not in (None, place)
        for present_place, place in zip(present_places, places, strict=True)
    )
    if not moves_any:
        return places
    # Only rules of one phase and priority run in the order of their places.
    indexes_of_equals = collections.defaultdict(list)
    for index, rule in enumerate(wanted):
        phase_and_priority = (rule.get('phase'), rule.get('priority'))
        indexes_of_equals[phase_and_priority].append(index)
    for indexes in indexes_of_equals.values():
        among_equals = _rising_places(
            [present_places[index] for index in indexes]
        )
        for index, place in zip(indexes, among_equals, strict=True):
            places[index] = place
    return places


def _rising_places(
    present_places: typing.Sequence[float | None],
) -> list[float]:
    """Return rising places that keep as many of the present ones as can be.

    Where there is no room for a rule between two places, all get new ones.

    :param present_places: the place that each rule has, None for a new one.
    """
    places: list[float] = []
    low = None
    start = 0
    for index, kept_place in _longest_rising(present_places):
        # The rules before this one, up to the last that keeps its place.
        places += _places_between(low, kept_place, index - start)
        places.append(kept_place)
        low = kept_place
        start = index + 1
    places += _places_between(low, None, len(present_places) - start)
    if any(
        place >= following for place, following in itertools.pairwise(places)
    ):
        # Places are floats, and halving them again and again ends: there is
        # no more room between two of them.
        return [float(number) for number in range(1, len(places) + 1)]
    return places


def _places_between(
    low: float | None, high: float | None, count: int
) -> list[float]:
    """Return rising places for rules between two that keep theirs.

    They share the room between both evenly. Where only one is there, they
    are whole numbers away from it.

    :param low: None where nothing is before them.
    :param high: None where nothing is behind them.
    """
    width = 1.0
    if high is None:
        low = low or 0.0
    elif low is None:
        low = high - count - 1
    else:
        width = (high - low) / (count + 1)
    return [low + width * number for number in range(1, count + 1)]


def _longest_rising(
    values: typing.Sequence[float | None],
) -> list[tuple[int, float]]:
    """Return the longest rising subsequence of numbers: index and number.

    Rules at these indexes keep their places, and so as few as possible move:
    of ``[3.0, None, 1.0, 2.0]`` it is ``[(2, 1.0), (3, 2.0)]``.

    This is patience sorting: ``tails`` has, by length, the least number that
    a rising part of that length may end with. So a binary search finds the
    longest part that a number can follow, and the number ends a part that is
    longer by one. The parts are read backwards from the end of the longest.

    :param values: None where there is no number.
    """
    tails: list[float] = []
    # By length: the index of the number that the part ends with.
    ends: list[int] = []
    # By index of a number: that of the one before it in its part.
    before: dict[int, int] = {}
    for index, value in enumerate(values):
        if value is None:
            continue
        length = bisect.bisect_left(tails, value)
        if length:
            before[index] = ends[length - 1]
        tails[length : length + 1] = [value]
        ends[length : length + 1] = [index]
    chosen: list[tuple[int, float]] = []
    last = None
    if ends:
        last = ends[-1]
    while last is not None:
        value = values[last]
        assert value is not None
        chosen.append((last, value))
        last = before.get(last)
    return chosen[::-1]


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

    :param steps: as for :func:`lines`, with their ``outcome``.
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
        # "(known after apply)" has parentheses already.
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

    What is sensitive is not in it.

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
    """Return a rule as anybody may see it, without what is sensitive.

    The content is withheld if the rule is sensitive before or after.

    :param step: as for :func:`lines`.
    :param side: ``before`` or ``after``, the rule that is meant.
    :returns: None where the step has no rule on that side.
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
    return stored_rule.planned(fields, before_and_after, differing)
