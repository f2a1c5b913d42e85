# SPDX-License-Identifier: Apache-2.0

"""Build the JSON Schema of text with filters, for editors.

A field may pass its value through filters, as in ``{node.name | upper}`` or
``{inventory.cpu.count | round(2)}``. JSON Schema sees the whole field as text,
so it can only check it with regular expressions. There are two kinds of
patterns: names that no filter has, and literal arguments that a filter
refuses, e.g. ``round('two')``. A text that matches one of them is refused.
"""

from collections.abc import Iterator, Mapping
import re

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema as form
from ironic_inspection_rules.i18n import _

Schema = form.Schema

# Patterns of one character, which may be escaped, between single and between
# double quotes.
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
"""Patterns of literal arguments by their type in JSON Schema.

A scalar must be followed by a comma or a bracket, so that a pattern does not
match only the beginning of a longer argument."""

_ANCHOR = re.compile(r'[$^]|\\[bB]|\(\?')
"""Parts of a pattern that may refer to the beginning or the end of the
text."""

_ROOTS = form.match_names((*interpolation.ROOTS, interpolation.ITEM))
_ARGUMENTS = rf"""(?:\((?:[^(){{}}'"]|{_TEXT})*\))?\s*"""


def text_with_fields(filters: Mapping[str, registry.Op]) -> Schema:
    """Return the JSON Schema of text with fields, also inside other values.

    It refuses an unknown filter in the first field of a text, e.g.
    ``{node.name | uper}``, and a literal argument that the filter does not
    accept. Lint finds mistakes that a regular expression cannot find.

    :param filters: all filters by name.
    """
    # Match the whole name of a filter: "minute" begins with "min", but is not
    # a filter.
    known = rf'{form.match_names(filters)}(?![A-Za-z0-9_])'
    # Everything before a filter of the first field, as in "a {node.name |
    # upper | …": text without fields, the path of the field, and its previous
    # filters. A doubled brace does not start a field.
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
    # An empty pattern would refuse all filters.
    if unfit_calls:
        unfit = rf'{before}(?:{"|".join(unfit_calls)})'
        refused.append(
            {
                'not': {'type': 'string', 'pattern': unfit},
                'errorMessage': _('the filter does not take this argument'),
            }
        )
    # This refers to this schema by its name in the schema of files.
    inner = {'$ref': '#/definitions/written'}
    return {
        'allOf': refused,
        'items': inner,
        'additionalProperties': inner,
    }


def _list_refused_calls(name: str, op: registry.Op) -> Iterator[str]:
    """Yield patterns of filter calls with a literal that the filter refuses.

    Editors mark text that matches, such as ``round('two')``. Only the first
    argument and named arguments are checked.

    :param name: the name of the filter.
    :param op: the filter with its arguments and their schemas.
    """
    first = None
    if op.signature.arguments and not op.plugin.TAKES_FILTER:
        # The first argument of "map", for example, may be another filter.
        first = op.signature.arguments[0].name
    for argument, schemas in op.plugin.SCHEMAS.items():
        values = '|'.join(_refused_literals(list(schemas)))
        if not values:
            continue
        # Other arguments may precede the name of this argument.
        place = rf"""(?:[^(){{}}'"]|{_TEXT})*?{argument}\s*=\s*"""
        if argument == first:
            # The name of the first argument may be omitted.
            place = rf'(?:{place})?'
        yield rf'{name}\s*\(\s*{place}(?:{values})'


def _refused_literals(schemas: list[Schema]) -> Iterator[str]:
    """Yield patterns of literals that an argument of a filter refuses.

    For example, a schema that accepts texts with a digit gives patterns of
    numbers, booleans, nulls, lists and mappings, and a pattern of texts
    without a digit.

    :param schemas: the schemas of the argument; at least one must accept the
        value.
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
        # There is no pattern for integers: refusing literals such as 1.5 would
        # also refuse 5.
        accepted_types.add('number')
    for literal_type, pattern_of_literals in _LITERALS.items():
        if literal_type not in accepted_types:
            yield pattern_of_literals
    # A text must match the only schema. If there are several schemas, another
    # one may accept the text.
    if len(schemas) == 1:
        yield from _refused_texts(schemas[0])


def _refused_texts(schema: Schema) -> Iterator[str]:
    """Yield patterns of literal texts that a schema refuses.

    These texts are empty, or do not match the pattern of the schema.
    """
    if schema.get('minLength') == 1:
        # This pattern matches an empty text.
        yield r"""(?:''|"")\s*[,)]"""
    pattern = schema.get('pattern')
    if pattern is None:
        return
    if _ANCHOR.search(pattern):
        # For example, "^" would match the beginning of the text with the field
        # instead of the literal. Such literals are left to lint.
        return
    # Match a quoted text in which the pattern matches nowhere: "(?!" looks
    # ahead for a match after the first quote.
    single_quoted = rf"'(?!{_SINGLE}*?(?:{pattern})){_SINGLE}*'"
    double_quoted = rf'"(?!{_DOUBLE}*?(?:{pattern})){_DOUBLE}*"'
    yield rf'(?:{single_quoted}|{double_quoted})\s*[,)]'
