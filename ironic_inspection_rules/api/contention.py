# SPDX-License-Identifier: Apache-2.0

"""Changes of rules that several clients make at a time."""

from collections.abc import Callable
from typing import Any

from ironic.common import exception as ironic_exception
import tenacity

_MOST_ATTEMPTS = 100


def decided_anew(change: Callable[[], Any]) -> Any:
    """Make a change, and again on what somebody made who was faster.

    :param change: reads what is there, decides, and writes.
    :returns: what it returned.
    :raises: ironic.common.exception.Conflict if others are faster every time.
    """
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ironic_exception.Conflict),
        stop=tenacity.stop_after_attempt(_MOST_ATTEMPTS),
        reraise=True)(change)
