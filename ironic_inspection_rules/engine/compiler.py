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

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import target as engine_target

Missing = interpolation.Missing
Roots = dict[str, typing.Any]


class Call:
    """An op with what a rule gives it.

    :param op: the op.
    :param args: its arguments as the rule has them; they are valid.
    """

    def __init__(self, op: registry.Op, args: typing.Any) -> None:
        self.op = op
        self.literals: dict[str, typing.Any] = {}
        self.templates: dict[str, interpolation.Render] = {}
        bound, problems = op.signature.bind(args)
        if problems:
            raise exceptions.InvalidRule(problems)
        for name, value in bound.items():
            compiled = (value if name in op.plugin.LITERAL
                        else interpolation.compile_value(value))
            if isinstance(compiled, interpolation.Template):
                self.templates[name] = compiled.render
            else:
                self.literals[name] = self._convert(name, compiled)
        self.variadic = next((argument.name for argument
                              in op.signature.arguments
                              if argument.variadic), None)

    def _convert(self, name: str, value: typing.Any) -> typing.Any:
        return arguments.convert(value, self.op.signature.by_name[name])

    def render(self, roots: Roots, missing_is_none: bool = False
               ) -> dict[str, typing.Any] | Missing:
        """Return the arguments that depend on the data, by name."""
        rendered = {}
        for name, template in self.templates.items():
            value = template(roots)
            if isinstance(value, Missing):
                if not missing_is_none:
                    return value
                value = None
            rendered[name] = self._convert(name, value)
        return rendered

    def all_arguments(self, roots: Roots) -> dict[str, typing.Any]:
        """Return all arguments for people to read; missing ones too."""
        return {**self.literals,
                **{name: template(roots)
                   for name, template in self.templates.items()}}


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition; ``check`` takes the data by root name."""

    op: str
    check: typing.Callable[[Roots], bool]
    call: Call
    items: engine_loop.Items | None


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """A compiled action.

    ``apply`` and ``revert`` take the target and the data by root name.
    """

    op: str
    apply: typing.Callable[[engine_target.Target, Roots], None]
    revert: typing.Callable[[engine_target.Target, Roots], None] | None
    call: Call
    items: engine_loop.Items | None


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
        [*(each.call.op.plugin.DECIDES_FIRST for each in conditions),
         *(each.revert is not None for each in actions)]))


def _compile_condition(operation: typing.Mapping[str, typing.Any],
                       ops: registry.Registry) -> Condition:
    name, inverted = model.split_op(operation['op'])
    call = Call(ops.conditions[name], operation.get('args'))
    check = _checker(call, inverted)
    items = None
    if operation.get('loop') is not None:
        items = engine_loop.compile_items(operation['loop'])
        check = _looped(check, items, operation.get('multiple') or 'any')
    return Condition(operation['op'], check, call, items)


def _checker(call: Call, inverted: bool) -> typing.Callable[[Roots], bool]:
    plugin, variadic = call.op.plugin, call.variadic
    literals = dict(call.literals)
    values = literals.pop(variadic, None) if variadic else None
    holds = plugin.bind(literals)
    accepts_missing = plugin.ACCEPTS_MISSING

    def check(roots: Roots) -> bool:
        rendered = call.render(roots, accepts_missing)
        if isinstance(rendered, Missing):
            return False
        positional = [roots] if plugin.NEEDS_VIEW else []
        if variadic:
            positional += rendered.pop(variadic, values)
        return bool(holds(*positional, **rendered)) is not inverted

    return check


def _looped(check: typing.Callable[[Roots], bool], items: engine_loop.Items,
            multiple: str) -> typing.Callable[[Roots], bool]:
    def check_items(roots: Roots) -> bool:
        found = items(roots)
        if isinstance(found, Missing) or not found:
            return False
        if multiple in ('first', 'last'):
            found = found[:1] if multiple == 'first' else found[-1:]
        joined = all if multiple == 'all' else any
        return joined(check(roots) for _item in each_item(roots, found))

    return check_items


def each_item(roots: Roots, items: list[typing.Any]
              ) -> typing.Iterator[typing.Any]:
    """Go through the items with each one in turn known as ``item``."""
    try:
        for item in items:
            roots[interpolation.ITEM] = item
            yield item
    finally:
        roots.pop(interpolation.ITEM, None)


def _compile_action(operation: typing.Mapping[str, typing.Any],
                    ops: registry.Registry) -> Action:
    name = operation['op']
    call = Call(ops.actions[name.strip()], operation.get('args'))
    items = None
    apply = _applier(call)
    revert = _reverter(call) if operation.get('revert') else None
    if operation.get('loop') is not None:
        items = engine_loop.compile_items(operation['loop'])
        apply = _repeated(apply, items)
        revert = revert and _repeated(revert, items, missing_ok=True)
    return Action(name, apply, revert, call, items)


def _applier(call: Call) -> typing.Callable[
        [engine_target.Target, Roots], None]:
    def apply(target: engine_target.Target, roots: Roots) -> None:
        rendered = call.render(roots)
        if isinstance(rendered, Missing):
            raise exceptions.MissingField(rendered.field)
        view = (roots,) if call.op.plugin.NEEDS_VIEW else ()
        call.op.plugin(target, *view, **call.literals, **rendered)

    return apply


def _reverter(call: Call) -> typing.Callable[
        [engine_target.Target, Roots], None]:
    names = arguments.Signature(call.op.plugin.revert, skip=1).by_name

    def revert(target: engine_target.Target, roots: Roots) -> None:
        given = {name: value
                 for name, value in call.all_arguments(roots).items()
                 if name in names}
        if not any(isinstance(value, Missing) for value in given.values()):
            call.op.plugin.revert(target, **given)

    return revert


def _repeated(
        apply: typing.Callable[[engine_target.Target, Roots], None],
        items: engine_loop.Items, missing_ok: bool = False
) -> typing.Callable[[engine_target.Target, Roots], None]:
    def apply_items(target: engine_target.Target, roots: Roots) -> None:
        found = items(roots)
        if isinstance(found, Missing):
            if missing_ok:
                return
            raise exceptions.MissingField(found.field)
        for _item in each_item(roots, found):
            apply(target, roots)

    return apply_items
