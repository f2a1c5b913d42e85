# SPDX-License-Identifier: Apache-2.0

"""A JSON Schema of files of rules, for editors.

It says what validation says, as far as a schema can; ``EXCEPTIONS`` of its
test are what only validation knows.
"""

from ironic_inspection_rules.authoring.schema import description
from ironic_inspection_rules.authoring.schema import operation
from ironic_inspection_rules.engine import json_form as form
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _

Schema = form.Schema

DRAFT = 'http://json-schema.org/draft-07/schema#'
"""The draft that language servers for YAML know best."""

_RULE: Schema = {'$ref': '#/definitions/rule'}
_NAMED: Schema = {'$ref': '#/definitions/named'}

_PRIORITY = (r'\s*(?:\+?(?:0_?)*[0-9](?:_?[0-9]){0,3}|-0(?:_?0)*)\s*')


def schema(ops: registry.Registry, built_in: bool = False) -> Schema:
    """Return the schema of files.

    :param ops: the conditions and actions there are.
    :param built_in: whether the files hold built-in rules, which may have
        names for UUIDs and any priority.
    """
    return {
        '$schema': DRAFT,
        'title': _('Inspection rules'),
        'if': {'type': 'array'},
        'then': {'items': _RULE},
        'else': {
            'if': {'type': 'object', 'required': ['actions']},
            'then': _RULE,
            'else': {'type': 'object', 'minProperties': 1,
                     'properties': {'rules': {'type': 'array',
                                              'items': _RULE}},
                     'additionalProperties': _NAMED}},
        'definitions': {
            'rule': _rule(built_in),
            'named': {
                'if': {'type': 'object', 'required': ['actions']},
                'then': _RULE,
                'else': {'if': {'type': 'object'},
                         'then': {'additionalProperties': _NAMED},
                         'else': {'if': {'type': 'array'}, 'then': {
                             'items': {'if': {'type': 'object', 'required': [
                                 'actions']}, 'then': _RULE}}}}},
            **operation.definitions(ops)}}


def _rule(built_in: bool) -> Schema:
    fields = {
        'uuid': form.either(
            {'type': 'string'} if built_in else
            {'type': 'string', 'pattern': form.UUID}, form.NULL),
        'description': _text(), 'scope': _text(),
        'priority': _priority(built_in),
        'sensitive': form.either(form.BOOLEAN, form.NULL),
        'phase': {'enum': [*model.PHASES, None]},
        'mode': {'enum': [*model.MODES, False, None]},
        'conditions': {'type': ['array', 'null'],
                       'items': {'$ref': '#/definitions/condition'}},
        'actions': {'type': 'array', 'minItems': 1,
                    'items': {'$ref': '#/definitions/action'}},
        'vars': {'type': ['object', 'null'],
                 'maxProperties': validation.MOST_VARS,
                 'propertyNames': form.whole(validation.NAME)},
    }
    early = {'if': {'properties': {'phase': {'const': model.EARLY}},
                    'required': ['phase']},
             'then': {'properties': {
                 'scope': {'enum': ['', None]},
                 'actions': {'items': {
                     '$ref': '#/definitions/earlyAction'}}}}}
    return {
        'type': 'object', 'required': ['actions'],
        'properties': {name: {'description': description.RULE[name],
                              **fields[name]} for name in model.WRITABLE},
        'additionalProperties': False, 'allOf': [early]}


def _text() -> Schema:
    return {'type': ['string', 'null'], 'maxLength': validation.MAX_TEXT,
            'pattern': rf'^[^\u0000]*{form.END}'}


def _priority(built_in: bool) -> Schema:
    if built_in:
        return form.either({'type': ['integer', 'null']},
                           form.whole(form.WHOLE_NUMBER))
    return form.either(
        {'type': 'integer', 'minimum': validation.PRIORITIES[0],
         'maximum': validation.PRIORITIES[-1]},
        form.whole(_PRIORITY), form.NULL)
