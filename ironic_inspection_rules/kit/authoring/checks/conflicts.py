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


class ActionEffect(typing.NamedTuple):
    """What one action leaves at a place; ``pointer`` is to the action."""

    pointer: str
    effect: effects.Effect


def check(rules: Sequence[Rule]) -> checked_rule.FoundTogether:
    """Find rules that undo what an earlier one has written."""
    groups: dict[typing.Any, list[_Writer]] = collections.defaultdict(list)
    for rule in rules:
        if rule.rule.mode != model.OFF:
            groups[rule.rule.phase, rule.rule.priority].append(_Writer(rule))
    for group in groups.values():
        for one, other in itertools.combinations(group, 2):
            if one.kinds.isdisjoint(other.kinds):
                continue
            pairs = [
                (here, there) for here, there
                in itertools.product(one.effects, other.effects)
                if _differ(here.effect, there.effect)
                and not exclusion.exclude(one.asked(here),
                                          other.asked(there))]
            scopes = {one.rule.rule.scope, other.rule.rule.scope} - {None, ''}
            if pairs and len(scopes) < 2 and not exclusion.exclude(
                    one.claims, other.claims):
                yield (other.rule, pairs[0][1].pointer,
                       _message(one.rule, other.rule, pairs))


class _Writer:
    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.effects = [ActionEffect(action.pointer, effect)
                        for action in rule.actions
                        for effect in effects.effects(action)]
        self.kinds = {'trait' if effect.kind in ('trait', 'traits')
                      else (effect.kind, effect.place[0])
                      for _pointer, effect in self.effects}
        self.claims = list(map(exclusion.Claim, rule.conditions))
        # In a loop they are about an item, of which there may be several.
        self._asked = {action.pointer: list(map(exclusion.Claim, action.inner))
                       for action in rule.actions
                       if action.inner and not action.loops}

    def asked(self, written: ActionEffect) -> list[exclusion.Claim]:
        """Return the conditions without which something is not written."""
        return [*self.claims, *self._asked.get(written.pointer, ())]


def _message(one: Rule, other: Rule,
             pairs: list[tuple[ActionEffect, ActionEffect]]) -> str:
    line, _column = one.written.place()
    places = list(dict.fromkeys(str(last.effect) for _first, last in pairs))
    values = ''
    if len(pairs) == 1:
        shown = [_shown(written.effect) for written in pairs[0]]
        if all(shown):
            values = _(': there %(there)s, here %(here)s') % {
                'there': shown[0], 'here': shown[1]}
            for rule in (one.rule, other.rule):
                values = disclosure.say(rule, values)
    return _('rule %(label)s at %(path)s:%(line)d has the same phase and '
             'priority, writes %(places)s too, and differently%(values)s; '
             'machines may meet the conditions of both, and only their order '
             'decides') % {
                 'label': one.written.label, 'path': one.written.source.path,
                 'line': line, 'places': ', '.join(places),
                 'values': values}


def _shown(effect: effects.Effect) -> str:
    """Show what is written, if it is short and no secret."""
    if effect.value is _REMOVED:
        return _('removed')
    if disclosure.is_secret(effect.place) or effect.kind == 'traits':
        return ''
    if effect.kind == 'trait':
        return _('added')
    text = json.dumps(effect.value)
    if len(text) > _LONGEST:
        return ''
    return _('%s appended') % text if effect.extends else text


def _differ(one: effects.Effect, other: effects.Effect) -> bool:
    """Return whether two writes, in their order, leave different things."""
    if one.extends or other.extends:
        return one.kind == other.kind and (
            _takes_back(one, other) if one.extends
            # What was written cannot be extended.
            else one.place == other.place and not (
                one.value is None or one.value is _REMOVED
                or isinstance(one.value, list)
                or interpolation.fields(one.value)))
    if one.kind == other.kind == 'traits':
        return one.place == other.place and one.value != other.value
    for group, single in ((one, other), (other, one)):
        if (group.kind, single.kind) == ('traits', 'trait'):
            name = single.place[0]
            return name.startswith(group.place[0]) and (
                (name in group.value) is (single.value is _REMOVED))
    if one.kind != other.kind:
        return False
    short, long = sorted((one, other), key=lambda each: len(each.place))
    if long.place[:len(short.place)] != short.place:
        return False
    rest = long.place[len(short.place):]
    if rest and (short.value is _REMOVED
                 or data_path.get(short.value, rest) is data_path.ABSENT):
        # To make a mapping in one rule and fill it in another is usual.
        return False
    above = data_path.get(short.value, rest) if rest else short.value
    return not data_path.same(above, long.value)


def _takes_back(extended: effects.Effect, other: effects.Effect) -> bool:
    """Return whether a later write drops the item that was appended.

    To begin a list in one rule and to extend it in a later one is usual.
    """
    rest = extended.place[len(other.place):]
    if other.extends or (*other.place, *rest) != extended.place:
        return False
    if rest and other.value is _REMOVED:
        return False
    if any(field.root == other.root
           for field in interpolation.fields(other.value)):
        return False
    above = data_path.get(other.value, rest) if rest else other.value
    if rest and above is data_path.ABSENT:
        return False
    return not isinstance(above, list) or not any(
        data_path.same(item, extended.value) for item in above)
