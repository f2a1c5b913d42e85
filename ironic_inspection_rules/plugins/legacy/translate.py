# SPDX-License-Identifier: Apache-2.0

"""Translates rules of ironic-inspector to ops of this engine, and back.

A condition or an action of ironic-inspector becomes an op whose name begins
with ``inspector-`` and whose arguments are the words of ironic-inspector. So
nothing is lost, and the original form can be restored at any time::

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
from ironic_inspection_rules.plugins.legacy import condition

Problem = exceptions.Problem
Operation = dict[str, typing.Any]

PREFIX = 'inspector-'
IGNORED = condition.IGNORED

# Blueprint 000 calls a path a key.
_OLDER_ARGUMENTS = {'key': 'path'}
# The only required argument that may be null.
_NULLABLE = ('inspector-set-attribute', 'value')

_FIELDS = ('uuid', 'description', 'scope', 'conditions', 'actions', 'links')
"""The fields of a rule in the API of ironic-inspector."""


def parse(
    rule: typing.Any, ops: registry.Registry, only_known: bool = False
) -> model.Rule:
    """Return a rule of ironic-inspector as a rule of this engine, checked.

    :param rule: a mapping with ``uuid``, ``description``, ``scope``,
        ``conditions`` and ``actions``.
    :param only_known: whether keys of the rule and of its conditions that
        ironic-inspector ignored are refused.
    :raises: :class:`.exceptions.InvalidRule` with all problems, and pointers
        into the rule as it was given.
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
        problems += _find_unknown_fields(rule)
    for name, translate in (
        ('conditions', _translate_condition),
        ('actions', _translate_action),
    ):
        operations = rule.get(name, [])
        if not isinstance(operations, list):
            problems.append(Problem(f'/{name}', _('must be a list')))
            continue
        fields[name] = []
        for index, operation in enumerate(operations):
            new_operation, problems_of_operation = translate(
                operation, ops, only_known
            )
            fields[name].append(new_operation)
            for problem in problems_of_operation:
                problems.append(problem.below(f'/{name}/{index}'))
    problems += list(_check_translated(fields, ops, problems))
    if problems:
        raise exceptions.InvalidRule(exceptions.first_of(problems))
    return validation.parse(fields, ops)


def _check_translated(
    fields: dict[str, typing.Any],
    ops: registry.Registry,
    problems: typing.Sequence[Problem],
) -> typing.Iterator[Problem]:
    """Yield the problems of a translated rule, at places in the old rule.

    :param problems: the problems of the translation. An operation that has any
        is not checked: its author would not understand further problems.
    """
    places_with_problems = {
        _shorten_to_operation(problem.pointer) for problem in problems
    }
    for problem in validation.validate(fields, ops):
        if _shorten_to_operation(problem.pointer) not in places_with_problems:
            # ironic-inspector has the arguments in the operation itself.
            pointer = problem.pointer.replace('/args', '', 1)
            yield problem.at(pointer)


def _find_unknown_fields(rule: dict[typing.Any, typing.Any]) -> list[Problem]:
    """Return the problems of fields that ironic-inspector would ignore.

    They are errors only for callers with ``only_known``.

    :param rule: the rule of ironic-inspector.
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


def _shorten_to_operation(pointer: str) -> str:
    """Shorten ``/actions/0/args/path`` to its operation, ``/actions/0``."""
    return '/'.join(pointer.split('/')[:3])


def _translate_condition(
    operation: typing.Any, ops: registry.Registry, only_known: bool
) -> tuple[Operation, list[Problem]]:
    """Translate a condition of ironic-inspector.

    :param only_known: whether keys that ironic-inspector ignored are refused.
    :returns: the condition, empty if it cannot be translated; and its
        problems.
    """
    new_condition, problems = _translate_operation(
        operation, 'op', ops.conditions, only_known
    )
    args = new_condition.get('args', {})
    # ironic-inspector refused such values. This engine would not: it converts
    # them to text or a boolean, and takes null for an argument left out.
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

    :returns: the action, empty if it cannot be translated; and its problems.
    """
    new_action, problems = _translate_operation(
        operation, 'action', ops.actions, only_known
    )
    # To this engine it is no argument, but a key of the action.
    if 'revert' in new_action.get('args', {}):
        new_action['revert'] = new_action['args'].pop('revert')
    return new_action, problems


def _translate_operation(
    operation: typing.Any,
    word: str,
    ops: typing.Mapping[str, registry.Op],
    only_known: bool,
) -> tuple[Operation, list[Problem]]:
    """Translate a condition or an action of ironic-inspector.

    :param word: the key with its name there: ``op`` or ``action``.
    :param only_known: whether keys of a condition that ironic-inspector
        ignored are refused.
    :returns: the operation, empty if it cannot be translated; and its
        problems, with pointers into the operation as it was given.
    """
    if not isinstance(operation, dict):
        return {}, [Problem('', _('must be a mapping'))]
    name = operation.get(word)
    op = ops.get(f'{PREFIX}{name}')
    if not isinstance(name, str) or op is None:
        known_names = []
        for op_name in ops:
            if op_name.startswith(PREFIX):
                known_names.append(op_name.removeprefix(PREFIX))
        return {}, [
            suggestion.not_one_of_at(f'/{word}', name, sorted(known_names))
        ]
    values = {}
    for key, value in operation.items():
        if key != word:
            values[key] = value
    args, problems = _translate_arguments(op, values, only_known)
    return {'op': op.name, 'args': args}, problems


def _translate_arguments(
    op: registry.Op, values: Operation, only_known: bool
) -> tuple[Operation, list[Problem]]:
    """Return the arguments of an op for the parameters of an operation.

    :param values: by the names that ironic-inspector has for them.
    :param only_known: whether to refuse unknown parameters; otherwise they
        are kept under :data:`IGNORED`, if the op has that argument.
    :returns: the arguments, unknown ones as well, which validation refuses;
        and the problems of the parameters.
    """
    declared = op.signature.by_name
    ignores_unknown = IGNORED in declared and not only_known
    problems = []
    args: Operation = {}
    ignored = {}
    for key, value in values.items():
        argument = key
        if _OLDER_ARGUMENTS.get(key) in declared:
            argument = _OLDER_ARGUMENTS[key]
        is_known = argument in declared and argument != IGNORED
        if not is_known:
            if value is None:
                # Null meant the same as no value, so it is no error that the
                # operation has no such argument.
                continue
            if ignores_unknown:
                ignored[key] = value
                continue
        pointer = data_path.pointer([key])
        may_be_null = (op.name, argument) == _NULLABLE
        if argument in args:
            text = _('argument "%s" is given twice') % argument
            problems.append(Problem(pointer, text))
        elif value is None and declared[argument].required and not may_be_null:
            problems.append(Problem(pointer, _('must not be null')))
        args[argument] = value
    if ignored:
        args[IGNORED] = ignored
    return args, problems


def restore(
    rule: typing.Any, ops: registry.Registry
) -> dict[str, list[Operation]] | None:
    """Translate conditions and actions back to ironic-inspector's language.

    Its clients see rules in this language, where every rule acts and has no
    vars. Priority and phase only say when it acts.

    :param rule: has the attributes ``conditions``, ``actions``, ``mode`` and
        ``vars``.
    :returns: conditions and actions, by name, or None if that language
        cannot express the rule.
    """
    if rule.mode != model.ENFORCE or rule.vars:
        return None
    conditions = []
    for operation in rule.conditions:
        restored = _restore_operation(operation, 'op', ops.conditions)
        if restored is None:
            return None
        # The API of ironic-inspector showed the defaults.
        conditions.append({'multiple': 'any', 'invert': False, **restored})
    actions = []
    for operation in rule.actions:
        action = _restore_operation(operation, 'action', ops.actions)
        if action is None:
            return None
        actions.append(action)
    return {'conditions': conditions, 'actions': actions}


def _restore_operation(
    operation: Operation, word: str, ops: typing.Mapping[str, registry.Op]
) -> Operation | None:
    """Translate an operation back to ironic-inspector's language.

    :param word: the key with its name there: ``op`` or ``action``.
    :returns: None if that language has no such op, or the operation has a loop
        or conditions of its own.
    """
    name = operation['op']
    if not name.startswith(PREFIX) or name not in ops:
        return None
    # An empty list of conditions says nothing, and is left out.
    if operation.get('loop') is not None or operation.get('when'):
        return None
    args, _problems = ops[name].signature.bind(operation.get('args'))
    ignored = args.pop(IGNORED, None) or {}
    restored = {word: name.removeprefix(PREFIX), **args, **ignored}
    if operation.get('revert') is not None:
        restored['revert'] = operation['revert']
    return restored
