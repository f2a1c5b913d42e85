# SPDX-License-Identifier: Apache-2.0

"""Validates one condition or action of a rule.

Both are called an *operation*: ``{'op': 'eq', 'args': [1, 2]}``. A schema
checks the keys and the types of their values. The functions here add what a
schema cannot check: that the op is installed, and that it accepts the
arguments. Problems have JSON pointers, which begin in the operation, e.g.
``/args/1``.
"""

import functools
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

# Messages call the members of an operation keys.
_ACTION = schema.Shape(schema.ACTION, _('key'))
_CONDITION = schema.Shape(schema.CONDITION, _('key'))
_GROUP = schema.Shape(schema.GROUP, _('key'))
_KEYS = frozenset(
    (*schema.ACTION['properties'], *schema.CONDITION['properties'])
)
"""All keys of actions and conditions, e.g. ``op``, ``when`` and ``loop``."""


def check_all(
    rule: dict[str, typing.Any],
    name: str,
    check: typing.Callable[[dict[str, typing.Any]], typing.Iterable[Problem]],
) -> typing.Iterator[Problem]:
    """Yield the problems of a list of conditions or actions.

    A problem at ``/op`` of the second action is yielded at ``/actions/1/op``.

    :param rule: a rule, or an operation with conditions.
    :param name: the key of the list, e.g. ``actions``.
    :param check: yields the problems of one operation, with pointers that
        begin in the operation.
    """
    operations = rule.get(name)
    if not isinstance(operations, list | tuple):
        # The schema of the rule reports this problem.
        return
    for index, operation in enumerate(operations):
        if not isinstance(operation, dict):
            # The schema reports this problem too.
            continue
        for problem in check(operation):
            yield problem.below(f'/{name}/{index}')


def check_condition(
    condition: dict[str, typing.Any],
    ops: registry.Registry,
    early: bool,
    outer: engine_loop.Loop | None = None,
    depth: int = 0,
) -> typing.Iterator[Problem]:
    """Yield the problems of a condition, and of the conditions in a group.

    This checks its keys, its loop, its op and its arguments.

    :param ops: the installed conditions and actions.
    :param early: whether the rule is of the early phase.
    :param outer: the loop of the group or action around the condition.
    :param depth: the number of groups around the condition.
    """
    name, _inverted = model.split_op(_read_op(condition))
    op = ops.conditions.get(name)
    is_group = op is not None and isinstance(op.plugin, plugin.ConditionGroup)
    # A group has "conditions" instead of "args".
    shape = _CONDITION
    if is_group:
        shape = _GROUP
    yield from _check_keys(shape, condition, op)
    yield from _check_loop(condition)
    loop = engine_loop.Loop.of(condition.get('loop'), outer)
    if not is_group:
        yield from _check_call(condition, name, ops.conditions, early, loop)
    elif depth == schema.DEEPEST_GROUP:
        yield Problem(
            '',
            _('groups are nested deeper than %d levels')
            % schema.DEEPEST_GROUP,
        )
    else:
        check_part = functools.partial(
            check_condition,
            ops=ops,
            early=early,
            outer=loop,
            depth=depth + 1,
        )
        yield from check_all(condition, 'conditions', check_part)


def check_action(
    action: dict[str, typing.Any], ops: registry.Registry, early: bool
) -> typing.Iterator[Problem]:
    """Yield the problems of an action, and of its own conditions.

    This checks its keys, its loop, its op, its arguments, and whether it can
    be undone.

    :param ops: the installed conditions and actions.
    :param early: whether the rule is of the early phase.
    """
    name = _read_op(action).strip()
    op = ops.actions.get(name)
    problems_of_keys = list(_check_keys(_ACTION, action, op))
    yield from problems_of_keys
    yield from _check_loop(action)
    loop = engine_loop.Loop.of(action.get('loop'))
    check_when = functools.partial(
        check_condition, ops=ops, early=early, outer=loop
    )
    yield from check_all(action, 'when', check_when)
    yield from _check_call(action, name, ops.actions, early, loop)
    if op is None:
        return
    if early and not op.plugin.SUPPORTS_EARLY:
        yield Problem('/op', _needs_node_message(name))
    # Text that is not a boolean, e.g. "maybe", would read as false, and its
    # problem has already been reported.
    is_revert_valid = all(
        problem.pointer != '/revert' for problem in problems_of_keys
    )
    if is_revert_valid:
        is_undone = engine_action.reverts(action, op)
        if engine_action.has_cleanup(action, op) and not is_undone:
            # The cleanup value is set when the action is undone, so never.
            yield Problem(
                '/revert',
                _('must not be false beside "%s"') % engine_action.CLEANUP,
            )
    must_be_undone = strutils.bool_from_string(action.get('revert'))
    if must_be_undone and op.plugin.revert is None:
        yield Problem('/revert', _('"%s" cannot be undone') % name)


def _read_op(operation: dict[str, typing.Any]) -> str:
    """Return the op of an operation, or an empty string if it is not text.

    The schema rejects any other value.
    """
    op = operation.get('op')
    if isinstance(op, str):
        return op
    return ''


def _check_keys(
    shape: schema.Shape,
    operation: dict[str, typing.Any],
    op: registry.Op | None,
) -> typing.Iterator[Problem]:
    """Yield the problems that the schema of an operation finds in its keys.

    The schema reports an argument outside ``args``, as in ``{'op': 'fail',
    'msg': 'x'}``, as an unknown key. This changes the message, which then says
    that the argument belongs in ``args``.

    :param shape: the schema of an action, a condition or a group.
    :param op: None if the op is unknown.
    """
    names_of_arguments: typing.Collection[str] = ()
    if op is not None:
        names_of_arguments = op.signature.by_name
    for problem in shape.problems(operation):
        name = problem.pointer.removeprefix('/')
        # An argument may have the same name as a key, e.g. "loop". In this
        # case, keep the problem of the key.
        if name in names_of_arguments and name not in _KEYS:
            yield Problem(
                problem.pointer,
                _('"%s" is an argument: write it into "args"') % name,
            )
        else:
            yield problem


def _check_loop(operation: dict[str, typing.Any]) -> typing.Iterator[Problem]:
    """Yield the problems of a loop: invalid fields, or text that is no list.

    ``{inventory.disks}`` may be a list on a machine. ``x{inventory.disks}``
    and ``{inventory.disks!s}`` are always text.
    """
    loop = operation.get('loop')
    try:
        template.compile_value(loop)
    except exceptions.OperationError as exc:
        yield Problem('/loop', str(exc))
    if not isinstance(loop, str) or not interpolation.fields(loop):
        # Lists and mappings are valid loops. The schema rejects other values,
        # and text without a field.
        return
    field = interpolation.sole_field(loop)
    if field is None or field.conversion or field.spec:
        yield Problem(
            '/loop',
            _('text around a field, or a field made text, is never a list'),
        )


def _check_call(
    operation: dict[str, typing.Any],
    name: str,
    ops: typing.Mapping[str, registry.Op],
    early: bool,
    loop: engine_loop.Loop | None,
) -> typing.Iterator[Problem]:
    """Yield the problems of the op and the arguments of an operation.

    The op may be unknown. Arguments may be missing, unknown, of a wrong type,
    or rejected by the op. In the early phase, they may need the node, which
    does not exist yet.

    :param name: the name of the op, without a ``!`` before it.
    :param ops: all conditions, or all actions.
    :param early: whether the rule is of the early phase.
    :param loop: the loop whose items the arguments may use.
    """
    if not isinstance(operation.get('op'), str):
        # The schema reports this problem.
        return
    op = ops.get(name)
    if op is None:
        yield suggestion.unknown_problem('/op', _('op'), name, ops)
        return
    args = operation.get('args')
    bound = op.signature.bind(args)
    problems = bound.problems
    try:
        for argument, message in _find_problems_of_values(
            op, bound.values, early, loop
        ):
            pointer = _point_to_argument(args, op.signature, argument)
            problems.append(Problem(pointer, message))
    except exceptions.PluginFailed as exc:
        detail = _('"%(op)s": %(error)s') % {'op': op.name, 'error': exc}
        problems.append(Problem('', detail))
    for problem in problems:
        yield problem.below('/args')


def _find_problems_of_values(
    op: registry.Op,
    values: dict[str, typing.Any],
    early: bool,
    loop: engine_loop.Loop | None,
) -> typing.Iterator[tuple[str, str]]:
    """Yield the problems of the values that a rule passes to an op.

    :param values: the arguments by name, as the rule has them.
    :param early: whether the rule is of the early phase.
    :param loop: the loop whose items the arguments may use.
    :returns: pairs of the name of an argument and the message.
    :raises: :class:`.exceptions.PluginFailed` if the code of the op fails.
    """
    # The arguments without fields. The op itself can check their values,
    # because they are the same on every machine.
    literals = {}
    for argument, value in values.items():
        if op.signature.by_name[argument].type is pattern.Pattern:
            message = engine_call.find_problem(value, loop)
            if message:
                yield argument, message
        try:
            literals.update(_convert_literal(op, argument, value, loop))
        except exceptions.OperationError as exc:
            yield argument, str(exc)
    yield from op.problems(literals)
    if early:
        for argument in op.of_node({**values, **literals}):
            yield argument, _needs_node_message(argument)


def _convert_literal(
    op: registry.Op,
    name: str,
    value: typing.Any,
    loop: engine_loop.Loop | None,
) -> dict[str, typing.Any]:
    """Convert an argument without fields, for the checks of its op.

    ``"yes"`` for the argument ``unique`` gives ``{'unique': True}``. An
    argument with fields, e.g. ``{node.name}``, gives ``{}``, because its value
    depends on the machine. If the argument takes any number of values, the
    values without fields are returned: ``['{inventory.cpu.count}', 8]`` gives
    ``{'values': [8]}``.

    :raises: :class:`.exceptions.OperationError` if the argument has a wrong
        type, or if its fields cannot be parsed.
    """
    argument = op.signature.by_name[name]
    compiled = engine_call.compile_argument(op, name, value, loop)
    if argument.type is data_path.Path and isinstance(value, str):
        _refuse_negative_index(value)
    if not isinstance(compiled, rendering.Template):
        return {name: arguments.convert(compiled, argument)}
    if not argument.variadic:
        if isinstance(value, list | dict):
            # The values of its fields cannot change its type, so check that.
            arguments.convert(value, argument)
        return {}
    if not isinstance(compiled, rendering.ListTemplate):
        return {}
    literal_values = [
        item
        for item in compiled.items
        if not isinstance(item, rendering.Template)
    ]
    return {name: literal_values}


def _refuse_negative_index(path: str) -> None:
    """Check that a path has no token such as ``-1``.

    In other languages, such an index counts from the end of a list. Here,
    lists have no such items.

    :raises: :class:`.exceptions.OperationError` if it has one.
    """
    match = re.search(schema.NEGATIVE_INDEX, path)
    if match is not None:
        # The first group is for paths with slashes, the second for dots.
        token = match[1] or match[2]
        raise exceptions.OperationError(
            _('a list has no item "%s"; "-" is the place behind its last one')
            % token
        )


def _needs_node_message(name: str) -> str:
    return _('"%s" needs a node; there is none in the early phase') % name


def _point_to_argument(
    args: typing.Any, signature: arguments.Signature, name: str
) -> str:
    """Return the pointer to an argument in ``args``: ``/path`` or ``/0``.

    :param args: a mapping or a list of arguments, as the rule has it.
    :returns: the pointer. It is empty, which refers to all of ``args``, if the
        argument is not written or takes several values of the list.
    """
    if isinstance(args, dict):
        if name in args:
            return data_path.pointer([name])
        # The plugin reports an argument that is not written in the rule.
        return ''
    first = signature.arguments[0]
    if first.variadic or signature.by_name[name].variadic:
        # A variadic argument takes all values of the list.
        return ''
    names = [argument.name for argument in signature.arguments]
    return f'/{names.index(name)}'
