# SPDX-License-Identifier: Apache-2.0

"""Streams long answers, e.g. about a whole fleet, while they are generated.

Ironic's hooks read the body of every answer, which keeps the whole body in
memory. To avoid this, a controller hands over the parts of a long answer to a
WSGI layer outside all hooks.
"""

from collections.abc import Callable, Iterable, Iterator
import itertools
import json
from typing import Any

from ironic import api
import webob
from webob import dec

_PARTS_OF_ANSWER = 'ironic_inspection_rules.stream'
"""The key of the WSGI environment where a controller stores its answer."""

_PART_LENGTH = 1 << 16
"""Number of characters that are collected before a part is sent.

Sending every entry separately would be slow.
"""


class AnswerParts:
    """The parts of an answer.

    This is an iterable and not an iterator, because Ironic would exhaust an
    iterator.
    """

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)


@dec.wsgify.middleware
def layer(
    request: webob.Request, app: Callable, endings: tuple[str, ...]
) -> Any:
    """Send the parts of a long answer while its controller generates them.

    This is a WSGI middleware around Ironic's API. A controller calls
    :func:`send` with an iterator of parts, which becomes the body of the
    answer. This way, a long list is never completely in memory.

    :param endings: the endings of the paths of calls that may stream, e.g.
        ``inspection_rules/evaluate``.
    """
    path = request.environ.get('PATH_INFO', '').rstrip('/')
    if not path.endswith(endings):
        return app
    # send() appends its answer to this list. It cannot set a key of the
    # environment instead, because an inner layer may have copied the
    # environment; the copy has the same list.
    answers: list[AnswerParts] = []
    request.environ[_PARTS_OF_ANSWER] = answers
    response = request.get_response(app)
    if answers and response.status_int == 200:
        response.app_iter = answers[0]
    return response


def send(parts: Iterable[bytes]) -> None:
    """Set the body of the answer to the current request.

    :param parts: an iterator that generates the parts while they are sent. It
        must not use ``api.request``, because the controller has already
        returned by then.
    """
    api.request.environ[_PARTS_OF_ANSWER].append(AnswerParts(parts))


def generate_page(
    entries: Iterable[Any], name: str, following: str | None
) -> Iterator[bytes]:
    """Generate the JSON of one page of a list, part by part.

    The joined parts are e.g. ``{"nodes": [{...}, {...}], "next": "200"}``.

    :param entries: yields the entries of the page while they are sent.
    :param name: the member that has the entries, e.g. ``nodes``.
    :param following: the marker of the next page; None on the last page.
    :raises: any error of the first entries, before anything is sent.
    """
    parts = _parts_of_page(entries, name, following)
    # The first part is generated before anything is sent, so that the client
    # gets an error and not half a page if the database is unreachable.
    first_part = next(parts)
    return itertools.chain([first_part], parts)


def _parts_of_page(
    entries: Iterable[Any], name: str, following: str | None
) -> Iterator[bytes]:
    """Yield the JSON of a page in parts of :data:`_PART_LENGTH` or longer.

    The last part may be shorter. The parameters are those of
    :func:`generate_page`.
    """
    # The texts of the next part, which are joined when it is long enough.
    texts = [f'{{"{name}": [']
    # The number of characters of the entries in texts, without separators.
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
