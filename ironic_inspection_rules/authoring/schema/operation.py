# SPDX-License-Identifier: Apache-2.0

"""What conditions and actions may be."""

from collections.abc import Iterator
import typing

from ironic_inspection_rules.authoring.schema import argument
from ironic_inspection_rules.authoring.schema import description
from ironic_inspection_rules.engine import action
from ironic_inspection_rules.engine import json_form as form
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import operation_check
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry

Schema = form.Schema

_HIDDEN = 'inspector-'
"""How ops begin that a new rule should not be made with."""


def definitions(ops: registry.Registry) -> dict[str, Schema]:
    """Return what the schema of rules refers to, by name."""
    early = {name: op for name, op in ops.actions.items()
             if op.plugin.SUPPORTS_EARLY}
    singles = {name: op for name, op in ops.conditions.items()
               if not isinstance(op.plugin, plugin.Group)}
    found = {
        'varies': form.VARYING,
        'trait': argument.TRAIT,
        'loop': {'description': description.OPERATION['loop'],
                 'anyOf': [{'type': ['array', 'object', 'null']},
                           {'type': 'string', 'pattern': form.FIELD}]},
        'conditionArgs': {'allOf': [
            _if_op(r'!?\s*', name, _call(op))
            for name, op in singles.items()]},
        'actionArgs': {'allOf': [
            _if_op('', name, _call(op, is_action=True))
            for name, op in ops.actions.items()]},
        'action': _action(ops.actions),
        'earlyAction': _action(early),
    }
    for depth in range(operation_check.DEEPEST_GROUP + 1):
        found[condition(depth)] = _condition(
            ops.conditions, singles, depth)
    return found


def condition(depth: int) -> str:
    """Return the name of a condition inside so many groups."""
    return f'condition{depth}' if depth else 'condition'


def _if_op(sign: str, name: str, then: Schema) -> Schema:
    return {'if': {'properties': {'op': form.whole(
                rf'\s*{sign}{form.names([name])}\s*')},
                   'required': ['op']},
            'then': then}


def _op(ops: typing.Mapping[str, registry.Op], sign: str) -> Schema:
    """Return what the name of an op may be; editors offer the plain ones."""
    offered = {name: op for name, op in ops.items()
               if not name.startswith(_HIDDEN)}
    return {'description': description.OPERATION['op'], 'anyOf': [
        *({'const': name, 'description': description.of_plugin(op.plugin)}
          for name, op in offered.items()),
        form.whole(rf'\s*{sign}{form.names(ops)}\s*')]}


def _action(ops: typing.Mapping[str, registry.Op]) -> Schema:
    return {
        'type': 'object', 'required': ['op'],
        'properties': {
            'op': _op(ops, ''),
            'args': {'description': description.OPERATION['args']},
            'loop': {'$ref': '#/definitions/loop'},
            'when': {'description': description.OPERATION['when'],
                     'type': ['array', 'null'],
                     'items': {'$ref': f'#/definitions/{condition(0)}'}},
            'revert': {'description': description.OPERATION['revert'],
                       **form.either(form.BOOLEAN, form.NULL)}},
        'additionalProperties': False,
        'allOf': [{'$ref': '#/definitions/actionArgs'}]}


def _condition(ops: typing.Mapping[str, registry.Op],
               singles: typing.Mapping[str, registry.Op],
               depth: int) -> Schema:
    """Return what a condition inside so many groups may be."""
    is_deepest = depth == operation_check.DEEPEST_GROUP
    known = singles if is_deepest else ops
    groups = [name for name in known if name not in singles]
    properties: Schema = {
        'op': _op(known, r'!?\s*'),
        'args': {'description': description.OPERATION['args']},
        'loop': {'$ref': '#/definitions/loop'},
        'multiple': {'description': description.OPERATION['multiple'],
                     'enum': [*model.MULTIPLE, None]}}
    parts: list[Schema] = [{'$ref': '#/definitions/conditionArgs'}]
    if groups:
        properties['conditions'] = {
            'description': description.OPERATION['conditions']}
        parts.append({
            'if': {'properties': {'op': form.whole(
                rf'\s*!?\s*{form.names(groups)}\s*')}, 'required': ['op']},
            'then': {'required': ['conditions'], 'properties': {
                'args': False,
                'conditions': {'type': 'array', 'minItems': 1, 'items': {
                    '$ref': f'#/definitions/{condition(depth + 1)}'}}}},
            'else': {'properties': {'conditions': False}}})
    return {'type': 'object', 'required': ['op'], 'properties': properties,
            'additionalProperties': False, 'allOf': parts}


def _call(op: registry.Op, is_action: bool = False) -> Schema:
    """Return what holds for an operation with an op that is no group."""
    declared = op.signature.arguments
    required = [each.name for each in declared if each.required]
    schema: Schema = {'properties': {'args': {
        'description': f'{op.signature}',
        'anyOf': [_mapping(op), *_lists(op),
                  *([] if required else [form.NULL])]}}}
    if required:
        schema['required'] = ['args']
    reverting = list(_revert(op)) if is_action else []
    return {**schema, 'allOf': reverting} if reverting else schema


def _mapping(op: registry.Op) -> Schema:
    schema: Schema = {
        'type': 'object', 'additionalProperties': False,
        'properties': {each.name: argument.of(op, each)
                       for each in op.signature.arguments}}
    required = [each.name for each in op.signature.arguments
                if each.required]
    if required:
        schema['required'] = required
    kinds = [{'if': {'properties': {'path': {
                         'type': 'string', 'pattern': pattern}},
                     'required': ['path']},
              'then': {'properties': {'value': value, 'cleanup': cleanup}}}
             for pattern, value, cleanup in op.plugin.cases()]
    return {**schema, 'allOf': kinds} if kinds else schema


def _lists(op: registry.Op) -> Iterator[Schema]:
    """Yield what a list of arguments may be."""
    declared = op.signature.arguments
    if any(each.required and each.keyword_only for each in declared):
        return
    positional = [each for each in declared if not each.keyword_only]
    if positional and positional[0].variadic:
        values: Schema = {'type': 'array', 'minItems': 1,
                          'not': {'const': [[]]}}
        each = op.plugin.schemas(positional[0].name)
        if each is not None:
            items = {'items': form.either(*each, form.VARIES)}
            values = {**values, 'anyOf': [items, {
                'maxItems': 1, 'items': {'type': 'array', **items}}]}
        yield values
        return
    places = {each.name: index for index, each in enumerate(positional)}
    kinds = []
    for pattern, value, cleanup in op.plugin.cases():
        path, last = places['path'], places['cleanup']
        given: list[typing.Any] = [True] * (last + 1)
        given[path] = {'type': 'string', 'pattern': pattern}
        set_to: list[typing.Any] = [True] * (last + 1)
        set_to[places['value']], set_to[last] = value, cleanup
        kinds.append({'if': {'items': given}, 'then': {'items': set_to}})
    schema: Schema = {
        'type': 'array', 'maxItems': len(positional),
        'minItems': sum(each.required for each in positional),
        'deprecated': True}
    if positional:
        schema['items'] = [argument.of(op, each) for each in positional]
    yield {**schema, 'allOf': kinds} if kinds else schema


def _revert(op: registry.Op) -> Iterator[Schema]:
    """Yield what ``revert`` must be for an op."""
    if op.plugin.revert is None:
        yield {'properties': {'revert': form.either(form.FALSE, form.NULL)}}
    names = [each.name for each in op.signature.arguments]
    if action.CLEANUP in names:
        index = names.index(action.CLEANUP)
        given: list[typing.Any] = [True] * (index + 1)
        given[index] = {'not': form.NULL}
        yield {'if': {'required': ['args'], 'properties': {'args': {
                   'anyOf': [
                       {'type': 'object', 'required': [action.CLEANUP],
                        'properties': {action.CLEANUP: {'not': form.NULL}}},
                       {'type': 'array', 'minItems': index + 1,
                        'items': given}]}}},
               'then': {'properties': {'revert': form.either(
                   form.TRUE, form.NULL)}}}
