# SPDX-License-Identifier: Apache-2.0

"""A JSON Schema of text with filters, for editors.

What is between the braces of a field is text, so a schema can only describe
it by regular expressions: of names of filters, and of literal arguments.
"""

from collections.abc import Iterator, Mapping
import re

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema as form
from ironic_inspection_rules.i18n import _

Schema = form.Schema

_SINGLE, _DOUBLE = r"(?:\\.|[^'\\])", r'(?:\\.|[^"\\])'
_TEXT = rf"""'{_SINGLE}*'|"{_DOUBLE}*\""""
_LITERALS = {
    'string': rf'(?:{_TEXT})\s*[,)]',
    'number': r'-?[0-9][0-9.eE+-]*\s*[,)]',
    'boolean': r'(?:[Tt]rue|[Ff]alse)\s*[,)]',
    'null': r'(?:[Nn]ull|[Nn]one)\s*[,)]',
    'array': r'\[',
    'object': r'\{',
}
"""Patterns of literal arguments by their type."""

_ANCHOR = re.compile(r'[$^]|\\[bB]|\(\?')
"""What may look at the beginning or the end of a text in a pattern."""

_ROOTS = form.match_names((*interpolation.ROOTS, interpolation.ITEM))
_ARGUMENTS = rf"""(?:\((?:[^(){{}}'"]|{_TEXT})*\))?\s*"""


def text_with_fields(filters: Mapping[str, registry.Op]) -> Schema:
    """Return the JSON Schema of text with fields, also inside of other values.

    It refuses an unknown filter in the first field of a text, such as
    ``{node.name | uper}``, and a literal argument that the filter does not
    take. Lint finds what is beyond a regular expression.

    :param filters: all filters by name.
    """
    # The whole name of a filter: "minute" begins with "min", and is none.
    known = rf'{form.match_names(filters)}(?![A-Za-z0-9_])'
    # All that stands before a filter of the first field, in "a {node.name |
    # upper | …": text without fields, the path of the field, and its filters
    # so far. A doubled brace begins no field.
    before = (
        rf'^(?:[^{{}}]|\}}|\{{\{{)*\{{{_ROOTS}'
        r'(?:\.[^\s.\[\]{}!:|]+|\[[^\]]{1,255}\])*\s*'
        rf'(?:\|\s*{known}\s*{_ARGUMENTS})*\|\s*'
    )
    unknown = rf'{before}(?!{known})[A-Za-z_][A-Za-z0-9_]*[^{{}}]*\}}'
    refused = [
        {
            'not': {'type': 'string', 'pattern': unknown},
            'errorMessage': _('there is no such filter'),
        }
    ]
    unfit_calls: list[str] = []
    for name, op in filters.items():
        unfit_calls += _list_refused_calls(name, op)
    # Without any call, the pattern would be empty, and refuse all filters.
    if unfit_calls:
        unfit = rf'{before}(?:{"|".join(unfit_calls)})'
        refused.append(
            {
                'not': {'type': 'string', 'pattern': unfit},
                'errorMessage': _('the filter does not take this argument'),
            }
        )
    # This schema again, by its name in the schema of files.
    inner = {'$ref': '#/definitions/written'}
    return {
        'allOf': refused,
        'items': inner,
        'additionalProperties': inner,
    }


def _list_refused_calls(name: str, op: registry.Op) -> Iterator[str]:
    """Yield patterns of calls of a filter with a literal that it refuses.

    Such as ``round('two')``. Only the first argument, and arguments with
    names, are looked at.
    """
    first = None
    if op.signature.arguments and not op.plugin.TAKES_FILTER:
        # The first argument of "map", for example, may be another filter.
        first = op.signature.arguments[0].name
    for argument, schemas in op.plugin.SCHEMAS.items():
        values = '|'.join(_refused_literals(list(schemas)))
        if not values:
            continue
        # Other arguments may stand before the name of this one.
        place = rf"""(?:[^(){{}}'"]|{_TEXT})*?{argument}\s*=\s*"""
        if argument == first:
            # Its name may be left out.
            place = rf'(?:{place})?'
        yield rf'{name}\s*\(\s*{place}(?:{values})'


def _refused_literals(schemas: list[Schema]) -> Iterator[str]:
    """Yield patterns of literals that an argument of a filter does not take.

    A schema that takes texts with a digit in them, for example, gives patterns
    of numbers, booleans, nulls, lists and mappings, and a pattern of texts
    without any digit.

    :param schemas: the schemas of the argument, one of which has to be met.
    """
    accepted_types: set[str] = set()
    for schema in schemas:
        # A schema without a type accepts all of them.
        types = schema.get('type', list(_LITERALS))
        if isinstance(types, str):
            accepted_types.add(types)
        else:
            accepted_types.update(types)
    if 'integer' in accepted_types:
        # Integers have no pattern of their own: to refuse literals such as
        # 1.5 would refuse 5 as well.
        accepted_types.add('number')
    for literal_type, pattern_of_literals in _LITERALS.items():
        if literal_type not in accepted_types:
            yield pattern_of_literals
    # A text that one of several schemas refuses may meet another.
    if len(schemas) == 1:
        yield from _refused_texts(schemas[0])


def _refused_texts(schema: Schema) -> Iterator[str]:
    """Yield patterns of literal texts that a schema refuses.

    They are empty, or do not match the pattern of the schema.
    """
    if schema.get('minLength') == 1:
        # An empty text.
        yield r"""(?:''|"")\s*[,)]"""
    pattern = schema.get('pattern')
    if pattern is None:
        return
    if _ANCHOR.search(pattern):
        # "^", for example, would mean the beginning of the text with the
        # field, and not that of the literal in it. Such literals are left to
        # lint.
        return
    # A text in quotes with no place, after its first quote, at which the
    # pattern matches: "(?!" looks ahead for such a place.
    single_quoted = rf"'(?!{_SINGLE}*?(?:{pattern})){_SINGLE}*'"
    double_quoted = rf'"(?!{_DOUBLE}*?(?:{pattern})){_DOUBLE}*"'
    yield rf'(?:{single_quoted}|{double_quoted})\s*[,)]'
