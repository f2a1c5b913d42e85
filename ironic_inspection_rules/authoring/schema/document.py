# SPDX-License-Identifier: Apache-2.0

"""A JSON Schema of files of rules, for editors.

It says what validation says, as far as a schema can; ``EXCEPTIONS`` of its
test are what only validation knows.
"""

from ironic_inspection_rules.authoring.schema import operation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import schema as form
from ironic_inspection_rules.i18n import _

Schema = form.Schema

DESCRIPTIONS = {name: field.metadata['help']
                for name, field in model.SETTABLE.items()}
"""Texts that editors show of the fields of a rule."""

_RULE: Schema = {'$ref': '#/definitions/rule'}
_NAMED: Schema = {'$ref': '#/definitions/named'}


def schema(ops: registry.Registry, built_in: bool = False) -> Schema:
    """Return the schema of files.

    :param built_in: whether the files hold built-in rules, which may have
        names for UUIDs and any priority.
    """
    return {
        # The draft that language servers for YAML know best.
        '$schema': 'http://json-schema.org/draft-07/schema#',
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
    found = form.rule(built_in)
    fields = dict(found['properties'])
    if built_in:
        fields['uuid'] = {'type': ['string', 'null']}
    for name, what in (('conditions', 'condition'), ('actions', 'action')):
        fields[name] = {**fields[name],
                        'items': {'$ref': f'#/definitions/{what}'}}
    early = {'if': {'properties': {'phase': {'const': model.EARLY}},
                    'required': ['phase']},
             'then': {'properties': {
                 'scope': {'enum': ['', None]},
                 'actions': {'items': {'$ref': '#/definitions/earlyAction'}}}}}
    return {**found, 'allOf': [early], 'properties': {
        name: {'description': DESCRIPTIONS[name], **fields[name]}
        for name in model.WRITABLE}}
