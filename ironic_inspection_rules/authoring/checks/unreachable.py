# SPDX-License-Identifier: Apache-2.0

"""Rules and actions that inspection does not get to."""

import json
import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import builtin
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_set import repository


def check_actions(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find actions behind one that fails the inspection."""
    failing = next(filter(_fails, rule.actions), None)
    if failing is None:
        return
    for action in rule.actions[rule.actions.index(failing) + 1:]:
        yield action.pointer, _('this action is never reached: %s fails the '
                                'inspection') % builtin.place_name(
                                    failing.pointer)


def check_rules(rules: typing.Sequence[checked_rule.CheckedRule]
                ) -> typing.Iterator[tuple[checked_rule.CheckedRule, str]]:
    """Find rules whose conditions an earlier failing rule has too.

    :param rules: all rules, in the order of their files.
    :returns: pairs of a rule and one sentence.
    """
    by_uuid = {each.rule.uuid: each for each in rules}
    failing: list[checked_rule.CheckedRule] = []
    for rule in repository.order(each.rule for each in rules):
        current = by_uuid[rule.uuid]
        earlier = next((each for each in failing
                        if _covers(each, current)), None)
        if earlier:
            yield current, _(
                'this rule is never reached: on each machine that meets its '
                'conditions, rule %s fails the inspection before') % (
                    earlier.written.label)
        elif any(map(_fails, current.actions)):
            failing.append(current)


def _fails(action: file_rule.Operation) -> bool:
    return not action.loops and not action.inner and action.op.plugin.FAILS


def _covers(earlier: checked_rule.CheckedRule,
            later: checked_rule.CheckedRule) -> bool:
    return (earlier.rule.phase == later.rule.phase
            and earlier.rule.scope in (None, later.rule.scope)
            and _conditions(earlier) <= _conditions(later))


def _conditions(rule: checked_rule.CheckedRule) -> set[str]:
    """Return the conditions in a form that is the same if they are."""
    return {json.dumps([condition.op.name, condition.inverted,
                        condition.arguments, condition.written.get('loop'),
                        condition.written.get('multiple') or 'any',
                        condition.written.get('conditions')],
                       sort_keys=True)
            for condition in rule.conditions}

