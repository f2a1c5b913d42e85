# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What the arguments of an op may be, by the type they declare."""

import typing

from ironic_inspection_rules.actions import api_call
from ironic_inspection_rules.actions import attribute
from ironic_inspection_rules.actions import control
from ironic_inspection_rules.actions import schema as attributes
from ironic_inspection_rules.actions import trait
from ironic_inspection_rules.conditions import comparison
from ironic_inspection_rules.conditions import value as value_condition
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.offline.schema import description
from ironic_inspection_rules.offline.schema import form
from ironic_inspection_rules.traits import names as trait_names

Schema = form.Schema

_BY_TYPE: dict[typing.Any, list[Schema]] = {
    bool: [{'type': 'boolean'}, {'enum': [0, 1]}, form.whole(
        rf'\s*(?:{form.TRUTHS}|{form.FALSEHOODS})\s*')],
    int: [{'type': 'number'}, form.whole(form.WHOLE_NUMBER)],
    float: [{'type': 'number'}, form.whole(form.NUMBER)],
    str: [{'type': ['string', 'number', 'boolean']}],
    list: [{'type': 'array'}],
}

_PATH: list[Schema] = [
    {'type': 'string', 'pattern': r'^(?:/[^/]|[^/.]|\.[^/]*/)'},
    {'type': ['number', 'boolean', 'array', 'object']}]

TRAIT: Schema = form.either(
    {'type': 'string', 'maxLength': trait_names.MAX_LENGTH,
     'pattern': f'^CUSTOM_[A-Z0-9_]+{form.END}'},
    {'enum': sorted(trait_names.STANDARD)})
"""The name of a trait; it is one of the definitions of a schema."""

_TRAIT: Schema = {'$ref': '#/definitions/trait'}
_STRINGS: Schema = {'type': 'object',
                    'additionalProperties': {'type': 'string'}}

_SPECIAL: dict[tuple[typing.Any, str], list[Schema]] = {
    (control.Log, 'level'): [form.whole(form.words(control.LEVELS))],
    (value_condition.InNet, 'subnet'): [
        {'type': 'string', 'pattern': r'^\s*[0-9A-Fa-f:]'}],
    (comparison.OneOf, 'values'): [{'type': 'array'}],
    (trait.AddTrait, 'name'): [_TRAIT],
    (trait.SetTraits, 'names'): [
        {'type': 'array', 'items': _TRAIT}],
    (api_call.ApiCall, 'url'): [{'type': 'string', 'pattern':
                                 r'^[\u0000-\u0020]*[hH][tT]{2}[pP][sS]?:'}],
    (api_call.ApiCall, 'headers'): [_STRINGS, form.NULL],
    (api_call.ApiCall, 'proxies'): [_STRINGS, form.NULL],
    (api_call.ApiCall, 'timeout'): [
        {'type': 'number', 'exclusiveMinimum': 0}, form.whole(form.NUMBER)],
    (api_call.ApiCall, 'retries'): [
        {'type': 'number', 'exclusiveMinimum': -1},
        form.whole(form.WHOLE_NUMBER)],
    (api_call.ApiCall, 'backoff_factor'): [
        {'type': 'number', 'minimum': 0}, form.whole(form.NUMBER)],
}
"""Arguments of which more is known than their type."""


def of(op: registry.Op, argument: arguments.Argument) -> Schema:
    """Return what an argument may be."""
    schema = _of(op, argument)
    text = description.ARGUMENTS.get(argument.name)
    return {'description': text, **schema} if text else schema


def _of(op: registry.Op, argument: arguments.Argument) -> Schema:
    if argument.name in op.plugin.LITERAL:
        return {}
    found = _SPECIAL.get((type(op.plugin), argument.name))
    if found is None and argument.type is data_path.Path:
        found = _paths(op.plugin)
    if found is None and argument.type is pattern.Pattern:
        return {'type': 'string'}
    if found is None:
        found = _BY_TYPE.get(argument.type)
    if found is None:
        return {}
    if not argument.required and form.NULL not in found:
        found = [*found, form.NULL]
    return form.either(*found, form.VARIES)


def _paths(instance: typing.Any) -> list[Schema]:
    """Return what the path of an action may be."""
    if not isinstance(instance, attribute.AttributeAction):
        return _PATH
    table = instance.TABLE
    mappings = form.names(name for name, each in table.items()
                          if each.kind == 'a mapping')
    deep = rf'/?{mappings}/|{mappings}\.[^/]*{form.END}'
    alone = [name for name, each in table.items()
             if not isinstance(instance, attribute.DeleteAttribute
                               | attribute.DeletePortAttribute)
             or each.default is not ...]
    if not isinstance(instance, attribute.ExtendAttribute
                      | attribute.ExtendPortAttribute):
        deep += rf'|/?{form.names(alone)}{form.END}'
    # A lone brace may be anything; so may what is made text of.
    return [{'type': 'string', 'pattern': rf'^(?:{deep}|/?[^/]*\{{)'},
            {'type': ['array', 'object']}]


_KINDS: dict[str, list[Schema]] = {
    'a string': [{'type': ['string', 'number']}],
    'true or false': [{'type': 'boolean'}, form.whole(
        rf'\s*(?:{form.TRUTHS}|{form.FALSEHOODS})\s*')],
    'a mapping': [{'type': 'object'}],
    'a UUID': [{'type': 'string', 'pattern': form.UUID}],
    'a MAC address': [{'type': 'string', 'pattern':
                       '^[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}'}],
}


def of_attributes(op: registry.Op) -> typing.Iterator[
        tuple[str, Schema, Schema]]:
    """Yield what an action may set attributes of each kind to.

    :returns: a pattern of the path, the value and the cleanup value.
    """
    if not isinstance(op.plugin, attribute.SetAttribute
                      | attribute.SetPortAttribute):
        return
    kinds: dict[attributes.Attribute, list[str]] = {}
    for name, each in op.plugin.TABLE.items():
        kinds.setdefault(attributes.Attribute(
            each.kind, None if each.default is not ... else ...,
            each.longest), []).append(name)
    for kind, names in kinds.items():
        found = [{**each, 'maxLength': kind.longest}
                 if kind.kind == 'a string' else each
                 for each in _KINDS[kind.kind]]
        value = [*found, form.VARIES]
        cleanup = form.either(*value, form.NULL)
        if kind.default is not ...:
            value.append(form.NULL)
        yield (f'^/?{form.names(names)}{form.END}', form.either(*value),
               cleanup)
