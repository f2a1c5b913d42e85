# SPDX-License-Identifier: Apache-2.0

"""What the arguments of an op may be, by the type they declare."""

import typing

from ironic_inspection_rules.authoring.schema import description
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import json_form as form
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.traits import names as trait_names

Schema = form.Schema

_BY_TYPE: dict[typing.Any, list[Schema]] = {
    bool: [{'type': 'boolean'}, {'enum': [0, 1]}, form.whole(
        rf'\s*(?:{form.TRUTHS}|{form.FALSEHOODS})\s*')],
    int: [{'type': 'number'}, form.whole(form.WHOLE_NUMBER)],
    float: [{'type': 'number'}, form.whole(form.NUMBER)],
    str: [{'type': ['string', 'number', 'boolean']}],
    list: [{'type': 'array'}],
    data_path.Path: [
        {'type': 'string', 'pattern': r'^(?:/[^/]|[^/.]|\.[^/]*/)'},
        {'type': ['number', 'boolean', 'array', 'object']}],
}

TRAIT: Schema = form.either(
    {'type': 'string', 'maxLength': trait_names.MAX_LENGTH,
     'pattern': f'^CUSTOM_[A-Z0-9_]+{form.END}'},
    {'enum': sorted(trait_names.STANDARD)})
"""The name of a trait; it is one of the definitions of a schema."""


def of(op: registry.Op, argument: arguments.Argument) -> Schema:
    """Return what an argument may be."""
    schema = _of(op, argument)
    text = description.ARGUMENTS.get(argument.name)
    return {'description': text, **schema} if text else schema


def _of(op: registry.Op, argument: arguments.Argument) -> Schema:
    if argument.name in op.plugin.LITERAL:
        return {}
    found = op.plugin.schemas(argument.name)
    if found is not None and argument.variadic:
        return form.either({'type': 'array', 'items': form.either(
            *found, form.VARIES)}, {'type': 'string', 'pattern': form.FIELD})
    if found is None and argument.type is pattern.Pattern:
        return {'type': 'string'}
    if found is None:
        found = _BY_TYPE.get(argument.type)
    if found is None:
        return {}
    if not argument.required and form.NULL not in found:
        found = [*found, form.NULL]
    return form.either(*found, form.VARIES)
