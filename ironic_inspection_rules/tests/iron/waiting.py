# SPDX-License-Identifier: Apache-2.0

"""Waits for events, and says when they come."""

from collections.abc import Callable
import time

import requests

from ironic_inspection_rules.tests.iron import progress

PATIENCE = 600
"""Seconds. Only a hang takes longer, however busy the machine is."""

PAUSE = 1.0
"""Seconds between two looks. Each takes time that machines would need."""


def wait_for(
    event: str,
    holds: Callable[[], object],
    patience: float = PATIENCE,
    pause: float = PAUSE,
) -> None:
    """Wait until something holds, then print what has come.

    :param event: what is waited for.
    :param pause: seconds between two looks.
    :raises: TimeoutError that names it.
    """
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f'not within {patience} s: {event}')
        time.sleep(pause)
    progress.say(event)


def answers(url: str) -> bool:
    """Tell whether a web server answers, and is not in trouble."""
    try:
        answer = requests.get(url, timeout=10)
    except requests.RequestException:
        return False
    return answer.status_code < 500
