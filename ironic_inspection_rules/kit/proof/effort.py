# SPDX-License-Identifier: Apache-2.0

"""How long the solver may work on a question.

The solver counts the steps that it takes, and stops at a limit of them. A
question then has the same answer on a busy machine as on an idle one. But
some of its work on regular expressions takes seconds and hardly a step, so
that there is a limit of seconds as well.
"""

import dataclasses
import math

import z3


@dataclasses.dataclass(frozen=True)
class Limit:
    """The limit of one check.

    :ivar steps: about two million take a second. The solver understands 0 as
        no limit.
    :ivar seconds: by the clock, not of a processor: the solver measures no
        others.
    """

    steps: int
    seconds: float

    def set_on(self, solver: z3.Solver) -> None:
        """Let checks of a solver end as "unknown" at this limit."""
        solver.set('rlimit', self.steps)
        solver.set('timeout', math.ceil(1000 * self.seconds))


# Whether a text is in a language, and which one is, decides about little:
# where it is not known, a formula is less exact or a text is not tried.
LANGUAGE = Limit(steps=100_000, seconds=0.5)
CHECK = Limit(steps=10_000_000, seconds=5.0)

STEPS_OF_SEARCH = 30_000_000
"""The limit of a search, with all its checks."""


def steps_taken(solver: z3.Solver) -> int:
    """Return how many steps all solvers have taken since the program began.

    Only the difference between two moments says something.
    """
    return int(solver.statistics().get_key_value('rlimit count'))
