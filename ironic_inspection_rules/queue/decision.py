# SPDX-License-Identifier: Apache-2.0

"""What is decided of a request, and of nothing else.

These are the rules of spec 001 ("HA worker"); nothing here is carried out.
"""

import typing

from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state

MAX_DELAY = 30.0
"""Seconds between two tries of the same at most."""


class Decision(typing.NamedTuple):
    """Whether to run a request, and the state it is in while it runs."""

    state: str
    refusal: str | None = None


def decide(request: queue_request.Request, max_attempts: int) -> Decision:
    """Decide from the state of a request whether it may be run.

    A request met in the middle of processing is one whose worker has died or
    failed: the transition is a strict one, but its repetition is forgiven
    until the attempts are used up (spec 001 "At least once").
    """
    if request.attempts >= max_attempts:
        return Decision(state.ERROR, _used_up(request))
    step = state.advance(request.state, request.transition_event)
    if step.verdict is state.Verdict.FORBIDDEN:
        if request.state == state.PROCESSING:
            return Decision(request.state)
        return Decision(step.target, (
            f'the event {request.transition_event} is not allowed in the '
            f'state {request.state}'))
    return Decision(request.state if step.target in state.TERMINAL
                    else step.target)


def _used_up(request: queue_request.Request) -> str:
    reason = f'given up after {request.attempts} attempts'
    if request.last_error:
        return f'{reason}; the last one failed: {request.last_error}'
    return f'{reason}; none of the workers lived to finish it'


def delay(failures: int, interval: float) -> float:
    """Decide when to try again what the surroundings were in the way of.

    :param failures: how often in a row it was tried before.
    :param interval: seconds to wait at first; doubled each time.
    :returns: seconds.
    """
    return min(interval * 2 ** min(failures, 16), MAX_DELAY)
