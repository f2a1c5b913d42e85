# SPDX-License-Identifier: Apache-2.0

"""lint: facts that conditions state of fields; which exclude each other."""

from collections.abc import Iterable
import ipaddress
import itertools
import operator
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.plugins.conditions import comparison
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
"""By the relation of the left side to the right one, that of the right side
to the left one."""

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

_PASSED_ON = (
    'eq',
    'version-eq',
    'version-lt',
    'version-le',
    'version-gt',
    'version-ge',
)
"""The comparisons that hold for the first and the last of three values if they
hold for neighbours. ``lt`` is none of them: "10" < "4" as text, and "4" < 5,
but 10 is not less than 5."""


def of(condition: file_rule.Operation, looped: bool = False) -> list[Fact]:
    """Return the facts that a condition states: field, relation and value.

    ``eq: ["{node.name}", a]`` states ``('/node/name', 'eq', 'a')``. Facts
    about two fields are left out.

    :param looped: whether a condition with a loop states facts, although it
        may hold for another item.
    """
    if condition.loops and not looped:
        return []
    # A plugin that fails to say its facts has none: another check reports it.
    return _about_one_field(effects.facts(condition))


def implied_by(condition: file_rule.Operation) -> list[Fact]:
    """Return the facts of :func:`of`, and those that follow from them.

    A condition compares neighbours: ``eq: ["{node.name}", "{node.owner}", a]``
    states that the owner is ``a``. It follows that the name is ``a``, too.
    """
    stated = of(condition)
    name = condition.op.name
    compared = condition.arguments.get('values')
    if condition.loops or condition.inverted:
        return stated
    if name not in _PASSED_ON or not isinstance(compared, list):
        return stated
    if condition.arguments.get('force_strings'):
        # Compares 5 as text, while a fact is about the value itself.
        return stated
    distant = []
    for position, left in enumerate(compared):
        for right in compared[position + 2 :]:
            distant.append(Fact(left, name, right))
    return stated + _about_one_field(distant)


def _about_one_field(stated: Iterable[Fact]) -> list[Fact]:
    """Return the facts that compare one field with a literal, field first."""
    about_one_field = []
    for fact in stated:
        turned = from_the_right(fact.relation)
        if is_field(fact.value) and turned is not None:
            # As in 8 < {cpu.count}: the field comes first.
            fact = fact._replace(
                field=fact.value, value=fact.field, relation=turned
            )
        if not is_field(fact.field) or interpolation.fields(fact.value):
            continue
        is_membership = isinstance(fact.value, list)
        is_comparison = turned is not None
        # Relations of other plugins are not known here.
        if is_membership or is_comparison or fact.relation == plugin.IN_NET:
            name = field_name(fact.field)
            about_one_field.append(fact._replace(field=name))
    return about_one_field


def from_the_right(name: str) -> str | None:
    """Return the comparison with its sides exchanged: ``gt`` for ``lt``.

    :param name: the name of a condition, such as ``lt`` or ``version-lt``.
    :returns: None if the condition compares no two sides.
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
    """Return the same name for all ways to write the path of a field.

    ``{node.name}`` and ``{node[name]}`` are ``/node/name``. A field that has
    filters, a format or no path keeps its text, and so does a text that is not
    one field alone, such as ``rack-{node.name}``.
    """
    field = interpolation.sole_field(text)
    if field is None or field.root is None or not field.is_plain:
        return text
    return data_path.pointer([field.root, *field.steps])


def values(fact: Fact) -> list[typing.Any] | None:
    """Return the values that a fact allows; None for a range of values.

    ``eq 4`` allows ``[4]``, ``one-of [a, b]`` allows both; ``lt 4`` is a
    range, and so is ``ne 4``.
    """
    if fact.relation == 'eq':
        return [fact.value]
    if fact.relation == 'one-of':
        return list(fact.value)
    return None


def distinct_values(fact: Fact) -> set[typing.Any] | None:
    """Return the values that a fact allows, as a set can compare them.

    Facts exclude each other if they have no such value in common: 5, "5" and
    "5.0" are the same number here, as they are to ``eq``.

    :returns: None for a range of values, and where one of them is a list or a
        mapping.
    """
    allowed = values(fact)
    if allowed is None:
        return None
    distinct: set[typing.Any] = set()
    for value in allowed:
        value_as_number = number(value)
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
    """Return whether two sets of facts cannot hold for the same machine."""
    for first, second in itertools.product(first_facts, second_facts):
        if first.field == second.field and exclude(first, second):
            return True
    return False


def exclude(first: Fact, second: Fact) -> bool:
    """Return whether no value of a field satisfies both facts.

    There is none for ``eq 4`` and ``gt 8``, for ``lt 4`` and ``ge 4``, or for
    two subnets without a common address.

    :returns: False also where that is not known.
    """
    if is_version(first) or is_version(second):
        return _do_versions_exclude(first, second)
    if plugin.IN_NET in (first.relation, second.relation):
        # Beside a subnet, nothing is known of a fact of another kind.
        are_both_nets = first.relation == second.relation
        return are_both_nets and _are_nets_apart(first.value, second.value)
    for fact, counterpart in ((first, second), (second, first)):
        allowed = values(fact)
        if allowed is not None:
            # As "eq 4" or "one-of": the values can be tried one by one.
            return not any(may_be(value, counterpart) for value in allowed)
    if first.relation in _ORDERS and second.relation in _ORDERS:
        return _do_bounds_exclude(first, second)
    # What "ne" or "none-of" forbids leaves other values to the counterpart.
    return False


def _do_bounds_exclude(first: Fact, second: Fact) -> bool:
    """Return whether no value lies within two bounds.

    :param first: a fact with a relation in ``_ORDERS``, as ``second`` is.
    """
    if not _are_comparable(first.value, second.value):
        return False
    bounds = _find_low_and_high(first, second)
    if bounds is None:
        # Two lower or two upper bounds leave the values beyond both.
        return False
    low, high = bounds
    if low.unordered and high.unordered:
        # They come from "!le" and "!ge", which both hold for null.
        return False
    if low.value == high.value:
        # "At least 4" and "at most 4" leave the value 4.
        return (low.relation, high.relation) != ('ge', 'le')
    return bool(low.value > high.value)


def _find_low_and_high(first: Fact, second: Fact) -> tuple[Fact, Fact] | None:
    """Return which of two facts is the lower bound and which the upper bound.

    ``gt 4`` and ``version-ge 1.2`` are lower bounds, ``lt 8`` an upper one.

    :returns: None unless there is one of each.
    """
    first_relation = first.relation.removeprefix(plugin.VERSION)
    second_relation = second.relation.removeprefix(plugin.VERSION)
    if first_relation in ('gt', 'ge') and second_relation in ('lt', 'le'):
        return first, second
    if second_relation in ('gt', 'ge') and first_relation in ('lt', 'le'):
        return second, first
    return None


def _are_comparable(first: typing.Any, second: typing.Any) -> bool:
    """Return whether two values are both numbers, or both text."""
    if _is_number(first):
        return _is_number(second)
    return _is_plain_text(first) and _is_plain_text(second)


def _are_nets_apart(first: typing.Any, second: typing.Any) -> bool:
    """Return whether no address is in both subnets."""
    try:
        first_net = ipaddress.ip_network(str(first).strip(), strict=False)
        second_net = ipaddress.ip_network(str(second).strip(), strict=False)
    except ValueError:
        # The rule is refused.
        return False
    if first_net.version != second_net.version:
        return True
    return not first_net.overlaps(second_net)


def is_version(fact: Fact) -> bool:
    """Return whether a fact is about versions."""
    return fact.relation.startswith(plugin.VERSION)


def _do_versions_exclude(first: Fact, second: Fact) -> bool:
    """Return whether no version satisfies both facts.

    One of the facts may instead list the values that the field may have.
    Between any two versions lies a third: two bounds exclude each other only
    if the lower bound is above the upper bound.

    :param first: a fact about versions, unless ``second`` is.
    """
    for fact, counterpart in ((first, second), (second, first)):
        allowed = _list_versions(fact)
        if allowed is not None and is_version(counterpart):
            return not any(
                _may_be_version(value, counterpart) for value in allowed
            )
    if not (is_version(first) and is_version(second)):
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
    """List the versions that a fact allows; None for a range of versions.

    ``version-eq 1.2`` allows ``['1.2']``, as ``eq 1.2`` does.
    """
    if fact.relation == 'version-eq':
        return [fact.value]
    if is_version(fact):
        return None
    return values(fact)


def _may_be_version(value: typing.Any, fact: Fact) -> bool:
    """Return whether a value may satisfy a fact about versions."""
    if _is_number(value):
        # A number 2.1 stands for the texts "2.1" and "2.10", which are
        # different versions.
        return True
    if not isinstance(value, str):
        return False
    if not isinstance(fact.value, str):
        return True
    holds = _VERSION_ORDERS[fact.relation]
    key_of_value = comparison.version_key(value)
    key_of_bound = comparison.version_key(fact.value)
    return bool(holds(key_of_value, key_of_bound))


def number(value: typing.Any) -> int | float | None:
    """Return the number as which the op ``eq`` compares a value.

    :returns: 5 for 5 and for the text "5"; None for a value that ``eq`` does
        not compare as a number, such as the text "five".
    """
    if isinstance(value, str):
        # "5" in the data of a machine equals 5 in a rule.
        return comparison.as_number(value)
    if isinstance(value, int | float):
        return value
    return None


def _is_number(value: typing.Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plain_text(value: typing.Any) -> bool:
    return isinstance(value, str) and number(value) is None


def may_be(value: typing.Any, fact: Fact) -> bool:
    """Return whether a field that is equal to a value may satisfy a fact.

    To ``eq``, 5, "5" and "5.0" are equal, and the data of a machine may have
    any of them. The answer is yes if one of them satisfies the fact: a field
    that equals 5 may be "5", and so differ from the text "5.0".

    :param fact: a fact about neither a subnet nor a version.
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
    value_as_number = number(value)
    bound_as_number = number(fact.value)
    are_numbers = value_as_number is not None and bound_as_number is not None
    if fact.relation == 'eq':
        if are_numbers:
            return value_as_number == bound_as_number
        return bool(value == fact.value)
    if fact.relation == 'ne':
        if are_numbers and value_as_number == bound_as_number:
            return _may_differ(value, fact.value)
        return bool(value != fact.value)
    return _may_be_in_order(value, fact)


def _may_be_in_order(value: typing.Any, fact: Fact) -> bool:
    """Return whether a value may satisfy a fact such as ``lt``.

    Numbers are compared with numbers, and texts that are no numbers with such
    texts.
    """
    order = _ORDERS[fact.relation]
    if _is_number(fact.value):
        value_as_number = number(value)
        if value_as_number is not None:
            return order.holds(value_as_number, fact.value)
        if not fact.unordered:
            return order.holds(value, fact.value)
    if _is_plain_text(value) and _is_plain_text(fact.value):
        return order.holds(value, fact.value)
    # How other pairs compare, such as a text and "5", depends on the types in
    # the data. Null has no order with anything.
    return fact.unordered or value is not None


def _may_differ(first: typing.Any, second: typing.Any) -> bool:
    """Return whether a field may equal one value and yet differ from another.

    To ``eq`` both values are the same number, as 5 and "5.0": a field that is
    the text "5" equals 5, and differs from "5.0".
    """
    if _is_number(second):
        # All forms of the number equal it.
        return False
    # Two texts are compared as text: "5" is not "5.0". And a value that equals
    # 1 may be the text "1", which does not equal true.
    is_same = type(first) is type(second) and first == second
    return not is_same
