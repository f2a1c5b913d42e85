# SPDX-License-Identifier: Apache-2.0

"""How long the solver of a proof may work on a question.

The solver counts the steps that it takes, and stops at a limit of them. A
question then has the same answer on a busy machine as on an idle one. But
some of its work on regular expressions takes seconds and hardly a step, so
that there is a limit of seconds as well.
"""

import dataclasses
import math

import z3

from ironic_inspection_rules.kit.proof import logic


@dataclasses.dataclass(frozen=True)
class Limit:
    """The limit of one check of the solver.

    :ivar steps: about two million take a second. For the solver 0 is no limit.
    :ivar seconds: by the clock, as the solver does not measure the time of the
        processor.
    """

    steps: int
    seconds: float

    def set_on(self, solver: z3.Solver) -> None:
        """Let checks of a solver end at this limit."""
        solver.set('rlimit', self.steps)
        solver.set('timeout', math.ceil(1000 * self.seconds))


# Checks of a single language come to no verdict: where one is given up, a
# formula is less exact or a text is not tried. So they may take little.
LANGUAGE = Limit(steps=100_000, seconds=0.5)
CHECK = Limit(steps=10_000_000, seconds=5.0)

STEPS_OF_QUESTION = 30_000_000
"""The limit of all searches for one answer, with all their checks."""

STEPS = 'too many steps'
TIME = 'too much time'
MEMORY = 'too much memory'

_INTERRUPTED = 'interrupted'

_REASON_BY_WORDS = {
    'timeout': TIME,
    'canceled': TIME,
    'max. resource limit exceeded': STEPS,
    '(resource limits reached)': STEPS,
    'out of memory': MEMORY,
    'max. memory exceeded': MEMORY,
    'interrupted from keyboard': _INTERRUPTED,
}
"""What has ended a check, by the words of the solver for it."""


class GivenUp(Exception):
    """The solver does not know; the message says why."""


class _StepsElsewhere:
    """The steps in all contexts but the main one; see :func:`new_solver`."""

    taken = 0


def new_solver() -> z3.Solver:
    """Return a solver whose checks do not depend on earlier work.

    z3 numbers its terms, and orders the parts of a formula by these numbers.
    It gives the number of a term that is gone to the next one, and when a term
    goes may depend on the garbage collector of Python. So the same formulas
    may take more steps in one run of the program than in the next, and give
    another machine. This solver has a context of its own, with numbers of its
    own: they depend on nothing but what :func:`add` gives to the solver.
    """
    return z3.Solver(ctx=z3.Context())


def add(solver: z3.Solver, formula: logic.Formula) -> None:
    """Add a formula of the main context to a solver of :func:`new_solver`."""
    solver.add(formula.translate(solver.ctx))


def steps_taken(counter: z3.Solver) -> int:
    """Return how many steps all solvers have taken since the program began.

    Only the difference of two counts, before and after a check, says something
    of the check.

    :param counter: any solver of the main context of z3.
    """
    return _steps_in_context(counter) + _StepsElsewhere.taken


def _steps_in_context(solver: z3.Solver) -> int:
    """Return how many steps the context of a solver has taken."""
    # "rlimit", the limit of resources, is what z3 calls the limit of steps.
    return int(solver.statistics().get_key_value('rlimit count'))


def simplified_in(solver: z3.Solver, formula: logic.Formula) -> logic.Formula:
    """Return a formula simplified, in the context of a solver.

    :param solver: one of :func:`new_solver`. In the main context the result
        would depend on earlier work.
    :param formula: a formula of the main context.
    """
    steps_before = _steps_in_context(solver)
    simplified = z3.simplify(formula.translate(solver.ctx))
    _StepsElsewhere.taken += _steps_in_context(solver) - steps_before
    return simplified


def can_hold(solver: z3.Solver, limit: Limit, *assumed: logic.Formula) -> bool:
    """Return whether all formulas of a solver can hold at once.

    :param assumed: formulas that are to hold for this check as well.
    :raises: :class:`GivenUp` where the solver does not know within the limit.
    :raises: KeyboardInterrupt where a user has interrupted the program.
    """
    limit.set_on(solver)
    steps_before = _steps_in_context(solver)
    result = z3.unknown
    reason: str | None = None
    try:
        result = solver.check(*assumed)
    except z3.Z3Exception as exc:
        # The solver raises where a limit ends a check at its last moment.
        reason = reason_of(exc)
        if reason is None:
            raise
    steps_of_check = _steps_in_context(solver) - steps_before
    if solver.ctx != z3.main_ctx():
        _StepsElsewhere.taken += steps_of_check
    if result != z3.unknown:
        return bool(result == z3.sat)
    if reason is None:
        words = solver.reason_unknown()
        reason = _REASON_BY_WORDS.get(words, words)
    if reason == _INTERRUPTED:
        # While the solver works it catches the signal itself: without this
        # the program would go on with the next check.
        raise KeyboardInterrupt
    if reason == TIME and steps_of_check >= limit.steps:
        # The solver says "canceled" for both limits: it was that of steps.
        reason = STEPS
    raise GivenUp(reason)


def reason_of(error: z3.Z3Exception) -> str | None:
    """Return the limit that an error of the solver reports.

    The words "out of memory" give "too much memory".

    :returns: None for an error that reports no limit.
    """
    words = error.value
    if isinstance(words, bytes):
        # The C library of the solver has its words in bytes.
        words = words.decode()
    return _REASON_BY_WORDS.get(words)
