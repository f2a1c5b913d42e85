# SPDX-License-Identifier: Apache-2.0

"""Answers that are sent while they are made.

Ironic's hooks look at the body of every answer, and so would have it whole in
memory. What a controller hands over here takes the place of the body outside
of all of them.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import itertools
import json
from typing import Any

from ironic import api
import webob

_KEY = 'ironic_inspection_rules.stream'

_PART = 1 << 16
"""Characters after which a part is sent: a small write for each entry is
slow.
"""


class Parts:
    """The parts of an answer; not an iterator, which Ironic would use up."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)


class Streams:
    """A layer that sends the bodies which controllers hand over.

    :param endings: how the paths end that have such answers.
    """

    def __init__(self, app: Callable, endings: tuple[str, ...]) -> None:
        self._app = app
        self._endings = endings

    def __call__(self, environ: dict[str, Any],
                 start_response: Callable) -> Any:
        path = environ.get('PATH_INFO', '').rstrip('/')
        if not path.endswith(self._endings):
            return self._app(environ, start_response)
        # A list, as a layer below may copy the environment.
        given: list[Parts] = []
        environ[_KEY] = given
        response = webob.Request(environ).get_response(self._app)
        if given and response.status_int == 200:
            response.app_iter = given[0]
        return response(environ, start_response)


def send(parts: Iterable[bytes]) -> None:
    """Set the body of the answer to the current request.

    :param parts: made one after the other, while they are sent. There is no
        request any more by then.
    """
    api.request.environ[_KEY].append(Parts(parts))


def page(entries: Iterable[Any], name: str, following: str | None
         ) -> Iterator[bytes]:
    """Make the JSON of a page, part by part.

    The first entries are made at once, so that a database that does not
    answer is an error and no broken answer.

    :param following: the marker of the next page.
    """
    def parts() -> Iterator[bytes]:
        told, length, comma = [f'{{"{name}": ['], 0, ''
        for entry in entries:
            text = json.dumps(entry)
            told += [comma, text]
            comma = ', '
            length += len(text)
            if length >= _PART:
                yield ''.join(told).encode()
                told, length = [], 0
        told.append(f'], "next": {json.dumps(following)}}}')
        yield ''.join(told).encode()

    made = parts()
    return itertools.chain([next(made)], made)
