# SPDX-License-Identifier: Apache-2.0

"""The shape of a rule as JSON schema (draft 7), declared once.

Validation checks rules with this schema, and the schema for editors is built
from it. The meaning of a rule is checked in Python. ``errorMessage`` is the
message for a value that does not match; YAML language servers show it too.

Patterns must mean the same in Python and in ECMAScript, which editors use.
They do not use ``$``, because in Python it also matches before a newline at
the end.
"""

from collections.abc import Iterable, Iterator
import dataclasses
import re
import typing

import jsonschema
from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

Schema = dict[str, typing.Any]

END = r'(?![\s\S])'  # The end of a text.
FIELD = r'^(?:[^{}]|\}|\{\{)*\{(?!\{)[^}]*\}'
"""Text that contains a replacement field."""

NEGATIVE_INDEX = (
    r'^(?:/?[^/{]+/(?:[^{]*/)?(-[0-9]+)(?:/[^{]*)?|'
    r'[^/{]+\.(-[0-9]+)(?:\.[^/{]*)?)' + END
)
"""A path with a negative index, e.g. ``/l/-1``."""

VARIES_TEXT: Schema = {'type': 'string', 'pattern': FIELD}

VARIES: Schema = {'$ref': '#/definitions/varies'}
"""A value that contains a replacement field anywhere."""

UUID = r'^(?:urn:|uuid:)*[{}]*-*(?:[0-9A-Fa-f]-*){32}[{}]*' + END
"""Text that Python reads as a UUID, with or without dashes and braces."""


def match_words(known: Iterable[str]) -> str:
    """Return a pattern that matches any of the words, ignoring case.

    ``['on']`` gives ``(?:[Oo][Nn])``.
    """
    patterns = [_match_in_any_case(word) for word in known]
    return f'(?:{"|".join(patterns)})'


def _match_in_any_case(word: str) -> str:
    """Return a pattern that matches a word, ignoring case: ``[Oo][Nn]``."""
    # ECMAScript does not support "(?i)" inside a pattern.
    pattern = ''
    for character in word:
        if character.isalpha():
            pattern += f'[{character.upper()}{character.lower()}]'
        else:
            pattern += re.escape(character)
    return pattern


def text_matching(pattern: str) -> Schema:
    """Return the schema of text that matches a pattern from start to end."""
    return {'type': 'string', 'pattern': f'^{pattern}{END}'}


def match_names(known: Iterable[str]) -> str:
    """Return a pattern that matches any of some names, e.g. ``(?:eq|lt)``."""
    return f'(?:{"|".join(map(re.escape, known))})'


def any_of(*schemas: Schema) -> Schema:
    """Return the schema of a value that matches any of the schemas."""
    if len(schemas) == 1:
        return schemas[0]
    return {'anyOf': list(schemas)}


NULL: Schema = {'type': 'null'}

TRUTHS = match_words(strutils.TRUE_STRINGS)
FALSEHOODS = match_words(strutils.FALSE_STRINGS)

TRUE = any_of({'const': True}, text_matching(TRUTHS))
FALSE = any_of({'const': False}, text_matching(FALSEHOODS))

WHOLE_NUMBER = r'\s*[+-]?[0-9]{1,1000}\s*'
NUMBER = (
    r'\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)'
    r'(?:[eE][+-]?[0-9]+)?\s*'
)

# In draft 7, "contains" works only for lists. So for an object, say that it is
# not true that none of its values, or of its names, has a field.
_HAS_VARYING_VALUE: Schema = {
    'type': 'object',
    'not': {'additionalProperties': {'not': VARIES}},
}
_HAS_VARYING_NAME: Schema = {
    'type': 'object',
    'not': {'propertyNames': {'not': {'pattern': FIELD}}},
}
VARYING: Schema = {
    'anyOf': [
        VARIES_TEXT,
        {'type': 'array', 'contains': VARIES},
        _HAS_VARYING_VALUE,
        _HAS_VARYING_NAME,
    ]
}
"""The definition that :data:`VARIES` refers to."""

# Maximum length of text columns, number of vars, and depth of groups.
MAX_TEXT = 255
MOST_VARS = 100
PRIORITIES = range(10000)
DEEPEST_GROUP = 8

_NAME = '[A-Za-z0-9_-]{1,255}'
_PRIORITY = r'\s*(?:\+?0*[0-9]{1,4}|-0+)\s*'

UNSTORABLE = _('must not hold the characters NUL and U+D800 to U+DFFF')
"""The message for text that databases reject."""

_TEXT: Schema = {
    'type': ['string', 'null'],
    'maxLength': MAX_TEXT,
    'pattern': rf'^[^\u0000]*{END}',
    'patternErrorMessage': UNSTORABLE,
    'errorMessage': _('must be a string of at most %d characters') % MAX_TEXT,
}

_TRUTH_TEXT = match_words((*strutils.TRUE_STRINGS, *strutils.FALSE_STRINGS))
_TRUTH: Schema = {
    **any_of({'type': 'boolean'}, text_matching(_TRUTH_TEXT), NULL),
    'errorMessage': _('must be true or false'),
}

_OPERATION: Schema = {
    'type': 'object',
    'errorMessage': _('must be a mapping'),
}
_OPERATIONS: Schema = {
    'type': ['array', 'null'],
    'items': _OPERATION,
    'errorMessage': _('must be a list'),
}

_ANY_INTEGER: Schema = {'type': 'integer'}
_INTEGER_IN_RANGE: Schema = {
    'type': 'integer',
    'minimum': PRIORITIES[0],
    'maximum': PRIORITIES[-1],
}
_PRIORITY_OF_BUILT_IN: Schema = {
    **any_of(_ANY_INTEGER, text_matching(WHOLE_NUMBER), NULL),
    'errorMessage': _('must be an integer'),
}
_PRIORITY_OF_USERS: Schema = {
    **any_of(_INTEGER_IN_RANGE, text_matching(_PRIORITY), NULL),
    'errorMessage': _('must be an integer from 0 to %d') % PRIORITIES[-1],
}

_UUID: Schema = {
    'type': ['string', 'null'],
    'pattern': UUID,
    'errorMessage': _('must be a UUID'),
}

_VARS: Schema = {
    'type': ['object', 'null'],
    'maxProperties': MOST_VARS,
    'propertyNames': {
        **text_matching(_NAME),
        'errorMessage': _('must be made of letters, digits, "_" and "-"'),
    },
    'errorMessage': _('must be a mapping of at most %d names to values')
    % MOST_VARS,
}


def _filled_list(message: str) -> Schema:
    """Return the schema of a nonempty list of operations."""
    return {
        'type': 'array',
        'minItems': 1,
        'items': _OPERATION,
        'errorMessage': message,
    }


def rule(built_in: bool = False) -> Schema:
    """Return the schema of a rule, without the schemas of its operations.

    An operation only has to be a mapping, because its keys and arguments
    depend on its op.

    :param built_in: whether priorities outside 0 … 9999 are allowed.
    """
    properties: dict[str, Schema] = {}
    for name, field in model.SETTABLE.items():
        if 'choices' in field.metadata:
            properties[name] = {'enum': [*field.metadata['choices'], None]}
        elif field.type is bool:
            properties[name] = _TRUTH
        else:
            properties[name] = _TEXT
    priority = _PRIORITY_OF_USERS
    if built_in:
        priority = _PRIORITY_OF_BUILT_IN
    # The fields that are not just a text, a boolean or a choice.
    properties |= {
        'uuid': _UUID,
        'priority': priority,
        # YAML reads off as false.
        'mode': {'enum': [*model.MODES, False, None]},
        'conditions': _OPERATIONS,
        'actions': _filled_list(_('at least one action is required')),
        'vars': _VARS,
    }
    return {
        'type': 'object',
        'required': ['actions'],
        'properties': properties,
        'additionalProperties': False,
    }


_OP: Schema = {
    'type': 'string',
    'errorMessage': _('the name of an op is required'),
}
_LOOP: Schema = {
    'anyOf': [{'type': ['array', 'object', 'null']}, VARIES_TEXT],
    'errorMessage': _(
        'a loop must be a list, a mapping or a replacement field'
    ),
}
_MULTIPLE: Schema = {'enum': [*model.MULTIPLE, None]}
_PARTS = _filled_list(_('at least one condition is required'))


def _schema_of_operation(
    required: Iterable[str] = (), **properties: Schema
) -> Schema:
    """Return the schema of an action, a condition or a group of conditions.

    :param required: the required properties besides ``op``.
    :param properties: the schemas of its properties besides ``op`` and
        ``loop``, by name. All other properties are rejected.
    """
    return {
        'type': 'object',
        'required': ['op', *required],
        'properties': {'op': _OP, 'loop': _LOOP, **properties},
        'additionalProperties': False,
    }


ACTION = _schema_of_operation(args={}, revert=_TRUTH, when=_OPERATIONS)
CONDITION = _schema_of_operation(args={}, multiple=_MULTIPLE)
GROUP = _schema_of_operation(
    ['conditions'], conditions=_PARTS, multiple=_MULTIPLE
)


def _check_required(
    _validator: typing.Any,
    names: Iterable[str],
    instance: typing.Any,
    schema: Schema,
) -> Iterator[jsonschema.ValidationError]:
    """Yield an error for each missing property, at the place of the property.

    jsonschema calls this for the keyword "required".

    :param names: the value of the keyword.
    :param instance: the value that is checked.
    :param schema: the schema that has the keyword.
    """
    if not isinstance(instance, dict):
        # The keyword "type" reports this error.
        return
    for name in names:
        if name not in instance:
            yield jsonschema.ValidationError(
                schema['properties'][name]['errorMessage'], path=[name]
            )


# jsonschema's own errors for "required" have the name of the property only in
# their message, and their place is the place of the mapping.
_Validator = jsonschema.validators.extend(
    jsonschema.Draft7Validator, {'required': _check_required}
)


def check(schema: Schema) -> None:
    """Check that a schema is a JSON schema of draft 7.

    :raises: jsonschema.SchemaError
    """
    jsonschema.Draft7Validator.check_schema(schema)


class Shape:
    """A JSON schema whose problems are messages for authors of rules.

    :param kind: the name of a property in messages, e.g. "field".
    :param misplaced: messages for properties that belong into another mapping,
        by the name of the property.
    """

    def __init__(
        self,
        schema: Schema,
        kind: str,
        misplaced: typing.Mapping[str, str] | None = None,
    ) -> None:
        self._validator = _Validator(schema)
        self._kind = kind
        self._misplaced = misplaced or {}

    def problems(self, value: typing.Any) -> Iterator[exceptions.Problem]:
        """Yield the problems of a value as messages for authors of rules.

        The pointers of the problems begin in the value: ``/op``.
        """
        for error in self._validator.iter_errors(value):
            # This is the pointer to the wrong part of the value.
            # error.validator is the keyword of the schema that it violates.
            pointer = data_path.pointer(error.absolute_path)
            properties = error.schema.get('properties', {})
            if error.validator == 'additionalProperties':
                # jsonschema has a single error for all unknown properties.
                for name in error.instance:
                    if name not in properties:
                        yield self._problem_of_unknown(
                            pointer, name, properties
                        )
            elif error.validator == 'required':
                # The error already has the place and the message of the
                # property, see _check_required().
                yield exceptions.Problem(pointer, error.message)
            else:
                yield _convert_error(pointer, error)

    def _problem_of_unknown(
        self, pointer: str, name: typing.Any, known: typing.Iterable[str]
    ) -> exceptions.Problem:
        """Return the problem of a property that is not in the schema.

        It suggests a similar property, or the mapping that the property
        belongs into.

        :param pointer: the pointer to the mapping with the property.
        :param known: the properties of the schema.
        """
        place = pointer + data_path.pointer([name])
        if name in self._misplaced:
            # The message says into which mapping it belongs.
            return exceptions.Problem(place, self._misplaced[name])
        return suggestion.unknown_problem(place, self._kind, str(name), known)


def _convert_error(
    pointer: str, error: jsonschema.ValidationError
) -> exceptions.Problem:
    """Convert an error of jsonschema to a problem for authors of rules.

    ``'mian' is not one of ['early', 'preprocess', 'main', None]`` becomes
    "must be one of early, preprocess, main, not "mian"; did you mean "main"?".
    """
    if error.validator == 'enum':
        # Null and false are accepted too, but are not suggested.
        choices = [
            choice
            for choice in error.validator_value
            if isinstance(choice, str)
        ]
        return suggestion.choice_problem(pointer, error.instance, choices)
    problem = exceptions.Problem(pointer, _describe_error(error))
    expects_text = error.schema.get('type') == ['string', 'null']
    is_scalar = not isinstance(error.instance, list | dict)
    if error.validator == 'type' and expects_text and is_scalar:
        # Without quotes, YAML reads no, off and 12:30 as other types.
        return dataclasses.replace(
            problem, hint=_('put it in quotes if it is meant as text')
        )
    return problem


def _describe_error(error: jsonschema.ValidationError) -> str:
    """Return the message for a value that does not match its schema.

    The message ends with the value: ``must be true or false, not "maybe"``. If
    a list or an operation is expected, or if a text is too long, it omits the
    value.
    """
    schema = error.schema
    value = error.instance
    expected = schema.get('errorMessage', error.message)
    if 'propertyNames' in error.absolute_schema_path:
        # In this case, the value is the name of a property.
        return _('the name %(name)s %(expected)s') % {
            'name': suggestion.quote(value),
            'expected': expected,
        }
    if error.validator == 'pattern' and 'patternErrorMessage' in schema:
        return str(schema['patternErrorMessage'])
    if schema.get('type') in ('array', ['array', 'null']):
        if value in (None, []):
            return str(expected)
        # The expected message may be about the number of items.
        return _('must be a list')
    if schema.get('type') == 'object' or error.validator == 'maxLength':
        return str(expected)
    return _('%(expected)s, not %(value)s') % {
        'expected': expected,
        'value': suggestion.quote(value),
    }
