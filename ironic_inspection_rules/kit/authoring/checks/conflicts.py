# SPDX-License-Identifier: Apache-2.0

"""Rules of one phase and priority that write one place differently."""

import collections
from collections.abc import Sequence
import itertools
import json
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion

Rule = checked_rule.CheckedRule

_REMOVED = data_path.ABSENT
_LONGEST = 40
"""Characters of a value that a message has at most."""


class ActionEffect(typing.NamedTuple):
    """What one action leaves at a place; ``pointer`` is to the action."""

    pointer: str
    effect: effects.Effect


class ConflictingWrites(typing.NamedTuple):
    """Two writes of which only the order of their rules decides."""

    first: ActionEffect
    second: ActionEffect


def check(rules: Sequence[Rule]) -> checked_rule.MistakesOfRules:
    """Find rules of one phase and priority that undo what another has written.

    Between these only the order in which they are stored decides.
    """
    groups: dict[tuple[str, int], list[_WritingRule]] = (
        collections.defaultdict(list)
    )
    for rule in rules:
        if rule.rule.mode != model.OFF:
            at_one_time = rule.rule.phase, rule.rule.priority
            groups[at_one_time].append(_WritingRule(rule))
    for group in groups.values():
        for one, other in itertools.combinations(group, 2):
            conflicts = one.conflicts(other)
            if conflicts:
                yield (
                    other.rule,
                    conflicts[0].second.pointer,
                    _message(one.rule, other.rule, conflicts),
                )


class _WritingRule:
    """A rule with what it writes, for comparisons with other rules."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._effects: list[ActionEffect] = []
        for action in rule.actions:
            for effect in effects.effects(action):
                self._effects.append(ActionEffect(action.pointer, effect))
        self._topics = {
            _topic(of_action.effect) for of_action in self._effects
        }
        self._claims = list(map(exclusion.Claim, rule.conditions))
        self._claims_of_actions: dict[str, list[exclusion.Claim]] = {}
        for action in rule.actions:
            # In a loop its conditions are about an item, and there may be
            # several: what excludes one item leaves the others.
            if not action.loops:
                claims = list(map(exclusion.Claim, action.inner))
                self._claims_of_actions[action.pointer] = claims

    def conflicts(self, later: '_WritingRule') -> list[ConflictingWrites]:
        """Return the writes of both rules of which only the order decides."""
        # Most rules write different things, and to compare names is cheap.
        if self._topics.isdisjoint(later._topics):
            return []
        scopes = {self.rule.rule.scope, later.rule.rule.scope} - {None, ''}
        if len(scopes) > 1:
            # No node is in both.
            return []
        conflicts = []
        for first, second in itertools.product(self._effects, later._effects):
            if not _differ(first.effect, second.effect):
                continue
            # No machine gets both where their conditions exclude each other.
            if not exclusion.exclude(
                self._claims_of(first), later._claims_of(second)
            ):
                conflicts.append(ConflictingWrites(first, second))
        return conflicts

    def _claims_of(self, of_action: ActionEffect) -> list[exclusion.Claim]:
        """Return the conditions without which an action has no effect."""
        own = self._claims_of_actions.get(of_action.pointer, ())
        return [*self._claims, *own]


def _topic(effect: effects.Effect) -> tuple[str, ...]:
    """Return the topic of a write; those of different topics never conflict.

    It is the first step of the place, or "trait" for all traits.
    """
    if effect.kind in ('trait', 'traits'):
        return ('trait',)
    return effect.kind, effect.place[0]


def _message(
    one: Rule, other: Rule, conflicts: list[ConflictingWrites]
) -> str:
    """Return the sentence at the second of two rules that conflict."""
    line, _column = one.written.place()
    places = list(
        dict.fromkeys(str(conflict.second.effect) for conflict in conflicts)
    )
    values = ''
    if len(conflicts) == 1:
        first, second = conflicts[0]
        there = _value_text(first.effect)
        here = _value_text(second.effect)
        if there and here:
            values = _(': there %(there)s, here %(here)s') % {
                'there': there,
                'here': here,
            }
            # A sensitive rule shows no values.
            for rule in (one.rule, other.rule):
                values = disclosure.say(rule, values)
    return _(
        'rule %(label)s at %(path)s:%(line)d has the same phase and '
        'priority, writes %(places)s too, and differently%(values)s; '
        'machines may meet the conditions of both, and only their order '
        'decides'
    ) % {
        'label': one.written.label,
        'path': one.written.source.path,
        'line': line,
        'places': ', '.join(places),
        'values': values,
    }


def _value_text(effect: effects.Effect) -> str:
    """Return the value of a write as text.

    :returns: ``''`` where it is long or may be a secret.
    """
    if effect.value is _REMOVED:
        return _('removed')
    if disclosure.is_secret(effect.place) or effect.kind == 'traits':
        return ''
    if effect.kind == 'trait':
        return _('added')
    text = json.dumps(effect.value)
    if len(text) > _LONGEST:
        return ''
    if effect.extends:
        return _('%s appended') % text
    return text


def _differ(one: effects.Effect, other: effects.Effect) -> bool:
    """Return whether two writes, in their order, leave different things."""
    if one.kind == other.kind == 'traits':
        return one.place == other.place and one.value != other.value
    if (one.kind, other.kind) == ('traits', 'trait'):
        return _traits_differ(one, other)
    if (one.kind, other.kind) == ('trait', 'traits'):
        return _traits_differ(other, one)
    if one.kind != other.kind:
        return False
    if one.extends:
        return _takes_back(one, other)
    if other.extends:
        return one.place == other.place and not _may_be_extended(one.value)
    short, long = one, other
    if len(other.place) < len(one.place):
        short, long = other, one
    if long.place[: len(short.place)] != short.place:
        return False
    rest = long.place[len(short.place) :]
    if not rest:
        return not data_path.same(short.value, long.value)
    inner = _inner(short.value, rest)
    if inner is data_path.ABSENT:
        # To make a mapping in one rule and fill it in another is usual.
        return False
    return not data_path.same(inner, long.value)


def _traits_differ(group: effects.Effect, single: effects.Effect) -> bool:
    """Return whether all traits of a prefix are set without one of them.

    Or with one that the other write removes.
    """
    (prefix,) = group.place
    (name,) = single.place
    is_removed = single.value is _REMOVED
    return name.startswith(prefix) and (name in group.value) is is_removed


def _may_be_extended(value: typing.Any) -> bool:
    """Return whether a later write can extend what was written.

    Of null and of nothing a list is made; a field may give one.
    """
    if value is None or value is _REMOVED or isinstance(value, list):
        return True
    return bool(interpolation.fields(value))


def _inner(value: typing.Any, rest: tuple[str, ...]) -> typing.Any:
    """Return what is below a written value, ABSENT if it is not there."""
    if value is _REMOVED:
        return data_path.ABSENT
    return data_path.get(value, rest)


def _takes_back(extended: effects.Effect, later: effects.Effect) -> bool:
    """Return whether a later write drops the item that was appended.

    To begin a list in one rule and to extend it in a later one is usual.
    """
    # The later write is at the place of the list, or above it.
    rest = extended.place[len(later.place) :]
    if later.extends or (*later.place, *rest) != extended.place:
        return False
    fields = interpolation.fields(later.value)
    if any(field.root == later.root for field in fields):
        # It may hold what was there before.
        return False
    value = later.value
    if rest:
        value = _inner(later.value, rest)
        if value is data_path.ABSENT:
            return False
    if not isinstance(value, list):
        return True
    return not any(data_path.same(item, extended.value) for item in value)
