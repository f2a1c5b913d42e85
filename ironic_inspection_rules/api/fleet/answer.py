# SPDX-License-Identifier: Apache-2.0

"""The answer for a page of a fleet, made machine by machine."""

from collections.abc import Iterator
import itertools
import json
from typing import Any

from ironic_inspection_rules.api.fleet import machines
from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.api.fleet import trial as fleet_trial

_PART = 1 << 16
"""Characters after which a part is sent: a small write for each node is slow.
"""


def parts(context: Any, page: fleet_page.Page,
          trial: fleet_trial.Trial) -> Iterator[bytes]:
    """Make the JSON of an answer, part by part.

    The first nodes are read at once, so that a database that does not answer
    is an error and no broken answer.
    """
    made = _parts(context, page, trial)
    return itertools.chain([next(made)], made)


def _parts(context: Any, page: fleet_page.Page,
           trial: fleet_trial.Trial) -> Iterator[bytes]:
    told, length, comma = ['{"nodes": ['], 0, ''
    for some in machines.read(context, page.nodes, page.filters):
        # Each goes as soon as it is told of.
        some.reverse()
        while some:
            entry = json.dumps(trial.of(some.pop()))
            told += [comma, entry]
            comma = ', '
            length += len(entry)
            if length >= _PART:
                yield ''.join(told).encode()
                told, length = [], 0
    told.append(f'], "next": {json.dumps(page.next)}}}')
    yield ''.join(told).encode()
