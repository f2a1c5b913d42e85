# SPDX-License-Identifier: Apache-2.0

"""Places inside plain JSON data.

A path is a tuple of tokens. It is written as an RFC 6901 pointer
(``/extra/a~1b/0``), or in one of the older forms ``extra.a`` and ``extra/a``.
"""

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
    """A token from a machine's data: always a key, never ``-``."""

    __slots__ = ()


def parse(text: str) -> Path:
    """Read a path in any of its forms.

    :raises: :class:`.exceptions.OperationError` if it is empty or has more
        than 32 tokens.
    """
    if text.startswith('/'):
        tokens = tuple(text[1:].split('/'))
        if '~' in text:
            tokens = tuple(map(unescape, tokens))
    else:
        tokens = tuple(text.split('/' if '/' in text else '.'))
    check(tokens, text)
    return tokens


def check(tokens: typing.Sequence[typing.Any], text: str) -> None:
    """Check the tokens of a path; raises as :func:`parse`."""
    if '' in tokens[:1]:
        raise exceptions.OperationError(
            _('path "%s" does not name an attribute') % text)
    if len(tokens) > MOST_TOKENS:
        raise exceptions.OperationError(
            _('a path must not have more than %d parts') % MOST_TOKENS)


def unescape(token: str) -> str:
    """Unescape a token of an RFC 6901 pointer."""
    return token.replace('~1', '/').replace('~0', '~')


def appends(token: str) -> bool:
    """Return whether a token means the end of a list."""
    return token == APPEND and token.__class__ is str


def pointer(tokens: typing.Iterable[typing.Any]) -> str:
    """Write tokens as an RFC 6901 pointer."""
    return ''.join(['/' + str(token).replace('~', '~0').replace('/', '~1')
                    for token in tokens])


def get(data: typing.Any, path: Path) -> typing.Any:
    """Return what is at the path, or :data:`ABSENT`."""
    for token in path:
        if isinstance(data, dict):
            data = data.get(token, ABSENT)
        elif isinstance(data, list):
            position = index(token)
            if position is None or position >= len(data):
                return ABSENT
            data = data[position]
        else:
            return ABSENT
    return data


def walk(value: typing.Any) -> typing.Iterator[tuple[Path, typing.Any]]:
    """Yield a value and all values in it, each with its path."""
    ahead: list[tuple[Path, typing.Any]] = [((), value)]
    while ahead:
        path, value = ahead.pop()
        yield path, value
        inner = (value.items() if isinstance(value, dict)
                 else enumerate(value) if isinstance(value, list) else ())
        ahead += reversed([((*path, str(key)), each) for key, each in inner])


def replace_texts(value: typing.Any,
                  make: typing.Callable[[str], typing.Any],
                  keys: bool = False) -> typing.Any:
    """Return a value with each string in it replaced.

    :param keys: also replace keys of mappings.
    """
    if isinstance(value, str):
        return make(value)
    if isinstance(value, list):
        return [replace_texts(item, make, keys) for item in value]
    if isinstance(value, dict):
        return {replace_texts(key, make) if keys else key:
                replace_texts(item, make, keys)
                for key, item in value.items()}
    return value


def same(one: typing.Any, other: typing.Any) -> bool:
    """Return whether two values are equal and of the same types throughout."""
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if one.__class__ is not other.__class__:
            return False
        if isinstance(one, dict):
            if one.keys() != other.keys():
                return False
            pairs += [(one[key], other[key]) for key in one]
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif one != other:
            return False
    return True


def identity(value: typing.Any) -> typing.Hashable:
    """Return a key that is equal for two values if :func:`same` is true.

    Numbers are in it as text: a machine can choose integers whose hashes
    collide.
    """
    parts: list[typing.Hashable] = []
    ahead = [value]
    while ahead:
        each = ahead.pop()
        if isinstance(each, dict):
            keys = sorted(each, key=repr)
            parts.append((dict, *keys))
            ahead += [each[key] for key in keys]
        elif isinstance(each, list):
            parts.append((list, len(each)))
            ahead += each
        elif isinstance(each, float):
            # NaN differs from itself; zeros of both signs are equal.
            parts.append(object() if each != each
                         else (float, repr(each + 0.0)))
        else:
            parts.append((type(each), each if isinstance(each, str)
                          else repr(each)))
    return tuple(parts)


def resolve(data: typing.Any, path: Path) -> Path:
    """Return a path with the index of the last item in place of ``-``.

    :param data: what the path begins in, after it was written to.
    """
    if APPEND not in path:
        return path
    tokens = []
    for token in path:
        if token == APPEND and isinstance(data, list):
            token = str(len(data) - 1)
        tokens.append(token)
        data = get(data, (token,))
    return tuple(tokens)


def index(token: str) -> int | None:
    """Read a token as the index of a list item, or return None."""
    return int(token) if _INDEX.fullmatch(token) else None
