# SPDX-License-Identifier: Apache-2.0

"""Conditions whose result is known without a machine."""

from collections.abc import Iterator
import dataclasses
import functools
import itertools
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.rule_file import file_rule

Rule = checked_rule.CheckedRule
Operation = file_rule.Operation

_SCOPE = '/node/properties/inspection_scope'


def check_never(rule: Rule) -> checked_rule.Found:
    """Find conditions that never hold."""
    for condition in rule.all_conditions:
        if _constant(condition) is False or any(
                one.field == other.field and facts.exclude(one, other)
                for one, other in itertools.combinations(
                    facts.of(condition), 2)):
            yield condition.pointer, _('this condition never holds')
        elif _differing(condition) and not condition.inverted:
            one, other = _differing(condition) or ('', '')
            yield condition.pointer, _(
                'this condition never holds: each value is compared with the '
                'next, and "%(one)s" with "%(other)s"; use one-of') % {
                    'one': one, 'other': other}
        elif _covers(rule, condition) and condition.inverted is (
                _holds(condition) == 'any'):
            yield condition.pointer, _(
                'this condition never holds where its fields exist: one of '
                'those in it always does')
    yield from _beside_scope(rule)
    for conditions in _together(rule):
        claims = map(exclusion.Claim, conditions)
        for one, other in itertools.combinations(claims, 2):
            if not one.about.isdisjoint(other.about) and (
                    exclusion.apart(one, other)):
                yield other.condition.pointer, _(
                    'this condition never holds beside %s') % (
                        file_rule.place_name(one.condition.pointer))


def check_always(rule: Rule) -> checked_rule.Found:
    """Find conditions that always hold."""
    for condition in rule.all_conditions:
        if _constant(condition) is True:
            yield condition.pointer, _('this condition always holds')
        elif condition.inverted and _differing(condition):
            one, other = _differing(condition) or ('', '')
            yield condition.pointer, _(
                'this condition always holds where its fields exist: each '
                'value is compared with the next, and "%(one)s" with '
                '"%(other)s"; use !one-of') % {
                    'one': one, 'other': other}
        elif _covers(rule, condition) and condition.inverted is (
                _holds(condition) == 'none') or (
                    condition.inverted and _holds(condition) == 'all'
                    and _excludes_itself(condition)):
            yield condition.pointer, _(
                'this condition always holds where its fields exist')


def check_neighbours(rule: Rule) -> checked_rule.Found:
    """Find inequalities of more than two values."""
    for condition in rule.all_conditions:
        given = condition.arguments.get('values')
        if isinstance(given, list) and len(given) > 2 and (
                condition.op.name.removeprefix(plugin.VERSION) == 'ne'):
            yield condition.pointer, _(
                '%s compares each value with its neighbour only, not the '
                'first with the third; use !one-of') % condition.op.name


def _constant(condition: Operation) -> bool | None:
    """Return the result of a condition without fields, None for others."""
    if not condition.is_constant:
        return None
    return exclusion.result(condition, condition.written)


def _differing(condition: Operation) -> tuple[typing.Any, typing.Any] | None:
    """Return two neighbouring values of the rule that are not equal."""
    given = condition.arguments.get('values')
    if not isinstance(given, list) or len(given) < 3 or (
            condition.op.name not in ('eq', 'version-eq')):
        return None
    for pair in itertools.pairwise(given):
        if not interpolation.fields(pair) and exclusion.result(
                condition, {'op': condition.op.name,
                            'args': {'values': [*pair]}}) is False:
            return pair
    return None


def _holds(condition: Operation) -> str:
    """Return how many conditions of a group must hold."""
    group = condition.op.plugin
    return group.HOLDS if isinstance(group, plugin.Group) else ''


def _covers(rule: Rule, condition: Operation) -> bool:
    """Return whether one of two conditions of a group always holds.

    That is so where no value makes both false.
    """
    if _holds(condition) not in ('any', 'none'):
        return False
    for one, other in itertools.combinations(condition.inner, 2):
        if one.inner or other.inner or one.loops or other.loops:
            continue
        if exclusion.Claim(one).says == exclusion.Claim(other).says and (
                one.inverted is not other.inverted):
            return True
        if any(said.field == also.field and facts.exclude(said, also)
               for said in _if_false(rule, one)
               for also in _if_false(rule, other)):
            return True
    return False


def _if_false(rule: Rule, condition: Operation) -> Iterator[facts.Fact]:
    """Yield what is so of fields that exist where a condition is false."""
    for fact in facts.of(dataclasses.replace(
            condition, inverted=not condition.inverted)):
        kind = values.subject(rule, fact.field).value.type
        # A number has an order with all numbers.
        yield fact._replace(unordered=fact.unordered and (
            kind != field_value.NUMBER))


def _excludes_itself(condition: Operation) -> bool:
    return any(itertools.starmap(exclusion.apart, itertools.combinations(
        map(exclusion.Claim, condition.inner), 2)))


def _together(rule: Rule) -> Iterator[list[Operation]]:
    """Yield the conditions that must hold together."""
    yield rule.conditions
    for action in rule.actions:
        yield list(action.inner)
    for condition in rule.all_conditions:
        if _holds(condition) == 'all' and not condition.inverted:
            yield list(condition.inner)


def _beside_scope(rule: Rule) -> checked_rule.Found:
    """Find conditions on the scope that the rule's own scope excludes."""
    if not rule.rule.scope:
        return
    own = facts.Fact(_SCOPE, 'eq', rule.rule.scope)
    excluded = functools.partial(facts.exclude, own)
    for condition in rule.conditions:
        if any(fact.field == _SCOPE and excluded(fact)
               for fact in facts.of(condition)):
            yield condition.pointer, _(
                'this condition never holds: the scope of the rule is '
                '"%s"') % rule.rule.scope
