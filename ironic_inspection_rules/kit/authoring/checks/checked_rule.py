# SPDX-License-Identifier: Apache-2.0

"""Rules in the form that the checks of lint need, even if they are invalid.

A rule that validation would refuse still has parts that can be checked.
Therefore a :class:`CheckedRule` has both the rule as its author wrote it and
the parts that can be read. An operation is a condition or an action. A place
in a rule is a JSON pointer, e.g. ``/conditions/0/args/values``. Checks yield
mistakes: pairs of a place and a sentence.
"""

import dataclasses
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_file import file_rule

# Fields with a single value. They are kept if they have no problem.
_PLAIN = ('description', 'scope', 'phase', 'sensitive')
# A pointer into an argument, including arguments in groups and in "when".
_IN_ARGUMENT = re.compile(
    r'/(?:conditions|actions)/\d+'
    r'(?:/(?:conditions|when)/\d+)*/args/.'
)

Mistakes = typing.Iterator[tuple[str, str]]
"""Pairs of the place of a mistake in a rule, as a JSON pointer, and a
sentence."""

PlacedTexts = typing.Iterator[tuple[str, str]]
"""Pairs of the place of a text in a rule, as a JSON pointer, and the text."""


@dataclasses.dataclass(frozen=True)
class CheckedRule:
    """A valid or invalid rule of a file.

    :ivar written: the rule as its author wrote it.
    :ivar rule: the rule without its parts that have problems.
    :ivar conditions: the conditions that can be read, including those whose
        arguments have problems.
    :ivar actions: the actions that can be read, likewise.
    :ivar problems: the problems because of which the rule would be refused.
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
        """All conditions of the rule and of its actions.

        A group is followed by the conditions in it.
        """
        outermost = list(self.conditions)
        for action in self.actions:
            outermost += action.inner
        conditions: list[file_rule.Operation] = []
        for condition in outermost:
            conditions += condition.all
        return conditions


MistakesOfRules = typing.Iterator[tuple[CheckedRule, str, str]]
"""Triples of the rule with a mistake, the place in it as a JSON pointer, and a
sentence."""


def texts(value: typing.Any, pointer: str = '') -> PlacedTexts:
    """Yield all texts inside a value, with their places.

    :param pointer: the place of the value.
    """
    for path, inner in data_path.walk(value):
        if isinstance(inner, str):
            yield pointer + data_path.pointer(path), inner


def build(
    written: file_rule.WrittenRule, ops: registry.Registry
) -> CheckedRule:
    """Return a written rule in the form that the checks need.

    For a rule that would be refused, the result has the fields and variables
    without problems, and the operations that can be read. Its UUID is empty,
    and its priority and mode are the defaults.

    :param ops: the ops that the rule may use.
    """
    try:
        rule = file_rule.parse(written.entry, ops)
    except exceptions.InvalidRule as exc:
        return _read_refused_rule(written, ops, exc.problems)
    conditions, actions = file_rule.operations(rule, ops)
    return CheckedRule(written, rule, conditions, actions)


def _read_refused_rule(
    written: file_rule.WrittenRule,
    ops: registry.Registry,
    problems: tuple[exceptions.Problem, ...],
) -> CheckedRule:
    """Return a rule that is refused, with the parts that can be read.

    Its ``rule`` has an empty UUID, and neither conditions nor actions, because
    some of them may be unreadable. The readable ones are separate attributes.
    """
    entry: typing.Mapping[str, typing.Any] = {}
    if isinstance(written.entry, dict) and not written.is_of_inspector:
        entry = written.entry
    rule = model.Rule.from_mapping(
        {
            'uuid': '',
            **_without_faulty_fields(entry, problems),
            model.VARS: _blank_faulty_vars(entry.get(model.VARS), problems),
            'conditions': [],
            'actions': [],
        }
    )
    # The operations that cannot be read. If only an argument has a problem,
    # the operation can be read.
    unreadable = frozenset(
        _pointer_to_operation(problem.pointer)
        for problem in problems
        if not _IN_ARGUMENT.match(problem.pointer)
    )
    conditions = file_rule.read_conditions(
        _list_at(entry, 'conditions'), '/conditions', ops, skip=unreadable
    )
    actions = file_rule.read_actions(
        _list_at(entry, 'actions'), ops, skip=unreadable
    )
    return CheckedRule(written, rule, conditions, actions, problems)


def _list_at(
    entry: typing.Mapping[str, typing.Any], name: str
) -> list[typing.Any]:
    """Return the list in a field of a rule; an empty list for other values.

    If the field has another value, that is already one of the rule's problems.
    """
    value = entry.get(name)
    if not isinstance(value, list):
        return []
    return value


def _without_faulty_fields(
    entry: typing.Mapping[str, typing.Any],
    problems: typing.Iterable[exceptions.Problem],
) -> dict[str, typing.Any]:
    """Return the fields in ``_PLAIN`` that a rule has and that are valid.

    :param entry: the rule as its author wrote it.
    :param problems: the problems of the whole rule. The problem of a field has
        a pointer such as ``/scope``.
    """
    faulty_names = {problem.pointer.removeprefix('/') for problem in problems}
    fields = {}
    for name in _PLAIN:
        value = entry.get(name)
        if value is not None and name not in faulty_names:
            fields[name] = value
    return fields


def _blank_faulty_vars(
    own_vars: typing.Any, problems: typing.Sequence[exceptions.Problem]
) -> dict[str, typing.Any]:
    """Return the variables of a rule, with None for each faulty value.

    The name is kept, because otherwise every field that reads the variable
    would also be reported as missing.

    :param own_vars: the variables as they are written, of any type.
    """
    if not isinstance(own_vars, dict):
        return {}
    values: dict[str, typing.Any] = {}
    for name, value in own_vars.items():
        if _has_problem_at(data_path.pointer([model.VARS, name]), problems):
            values[name] = None
        else:
            values[name] = value
    return values


def _has_problem_at(
    pointer: str, problems: typing.Iterable[exceptions.Problem]
) -> bool:
    """Return whether a value, or a value inside it, has a problem."""
    for problem in problems:
        is_inside = problem.pointer.startswith(f'{pointer}/')
        if problem.pointer == pointer or is_inside:
            return True
    return False


def _pointer_to_operation(pointer: str) -> str:
    """Return the pointer to the condition or action around a place.

    For ``/actions/0/args/name`` this is ``/actions/0``.
    """
    return '/'.join(pointer.split('/')[:3])
