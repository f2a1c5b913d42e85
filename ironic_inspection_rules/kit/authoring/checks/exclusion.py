# SPDX-License-Identifier: Apache-2.0

"""Find conditions that cannot hold together, in one rule or two, for lint.

Only clear cases are found. For example, it is not checked whether some text
matches two regular expressions. There are four ways to find a case:

- One condition is the inversion of the other.
- Their facts contradict each other. A fact says how a field compares with a
  literal, e.g. ``lt 4`` and ``gt 8``; see :mod:`.facts`.
- Both compare the same pair of values with different outcomes, e.g. ``a < b``
  and ``a == b`` for two fields a and b.
- One condition lists the values of a field, e.g. with ``one-of``, and each of
  them makes another condition false.

Rules are decided one after another. An earlier rule may overwrite a field
before a condition of a later rule is decided.
"""

import collections
from collections.abc import Collection, Iterable
import dataclasses
import functools
import itertools
import json
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.rule_file import file_rule

Operation = file_rule.Operation

_EQUAL_WITHOUT_ORDER = 'equal without order'
"""The outcome for two nulls or two equal mappings: neither ``lt`` nor ``le``
holds."""

_ALL_OUTCOMES = frozenset(
    ('less', 'equal', 'greater', _EQUAL_WITHOUT_ORDER, 'unequal')
)
"""The possible outcomes when two values of a machine are compared. For
example, null and a number are ``unequal``."""

_OUTCOMES = {
    'lt': frozenset(('less',)),
    'le': frozenset(('less', 'equal')),
    'gt': frozenset(('greater',)),
    'ge': frozenset(('greater', 'equal')),
    'eq': frozenset(('equal', _EQUAL_WITHOUT_ORDER)),
    'ne': frozenset(('less', 'greater', 'unequal')),
}
"""The outcomes for which a comparison holds, by its op."""


_HOLDS_IF_INVERTED = {'any': 'none', 'none': 'any', 'all': 'not all'}
"""How many conditions of an inverted group must hold."""


class _ComparedPair(typing.NamedTuple):
    """Two values of a rule that are compared, e.g. two fields.

    :ivar kind: ``version-``; ``text`` with ``force_strings``; otherwise empty.
    :ivar left: the value that sorts first, as text, e.g. ``/node/name``.
    :ivar right: the other value, as text.
    """

    kind: str
    left: str
    right: str


_OutcomesByPair = dict[_ComparedPair, frozenset[str]]


class ComparedCondition:
    """A condition with derived facts, cached because it is compared with many.

    Two of them are equal if they mean the same, e.g. ``a < b`` and ``b > a``.

    :param overwritten: names of fields, as :func:`.facts.field_name` returns
        them, that another rule has set before the condition is decided. The
        condition says nothing about the earlier values of these fields.
    """

    def __init__(
        self, operation: Operation, overwritten: Collection[str] = ()
    ) -> None:
        self.operation = operation
        self.overwritten = overwritten
        self.loops = operation.loops
        self.inverted = operation.inverted
        # The results of refuses(), by the field and the value as JSON.
        self._refused: dict[tuple[str, str], bool] = {}

    @functools.cached_property
    def inner(self) -> list['ComparedCondition']:
        """The conditions of a group."""
        return [
            ComparedCondition(operation, self.overwritten)
            for operation in self.operation.inner
        ]

    @functools.cached_property
    def says(self) -> tuple[str, str]:
        """The op of the condition, and its arguments as text.

        Conditions in a group are part of the text. The inversion, the loop and
        ``multiple`` of the condition itself are not.
        """
        name = self.operation.op.name
        arguments = self.operation.arguments
        # "lt" with exchanged sides is "gt". None for ops without sides.
        turned_name = facts.swap_sides(name)
        compared = arguments.get('values')
        if turned_name and isinstance(compared, list) and len(compared) == 2:
            # "a < b" and "b > a" say the same. Use the form that sorts first
            # for both.
            as_written = (name, compared)
            turned = (turned_name, compared[::-1])
            name, compared = min(as_written, turned, key=_as_text)
            arguments = {**arguments, 'values': compared}
        inner = self.operation.written.get('conditions')
        return name, _as_text([arguments, inner])

    @functools.cached_property
    def _form(self) -> tuple[typing.Any, ...]:
        """The whole condition in a form that can be compared and hashed."""
        written = self.operation.written
        return (
            *self.says,
            self.inverted,
            json.dumps(written.get('loop')),
            written.get('multiple') or model.DEFAULT_MULTIPLE,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComparedCondition):
            return NotImplemented
        return self._form == other._form

    def __hash__(self) -> int:
        return hash(self._form)

    @functools.cached_property
    def inverted_pairs(self) -> list['ComparedCondition']:
        """The conditions of which at least one holds if this condition holds.

        For ``!lt: [a, b, c]`` these are ``!lt: [a, b]`` and ``!lt: [b, c]``.
        The list is empty unless the condition is an inverted comparison of
        three or more values.
        """
        if not self.inverted:
            return []
        chain = dataclasses.replace(self.operation, inverted=False)
        pairs = split_into_pairs(chain)
        if len(pairs) < 2:
            return []
        inverted_pairs = []
        for pair in pairs:
            inverted_pair = dataclasses.replace(pair, inverted=True)
            are_literals = not interpolation.fields(pair.arguments)
            if are_literals and (
                result(inverted_pair, inverted_pair.written) is False
            ):
                # This pair of literals never makes the condition hold.
                continue
            compared = ComparedCondition(inverted_pair, self.overwritten)
            inverted_pairs.append(compared)
        return inverted_pairs

    @functools.cached_property
    def opposite(self) -> 'ComparedCondition':
        """The condition with the inversion added or removed."""
        op = self.operation.op.name
        if not self.inverted:
            op = f'!{op}'
        opposite = dataclasses.replace(
            self.operation,
            written={**self.operation.written, 'op': op},
            inverted=not self.inverted,
        )
        return ComparedCondition(opposite, self.overwritten)

    @functools.cached_property
    def missing_field(self) -> interpolation.Field | None:
        """The field that must be missing for the condition to hold.

        For ``!exists: ["{node.name}"]`` this is ``{node.name}``. It is None
        for other conditions, and if another rule has set fields in between.
        """
        if self.operation.op.name != 'exists' or not self.inverted:
            return None
        if self.overwritten:
            return None
        field = interpolation.sole_field(self.operation.arguments['value'])
        if field is None or field.root is None or not field.is_plain:
            return None
        return field

    @functools.cached_property
    def facts(self) -> list[facts.Fact]:
        """The facts about single fields that follow from the condition.

        Facts about overwritten fields are left out.
        """
        return [
            fact
            for fact in facts.implied_by(self.operation)
            if self.is_as_before(fact.field)
        ]

    @functools.cached_property
    def outcomes_by_pair(self) -> '_OutcomesByPair':
        """The possible outcomes per pair of values if the condition holds.

        It is empty for an inverted condition with several pairs, e.g. ``!eq``
        of three values, because it is unknown which pair differs.
        """
        outcomes_by_pair = _find_outcomes_by_pair(self.operation)
        if outcomes_by_pair and self.inverted:
            if len(outcomes_by_pair) > 1:
                return {}
            possible = _list_possible_outcomes(self.operation)
            outcomes_by_pair = {
                pair: possible - outcomes
                for pair, outcomes in outcomes_by_pair.items()
            }
        return {
            pair: outcomes
            for pair, outcomes in outcomes_by_pair.items()
            if self.is_as_before(pair.left) and self.is_as_before(pair.right)
        }

    @functools.cached_property
    def listed_values(self) -> list[tuple[str, list[typing.Any]]]:
        """The fields whose values the condition lists, with these values."""
        listed = []
        for fact in self.facts:
            values = facts.allowed_values(fact)
            if values is not None:
                listed.append((fact.field, values))
        return listed

    def refuses(self, field: str, value: typing.Any) -> bool:
        """Return whether the condition is clearly false for a value.

        For example, ``lt: ["{…cpu.count}", 4]`` refuses 8, and ``matches:
        ["{…vendor}", Lenovo]`` refuses "Dell".

        :param field: the name of the field that has the value, see
            :func:`.facts.field_name`.
        :param value: a listed value, see :attr:`listed_values`.
        """
        key = field, _as_text(value)
        if key not in self._refused:
            self._refused[key] = _refuses(self, field, value)
        return self._refused[key]

    def is_as_before(self, text: str) -> bool:
        """Return whether a value is the same before another rule has run.

        :param text: the name of a field, or a value as JSON.
        """
        if not self.overwritten:
            return True
        if text in self.overwritten:
            return False
        # A longer text with fields may contain any field that is overwritten.
        return facts.is_field(text) or not interpolation.fields(text)

    @functools.cached_property
    def about(self) -> frozenset[typing.Any]:
        """The keys that two conditions must share to exclude one another.

        These are the fields that the condition reads, e.g. ``('node',
        'driver')`` and ``/node/driver``. If it reads no field, the key is
        :attr:`says`.
        """
        names: set[typing.Any] = set()
        for condition in self.operation.all:
            for field in interpolation.fields(condition.arguments):
                if field.root:
                    names.add((field.root, *field.steps))
                else:
                    names.add(field.text)
            for fact in facts.stated_by(condition, looped=True):
                names.add(fact.field)
        if not names:
            names.add(self.says)
        return frozenset(names)


def _as_text(value: typing.Any) -> str:
    """Return a value as JSON, in a form that can be compared and sorted."""
    return json.dumps(value, sort_keys=True, default=str)


def exclude(
    some: Iterable[ComparedCondition], others: Iterable[ComparedCondition]
) -> bool:
    """Return whether it is clear that no machine meets all given conditions.

    It is clear if a condition of the first list and a condition of the second
    list never hold together, or if one condition lists the values of a field
    and each of them makes another condition false. Only conditions on the same
    field are compared, so False does not mean that such a machine exists.
    """
    some = list(some)
    others = list(others)
    # The conditions of the second list, by the fields that they read.
    by_field: dict[typing.Any, set[ComparedCondition]] = (
        collections.defaultdict(set)
    )
    for other in others:
        for field in other.about:
            by_field[field].add(other)
    for condition in some:
        on_same_fields: set[ComparedCondition] = set()
        for field in condition.about:
            on_same_fields |= by_field.get(field, set())
        if any(
            never_hold_together(condition, other) for other in on_same_fields
        ):
            return True
    return _leave_no_value([*some, *others])


def _leave_no_value(conditions: list[ComparedCondition]) -> bool:
    """Return whether each value that a condition lists makes another false.

    For example, ``one-of: ["{…cpu.count}", [4, 8]]`` lists two values. A
    condition ``gt`` 4 on this field refuses 4, and ``ne`` 8 refuses 8.
    """
    for condition in conditions:
        for field, values in condition.listed_values:
            if all(
                any(other.refuses(field, value) for other in conditions)
                for value in values
            ):
                return True
    return False


def never_hold_together(
    first: ComparedCondition, second: ComparedCondition
) -> bool:
    """Return whether it is clear that no machine meets both conditions.

    An example is ``lt: ["{inventory.cpu.count}", 4]`` and ``gt`` with the same
    values.

    Groups are examined by the conditions in them. Other conditions with loops
    are not examined. The remaining conditions are compared in all ways that
    the docstring of this module lists.
    """
    for condition, counterpart in ((first, second), (second, first)):
        op = condition.operation.op.plugin
        if isinstance(op, plugin.ConditionGroup):
            return _never_holds_beside_group(
                group=condition, holds=op.HOLDS, other=counterpart
            )
    if first.loops or second.loops:
        # The two conditions may hold for different items.
        return False
    for condition, counterpart in ((first, second), (second, first)):
        missing_field = condition.missing_field
        if missing_field is not None and not counterpart.overwritten:
            if _is_false_if_missing(counterpart.operation, missing_field):
                return True
        pairs = condition.inverted_pairs
        if pairs and all(
            never_hold_together(pair, counterpart) for pair in pairs
        ):
            # At least one of the pairs holds if the condition holds.
            return True
    reads_overwritten = first.overwritten or second.overwritten
    if first.says == second.says and not reads_overwritten:
        # Without inversion they are the same condition.
        return first.inverted is not second.inverted
    return (
        facts.contradict(first.facts, second.facts)
        or _want_different_outcomes(first, second)
        or _leave_no_value([first, second])
    )


def _is_false_if_missing(
    condition: Operation, missing: interpolation.Field
) -> bool:
    """Return whether a condition is clearly false if a field is missing.

    For example, ``ne: ["{node.name}", a]`` is false if ``{node.name}`` is
    missing.

    :returns: False also if the condition does not read the field.
    """
    missing_steps = (missing.root, *missing.steps)
    # Fields below the missing field are missing too. A field with a filter is
    # not, because the filter may replace a missing value.
    reads_missing = False
    for field in interpolation.fields(condition.templates):
        steps = (field.root, *field.steps)
        if field.is_plain and steps[: len(missing_steps)] == missing_steps:
            reads_missing = True
    op = condition.op.plugin
    if not reads_missing or op.NEEDS_VIEW:
        # An op with NEEDS_VIEW may read any data of the machine.
        return False
    if not op.ACCEPTS_MISSING and not op.SEES_MISSING:
        # Such a condition is false, inverted or not, if any field is missing.
        return True
    # A condition such as "is-true" has a result for a missing field. Without
    # data, all of its fields are missing, so that result is known if it reads
    # no other field.
    reads_others = len(effects.fields_of_operation(condition)) > 1
    return not reads_others and result(condition, condition.written) is False


def split_into_pairs(condition: Operation) -> list[Operation]:
    """Split a condition into comparisons of two values each.

    ``eq: [a, b, 4]`` is split into ``eq: [a, b]`` and ``eq: [b, 4]``. The
    condition holds if all of them hold.

    :returns: only the condition itself if it has fewer than three values, is
        inverted, or has a loop.
    """
    compared = condition.arguments.get('values')
    is_comparison = facts.swap_sides(condition.op.name) is not None
    if not is_comparison or not isinstance(compared, list):
        return [condition]
    if len(compared) < 3 or condition.inverted or condition.loops:
        return [condition]
    parts = []
    for pair in itertools.pairwise(compared):
        arguments = {**condition.arguments, 'values': list(pair)}
        parts.append(
            dataclasses.replace(
                condition,
                written={**condition.written, 'args': arguments},
                arguments=arguments,
            )
        )
    return parts


def _want_different_outcomes(
    first: ComparedCondition, second: ComparedCondition
) -> bool:
    """Return whether two conditions require different outcomes for a pair.

    An example is ``lt: [a, b]`` and ``eq: [b, a, 4]`` for two fields a and b:
    the first condition requires that the pair is ``less``, the second that it
    is ``equal``.
    """
    for pair in {**first.outcomes_by_pair, **second.outcomes_by_pair}:
        first_outcomes = first.outcomes_by_pair.get(pair, _ALL_OUTCOMES)
        second_outcomes = second.outcomes_by_pair.get(pair, _ALL_OUTCOMES)
        if first_outcomes.isdisjoint(second_outcomes):
            return True
    return False


def _find_outcomes_by_pair(condition: Operation) -> _OutcomesByPair:
    """Return the outcomes per pair of values for which a comparison holds.

    For ``le: ["{node.name}", "{node.owner}"]`` these are ``less`` and
    ``equal``, where the name is the left value because it sorts first.

    :returns: an empty mapping if the condition is not a comparison. Inversion
        is ignored.
    """
    kind = _kind_of_comparison(condition)
    name = condition.op.name.removeprefix(plugin.VERSION)
    compared = condition.arguments.get('values')
    if name not in _OUTCOMES or not isinstance(compared, list):
        return {}
    if isinstance(condition.arguments.get('force_strings'), str):
        # A field decides on the machine whether the values compare as text.
        return {}
    written = [_value_as_text(value) for value in compared]
    # A condition compares neighbors.
    pairs = list(itertools.pairwise(written))
    # Comparing versions or texts is transitive, so the first and the last of
    # three values compare as neighbors do. Other values may differ: the text
    # "5" equals 5, and 5 equals the text "5.0".
    are_texts = kind != '' and name != 'ne'
    equal_a_text = name == 'eq' and any(map(_has_one_form, compared))
    if not condition.inverted and (are_texts or equal_a_text):
        pairs = list(itertools.combinations(written, 2))
    elif not condition.inverted and name != 'ne':
        pairs += _list_distant_texts(compared)
    possible = _list_possible_outcomes(condition)
    if kind == plugin.VERSION:
        # No comparison of versions holds for values that are not text. All
        # inverted ones do.
        possible -= {'unequal'}
    outcomes_by_pair: _OutcomesByPair = {}
    for left, right in pairs:
        outcomes = _OUTCOMES[name]
        # The value that sorts first is on the left, so that "a < b" and
        # "b > a" are about the same pair.
        if left > right:
            left, right = right, left
            outcomes = _OUTCOMES[str(facts.swap_sides(name))]
        pair = _ComparedPair(kind, left, right)
        outcomes_by_pair[pair] = outcomes & outcomes_by_pair.get(
            pair, possible
        )
    return outcomes_by_pair


def _list_distant_texts(compared: list[typing.Any]) -> list[tuple[str, str]]:
    """Return the pairs of values that a chain orders through a text.

    In ``lt: ["{node.name}", m, "{node.owner}"]`` both fields must be texts,
    because only texts have an order with the text "m". Texts compare
    transitively, so the name is less than the owner.

    :param compared: the values of a condition such as ``lt``.
    :returns: pairs of values that are not neighbors, as text.
    """
    # Whether the value at a position must be a text, because the value itself
    # or one of its neighbors is a text in the rule.
    must_be_text = []
    for position in range(len(compared)):
        with_neighbors = compared[max(position - 1, 0) : position + 2]
        must_be_text.append(any(map(facts.is_plain_text, with_neighbors)))
    distant = []
    for left, right in itertools.combinations(range(len(compared)), 2):
        are_neighbors = right - left == 1
        if not are_neighbors and all(must_be_text[left : right + 1]):
            left_text = _value_as_text(compared[left])
            right_text = _value_as_text(compared[right])
            distant.append((left_text, right_text))
    return distant


def _kind_of_comparison(condition: Operation) -> str:
    """Return how a condition compares values: as versions, texts or neither.

    :returns: the ``kind`` of a :class:`_ComparedPair`.
    """
    if condition.op.name.startswith(plugin.VERSION):
        return plugin.VERSION
    if condition.arguments.get('force_strings'):
        return 'text'
    return ''


def _list_possible_outcomes(condition: Operation) -> frozenset[str]:
    """Return all outcomes that the values of a comparison may have.

    In ``eq: ["{node.name}", null]`` the values may be equal without an order,
    but not in ``eq: ["{node.name}", a]``. A field always equals itself.
    """
    has_order = _kind_of_comparison(condition) != ''
    for value in condition.arguments['values']:
        is_text = isinstance(value, str) and not interpolation.fields(value)
        if is_text or isinstance(value, int | float):
            # A value that equals a text or a number has an order.
            has_order = True
    possible = _ALL_OUTCOMES
    if has_order:
        possible -= {_EQUAL_WITHOUT_ORDER}
    # A comparison of versions does not hold for a field and itself if the
    # value is no text.
    is_version = _kind_of_comparison(condition) == plugin.VERSION
    values = condition.arguments['values']
    has_one_field = bool(values) and all(
        facts.is_field(value) and value == values[0] for value in values
    )
    if has_one_field and not is_version:
        possible &= _OUTCOMES['eq']
    return possible


def _value_as_text(value: typing.Any) -> str:
    """Return a value as text, e.g. ``/node/name`` for ``{node.name}``."""
    if facts.is_field(value):
        return facts.field_name(value)
    return _as_text(value)


def _never_holds_beside_group(
    group: ComparedCondition, holds: str, other: ComparedCondition
) -> bool:
    """Return whether clearly no machine meets a group and a condition.

    - ``none-of``: some condition of the group always holds with the other.
    - ``any-of``: no condition of the group holds together with the other.
    - ``all-of``: some condition of the group never holds together with it.
    - inverted ``all-of``: all conditions of the group always hold with it.

    An inverted ``any-of`` is ``none-of``, and the other way round.

    :param holds: how many conditions of the group must hold: ``all``, ``any``
        or ``none``.
    """
    if group.inverted:
        holds = _HOLDS_IF_INVERTED.get(holds, '')
    if group.loops:
        # Only groups without a loop are examined.
        return False
    if holds == 'none':
        return any(implies(other, inner) for inner in group.inner)
    if holds == 'any':
        return all(never_hold_together(inner, other) for inner in group.inner)
    if holds == 'all':
        return any(never_hold_together(inner, other) for inner in group.inner)
    if holds == 'not all':
        return all(implies(other, inner) for inner in group.inner)
    # A group of another package has its own logic.
    return False


def implies(one: ComparedCondition, other: ComparedCondition) -> bool:
    """Return whether it is clear that a condition holds if another holds.

    For example, ``eq: ["{…vendor}", Dell Inc.]`` implies ``contains:
    ["{…vendor}", Dell]``.

    :param other: the condition that holds if ``one`` does.
    """
    if one.loops or other.loops or one.overwritten or other.overwritten:
        return False
    if _is_same(one, other):
        return True
    if other.inner or not never_hold_together(one, other.opposite):
        return False
    op = other.operation.op.plugin
    if op.ACCEPTS_MISSING or op.SEES_MISSING:
        return True
    # If a field is missing, both the condition and its opposite are false.
    return all(
        field.is_plain and _is_false_if_missing(one.operation, field)
        for field in interpolation.fields(other.operation.templates)
    )


def _is_same(one: ComparedCondition, other: ComparedCondition) -> bool:
    """Return whether two conditions say the same about the same data."""
    if one.loops or other.loops or one.overwritten or other.overwritten:
        return False
    return one.says == other.says and one.inverted is other.inverted


def _refuses(
    condition: ComparedCondition, field: str, value: typing.Any
) -> bool:
    """Return what :meth:`ComparedCondition.refuses` does, without a cache."""
    has_value = facts.Fact(field, 'eq', value)
    for fact in condition.facts:
        if fact.field == field and facts.exclude(has_value, fact):
            return True
    if condition.loops or condition.operation.op.plugin.NEEDS_VIEW:
        # It may hold for another item, or read other data of a machine.
        return False
    if not condition.is_as_before(field):
        # The condition reads another value of the field.
        return False
    forms = _list_forms(value)
    return bool(forms) and all(
        _is_false_for(condition.operation, field, form) for form in forms
    )


def _list_forms(value: typing.Any) -> list[typing.Any]:
    """Return the values of a machine that are equal to a value of a rule.

    "Dell" has only one form, and the text "5.0" also equals the numbers 5 and
    5.0. Null stands for null and a missing field.

    :returns: an empty list for a value whose forms cannot be listed. For
        example, 5 equals the text "5.0" and many others.
    """
    if isinstance(value, str) and re.search('[{}]', value):
        # Braces would be parsed as a field in a condition.
        return []
    value_as_number = facts.as_number(value)
    if value_as_number is None:
        return [value]
    if not isinstance(value, str):
        return []
    forms = [value, float(value_as_number)]
    if value_as_number == int(value_as_number):
        forms.append(int(value_as_number))
    return forms


def _has_one_form(value: typing.Any) -> bool:
    """Return whether machines can report a value in only one form."""
    return value is not None and len(_list_forms(value)) == 1


def _is_false_for(condition: Operation, field: str, value: typing.Any) -> bool:
    """Return whether a condition is false if its only field has a value.

    :param field: the name of the field, e.g. ``/node/driver``, see
        :func:`.facts.field_name`.
    :param value: the value; None also stands for a missing field.
    :returns: False also if the condition does not read the field, or reads
        other fields.
    """
    args = _fill_in_value(condition.arguments, field, value)
    if args == condition.arguments or interpolation.fields(args):
        return False
    if result(condition, {**condition.written, 'args': args}) is not False:
        return False
    # Without data, the only field of the condition is missing.
    return value is not None or result(condition, condition.written) is False


def result(
    condition: Operation, written: typing.Mapping[str, typing.Any]
) -> bool | None:
    """Return the result of a condition without data, or None if it fails.

    :param condition: a condition whose op is used.
    :param written: the condition to decide, as written in a rule. Usually it
        is the same condition with values instead of its fields, e.g. ``{'op':
        'eq', 'args': ['ipmi', 'redfish']}``.
    """
    ops = registry.Registry({condition.op.name: condition.op.plugin}, {})
    rule = model.Rule(uuid='', actions=(), conditions=(written,))
    try:
        plan = compiler.compile_rule(rule, ops)
        return plan.conditions[0].check(budget.View())
    except exceptions.InspectionRulesError:
        # Other checks report conditions that are refused or fail.
        return None


def _fill_in_value(
    arguments: typing.Any, field: str, value: typing.Any
) -> typing.Any:
    """Return arguments in which a value replaces a field.

    With ``ipmi`` for ``/node/driver``, ``["{node.driver}", redfish]`` becomes
    ``[ipmi, redfish]``. A field inside a longer text is not replaced.
    """

    def fill_in_text(text: str) -> typing.Any:
        if facts.is_field(text) and facts.field_name(text) == field:
            return value
        return text

    return data_path.replace_texts(arguments, fill_in_text)
