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
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.engine import template

Missing = template.Missing
Operation = typing.Mapping[str, typing.Any]
Roots = dict[str, typing.Any]
Check = typing.Callable[[Roots], bool]
Step = typing.Callable[[engine_target.Target, Roots], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition; ``check`` takes the data by root name.

    ``operation`` is what the rule's author wrote.
    """

    op: registry.Op
    operation: Operation
    check: Check


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """A compiled action.

    ``apply`` and ``revert`` take the target and the data by root name.
    """

    name: str
    apply: Step
    revert: Step | None


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """A compiled rule.

    ``masked`` tells whether secrets are hidden from it, ``decides_first``
    whether it is decided before the first action of any rule.
    """

    rule: model.Rule
    masked: bool
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]
    decides_first: bool


def compile_rule(rule: model.Rule, ops: registry.Registry,
                 mask_secrets: str = 'always') -> Plan:
    """Compile a rule that passed validation.

    :param ops: the conditions and actions there are.
    :param mask_secrets: ``always``, ``never``, or ``sensitive`` to let only
        sensitive rules see secrets (spec 003 "Other deployer impact").
    :raises: :class:`.exceptions.InvalidRule`, or
        :class:`.exceptions.OperationError` where an argument is not usable.
    """
    masked = mask_secrets == 'always' or (
        mask_secrets == 'sensitive' and not rule.sensitive)
    conditions = tuple(_compile_condition(each, ops)
                       for each in rule.conditions)
    actions = tuple(_compile_action(each, ops) for each in rule.actions)
    return Plan(rule, masked, conditions, actions, decides_first=any(
        [*(each.op.plugin.DECIDES_FIRST for each in conditions),
         *(each.revert is not None for each in actions)]))


class Call:
    """An op with what a rule gives it.

    ``literals`` are the arguments that are known, by name; ``varying`` are
    functions that return those that depend on the data.

    :param op: the op.
    :param args: its arguments as the rule has them.
    :raises: :class:`.exceptions.InvalidRule` where they do not fit.
    """

    def __init__(self, op: registry.Op, args: typing.Any) -> None:
        self.plugin = op.plugin
        self.literals: dict[str, typing.Any] = {}
        self.varying: dict[str, template.Render] = {}
        bound, problems = op.signature.bind(args)
        if problems:
            raise exceptions.InvalidRule(problems)
        for name, value in bound.items():
            argument = op.signature.by_name[name]
            compiled = (value if name in op.plugin.LITERAL
                        else template.compile_value(value))
            if not isinstance(compiled, template.Template):
                self.literals[name] = arguments.convert(compiled, argument)
            elif argument.type is value.__class__ is list:
                self.varying[name] = compiled.render
            else:
                self.varying[name] = _converted(compiled.render, argument)

    def render(self, roots: Roots) -> dict[str, typing.Any] | Missing:
        """Return the arguments that depend on the data, by name."""
        rendered = {}
        for name, render in self.varying.items():
            value = rendered[name] = render(roots)
            if isinstance(value, Missing):
                return value
        return rendered


def _converted(render: template.Render,
               argument: arguments.Argument) -> template.Render:
    if not argument.converts:
        return render

    def render_converted(roots: template.Roots) -> typing.Any:
        value = render(roots)
        return value if isinstance(value, Missing) else (
            arguments.convert(value, argument))

    return render_converted


def _compile_condition(operation: Operation,
                       ops: registry.Registry) -> Condition:
    name, inverted = model.split_op(operation['op'])
    op = ops.conditions[name]
    check = _checker(op, operation.get('args'), inverted)
    if operation.get('loop') is not None:
        check = _looped(check, engine_loop.compile_items(operation['loop']),
                        operation.get('multiple') or 'any')
    return Condition(op, operation, check)


def _checker(op: registry.Op, args: typing.Any, inverted: bool) -> Check:
    call = Call(op, args)
    if op.plugin.ACCEPTS_MISSING:
        call.varying = {name: _none_if_missing(render)
                        for name, render in call.varying.items()}
    first = next(iter(op.signature.arguments), None)
    variadic = first.name if first and first.variadic else None
    values = call.literals.pop(variadic, ()) if variadic else ()
    holds = op.plugin.bind(call.literals)
    if first and list(call.varying) == [first.name] and (
            not op.plugin.NEEDS_VIEW):
        return _quick_checker(holds, call.varying[first.name],
                              first.variadic, inverted)

    def check(roots: Roots) -> bool:
        rendered = call.render(roots)
        if isinstance(rendered, Missing):
            return False
        view = [roots] if op.plugin.NEEDS_VIEW else []
        positional = rendered.pop(variadic, values) if variadic else ()
        if holds(*view, *positional, **rendered):
            return not inverted
        return inverted

    return check


def _quick_checker(holds: typing.Callable[..., bool], render: template.Render,
                   variadic: bool, inverted: bool) -> Check:
    """Make the check of a condition of which only the first argument varies.

    Nearly all conditions are like that, and most time is spent in them.
    """
    def check_value(roots: Roots) -> bool:
        value = render(roots)
        if value.__class__ is Missing:
            return False
        return not inverted if holds(value) else inverted

    def check_values(roots: Roots) -> bool:
        values = render(roots)
        if values.__class__ is Missing:
            return False
        return not inverted if holds(*values) else inverted

    return check_values if variadic else check_value


def _none_if_missing(render: template.Render) -> template.Render:
    def render_or_none(roots: template.Roots) -> typing.Any:
        value = render(roots)
        return None if isinstance(value, Missing) else value

    return render_or_none


def _looped(check: Check, items: engine_loop.Items, multiple: str) -> Check:
    def check_items(roots: Roots) -> bool:
        found = items(roots)
        if isinstance(found, Missing) or not found:
            return False
        if multiple in ('first', 'last'):
            found = found[:1] if multiple == 'first' else found[-1:]
        decisive = multiple != 'all'
        with engine_loop.forgetting_item(roots):
            for item in found:
                roots[interpolation.ITEM] = item
                if check(roots) is decisive:
                    return decisive
        return not decisive

    return check_items


def _compile_action(operation: Operation, ops: registry.Registry) -> Action:
    name = operation['op']
    op = ops.actions[name.strip()]
    apply = _applier(Call(op, operation.get('args')))
    revertible = strutils.bool_from_string(operation.get('revert'))
    revert = _reverter(op, operation.get('args')) if revertible else None
    if operation.get('loop') is not None:
        items = engine_loop.compile_items(operation['loop'])
        apply = _repeated(apply, items)
        revert = revert and _repeated(revert, items, missing_ok=True)
    return Action(name, apply, revert)


def _applier(call: Call) -> Step:
    act, literals = call.plugin, call.literals

    def apply(target: engine_target.Target, roots: Roots) -> None:
        rendered = call.render(roots)
        if isinstance(rendered, Missing):
            raise exceptions.MissingField(rendered.field)
        view = [roots] if act.NEEDS_VIEW else []
        act(target, *view, **literals, **rendered)

    return apply


def _reverter(op: registry.Op, args: typing.Any) -> Step:
    """Make what undoes an action; it takes some of its arguments."""
    call = Call(op, args)
    undo, needs_view = op.plugin.revert, op.plugin.NEEDS_VIEW
    names = arguments.Signature(undo, skip=2 if needs_view else 1).by_name
    for given in (call.literals, call.varying):
        for name in given.keys() - names.keys():
            del given[name]

    def revert(target: engine_target.Target, roots: Roots) -> None:
        rendered = call.render(roots)
        if not isinstance(rendered, Missing):
            view = [roots] if needs_view else []
            undo(target, *view, **call.literals, **rendered)

    return revert


def _repeated(apply: Step, items: engine_loop.Items,
              missing_ok: bool = False) -> Step:
    def apply_items(target: engine_target.Target, roots: Roots) -> None:
        found = items(roots)
        if isinstance(found, Missing):
            if missing_ok:
                return
            raise exceptions.MissingField(found.field)
        with engine_loop.forgetting_item(roots):
            for item in found:
                roots[interpolation.ITEM] = item
                apply(target, roots)

    return apply_items
