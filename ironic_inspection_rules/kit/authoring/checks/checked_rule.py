# SPDX-License-Identifier: Apache-2.0

"""The rules that are checked."""

import dataclasses
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_file import file_rule

_PLAIN = ('description', 'scope', 'phase', 'sensitive')
_IN_ARGUMENT = re.compile(r'/(?:conditions|actions)/\d+'
                          r'(?:/(?:conditions|when)/\d+)*/args/.')

Found = typing.Iterator[tuple[str, str]]
"""Where in a rule something is, as a JSON pointer, and one sentence."""


@dataclasses.dataclass(frozen=True)
class CheckedRule:
    """A rule with what its author wrote.

    ``problems`` are those for which it would be refused; what is at fault is
    left out of the rest, as far as it has to be.
    """

    written: file_rule.WrittenRule
    rule: model.Rule
    conditions: list[file_rule.Operation]
    actions: list[file_rule.Operation]
    problems: tuple[exceptions.Problem, ...] = ()

    @property
    def operations(self) -> list[file_rule.Operation]:
        """All conditions, then the actions."""
        return [*self.all_conditions, *self.actions]

    @property
    def all_conditions(self) -> list[file_rule.Operation]:
        """The conditions, also those in groups and of actions."""
        return [each for condition in [*self.conditions, *(
                    when for action in self.actions for when in action.inner)]
                for each in condition.all]


FoundTogether = typing.Iterator[tuple[CheckedRule, str, str]]
"""In which of several rules something is, then as :data:`Found`."""


def texts(value: typing.Any, pointer: str = '') -> Found:
    """Find the texts in a value, each with its place."""
    for path, each in data_path.walk(value):
        if isinstance(each, str):
            yield pointer + data_path.pointer(path), each


def of(written: file_rule.WrittenRule, ops: registry.Registry) -> CheckedRule:
    """Parse a written rule, or what can be checked beside its problems."""
    try:
        rule = file_rule.parse(written.entry, ops)
    except exceptions.InvalidRule as exc:
        problems = exc.problems
    else:
        return CheckedRule(written, rule, *file_rule.operations(rule, ops))
    entry = written.entry if isinstance(written.entry, dict) and (
        not written.is_old) else {}
    bad = {each.pointer.split('/')[1] for each in problems
           if each.pointer.count('/') == 1}
    # An argument with a problem is looked at all the same.
    broken = frozenset('/'.join(each.pointer.split('/')[:3])
                       for each in problems
                       if not _IN_ARGUMENT.match(each.pointer))
    fields = {name: entry.get(name) for name in _PLAIN
              if name not in bad and entry.get(name) is not None}
    # Nobody knows what a value with a problem is, but it is there.
    made = entry.get(model.VARS)
    fields[model.VARS] = {
        name: None if any(f'{each.pointer}/'.startswith(
            f'{data_path.pointer([model.VARS, name])}/') for each in problems)
        else value for name, value in (
            made if isinstance(made, dict) else {}).items()}
    rule = model.Rule.from_mapping({
        'uuid': '', **fields, 'conditions': [], 'actions': []})
    conditions, actions = (
        file_rule.read(entry[name] if isinstance(entry.get(name), list)
                       else [], f'/{name}', ops, inside, skip=broken)
        for name, inside in (('conditions', 'conditions'),
                             ('actions', 'when')))
    return CheckedRule(written, rule, conditions, actions, problems)
