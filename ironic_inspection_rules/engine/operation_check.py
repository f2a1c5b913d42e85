# SPDX-License-Identifier: Apache-2.0

"""Whether the conditions and actions of a rule are some."""

import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import action as engine_action
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import pattern_template
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

DEEPEST_GROUP = 8

_OPERATION_KEYS = ('op', 'args', 'loop')
_GROUP_KEYS = ('op', 'conditions', 'loop')


def must_be(kind: str, value: typing.Any) -> str:
    """Say of what kind a value should be."""
    return _('must be %(kind)s, not %(value)s') % {
        'kind': kind, 'value': suggestion.quoted(value)}


def is_boolean(value: typing.Any) -> bool:
    """Tell whether a value reads as true or false, or is not given."""
    if value is None or isinstance(value, bool):
        return True
    return isinstance(value, str) and strutils.is_valid_boolstr(value)


def check_all(
        rule: dict[str, typing.Any], name: str,
        check: typing.Callable[[dict[str, typing.Any]],
                               typing.Iterable[Problem]]
) -> typing.Iterator[Problem]:
    """Return the problems of a list of conditions or actions.

    :param rule: has the list under this name.
    :param check: returns the problems of one.
    """
    operations = rule.get(name)
    if operations is None:
        return
    if not isinstance(operations, list | tuple):
        yield Problem(f'/{name}', _('must be a list'))
        return
    for index, operation in enumerate(operations):
        if isinstance(operation, dict):
            found: typing.Iterable[Problem] = check(operation)
        else:
            found = [Problem('', _('must be a mapping'))]
        for problem in found:
            yield Problem(f'/{name}/{index}{problem.pointer}',
                          problem.message)


def check_condition(condition: dict[str, typing.Any], ops: registry.Registry,
                    early: bool, outer: engine_loop.Loop | None = None,
                    depth: int = 0) -> typing.Iterator[Problem]:
    """Return the problems of a condition.

    :param early: whether it is of the early phase.
    :param outer: the loop of the group or action it is in.
    :param depth: how many groups it is in.
    """
    op = condition.get('op')
    name, _inverted = model.split_op(op if isinstance(op, str) else '')
    is_group = name in ops.conditions and isinstance(
        ops.conditions[name].plugin, plugin.Group)
    yield from _check_keys(condition, (
        *(_GROUP_KEYS if is_group else _OPERATION_KEYS), 'multiple'))
    multiple = condition.get('multiple')
    if multiple is not None and multiple not in model.MULTIPLE:
        yield Problem('/multiple',
                      suggestion.not_one_of(multiple, model.MULTIPLE))
    loop = engine_loop.Loop.of(condition.get('loop'), outer)
    if is_group:
        yield from _check_group(condition, ops, early, loop, depth + 1)
    elif isinstance(op, str):
        yield from _check_call(condition, name, ops.conditions, early, loop)


def _check_group(group: dict[str, typing.Any], ops: registry.Registry,
                 early: bool, loop: engine_loop.Loop | None,
                 depth: int) -> typing.Iterator[Problem]:
    if depth > DEEPEST_GROUP:
        yield Problem('', _('groups are nested deeper than %d levels')
                      % DEEPEST_GROUP)
    elif group.get('conditions') in (None, []):
        yield Problem('/conditions', _('at least one condition is required'))
    else:
        yield from check_all(
            group, 'conditions',
            lambda each: check_condition(each, ops, early, loop, depth))


def check_action(action: dict[str, typing.Any], ops: registry.Registry,
                 early: bool) -> typing.Iterator[Problem]:
    """Return the problems of an action.

    :param early: whether it is of the early phase.
    """
    yield from _check_keys(action, (*_OPERATION_KEYS, 'revert', 'when'))
    loop = engine_loop.Loop.of(action.get('loop'))
    yield from check_all(action, 'when',
                         lambda each: check_condition(each, ops, early, loop))
    if not is_boolean(action.get('revert')):
        yield Problem('/revert',
                      must_be(_('true or false'), action['revert']))
    op = action.get('op')
    if isinstance(op, str):
        name = op.strip()
        yield from _check_call(action, name, ops.actions, early, loop)
        known = ops.actions.get(name)
        if known and early and not known.plugin.SUPPORTS_EARLY:
            yield Problem('/op', _needs_node(name))
        if known and is_boolean(action.get('revert')) and (
                engine_action.has_cleanup(action, known)
                and not engine_action.reverts(action, known)):
            yield Problem('/revert', _('must not be false beside "%s"')
                          % engine_action.CLEANUP)
        if known and known.plugin.revert is None and (
                strutils.bool_from_string(action.get('revert'))):
            yield Problem('/revert', _('"%s" cannot be undone') % name)


def _check_keys(operation: dict[str, typing.Any],
                known: tuple[str, ...]) -> typing.Iterator[Problem]:
    for key in operation:
        if key not in known:
            yield Problem(data_path.pointer([key]), suggestion.unknown(
                _('key'), str(key), known))
    if not isinstance(operation.get('op'), str):
        yield Problem('/op', _('the name of an op is required'))
    problem = engine_loop.problem(operation.get('loop'))
    if problem:
        yield Problem('/loop', problem)


def _check_call(operation: dict[str, typing.Any], name: str,
                ops: typing.Mapping[str, registry.Op], early: bool,
                loop: engine_loop.Loop | None) -> typing.Iterator[Problem]:
    op = ops.get(name)
    if op is None:
        yield Problem('/op', suggestion.unknown(_('op'), name, ops))
        return
    args = operation.get('args')
    bound, problems = op.signature.bind(args)
    literals = {}
    for argument, value in bound.items():
        pointer = _argument_pointer(args, op.signature, argument)
        if op.signature.by_name[argument].type is pattern.Pattern:
            refused = pattern_template.problem(value, loop)
            if refused:
                problems.append(Problem(pointer, refused))
        try:
            value = engine_call.compile_argument(op, argument, value, loop)
            if not isinstance(value, template.Template):
                literals[argument] = arguments.convert(
                    value, op.signature.by_name[argument])
            elif isinstance(value, template.List) and (
                    op.signature.by_name[argument].variadic):
                literals[argument] = [
                    each for each in value.items
                    if not isinstance(each, template.Template)]
        except exceptions.OperationError as exc:
            problems.append(Problem(pointer, str(exc)))
    for argument, message in op.plugin.problems(literals):
        problems.append(Problem(
            _argument_pointer(args, op.signature, argument), message))
    for argument in op.plugin.of_node({**bound, **literals}) if early else ():
        problems.append(Problem(
            _argument_pointer(args, op.signature, argument),
            _needs_node(argument)))
    for problem in problems:
        yield Problem(f'/args{problem.pointer}', problem.message)


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
