# SPDX-License-Identifier: Apache-2.0

"""Places that actions write, and values as nodes and ports keep them."""

from collections.abc import Iterator
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.proof import expression
from ironic_inspection_rules.proof import machine as machines
from ironic_inspection_rules.proof import state as states
from ironic_inspection_rules.proof import value as values
from ironic_inspection_rules.traits import names as trait_names

Value = values.Value

_TEXT = 'a string'


def places(op: registry.Op, bound: dict[str, typing.Any]
            ) -> Iterator[data_path.Path]:
    """Yield the places that an action may change, all if it does not say."""
    declared = list(op.plugin.writes({
        **{each.name: each.default for each in op.signature.arguments},
        **bound}))
    if not declared:
        yield from (('node',), ('plugin_data',), ('ports',))
    for write in declared:
        if write.kind in ('trait', 'traits'):
            yield machines.TRAITS
        elif write.kind == 'capability':
            yield machines.CAPABILITIES
        else:
            path: data_path.Path = ()
            if isinstance(write.name, str | tuple | list) and not (
                    interpolation.fields(write.name)):
                path = data_path.parse(write.name) if isinstance(
                    write.name, str) else tuple(map(str, write.name))
            if write.kind == 'port':
                yield ('ports', shown(values.Const(write.owner)), *path)
            else:
                yield (write.kind, *path)


def address(port_id: values.Alternative) -> typing.Any:
    """Return the MAC address of a port as a term, None if it is none."""
    if isinstance(port_id, values.Term) and port_id.is_text:
        return port_id.term
    known = shown(port_id)
    return None if known == states.ANY_PORT else z3.StringVal(known)


def shown(port_id: values.Alternative) -> str:
    """Return the MAC address that a rule writes out, else ``ANY_PORT``."""
    text = port_id.value if isinstance(port_id, values.Const) else None
    if not isinstance(text, str) or text.count(':') != 5 or (
            interpolation.fields(text)):
        return states.ANY_PORT
    return text.lower()


def is_trait(machine: machines.Machine, name: values.Alternative
             ) -> values.Formula | None:
    """Return when a text is the name of a trait, None if nobody knows."""
    if not isinstance(name, values.Term) or not name.is_text:
        return None
    facet = machine.facet(
        name.term, 'trait', lambda known: (z3.Bool(known),),
        lambda text: (trait_names.problem(text) is None,))
    if facet is None:
        return None
    facet.near.add('CUSTOM_A')
    return facet.terms[0]


def read(path: data_path.Path,
          table: typing.Mapping[str, schema.Attribute],
          each: values.Alternative) -> Value:
    """Return a value as an attribute of a node or a port keeps it."""
    if isinstance(each, values.Const):
        try:
            return values.const(schema.read_value(path, each.value, table))
        except exceptions.OperationError:
            return values.only(values.Failed())
    if len(path) > 1 or isinstance(each, values.Unknown | values.Failed):
        return values.only(each)
    attribute = table[path[0]]
    if attribute.kind == _TEXT and isinstance(each, values.Term) and (
            not each.is_boolean):
        text = expression.as_text(each)
        if text is not None:
            return values.choose(
                z3.Length(text) <= attribute.longest,
                values.only(values.Term(text)), values.only(values.Failed()))
    if attribute.kind == 'a mapping':
        return values.only(each if isinstance(each, values.Mapping)
                           else values.Failed())
    if attribute.kind == 'true or false' and isinstance(
            each, values.Term) and each.is_boolean:
        return values.only(each)
    if attribute.kind == _TEXT and isinstance(
            each, values.Mapping | values.Items | values.Names) or (
            isinstance(each, values.Term) and each.is_boolean):
        return values.only(values.Failed())
    return values.only(values.Unknown(f'{path[0]} out of the data'))


def extended(old: values.Alternative, new: values.Alternative,
              once: values.Alternative) -> Value:
    if isinstance(old, values.Failed | values.Term | values.Mapping):
        return values.only(values.Failed())
    if isinstance(old, values.Const) and isinstance(
            new, values.Const) and isinstance(once, values.Const):
        items = [] if old.value in (None, data_path.ABSENT) else old.value
        if not isinstance(items, list):
            return values.only(values.Failed())
        if once.value and any(data_path.same(each, new.value)
                              for each in items):
            return values.const(items)
        return values.const([*items, new.value])
    return values.only(values.Unknown('a list that rules extend'))


def capability_text(each: values.Alternative) -> Value:
    """Return the value of a capability, which is text without commas."""
    if isinstance(each, values.Const):
        text = str(each.value)
        return values.const(text) if text and ',' not in text and not (
            isinstance(each.value, list | dict)) else values.only(
            values.Failed())
    if isinstance(each, values.Term):
        text = expression.as_text(each)
        if text is not None:
            return values.choose(
                z3.Or(text == '', z3.Contains(text, ',')),
                values.only(values.Failed()), values.only(values.Term(text)))
    return values.only(values.Unknown('the value of a capability'))
