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
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _

Roots = dict[str, typing.Any]


Traces = tuple[trace.ConditionTrace, ...]


def is_complete(plan: compiler.CompiledRule,
                told: list[trace.ConditionTrace]) -> bool:
    """Tell whether nothing is to be added to what is known of a rule."""
    if len(told) < len(plan.conditions) or plan.unexplained:
        return False
    for _op, _result, reason in told:
        if reason is None:
            return False
    return True


def explain(plan: compiler.CompiledRule, view: Roots,
            known: typing.Iterable[trace.ConditionTrace] = ()) -> Traces:
    """Tell how every condition of a rule is decided, also after a false one.

    :param view: the data by root name, as the rule may see it.
    :param known: what is known of the first conditions.
    """
    told = list(known)
    for condition in plan.conditions[len(told):]:
        try:
            told.append(condition.decide(view))
        except Exception as exc:
            told.append(trace.ConditionTrace(condition.written_op, None,
                                             str(exc)))
    if plan.unexplained:
        return tuple(each._replace(reason=None) for each in told)
    for index, (_op, result, reason) in enumerate(told):
        if reason is None:
            told[index] = _explain(plan.conditions[index], result, view)
    return tuple(told)


def explain_match(plan: compiler.CompiledRule, view: Roots) -> Traces:
    """Tell why a rule matches, whose conditions all hold.

    :param view: may hide secrets that the rule has seen.
    """
    if plan.masked:
        return explain(plan, view)
    return tuple([_explain(condition, True, view)
                  for condition in plan.conditions])


def _explain(condition: engine_condition.Condition, result: bool | None,
             view: Roots) -> trace.ConditionTrace:
    try:
        reason = _reason(condition, view, None)
    except Exception as exc:
        result, reason = None, str(exc)
    return trace.ConditionTrace(condition.written_op, result, reason)


def _reason(condition: engine_condition.Condition, view: Roots,
            outer: engine_loop.Loop | None) -> str:
    if condition.is_simple:
        return condition.sentence(outer).tell(view)
    written = condition.operation.get('loop')
    loop = engine_loop.Loop.of(written, outer)
    if not isinstance(condition, engine_condition.Looped):
        return _sentence(condition, view, loop)
    items = engine_loop.compile_items(written)(view)
    if isinstance(items, template.Missing):
        return _('field {%s} does not exist') % items.field
    if not items:
        return _('the loop has no items')
    sentences = []
    with engine_loop.iterate(items[:3], view) as each:
        sentences += [_sentence(condition.condition, view, loop)
                      for _item in each]
    if len(items) > 3:
        sentences.append(_('%d more') % (len(items) - 3))
    return '; '.join(sentences)


def _sentence(condition: engine_condition.Condition, view: Roots,
              loop: engine_loop.Loop | None) -> str:
    """Say what the condition was decided on."""
    if isinstance(condition, engine_condition.Group):
        return '; '.join(_part(part, view, loop) for part in condition.parts)
    return condition.sentence(loop).tell(view)


def _part(part: engine_condition.Condition, view: Roots,
          loop: engine_loop.Loop | None) -> str:
    """Say how a part of a group was decided, and on what."""
    try:
        result = _('holds') if part.check(view) else _('does not hold')
        reason = _reason(part, view, loop)
    except Exception as exc:
        result, reason = _('fails'), str(exc)
    return _('%(op)s %(result)s (%(reason)s)') % {
        'op': part.written_op, 'result': result, 'reason': reason}
