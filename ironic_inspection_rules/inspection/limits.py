# SPDX-License-Identifier: Apache-2.0

"""The limits of phases, from the options.

Ironic takes up its own limits of bodies again when it gets SIGHUP. Phases have
those of the start.
"""

import dataclasses

from ironic.conf import CONF

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.patches import body_limit


def by_phase() -> dict[str, budget.Limits]:
    """Return the limits of each phase, as the options set them."""
    options = CONF.inspection_rules
    most = budget.Limits(
        time=options.phase_time_limit,
        operations=options.phase_operation_limit,
        loop=options.loop_limit,
        depth=body_limit.depth(),
        size=body_limit.find_size_limit('continue_inspection').most_bytes,
    )
    # Anybody may post data, and the API waits for the early phase.
    early = dataclasses.replace(
        most,
        time=options.early_phase_time_limit,
        operations=options.early_phase_operation_limit,
    )
    return {model.EARLY: early, model.PREPROCESS: most, model.MAIN: most}
