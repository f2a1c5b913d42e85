# SPDX-License-Identifier: Apache-2.0

"""Translates rules of ironic-inspector to ops of this engine, and back.

A condition or an action of ironic-inspector becomes an op whose name begins
with ``inspector-``. Its arguments have the names that ironic-inspector used.
So nothing is lost, and the original form can always be restored::

    {'op': 'eq', 'field': 'memory_mb', 'value': 4096, 'invert': True}
    {'op': 'inspector-eq',
     'args': {'field': 'memory_mb', 'value': 4096, 'invert': True}}

The name of an operation is ``op`` in a condition, and ``action`` in an action.
All its other keys are its parameters.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.legacy import condition

Problem = exceptions.Problem
Operation = dict[str, typing.Any]

PREFIX = 'inspector-'
IGNORED = condition.IGNORED

# Blueprint 000 uses "key" for the path of an action.
_OLDER_ARGUMENTS = {'key': 'path'}
# The op and its argument that is required but may be null.
_NULLABLE = ('inspector-set-attribute', 'value')

_CONDITION_DEFAULTS = {'multiple': 'any', 'invert': False}

_FIELDS = ('uuid', 'description', 'scope', 'conditions', 'actions', 'links')
"""The fields of a rule in the API of ironic-inspector."""


def parse(
    rule: typing.Any, ops: registry.Registry, only_known: bool = False
) -> model.Rule:
    """Translate a rule of ironic-inspector to a rule of this engine.

    The rule is validated too.

    :param rule: a mapping with ``uuid``, ``description``, ``scope``,
        ``conditions`` and ``actions``.
    :param only_known: whether to reject keys of the rule and of its conditions
        that ironic-inspector ignored.
    :raises: :class:`.exceptions.InvalidRule` with all problems, and pointers
        into the given rule.
    """
    if not isinstance(rule, dict):
        raise exceptions.InvalidRule(
            [Problem('', _('a rule must be a mapping'))]
        )
    # The fields of the translated rule.
    fields: dict[str, typing.Any] = {}
    for name in ('uuid', 'description', 'scope'):
        # Any empty value, e.g. "", meant the same as no value.
        fields[name] = rule.get(name) or None
    problems: list[Problem] = []
    if only_known:
        problems += _find_unknown_fields(rule)
    # Translate the conditions, and then the actions in the same way.
    for name, translate_operation in (
        ('conditions', _translate_condition),
        ('actions', _translate_action),
    ):
        operations = rule.get(name, [])
        if not isinstance(operations, list):
            problems.append(Problem(f'/{name}', _('must be a list')))
            continue
        fields[name] = []
        for index, operation in enumerate(operations):
            new_operation, problems_of_operation = translate_operation(
                operation, ops, only_known
            )
            fields[name].append(new_operation)
            # "/value" of the second condition becomes "/conditions/1/value".
            for problem in problems_of_operation:
                problems.append(problem.below(f'/{name}/{index}'))
    problems += list(_check_translated(fields, ops, problems))
    if problems:
        # A rule may have very many problems, so only the first are reported.
        raise exceptions.InvalidRule(exceptions.limit_problems(problems))
    return validation.parse(fields, ops)


def _check_translated(
    fields: dict[str, typing.Any],
    ops: registry.Registry,
    problems: typing.Sequence[Problem],
) -> typing.Iterator[Problem]:
    """Yield the problems of a translated rule, at places in the old rule.

    A problem at ``/actions/0/args/path`` of the translated rule is yielded at
    ``/actions/0/path``.

    :param fields: the fields of the translated rule.
    :param problems: the problems of the translation. An operation with such a
        problem is skipped here. It may be incomplete, so its further problems
        would confuse its author.
    """
    places_with_problems = {
        _shorten_to_operation(problem.pointer) for problem in problems
    }
    for problem in validation.validate(fields, ops):
        place = _shorten_to_operation(problem.pointer)
        if place in places_with_problems:
            continue
        # In ironic-inspector, the arguments are in the operation itself.
        pointer = problem.pointer.replace('/args', '', 1)
        yield problem.at(pointer)


def _find_unknown_fields(rule: dict[typing.Any, typing.Any]) -> list[Problem]:
    """Return a problem for each field that ironic-inspector would ignore.

    Such a field may be a typo, e.g. ``action`` instead of ``actions``.

    :param rule: the rule of ironic-inspector.
    """
    kind = _('field of a rule of ironic-inspector')
    problems = []
    for name in rule:
        if name not in _FIELDS:
            pointer = data_path.pointer([name])
            problems.append(
                suggestion.unknown_problem(pointer, kind, name, _FIELDS)
            )
    return problems


def _shorten_to_operation(pointer: str) -> str:
    """Shorten ``/actions/0/args/path`` to its operation, ``/actions/0``."""
    return '/'.join(pointer.split('/')[:3])


def _translate_condition(
    operation: typing.Any, ops: registry.Registry, only_known: bool
) -> tuple[Operation, list[Problem]]:
    """Translate a condition of ironic-inspector to a condition of this engine.

    ``{'op': 'eq', 'field': 'cpus', 'value': 8}`` becomes ``{'op':
    'inspector-eq', 'args': {'field': 'cpus', 'value': 8}}``.

    :param operation: the condition, which may be of any type.
    :param ops: all ops of this engine.
    :param only_known: whether to reject keys that ironic-inspector ignored.
    :returns: the condition, which is empty if it cannot be translated; and its
        problems, with pointers such as ``/invert``.
    """
    new_condition, problems = _translate_operation(
        operation, 'op', ops.conditions, only_known
    )
    args = new_condition.get('args', {})
    # Reject values that ironic-inspector rejected. This engine would accept
    # them: it converts them to text or a boolean, or ignores null.
    if 'field' in args and not isinstance(args['field'], str):
        problems.append(Problem('/field', _('must be a string')))
    if 'invert' in args and not isinstance(args['invert'], bool):
        problems.append(Problem('/invert', _('must be true or false')))
    if 'multiple' in args and args['multiple'] is None:
        problems.append(Problem('/multiple', _('must not be null')))
    return new_condition, problems


def _translate_action(
    operation: typing.Any, ops: registry.Registry, only_known: bool
) -> tuple[Operation, list[Problem]]:
    """Translate an action of ironic-inspector.

    ``{'action': 'add-trait', 'name': 'CUSTOM_A'}`` becomes ``{'op':
    'inspector-add-trait', 'args': {'name': 'CUSTOM_A'}}``.

    :param only_known: has no effect, because no action ignores keys.
    :returns: the action, which is empty if it cannot be translated; and its
        problems.
    """
    new_action, problems = _translate_operation(
        operation, 'action', ops.actions, only_known
    )
    # In this engine, "revert" is a key of the action instead of an argument.
    if 'revert' in new_action.get('args', {}):
        new_action['revert'] = new_action['args'].pop('revert')
    return new_action, problems


def _translate_operation(
    operation: typing.Any,
    name_key: str,
    ops: typing.Mapping[str, registry.Op],
    only_known: bool,
) -> tuple[Operation, list[Problem]]:
    """Translate a condition or an action of ironic-inspector.

    :param operation: the condition or action, which may be of any type.
    :param name_key: the key with the name of the operation: ``op`` or
        ``action``.
    :param ops: the conditions or actions of this engine, by name.
    :param only_known: whether to reject keys of a condition that
        ironic-inspector ignored.
    :returns: the operation, which is empty if it cannot be translated; and its
        problems, with pointers into the given operation.
    """
    if not isinstance(operation, dict):
        return {}, [Problem('', _('must be a mapping'))]
    name = operation.get(name_key)
    op = ops.get(f'{PREFIX}{name}')
    if not isinstance(name, str) or op is None:
        # List the known names in the message.
        names_of_inspector = []
        for op_name in ops:
            if op_name.startswith(PREFIX):
                names_of_inspector.append(op_name.removeprefix(PREFIX))
        problem = suggestion.choice_problem(
            f'/{name_key}', name, sorted(names_of_inspector)
        )
        return {}, [problem]
    # All other keys of the operation are parameters.
    parameters = {}
    for key, value in operation.items():
        if key != name_key:
            parameters[key] = value
    args, problems = _translate_parameters(op, parameters, only_known)
    return {'op': op.name, 'args': args}, problems


def _translate_parameters(
    op: registry.Op, parameters: Operation, only_known: bool
) -> tuple[Operation, list[Problem]]:
    """Return the arguments of an op for the parameters of an operation.

    * A parameter becomes the argument of the same name, but ``key`` becomes
      ``path``.
    * An unknown parameter that is null is left out.
    * Other unknown parameters become an argument, ``{'ignored': {'a': 1}}``,
      if the op has this argument. Otherwise they keep their names, so that
      validation rejects them.

    :param op: the op of the translated operation.
    :param parameters: the values by their names in ironic-inspector.
    :param only_known: whether to reject unknown parameters even if the op
        has the argument ``ignored``.
    :returns: the arguments by name, and the problems of the parameters.
    """
    declared = op.signature.by_name
    ignores_unknown = IGNORED in declared and not only_known
    problems = []
    args: Operation = {}
    ignored = {}
    for name, value in parameters.items():
        argument = name
        if _OLDER_ARGUMENTS.get(name) in declared:
            argument = _OLDER_ARGUMENTS[name]
        is_known = argument in declared and argument != IGNORED
        if is_known:
            pointer = data_path.pointer([name])
            if argument in args:
                text = _('argument "%s" is given twice') % argument
                problems.append(Problem(pointer, text))
            elif value is None and _must_not_be_null(op, argument):
                problems.append(Problem(pointer, _('must not be null')))
            args[argument] = value
        elif value is None:
            # In ironic-inspector, null meant the same as no value.
            continue
        elif ignores_unknown:
            ignored[name] = value
        else:
            # Validation rejects it.
            args[name] = value
    if ignored:
        args[IGNORED] = ignored
    return args, problems


def _must_not_be_null(op: registry.Op, argument: str) -> bool:
    """Return whether an argument must have a value other than null."""
    is_required = op.signature.by_name[argument].required
    return is_required and (op.name, argument) != _NULLABLE


def restore(
    rule: typing.Any, ops: registry.Registry
) -> dict[str, list[Operation]] | None:
    """Translate conditions and actions back to ironic-inspector's language.

    Clients of ironic-inspector see rules in this language. A rule with vars,
    or in a mode other than ``enforce``, cannot be expressed in it. Priority
    and phase cannot either, but they are left out, because they only determine
    when a rule acts.

    :param rule: an object with ``conditions``, ``actions``, ``mode`` and
        ``vars``.
    :param ops: all ops of this engine.
    :returns: ``{'conditions': […], 'actions': […]}``; None if the language
        cannot express the rule.
    """
    if rule.mode != model.ENFORCE or rule.vars:
        return None
    conditions = []
    for operation in rule.conditions:
        old_condition = _restore_operation(operation, 'op', ops.conditions)
        if old_condition is None:
            return None
        # The API of ironic-inspector also shows arguments with defaults.
        conditions.append({**_CONDITION_DEFAULTS, **old_condition})
    actions = []
    for operation in rule.actions:
        old_action = _restore_operation(operation, 'action', ops.actions)
        if old_action is None:
            return None
        actions.append(old_action)
    return {'conditions': conditions, 'actions': actions}


def _restore_operation(
    operation: Operation, name_key: str, ops: typing.Mapping[str, registry.Op]
) -> Operation | None:
    """Translate an operation back to ironic-inspector's language.

    ``{'op': 'inspector-eq', 'args': {'field': 'cpus', 'value': 8}}`` becomes
    ``{'op': 'eq', 'field': 'cpus', 'value': 8}``.

    :param name_key: the key for the name of the operation: ``op`` or
        ``action``.
    :param ops: the conditions or actions of this engine, by name.
    :returns: None if the language has no such op, or if the operation has a
        loop or conditions of its own.
    """
    name = operation['op']
    if not name.startswith(PREFIX) or name not in ops:
        return None
    has_loop = operation.get('loop') is not None
    # An empty list of conditions has no effect, so it can be left out.
    has_conditions = bool(operation.get('when'))
    if has_loop or has_conditions:
        return None
    # The arguments may be written as a list. This returns them by name.
    args, _problems = ops[name].signature.bind(operation.get('args'))
    ignored = args.pop(IGNORED, None) or {}
    restored = {name_key: name.removeprefix(PREFIX), **args, **ignored}
    if operation.get('revert') is not None:
        restored['revert'] = operation['revert']
    return restored
