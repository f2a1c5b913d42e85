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

import dataclasses
import math
import re
import typing

from oslo_utils import strutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import operation_check
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

MAX_TEXT = 255
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
    :raises: :class:`.exceptions.InvalidRule` with all problems.
    """
    problems = validate(rule, ops, built_in)
    if problems:
        raise exceptions.InvalidRule(problems)
    fields = {name: _READERS.get(name, _as_it_is)(value)
              for name, value in rule.items() if value is not None}
    return model.Rule.from_mapping({**fields, 'built_in': built_in})


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
    if not isinstance(rule, dict):
        return [Problem('', _('a rule must be a mapping'))]
    try:
        budget.Budget(_LIMITS).write(rule, 0)
    except exceptions.BudgetExceeded as exc:
        return [Problem('', str(exc))]
    problems = [
        Problem(data_path.pointer([name]),
                suggestion.unknown(_('field'), str(name), model.WRITABLE))
        for name in rule if name not in model.WRITABLE]
    problems += _check_fields(rule, built_in)
    early = rule.get('phase') == model.EARLY
    if early and rule.get('scope'):
        problems.append(Problem(
            '/scope', _('there is no node in the early phase')))
    problems += operation_check.check_all(
        rule, 'conditions',
        lambda each: operation_check.check_condition(each, ops))
    if not rule.get('actions') and rule.get('actions') in (None, []):
        problems.append(Problem(
            '/actions', _('at least one action is required')))
    problems += operation_check.check_all(
        rule, 'actions',
        lambda each: operation_check.check_action(each, ops, early))
    return problems


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
