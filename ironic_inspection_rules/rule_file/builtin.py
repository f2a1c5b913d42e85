# SPDX-License-Identifier: Apache-2.0

"""Built-in rules: those an operator keeps in a YAML file.

They are read once when a service starts, are never in the database and
cannot be changed through the API (spec 003 "Built-in rules").
"""

import dataclasses
import json
import typing
import uuid

from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.legacy import translate
from ironic_inspection_rules.rule_file import document

_NAMESPACE = uuid.UUID('5c3c4d5a-9f0e-5d0b-8d6a-0d6f3c1f7a10')

_NAMES = {'conditions': _('condition %d'), 'actions': _('action %d'),
          'when': _('when %d')}


def load(path: str, ops: registry.Registry) -> tuple[model.Rule, ...]:
    """Read all rules of a file, in its order.

    A rule whose ``uuid`` is a plain name, or which has none, gets a UUID
    that stays the same as long as its name, or its content, does.

    :param path: a YAML file with a list of rules, in this language or in
        that of ironic-inspector.
    :raises: :class:`.exceptions.InvalidDocument` with the file, and
        where it is one rule's fault, the rule and all its problems.
    """
    rules: dict[str, model.Rule] = {}
    for index, entry in enumerate(document.load(path).entries):
        try:
            rule = parse(entry, ops)
        except exceptions.InvalidRule as exc:
            raise exceptions.InvalidDocument(path, str(
                exceptions.InvalidRule(list(map(told, exc.problems)),
                                       label(entry, index)))) from exc
        if rule.uuid in rules:
            raise exceptions.InvalidDocument(
                path, _('rule %(name)s has the UUID %(uuid)s of another one')
                % {'name': label(entry, index), 'uuid': rule.uuid})
        rules[rule.uuid] = rule
    return tuple(rules.values())


def parse(entry: typing.Any, ops: registry.Registry) -> model.Rule:
    """Read one rule of a file.

    :raises: :class:`.exceptions.InvalidRule` with all problems.
    """
    if isinstance(entry, dict):
        given = entry.get('uuid')
        if given is None:
            given = json.dumps(entry, sort_keys=True, default=str)
        if isinstance(given, str) and not uuidutils.is_uuid_like(given):
            entry = {**entry, 'uuid': str(uuid.uuid5(_NAMESPACE, given))}
    if validation.is_old(entry):
        return dataclasses.replace(translate.parse(entry, ops), built_in=True)
    return validation.parse(entry, ops, built_in=True)


def label(entry: typing.Any, index: int) -> str:
    """Return what names a rule of a file to its author.

    :param index: its place in the file, from zero.
    """
    number = f'#{index + 1}'
    if not isinstance(entry, dict):
        return number
    name = entry.get('description') or entry.get('uuid')
    return f'{number} ({name})' if name else number


def told(problem: exceptions.Problem) -> exceptions.Problem:
    """Return a problem with its place as an author counts: from one."""
    return problem._replace(pointer=place_name(problem.pointer))


def place_name(pointer: str) -> str:
    """Return what an author calls a place in a rule.

    ``/conditions/0/conditions/1/args/value`` is ``condition 1.2, value``.
    """
    words: list[str] = []
    tokens = data_path.parse(pointer) if pointer else ()
    while tokens:
        match tokens:
            case (str(name), str(number), *rest) if (
                    name in _NAMES and number.isdecimal()):
                count = int(number) + 1
                if name == 'conditions' and words:
                    words[-1] += f'.{count}'
                else:
                    words.append(_NAMES[name] % count)
            case ('args', str(name), *rest):
                words += [name] if not name.isdecimal() else []
                rest = []
            case (model.VARS, str(name), *rest):
                words.append(f'{model.VARS}.{name}')
            case (str(name), *rest):
                words.append(name)
        tokens = tuple(rest)
    return ', '.join(words)
