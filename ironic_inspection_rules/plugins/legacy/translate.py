# SPDX-License-Identifier: Apache-2.0

"""Translate rules of ironic-inspector to ops of this engine, and back.

A condition or an action of the old language becomes an op whose name begins
with ``inspector-`` and whose arguments are the old words. So nothing is lost,
and the old form can be restored at any time::

    {'op': 'eq', 'field': 'memory_mb', 'value': 4096, 'invert': True}
    {'op': 'inspector-eq',
     'args': {'field': 'memory_mb', 'value': 4096, 'invert': True}}
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem
Operation = dict[str, typing.Any]

PREFIX = 'inspector-'

# Blueprint 000 calls a path a key.
_OLDER_ARGUMENTS = {'key': 'path'}
# The only required argument that may be null.
_NULLABLE = ('set-attribute', 'value')

_FIELDS = ('uuid', 'description', 'scope', 'conditions', 'actions', 'links')
"""The fields of a rule in the API of ironic-inspector."""


def parse(
    rule: typing.Any, ops: registry.Registry, only_known: bool = False
) -> model.Rule:
    """Return a rule of the old language as a rule of this engine, checked.

    :param rule: a mapping with ``uuid``, ``description``, ``scope``,
        ``conditions`` and ``actions``.
    :param only_known: whether other keys are refused; ironic-inspector's API
        ignores them.
    :raises: :class:`.exceptions.InvalidRule` with all problems, and pointers
        into the old rule.
    """
    if not isinstance(rule, dict):
        raise exceptions.InvalidRule(
            [Problem('', _('a rule must be a mapping'))]
        )
    fields: dict[str, typing.Any] = {}
    for name in ('uuid', 'description', 'scope'):
        # Any empty value, such as "", meant the same as none.
        fields[name] = rule.get(name) or None
    problems: list[Problem] = []
    if only_known:
        problems += _unknown_fields(rule)
    for name, translate in (('conditions', _condition), ('actions', _action)):
        operations = rule.get(name, [])
        if not isinstance(operations, list):
            problems.append(Problem(f'/{name}', _('must be a list')))
            continue
        fields[name] = []
        for index, operation in enumerate(operations):
            translated, problems_of_operation = translate(operation, ops)
            fields[name].append(translated)
            for problem in problems_of_operation:
                problems.append(problem.below(f'/{name}/{index}'))
    places_with_problems = {
        _operation_of(problem.pointer) for problem in problems
    }
    for problem in validation.validate(fields, ops):
        # What could not be translated has problems that its author would not
        # understand, beside the one that is reported already.
        if _operation_of(problem.pointer) not in places_with_problems:
            # The old language has the arguments in the operation itself.
            pointer = problem.pointer.replace('/args', '', 1)
            problems.append(problem.at(pointer))
    if problems:
        raise exceptions.InvalidRule(exceptions.first_of(problems))
    return validation.parse(fields, ops)


def _unknown_fields(rule: dict[typing.Any, typing.Any]) -> list[Problem]:
    """Return the problems of fields that ironic-inspector would ignore.

    They are errors only for callers that ask for that, by ``only_known``.

    :param rule: the rule in the old language.
    """
    kind = _('field of a rule of ironic-inspector')
    problems = []
    for name in rule:
        if name not in _FIELDS:
            pointer = data_path.pointer([name])
            problems.append(
                suggestion.unknown_at(pointer, kind, name, _FIELDS)
            )
    return problems


def _operation_of(pointer: str) -> str:
    """Shorten a pointer to that of an operation or a field of the rule."""
    return '/'.join(pointer.split('/')[:3])


def _condition(
    operation: typing.Any, ops: registry.Registry
) -> tuple[Operation, list[Problem]]:
    """Translate a condition of the old language.

    This engine would convert a field and "invert" of other types, which
    ironic-inspector refused.

    :returns: the condition, empty if it cannot be translated; and its
        problems.
    """
    translated, problems = _operation(operation, 'op', ops.conditions)
    args = translated.get('args', {})
    if not isinstance(args.get('field', ''), str):
        problems.append(Problem('/field', _('must be a string')))
    if not isinstance(args.get('invert', False), bool):
        problems.append(Problem('/invert', _('must be true or false')))
    return translated, problems


def _action(
    operation: typing.Any, ops: registry.Registry
) -> tuple[Operation, list[Problem]]:
    """Translate an action of the old language.

    :returns: the action, empty if it cannot be translated; and its problems.
    """
    translated, problems = _operation(operation, 'action', ops.actions)
    # To this engine it is no argument, but a key of the action.
    if 'revert' in translated.get('args', {}):
        translated['revert'] = translated['args'].pop('revert')
    return translated, problems


def _operation(
    operation: typing.Any, word: str, ops: typing.Mapping[str, registry.Op]
) -> tuple[Operation, list[Problem]]:
    """Translate a condition or an action of the old language.

    :param word: the key with its name there: ``op`` or ``action``.
    :returns: the operation, empty if it cannot be translated; and its
        problems, with pointers into the old operation.
    """
    if not isinstance(operation, dict):
        return {}, [Problem('', _('must be a mapping'))]
    name = operation.get(word)
    op = ops.get(f'{PREFIX}{name}')
    if not isinstance(name, str) or op is None:
        old_names = []
        for op_name in ops:
            if op_name.startswith(PREFIX):
                old_names.append(op_name.removeprefix(PREFIX))
        return {}, [
            suggestion.not_one_of_at(f'/{word}', name, sorted(old_names))
        ]
    declared = op.signature.by_name
    problems = []
    values = {}
    for key, value in operation.items():
        if key != word:
            values[_OLDER_ARGUMENTS.get(key, key)] = value
    args = {}
    for argument, value in values.items():
        if value is None:
            if argument not in declared:
                # Null meant the same as no value, so it is no error that the
                # operation has no such argument.
                continue
            is_nullable = (name, argument) == _NULLABLE
            if declared[argument].required and not is_nullable:
                problems.append(Problem(f'/{argument}', _('must not be null')))
        args[argument] = value
    return {'op': op.name, 'args': args}, problems


def restore(
    rule: typing.Any, ops: registry.Registry
) -> dict[str, list[Operation]] | None:
    """Translate conditions and actions back into the old language.

    Clients of ironic-inspector see the rules so.

    :param rule: has the attributes ``conditions`` and ``actions``.
    :returns: both, by name, or None if the old language cannot express them.
    """
    conditions = []
    for operation in rule.conditions:
        condition = _restore(operation, 'op', ops.conditions)
        if condition is None:
            return None
        # The old API showed the defaults.
        conditions.append({'multiple': 'any', 'invert': False, **condition})
    actions = []
    for operation in rule.actions:
        action = _restore(operation, 'action', ops.actions)
        if action is None:
            return None
        actions.append(action)
    return {'conditions': conditions, 'actions': actions}


def _restore(
    operation: Operation, word: str, ops: typing.Mapping[str, registry.Op]
) -> Operation | None:
    """Translate an operation back into the old language.

    :param word: the key with its name there: ``op`` or ``action``.
    :returns: None if the old language has no such op: neither loops nor
        actions with conditions of their own are in it.
    """
    name = operation['op']
    if not name.startswith(PREFIX) or name not in ops:
        return None
    # An empty list of conditions says nothing, and so gets lost.
    if operation.get('loop') is not None or operation.get('when'):
        return None
    args, _problems = ops[name].signature.bind(operation.get('args'))
    restored = {word: name.removeprefix(PREFIX), **args}
    if operation.get('revert') is not None:
        restored['revert'] = operation['revert']
    return restored
