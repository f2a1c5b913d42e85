# SPDX-License-Identifier: Apache-2.0

"""The plan of a change: each rule when one rule set replaces another.

It is decided where rules are stored, and shown as lines of a diff.
"""

import bisect
import collections
import dataclasses
import difflib
import functools
import itertools
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
class Step:
    """The part of the plan for one rule.

    ``before`` and ``after`` have the fields of :data:`.model.WRITABLE`, None
    where there is no such rule. ``matched_by`` is ``uuid`` or
    ``description``, by which the rule was found, or None. ``position`` is
    its new place, None for the one it has.
    """

    before: Fields | None
    after: Fields | None
    matched_by: str | None = None
    position: float | None = None

    @property
    def outcome(self) -> str:
        """One of the names above."""
        if self.before is None:
            return CREATED
        if self.after is None:
            return DELETED
        if self.fields:
            return UPDATED
        return UNCHANGED if self.position is None else MOVED

    @property
    def place(self) -> float:
        """The place that the rule has among the others afterwards."""
        if self.position is not None:
            return self.position
        return float(self.before['position']) if self.before else 0.0

    @functools.cached_property
    def fields(self) -> list[str]:
        """Names of the fields that differ."""
        before, after = self.before or {}, self.after or {}
        return [name for name in model.WRITABLE
                if not model.same(name, before.get(name), after.get(name))]


def match(wanted: typing.Sequence[typing.Any],
          present: typing.Sequence[Fields]
          ) -> list[tuple[Fields, str | None] | None]:
    """Find the stored rule that each of some rules is.

    By its UUID first. Then one without, by its description where that is
    unique among the stored rules that are left and among those without a
    UUID. Then by all that is in it, so that it changes nothing; else it is a
    new one.

    :param wanted: rules as they were posted; may be anything.
    :returns: of each the stored rule and by what it was found, or None.
    :raises: :class:`.exceptions.InvalidRules` where two have the same UUID.
    """
    # What is no rule, or has no UUID that could be one, is none of these.
    wanted = [rule if isinstance(rule, dict)
              and isinstance(rule.get('uuid'), str | None) else None
              for rule in wanted]
    uuids = set()
    for index, rule in enumerate(wanted):
        if rule and rule.get('uuid'):
            if rule['uuid'] in uuids:
                twice = exceptions.Problem(
                    '/uuid', _('rule %s is there twice') % rule['uuid'])
                raise exceptions.InvalidRules({index: [twice]})
            uuids.add(rule['uuid'])
    by_uuid = {rule['uuid']: rule for rule in present}
    left = _unique(rule for rule in present if rule['uuid'] not in uuids)
    unnamed = _unique(rule for rule in wanted
                      if rule and not rule.get('uuid'))

    def find(rule: Fields | None) -> tuple[Fields, str | None] | None:
        if rule is None:
            return None
        if rule.get('uuid'):
            found, by = by_uuid.get(rule['uuid']), 'uuid'
        else:
            description = rule.get('description')
            found, by = (left.get(description) if isinstance(description, str)
                         and description in unnamed else None), 'description'
        return (found, by) if found else None

    matched = [find(rule) for rule in wanted]
    uuids.update(pair[0]['uuid'] for pair in matched if pair)
    same: dict[typing.Hashable, collections.deque[Fields]] = (
        collections.defaultdict(collections.deque))
    for rule in present:
        if rule['uuid'] not in uuids:
            same[_content(rule)].append(rule)
    for index, rule in enumerate(wanted):
        if same and rule and not rule.get('uuid') and (
                matched[index] is None and (equals := same[_content(rule)])):
            matched[index] = equals.popleft(), (
                'description' if rule.get('description') else None)
    return matched


def _content(rule: Fields) -> typing.Hashable:
    """Return a key that rules share that differ in nothing but the UUID."""
    made = rule.get(model.VARS)
    return path.identity([
        # Vars are computed in their order.
        list(made) if isinstance(made, dict) else [],
        *(model.DEFAULTS.get(name) if rule.get(name) is None else rule[name]
          for name in _CONTENT)])


def decide(wanted: typing.Sequence[Fields],
           matched: typing.Sequence[tuple[Fields, str | None] | None],
           present: typing.Sequence[Fields], prune: bool = True) -> list[Step]:
    """Decide what becomes of all rules, those that are not wanted last.

    :param wanted: the rules that shall be, in order.
    :param matched: what :func:`match` has found of them.
    :param present: the stored rules, in order, each with its ``position``.
    :param prune: whether stored rules that are not wanted go. Where they
        stay, all stored rules keep their places, and new ones come last.
    """
    if prune:
        places = _places_in_set(wanted, [pair[0]['position'] if pair else None
                                         for pair in matched])
    else:
        following = itertools.count(1 + max(
            (rule['position'] for rule in present), default=0))
        places = [pair[0]['position'] if pair else next(following)
                  for pair in matched]
    steps = []
    kept = set()
    for rule, pair, place in zip(wanted, matched, places, strict=True):
        if pair is None:
            steps.append(Step(None, rule, position=place))
            continue
        before, matched_by = pair
        kept.add(before['uuid'])
        moved = place != before['position']
        steps.append(Step(before, rule, matched_by, place if moved else None))
    return steps + [Step(rule, None if prune else rule) for rule in present
                    if rule['uuid'] not in kept]


def rules_after(steps: typing.Iterable[Step]) -> list[Fields]:
    """Return the stored rules after some steps, in their order."""
    steps = sorted(steps, key=lambda step: step.place)
    return [step.after for step in steps if step.after is not None]


def _unique(rules: typing.Iterable[Fields]) -> dict[str, Fields]:
    """Return rules by their description where that is unique."""
    rules = [rule for rule in rules
             if isinstance(rule.get('description'), str)
             and rule['description']]
    count = collections.Counter(rule['description'] for rule in rules)
    return {rule['description']: rule for rule in rules
            if count[rule['description']] == 1}


def _places_in_set(wanted: typing.Sequence[Fields],
                   present: typing.Sequence[float | None]) -> list[float]:
    """Return places in which rules run in the order wanted.

    Where keeping that order would move a rule, only rules of one phase and
    priority are kept in order: no other order makes a difference.

    :param present: the place that each rule has, None for a new one.
    """
    places = _places(present)
    if all(old in (None, new)
           for old, new in zip(present, places, strict=True)):
        return places
    equals = collections.defaultdict(list)
    for index, rule in enumerate(wanted):
        equals[rule.get('phase'), rule.get('priority')].append(index)
    for indexes in equals.values():
        among_equals = _places([present[index] for index in indexes])
        for index, place in zip(indexes, among_equals, strict=True):
            places[index] = place
    return places


def _places(present: typing.Sequence[float | None]) -> list[float]:
    """Return rising places that keep as many of the present ones as can be.

    :param present: the place that each rule has, None for a new one.
    """
    kept = _longest_rising(present)
    places: list[float] = []
    start = 0
    for index in [*kept, len(present)]:
        low = present[start - 1] if start else None
        high = present[index] if index < len(present) else None
        count = index - start
        first = low if low is not None else (
            0.0 if high is None else high - count - 1)
        width = 1.0 if high is None else (high - first) / (count + 1)
        places += [first + width * number for number in range(1, count + 1)]
        if high is not None:
            places.append(high)
        start = index + 1
    if any(one >= other for one, other
           in zip(places, places[1:], strict=False)):
        # No more room between two of them.
        return [float(number) for number in range(1, len(places) + 1)]
    return places


def _longest_rising(values: typing.Sequence[float | None]) -> list[int]:
    """Return the indexes of the longest rising part of some numbers."""
    tails: list[float] = []
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for index, value in enumerate(values):
        if value is None:
            continue
        length = bisect.bisect_left(tails, value)
        before[index] = ends[length - 1] if length else None
        tails[length:length + 1] = [value]
        ends[length:length + 1] = [index]
    chosen: list[int] = []
    last: int | None = ends[-1] if ends else None
    while last is not None:
        chosen.append(last)
        last = before[last]
    return chosen[::-1]


def plan_lines(steps: typing.Sequence[Fields]) -> typing.Iterator[str]:
    """Show a plan, and at its end how much there is to do.

    :param steps: as for :func:`lines`, with the ``outcome`` of each.
    """
    count = {outcome: sum(step['outcome'] == outcome for step in steps)
             for outcome in _SIGNS}
    for step in steps:
        if step['outcome'] in _SIGNS:
            name = step['description'] or _('(no description)')
            by = _(', found by %s') % step['matched_by'] if (
                step['matched_by']) else ''
            # "(known after apply)" has parentheses already.
            uuid = step['uuid'].strip('()')
            yield f'{_SIGNS[step["outcome"]]} {name} ({uuid}{by})'
            if step['outcome'] != 'moved':
                yield from lines(step)
            yield ''
    if any(count.values()):
        yield _('%(created)d to create, %(updated)d to update, '
                '%(moved)d to move, %(deleted)d to delete') % count
    else:
        yield _('Nothing to do: the rules are as they should be')


def lines(step: Fields) -> list[str]:
    """Return the hunks of a unified diff.

    :param step: the rule ``before`` and ``after`` the change, None where
        there is none, and the names of the ``fields`` that differ.
    """
    rules = (shown(step, side) for side in ('before', 'after'))
    before, after = ([] if rule is None else yaml_text.dump(rule).splitlines()
                     for rule in rules)
    return list(difflib.unified_diff(before, after, n=3, lineterm=''))[2:]


def shown(step: Fields, side: str) -> dict[str, typing.Any] | None:
    """Return a rule as anybody may see it.

    :param step: as for :func:`lines`.
    """
    rule = step[side]
    if rule is None:
        return None
    new = step['fields'] if side == 'after' else ()
    return stored_rule.planned(
        {name: rule[name] for name in model.WRITABLE},
        (step['before'] or {}, step['after'] or {}), new)
