# SPDX-License-Identifier: Apache-2.0

"""Derive facts about fields from conditions, and find contradictions.

A fact says how the value of one field compares with a literal. For example,
the condition ``lt: ["{inventory.cpu.count}", 8]`` states the fact
``('/inventory/cpu/count', 'lt', 8)``. The relation ``lt`` means "less than",
like the condition of this name. A fact with ``lt``, ``le``, ``gt`` or ``ge``
is a bound.

Two facts exclude each other if no value satisfies both, e.g. ``lt 4`` and
``gt 8`` of the same field. When in doubt, the functions assume that a value
may satisfy both, so that ``lint`` reports only certain contradictions.
"""

from collections.abc import Iterable
import ipaddress
import itertools
import operator
import re
import sys
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.plugins.conditions import value as value_plugin
from ironic_inspection_rules.rule_file import file_rule

Fact = plugin.Fact

_FROM_THE_RIGHT = {
    'lt': 'gt',
    'gt': 'lt',
    'le': 'ge',
    'ge': 'le',
    'eq': 'eq',
    'ne': 'ne',
}
"""The relation of the right side to the left side, by the relation of the left
side to the right side."""

_ORDERS: dict[str, comparison.ValueComparison] = {
    'lt': comparison.Less(),
    'le': comparison.LessOrEqual(),
    'gt': comparison.Greater(),
    'ge': comparison.GreaterOrEqual(),
}
_VERSION_ORDERS = {
    f'{plugin.VERSION}{name}': getattr(operator, name)
    for name in _FROM_THE_RIGHT
}

# The kinds of values that have an order.
_NUMBER = 'number'
_BOOLEAN = 'boolean'
_TEXT = 'text'
_LIST = 'list'

_PASSED_ON = (
    'eq',
    'version-eq',
    'version-lt',
    'version-le',
    'version-gt',
    'version-ge',
)
"""Transitive comparisons: they hold for the first and the last of three values
if they hold for neighbors. ``lt`` is not transitive: "10" < "4" as text, and
"4" < 5, but 10 is not less than 5."""


_LITERAL = (
    r'(?P<literal>(?:(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])(?![*?{]))+)'
)
_BEGIN = re.compile(rf'(?:\^|\\A)?{_LITERAL}')
_ANCHORED_BEGIN = re.compile(rf'(?:\^|\\A){_LITERAL}')
"""The literal text at the beginning of a regular expression. A character that
may be left out, as the "b" of ``ab?``, does not belong to it."""

_BEGINS_ONLY_TEXT = re.compile('[A-Za-z]')
"""The first character of texts that are neither numbers nor lists."""

_TEXTS_OF_OTHER_VALUES = ('True', 'False', 'None', 'inf', 'nan')
"""Texts that a regular expression matches for values that are not text."""


def stated_by(
    condition: file_rule.Operation, looped: bool = False
) -> list[Fact]:
    """Return the facts that a condition states: field, relation and value.

    For example, ``eq: ["{node.name}", a]`` states ``('/node/name', 'eq',
    'a')``. Facts about two fields are skipped.

    :param looped: whether to return the facts of a condition with a loop,
        although it may hold for another item.
    """
    if condition.loops and not looped:
        return []
    # A plugin that fails to return its facts has none, which another check
    # reports.
    return _select_about_one_field(effects.facts(condition))


def implied_by(condition: file_rule.Operation) -> list[Fact]:
    """Return the facts of :func:`stated_by`, and those that follow from them.

    A condition compares neighbors: ``eq: ["{node.name}", "{node.owner}", a]``
    states that the owner is ``a``. It follows that the name is also ``a``. If
    a value matches ``^Dell``, it is in the order of texts from "Dell" to below
    "Delm".
    """
    stated = list(map(_replace_empty_bound, stated_by(condition)))
    if condition.loops or condition.inverted:
        return stated
    if isinstance(condition.op.plugin, value_plugin.RegexCondition):
        bounds = _list_bounds_of_match(condition)
        return stated + _select_about_one_field(bounds)
    compared = condition.arguments.get('values')
    if not isinstance(compared, list):
        return stated
    name = condition.op.name
    force_strings = condition.arguments.get('force_strings')
    if not force_strings:
        return stated + _list_distant_facts(name, compared)
    if name == 'eq' and force_strings is True:
        return _list_equal_texts(compared)
    # The condition compares 5 as text, but a fact is about the value itself.
    return stated


def _list_distant_facts(name: str, compared: list[typing.Any]) -> list[Fact]:
    """Return the facts about values that are not neighbors in a comparison.

    From ``eq: ["{node.name}", "{node.owner}", a]`` it follows that the name is
    ``a``.

    :param name: the name of the condition; the list is empty unless it is in
        ``_PASSED_ON``.
    :param compared: the values of the condition.
    """
    if name not in _PASSED_ON:
        return []
    if name == 'eq':
        # Equality does not preserve the spelling of a number: the text "5.0"
        # equals 5, and 5 equals the text "5". So a distant field equals the
        # number.
        compared = [_read_number(value) for value in compared]
    distant = []
    for position, left in enumerate(compared):
        for right in compared[position + 2 :]:
            distant.append(Fact(left, name, right))
    return _select_about_one_field(distant)


def _replace_empty_bound(fact: Fact) -> Fact:
    """Return a fact that means the same, and whose bound is not ``''``.

    No text is less than the empty text, so ``lt ''`` allows no value, and ``le
    ''`` only the empty text.
    """
    if fact.value != '' or fact.unordered:
        return fact
    if fact.relation == 'lt':
        return fact._replace(relation='one-of', value=[])
    if fact.relation == 'le':
        return fact._replace(relation='eq')
    return fact


def _list_bounds_of_match(condition: file_rule.Operation) -> list[Fact]:
    """Return the bounds of the texts that begin like a regular expression.

    They are empty if the expression does not begin with literal text, or if
    values that are no texts may match it, e.g. numbers.
    """
    regex = condition.arguments['regex']
    # An alternative or a flag may change the meaning of the beginning.
    if '|' in regex or '(?' in regex or interpolation.fields(regex):
        return []
    begin = _ANCHORED_BEGIN
    if condition.op.plugin.METHOD == 'fullmatch':
        begin = _BEGIN
    match = begin.match(regex)
    if match is None:
        return []
    prefix = re.sub(r'\\(.)', r'\1', match['literal'])
    if re.search('[{}]', prefix):
        # The bounds would be taken for a field.
        return []
    if not _BEGINS_ONLY_TEXT.match(prefix):
        return []
    if any(text.startswith(prefix) for text in _TEXTS_OF_OTHER_VALUES):
        return []
    field = condition.arguments['value']
    after_prefix = _find_text_after(prefix)
    return [Fact(field, 'ge', prefix), Fact(field, 'lt', after_prefix)]


def _find_text_after(prefix: str) -> str:
    """Return the lowest text above all texts with a prefix.

    For "Dell" it is "Delm".

    :param prefix: a text that does not only consist of the last character of
        Unicode.
    """
    # No character follows the last one, so the one before it is increased.
    without_last = prefix.rstrip(chr(sys.maxunicode))
    return without_last[:-1] + chr(ord(without_last[-1]) + 1)


def _list_equal_texts(compared: list[typing.Any]) -> list[Fact]:
    """Return the facts that ``eq`` with ``force_strings`` states.

    A field that equals "Dell" as text is the text "Dell". A field that equals
    "5" as text is this text or the number 5, and equals "5" in both cases.
    """
    equal = []
    for field, value in itertools.permutations(compared, 2):
        if not is_field(field):
            continue
        text = str(value)
        if text in ('True', 'False', 'None') or text[:1] in ('[', '{'):
            # Values of other types may have the same text, e.g. true or a
            # list.
            continue
        equal.append(Fact(field, 'eq', text))
    return _select_about_one_field(equal)


def _read_number(value: typing.Any) -> typing.Any:
    """Return the number with which ``eq`` compares a value of a condition.

    :returns: 5.0 for the text "5.0", and 1 for true. Other values, including
        fields, are returned unchanged.
    """
    if isinstance(value, bool):
        return int(value)
    value_as_number = as_number(value)
    if value_as_number is None:
        return value
    return value_as_number


def _select_about_one_field(stated: Iterable[Fact]) -> list[Fact]:
    """Return the facts that compare one field with a literal, field first.

    ``8 < {node.extra.cpus}`` becomes the fact ``('/node/extra/cpus', 'gt',
    8)``. Facts about two fields, and facts with an unknown relation, are left
    out.
    """
    about_one_field = []
    for fact in stated:
        turned_relation = swap_sides(fact.relation)
        is_comparison = turned_relation is not None
        if turned_relation is not None and is_field(fact.value):
            # Exchange the sides of e.g. 8 < {cpu.count}, so that the field is
            # first.
            fact = fact._replace(
                field=fact.value, value=fact.field, relation=turned_relation
            )
        if not is_field(fact.field) or interpolation.fields(fact.value):
            continue
        is_membership = isinstance(fact.value, list)
        # Other relations belong to other plugins, and are unknown here.
        if is_membership or is_comparison or fact.relation == plugin.IN_NET:
            name = field_name(fact.field)
            about_one_field.append(fact._replace(field=name))
    return about_one_field


def swap_sides(name: str) -> str | None:
    """Return the comparison with exchanged sides, e.g. ``gt`` for ``lt``.

    :param name: the name of a condition, e.g. ``lt`` or ``version-lt``.
    :returns: None if the condition does not compare two sides.
    """
    plain = name.removeprefix(plugin.VERSION)
    turned = _FROM_THE_RIGHT.get(plain)
    if turned is None:
        return None
    return name.removesuffix(plain) + turned


def is_field(value: typing.Any) -> typing.TypeGuard[str]:
    """Return whether a value is exactly one replacement field."""
    return interpolation.sole_field(value) is not None


def field_name(text: str) -> str:
    """Return one name for all notations of the path of a field.

    Both ``{node.name}`` and ``{node[name]}`` give ``/node/name``. The text is
    returned unchanged if the field has filters, a format or no path, and if
    the text is not a single field, e.g. ``rack-{node.name}``.
    """
    field = interpolation.sole_field(text)
    if field is None or field.root is None or not field.is_plain:
        return text
    return data_path.pointer([field.root, *field.steps])


def allowed_values(fact: Fact) -> list[typing.Any] | None:
    """Return the values that a fact allows; None for a range of values.

    ``eq 4`` allows ``[4]``, and ``one-of [a, b]`` allows both values. ``lt 4``
    and ``ne 4`` are ranges.
    """
    if fact.relation == 'eq':
        return [fact.value]
    if fact.relation == 'one-of':
        return list(fact.value)
    return None


def distinct_values(fact: Fact) -> set[typing.Any] | None:
    """Return the values that a fact allows, in a form that sets can compare.

    Facts exclude each other if these sets are disjoint. 5, "5" and "5.0" are
    the same number here, as they are for ``eq``.

    :returns: None for a range of values, or if one of the values is a list or
        a mapping.
    """
    allowed = allowed_values(fact)
    if allowed is None:
        return None
    distinct: set[typing.Any] = set()
    for value in allowed:
        value_as_number = as_number(value)
        if value_as_number is not None:
            distinct.add(value_as_number)
        elif isinstance(value, str | None):
            distinct.add(value)
        else:
            return None
    return distinct


def contradict(
    first_facts: Iterable[Fact], second_facts: Iterable[Fact]
) -> bool:
    """Return whether two sets of facts cannot hold for the same machine.

    This is so if two facts about the same field exclude each other, e.g. ``lt
    4`` and ``gt 8``, or if one set rules out all values that a fact of the
    other set allows.
    """
    first_facts = list(first_facts)
    second_facts = list(second_facts)
    for first, second in itertools.product(first_facts, second_facts):
        if first.field == second.field and exclude(first, second):
            return True
    # No two facts exclude each other, but several facts together may: "ne 4"
    # and "ne 8" leave no value of "one-of [4, 8]".
    for fact in first_facts:
        if _refute_together(second_facts, fact):
            return True
    return any(_refute_together(first_facts, fact) for fact in second_facts)


def _refute_together(refuting: list[Fact], fact: Fact) -> bool:
    """Return whether several facts together refute all values of a fact.

    ``one-of [4, 8]`` allows two values. The facts ``ne 4`` and ``ne 8`` refute
    both, although neither of them does alone.

    :param refuting: facts about any fields.
    """
    allowed = allowed_values(fact)
    if allowed is None:
        return False
    about_same_field = [
        other for other in refuting if other.field == fact.field
    ]
    if not about_same_field:
        return False
    for value in allowed:
        has_value = Fact(fact.field, 'eq', value)
        if not any(exclude(has_value, other) for other in about_same_field):
            return False
    return True


def exclude(first: Fact, second: Fact) -> bool:
    """Return whether no value of a field satisfies both facts.

    Examples are ``eq 4`` and ``gt 8``, ``lt 4`` and ``ge 4``, and two subnets
    without a common address.

    :returns: False also if it is unknown.
    """
    if is_version(first) or is_version(second):
        return _do_versions_exclude(first, second)
    if plugin.IN_NET in (first.relation, second.relation):
        # A subnet can only be compared with another subnet.
        are_both_nets = first.relation == second.relation
        return are_both_nets and _are_nets_apart(first.value, second.value)
    # Facts such as "eq 4" or "one-of" list values that can be tried one by
    # one.
    allowed = allowed_values(first)
    if allowed is not None:
        return not any(may_be(value, second) for value in allowed)
    allowed = allowed_values(second)
    if allowed is not None:
        return not any(may_be(value, first) for value in allowed)
    if first.relation in _ORDERS and second.relation in _ORDERS:
        return _do_bounds_exclude(first, second)
    # "ne" and "none-of" leave other values for the counterpart.
    return False


def _do_bounds_exclude(first: Fact, second: Fact) -> bool:
    """Return whether no value of a field lies within two bounds.

    What a bound means depends on the kind of the value: the text "8" is below
    the number 9, but above the text "10". So each kind of value is examined.

    :param first: a fact with a relation in ``_ORDERS``, like ``second``.
    """
    if first.unordered and second.unordered:
        # Negated conditions such as "!le" and "!ge" both hold for null.
        return False
    kinds = _list_ordered_kinds(first) & _list_ordered_kinds(second)
    return not any(_may_satisfy_both(kind, first, second) for kind in kinds)


def _list_ordered_kinds(fact: Fact) -> frozenset[str]:
    """Return the kinds of values for which a bound may hold.

    For ``lt 8`` these are numbers, booleans, which count as 1 and 0, and texts
    of numbers. For ``lt rack`` it is only text.

    :param fact: a fact with a relation in ``_ORDERS``.
    """
    bound = fact.value
    if fact.unordered:
        # The fact also holds for values that have no order with the bound.
        return frozenset((_NUMBER, _BOOLEAN, _TEXT, _LIST))
    if isinstance(bound, bool):
        return frozenset((_NUMBER, _BOOLEAN))
    if _is_number(bound):
        return frozenset((_NUMBER, _BOOLEAN, _TEXT))
    if is_plain_text(bound):
        return frozenset((_TEXT,))
    if isinstance(bound, str):
        # The text of a number, e.g. "8", is compared with numbers too.
        return frozenset((_NUMBER, _TEXT))
    if isinstance(bound, list):
        return frozenset((_LIST,))
    # Nothing is less or greater than null or a mapping.
    return frozenset()


def _may_satisfy_both(kind: str, first: Fact, second: Fact) -> bool:
    """Return whether a value of one kind may lie within two bounds.

    When in doubt, return True.

    :param kind: the kind of the value, which :func:`_list_ordered_kinds`
        returns for both facts.
    :param first: a fact with a relation in ``_ORDERS``, like ``second``. At
        most one of them is ``unordered``.
    """
    if kind == _BOOLEAN:
        return any(
            _is_in_order(value, first) and _is_in_order(value, second)
            for value in (False, True)
        )
    if kind == _LIST:
        # It is not examined how lists compare.
        return True
    if kind == _NUMBER:
        return _may_number_satisfy_both(first, second)
    if isinstance(first.value, str) and isinstance(second.value, str):
        # A text is compared with both bounds as text.
        return not _is_nothing_between(first, second)
    if _is_number(first.value) and _is_number(second.value):
        # The text of a number is compared with both bounds as a number.
        return _may_number_satisfy_both(first, second)
    # For example, the text "10" is below the text "5", and above the number 7.
    return True


def _may_number_satisfy_both(first: Fact, second: Fact) -> bool:
    """Return whether a number may lie within two bounds.

    :param first: a fact with a relation in ``_ORDERS``, like ``second``. At
        most one of them is ``unordered``.
    """
    first_number = as_number(first.value)
    second_number = as_number(second.value)
    if first_number is None or second_number is None:
        # One bound has no order with numbers. It is unordered, so it holds for
        # all of them.
        return True
    return not _is_nothing_between(
        first._replace(value=first_number),
        second._replace(value=second_number),
    )


def _is_nothing_between(first: Fact, second: Fact) -> bool:
    """Return whether two bounds leave no value between them.

    :param first: a fact with a relation in ``_ORDERS``, like ``second``. Both
        bounds are numbers, or both are texts that are compared as texts.
    """
    bounds = _find_low_and_high(first, second)
    if bounds is None:
        # Values beyond both bounds satisfy two lower or two upper bounds.
        return False
    low, high = bounds
    if low.value == high.value:
        # "At least 4" and "at most 4" leave the value 4.
        return (low.relation, high.relation) != ('ge', 'le')
    return bool(low.value > high.value)


def _find_low_and_high(first: Fact, second: Fact) -> tuple[Fact, Fact] | None:
    """Return which of two facts is the lower bound and which the upper bound.

    ``gt 4`` and ``version-ge 1.2`` are lower bounds, and ``lt 8`` is an upper
    bound.

    :returns: None unless there is one bound of each kind.
    """
    first_relation = first.relation.removeprefix(plugin.VERSION)
    second_relation = second.relation.removeprefix(plugin.VERSION)
    if first_relation in ('gt', 'ge') and second_relation in ('lt', 'le'):
        return first, second
    if second_relation in ('gt', 'ge') and first_relation in ('lt', 'le'):
        return second, first
    return None


def _are_nets_apart(first: typing.Any, second: typing.Any) -> bool:
    """Return whether no address is in both subnets.

    ``10.0.0.0/8`` and ``192.168.0.0/16`` are apart. So are any subnets of IPv4
    and IPv6.

    :returns: False also if one of them is not a subnet.
    """
    try:
        first_net = ipaddress.ip_network(str(first).strip(), strict=False)
        second_net = ipaddress.ip_network(str(second).strip(), strict=False)
    except ValueError:
        # Validation refuses the rule.
        return False
    if first_net.version != second_net.version:
        return True
    return not first_net.overlaps(second_net)


def is_version(fact: Fact) -> bool:
    """Return whether a fact is about versions."""
    return fact.relation.startswith(plugin.VERSION)


def _do_versions_exclude(first: Fact, second: Fact) -> bool:
    """Return whether no version satisfies both facts.

    One of the facts may list the values that the field may have. There is
    always a version between two others, so two bounds exclude each other only
    if the lower bound is above the upper bound, or if they are equal and not
    both inclusive.

    :param first: a fact about versions, unless ``second`` is.
    """
    allowed = _list_versions(first)
    if allowed is not None and is_version(second):
        return not any(_may_be_version(value, second) for value in allowed)
    allowed = _list_versions(second)
    if allowed is not None and is_version(first):
        return not any(_may_be_version(value, first) for value in allowed)
    if not (is_version(first) and is_version(second)):
        # Such as "version-lt 2" and "lt 8".
        return False
    bounds = _find_low_and_high(first, second)
    if bounds is None:
        return False
    low, high = bounds
    if not isinstance(low.value, str) or not isinstance(high.value, str):
        return False
    lowest = comparison.version_key(low.value)
    highest = comparison.version_key(high.value)
    if lowest == highest:
        return (low.relation, high.relation) != ('version-ge', 'version-le')
    return lowest > highest


def _list_versions(fact: Fact) -> list[typing.Any] | None:
    """Return the versions that a fact allows; None for a range of versions.

    Both ``version-eq 1.2`` and ``eq 1.2`` allow ``['1.2']``.
    """
    if fact.relation == 'version-eq':
        return [fact.value]
    if is_version(fact):
        return None
    return allowed_values(fact)


def _may_be_version(value: typing.Any, fact: Fact) -> bool:
    """Return whether a value may satisfy a fact about versions.

    For example, "1.10" satisfies ``version-gt 1.9``. When in doubt, return
    True.

    :param value: a value that another fact lists for the same field.
    """
    if _is_number(value):
        # The number 2.1 may be the text "2.1" or "2.10", which are different
        # versions.
        return True
    if not isinstance(value, str):
        return False
    if not isinstance(fact.value, str):
        return True
    holds = _VERSION_ORDERS[fact.relation]
    key_of_value = comparison.version_key(value)
    key_of_bound = comparison.version_key(fact.value)
    return bool(holds(key_of_value, key_of_bound))


def as_number(value: typing.Any) -> int | float | None:
    """Return the number with which the op ``eq`` compares a value.

    :returns: 5 for 5 and for the text "5"; None if ``eq`` does not compare the
        value as a number, e.g. the text "five".
    """
    if isinstance(value, str):
        # "5" in the data of a machine equals 5 in a rule.
        return comparison.as_number(value)
    if isinstance(value, int | float):
        return value
    return None


def _is_number(value: typing.Any) -> bool:
    """Return whether a value is a number, and not a boolean or text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_plain_text(value: typing.Any) -> bool:
    """Return whether a value is text that is no number and has no fields."""
    if not isinstance(value, str) or interpolation.fields(value):
        return False
    return as_number(value) is None


def may_be(value: typing.Any, fact: Fact) -> bool:
    """Return whether a field that is equal to a value may satisfy a fact.

    For ``eq``, 5, "5" and "5.0" are equal, and the data of a machine may have
    any of them. The result is True if one of them satisfies the fact: a field
    that equals 5 may be "5", and then differs from the text "5.0".

    :param fact: a fact that is neither about a subnet nor about a version.
    """
    if fact.relation == 'one-of':
        return any(
            may_be(value, Fact(fact.field, 'eq', listed))
            for listed in fact.value
        )
    if fact.relation == 'none-of':
        return all(
            may_be(value, Fact(fact.field, 'ne', listed))
            for listed in fact.value
        )
    if fact.relation == 'eq':
        return _may_be_equal(value, fact.value)
    if fact.relation == 'ne':
        return _may_differ(value, fact.value)
    return _may_be_in_order(value, fact)


def _may_be_equal(first: typing.Any, second: typing.Any) -> bool:
    """Return whether a field may equal two values of a rule at once.

    A field that equals 5 may equal "5.0" too.
    """
    first_number = as_number(first)
    second_number = as_number(second)
    if first_number is not None and second_number is not None:
        return first_number == second_number
    return bool(first == second)


def _may_be_in_order(value: typing.Any, fact: Fact) -> bool:
    """Return whether a field that equals a value may satisfy a bound.

    :param value: the value in a rule, e.g. 5. The field may then be 5 or a
        text of this number.
    :param fact: a fact with a relation in ``_ORDERS``.
    """
    value_as_number = as_number(value)
    if value_as_number is None:
        # Only the value itself equals it.
        return _is_in_order(value, fact)
    if _is_number(value) and isinstance(fact.value, str):
        # The field may be any text of the number, e.g. "05" or "5.0", whose
        # order with another text is unknown.
        return True
    # The values that the field may have.
    forms = [value, value_as_number]
    if not isinstance(value, str) and value_as_number in (0, 1):
        # True equals 1, but is compared with texts in another way.
        forms += [int(value_as_number), bool(value_as_number)]
    if _is_number(value):
        # All texts of the number have the same order with the bound.
        forms.append(str(value))
    return any(_is_in_order(form, fact) for form in forms)


def _is_in_order(value: typing.Any, fact: Fact) -> bool:
    """Return whether the value of a field satisfies a bound.

    :param fact: a fact with a relation in ``_ORDERS``.
    """
    if fact.unordered:
        # "!lt" also holds for values that have no order.
        opposite = plugin.OPPOSITES[fact.relation]
        return not _ORDERS[opposite].holds(value, fact.value)
    return _ORDERS[fact.relation].holds(value, fact.value)


def _may_differ(first: typing.Any, second: typing.Any) -> bool:
    """Return whether a field may equal one value and differ from another.

    A field that equals 5 may be the text "5", which differs from "5.0".

    :param first: the value that the field equals.
    :param second: the value from which it may differ.
    """
    if not _may_be_equal(first, second):
        return True
    first_number = as_number(first)
    if first_number is None or as_number(second) is None:
        return False
    # Both are the same number.
    if _is_number(second):
        # All forms of the number are equal to it.
        return False
    # Two texts are compared as text, so "5" is not "5.0". A value that equals
    # 1 may be the text "1", which does not equal true.
    is_same = type(first) is type(second) and first == second
    return not is_same
