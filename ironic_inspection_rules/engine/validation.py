# SPDX-License-Identifier: Apache-2.0

"""Whether a rule is one: all that can be told before a machine comes.

The same checks serve the API, built-in rules and offline tools. They report
every problem with the JSON pointer to it, and change nothing.
"""

import dataclasses
import math
import re
import typing

from oslo_utils import strutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import operation_check
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

MAX_TEXT = 255
MOST_VARS = 100
NAME = r'[A-Za-z0-9_-]{1,255}'
"""What a name of ``vars`` is."""
PRIORITIES = range(10000)

# A file may hold less than it says: aliases of YAML stand for whole values.
_LIMITS = budget.Limits(time=math.inf)

# Characters that no database takes.
_UNSTORABLE = re.compile('[\0\ud800-\udfff]')
_CHOICES = {field.name: field.metadata['choices']
            for field in dataclasses.fields(model.Rule)
            if 'choices' in field.metadata}


def parse(rule: typing.Any, ops: registry.Registry,
          built_in: bool = False) -> model.Rule:
    """Read a rule from what its author wrote.

    :param rule: a mapping as posted to the API or read from a file, with a
        ``uuid``.
    :param ops: the conditions and actions there are.
    :param built_in: whether priorities outside 0 … 9999 are allowed.
    :raises: :class:`.exceptions.InvalidRule` with the first of the problems.
    """
    problems = exceptions.first_of(_problems(rule, ops, built_in))
    if problems:
        raise exceptions.InvalidRule(problems)
    fields = {name: _READERS.get(name, _as_it_is)(value)
              for name, value in rule.items() if value is not None}
    return model.Rule.from_mapping({**fields, 'built_in': built_in})


def is_old(rule: typing.Any) -> bool:
    """Tell whether a rule is in the language of ironic-inspector."""
    return isinstance(rule, dict) and any(
        isinstance(operation, dict) and word in operation
        for name, word in (('conditions', 'field'), ('actions', 'action'))
        if isinstance(rule.get(name), list) for operation in rule[name])


def is_storable(text: str) -> bool:
    """Tell whether every database takes a text."""
    return not _UNSTORABLE.search(text)


def _as_it_is(value: typing.Any) -> typing.Any:
    return value


def _read_mode(value: typing.Any) -> typing.Any:
    # What YAML makes of off.
    return model.OFF if value is False else value


_READERS: dict[str, typing.Callable[[typing.Any], typing.Any]] = {
    'priority': int,
    'sensitive': strutils.bool_from_string,
    'mode': _read_mode,
}


def validate(rule: typing.Any, ops: registry.Registry,
             built_in: bool = False) -> list[Problem]:
    """Return all problems of a rule; see :func:`parse`."""
    return list(_problems(rule, ops, built_in))


def _problems(rule: typing.Any, ops: registry.Registry,
              built_in: bool) -> typing.Iterator[Problem]:
    if not isinstance(rule, dict):
        yield Problem('', _('a rule must be a mapping'))
        return
    try:
        budget.Budget(_LIMITS).write(rule, 0)
    except exceptions.BudgetExceeded as exc:
        yield Problem('', str(exc))
        return
    if is_old(rule):
        yield Problem('', _('this is a rule of ironic-inspector: run '
                            '"ironic-inspection-rules convert" on its file, '
                            'or post it to /v1/rules'))
        return
    yield from _check_numbers(rule, ())
    for name in rule:
        if name not in model.WRITABLE:
            yield Problem(
                data_path.pointer([name]),
                suggestion.unknown(_('field'), str(name), model.WRITABLE))
    yield from _check_fields(rule, built_in)
    yield from _check_vars(rule.get(model.VARS))
    early = rule.get('phase') == model.EARLY
    if early and rule.get('scope'):
        yield Problem('/scope', _('there is no node in the early phase'))
    yield from operation_check.check_all(
        rule, 'conditions',
        lambda each: operation_check.check_condition(each, ops, early))
    if not rule.get('actions') and rule.get('actions') in (None, []):
        yield Problem('/actions', _('at least one action is required'))
    yield from operation_check.check_all(
        rule, 'actions',
        lambda each: operation_check.check_action(each, ops, early))
    if early:
        for name in model.HIDDEN:
            yield from _fields_of_node(rule.get(name), f'/{name}')


def _check_numbers(value: typing.Any, where: data_path.Path
                   ) -> typing.Iterator[Problem]:
    """Return the places of numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        yield Problem(data_path.pointer(where), _('must be a finite number'))
    elif isinstance(value, list | dict):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inner:
            yield from _check_numbers(each, (*where, str(key)))


def _check_vars(values: typing.Any) -> typing.Iterator[Problem]:
    if values is None:
        return
    if not isinstance(values, dict) or len(values) > MOST_VARS:
        yield Problem(f'/{model.VARS}', _('must be a mapping of at most %d '
                                          'names to values') % MOST_VARS)
        return
    for name, value in values.items():
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            yield Problem(f'/{model.VARS}', _(
                'the name %s must be made of letters, digits, "_" and "-"')
                % suggestion.quoted(name))
            continue
        try:
            template.compile_value(value)
        except exceptions.OperationError as exc:
            yield Problem(f'/{model.VARS}/{name}', str(exc))


def _fields_of_node(value: typing.Any,
                    pointer: str) -> typing.Iterator[Problem]:
    """Yield the fields that a rule of the early phase cannot have."""
    if isinstance(value, dict | list):
        for key, item in (value.items() if isinstance(value, dict)
                          else enumerate(value)):
            yield from _fields_of_node(key, pointer)
            yield from _fields_of_node(
                item, pointer + data_path.pointer([key]))
        return
    ahead = interpolation.fields(value)
    while ahead:
        field = ahead.pop(0)
        if field.root in interpolation.OF_NODE:
            yield Problem(pointer, _('{%s} needs a node; there is none in the '
                                     'early phase') % field.text)
        for call in field.filters:
            ahead += [argument for _name, argument in call.arguments
                      if isinstance(argument, interpolation.Field)]


def _check_fields(rule: dict[str, typing.Any],
                  built_in: bool) -> typing.Iterator[Problem]:
    uuid = rule.get('uuid')
    if uuid is not None and not (
            isinstance(uuid, str) and uuidutils.is_uuid_like(uuid)):
        yield Problem('/uuid', _('must be a UUID, not %s')
                      % suggestion.quoted(uuid))
    for name in ('description', 'scope'):
        text = rule.get(name)
        if text is not None and not (
                isinstance(text, str) and len(text) <= MAX_TEXT):
            yield Problem(f'/{name}', _('must be a string of at most %d '
                                        'characters') % MAX_TEXT)
        elif text and not is_storable(text):
            yield Problem(f'/{name}', _('must not hold the characters NUL '
                                        'and U+D800 to U+DFFF'))
    if not _is_priority(rule.get('priority'), built_in):
        kind = _('an integer') if built_in else (
            _('an integer from 0 to %d') % PRIORITIES[-1])
        yield Problem('/priority',
                      operation_check.must_be(kind, rule['priority']))
    if not operation_check.is_boolean(rule.get('sensitive')):
        yield Problem('/sensitive', operation_check.must_be(
            _('true or false'), rule['sensitive']))
    for name, choices in _CHOICES.items():
        value = _READERS.get(name, _as_it_is)(rule.get(name))
        if value is not None and value not in choices:
            yield Problem(f'/{name}', suggestion.not_one_of(value, choices))


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
