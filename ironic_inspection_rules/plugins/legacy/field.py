# SPDX-License-Identifier: Apache-2.0

"""The fields of ironic-inspector's rules: JSON paths.

They lead through one flat document, and the node. They are parsed by
jsonpath-ng but keep their meaning in ironic-inspector, whose own library
(jsonpath-rw) differs: ``[*]`` on a value that is not a list returns the value
itself, ``*`` returns the members of mappings only, and an index into a number
is an error.
"""

import functools
import re
import types
import typing
import warnings

from jsonpath_ng import exceptions as jsonpath_exceptions
from jsonpath_ng import jsonpath
from jsonpath_ng import parser

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.legacy import document

Values = list[typing.Any]
Find = typing.Callable[[typing.Any, budget.Budget], Values]
Path = typing.Any  # A node of jsonpath-ng's syntax tree.

ANY = ...  # The step ``[*]``.

Step = str | int | types.EllipsisType

MAX_STEPS = 64  # Maximum number of steps, alternatives and brackets.
_STEPS = ('.', '|', '[', '(', '&', '`', ',', 'where')

# [*] and * are the same in the syntax tree.
_ANY_ITEM = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|"""
                       r'\[\s*\*\s*\]')

SOURCES: dict[str, typing.Callable[[budget.View], typing.Any]] = {
    'data': document.Document, 'node': lambda roots: roots['node']}


def split(field: str) -> tuple[str, str]:
    """Split a field into scheme and path; ``data`` is the default."""
    scheme, separator, path = field.partition('://')
    return (scheme, path) if separator else ('data', field)


# The library makes its tables anew for each path, which takes 10 ms.
@text_cache.for_short(maxsize=4096, longest=256)
def parse(path: str) -> Path:
    """Return the syntax tree of a JSON path, which must not be changed.

    :raises: :class:`.exceptions.OperationError` if it is invalid, or so long
        that its tree would be too deep.
    """
    if sum(map(path.count, _STEPS)) > MAX_STEPS:
        raise exceptions.OperationError(
            _('A JSON path may have %d steps at most') % MAX_STEPS)
    marked = _ANY_ITEM.sub(lambda match: match[1] or '[:]', path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)
            return parser.parse(marked)
    # A number may have more digits than Python converts.
    except (jsonpath_exceptions.JSONPathError, ValueError) as exc:
        raise exceptions.OperationError(
            _('"%(path)s" is not a JSON path: %(reason)s')
            % {'path': path, 'reason': exc}) from exc


def steps(field: str) -> tuple[Step, ...]:
    """Return the steps of a field, if all of them are simple.

    :returns: names, indices and :data:`ANY`, or nothing.
    :raises: :class:`.exceptions.OperationError` if it is not a JSON path.
    """
    return _steps(_without_root(parse(split(field)[1])))


def as_replacement(field: str) -> str | None:
    """Return a field that has one value as a replacement field.

    :returns: ``{inventory[cpu][count]}``, or None if that is not possible.
    :raises: :class:`.exceptions.OperationError` if it is not a JSON path.
    """
    found = steps(field)
    names = tuple(map(str, found))
    if not found or ANY in found or any(']' in name for name in names):
        return None
    if split(field)[0] == 'node':
        names = ('node', *names)
    elif names[0] != 'inventory':
        names = ('plugin_data', *names)
    return f'{{{names[0]}{"".join(f"[{name}]" for name in names[1:])}}}'


@text_cache.for_short(maxsize=4096, longest=256)
def compile_field(field: str) -> typing.Callable[[budget.View], Values]:
    """Build a function that finds all values of a field.

    :param field: a JSON path, perhaps with ``data://`` or ``node://``.
    :returns: a function of the data by root name.
    :raises: :class:`.exceptions.OperationError` if it is invalid.
    """
    scheme, path = split(field)
    if scheme not in SOURCES:
        raise exceptions.OperationError(
            _('"%(scheme)s" is not a scheme of fields; known: %(known)s')
            % {'scheme': scheme, 'known': ', '.join(SOURCES)})
    source, tree = SOURCES[scheme], parse(path)
    find = _compile_node(_without_root(tree))
    if find is None:
        # Parents and other rare nodes need the library's own search.
        return lambda roots: [match.value for match in tree.find(
            source(roots))]
    return lambda roots: find(source(roots), roots.budget)


def _without_root(path: Path) -> Path:
    """Strip the ``$`` at the beginning, which has no meaning."""
    name = type(path).__name__
    if name == 'Root':
        return jsonpath.This()
    if name not in ('Child', 'Descendants'):
        return path
    left = _without_root(path.left)
    if name == 'Child' and isinstance(left, jsonpath.This):
        return path.right
    return type(path)(left, path.right)


def _compile_node(path: Path) -> Find | None:
    """Build a function that finds the values of a node in a value.

    :returns: None if a node in the tree needs more than the value.
    """
    name = type(path).__name__
    found = _steps(path)
    if found and all(isinstance(step, str) for step in found):
        return functools.partial(_walk, found)
    if name == 'This':
        return lambda value, _allowance: [value]
    if name == 'Wildcard' or name == 'Fields' and '*' in path.fields:
        return lambda value, _allowance: (
            list(value.values()) if isinstance(value, dict) else [])
    if name == 'Fields':
        return lambda value, allowance: [
            found for each in path.fields
            for found in _walk((each,), value, allowance)]
    if name == 'Index':
        return functools.partial(_find_items, _indices(path))
    if name == 'Slice':
        return functools.partial(
            _find_slice, slice(path.start, path.end, path.step))
    if name not in ('Child', 'Descendants', 'Union', '_Union', 'Where'):
        return None
    left, right = _compile_node(path.left), _compile_node(path.right)
    if left is None or right is None:
        return None
    if name == 'Child':
        return lambda value, allowance: [
            found for parent in left(value, allowance)
            for found in right(parent, allowance)]
    if name == 'Descendants':
        return functools.partial(_find_below, left, right)
    if name == 'Where':
        return lambda value, allowance: [
            found for found in left(value, allowance)
            if right(found, allowance)]
    return lambda value, allowance: (
        left(value, allowance) + right(value, allowance))


def _steps(path: Path) -> tuple[Step, ...]:
    name = type(path).__name__
    if name == 'Child':
        left, right = _steps(path.left), _steps(path.right)
        return left + right if left and right else ()
    if name == 'Fields' and len(path.fields) == 1 and path.fields[0] != '*':
        return tuple(path.fields)
    if name == 'Index' and len(_indices(path)) == 1:
        return _indices(path)
    if name == 'Slice' and {path.start, path.end, path.step} == {None}:
        return (ANY,)
    return ()


def _indices(path: Path) -> tuple[int, ...]:
    # Releases of jsonpath-ng before 1.8 know one index only.
    return getattr(path, 'indices', None) or (path.index,)


def _walk(names: tuple[Step, ...], value: typing.Any,
          _allowance: budget.Budget) -> Values:
    for name in names:
        if not isinstance(value, dict):
            return []
        try:
            value = value[name]
        except KeyError:
            return []
    return [value]


def _find_items(indices: tuple[int, ...], value: typing.Any,
                _allowance: budget.Budget) -> Values:
    try:
        return [value[index] for index in indices if len(value) > index]
    except (TypeError, KeyError, IndexError) as exc:
        raise exceptions.OperationError(
            _('there is no item %(index)s in %(kind)s') % {
                'index': indices[0],
                'kind': suggestion.kind_of(value)}) from exc


def _find_slice(part: slice, value: typing.Any,
                _allowance: budget.Budget) -> Values:
    if isinstance(value, dict | int | str):
        value = [value]
    if not isinstance(value, list):
        raise exceptions.OperationError(
            _('there are no items in %s') % suggestion.kind_of(value))
    return value[part]


def _find_below(left: Find, right: Find, value: typing.Any,
                allowance: budget.Budget) -> Values:
    """Return the values found at any depth, in the order of the data."""
    found: Values = []
    ahead = left(value, allowance)[::-1]
    while ahead:
        allowance.spend()
        inner = ahead.pop()
        found += right(inner, allowance)
        if isinstance(inner, dict):
            inner = list(inner.values())
        if isinstance(inner, list):
            ahead += inner[::-1]
    return found
