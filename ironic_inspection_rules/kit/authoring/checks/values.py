# SPDX-License-Identifier: Apache-2.0

"""Find values with which a field is compared but that it never has.

Such a value is a mistake: its author probably meant another value. For
example, ``eq: ["{inventory.cpu.architecture}", amd64]`` never holds, because
machines report ``x86_64``. The mistake is in the value ``amd64``, and the
intended value is ``x86_64``. The module :mod:`.value_mistake` decides whether
a value is a mistake. This module finds the fields and values of a rule that it
must compare. Ops and filters that do not fit the field are mistakes as well,
e.g. ``lt`` for a version.

Functions get the comparisons of a condition as facts, e.g.
``('/inventory/cpu/count', 'lt', 8)``; see :mod:`.facts`. In a loop, ``item``
is what is known about the items; it is None outside of a loop.
"""

from collections.abc import Iterator
import ipaddress
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import mended_text
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import known_values
from ironic_inspection_rules.kit.authoring.checks import value_mistake
from ironic_inspection_rules.rule_file import file_rule

Value = field_value.FieldValue
Mistakes = Iterator[tuple[str, typing.Any, value_mistake.ValueMistake]]
"""Tuples of the pointer to a value in a rule, the value, and the mistake in
it."""

_TRUTH_OPS = ('is-true', 'is-false')
_IN_NET = 'in-net'
_IP_VERSION_OF_FIELD = {
    'bmc_v6address': 6,
    'ipv6_address': 6,
    'bmc_address': 4,
    'ipv4_address': 4,
}
"""The version of the IP address in a field, by the name of the field."""
_FILTERS_ORDERING_ITEMS = frozenset(('max', 'min', 'sort'))
"""Filters that order items, which is impossible for mappings."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find values that no machine has in the compared field.

    Yield the place of the value in the rule, and a message.
    """
    for pointer, _value, mistake in _find_mistakes(rule):
        yield pointer, mistake.message


def mendings(rule: checked_rule.CheckedRule) -> Iterator[mended_text.Change]:
    """Yield the changes of a rule file that correct the mistakes.

    They replace values by the intended ones, and ops that compare versions as
    numbers: ``lt`` becomes ``version-lt``.
    """
    for pointer, value, mistake in _find_mistakes(rule):
        if mistake.meant is not None:
            yield mended_text.ReplaceValue(pointer, value, mistake.meant)
    for condition in rule.all_conditions:
        yield from _mend_versions(rule, condition)


def _mend_versions(
    rule: checked_rule.CheckedRule, condition: file_rule.Operation
) -> Iterator[mended_text.Change]:
    """Yield the changes from ``lt`` to ``version-lt``, and the like.

    ``lt: ["{inventory.system_vendor.firmware.version}", 2.10]`` becomes
    ``version-lt: [..., "2.10"]``. This is only done if the condition compares
    nothing but versions.
    """
    compared = condition.arguments.get('values')
    if condition.arguments_given != ['values']:
        # Conditions on versions have no other arguments.
        return
    if not isinstance(compared, list):
        return
    stated = facts.stated_by(condition, looped=True)
    if not stated or len(stated) != len(compared) - 1:
        # If two neighbors are fields, there is no fact about them.
        return
    for fact in stated:
        steps = steps_of(fact.field)
        if (
            value_mistake.find_in_version(steps, fact.relation, fact.value)
            is None
        ):
            return
    name = condition.op.name
    yield mended_text.RewriteText(
        f'{condition.pointer}/op', name, f'{plugin.VERSION}{name}'
    )
    for fact in stated:
        if isinstance(fact.value, str):
            continue
        # YAML reads 2.10 as the number 2.1, but the file still has the text.
        pointer = _find_pointer(condition, fact.value)
        text = rule.written.source.ambiguous.get(
            (rule.written.index, pointer), str(fact.value)
        )
        yield mended_text.ReplaceValue(pointer, fact.value, text)


def _find_mistakes(rule: checked_rule.CheckedRule) -> Mistakes:
    """Yield the mistakes in conditions, and in the filters of all fields.

    The fields may be in conditions, actions and ``vars``.

    :returns: tuples of the pointer to a value, the value, and its mistake.
    """
    items = field_use.known_items(rule)
    for condition in rule.all_conditions:
        yield from _find_mistakes_in_condition(
            rule, condition, items[condition.pointer]
        )
    for operation in rule.operations:
        item = items[operation.pointer]
        for name, argument in operation.templates.items():
            for field in interpolation.fields(argument):
                mistake = _find_mistake_in_filters(rule, field, item)
                if mistake is not None:
                    yield operation.pointer_to(name), argument, mistake
    for name, value in rule.rule.vars.items():
        for field in interpolation.fields(value):
            mistake = _find_mistake_in_filters(rule, field, item=None)
            if mistake is not None:
                yield f'/{model.VARS}/{name}', value, mistake


def _find_mistakes_in_condition(
    rule: checked_rule.CheckedRule,
    condition: file_rule.Operation,
    item: field_use.KnownLoopItem | None,
) -> Mistakes:
    """Yield the mistakes in one condition.

    Its values are checked in several ways: all compared values, fields that
    are compared as versions, the single field of a test such as ``matches``,
    and the subnet of ``in-net``.

    :param item: the item of the loop around the condition.
    """
    arguments = condition.arguments
    # A condition on a single value, e.g. is-true, has no value of the author
    # to compare. Regular expressions are checked separately.
    has_written_values = bool(arguments.keys() - {'value'})
    takes_regex = 'regex' in condition.op.signature.by_name
    if has_written_values and not takes_regex:
        yield from _find_mistakes_in_facts(rule, condition, item)
    if condition.op.name.startswith(plugin.VERSION):
        for compared in arguments.get('values') or ():
            mistake = _find_mistake_in_version(rule, compared, item)
            if mistake is not None:
                yield _find_pointer(condition, compared), compared, mistake
    if facts.is_field(arguments.get('value')):
        yield from _find_mistakes_in_value(rule, condition, item)
    if condition.op.name == _IN_NET:
        subnet = arguments.get('subnet')
        mistake = _find_mistake_in_subnet(
            rule, arguments.get('address'), subnet, item
        )
        if mistake is not None:
            yield condition.pointer_to('subnet'), subnet, mistake


def _find_mistakes_in_value(
    rule: checked_rule.CheckedRule,
    condition: file_rule.Operation,
    item: field_use.KnownLoopItem | None,
) -> Mistakes:
    """Yield mistakes in a test of one field, e.g. ``matches`` or ``is-true``.

    :param condition: a condition whose ``value`` is a field.
    """
    value = condition.arguments['value']
    compared_field = describe_field(rule, facts.field_name(value), item)
    regex = condition.arguments.get('regex')
    if isinstance(regex, str):
        mistake = value_mistake.find_in_pattern(
            compared_field, regex, condition.op.name == 'matches'
        )
        if mistake is not None:
            yield condition.pointer_to('regex'), regex, mistake
    if condition.op.name in _TRUTH_OPS:
        mistake = value_mistake.find_in_truth_test(
            compared_field, condition.op.name
        )
        if mistake is not None:
            yield condition.pointer_to('value'), value, mistake


def _find_mistakes_in_facts(
    rule: checked_rule.CheckedRule,
    condition: file_rule.Operation,
    item: field_use.KnownLoopItem | None,
) -> Mistakes:
    """Yield the mistakes in the values with which a condition compares fields.

    Subnets and versions are checked separately.
    """
    for fact in facts.stated_by(condition, looped=True):
        if fact.relation == plugin.IN_NET or facts.is_version(fact):
            continue
        compared_field = describe_field(rule, fact.field, item)
        compared = [fact.value]
        # Relations such as "one-of" have a list of values.
        if fact.relation.endswith('-of'):
            compared = fact.value
        for value in compared:
            mistake = value_mistake.find_in_value(
                compared_field, fact.relation, value
            )
            if mistake is not None:
                yield _find_pointer(condition, value), value, mistake


def _find_mistake_in_version(
    rule: checked_rule.CheckedRule,
    value: typing.Any,
    item: field_use.KnownLoopItem | None,
) -> value_mistake.ValueMistake | None:
    """Find the mistake if a field is compared as a version but is none.

    An example is ``version-lt: ["{inventory.cpu.count}", "8"]``, because a
    number is not a version.
    """
    if not facts.is_field(value):
        return None
    compared_field = describe_field(rule, facts.field_name(value), item)
    kind = compared_field.value.type
    if kind in (None, field_value.TEXT):
        return None
    return value_mistake.ValueMistake.about_field(
        _('{%(field)s} is a %(kind)s, and no version'),
        compared_field,
        kind=kind,
    )


def _find_mistake_in_subnet(
    rule: checked_rule.CheckedRule,
    address: typing.Any,
    subnet: typing.Any,
    item: field_use.KnownLoopItem | None,
) -> value_mistake.ValueMistake | None:
    """Find the mistake in an address and its subnet.

    - The two are exchanged, as in ``in-net: [10.0.0.0/8,
      "{inventory.bmc_address}"]``.
    - The address is the field of a MAC address.
    - The address has another version of IP than the subnet.

    :returns: None if there is no mistake, or if the subnet is a field.
    """
    if _is_literal_text(address) and facts.is_field(subnet):
        # Only report a field that reads data of the machine.
        if describe_field(rule, facts.field_name(subnet), item).steps:
            return value_mistake.ValueMistake(
                _(
                    'the address is the same for all machines, and the subnet '
                    "is not; are they in each other's place?"
                )
            )
    if not facts.is_field(address) or interpolation.fields(subnet):
        return None
    compared_field = describe_field(rule, facts.field_name(address), item)
    if value_mistake.is_mac(compared_field.steps):
        return value_mistake.ValueMistake.about_field(
            _('{%(field)s} is a MAC address, which is in no subnet'),
            compared_field,
        )
    if not compared_field.steps:
        return None
    return _find_other_ip_version(compared_field, subnet)


def _is_literal_text(value: typing.Any) -> bool:
    """Return whether a value is a text without fields."""
    return isinstance(value, str) and not interpolation.fields(value)


def _find_other_ip_version(
    compared_field: value_mistake.ComparedField, subnet: typing.Any
) -> value_mistake.ValueMistake | None:
    """Find the mistake if an address has another version of IP than a subnet.

    :param compared_field: a field over the data, whose name shows the version
        of its address.
    :param subnet: a subnet without fields.
    """
    version = _IP_VERSION_OF_FIELD.get(compared_field.steps[-1])
    try:
        net = ipaddress.ip_network(str(subnet).strip(), strict=False)
    except ValueError:
        # Validation refuses rules with such a subnet.
        return None
    if version is None or version == net.version:
        return None
    return value_mistake.ValueMistake.about_field(
        _(
            '{%(field)s} is an address of IPv%(version)d, and never in '
            '%(subnet)s'
        ),
        compared_field,
        version=version,
        subnet=subnet,
    )


def describe_field(
    rule: checked_rule.CheckedRule,
    field: str,
    item: field_use.KnownLoopItem | None = None,
) -> value_mistake.ComparedField:
    """Return a field with what is known about its value.

    For example, ``/inventory/cpu/count`` gives ``inventory.cpu.count``, a
    number. The result is used to find mistakes.

    :param field: the name of the field in facts, e.g. ``/node/name``; see
        :func:`.facts.field_name`.
    :param item: the item of the loop around the field.
    """
    if not field.startswith('/'):
        # The name of a field with filters is its text in braces.
        (parsed,) = interpolation.fields(field)
        value = field_use.known_value(parsed, item, rule.rule.vars)
        return value_mistake.ComparedField(parsed.text, value)
    root, *steps = data_path.split_pointer(field)
    value = field_use.known_value(
        interpolation.Field('', root, tuple(steps)), item, rule.rule.vars
    )
    path = value.steps or (root, *steps)
    return value_mistake.ComparedField('.'.join(path), value)


def steps_of(
    field: str, item: field_use.KnownLoopItem | None = None
) -> tuple[str, ...]:
    """Return the steps to a field from the roots; empty if they are unknown.

    In a loop over ``{inventory.disks}``, ``/item/size`` has the steps
    ``('inventory', 'disks', '*', 'size')``.

    :param field: the name of the field in facts, e.g. ``/node/name``.
    :param item: the item of the loop around the field; None outside of a loop.
        Its steps replace ``item`` at the beginning of the field.
    """
    if not field.startswith('/'):
        # The field has filters.
        return ()
    steps = data_path.split_pointer(field)
    # The steps do not depend on the place in the rule, so it may be empty.
    use = field_use.FieldUse('', field, steps, item)
    return use.from_roots or ()


def _find_pointer(operation: file_rule.Operation, value: typing.Any) -> str:
    """Find the place at which an author wrote a value of an operation.

    The value comes from a fact, e.g. "cpu.count < 8", which does not say in
    which argument the 8 is. If several arguments are equal, the one with the
    shortest path is chosen.

    :param operation: a condition, whose ``written`` is the condition in the
        file.
    :returns: a pointer, e.g. ``/conditions/0/args/values/1``; the pointer to
        the operation if no argument is equal to the value.
    """
    nearest: data_path.Path | None = None
    for path, argument in data_path.walk(operation.written.get('args')):
        if not data_path.is_same(argument, value):
            continue
        if nearest is None or len(path) < len(nearest):
            nearest = path
    if nearest is None:
        return operation.pointer
    return operation.pointer + data_path.pointer(('args', *nearest))


def _find_mistake_in_filters(
    rule: checked_rule.CheckedRule,
    field: interpolation.Field,
    item: field_use.KnownLoopItem | None,
) -> value_mistake.ValueMistake | None:
    """Find the first mistake in the filters of a field.

    For example, the mistake in ``{inventory.cpu.count | sum}`` is that ``sum``
    does not accept a number. Filters after a mistake are not checked, because
    the result for a wrong value is unknown.
    """
    if field.root is None or not field.filters:
        return None
    text = '.'.join((field.root, *field.steps))
    without_filters = field._replace(filters=(), spec=None, conversion=None)
    value = field_use.known_value(without_filters, item, rule.rule.vars)
    for call in field.filters:
        op = registry.filters().get(call.name)
        if op is None:
            return None
        attribute = field_value.attribute_of(call)
        compared_field = value_mistake.ComparedField(text, value)
        mistake = _find_mistake_in_filter(
            compared_field, call.name, attribute, op
        )
        if mistake is None:
            mistake = _find_mistake_in_test(value, call)
        if mistake is not None:
            return mistake
        value = value.result_of(call, attribute)
        text = f'{text} | {call.name}'
    return None


def _find_mistake_in_filter(
    compared_field: value_mistake.ComparedField,
    name: str,
    attribute: field_use.Steps,
    op: registry.Op,
) -> value_mistake.ValueMistake | None:
    """Find the mistake if a filter does not accept its input.

    Either the filter does not accept the type of the value, or the value is a
    list and the filter does not accept its items, e.g. ``sum`` of texts.

    :param compared_field: the field before the filter.
    :param name: the name of the filter.
    :param attribute: the path of the attribute of items that the filter uses,
        e.g. ``('size',)``; empty if it uses the items.
    """
    kind = compared_field.value.type
    if kind and op.plugin.TAKES and kind not in op.plugin.TAKES:
        return value_mistake.ValueMistake.about_field(
            _(
                '{%(field)s} is a %(kind)s, which the filter '
                '%(filter)s does not take'
            ),
            compared_field,
            kind=kind,
            filter=name,
        )
    items = compared_field.value.items
    if items is None or kind not in (None, field_value.LIST):
        return None
    of_items = field_value.type_at((*items, *attribute))
    is_taken = True
    if name == 'sum':
        # True counts as 1, and items of an unknown type may be numbers.
        is_taken = of_items in (None, field_value.NUMBER, field_value.BOOLEAN)
    elif name in _FILTERS_ORDERING_ITEMS:
        # Mappings have no order.
        is_taken = of_items != field_value.MAPPING
    if not is_taken:
        return value_mistake.ValueMistake.about_field(
            _(
                'each item of {%(field)s} is a %(kind)s, which the filter '
                "%(filter)s does not take; name an attribute='…'"
            ),
            compared_field,
            kind=of_items,
            filter=name,
        )
    return None


def _find_mistake_in_test(
    value: Value, call: typing.Any
) -> value_mistake.ValueMistake | None:
    """Find a mistake in the value with which selectattr compares an attribute.

    An example is ``'500 GB'`` in ``selectattr('size', 'gt', '500 GB')``. The
    mistake is not corrected, because it is in the middle of a field's text.

    :param value: what is known about the list that the filter selects from.
    :param call: the filter with its arguments.
    """
    if call.name not in ('selectattr', 'rejectattr') or value.items is None:
        return None
    arguments = [argument for _name, argument in call.arguments]
    if len(arguments) != 3:
        return None
    attribute, test, compared = arguments
    if not isinstance(attribute, str) or not isinstance(test, str):
        return None
    if isinstance(compared, interpolation.Field):
        return None
    steps = (*value.items, *attribute.split('.'))
    compared_field = value_mistake.ComparedField('.'.join(steps), Value(steps))
    is_number = compared_field.value.type == field_value.NUMBER
    has_unit = isinstance(compared, str) and (
        known_values.QUANTITY.fullmatch(compared)
    )
    if is_number and has_unit:
        return value_mistake.ValueMistake.about_field(
            _('{%(field)s} is a number, and "%(value)s" is text with a unit'),
            compared_field,
            value=compared,
        )
    mistake = value_mistake.find_in_value(compared_field, test, compared)
    if mistake is None:
        return None
    # Without an intended value, nothing is corrected.
    return mistake._replace(meant=None)
