# SPDX-License-Identifier: Apache-2.0

"""Limits for the work of the solver on a question of a proof.

The solver counts its steps, and stops at a limit, so that a question has the
same answer on a busy machine as on an idle one. But some of its work on
regular expressions takes seconds and hardly any steps, so there is a limit of
seconds as well.

A *check* asks the solver whether all its formulas can hold at once. It ends
with "yes", with "no", or with "unknown" at a limit. z3 counts the steps of a
*context*, which contains terms and solvers. Most terms of a proof are in the
*main context* of z3, but every new solver has a context of its own.
"""

import dataclasses
import math

import z3

from ironic_inspection_rules.kit.proof import logic


@dataclasses.dataclass(frozen=True)
class Limit:
    """The limit of one check of the solver.

    :ivar steps: about two million take a second. In the solver, 0 means no
        limit.
    :ivar seconds: by the clock, because the solver does not measure CPU time.
    """

    steps: int
    seconds: float

    def set_on(self, solver: z3.Solver) -> None:
        """Make checks of a solver end at this limit."""
        solver.set('rlimit', self.steps)
        solver.set('timeout', math.ceil(1000 * self.seconds))


# Checks of a single language do not decide a question: if a check is given up,
# a formula is less exact or a text is not tried. Their limit is therefore low.
LANGUAGE = Limit(steps=100_000, seconds=0.5)
CHECK = Limit(steps=10_000_000, seconds=5.0)

STEPS_OF_QUESTION = 30_000_000
"""The limit of all searches for one answer, with all their checks."""

STEPS = 'too many steps'
TIME = 'too much time'
MEMORY = 'too much memory'
LENGTH = 'too long texts'

_INTERRUPTED = 'interrupted'

_REASON_BY_WORDS = {
    'timeout': TIME,
    'canceled': TIME,
    'max. resource limit exceeded': STEPS,
    '(resource limits reached)': STEPS,
    'out of memory': MEMORY,
    'max. memory exceeded': MEMORY,
    # The solver tries longer and longer texts, and has tried the longest.
    'reached max unfolding': LENGTH,
    'interrupted from keyboard': _INTERRUPTED,
}
"""What has ended a check, by the words of the solver for it."""


class SolverGaveUp(Exception):
    """The solver cannot decide; the message says why."""


class _StepsElsewhere:
    """Counts the steps in the contexts of all solvers of :func:`new_solver`.

    :func:`count_steps` adds them to the steps of the main context.
    """

    taken = 0


def new_solver() -> z3.Solver:
    """Return a solver whose checks do not depend on earlier work.

    z3 numbers its terms, and orders the parts of a formula by these numbers.
    When a term is freed, its number is given to a later term, and when it is
    freed may depend on Python's garbage collector. So in a shared context, the
    same formulas may take more steps in one run of the program than in the
    next, and may give another machine. This solver has its own context, whose
    numbers depend only on the formulas that :func:`add` adds to the solver.
    """
    return z3.Solver(ctx=z3.Context())


def add(solver: z3.Solver, formula: logic.Formula) -> None:
    """Add a formula of the main context to a solver of :func:`new_solver`."""
    solver.add(formula.translate(solver.ctx))


def count_steps(counter: z3.Solver) -> int:
    """Return how many steps all solvers have taken since the program began.

    To measure a check, use the difference of the counts before and after it.

    :param counter: any solver of the main context of z3.
    """
    return _steps_in_context(counter) + _StepsElsewhere.taken


def _steps_in_context(solver: z3.Solver) -> int:
    """Return how many steps the context of a solver has taken."""
    # z3 calls the limit of steps "rlimit", the limit of resources.
    return int(solver.statistics().get_key_value('rlimit count'))


def simplified_in(solver: z3.Solver, formula: logic.Formula) -> logic.Formula:
    """Return a formula simplified, in the context of a solver.

    The steps of the simplification are counted, as those of a check are.

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

    The solver may answer in three ways::

        yes                                    → True
        no                                     → False
        unknown, at a limit or for its reasons → SolverGaveUp, with the reason

    :param assumed: formulas that must hold for this check as well.
    :raises: :class:`SolverGaveUp` if the solver cannot decide within the
        limit.
    :raises: KeyboardInterrupt if a user has interrupted the program.
    """
    limit.set_on(solver)
    steps_before = _steps_in_context(solver)
    result = z3.unknown
    # Why the solver cannot decide. This stays None here if check() returns,
    # even if it returns "unknown".
    reason: str | None = None
    try:
        result = solver.check(*assumed)
    except z3.Z3Exception as exc:
        # The solver raises if a limit ends a check at its last moment.
        reason = reason_of(exc)
        if reason is None:
            # The error has nothing to do with a limit.
            raise
    steps_of_check = _steps_in_context(solver) - steps_before
    if solver.ctx != z3.main_ctx():
        # count_steps() reads the steps of the main context from z3 itself.
        # Steps in other contexts must be counted here.
        _StepsElsewhere.taken += steps_of_check
    if result != z3.unknown:
        return bool(result == z3.sat)
    if reason is None:
        # check() has returned "unknown", so the solver knows the reason.
        words = solver.reason_unknown()
        reason = _REASON_BY_WORDS.get(words, words)
    if reason == _INTERRUPTED:
        # While the solver works, it catches the signal itself. Without this
        # the program would continue with the next check.
        raise KeyboardInterrupt
    if reason == TIME and steps_of_check >= limit.steps:
        # The solver says "canceled" for both limits, which is read as the
        # limit of time. The steps are used up, so their limit ended the check.
        reason = STEPS
    raise SolverGaveUp(reason)


def reason_of(error: z3.Z3Exception) -> str | None:
    """Return the name of the limit that an error of the solver reports.

    For the words "out of memory" of the solver it is "too much memory".

    :returns: None if the error does not report a limit.
    """
    words = error.value
    if isinstance(words, bytes):
        # The C library of the solver returns its words as bytes.
        words = words.decode()
    return _REASON_BY_WORDS.get(words)
