# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Places inside plain JSON data, and changes that never touch the original.

A path is a tuple of tokens. It is written as an RFC 6901 pointer
(``/extra/a~1b/0``), or in one of the older forms ``extra.a`` and
``extra/a``. The functions that change data copy only the containers on the
way, so whoever still holds the original keeps seeing it unchanged.
"""

import functools
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

Path = tuple[str, ...]
Own = dict[int, dict[str, typing.Any]]

APPEND = '-'

_INDEX = re.compile(r'0|[1-9][0-9]{0,8}')


class Absent:
    """The type of :data:`ABSENT`."""

    def __repr__(self) -> str:
        return 'ABSENT'


ABSENT = Absent()


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Path:
    """Read a path in any of its forms.

    :raises: :class:`.exceptions.OperationError` where it names nothing.
    """
    if text.startswith('/'):
        tokens = tuple(token.replace('~1', '/').replace('~0', '~')
                       for token in text[1:].split('/'))
    else:
        tokens = tuple(text.split('/' if '/' in text else '.'))
    if '' in tokens[:1]:
        raise exceptions.OperationError(
            _('path "%s" does not name an attribute') % text)
    return tokens


def pointer(tokens: typing.Iterable[typing.Any]) -> str:
    """Write tokens as an RFC 6901 pointer."""
    return ''.join('/' + str(token).replace('~', '~0').replace('/', '~1')
                   for token in tokens)


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


def assign(data: typing.Any, path: Path, value: typing.Any,
           own: Own | None = None) -> typing.Any:
    """Return the data with the value at the path.

    Parents that are absent or null are created: a list for ``-``, mappings
    otherwise. In a list, an index replaces an item, the next free index and
    ``-`` append.

    :param own: mappings that nobody else holds, which are changed instead
        of copied; gets those that are copied now.
    :raises: :class:`.exceptions.OperationError` where the path runs through
        a plain value or beyond the end of a list.
    """
    if not path:
        return value
    token, rest = path[0], path[1:]
    if data is None or data is ABSENT:
        data = [] if token == APPEND else {}
    if isinstance(data, dict):
        inner = assign(data.get(token), rest, value, own)
        if own is not None and id(data) in own:
            data[token] = inner
            return data
        copied = {**data, token: inner}
        if own is not None:
            own[id(copied)] = copied
        return copied
    if isinstance(data, list):
        position = len(data) if token == APPEND else index(token)
        if position is None or position > len(data):
            raise exceptions.OperationError(
                _('"%s" is no index of a list of this length') % token)
        item = data[position] if position < len(data) else None
        return [*data[:position], assign(item, rest, value, own),
                *data[position + 1:]]
    raise exceptions.OperationError(
        _('"%(token)s" cannot be set inside a value of type %(type)s')
        % {'token': token, 'type': type(data).__name__})


def remove(data: typing.Any, path: Path) -> typing.Any:
    """Return the data without what is at the path; absent is fine.

    :param path: at least one token.
    """
    token, rest = path[0], path[1:]
    if get(data, path) is ABSENT:
        return data
    if isinstance(data, dict):
        if rest:
            return {**data, token: remove(data[token], rest)}
        return {key: item for key, item in data.items() if key != token}
    position = int(token)
    replaced = [remove(data[position], rest)] if rest else []
    return [*data[:position], *replaced, *data[position + 1:]]


def same(one: typing.Any, other: typing.Any) -> bool:
    """Tell whether two values are equal and of the same types throughout."""
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
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


def index(token: str) -> int | None:
    """Read a token as the index of a list item, or return None."""
    return int(token) if _INDEX.fullmatch(token) else None
