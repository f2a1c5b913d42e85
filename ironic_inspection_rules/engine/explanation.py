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

"""Why a rule matches a machine or does not, condition by condition."""

import typing

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import condition as engine_condition
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _

Roots = dict[str, typing.Any]

_LONGEST = 200


def explain(plan: compiler.Plan, view: Roots
            ) -> tuple[trace.ConditionTrace, ...]:
    """Check every condition of a rule, also those after a false one.

    :param view: the data by root name, as the rule may see it.
    """
    return tuple(_explain(condition, view, plan.rule.sensitive)
                 for condition in plan.conditions)


def _explain(condition: engine_condition.Condition, view: Roots,
             sensitive: bool) -> trace.ConditionTrace:
    try:
        result: bool | None = condition.check(view)
        reason = '' if sensitive else _reason(condition, view)
    except Exception as exc:
        result, reason = None, str(exc)
    return trace.ConditionTrace(condition.operation['op'], result,
                                None if sensitive else reason)


def _reason(condition: engine_condition.Condition, view: Roots) -> str:
    loop = condition.operation.get('loop')
    if loop is None:
        return _sentence(condition, view)
    items = engine_loop.compile_items(loop)(view)
    if isinstance(items, template.Missing):
        return _('field {%s} does not exist') % items.field
    if not items:
        return _('the loop has no items')
    sentences = []
    with engine_loop.forgetting_item(view):
        for item in items[:3]:
            view[interpolation.ITEM] = item
            sentences.append(_sentence(condition, view))
    if len(items) > 3:
        sentences.append(_('%d more') % (len(items) - 3))
    return '; '.join(sentences)


def _sentence(condition: engine_condition.Condition, view: Roots) -> str:
    """Say what the condition was decided on."""
    bound, _problems = condition.op.signature.bind(
        condition.operation.get('args'))
    arguments = {}
    for name, value in bound.items():
        if name not in condition.op.plugin.LITERAL:
            value = template.compile_value(value)
            if isinstance(value, template.Template):
                value = value.render(view)
        if isinstance(value, template.Missing):
            return _('field {%s} does not exist') % value.field
        arguments[name] = value
    explained = condition.op.plugin.explain(view, arguments)
    if explained is not None:
        return _shorten(explained)
    return ', '.join(f'{name}={_shorten(repr(value))}'
                     for name, value in arguments.items())


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'
