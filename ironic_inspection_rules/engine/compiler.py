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

"""From a rule to a plan: everything that can be done before a machine comes.

Templates are parsed, regexes compiled, networks read and arguments bound
once; applying a plan to a machine parses nothing.
"""

import dataclasses

from ironic_inspection_rules.engine import action as engine_action
from ironic_inspection_rules.engine import condition as engine_condition
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import single_condition


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CompiledRule:
    """A compiled rule, which is equal to no other.

    ``masked`` tells whether secrets are hidden from it, ``unexplained``
    whether nobody is told why it matches, ``decides_first`` whether it is
    decided before the first action of any rule.
    """

    rule: model.Rule
    masked: bool
    unexplained: bool
    conditions: tuple[engine_condition.Condition, ...]
    actions: tuple[engine_action.Action, ...]
    decides_first: bool


def compile_rule(rule: model.Rule, ops: registry.Registry,
                 mask_secrets: str = 'always',
                 explained: bool | None = None) -> CompiledRule:
    """Compile a rule that passed validation.

    :param ops: the conditions and actions there are.
    :param mask_secrets: ``always``, ``never``, or ``sensitive`` to let only
        sensitive rules see secrets (spec 003 "Other deployer impact").
    :param explained: whether to tell why a rule matches; if not given, it is
        not told of sensitive ones.
    :raises: :class:`.exceptions.InvalidRule`, or
        :class:`.exceptions.OperationError` where an argument is not usable.
    """
    masked = mask_secrets == 'always' or (
        mask_secrets == 'sensitive' and not rule.sensitive)
    conditions = tuple(_compile_condition(each, ops)
                       for each in rule.conditions)
    actions = tuple(engine_action.Action(each, ops)
                    for each in rule.actions)
    unexplained = rule.sensitive if explained is None else not explained
    return CompiledRule(rule, masked, unexplained, conditions, actions, any(
        [*(each.decides_first for each in conditions),
         *(each.reverts for each in actions)]))


def _compile_condition(operation: engine_condition.Operation,
                       ops: registry.Registry,
                       outer: engine_loop.Loop | None = None
                       ) -> engine_condition.Condition:
    """Compile a condition.

    :param outer: the loop of the group it is in.
    """
    name, inverted = model.split_op(operation['op'])
    op = ops.conditions[name]
    loop = engine_loop.Loop.of(operation.get('loop'), outer)
    condition: engine_condition.Condition
    if isinstance(op.plugin, plugin.Group):
        condition = engine_condition.Group(op, operation, inverted, tuple(
            _compile_condition(each, ops, loop)
            for each in operation['conditions']))
    else:
        condition = single_condition.compile_single(op, operation, inverted,
                                                    loop)
    if operation.get('loop') is not None:
        condition = engine_condition.Looped(condition)
    return condition
