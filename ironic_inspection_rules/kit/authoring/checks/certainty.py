# SPDX-License-Identifier: Apache-2.0

"""Find conditions that never or always hold, and ``ne`` of several values.

These are checks of ``lint``. A condition never holds if its facts contradict
each other. A fact says how one field compares with a literal, e.g. ``lt 4``;
see :mod:`.facts`. A comparison of several values compares neighbors: ``eq:
[a, b, c]`` compares a with b, and b with c. A group is a condition that
contains conditions: ``any-of``, ``all-of`` or ``none-of``. A check yields
mistakes: pairs of the place in the rule, e.g. ``/conditions/0``, and a
message.
"""

from collections.abc import Iterator
import dataclasses
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


def check_never(rule: Rule) -> checked_rule.Mistakes:
    """Find conditions that never hold, alone or together with others.

    Each condition is examined by itself, then with the scope of the rule, and
    then in pairs with the conditions that must hold together with it.
    """
    for condition in rule.all_conditions:
        message = _why_never(rule, condition)
        if message is not None:
            yield condition.pointer, message
    yield from _check_beside_scope(rule)
    for conditions in _list_conditions_together(rule):
        compared = map(exclusion.ComparedCondition, conditions)
        for first, second in itertools.combinations(compared, 2):
            # Most pairs are about different fields, and need not be compared.
            if first.about.isdisjoint(second.about):
                continue
            if exclusion.never_hold_together(first, second):
                place = file_rule.place_name(first.operation.pointer)
                yield (
                    second.operation.pointer,
                    _('this condition never holds beside %s') % place,
                )


def _why_never(rule: Rule, condition: Operation) -> str | None:
    """Return why a condition never holds by itself; None if it may hold.

    - It contradicts itself, as in 8 < cpu.count < 4.
    - It has no fields, and is false.
    - It requires that different neighbors are equal.
    - It requires that no condition of a group holds, but one always does.
    """
    if _contradicts_itself(condition):
        return _('this condition never holds')
    if _result_without_fields(condition) is False:
        return _('this condition never holds')
    differing = _find_differing_neighbours(condition)
    if differing is not None and not condition.inverted:
        first, second = differing
        return _(
            'this condition never holds: each value is compared with the '
            'next, and "%(one)s" with "%(other)s"; use one-of'
        ) % {'one': first, 'other': second}
    # If one condition of a group holds on every machine, neither "!any-of" nor
    # "none-of" ever holds.
    must_hold = exclusion.how_many_must_hold(condition)
    if must_hold == exclusion.NONE and _always_one_holds(rule, condition):
        return _(
            'this condition never holds where its fields exist: one of '
            'those in it always does'
        )
    return None


def _contradicts_itself(condition: Operation) -> bool:
    """Return whether two facts of a condition exclude each other.

    An example is 8 < cpu.count < 4.
    """
    stated = facts.stated_by(condition)
    for one, other in itertools.combinations(stated, 2):
        if one.field == other.field and facts.exclude(one, other):
            return True
    return False


def check_always(rule: Rule) -> checked_rule.Mistakes:
    """Find conditions that always hold."""
    for condition in rule.all_conditions:
        message = _why_always(rule, condition)
        if message is not None:
            yield condition.pointer, message


def _why_always(rule: Rule, condition: Operation) -> str | None:
    """Return why a condition always holds by itself; None if it may not.

    - It has no fields, and is true.
    - It is inverted, and different neighbors would have to be equal.
    - It requires any condition of a group, and one always holds.
    - It requires that not all conditions of a group hold, and two of them
      never hold together.
    """
    if _result_without_fields(condition) is True:
        return _('this condition always holds')
    differing = _find_differing_neighbours(condition)
    if differing is not None and condition.inverted:
        first, second = differing
        return _(
            'this condition always holds where its fields exist: each '
            'value is compared with the next, and "%(one)s" with '
            '"%(other)s"; use !one-of'
        ) % {'one': first, 'other': second}
    must_hold = exclusion.how_many_must_hold(condition)
    always_holds = False
    if must_hold == exclusion.ANY:
        # This is "any-of" or "!none-of".
        always_holds = _always_one_holds(rule, condition)
    elif must_hold == exclusion.NOT_ALL:
        always_holds = _two_never_hold_together(condition)
    if always_holds:
        return _('this condition always holds where its fields exist')
    return None


def check_neighbours(rule: Rule) -> checked_rule.Mistakes:
    """Find inequalities of more than two values.

    Their authors usually want all values to differ, but only neighbors are
    compared.
    """
    for condition in rule.all_conditions:
        name = condition.op.name.removeprefix(plugin.VERSION)
        compared = condition.arguments.get('values')
        if name == 'ne' and isinstance(compared, list) and len(compared) > 2:
            yield (
                condition.pointer,
                _(
                    '%s compares each value with its neighbour only, not the '
                    'first with the third; use !one-of'
                )
                % condition.op.name,
            )


def _result_without_fields(condition: Operation) -> bool | None:
    """Return the result of a condition without fields; None for others.

    For example, ``eq: [8, 4]`` is false on every machine.
    """
    if not condition.is_constant:
        return None
    return exclusion.result(condition, condition.written)


def _find_differing_neighbours(
    condition: Operation,
) -> tuple[typing.Any, typing.Any] | None:
    """Return two neighbors among three or more values that are never equal.

    In ``eq: ["{node.driver}", ipmi, redfish]`` these are ``ipmi`` and
    ``redfish``.

    :returns: None if no two neighbors are known to differ.
    """
    if condition.op.name not in ('eq', 'version-eq'):
        return None
    compared = condition.arguments.get('values')
    if not isinstance(compared, list) or len(compared) < 3:
        # A condition on two values without a field is constant.
        return None
    for pair in itertools.pairwise(compared):
        if interpolation.fields(pair):
            continue
        alone = {'op': condition.op.name, 'args': {'values': list(pair)}}
        if exclusion.result(condition, alone) is False:
            return pair
    return None


def _always_one_holds(rule: Rule, condition: Operation) -> bool:
    """Return whether at least one condition of a group holds for any value.

    This is the case if no value makes two of its conditions false at once,
    e.g. ``lt 8`` and ``gt 4``. A missing field may still make both false.
    """
    for first, second in itertools.combinations(condition.inner, 2):
        if first.inner or second.inner or first.loops or second.loops:
            continue
        first_says = exclusion.ComparedCondition(first).says
        second_says = exclusion.ComparedCondition(second).says
        is_inverted = first.inverted is not second.inverted
        if first_says == second_says and is_inverted:
            # A condition and its inversion: one of them always holds.
            return True
        # If both were false, these facts would hold together.
        if facts.contradict(
            _facts_if_false(rule, first), _facts_if_false(rule, second)
        ):
            return True
    return False


def _facts_if_false(rule: Rule, condition: Operation) -> Iterator[facts.Fact]:
    """Yield the facts about fields that follow if a condition is false.

    If ``lt 8`` is false, then ``ge 8`` is true. This assumes that the fields
    exist, because a condition is also false if its field is missing.
    """
    opposite = dataclasses.replace(condition, inverted=not condition.inverted)
    for fact in facts.stated_by(opposite):
        compared_field = values.describe_field(rule, fact.field)
        if compared_field.value.type == field_value.NUMBER:
            # The opposite of "lt" also holds for values without an order, but
            # all numbers have an order.
            fact = fact._replace(unordered=False)
        yield fact


def _two_never_hold_together(condition: Operation) -> bool:
    """Return whether two conditions of a group never hold together.

    An example is ``lt 4`` and ``gt 8`` on one field.
    """
    inner = map(exclusion.ComparedCondition, condition.inner)
    return any(
        exclusion.never_hold_together(one, other)
        for one, other in itertools.combinations(inner, 2)
    )


def _list_conditions_together(rule: Rule) -> Iterator[list[Operation]]:
    """Yield lists of conditions that must hold together.

    These are the conditions of the rule, of each action, and of each group
    that requires all of its conditions.
    """
    yield rule.conditions
    for action in rule.actions:
        yield list(action.inner)
    for condition in rule.all_conditions:
        if exclusion.how_many_must_hold(condition) == exclusion.ALL:
            yield list(condition.inner)


def _check_beside_scope(rule: Rule) -> checked_rule.Mistakes:
    """Find conditions on the scope that the rule's own scope excludes.

    In a rule with the scope ``lab``, ``eq:
    ["{node.properties.inspection_scope}", production]`` never holds.
    """
    if not rule.rule.scope:
        return
    node_has_scope = facts.Fact(_SCOPE, 'eq', rule.rule.scope)
    for condition in rule.conditions:
        if facts.contradict([node_has_scope], facts.stated_by(condition)):
            yield (
                condition.pointer,
                _('this condition never holds: the scope of the rule is "%s"')
                % rule.rule.scope,
            )
