# SPDX-License-Identifier: Apache-2.0

"""Pieces that the schema of rules is made of.

Patterns mean the same to Python and to ECMAScript, which editors use: no
``$``, since it is also before the end of a last line to Python.
"""

from collections.abc import Iterable
import re
import typing

from oslo_utils import strutils

Schema = dict[str, typing.Any]

END = r'(?![\s\S])'
"""The end of a text."""

FIELD = r'^(?:[^{}]|\}|\{\{)*\{(?!\{)[^}]*\}'
"""Text with a replacement field in it."""

VARIES: Schema = {'$ref': '#/definitions/varies'}
"""A value with a replacement field anywhere in it."""

UUID = (r'^(?:urn:|uuid:)*[{}]*-*(?:[0-9A-Fa-f]-*){32}[{}]*' + END)


def anycase(word: str) -> str:
    """Return a pattern of a word in any case."""
    return ''.join(f'[{letter.upper()}{letter.lower()}]'
                   if letter.isalpha() else re.escape(letter)
                   for letter in word)


def words(known: Iterable[str]) -> str:
    """Return a pattern of some words in any case."""
    return f'(?:{"|".join(map(anycase, known))})'


def whole(pattern: str) -> Schema:
    """Return what text is that a pattern matches as a whole."""
    return {'type': 'string', 'pattern': f'^{pattern}{END}'}


def names(known: Iterable[str]) -> str:
    """Return a pattern of one of some names."""
    return f'(?:{"|".join(map(re.escape, known))})'


def either(*schemas: Schema) -> Schema:
    """Return what meets at least one of some schemas."""
    return {'anyOf': list(schemas)} if len(schemas) > 1 else schemas[0]


NULL: Schema = {'type': 'null'}

TRUTHS = words(strutils.TRUE_STRINGS)
FALSEHOODS = words(strutils.FALSE_STRINGS)

BOOLEAN = either({'type': 'boolean'},
                 whole(words((*strutils.TRUE_STRINGS,
                              *strutils.FALSE_STRINGS))))
"""true or false, also as text."""

TRUE = either({'const': True}, whole(TRUTHS))
FALSE = either({'const': False}, whole(FALSEHOODS))

WHOLE_NUMBER = r'\s*[+-]?[0-9](?:_?[0-9])*\s*'
_DIGITS = r'[0-9](?:_?[0-9])*'
NUMBER = (rf'\s*[+-]?(?:(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})'
          rf'(?:[eE][+-]?{_DIGITS})?)\s*')

VARYING: Schema = {'anyOf': [
    {'type': 'string', 'pattern': FIELD},
    {'type': 'array', 'contains': VARIES},
    {'type': 'object', 'not': {'additionalProperties': {'not': VARIES}}},
    {'type': 'object', 'not': {'propertyNames': {'not': {
        'pattern': FIELD}}}}]}
"""What :data:`VARIES` refers to."""
