# SPDX-License-Identifier: Apache-2.0

"""The limits of phases, from the options.

Ironic takes up its own limits of bodies again when it gets SIGHUP. Phases have
those of the start.
"""

from ironic.conf import CONF

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.patches import body_limit


def by_phase() -> dict[str, budget.Limits]:
    """Return the limits of each phase."""
    return {phase: _limits_of_phase(phase) for phase in model.PHASES}


def _limits_of_phase(phase: str) -> budget.Limits:
    """Return the limits of a phase, as the options set them."""
    options = CONF.inspection_rules
    time = options.phase_time_limit
    operations = options.phase_operation_limit
    if phase == model.EARLY:
        # It has lower limits: anybody may post data, and the API waits.
        time = options.early_phase_time_limit
        operations = options.early_phase_operation_limit
    return budget.Limits(
        time=time,
        operations=operations,
        loop=options.loop_limit,
        depth=body_limit.depth(),
        size=body_limit.of_size('continue_inspection').most_bytes,
    )
