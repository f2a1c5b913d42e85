# SPDX-License-Identifier: Apache-2.0

"""Values that are compared with a field and that it never has."""

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
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import known_values
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.authoring.checks import slip
from ironic_inspection_rules.rule_file import file_rule

Value = field_value.Value
Slips = Iterator[tuple[str, typing.Any, slip.Slip]]
"""The place in a rule, what is written there, and the slip in it."""

_TRUTHS = ('is-true', 'is-false')
_IN_NET = 'in-net'
_ADDRESSES = {'bmc_v6address': 6, 'ipv6_address': 6, 'bmc_address': 4,
              'ipv4_address': 4}
"""By the name of a field, the version of its IP address."""
_NEED_PLAIN = frozenset(('max', 'min', 'sort'))
"""Filters that compare items, which mappings have no order for."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find values that no machine has in the field beside them."""
    for pointer, _value, found in _slips(rule):
        yield pointer, found.message


def mendings(rule: checked_rule.CheckedRule) -> Iterator[mended_text.Change]:
    """Yield what puts the meant value in the place of one."""
    for pointer, value, found in _slips(rule):
        if found.meant is not None:
            yield mended_text.Replace(pointer, value, found.meant)
    for condition in rule.all_conditions:
        yield from _version_mendings(rule, condition)


def _version_mendings(rule: checked_rule.CheckedRule,
                      condition: file_rule.Operation
                      ) -> Iterator[mended_text.Change]:
    items = condition.arguments.get('values')
    if condition.arguments_given != ['values'] or not isinstance(items, list):
        return
    stated = facts.of(condition, looped=True)
    if not stated or len(stated) != len(items) - 1 or not all(slip.version(
            steps_of(fact.field), fact.relation, fact.value)
            for fact in stated):
        return
    name = condition.op.name
    yield mended_text.Rewrite(f'{condition.pointer}/op', name,
                            f'{plugin.VERSION}{name}')
    for fact in stated:
        pointer = _place(condition, fact.value)
        if not isinstance(fact.value, str):
            yield mended_text.Replace(
                pointer, fact.value, rule.written.source.plain.get(
                    (rule.written.index, pointer), str(fact.value)))


def _slips(rule: checked_rule.CheckedRule) -> Slips:
    items = reach.items(rule)
    for condition in rule.all_conditions:
        yield from _in_condition(rule, condition, items[condition.pointer])
    for operation in rule.operations:
        for name, argument in operation.templates.items():
            for field in interpolation.fields(argument):
                for found in _in_filters(rule, field,
                                         items[operation.pointer]):
                    yield operation.pointer_to(name), argument, found
    for name, value in rule.rule.vars.items():
        for field in interpolation.fields(value):
            for found in _in_filters(rule, field, None):
                yield f'/{model.VARS}/{name}', value, found


def _in_condition(rule: checked_rule.CheckedRule,
                  condition: file_rule.Operation,
                  item: reach.Item | None) -> Slips:
    given = condition.arguments
    # What takes nothing but the value has its texts from the op.
    if given.keys() - {'value'} and (
            'regex' not in condition.op.signature.by_name):
        yield from _in_facts(rule, condition, item)
    if condition.op.name.startswith(plugin.VERSION):
        for value in given.get('values') or ():
            found = _version(rule, value, item)
            if found:
                yield _place(condition, value), value, found
    value, regex = map(given.get, ('value', 'regex'))
    if facts.is_field(value) and isinstance(regex, str):
        found = slip.of_pattern(
            subject(rule, facts.field_name(value), item), regex,
            condition.op.name == 'matches')
        if found:
            yield condition.pointer_to('regex'), regex, found
    if condition.op.name in _TRUTHS and facts.is_field(value):
        found = slip.of_truth(subject(rule, facts.field_name(value), item),
                              condition.op.name)
        if found:
            yield condition.pointer_to('value'), value, found
    if condition.op.name == _IN_NET:
        found = _net(rule, given.get('address'), given.get('subnet'), item)
        if found:
            yield condition.pointer_to('subnet'), given['subnet'], found


def _in_facts(rule: checked_rule.CheckedRule,
              condition: file_rule.Operation,
              item: reach.Item | None) -> Slips:
    for fact in facts.of(condition, looped=True):
        if fact.relation == plugin.IN_NET or facts.is_version(fact):
            # These have questions of their own.
            continue
        about = subject(rule, fact.field, item)
        several = fact.relation.endswith('-of')
        for value in fact.value if several else [fact.value]:
            found = slip.of_value(about, fact.relation, value)
            if found:
                yield _place(condition, value), value, found


def _version(rule: checked_rule.CheckedRule, value: typing.Any,
             item: reach.Item | None) -> slip.Slip | None:
    """Return why a field that is compared as a version is none."""
    if not facts.is_field(value):
        return None
    about = subject(rule, facts.field_name(value), item)
    kind = about.value.type
    if kind in (None, field_value.TEXT):
        return None
    return slip.Slip.of(_('{%(field)s} is a %(kind)s, and no version'), about,
                        kind=kind)


def _net(rule: checked_rule.CheckedRule, address: typing.Any,
         subnet: typing.Any, item: reach.Item | None) -> slip.Slip | None:
    """Return why an address is never in a subnet."""
    if facts.is_field(subnet) and isinstance(address, str) and (
            not interpolation.fields(address)
            and subject(rule, facts.field_name(subnet), item).steps):
        return slip.Slip(_(
            'the address is the same for all machines, and the subnet is '
            "not; are they in each other's place?"))
    if not facts.is_field(address) or interpolation.fields(subnet):
        return None
    about = subject(rule, facts.field_name(address), item)
    if slip.is_mac(about.steps):
        return slip.Slip.of(_('{%(field)s} is a MAC address, which is in no '
                              'subnet'), about)
    version = _ADDRESSES.get(about.steps[-1]) if about.steps else None
    try:
        net = ipaddress.ip_network(str(subnet).strip(), strict=False)
    except ValueError:
        # The rule is refused.
        return None
    if version is None or version == net.version:
        return None
    return slip.Slip.of(
        _('{%(field)s} is an address of IPv%(version)d, and never in '
          '%(subnet)s'), about, version=version, subnet=subnet)


def subject(rule: checked_rule.CheckedRule, field: str,
            item: reach.Item | None = None) -> slip.Subject:
    """Return what is known of a field as facts name it."""
    if field.startswith('/'):
        root, *steps = data_path.parse(field)
        found = reach.value_of(interpolation.Field('', root, tuple(steps)),
                               item, rule.rule.vars)
        return slip.Subject('.'.join(found.steps or (root, *steps)), found)
    written, = interpolation.fields(field)
    return slip.Subject(written.text, reach.value_of(written, item,
                                                     rule.rule.vars))


def steps_of(field: str, item: reach.Item | None = None) -> tuple[str, ...]:
    """Return the steps of a field as facts name it, none if unknown."""
    if not field.startswith('/'):
        return ()
    return reach.Use('', field, data_path.parse(field), item).from_roots or ()


def _place(operation: file_rule.Operation, value: typing.Any) -> str:
    found = [('args', *path) for path, each
             in data_path.walk(operation.written.get('args'))
             if data_path.same(each, value)]
    nearest = min(found, key=len) if found else ()
    return operation.pointer + data_path.pointer(nearest)


def _in_filters(rule: checked_rule.CheckedRule, field: interpolation.Field,
                item: reach.Item | None) -> Iterator[slip.Slip]:
    if field.root is None or not field.filters:
        return
    shown = '.'.join((field.root, *field.steps))
    value = reach.value_of(field._replace(filters=(), spec=None,
                                          conversion=None),
                           item, rule.rule.vars)
    for call in field.filters:
        op = registry.filters().get(call.name)
        if op is None:
            return
        attribute = field_value.attribute_of(call)
        found = _in_filter(slip.Subject(shown, value), call.name, attribute,
                           op) or _in_test(value, call)
        if found:
            yield found
            return
        value = value.after(call, attribute)
        shown = f'{shown} | {call.name}'


def _in_filter(about: slip.Subject, name: str, attribute: reach.Steps,
               op: registry.Op) -> slip.Slip | None:
    """Return why a filter cannot take a value."""
    kind = about.value.type
    if kind and op.plugin.TAKES and kind not in op.plugin.TAKES:
        return slip.Slip.of(_('{%(field)s} is a %(kind)s, which the filter '
                              '%(filter)s does not take'), about, kind=kind,
                            filter=name)
    items = about.value.items
    if items is None or kind not in (None, field_value.LIST):
        return None
    of_items = field_value.type_at((*items, *attribute))
    if name in _NEED_PLAIN and of_items == field_value.MAPPING or (
            name == 'sum' and of_items not in (None, 'number', 'boolean')):
        return slip.Slip.of(_(
            'each item of {%(field)s} is a %(kind)s, which the filter '
            "%(filter)s does not take; name an attribute='…'"), about,
            kind=of_items, filter=name)
    return None


def _in_test(value: Value, call: typing.Any) -> slip.Slip | None:
    """Return the slip in what selectattr compares an attribute with."""
    given = [each for _name, each in call.arguments]
    if call.name not in ('selectattr', 'rejectattr') or len(given) != 3 or (
            value.items is None or not isinstance(given[0], str)
            or not isinstance(given[1], str)
            or isinstance(given[2], interpolation.Field)):
        return None
    steps = (*value.items, *given[0].split('.'))
    about = slip.Subject('.'.join(steps), Value(steps))
    if about.value.type == field_value.NUMBER and isinstance(
            given[2], str) and known_values.QUANTITY.fullmatch(given[2]):
        return slip.Slip.of(_('{%(field)s} is a number, and "%(value)s" is '
                              'text with a unit'), about, value=given[2])
    found = slip.of_value(about, given[1], given[2])
    return found and found._replace(meant=None)
