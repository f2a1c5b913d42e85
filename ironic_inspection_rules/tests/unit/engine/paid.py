# SPDX-License-Identifier: Apache-2.0

"""A budget that tells what was paid out of it."""

from ironic_inspection_rules.engine.language import budget


class Till(budget.Budget):
    """A budget without an end; ``paid`` are the operations so far."""

    def __init__(self):
        super().__init__(budget.UNLIMITED.limits)
        self.paid = 0

    def spend(self, operations=1):
        self.paid += operations
