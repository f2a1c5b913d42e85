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

"""Whether a rule is one: all that can be told before a machine comes.

The same checks serve the API, built-in rules and offline tools. They report
every problem with the JSON pointer to it, and change nothing.
"""

import re
import typing

from oslo_utils import strutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

MAX_TEXT = 255
PRIORITIES = range(10000)

# Characters that no database takes.
_UNSTORABLE = re.compile('[\0\ud800-\udfff]')
_FIELDS = ('uuid', 'description', 'priority', 'scope', 'sensitive', 'phase',
           'conditions', 'actions')
_OPERATION_KEYS = ('op', 'args', 'loop')


def parse(rule: typing.Any, ops: registry.Registry,
          built_in: bool = False) -> model.Rule:
    """Read a rule from what its author wrote.

    :param rule: a mapping as posted to the API or read from a file, with a
        ``uuid``.
    :param ops: the conditions and actions there are.
    :param built_in: whether priorities outside 0 … 9999 are allowed.
    :raises: :class:`.exceptions.InvalidRule` with all problems.
    """
    problems = validate(rule, ops, built_in)
    if problems:
        raise exceptions.InvalidRule(problems)
    fields = {name: value for name, value in rule.items() if name in _FIELDS}
    if fields.get('priority') is not None:
        fields['priority'] = int(fields['priority'])
    if fields.get('sensitive') is not None:
        fields['sensitive'] = strutils.bool_from_string(fields['sensitive'])
    return model.Rule.from_mapping({**fields, 'built_in': built_in})


def validate(rule: typing.Any, ops: registry.Registry,
             built_in: bool = False) -> list[Problem]:
    """Return all problems of a rule; see :func:`parse`."""
    if not isinstance(rule, dict):
        return [Problem('', _('a rule must be a mapping'))]
    problems = [Problem(data_path.pointer([name]), _('unknown field'))
                for name in rule if name not in _FIELDS]
    problems += _check_fields(rule, built_in)
    early = rule.get('phase') == model.EARLY
    if early and rule.get('scope'):
        problems.append(Problem(
            '/scope', _('there is no node in the early phase')))
    problems += _check_operations(
        rule, 'conditions', lambda each: _check_condition(each, ops))
    if not rule.get('actions') and rule.get('actions') in (None, []):
        problems.append(Problem(
            '/actions', _('at least one action is required')))
    problems += _check_operations(
        rule, 'actions', lambda each: _check_action(each, ops, early))
    return problems


def _check_fields(rule: dict[str, typing.Any],
                  built_in: bool) -> typing.Iterator[Problem]:
    uuid = rule.get('uuid')
    if uuid is not None and not (
            isinstance(uuid, str) and uuidutils.is_uuid_like(uuid)):
        yield Problem('/uuid', _('must be a UUID'))
    for name in ('description', 'scope'):
        text = rule.get(name)
        if text is not None and not (
                isinstance(text, str) and len(text) <= MAX_TEXT):
            yield Problem(f'/{name}', _('must be a string of at most %d '
                                        'characters') % MAX_TEXT)
        elif text and _UNSTORABLE.search(text):
            yield Problem(f'/{name}', _('must not hold the characters NUL '
                                        'and U+D800 to U+DFFF'))
    if not _is_priority(rule.get('priority'), built_in):
        yield Problem('/priority', _('must be an integer') if built_in else
                      _('must be an integer from 0 to %d') % PRIORITIES[-1])
    if not _is_boolean(rule.get('sensitive')):
        yield Problem('/sensitive', _('must be true or false'))
    phase = rule.get('phase')
    if phase is not None and phase not in model.PHASES:
        yield Problem('/phase', _('must be one of %s')
                      % ', '.join(model.PHASES))


def _is_priority(value: typing.Any, built_in: bool) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return False
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return built_in or value in PRIORITIES


def _is_boolean(value: typing.Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    return isinstance(value, str) and strutils.is_valid_boolstr(value)


def _check_operations(
        rule: dict[str, typing.Any], name: str,
        check: typing.Callable[[dict[str, typing.Any]],
                               typing.Iterable[Problem]]
) -> typing.Iterator[Problem]:
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


def _check_condition(condition: dict[str, typing.Any],
                     ops: registry.Registry) -> typing.Iterator[Problem]:
    yield from _check_keys(condition, (*_OPERATION_KEYS, 'multiple'))
    multiple = condition.get('multiple')
    if multiple is not None and multiple not in model.MULTIPLE:
        yield Problem('/multiple', _('must be one of %s')
                      % ', '.join(model.MULTIPLE))
    op = condition.get('op')
    if isinstance(op, str):
        name, _inverted = model.split_op(op)
        yield from _check_call(condition, name, ops.conditions)


def _check_action(action: dict[str, typing.Any], ops: registry.Registry,
                  early: bool) -> typing.Iterator[Problem]:
    yield from _check_keys(action, (*_OPERATION_KEYS, 'revert'))
    if not _is_boolean(action.get('revert')):
        yield Problem('/revert', _('must be true or false'))
    op = action.get('op')
    if isinstance(op, str):
        name = op.strip()
        yield from _check_call(action, name, ops.actions)
        known = ops.actions.get(name)
        if known and early and not known.plugin.SUPPORTS_EARLY:
            yield Problem('/op', _('"%s" needs a node; there is none in the '
                                   'early phase') % name)
        if known and known.plugin.revert is None and (
                strutils.bool_from_string(action.get('revert'))):
            yield Problem('/revert', _('"%s" cannot be undone') % name)


def _check_keys(operation: dict[str, typing.Any],
                known: tuple[str, ...]) -> typing.Iterator[Problem]:
    for key in operation:
        if key not in known:
            yield Problem(data_path.pointer([key]), _('unknown key; known: %s')
                          % ', '.join(known))
    if not isinstance(operation.get('op'), str):
        yield Problem('/op', _('the name of an op is required'))
    problem = engine_loop.problem(operation.get('loop'))
    if problem:
        yield Problem('/loop', problem)


def _check_call(operation: dict[str, typing.Any], name: str,
                ops: typing.Mapping[str, registry.Op]
                ) -> typing.Iterator[Problem]:
    op = ops.get(name)
    if op is None:
        yield Problem('/op', registry.unknown_op(name, ops))
        return
    args = operation.get('args')
    bound, problems = op.signature.bind(args)
    literals = {}
    for argument, value in bound.items():
        pointer = _argument_pointer(args, op.signature, argument)
        if argument not in op.plugin.LITERAL:
            value = template.compile_value(value)
            if isinstance(value, template.Template):
                continue
        try:
            literals[argument] = arguments.convert(
                value, op.signature.by_name[argument])
        except exceptions.OperationError as exc:
            problems.append(Problem(pointer, str(exc)))
    for argument, message in op.plugin.problems(literals):
        problems.append(Problem(
            _argument_pointer(args, op.signature, argument), message))
    for problem in problems:
        yield Problem(f'/args{problem.pointer}', problem.message)


def _argument_pointer(args: typing.Any, signature: arguments.Signature,
                      name: str) -> str:
    if isinstance(args, dict):
        return data_path.pointer([name]) if name in args else ''
    names = [argument.name for argument in signature.arguments]
    if signature.by_name[name].variadic or names[0] != name and (
            signature.arguments[0].variadic):
        return ''
    return f'/{names.index(name)}'

