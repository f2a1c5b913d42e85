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


ALL = 'all'
ANY = 'any'
NONE = 'none'
NOT_ALL = 'not all'
"""How many conditions of a group must hold."""

_INVERTED = {ANY: NONE, NONE: ANY, ALL: NOT_ALL}
"""How many conditions must hold if the group is inverted."""


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

        They are equal for ``a < b`` and ``b > a``. Conditions in a group are
        part of the text. The inversion, the loop and ``multiple`` of the
        condition itself are not.
        """
        name = self.operation.op.name
        arguments = self.operation.arguments
        # "lt" with exchanged sides is "gt". None for ops without sides.
        turned_name = facts.swap_sides(name)
        compared = arguments.get('values')
        if turned_name and isinstance(compared, list) and len(compared) == 2:
            # Use the form that sorts first.
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

    @property
    def is_group(self) -> bool:
        """Whether it is a group such as ``any-of``."""
        return isinstance(self.operation.op.plugin, plugin.ConditionGroup)

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
    def outcomes_by_pair(self) -> _OutcomesByPair:
        """The possible outcomes per pair of values if the condition holds.

        Pairs with overwritten fields are left out. It is empty for an inverted
        condition with several pairs, e.g. ``!eq`` of three values, because it
        is unknown which pair differs.
        """
        without_inversion = _find_outcomes_by_pair(self.operation)
        if self.inverted and len(without_inversion) > 1:
            return {}
        outcomes_by_pair = {}
        for pair, outcomes in without_inversion.items():
            if self.inverted:
                outcomes = _list_possible_outcomes(self.operation) - outcomes
            if self.is_as_before(pair.left) and self.is_as_before(pair.right):
                outcomes_by_pair[pair] = outcomes
        return outcomes_by_pair

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
        """Keys of the fields that the condition reads.

        Two conditions without a common key need not be compared, because
        neither excludes the other. A field that is written in braces has the
        key ``('node', 'driver')``, and a field of a fact ``/node/driver``. If
        the condition reads no field, the only key is :attr:`says`.
        """
        keys: set[typing.Any] = set()
        for condition in self.operation.all:
            for field in interpolation.fields(condition.arguments):
                if field.root:
                    keys.add((field.root, *field.steps))
                else:
                    keys.add(field.text)
            # A plugin may state facts about fields that are not in braces.
            for fact in facts.stated_by(condition, looped=True):
                keys.add(fact.field)
        if not keys:
            keys.add(self.says)
        return frozenset(keys)


def _as_text(value: typing.Any) -> str:
    """Return a value as JSON, in a form that can be compared and sorted."""
    return json.dumps(value, sort_keys=True, default=str)


def how_many_must_hold(group: Operation) -> str:
    """Return how many conditions of a group must hold for the group to hold.

    :returns: :data:`ALL`, :data:`ANY`, :data:`NONE` or :data:`NOT_ALL`, with
        regard to the inversion of the group: ``!any-of`` is like ``none-of``.
        It is empty for a condition that is not a group, and for a group of
        another package with its own logic.
    """
    op = group.op.plugin
    if not isinstance(op, plugin.ConditionGroup):
        return ''
    if group.inverted:
        return _INVERTED.get(op.HOLDS, '')
    return op.HOLDS


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
    # The conditions of the second list, by the keys of their fields.
    others_by_key: dict[typing.Any, list[ComparedCondition]] = (
        collections.defaultdict(list)
    )
    for other in others:
        for key in other.about:
            others_by_key[key].append(other)
    for condition in some:
        # Conditions that share several fields are compared only once.
        on_same_fields: set[ComparedCondition] = set()
        for key in condition.about:
            on_same_fields.update(others_by_key.get(key, ()))
        for other in on_same_fields:
            if never_hold_together(condition, other):
                return True
    return _leave_no_value([*some, *others])


def _leave_no_value(conditions: list[ComparedCondition]) -> bool:
    """Return whether other conditions refuse all values that one lists.

    For example, ``one-of: ["{…cpu.count}", [4, 8]]`` lists two values. A
    condition ``gt`` 4 on this field refuses 4, and ``ne`` 8 refuses 8.
    """
    for condition in conditions:
        for field, values in condition.listed_values:
            if all(_is_refused(field, value, conditions) for value in values):
                return True
    return False


def _is_refused(
    field: str, value: typing.Any, conditions: list[ComparedCondition]
) -> bool:
    """Return whether any condition is clearly false for a value of a field."""
    return any(condition.refuses(field, value) for condition in conditions)


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
    if first.is_group:
        return _never_holds_beside_group(first, second)
    if second.is_group:
        return _never_holds_beside_group(second, first)
    if first.loops or second.loops:
        # The two conditions may hold for different items.
        return False
    if _needs_missing_field_of(first, second):
        return True
    if _needs_missing_field_of(second, first):
        return True
    if _no_inverted_pair_holds_with(first, second):
        return True
    if _no_inverted_pair_holds_with(second, first):
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


def _needs_missing_field_of(
    condition: ComparedCondition, other: ComparedCondition
) -> bool:
    """Return whether a condition needs a field that another says is missing.

    ``eq: ["{node.name}", a]`` is false on all machines on which ``!exists:
    ["{node.name}"]`` holds.
    """
    missing_field = other.missing_field
    if missing_field is None or condition.overwritten:
        return False
    return _is_false_if_missing(condition.operation, missing_field)


def _no_inverted_pair_holds_with(
    condition: ComparedCondition, other: ComparedCondition
) -> bool:
    """Return whether another condition excludes all pairs of an inverted one.

    At least one of the pairs holds if the condition holds, see
    :attr:`ComparedCondition.inverted_pairs`.
    """
    pairs = condition.inverted_pairs
    if not pairs:
        return False
    return all(never_hold_together(pair, other) for pair in pairs)


def _is_false_if_missing(
    condition: Operation, missing: interpolation.Field
) -> bool:
    """Return whether a condition is clearly false if a field is missing.

    For example, ``ne: ["{node.name}", a]`` is false if ``{node.name}`` is
    missing.

    :returns: False also if the condition does not read the field.
    """
    op = condition.op.plugin
    if op.NEEDS_VIEW or not _reads_below(missing, condition):
        # An op with NEEDS_VIEW may read any data of the machine.
        return False
    if not op.ACCEPTS_MISSING and not op.SEES_MISSING:
        # Such a condition is false, inverted or not, if any field is missing.
        return True
    # A condition such as "is-true" has a result for a missing field.
    if len(effects.fields_of_operation(condition)) > 1:
        # The result may depend on another field.
        return False
    # Without data, the only field of the condition is missing.
    return result(condition, condition.written) is False


def _reads_below(field: interpolation.Field, condition: Operation) -> bool:
    """Return whether a condition reads a field, or a field below it.

    If a field is missing, the fields below it are missing too. Fields with
    filters are not counted, because a filter may replace a missing value.
    """
    steps = (field.root, *field.steps)
    for read in interpolation.fields(condition.templates):
        steps_of_read = (read.root, *read.steps)
        if read.is_plain and steps_of_read[: len(steps)] == steps:
            return True
    return False


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
    pairs = first.outcomes_by_pair.keys() | second.outcomes_by_pair.keys()
    for pair in pairs:
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
    name = condition.op.name.removeprefix(plugin.VERSION)
    compared = condition.arguments.get('values')
    if name not in _OUTCOMES or not isinstance(compared, list):
        return {}
    if isinstance(condition.arguments.get('force_strings'), str):
        # A field decides on the machine whether the values compare as text.
        return {}
    kind = _kind_of_comparison(condition)
    possible = _list_possible_outcomes(condition)
    if kind == plugin.VERSION:
        # No comparison of versions holds for values that are not text. All
        # inverted ones do.
        possible -= {'unequal'}
    outcomes_by_pair: _OutcomesByPair = {}
    for left, right in _list_related_pairs(condition, compared):
        outcomes = _OUTCOMES[name]
        # The value that sorts first is on the left, so that "a < b" and
        # "b > a" are about the same pair.
        if left > right:
            left, right = right, left
            outcomes = _OUTCOMES[str(facts.swap_sides(name))]
        pair = _ComparedPair(kind, left, right)
        # A condition may compare a pair twice, as in eq: [a, b, a].
        before = outcomes_by_pair.get(pair, possible)
        outcomes_by_pair[pair] = outcomes & before
    return outcomes_by_pair


def _list_related_pairs(
    condition: Operation, compared: list[typing.Any]
) -> list[tuple[str, str]]:
    """Return the pairs of values for which a comparison must hold, as text.

    These are the neighbors, and pairs for which it follows from them. From
    ``version-lt: [a, b, c]`` it follows that ``a`` is below ``c``.

    :param compared: the values of the condition.
    """
    written = [_value_as_text(value) for value in compared]
    neighbors = list(itertools.pairwise(written))
    name = condition.op.name.removeprefix(plugin.VERSION)
    if condition.inverted or name == 'ne':
        # Nothing follows for the first and the last of three values.
        return neighbors
    # Comparing versions or texts is transitive, so the first and the last of
    # three values compare as neighbors do. Other values may differ: the text
    # "5" equals 5, and 5 equals the text "5.0".
    is_transitive = _kind_of_comparison(condition) != ''
    equal_a_text = name == 'eq' and any(map(_has_one_form, compared))
    if is_transitive or equal_a_text:
        return list(itertools.combinations(written, 2))
    return neighbors + _list_distant_texts(compared)


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
    values = condition.arguments['values']
    kind = _kind_of_comparison(condition)
    possible = _ALL_OUTCOMES
    if kind or any(map(_is_ordered_literal, values)):
        # Texts and versions have an order, and so has a value that equals a
        # text or a number.
        possible -= {_EQUAL_WITHOUT_ORDER}
    has_one_field = bool(values) and all(
        facts.is_field(value) and value == values[0] for value in values
    )
    # A comparison of versions does not hold for a field and itself if the
    # value is no text.
    if has_one_field and kind != plugin.VERSION:
        possible &= _OUTCOMES['eq']
    return possible


def _is_ordered_literal(value: typing.Any) -> bool:
    """Return whether a value is a literal text, number or boolean."""
    if isinstance(value, str):
        return not interpolation.fields(value)
    return isinstance(value, int | float)


def _value_as_text(value: typing.Any) -> str:
    """Return a value as text, e.g. ``/node/name`` for ``{node.name}``."""
    if facts.is_field(value):
        return facts.field_name(value)
    return _as_text(value)


def _never_holds_beside_group(
    group: ComparedCondition, other: ComparedCondition
) -> bool:
    """Return whether clearly no machine meets a group and a condition.

    - ``none-of``: some condition of the group always holds with the other.
    - ``any-of``: no condition of the group holds together with the other.
    - ``all-of``: some condition of the group never holds together with it.
    - inverted ``all-of``: all conditions of the group always hold with it.

    An inverted ``any-of`` is ``none-of``, and the other way round.
    """
    if group.loops:
        # Only groups without a loop are examined.
        return False
    must_hold = how_many_must_hold(group.operation)
    if must_hold == NONE:
        return any(implies(other, inner) for inner in group.inner)
    if must_hold == ANY:
        return all(never_hold_together(inner, other) for inner in group.inner)
    if must_hold == ALL:
        return any(never_hold_together(inner, other) for inner in group.inner)
    if must_hold == NOT_ALL:
        return all(implies(other, inner) for inner in group.inner)
    # A group of another package has its own logic.
    return False


def implies(given: ComparedCondition, implied: ComparedCondition) -> bool:
    """Return whether it is clear that a condition holds if another holds.

    For example, ``eq: ["{…vendor}", Dell Inc.]`` implies ``contains:
    ["{…vendor}", Dell]``.

    :param given: the condition that holds.
    :param implied: the condition that then may hold too.
    """
    if given.loops or implied.loops:
        return False
    if given.overwritten or implied.overwritten:
        return False
    if given.says == implied.says and given.inverted is implied.inverted:
        return True
    if implied.inner or not never_hold_together(given, implied.opposite):
        return False
    op = implied.operation.op.plugin
    if op.ACCEPTS_MISSING or op.SEES_MISSING:
        return True
    # If a field is missing, both the condition and its opposite are false, so
    # the given condition must require all of its fields.
    return all(
        field.is_plain and _is_false_if_missing(given.operation, field)
        for field in interpolation.fields(implied.operation.templates)
    )


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
    reads_field = args != condition.arguments
    reads_others = bool(interpolation.fields(args))
    if not reads_field or reads_others:
        return False
    if result(condition, {**condition.written, 'args': args}) is not False:
        return False
    if value is None:
        # Try a missing field as well. Without data, the field is missing.
        return result(condition, condition.written) is False
    return True


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
