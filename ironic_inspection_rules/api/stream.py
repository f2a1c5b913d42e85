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

_PARTS_OF_ANSWER = 'ironic_inspection_rules.stream'
"""The key of the environment under which a controller leaves its answer."""

_PART_LENGTH = 1 << 16
"""Characters after which a part is sent, as many small writes are slow."""


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

    This is a WSGI middleware around Ironic's API. A controller hands over an
    iterator of parts by :func:`send`, which becomes the body of the answer. So
    a long list is never in memory as a whole.

    :param endings: the ends of the paths of calls that may stream, such as
        ``inspection_rules/evaluate``.
    """
    path = request.environ.get('PATH_INFO', '').rstrip('/')
    if not path.endswith(endings):
        return app
    # send() appends to this list instead of setting a key, as a layer below
    # may have copied the environment: the copy has the same list.
    answers: list[AnswerParts] = []
    request.environ[_PARTS_OF_ANSWER] = answers
    response = request.get_response(app)
    if answers and response.status_int == 200:
        response.app_iter = answers[0]
    return response


def send(parts: Iterable[bytes]) -> None:
    """Set the body of the answer to the current request.

    :param parts: an iterator that makes the parts while they are sent. The
        controller has returned by then, and ``api.request`` is not there any
        more.
    """
    api.request.environ[_PARTS_OF_ANSWER].append(AnswerParts(parts))


def page(
    entries: Iterable[Any], name: str, following: str | None
) -> Iterator[bytes]:
    """Make the JSON of one page of a list, part by part.

    Joined, the parts are ``{"nodes": [{...}, {...}], "next": "200"}``.

    :param entries: the items of the page, made while they are sent.
    :param name: the member that has the items: ``nodes``.
    :param following: the marker of the next page, None after the last one.
    """
    parts = _parts_of_page(entries, name, following)
    # The first part is made before anything is sent: if the database is away,
    # the client gets an error and not half a page.
    first_part = next(parts)
    return itertools.chain([first_part], parts)


def _parts_of_page(
    entries: Iterable[Any], name: str, following: str | None
) -> Iterator[bytes]:
    """Yield the JSON of a page in parts of :data:`_PART_LENGTH` or longer.

    The last part may be shorter.
    """
    texts = [f'{{"{name}": [']
    # Characters of the entries in texts, without the separators.
    length = 0
    separator = ''
    for entry in entries:
        text = json.dumps(entry)
        texts += [separator, text]
        separator = ', '
        length += len(text)
        if length >= _PART_LENGTH:
            yield ''.join(texts).encode()
            texts = []
            length = 0
    texts.append(f'], "next": {json.dumps(following)}}}')
    yield ''.join(texts).encode()
