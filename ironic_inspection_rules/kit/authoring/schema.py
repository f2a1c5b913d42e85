# SPDX-License-Identifier: Apache-2.0

"""A JSON Schema of files of rules, for editors.

It says what validation says, as far as a schema can; ``EXCEPTIONS`` of its
test are what only validation knows.
"""

from collections.abc import Iterable, Iterator, Mapping
import re
import types
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import action
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema as form
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import filter_schema
from ironic_inspection_rules.rule_file import form as rule_form
from ironic_inspection_rules.rule_file import table_file
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
"""Texts that editors show of conditions and actions, and of arguments."""

_HIDDEN = 'inspector-'  # Ops that a new rule should not be made with.
_ONE_FIELD = r'^\{(?!\{)[\s\S]*\}' + form.END  # No text around it.


def _defined(name: str) -> Schema:
    return {'$ref': f'#/definitions/{name}'}


def schema(ops: registry.Registry, built_in: bool = False,
           tables: table.Tables = types.MappingProxyType({})) -> Schema:
    """Return the schema of files.

    :param built_in: whether the files hold built-in rules, which may have
        names for UUIDs and any priority.
    :param tables: those whose columns editors complete.
    """
    rule = _defined('rule')
    is_rule = {'if': {'type': 'object', 'required': ['actions']}, 'then': rule}
    return {
        # The draft that language servers for YAML know best.
        '$schema': 'http://json-schema.org/draft-07/schema#',
        'title': _('Inspection rules'),
        'if': {'type': 'array'},
        'then': {'items': rule},
        'else': {**is_rule, 'else': {
            'if': {'type': 'object', 'anyOf': [
                *({'required': [name]} for name in rule_form.LISTS),
                {'required': [rule_form.TABLES], 'properties': {
                    rule_form.TABLES: {'type': 'object', 'not': {
                        'required': ['actions']}}}}]},
            'then': {'additionalProperties': False, 'properties': {
                **dict.fromkeys((*rule_form.REQUEST, *rule_form.ANSWER), True),
                rule_form.TABLES: {
                    'type': ['object', 'null'],
                    'properties': {name: _known_table(found)
                                   for name, found in tables.items()},
                    'additionalProperties': _defined('table')},
                **dict.fromkeys(rule_form.LISTS, {
                    'type': ['array', 'null'], 'items': rule})}},
            'else': {'type': 'object', 'minProperties': 1,
                     'additionalProperties': _defined('named')}}},
        'definitions': {
            'rule': _rule(built_in, tables),
            'table': _table(),
            'named': {**is_rule, 'else': {
                'not': {'type': 'object'},
                'if': {'type': 'array', 'contains': is_rule['if']},
                'then': {'items': {'if': {'type': 'string'},
                                   'else': rule}}}},
            **_operations(ops)}}


def _table() -> Schema:
    """Return the schema of a table; what is in rows is its author's."""
    text = {'type': 'string', 'minLength': 1}
    field = {'type': 'string', 'pattern': '[{]'}
    return {
        'type': 'object', 'additionalProperties': False, 'required': ['key'],
        'oneOf': [{'required': [name]} for name in (table_file.FILE, 'rows')],
        'properties': {
            'key': {**text, 'description': _(
                'Of a row: the name of a column, or a template over '
                'columns.')},
            'of': {'type': ['string', 'null'], 'minLength': 1,
                   'description': _('The same of a machine: a template over '
                                    'its data.')},
            table_file.FILE: {**text, 'description': _(
                'File with the rows beside this one: CSV, YAML or JSON.')},
            'rows': {'type': 'array', 'items': {'type': 'object'},
                     'maxItems': table.MOST_ROWS, 'description': _(
                         'The rows, instead of a file.')},
            'types': {'type': ['object', 'null'], 'description': _(
                'Types of columns; CSV is text.'),
                'additionalProperties': {'enum': list(table.TYPES)}},
            'secret': {'type': ['array', 'null'], 'items': text,
                       'uniqueItems': True, 'description': _(
                           'Columns that only sensitive rules read.')},
            'expect': {'type': ['object', 'null'], 'description': _(
                'What a machine has, by column: templates over its data.'),
                'additionalProperties': field}}}


def _known_table(found: table.Table) -> Schema:
    """Return the schema of a table whose columns are known.

    Others are no errors here: a file of rows may have got more since then.
    """
    columns = sorted(found.known_columns)
    named: Schema = {'properties': dict.fromkeys(columns, True)}
    return {'allOf': [_defined('table')], 'properties': {
        'key': {'examples': columns},
        'types': named,
        'secret': {'items': {'examples': columns}},
        'expect': named}}


def _fields_of(tables: table.Tables) -> list[str]:
    """Return the fields that read the row of a machine, and its columns."""
    fields = []
    for name, found in tables.items():
        row = f'{interpolation.TABLES}.{name} | row'
        if not found.has_of:
            row += '(KEY)'
        fields.append(f'{{{row}}}')
        for column in sorted(found.known_columns):
            path = data_path.pointer([column])
            fields.append(f"{{{row} | get('{path}')}}")
    return fields


def _rule(built_in: bool, tables: table.Tables) -> Schema:
    found = form.rule(built_in)
    fields = dict(found['properties'])
    if tables:
        fields[model.VARS] = {**fields[model.VARS], 'additionalProperties': {
            'examples': _fields_of(tables)}}
    if built_in:
        fields['uuid'] = {'type': ['string', 'null']}
    for name, what in (('conditions', 'condition'), ('actions', 'action')):
        fields[name] = {**fields[name], 'items': _defined(what)}
    early = {'if': {'properties': {'phase': {'const': model.EARLY}},
                    'required': ['phase']},
             'then': {'properties': {
                 'scope': {'enum': ['', None]},
                 'actions': {'items': _defined('earlyAction')}}}}
    return {**found, 'allOf': [early], 'properties': {
        name: {'description': model.SETTABLE[name].metadata['help'],
               **fields[name]} for name in model.WRITABLE}}


def _operations(ops: registry.Registry) -> dict[str, Schema]:
    """Return what the schema of rules refers to, by name."""
    singles = {name: op for name, op in ops.conditions.items()
               if not isinstance(op.plugin, plugin.Group)}
    return {
        'varies': form.VARYING,
        'written': filter_schema.written(registry.filters()),
        'trait': form.either(
            {'type': 'string', 'maxLength': trait_names.MAX_LENGTH,
             'pattern': f'^CUSTOM_[A-Z0-9_]+{form.END}'},
            {'enum': sorted(trait_names.STANDARD)}),
        'conditionArgs': {'allOf': [
            {'if': _is_op(r'!?\s*', [name]), 'then': _call(op)}
            for name, op in singles.items()]},
        'actionArgs': {'allOf': [
            {'if': _is_op('', [name]), 'then': {**_call(op), **_revert(op)}}
            for name, op in ops.actions.items()]},
        **{what: {
            **_described(form.ACTION, known, '', when={
                **form.ACTION['properties']['when'],
                'items': _defined('condition')}),
            'allOf': [_defined('actionArgs')]}
           for what, known in (('action', ops.actions), ('earlyAction', {
               name: op for name, op in ops.actions.items()
               if op.plugin.SUPPORTS_EARLY}))},
        **{f'condition{depth or ""}': _condition(
            ops.conditions if depth < form.DEEPEST_GROUP else singles, depth)
           for depth in range(form.DEEPEST_GROUP + 1)}}


def _is_op(sign: str, names: Iterable[str]) -> Schema:
    return {'properties': {'op': form.whole(
        rf'\s*{sign}{form.names(names)}\s*')}, 'required': ['op']}


def _described(shape: Schema, ops: Mapping[str, registry.Op], sign: str,
               **fields: Schema) -> Schema:
    """Return the shape of an operation with what editors show of it.

    They offer the names of ops without a sign.
    """
    offered = []
    for name, op in ops.items():
        if not name.startswith(_HIDDEN):
            text = (type(op.plugin).__doc__ or '').strip().partition('\n\n')[0]
            text = re.sub(r'^``[^`]+``:\s*', '', ' '.join(text.split()))
            text = text.replace('``', '"')
            offered.append({'const': name,
                            'description': text[:1].upper() + text[1:]})
    properties = shape['properties']
    fields['op'] = {'anyOf': [*offered, form.whole(
        rf'\s*{sign}{form.names(ops)}\s*')]}
    fields['loop'] = {**properties['loop'], 'allOf': [
        _defined('written'), {'pattern': _ONE_FIELD}]}
    return {**shape, 'properties': {
        name: {'description': DESCRIPTIONS[name], **each}
        for name, each in {**properties, **fields}.items()}}


def _condition(ops: Mapping[str, registry.Op], depth: int) -> Schema:
    """Return what a condition inside so many groups may be."""
    groups = [name for name, op in ops.items()
              if isinstance(op.plugin, plugin.Group)]
    parts: list[Schema] = [_defined('conditionArgs')]
    if groups:
        inner = form.GROUP['properties']['conditions']
        parts.append({
            'if': _is_op(r'!?\s*', groups),
            'then': {'required': form.GROUP['required'], 'properties': {
                'args': False,
                'conditions': {**inner, 'items': _defined(
                    f'condition{depth + 1}')}}},
            'else': {'properties': {'conditions': False}}})
    return {**_described(form.CONDITION, ops, r'!?\s*',
                         **({'conditions': {}} if groups else {})),
            'allOf': parts}


def _call(op: registry.Op) -> Schema:
    """Return what holds for an operation with an op that is no group."""
    declared = op.signature.arguments
    required = [each.name for each in declared if each.required]
    try:
        declared_cases = op.cases()
    except exceptions.PluginFailed as exc:
        raise exceptions.PluginError(
            _('"%(op)s": %(error)s') % {'op': op.name, 'error': exc}) from exc
    # What some arguments may be where another one is as the first says.
    cases = [({'path': {'type': 'string', 'pattern': path}},
              {'value': value, 'cleanup': cleanup})
             for path, value, cleanup in declared_cases]
    mapping: Schema = {
        'type': 'object', 'additionalProperties': False, 'required': required,
        'properties': {each.name: _argument(op, each) for each in declared}}
    if cases:
        mapping['allOf'] = [
            {'if': {'properties': given, 'required': [*given]},
             'then': {'properties': then}} for given, then in cases]
    return {'required': ['args'] if required else [], 'properties': {'args': {
        'description': f'{op.signature}',
        'anyOf': [mapping, *_lists(op, cases),
                  *([] if required else [form.NULL])]}}}


def _lists(op: registry.Op,
           cases: list[tuple[Schema, Schema]]) -> Iterator[Schema]:
    """Yield what arguments without names may be."""
    declared = op.signature.arguments
    if any(each.required and each.keyword_only for each in declared):
        return
    positional = [each for each in declared if not each.keyword_only]
    listed: Schema = {'type': 'array'}
    if positional and positional[0].variadic:
        listed.update({'minItems': 1, 'not': {'const': [[]]}})
        each = op.plugin.SCHEMAS.get(positional[0].name)
        if each is not None:
            items = {'items': form.either(*each, form.VARIES)}
            listed['anyOf'] = [items, {
                'maxItems': 1, 'items': {'type': 'array', **items}}]
        yield listed
        return
    listed.update({
        'maxItems': len(positional), 'deprecated': True,
        'minItems': sum(each.required for each in positional)})
    if positional:
        listed['items'] = [_argument(op, each) for each in positional]
    if cases:
        listed['allOf'] = [{
            word: {'items': [of.get(each.name, True) for each in positional]}
            for word, of in (('if', given), ('then', then))}
            for given, then in cases]
    yield listed


def _revert(op: registry.Op) -> Schema:
    """Return what else holds for an action, which may not be undone."""
    parts: list[Schema] = []
    if op.plugin.revert is None:
        parts.append({'properties': {
            'revert': form.either(form.FALSE, form.NULL)}})
    names = [each.name for each in op.signature.arguments]
    if action.CLEANUP in names:
        index = names.index(action.CLEANUP)
        given = [*[True] * index, {'not': form.NULL}]
        parts.append({
            'if': {'required': ['args'], 'properties': {'args': {'anyOf': [
                {'type': 'object', 'required': [action.CLEANUP],
                 'properties': {action.CLEANUP: {'not': form.NULL}}},
                {'type': 'array', 'minItems': index + 1, 'items': given}]}}},
            'then': {'properties': {
                'revert': form.either(form.TRUE, form.NULL)}}})
    return {'allOf': parts} if parts else {}


def _argument(op: registry.Op, argument: arguments.Argument) -> Schema:
    found = op.plugin.SCHEMAS.get(argument.name)
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
                if not argument.required and form.NULL not in found:
                    found = [*found, form.NULL]
                schema = form.either(*found, form.VARIES if argument.type in (
                    list, typing.Any) else form.VARIES_TEXT)
        if argument.type is not pattern.Pattern:
            schema = {'allOf': [_defined('written')], **schema}
    if argument.type is data_path.Path:
        schema['not'] = {'type': 'string', 'pattern': form.NEGATIVE_INDEX}
    text = DESCRIPTIONS.get(argument.name)
    return {'description': text, **schema} if text else schema
