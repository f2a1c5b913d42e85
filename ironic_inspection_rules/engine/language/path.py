# SPDX-License-Identifier: Apache-2.0

"""Paths in JSON data, such as ``/extra/rack``.

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
MOST_TOKENS = 32

_INDEX = re.compile(r'0|[1-9][0-9]{0,8}')


class Absent:
    """The type of :data:`ABSENT`."""

    def __repr__(self) -> str:
        return 'ABSENT'


ABSENT = Absent()


class Key(str):
    """A token from a machine's data: always the key of a mapping.

    A machine's ``-`` is the name of an attribute; only that of a rule means
    the end of a list (see :func:`is_append`).
    """

    __slots__ = ()


def parse(text: str) -> Path:
    """Read a path in any of its forms: ``/a/b``, ``a/b`` or ``a.b``.

    The first form, a JSON pointer, has escapes: ``~1`` for a slash and ``~0``
    for a tilde.

    :raises: :class:`.exceptions.OperationError` if its first token is empty
        or it has more than :data:`MOST_TOKENS`.
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
    """Check that a path begins with a name, and is not too long.

    :param tokens: the parts of the path: strings, or templates of strings. A
        template counts as a name, as its value is not known yet.
    :param text: the path as it is written, for the message.
    :raises: :class:`.exceptions.OperationError` as :func:`parse`.
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

    It is for pointers that no author wrote as a path, so :func:`check` does
    not apply.

    :param text: a pointer that begins with a slash, or an empty pointer.
    """
    return tuple(unescape(token) for token in text.split('/')[1:])


def unescape(token: str) -> str:
    """Unescape a token of an RFC 6901 pointer."""
    # In this order: "~01" is "~1", not "/".
    return token.replace('~1', '/').replace('~0', '~')


def is_append(token: str) -> bool:
    """Return whether a token, ``-``, means the place behind a list's end."""
    return token == APPEND and token.__class__ is str


def pointer(tokens: typing.Iterable[typing.Any]) -> str:
    """Write tokens as an RFC 6901 pointer: ``/extra/rack``."""
    text = ''
    for token in tokens:
        escaped = str(token)
        # Most tokens need no escape.
        if '~' in escaped or '/' in escaped:
            # In this order: the tilde of "~1" must not be escaped again.
            escaped = escaped.replace('~', '~0').replace('/', '~1')
        text += f'/{escaped}'
    return text


def get(data: typing.Any, path: Path) -> typing.Any:
    """Return the value at a path in plain data, or :data:`ABSENT`.

    A token is a key of a mapping or an index of a list: ``('disks', '0')`` in
    ``{'disks': [{'size': 480}]}`` has the first disk. No list has an item
    ``-`` or ``-1``.
    """
    for token in path:
        if isinstance(data, dict):
            # If the key is absent, no token that follows leads anywhere.
            data = data.get(token, ABSENT)
        elif isinstance(data, list):
            position = index(token)
            if position is None or position >= len(data):
                return ABSENT
            data = data[position]
        else:
            return ABSENT
    return data


def children(value: typing.Any) -> list[tuple[str, typing.Any]]:
    """Return the values directly in a mapping or list, with their tokens.

    ``['a']`` has ``('0', 'a')``; a value that is neither has no children.
    """
    if isinstance(value, dict):
        return [(str(key), child) for key, child in value.items()]
    if isinstance(value, list):
        return [(str(position), child) for position, child in enumerate(value)]
    return []


def walk(value: typing.Any) -> typing.Iterator[tuple[Path, typing.Any]]:
    """Yield a value and all values in it with their paths.

    They come in the order of the data, a parent before its children.
    """
    ahead: list[tuple[Path, typing.Any]] = [((), value)]
    while ahead:
        path, value = ahead.pop()
        yield path, value
        # In reverse, as pop() takes the last child first.
        for token, child in reversed(children(value)):
            path_of_child = (*path, token)
            ahead.append((path_of_child, child))


def replace_texts(
    value: typing.Any,
    make: typing.Callable[[str], typing.Any],
    keys: bool = False,
) -> typing.Any:
    """Return a copy of a value in which a function has replaced all texts.

    Texts are replaced in lists and mappings as well, at any depth.

    :param make: returns the replacement of a text, of any type.
    :param keys: whether to replace keys of mappings, too.
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


def same(first: typing.Any, second: typing.Any) -> bool:
    """Return whether two values of JSON are equal, types included.

    ``[1]`` differs from ``[1.0]`` and ``[true]``, unlike in Python.
    """
    # The pairs that are still to be compared. No recursion, as Ironic's
    # threads have little stack.
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


def identity(value: typing.Any) -> typing.Hashable:
    """Return a hashable key of a value, equal for values that are the same.

    Sets and mappings find values by this key, as :func:`same` compares. The
    key of ``{"a": [1]}`` is ``((dict, 'a'), (list, 1), (int, '1'))``: a
    mapping with this name, a list of one item, the item. Numbers are texts in
    it: a machine can choose integers whose hashes collide, which would make a
    set slow.
    """
    # No recursion, as Ironic's threads have little stack.
    parts: list[typing.Hashable] = []
    ahead = [value]
    while ahead:
        part = ahead.pop()
        if isinstance(part, dict):
            # The order of keys is no part of the value.
            keys = sorted(part, key=repr)
            parts.append((dict, *keys))
            ahead += [part[key] for key in keys]
        elif isinstance(part, list):
            parts.append((list, len(part)))
            ahead += part
        elif isinstance(part, str):
            parts.append((type(part), part))
        elif isinstance(part, float):
            parts.append(_identity_of_float(part))
        else:
            parts.append((type(part), repr(part)))
    return tuple(parts)


def _identity_of_float(number: float) -> typing.Hashable:
    if math.isnan(number):
        # NaN differs from everything, also from itself.
        return object()
    # Zeros of both signs are equal: -0.0 + 0.0 is 0.0.
    return float, repr(number + 0.0)


def resolve_append(data: typing.Any, path: Path) -> Path:
    """Replace ``-`` in a path by the index of the last item of the list.

    ``/disks/-`` becomes ``/disks/2`` if the list has three items, so a record
    of a change names the item even if other items follow.

    :param data: the data that the path begins in, after the item was appended.
    """
    if APPEND not in path:
        return path
    tokens = []
    # The value that the next token leads into.
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
    """Read a token as the index of a list item: 3 for ``3``.

    :returns: None for any other token, such as ``03`` or ``-``.
    """
    if _INDEX.fullmatch(token) is None:
        return None
    return int(token)
