# SPDX-License-Identifier: Apache-2.0

"""The JSON Schema of conditions and actions."""

import re
import typing

from ironic_inspection_rules.engine import action
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import schema as form
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.traits import names as trait_names

Schema = form.Schema

DESCRIPTIONS = {
    'op': _('What is checked or done.'),
    'args': _('The arguments of the op by name.'),
    'loop': _('A list, or a field that is one: once for each {item}.'),
    'multiple': _('For how many items of the loop it must hold.'),
    'conditions': _('The conditions that the group is made of.'),
    'when': _('The action is carried out only where all of these hold; in a '
              'loop asked for each {item}.'),
    'revert': _('Whether the action is undone where the rule does not '
                'match.'),
}

ARGUMENTS = {
    'path': _('Where: a pointer such as /extra/rack; /- appends to a list.'),
    'value': _('The value; text that is exactly one {field} keeps its type.'),
    'values': _('The values, which may be {fields}.'),
    'regex': _('A regular expression of Python.'),
    'address': _('An IP address, mostly a {field}.'),
    'subnet': _('A subnet, such as 10.0.0.0/8 or fd00::/8.'),
    'force_strings': _('Whether all values are compared as text.'),
    'msg': _('The message; may hold {fields}.'),
    'maintenance': _('Whether the node is also put into maintenance.'),
    'level': _('debug, info, warning, error or critical.'),
    'unique': _('Whether a value that is in the list is left out.'),
    'cleanup': _('What is set where the rule does not match.'),
    'port_id': _('The MAC address or UUID of a port.'),
    'name': _('The name of a trait or a capability.'),
    'names': _('Names of traits.'),
    'prefix': _('Only traits that begin with it are replaced.'),
    'url': _('An http or https URL.'),
    'headers': _('Headers of the request by name.'),
    'proxies': _('Proxies by scheme.'),
    'timeout': _('Seconds to wait for an answer.'),
    'retries': _('How often it is tried again.'),
    'backoff_factor': _('Seconds between tries, doubled each time.'),
}
"""Texts that editors show of arguments."""

_WRITTEN: Schema = {'$ref': '#/definitions/written'}

_HIDDEN = 'inspector-'  # Ops that a new rule should not be made with.

_TRAIT: Schema = form.either(
    {'type': 'string', 'maxLength': trait_names.MAX_LENGTH,
     'pattern': f'^CUSTOM_[A-Z0-9_]+{form.END}'},
    {'enum': sorted(trait_names.STANDARD)})
"""The name of a trait; it is one of the definitions of a schema."""


def definitions(ops: registry.Registry) -> dict[str, Schema]:
    """Return what the schema of rules refers to, by name."""
    early = {name: op for name, op in ops.actions.items()
             if op.plugin.SUPPORTS_EARLY}
    singles = {name: op for name, op in ops.conditions.items()
               if not isinstance(op.plugin, plugin.Group)}
    found = {
        'varies': form.VARYING,
        'written': _written(registry.filters()),
        'trait': _TRAIT,
        'conditionArgs': {'allOf': [
            _if_op(r'!?\s*', name, _call(op))
            for name, op in singles.items()]},
        'actionArgs': {'allOf': [
            _if_op('', name, _call(op, is_action=True))
            for name, op in ops.actions.items()]},
        'action': _action(ops.actions),
        'earlyAction': _action(early),
    }
    for depth in range(form.DEEPEST_GROUP + 1):
        found[f'condition{depth or ""}'] = _condition(
            ops.conditions, singles, depth)
    return found


def _written(filters: typing.Iterable[str]) -> Schema:
    """Return what text with fields may be: its first filter is known."""
    text = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
    arguments = rf"""(?:\((?:[^(){{}}'"]|{text})*\))?\s*"""
    known = rf'{form.names(filters)}(?![A-Za-z0-9_])'
    roots = form.names((*interpolation.ROOTS, interpolation.ITEM))
    unknown = (rf'^(?:[^{{}}]|\}}|\{{\{{)*\{{{roots}'
               r'(?:\.[^\s.\[\]{}!:|]+|\[[^\]]{1,255}\])*\s*'
               rf'(?:\|\s*{known}\s*{arguments})*'
               rf'\|\s*(?!{known})[A-Za-z_][A-Za-z0-9_]*[^{{}}]*\}}')
    return {'not': {'type': 'string', 'pattern': unknown},
            'errorMessage': _('there is no such filter'),
            'items': _WRITTEN, 'additionalProperties': _WRITTEN}


def _if_op(sign: str, name: str, then: Schema) -> Schema:
    return {'if': {'properties': {'op': form.whole(
                rf'\s*{sign}{form.names([name])}\s*')},
                   'required': ['op']},
            'then': then}


def _op(ops: typing.Mapping[str, registry.Op], sign: str) -> Schema:
    """Return what the name of an op may be; editors offer the plain ones."""
    offered = []
    for name, op in ops.items():
        if not name.startswith(_HIDDEN):
            text = (type(op.plugin).__doc__ or '').strip().partition('\n\n')[0]
            text = re.sub(r'^``[^`]+``:\s*', '', ' '.join(text.split()))
            text = text.replace('``', '"')
            offered.append({'const': name,
                            'description': text[:1].upper() + text[1:]})
    return {'description': DESCRIPTIONS['op'], 'anyOf': [
        *offered, form.whole(rf'\s*{sign}{form.names(ops)}\s*')]}


def _described(shape: Schema, **fields: Schema) -> Schema:
    fields['loop'] = {**shape['properties']['loop'], 'allOf': [_WRITTEN]}
    return {**shape, 'properties': {
        name: {'description': DESCRIPTIONS[name], **fields.get(name, each)}
        for name, each in shape['properties'].items()}}


def _action(ops: typing.Mapping[str, registry.Op]) -> Schema:
    conditions = {'$ref': '#/definitions/condition'}
    return {
        **_described(form.ACTION, op=_op(ops, ''), when={
            **form.ACTION['properties']['when'], 'items': conditions}),
        'allOf': [{'$ref': '#/definitions/actionArgs'}]}


def _condition(ops: typing.Mapping[str, registry.Op],
               singles: typing.Mapping[str, registry.Op],
               depth: int) -> Schema:
    """Return what a condition inside so many groups may be."""
    is_deepest = depth == form.DEEPEST_GROUP
    known = singles if is_deepest else ops
    groups = [name for name in known if name not in singles]
    shape = _described(form.CONDITION, op=_op(known, r'!?\s*'))
    parts: list[Schema] = [{'$ref': '#/definitions/conditionArgs'}]
    if groups:
        inner = form.GROUP['properties']['conditions']
        shape['properties']['conditions'] = {
            'description': DESCRIPTIONS['conditions']}
        parts.append({
            'if': {'properties': {'op': form.whole(
                rf'\s*!?\s*{form.names(groups)}\s*')}, 'required': ['op']},
            'then': {'required': form.GROUP['required'], 'properties': {
                'args': False,
                'conditions': {**inner, 'items': {
                    '$ref': f'#/definitions/condition{depth + 1}'}}}},
            'else': {'properties': {'conditions': False}}})
    return {**shape, 'allOf': parts}


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
        'properties': {each.name: _argument(op, each)
                       for each in op.signature.arguments}}
    required = [each.name for each in op.signature.arguments if each.required]
    if required:
        schema['required'] = required
    kinds = [{'if': {'properties': given, 'required': [*given]},
              'then': {'properties': then}} for given, then in _kinds(op)]
    return {**schema, 'allOf': kinds} if kinds else schema


def _kinds(op: registry.Op) -> typing.Iterator[tuple[Schema, Schema]]:
    """Yield schemas of some arguments, and what others are where they hold."""
    for path, value, cleanup in op.plugin.cases():
        yield ({'path': {'type': 'string', 'pattern': path}},
               {'value': value, 'cleanup': cleanup})


def _lists(op: registry.Op) -> typing.Iterator[Schema]:
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
    kinds = [{
        word: {'items': [of.get(each.name, True) for each in positional]}
        for word, of in (('if', given), ('then', then))}
        for given, then in _kinds(op)]
    schema: Schema = {
        'type': 'array', 'maxItems': len(positional),
        'minItems': sum(each.required for each in positional),
        'deprecated': True}
    if positional:
        schema['items'] = [_argument(op, each) for each in positional]
    yield {**schema, 'allOf': kinds} if kinds else schema


def _revert(op: registry.Op) -> typing.Iterator[Schema]:
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


def _argument(op: registry.Op, argument: arguments.Argument) -> Schema:
    found = op.plugin.schemas(argument.name)
    schema: Schema = {}
    if argument.name not in op.plugin.LITERAL:
        if found is not None and argument.variadic:
            schema = form.either(
                {'type': 'array', 'items': form.either(*found, form.VARIES)},
                {'type': 'string', 'pattern': form.FIELD})
        elif found is None and argument.type is pattern.Pattern:
            schema = {'type': 'string'}
        else:
            if found is None and argument.type in arguments.TYPES:
                found = arguments.TYPES[argument.type].schemas
            if found is not None:
                nothing = [] if argument.required or form.NULL in found else [
                    form.NULL]
                schema = form.either(*found, *nothing, form.VARIES if (
                    argument.type in (list, typing.Any))
                    else form.VARIES_TEXT)
        if argument.type is not pattern.Pattern:
            schema = {'allOf': [_WRITTEN], **schema}
    if argument.type is data_path.Path:
        schema['not'] = {'type': 'string', 'pattern': form.NEGATIVE_INDEX}
    text = ARGUMENTS.get(argument.name)
    return {'description': text, **schema} if text else schema
