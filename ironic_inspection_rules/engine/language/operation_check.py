# SPDX-License-Identifier: Apache-2.0

"""Check ops and arguments of the operations of a rule."""

import re
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import action as engine_action
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import call as engine_call
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

_ACTION = schema.Shape(schema.ACTION, _('key'))
_CONDITION = schema.Shape(schema.CONDITION, _('key'))
_GROUP = schema.Shape(schema.GROUP, _('key'))
_KEYS = frozenset(name for each in (schema.ACTION, schema.CONDITION)
                  for name in each['properties'])


def check_all(
        rule: dict[str, typing.Any], name: str,
        check: typing.Callable[[dict[str, typing.Any]],
                               typing.Iterable[Problem]]
) -> typing.Iterator[Problem]:
    """Return the problems of a list of conditions or actions."""
    operations = rule.get(name)
    if not isinstance(operations, list | tuple):
        return
    for index, operation in enumerate(operations):
        for problem in check(operation) if isinstance(operation, dict) else ():
            yield problem.below(f'/{name}/{index}')


def check_condition(condition: dict[str, typing.Any], ops: registry.Registry,
                    early: bool, outer: engine_loop.Loop | None = None,
                    depth: int = 0) -> typing.Iterator[Problem]:
    """Return the problems of a condition."""
    op = condition.get('op')
    name, _inverted = model.split_op(op if isinstance(op, str) else '')
    is_group = name in ops.conditions and isinstance(
        ops.conditions[name].plugin, plugin.Group)
    yield from _check_keys(_GROUP if is_group else _CONDITION, condition,
                           ops.conditions.get(name))
    yield from _check_loop(condition)
    loop = engine_loop.Loop.of(condition.get('loop'), outer)
    if is_group and depth == schema.DEEPEST_GROUP:
        yield Problem('', _('groups are nested deeper than %d levels')
                      % schema.DEEPEST_GROUP)
    elif is_group:
        yield from check_all(condition, 'conditions', lambda each: (
            check_condition(each, ops, early, loop, depth + 1)))
    elif isinstance(op, str):
        yield from _check_call(condition, name, ops.conditions, early, loop)


def check_action(action: dict[str, typing.Any], ops: registry.Registry,
                 early: bool) -> typing.Iterator[Problem]:
    """Return the problems of an action."""
    op = action.get('op')
    found = list(_check_keys(_ACTION, action, ops.actions.get(
        op.strip() if isinstance(op, str) else '')))
    yield from found
    yield from _check_loop(action)
    loop = engine_loop.Loop.of(action.get('loop'))
    yield from check_all(action, 'when',
                         lambda each: check_condition(each, ops, early, loop))
    if isinstance(op, str):
        name = op.strip()
        yield from _check_call(action, name, ops.actions, early, loop)
        known = ops.actions.get(name)
        if known and early and not known.plugin.SUPPORTS_EARLY:
            yield Problem('/op', _needs_node(name))
        if known and engine_action.has_cleanup(action, known) and not (
                engine_action.reverts(action, known)
                or any(each.pointer == '/revert' for each in found)):
            yield Problem('/revert', _('must not be false beside "%s"')
                          % engine_action.CLEANUP)
        if known and known.plugin.revert is None and (
                strutils.bool_from_string(action.get('revert'))):
            yield Problem('/revert', _('"%s" cannot be undone') % name)


def _check_keys(shape: schema.Shape, operation: dict[str, typing.Any],
                op: registry.Op | None) -> typing.Iterator[Problem]:
    """Return the problems of the keys of an operation."""
    arguments_ = op.signature.by_name if op else {}
    for problem in shape.problems(operation):
        name = problem.pointer.removeprefix('/')
        if name in arguments_ and name not in _KEYS:
            problem = Problem(problem.pointer, _(
                '"%s" is an argument: write it into "args"') % name)
        yield problem


def _check_loop(operation: dict[str, typing.Any]) -> typing.Iterator[Problem]:
    loop = operation.get('loop')
    try:
        template.compile_value(loop)
    except exceptions.OperationError as exc:
        yield Problem('/loop', str(exc))
    if not isinstance(loop, str) or not interpolation.fields(loop):
        # The schema says what is no loop at all.
        return
    field = interpolation.sole_field(loop)
    if field is None or field.conversion or field.spec:
        yield Problem('/loop', _('text around a field, or a field made text, '
                                 'is never a list'))


def _check_call(operation: dict[str, typing.Any], name: str,
                ops: typing.Mapping[str, registry.Op], early: bool,
                loop: engine_loop.Loop | None) -> typing.Iterator[Problem]:
    op = ops.get(name)
    if op is None:
        yield suggestion.unknown_at('/op', _('op'), name, ops)
        return
    args = operation.get('args')
    bound, problems = op.signature.bind(args)
    literals = {}
    for argument, value in bound.items():
        pointer = _argument_pointer(args, op.signature, argument)
        if op.signature.by_name[argument].type is pattern.Pattern:
            refused = engine_call.problem(value, loop)
            if refused:
                problems.append(Problem(pointer, refused))
        try:
            literals.update(_literal(op, argument, value, loop))
        except exceptions.OperationError as exc:
            problems.append(Problem(pointer, str(exc)))
    try:
        for argument, message in op.problems(literals):
            problems.append(Problem(
                _argument_pointer(args, op.signature, argument), message))
        needing = op.of_node({**bound, **literals}) if early else []
        for argument in needing:
            problems.append(Problem(
                _argument_pointer(args, op.signature, argument),
                _needs_node(argument)))
    except exceptions.PluginFailed as exc:
        problems.append(Problem('', _says(op, exc)))
    for problem in problems:
        yield problem.below('/args')


def _says(op: registry.Op, error: Exception) -> str:
    return _('"%(op)s": %(error)s') % {'op': op.name, 'error': error}


def _literal(op: registry.Op, name: str, value: typing.Any,
             loop: engine_loop.Loop | None) -> dict[str, typing.Any]:
    """Return an argument by name, or nothing if it depends on the data.

    Of a variadic argument it is the values that do not.
    """
    argument = op.signature.by_name[name]
    compiled = engine_call.compile_argument(op, name, value, loop)
    before = argument.type is data_path.Path and isinstance(value, str) and (
        re.search(schema.NEGATIVE_INDEX, value))
    if before:
        raise exceptions.OperationError(
            _('a list has no item "%s"; "-" is the place behind its last one')
            % (before[1] or before[2]))
    if not isinstance(compiled, rendering.Template):
        return {name: arguments.convert(compiled, argument)}
    if not argument.variadic:
        if isinstance(value, list | dict):
            # It stays a list or mapping, whatever its fields are.
            arguments.convert(value, argument)
        return {}
    return {name: [each for each in compiled.items
                   if not isinstance(each, rendering.Template)]
            } if isinstance(compiled, rendering.List) else {}


def _needs_node(name: str) -> str:
    return _('"%s" needs a node; there is none in the early phase') % name


def _argument_pointer(args: typing.Any, signature: arguments.Signature,
                      name: str) -> str:
    if isinstance(args, dict):
        return data_path.pointer([name]) if name in args else ''
    names = [argument.name for argument in signature.arguments]
    if signature.by_name[name].variadic or names[0] != name and (
            signature.arguments[0].variadic):
        return ''
    return f'/{names.index(name)}'
