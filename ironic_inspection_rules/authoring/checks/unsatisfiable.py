# SPDX-License-Identifier: Apache-2.0

"""Conditions that no machine meets, alone or beside each other."""

import itertools

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import exclusion
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import builtin
from ironic_inspection_rules.rule_file import file_rule


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find conditions that never hold."""
    for condition in rule.conditions:
        if condition.is_constant and not _holds(condition):
            yield condition.pointer, _('this condition never holds')
        elif exclusion.contradicts_itself(condition):
            yield condition.pointer, _('this condition never holds')
    for one, other in itertools.combinations(
            exclusion.claims(rule.conditions), 2):
        if exclusion.exclude([one], [other]):
            yield other.condition.pointer, _(
                'this condition never holds beside %s') % builtin.place_name(
                    one.condition.pointer)


def _holds(condition: file_rule.Operation) -> bool:
    """Check a condition that is the same for all machines."""
    ops = registry.Registry({condition.op.name: condition.op.plugin}, {})
    rule = model.Rule(uuid='', actions=(), conditions=(condition.written,))
    try:
        return compiler.compile_rule(rule, ops).conditions[0].check({})
    except Exception:
        # It is refused or fails each inspection; others tell of that.
        return True
