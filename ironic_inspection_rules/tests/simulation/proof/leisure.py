# SPDX-License-Identifier: Apache-2.0

"""Answers that do not depend on how busy a machine is."""

import fixtures

from ironic_inspection_rules.kit.proof import solver_limits

SECONDS = 3600.0
"""More than any question takes: only steps of the solver are limited."""


class Leisure(fixtures.Fixture):
    """Limits the solver by its steps.

    :param steps_of_check: those of the product if not given.
    :param steps_of_question: for all searches for an answer; as above.
    :param seconds: for checks that go on without a step, as the solver has
        them with some random rules. Others must not come near it.
    """

    def __init__(
        self,
        steps_of_check: int = solver_limits.CHECK.steps,
        steps_of_question: int = solver_limits.STEPS_OF_QUESTION,
        seconds: float = SECONDS,
    ) -> None:
        super().__init__()
        self._limits = {
            'CHECK': solver_limits.Limit(steps_of_check, seconds),
            'LANGUAGE': solver_limits.Limit(
                solver_limits.LANGUAGE.steps, seconds
            ),
            'STEPS_OF_QUESTION': steps_of_question,
        }

    def _setUp(self) -> None:
        for name, limit in self._limits.items():
            self.useFixture(
                fixtures.MockPatchObject(solver_limits, name, limit)
            )
