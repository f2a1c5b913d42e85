# SPDX-License-Identifier: Apache-2.0

"""Facts that conditions state of fields, and which exclude each other."""

import ipaddress
import operator
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.rule_file import file_rule

Fact = plugin.Fact

_FROM_THE_RIGHT = {'lt': 'gt', 'gt': 'lt', 'le': 'ge', 'ge': 'le',
                   'eq': 'eq', 'ne': 'ne'}
_ORDERS: dict[str, comparison.Comparison] = {
    'lt': comparison.Less(), 'le': comparison.LessOrEqual(),
    'gt': comparison.Greater(), 'ge': comparison.GreaterOrEqual()}
_VERSION_ORDERS = {f'{plugin.VERSION}{name}': getattr(operator, name)
                   for name in _FROM_THE_RIGHT}


def of(condition: file_rule.Operation, looped: bool = False) -> list[Fact]:
    """Return what a condition states, with one name for each field.

    :param looped: also of one in a loop, of which only some item need be so.
    """
    if condition.loops and not looped:
        return []
    found = []
    # The check of what plugins declare reports what cannot be known.
    for fact in effects.facts(condition):
        name = fact.relation.removeprefix(plugin.VERSION)
        if is_field(fact.value) and name in _FROM_THE_RIGHT:
            fact = fact._replace(
                field=fact.value, value=fact.field,
                relation=fact.relation.removesuffix(name)
                + _FROM_THE_RIGHT[name])
        # Only facts about one field are kept.
        if is_field(fact.field) and not interpolation.fields(fact.value) and (
                isinstance(fact.value, list) or name in _FROM_THE_RIGHT
                or name == plugin.IN_NET):
            found.append(fact._replace(field=field_name(fact.field)))
    return found


def from_the_right(name: str) -> str | None:
    """Return the comparison that says the same with its sides exchanged.

    :param name: of a condition.
    :returns: None where the condition compares no two sides.
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
    """Return one name for all ways to write a field."""
    field, = interpolation.fields(text)
    if not field.is_plain or field.root is None:
        return text
    return data_path.pointer([field.root, *field.steps])


def values(fact: Fact) -> list[typing.Any] | None:
    """Return the values that a fact allows, None if they are too many."""
    if fact.relation == 'eq':
        return [fact.value]
    return fact.value if fact.relation == 'one-of' else None


def exclude(one: Fact, other: Fact) -> bool:
    """Return whether no value of a field satisfies both facts."""
    if is_version(one) or is_version(other):
        return _versions_exclude(one, other)
    if plugin.IN_NET in (one.relation, other.relation):
        return one.relation == other.relation and _apart(one.value,
                                                         other.value)
    for this, that in ((one, other), (other, one)):
        few = values(this)
        if few is not None:
            return not any(may_be(value, that) for value in few)
    if one.relation not in _ORDERS or other.relation not in _ORDERS or not (
            any(kind(one.value) and kind(other.value)
                for kind in (_is_number, _is_plain_text))):
        return False
    low, high = sorted((one, other), key=lambda each: each.relation)
    if low.relation[0] == high.relation[0] or (
            low.unordered and high.unordered):
        return False
    if low.value == high.value:
        return (low.relation, high.relation) != ('ge', 'le')
    return bool(low.value > high.value)


def _apart(one: typing.Any, other: typing.Any) -> bool:
    """Return whether no address is in both subnets."""
    try:
        nets = [ipaddress.ip_network(str(each).strip(), strict=False)
                for each in (one, other)]
    except ValueError:
        # The rule is refused.
        return False
    return nets[0].version != nets[1].version or not nets[0].overlaps(
        nets[1])


def is_version(fact: Fact) -> bool:
    """Return whether a fact is about versions."""
    return fact.relation.startswith(plugin.VERSION)


def _versions_exclude(one: Fact, other: Fact) -> bool:
    """Return whether no version satisfies both; between two lies a third."""
    for this, that in ((one, other), (other, one)):
        few = [this.value] if this.relation == 'version-eq' else (
            None if is_version(this) else values(this))
        if few is not None and is_version(that):
            # Text that eq takes for a number may be many versions.
            return not any(
                _is_number(value) or isinstance(value, str) and (
                    not isinstance(that.value, str)
                    or _VERSION_ORDERS[that.relation](*map(
                        comparison.version_key, (value, that.value))))
                for value in few)
    if not (is_version(one) and is_version(other)):
        return False
    low, high = sorted((one, other), key=lambda each: each.relation)
    if not low.relation.startswith(f'{plugin.VERSION}g') or (
            not high.relation.startswith(f'{plugin.VERSION}l')
            or not isinstance(low.value, str)
            or not isinstance(high.value, str)):
        return False
    below, above = map(comparison.version_key, (low.value, high.value))
    return below > above or below == above and (
        low.relation, high.relation) != ('version-ge', 'version-le')


def number(value: typing.Any) -> int | float | None:
    """Return the number that ``eq`` may take a value for."""
    if isinstance(value, str):
        return comparison.as_number(value)
    return value if isinstance(value, int | float) else None


def _is_number(value: typing.Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plain_text(value: typing.Any) -> bool:
    return isinstance(value, str) and number(value) is None


def may_be(value: typing.Any, fact: Fact) -> bool:
    """Return whether a value may satisfy a fact.

    To ``eq``, 5, "5" and "5.0" are equal.
    """
    if fact.relation == 'one-of':
        return any(may_be(value, Fact(fact.field, 'eq', each))
                   for each in fact.value)
    if fact.relation == 'none-of':
        return all(may_be(value, Fact(fact.field, 'ne', each))
                   for each in fact.value)
    here, there = number(value), number(fact.value)
    if fact.relation == 'eq':
        if here is not None and there is not None:
            return here == there
        return bool(value == fact.value)
    if fact.relation == 'ne':
        if here is not None and there is not None:
            return here != there or not _is_number(fact.value) and (
                value is not fact.value)
        return bool(value != fact.value)
    order = _ORDERS[fact.relation]
    if _is_number(fact.value) and not (fact.unordered and here is None):
        return order.holds(value if here is None else here, fact.value)
    if _is_plain_text(value) and _is_plain_text(fact.value):
        return order.holds(value, fact.value)
    return fact.unordered or value is not None
