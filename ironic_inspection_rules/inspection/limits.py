# SPDX-License-Identifier: Apache-2.0

"""Limits of the rules of a phase, from the options."""

from ironic.conf import CONF

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.patches import body_limit

_KIB_WITHOUT_OPTION = 16384
"""Ironic 35.0 and 36 do not limit what is posted."""


def of(phase: str) -> budget.Limits:
    """Return the limits of a phase."""
    options = CONF.inspection_rules
    early = phase == model.EARLY
    return budget.Limits(
        time=(options.early_phase_time_limit if early
              else options.phase_time_limit),
        operations=(options.early_phase_operation_limit if early
                    else options.phase_operation_limit),
        loop=options.loop_limit,
        depth=body_limit.depth(),
        size=1024 * getattr(CONF.api, 'max_json_body_size_inspection',
                            _KIB_WITHOUT_OPTION))


def by_phase() -> dict[str, budget.Limits]:
    """Return the limits of each phase."""
    return {phase: of(phase) for phase in model.PHASES}
