# SPDX-License-Identifier: Apache-2.0

"""The answer for a page of a fleet, made entry by entry."""

from collections.abc import Iterable
from collections.abc import Iterator
import itertools
import json
from typing import Any

_PART = 1 << 16
"""Characters after which a part is sent: a small write for each entry is
slow.
"""


def parts(entries: Iterable[Any], name: str, following: str | None
          ) -> Iterator[bytes]:
    """Make the JSON of an answer, part by part.

    The first entries are made at once, so that a database that does not
    answer is an error and no broken answer.

    :param name: of the list of the entries.
    :param following: the marker of the next page.
    """
    made = _parts(entries, name, following)
    return itertools.chain([next(made)], made)


def _parts(entries: Iterable[Any], name: str, following: str | None
           ) -> Iterator[bytes]:
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
