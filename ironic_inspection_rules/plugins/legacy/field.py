# SPDX-License-Identifier: Apache-2.0

"""The fields of ironic-inspector's rules, which are JSON paths.

A field such as ``data://inventory.disks[*].size`` has a scheme, ``data`` or
``node``, and a JSON path, which may find several values. The library
jsonpath-ng parses the path to a syntax tree. This module compiles the tree to
functions, which are faster than the library's own search, and charge the
budget. A function takes a value and the budget, and returns the list of the
values that it finds. The function of ``a.b`` combines the functions of its
left part, ``a``, and its right part, ``b``.

The paths keep their meaning from ironic-inspector, whose library jsonpath-rw
differs: ``[*]`` of a mapping, an integer or a text returns the value itself,
``*`` returns only the members of mappings, and an index into a number is an
error.
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
"""Returns the values that a JSON path finds in a value."""
Path = typing.Any  # A node of jsonpath-ng's syntax tree.

ANY = ...  # The step ``[*]``.

Step = str | int | types.EllipsisType

MAX_STEPS = 64  # Maximum number of steps, alternatives and brackets.
_STEPS = ('.', '|', '[', '(', '&', '`', ',', 'where')

# The step [*]; or quoted text, in which [*] is not a step.
_ANY_ITEM = re.compile(
    r"""(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|"""
    r'\[\s*\*\s*\]'
)


def _get_node(roots: budget.View) -> typing.Any:
    """Return the node of the data by root name."""
    return roots['node']


Source = typing.Callable[[budget.View], typing.Any]
"""Returns the data that a JSON path leads through, from all data."""

SOURCES: dict[str, Source] = {
    'data': document.InspectorData,
    'node': _get_node,
}
"""The data that the JSON path of a field leads through, by scheme."""


def split(field: str) -> tuple[str, str]:
    """Split a field into its scheme and its JSON path.

    ``node://driver`` gives ``('node', 'driver')``. The default scheme is
    ``data``: ``cpus`` gives ``('data', 'cpus')``.
    """
    scheme, separator, path = field.partition('://')
    if not separator:
        return 'data', field
    return scheme, path


# Cache the trees, because the library builds the tables of its parser again
# for each path, which takes 10 ms.
@text_cache.cache_short_texts(maxsize=4096, longest=256)
def parse(path: str) -> Path:
    """Return the syntax tree of a JSON path, as ironic-inspector reads it.

    ``[*]`` is read as ``[:]``. The trees are cached, so callers must not
    change them.

    :raises: :class:`.exceptions.OperationError` if the text is not a JSON
        path, or has so many steps that its tree would be too deep.
    """
    # Count the separators. There may be fewer steps, because quoted text may
    # contain separators too.
    most_steps = sum(path.count(separator) for separator in _STEPS)
    if most_steps > MAX_STEPS:
        raise exceptions.OperationError(
            _('A JSON path may have %d steps at most') % MAX_STEPS
        )
    # Replace [*] by [:], see _as_slice().
    path_with_slices = _ANY_ITEM.sub(_as_slice, path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)
            return parser.parse(path_with_slices)
    # ValueError is raised if an index has more digits than Python converts.
    except (jsonpath_exceptions.JSONPathError, ValueError) as exc:
        raise exceptions.OperationError(
            _('"%(path)s" is not a JSON path: %(reason)s')
            % {'path': path, 'reason': exc}
        ) from exc


def _as_slice(match: re.Match[str]) -> str:
    """Return ``[:]`` for the step ``[*]``; quoted text is kept.

    ``[*]`` stands for the items of a list, and ``*`` for the members of a
    mapping. Newer releases of jsonpath-ng build the same tree for both, so
    they could not be distinguished. The tree of ``[:]`` is always different.

    :param match: a match of :data:`_ANY_ITEM`: the step ``[*]``, or a quoted
        text, which may contain ``[*]``.
    """
    quoted: str | None = match['quoted']
    if quoted:
        return quoted
    return '[:]'


def steps(field: str) -> tuple[Step, ...]:
    """Return the steps of a field if its JSON path has only simple steps.

    ``data://inventory.disks[0].size`` has the steps ``('inventory', 'disks',
    0, 'size')``.

    :returns: names, indexes, and :data:`ANY` for ``[*]``. An empty tuple if
        the path has a union, a ``..`` or another step that is not simple.
    :raises: :class:`.exceptions.OperationError` if it is not a JSON path.
    """
    return _list_steps(_without_root(parse(split(field)[1])))


def as_replacement(field: str) -> str | None:
    """Convert a field of ironic-inspector to a field of this language.

    With it, lint compares the facts of rules in both languages.

    ``inventory.cpu.count`` becomes ``{inventory[cpu][count]}``, ``a.b``
    becomes ``{plugin_data[a][b]}``, and ``node://driver`` becomes
    ``{node[driver]}``.

    :returns: None if the field may have several values, or if a name in it
        contains a closing bracket, which would end the brackets around it.
    :raises: :class:`.exceptions.OperationError` if it is not a JSON path.
    """
    path = steps(field)
    may_have_several_values = not path or ANY in path
    if may_have_several_values:
        return None
    names = [str(step) for step in path]
    for name in names:
        if ']' in name:
            return None
    # Put the root of this language before the names.
    scheme, _path = split(field)
    if scheme == 'node':
        names.insert(0, 'node')
    elif names[0] != 'inventory':
        # Everything else that the ramdisk sends is plugin data here.
        names.insert(0, 'plugin_data')
    root, *keys = names
    brackets = ''.join(f'[{key}]' for key in keys)
    return f'{{{root}{brackets}}}'


@text_cache.cache_short_texts(maxsize=4096, longest=256)
def compile_field(field: str) -> typing.Callable[[budget.View], Values]:
    """Build the function that finds all values of a field on a machine.

    For ``inventory.disks[*].size``, it returns the sizes of all disks.

    :param field: a JSON path, optionally with ``data://`` or ``node://``.
    :returns: a function that takes the data by root name and returns a list
        of values. Functions are cached by the text of the field.
    :raises: :class:`.exceptions.OperationError` if the field is invalid.
    """
    scheme, path = split(field)
    if scheme not in SOURCES:
        raise exceptions.OperationError(
            _('"%(scheme)s" is not a scheme of fields; known: %(known)s')
            % {'scheme': scheme, 'known': ', '.join(SOURCES)}
        )
    get_source_data = SOURCES[scheme]
    tree = parse(path)
    find = _compile_node(_without_root(tree))
    if find is None:
        # This module does not support a step of the path, e.g. "`parent`".
        return functools.partial(_find_by_library, tree, get_source_data)
    return functools.partial(_find_compiled, find, get_source_data)


def _find_compiled(find: Find, source: Source, roots: budget.View) -> Values:
    """Return the values that a compiled path finds on a machine."""
    return find(source(roots), roots.budget)


def _find_by_library(tree: Path, source: Source, roots: budget.View) -> Values:
    """Find values with the library's own search.

    The library is slower than this module, and does not spend the budget.
    """
    return [match.value for match in tree.find(source(roots))]


def _without_root(path: Path) -> Path:
    """Return the tree of a JSON path without the ``$`` at its beginning.

    ``$.a`` and ``a`` mean the same, so both give the tree of ``a``. The tree
    of ``$`` alone becomes the tree of "this", which is the value itself. The
    given tree is not changed.
    """
    # The name of the class of the tree's node.
    name = type(path).__name__
    if name == 'Root':
        # The whole tree is "$".
        return jsonpath.This()
    if name not in ('Child', 'Descendants'):
        # Only the trees of "a.b" and "a..b" are searched for "$".
        return path
    left = _without_root(path.left)
    if name == 'Child' and isinstance(left, jsonpath.This):
        # The tree of "$.a" becomes the tree of "a".
        return path.right
    # Copy the tree, because it is cached and shared.
    return type(path)(left, path.right)


def _compile_node(path: Path) -> Find | None:
    """Build the function that finds the values at a JSON path.

    The function takes a value and a budget, and returns a list of values. For
    ``a.*`` and ``{'a': {'b': 1, 'c': 2}}`` this is ``[1, 2]``. The function of
    a tree with two parts calls the functions of both parts.

    :param path: the syntax tree of the path.
    :returns: None if this module does not support a part of the tree, or if a
        part needs more than the value, e.g. the parent of the value.
    """
    # Most paths consist only of names, e.g. "a.b.c". Then one function for the
    # whole path is faster.
    path_steps = _list_steps(path)
    has_only_names = all(isinstance(step, str) for step in path_steps)
    if path_steps and has_only_names:
        return functools.partial(_find_at_names, path_steps)
    # Compare the names of classes, because some releases of the library lack
    # some of the classes.
    name = type(path).__name__
    if name == 'This':
        return _find_itself
    if name == 'Wildcard':
        return _find_members
    if name == 'Fields':
        if '*' in path.fields:
            return _find_members
        return functools.partial(_find_named, path.fields)
    if name == 'Index':
        return functools.partial(_find_items, _list_indices(path))
    if name == 'Slice':
        wanted_slice = slice(path.start, path.end, path.step)
        return functools.partial(_find_slice, wanted_slice)
    # Only the trees of "a.b", "a..b", "a|b" and "a where b" are left, which
    # have two parts, and steps that this module does not support.
    find_in_both_parts = _FUNCTIONS_OF_PAIRS.get(name)
    if find_in_both_parts is None:
        return None
    find_left = _compile_node(path.left)
    find_right = _compile_node(path.right)
    if find_left is None or find_right is None:
        return None
    return functools.partial(find_in_both_parts, find_left, find_right)


def _list_steps(path: Path) -> tuple[Step, ...]:
    """Return the steps of a syntax tree if all are simple, else no steps.

    A simple step is a name, an index, or ``[:]`` for any item. For example,
    the tree of ``disks[0].size`` has the steps ``('disks', 0, 'size')``, but
    no steps are returned for ``a|b``.

    :param path: the syntax tree of the path.
    """
    name = type(path).__name__
    if name == 'Child':
        # The tree of "a.b".
        left_steps = _list_steps(path.left)
        right_steps = _list_steps(path.right)
        if not left_steps or not right_steps:
            # One of the parts has a step that is not simple.
            return ()
        return left_steps + right_steps
    if name == 'Fields':
        # There are several names in "['a','b']".
        is_one_name = len(path.fields) == 1 and path.fields[0] != '*'
        if is_one_name:
            return tuple(path.fields)
    if name == 'Index':
        indices = _list_indices(path)
        if len(indices) == 1:
            return indices
    if name == 'Slice':
        bounds = (path.start, path.end, path.step)
        is_any_item = bounds == (None, None, None)
        if is_any_item:
            return (ANY,)
    # No other step is simple.
    return ()


def _list_indices(path: Path) -> tuple[int, ...]:
    """Return the indexes of a step such as ``[0]`` or ``[0, 2]``."""
    # Releases of jsonpath-ng before 1.8 support only one index.
    return getattr(path, 'indices', None) or (path.index,)


def _find_at_names(
    names: tuple[Step, ...], value: typing.Any, _allowance: budget.Budget
) -> Values:
    """Return a list with the value at a path of names.

    For ``('a', 'b')`` and ``{'a': {'b': 1}}`` this is ``[1]``. The list is
    empty if there is no value at the path.

    :param value: the value in which the path begins.
    """
    for name in names:
        if not isinstance(value, dict):
            return []
        try:
            value = value[name]
        except KeyError:
            return []
    return [value]


def _find_itself(value: typing.Any, _allowance: budget.Budget) -> Values:
    """Return the value itself, as the path ``$`` does."""
    return [value]


def _find_members(value: typing.Any, _allowance: budget.Budget) -> Values:
    """Return the values of a mapping, as ``*`` does.

    A list has no members, as in jsonpath-rw, the library of ironic-inspector.
    """
    if not isinstance(value, dict):
        return []
    return list(value.values())


def _find_named(
    names: typing.Iterable[str], value: typing.Any, allowance: budget.Budget
) -> Values:
    """Return the values of those names that a mapping has, in their order."""
    values: Values = []
    for name in names:
        values += _find_at_names((name,), value, allowance)
    return values


def _find_items(
    indices: tuple[int, ...], value: typing.Any, _allowance: budget.Budget
) -> Values:
    """Return the items of a list, or the characters of a text, at indexes.

    For example, ``[0, 2]`` of ``['a', 'b']`` gives ``['a']``: an index after
    the end finds nothing, as in jsonpath-rw.

    :raises: :class:`.exceptions.OperationError` for a value without items, and
        for a negative index before the first item.
    """
    try:
        return [value[index] for index in indices if len(value) > index]
    except (TypeError, KeyError, IndexError) as exc:
        raise exceptions.OperationError(
            _('there is no item %(index)s in %(kind)s')
            % {'index': indices[0], 'kind': suggestion.describe_type(value)}
        ) from exc


def _find_slice(
    wanted_slice: slice, value: typing.Any, _allowance: budget.Budget
) -> Values:
    """Return the items of a part of a list, as ``[1:3]`` does.

    Like in jsonpath-rw, a mapping, a whole number or a text counts as a list
    with this one item. Floats and null are errors.

    :raises: :class:`.exceptions.OperationError` for a value without items.
    """
    if isinstance(value, list):
        return value[wanted_slice]
    if isinstance(value, dict | int | str):
        return [value][wanted_slice]
    raise exceptions.OperationError(
        _('there are no items in %s') % suggestion.describe_type(value)
    )


def _find_at_any_depth(
    left: Find, right: Find, value: typing.Any, allowance: budget.Budget
) -> Values:
    """Return the values of ``left..right``, in the order of the data.

    The right part is searched in each value that the left part finds, and in
    all values inside it, at any depth. For example, ``a..b`` finds all members
    with the name ``b`` anywhere in ``a``. Each value that is searched costs an
    operation.

    :param left: finds the values of the left part.
    :param right: finds the values of the right part in one value.
    """
    values: Values = []
    # Use a stack instead of recursion, because deep data would exhaust
    # Python's stack. The next value is at the end, so values are added in
    # reverse.
    remaining = left(value, allowance)[::-1]
    while remaining:
        allowance.spend()
        current = remaining.pop()
        values += right(current, allowance)
        if isinstance(current, dict):
            remaining += list(current.values())[::-1]
        elif isinstance(current, list):
            remaining += current[::-1]
    return values


def _find_children(
    left: Find, right: Find, value: typing.Any, allowance: budget.Budget
) -> Values:
    """Return the values of ``left.right``.

    The right part is searched in each value that the left part finds.

    :param left: finds the values of the left part.
    :param right: finds the values of the right part in one value.
    """
    values: Values = []
    for parent in left(value, allowance):
        values += right(parent, allowance)
    return values


def _find_where(
    left: Find, right: Find, value: typing.Any, allowance: budget.Budget
) -> Values:
    """Return the values of ``left where right``.

    These are the values of the left part in which the right part finds any
    value: ``disks[*] where wwn`` finds the disks that have a ``wwn``.
    """
    return [
        candidate
        for candidate in left(value, allowance)
        if right(candidate, allowance)
    ]


def _find_both(
    left: Find, right: Find, value: typing.Any, allowance: budget.Budget
) -> Values:
    """Return the values of ``left|right``, starting with the left part."""
    return left(value, allowance) + right(value, allowance)


# The name of the class for unions depends on the release of the library.
_FUNCTIONS_OF_PAIRS: dict[
    str, typing.Callable[[Find, Find, typing.Any, budget.Budget], Values]
] = {
    'Child': _find_children,
    'Descendants': _find_at_any_depth,
    'Union': _find_both,
    '_Union': _find_both,
    'Where': _find_where,
}
"""The functions for trees with two parts, by the name of the tree's class."""
