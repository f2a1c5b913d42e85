# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Conditions that no machine meets, alone or beside each other."""

import itertools

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import rulefile
from ironic_inspection_rules.offline.checks import checked_rule
from ironic_inspection_rules.offline.checks import facts as condition_facts


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find conditions that never hold."""
    for condition in rule.conditions:
        if condition.is_constant and not _holds(condition):
            yield condition.pointer, _('this condition never holds')
    facts = [(condition, fact) for condition in rule.conditions
             for fact in condition_facts.all_of(condition)]
    for (one, said), (other, also) in itertools.combinations(facts, 2):
        if said.field != also.field or not (
                condition_facts.exclude(said, also)):
            continue
        if one is other:
            yield one.pointer, _('this condition never holds')
        else:
            yield other.pointer, _('this condition never holds beside the '
                                   'one at %s') % one.pointer


def _holds(condition: rulefile.Operation) -> bool:
    """Check a condition that is the same for all machines."""
    ops = registry.Registry({condition.op.name: condition.op.plugin}, {})
    plan = compiler.compile_rule(
        model.Rule(uuid='', actions=(), conditions=(condition.written,)), ops)
    try:
        return plan.conditions[0].check({})
    except Exception:
        # It fails each inspection, which is not what this check is for.
        return True
