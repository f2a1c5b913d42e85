# SPDX-License-Identifier: Apache-2.0

"""The states of a request, and the events that change them.

:data:`TRANSITIONS` is the table of all changes, e.g. the event ``continue``
changes the state ``waiting`` to ``processing``. It is the transition function
of spec 001 ("Node introspection state transition system"), and the library
automaton evaluates it. An event without a row for a state is forbidden in it.
Two kinds of events have a row for the state that they lead to:

* A *strict* event is forbidden there all the same; the row says to which state
  the repetition leads.
* A *re-entrant* event is ignored there.

Ironic itself starts an inspection and waits for the ramdisk, so a request for
posted data is stored as ``waiting``. Only a power-on request is stored as
``starting``. Who fires which event:

``inspect``
    The worker that processes a power-on request.
``wait``
    Nobody, because the posted data become another request.
``continue``, ``timeout``
    The worker that processes a request.
``abort``
    The API.
``finish``
    Represents a request that is consumed without an error. A request that is
    consumed with an error goes to ``error`` from any state.
"""

import enum
import typing

from automaton import machines

ABSENT = 'absent'
"""The state before a request exists, which is never stored."""
STARTING = 'starting'
WAITING = 'waiting'
PROCESSING = 'processing'
FINISHED = 'finished'
ERROR = 'error'

STATES = (STARTING, WAITING, PROCESSING, FINISHED, ERROR)
TERMINAL = frozenset({FINISHED, ERROR})

INSPECT = 'inspect'
WAIT = 'wait'
CONTINUE = 'continue'
FINISH = 'finish'
TIMEOUT = 'timeout'
ABORT = 'abort'

EVENTS = (INSPECT, WAIT, CONTINUE, FINISH, TIMEOUT, ABORT)
STRICT = frozenset({CONTINUE})
"""Events that must not come twice: such an event is forbidden in the state
that it leads to, although the table has a row for it."""


class Transition(typing.NamedTuple):
    """A row of the table: ``event`` changes ``state`` to ``target``."""

    state: str
    event: str
    target: str


TRANSITIONS = (
    Transition(ABSENT, INSPECT, STARTING),
    Transition(STARTING, INSPECT, STARTING),
    Transition(STARTING, WAIT, WAITING),
    # The specification lacks this row, because its power-ons do not wait in a
    # queue.
    Transition(STARTING, ABORT, ERROR),
    Transition(WAITING, WAIT, WAITING),
    Transition(WAITING, TIMEOUT, ERROR),
    Transition(WAITING, ABORT, ERROR),
    Transition(WAITING, CONTINUE, PROCESSING),
    Transition(PROCESSING, CONTINUE, ERROR),
    Transition(PROCESSING, FINISH, FINISHED),
    Transition(FINISHED, INSPECT, STARTING),
    Transition(FINISHED, ABORT, ERROR),
    Transition(ERROR, INSPECT, STARTING),
)


class Verdict(enum.Enum):
    """Verdict of the table on an event in a state.

    ``ALLOWED``: the state changes. ``IGNORED``: a re-entrant event is
    repeated, and the state stays the same. ``FORBIDDEN``: the table has no
    row for the event in this state, or a strict event is repeated.
    """

    ALLOWED = 'allowed'
    IGNORED = 'ignored'
    FORBIDDEN = 'forbidden'


class StateChange(typing.NamedTuple):
    """The result of an event: the verdict and the state after the event."""

    verdict: Verdict
    target: str


_MACHINE = machines.FiniteMachine()
for _state in (ABSENT, *STATES):
    _MACHINE.add_state(_state)
for _row in TRANSITIONS:
    _MACHINE.add_transition(_row.state, _row.target, _row.event)
_MACHINE.freeze()

_REPETITIONS = frozenset(
    (row.event, row.target) for row in TRANSITIONS if row.event in STRICT
)
"""Pairs of a strict event and a state that the event leads to."""


def _evaluate(state: str, event: str) -> StateChange:
    """Return the verdict on an event and the state after the event.

    * The event is forbidden if the table has no row for it in this state.
    * It is ignored if it leads to the same state.
    * It is forbidden if it is strict and the state is one that it leads to.
    * Otherwise it is allowed.

    :data:`CHANGES` has an example of every case.
    """
    # Work on a copy, because an event changes the state of the machine.
    machine = _MACHINE.copy()
    machine.initialize(state)
    if not machine.is_actionable_event(event):
        return StateChange(Verdict.FORBIDDEN, state)
    machine.process_event(event)
    target = typing.cast(str, machine.current_state)
    if target == state:
        return StateChange(Verdict.IGNORED, target)
    if (event, state) in _REPETITIONS:
        # For example, "continue" in "processing" leads to "error".
        return StateChange(Verdict.FORBIDDEN, target)
    return StateChange(Verdict.ALLOWED, target)


CHANGES: dict[tuple[str, str], StateChange] = {}
"""The verdict on every event in every state, and the state after the event.

A key is a pair of a state, which is one of STATES or ABSENT, and one of
EVENTS. Examples:

* ``continue`` in ``waiting`` is allowed, and leads to ``processing``.
* ``wait`` in ``waiting`` is ignored, because it leads to the same state.
* ``finish`` in ``waiting`` is forbidden, because the table has no such row.
  The state stays the same.
* ``continue`` in ``processing`` is forbidden, because it repeats a strict
  event. The table has a row for it, so the next state is ``error``.

See spec 001, "Strict and re-entrant transitions".
"""

for _state in (ABSENT, *STATES):
    for _event in EVENTS:
        CHANGES[_state, _event] = _evaluate(_state, _event)
