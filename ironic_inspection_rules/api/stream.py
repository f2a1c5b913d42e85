# SPDX-License-Identifier: Apache-2.0

"""Streams long answers, such as those on a fleet, while they are made.

Ironic's hooks read the body of every answer, and so have it whole in memory. A
controller hands the parts of a long one over to the layer outside of them all.
"""

from collections.abc import Callable, Iterable, Iterator
import itertools
import json
from typing import Any

from ironic import api
import webob
from webob import dec

_KEY = 'ironic_inspection_rules.stream'

_PART = 1 << 16
"""Characters after which a part is sent: small writes are slow."""


class AnswerParts:
    """The parts of an answer; not an iterator, which Ironic would use up."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)


@dec.wsgify.middleware
def layer(
    request: webob.Request, app: Callable, endings: tuple[str, ...]
) -> Any:
    """Send the parts of a long answer while its controller makes them.

    The controller hands over an iterator of parts, which becomes the body: so
    a long list is never in memory as a whole.

    :param endings: the ends of the paths of calls that may stream.
    """
    path = request.environ.get('PATH_INFO', '').rstrip('/')
    if not path.endswith(endings):
        return app
    # The controller appends to this list, which is also that of a copy of the
    # environment, should a layer below make one.
    handed_over: list[AnswerParts] = []
    request.environ[_KEY] = handed_over
    response = request.get_response(app)
    if handed_over and response.status_int == 200:
        response.app_iter = handed_over[0]
    return response


def send(parts: Iterable[bytes]) -> None:
    """Set the body of the answer to the current request.

    :param parts: made one after the other, while they are sent. There is no
        request any more by then.
    """
    api.request.environ[_KEY].append(AnswerParts(parts))


def page(
    entries: Iterable[Any], name: str, following: str | None
) -> Iterator[bytes]:
    """Make the JSON of a page, part by part.

    The first part is made at once, so that a database that is away is
    answered with an error and not with half a page.

    :param following: the marker of the next page.
    """
    parts = _parts_of_page(entries, name, following)
    first = next(parts)
    return itertools.chain([first], parts)


def _parts_of_page(
    entries: Iterable[Any], name: str, following: str | None
) -> Iterator[bytes]:
    """Yield the JSON of a page in parts of at least :data:`_PART` characters.

    The last part may be shorter. Joined, they are such as
    ``{"nodes": [{...}, {...}], "next": "200"}``.
    """
    texts = [f'{{"{name}": [']
    # Of the entries in texts, roughly: separators do not count.
    length = 0
    separator = ''
    for entry in entries:
        text = json.dumps(entry)
        texts += [separator, text]
        separator = ', '
        length += len(text)
        if length >= _PART:
            yield ''.join(texts).encode()
            texts = []
            length = 0
    texts.append(f'], "next": {json.dumps(following)}}}')
    yield ''.join(texts).encode()
