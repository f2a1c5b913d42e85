# SPDX-License-Identifier: Apache-2.0

"""Paths in JSON data, e.g. ``/extra/rack``.

A path is a tuple of tokens. It is written as an RFC 6901 pointer
(``/extra/a~1b/0``), or in one of the older forms ``extra.a`` and ``extra/a``.
"""

import math
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

Path = tuple[str, ...]

APPEND = '-'
"""The token for the place after the last item of a list."""

MOST_TOKENS = 32

_INDEX = re.compile(r'0|[1-9][0-9]{0,8}')


class Absent:
    """The type of :data:`ABSENT`."""

    def __repr__(self) -> str:
        return 'ABSENT'


ABSENT = Absent()
"""Stands for a value that does not exist. None cannot, because null exists."""


class Key(str):
    """A token from a machine's data, which is always the key of a mapping.

    A ``-`` from a machine is the name of an attribute. Only a ``-`` in a rule
    is the end of a list (see :func:`is_append`).
    """

    __slots__ = ()


def parse(text: str) -> Path:
    """Parse a path in any of its forms: ``/a/b``, ``a/b`` or ``a.b``.

    The first form is a JSON pointer, which has escapes: ``~1`` for a slash and
    ``~0`` for a tilde.

    :raises: :class:`.exceptions.OperationError` if its first token is empty,
        or if it has more than :data:`MOST_TOKENS`.
    """
    if text.startswith('/'):
        tokens = text[1:].split('/')
        if '~' in text:
            tokens = [unescape(token) for token in tokens]
    elif '/' in text:
        tokens = text.split('/')
    else:
        tokens = text.split('.')
    check(tokens, text)
    return tuple(tokens)


def check(tokens: typing.Sequence[typing.Any], text: str) -> None:
    """Check that a path begins with a name and is not too long.

    :param tokens: the parts of the path: strings, or templates of strings. A
        template counts as a name, because its value is not known yet.
    :param text: the path as it is written, for the message.
    :raises: :class:`.exceptions.OperationError` like :func:`parse`.
    """
    if '' in tokens[:1]:
        raise exceptions.OperationError(
            _('path "%s" does not name an attribute') % text
        )
    if len(tokens) > MOST_TOKENS:
        raise exceptions.OperationError(
            _('a path must not have more than %d parts') % MOST_TOKENS
        )


def split_pointer(text: str) -> Path:
    """Return the tokens of an RFC 6901 pointer, however many it has.

    Use this for pointers that are not written by an author as a path, so that
    :func:`check` does not apply.

    :param text: a pointer that begins with a slash, or an empty pointer.
    """
    return tuple(unescape(token) for token in text.split('/')[1:])


def unescape(token: str) -> str:
    """Unescape a token of an RFC 6901 pointer."""
    # The order matters, because "~01" is "~1", not "/".
    return token.replace('~1', '/').replace('~0', '~')


def is_append(token: str) -> bool:
    """Return whether a token is ``-``, the place after the end of a list."""
    return token == APPEND and token.__class__ is str


def pointer(tokens: typing.Iterable[typing.Any]) -> str:
    """Write tokens as an RFC 6901 pointer: ``/extra/rack``."""
    text = ''
    for token in tokens:
        escaped = str(token)
        # Most tokens need no escape.
        if '~' in escaped or '/' in escaped:
            # The order matters: the tilde of "~1" must not be escaped again.
            escaped = escaped.replace('~', '~0').replace('/', '~1')
        text += f'/{escaped}'
    return text


def get(data: typing.Any, path: Path) -> typing.Any:
    """Return the value at a path in plain data, or :data:`ABSENT`.

    A token is a key of a mapping or an index of a list. For example,
    ``('disks', '0')`` in ``{'disks': [{'size': 480}]}`` gives the first disk.
    Lists have no items ``-`` or ``-1``.
    """
    for token in path:
        if isinstance(data, dict):
            # If the key is absent, the following tokens lead nowhere.
            data = data.get(token, ABSENT)
        elif isinstance(data, list):
            position = index(token)
            if position is None or position >= len(data):
                return ABSENT
            data = data[position]
        else:
            return ABSENT
    return data


def overlap(first: Path, second: Path) -> bool:
    """Return whether one of two paths begins with the other.

    If so, the value at the longer path is a part of the value at the other:
    ``('extra',)`` overlaps ``('extra', 'rack')``.
    """
    common_length = min(len(first), len(second))
    return first[:common_length] == second[:common_length]


def children(value: typing.Any) -> list[tuple[str, typing.Any]]:
    """Return the values directly in a mapping or list, with their tokens.

    For example, ``['a']`` gives ``('0', 'a')``. Any other value has no
    children.
    """
    if isinstance(value, dict):
        return [(str(key), child) for key, child in value.items()]
    if isinstance(value, list):
        return [(str(position), child) for position, child in enumerate(value)]
    return []


def walk(value: typing.Any) -> typing.Iterator[tuple[Path, typing.Any]]:
    """Yield a value and all values in it, with their paths.

    The values come in the order of the data, each parent before its children.
    """
    ahead: list[tuple[Path, typing.Any]] = [((), value)]
    while ahead:
        path, value = ahead.pop()
        yield path, value
        # Reverse the children, because pop() takes the last one first.
        for token, child in reversed(children(value)):
            path_of_child = (*path, token)
            ahead.append((path_of_child, child))


def walk_texts(value: typing.Any) -> typing.Iterator[tuple[Path, str]]:
    """Yield all texts in a value, including keys, with their paths.

    A key has the path of its mapping, and comes before the texts in it.
    """
    for path, part in walk(value):
        if isinstance(part, str):
            yield path, part
        elif isinstance(part, dict):
            for key in part:
                if isinstance(key, str):
                    yield path, key


def replace_texts(
    value: typing.Any,
    make: typing.Callable[[str], typing.Any],
    keys: bool = False,
) -> typing.Any:
    """Return a copy of a value in which a function has replaced all texts.

    Texts in lists and mappings are replaced too, at any depth.

    :param make: returns the replacement of a text, of any type.
    :param keys: whether to replace keys of mappings too.
    """
    if isinstance(value, str):
        return make(value)
    if isinstance(value, list):
        return [replace_texts(item, make, keys) for item in value]
    if isinstance(value, dict):
        replaced = {}
        for key, item in value.items():
            new_key = key
            if keys:
                new_key = replace_texts(key, make)
            replaced[new_key] = replace_texts(item, make, keys)
        return replaced
    return value


def is_same(first: typing.Any, second: typing.Any) -> bool:
    """Return whether two JSON values are equal and have the same types.

    Unlike in Python, ``[1]`` differs from ``[1.0]`` and ``[true]``.
    """
    # The remaining pairs to compare. This avoids recursion, because Ironic's
    # threads have a small stack.
    pairs = [(first, second)]
    while pairs:
        left, right = pairs.pop()
        if left.__class__ is not right.__class__:
            return False
        if isinstance(left, dict):
            if left.keys() != right.keys():
                return False
            pairs += [(left[key], right[key]) for key in left]
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            pairs += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


def hashable_key(value: typing.Any) -> typing.Hashable:
    """Return a hashable key of a value, equal for values that are the same.

    Sets and mappings use this key to find values as :func:`is_same` compares
    them. For example, the key of ``{"a": [1]}`` is ``((dict, 'a'), (list, 1),
    (int, '1'))``: a mapping with this name, a list of one item, and the item.
    Numbers are texts in the key, because a machine can choose integers whose
    hashes collide, which would make a set slow.
    """
    # Avoid recursion, because Ironic's threads have a small stack.
    parts: list[typing.Hashable] = []
    ahead = [value]
    while ahead:
        part = ahead.pop()
        if isinstance(part, dict):
            # Sort the keys, because their order is not part of the value.
            keys = sorted(part, key=repr)
            parts.append((dict, *keys))
            ahead += [part[key] for key in keys]
        elif isinstance(part, list):
            parts.append((list, len(part)))
            ahead += part
        elif isinstance(part, str):
            parts.append((type(part), part))
        elif isinstance(part, float) and math.isnan(part):
            # NaN differs from every value, including itself.
            parts.append(object())
        elif isinstance(part, float):
            # Zeros of both signs are equal, because -0.0 + 0.0 is 0.0.
            parts.append((float, repr(part + 0.0)))
        else:
            parts.append((type(part), repr(part)))
    return tuple(parts)


def resolve_append(data: typing.Any, path: Path) -> Path:
    """Replace ``-`` in a path with the index of the last item of the list.

    For example, ``/disks/-`` becomes ``/disks/2`` if the list has three items.
    A recorded change then identifies the item even if other items follow.

    :param data: the data in which the path begins, after the item was
        appended.
    """
    if APPEND not in path:
        return path
    tokens = []
    # The value in which the next token is looked up.
    container = data
    for token in path:
        resolved = token
        # In a mapping, "-" is a name.
        if token == APPEND and isinstance(container, list):
            resolved = str(len(container) - 1)
        tokens.append(resolved)
        container = get(container, (resolved,))
    return tuple(tokens)


def index(token: str) -> int | None:
    """Read a token as the index of a list item, e.g. 3 for ``3``.

    :returns: None for any other token, e.g. ``03`` or ``-``.
    """
    if _INDEX.fullmatch(token) is None:
        return None
    return int(token)
