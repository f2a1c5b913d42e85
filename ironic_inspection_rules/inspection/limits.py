# SPDX-License-Identifier: Apache-2.0

"""The limits of phases, from the options.

A phase may take only so much time, do only so many operations and build only
so much data, because rules run on data of unknown machines. The limits stay
the same until the service is restarted, even if Ironic reads its own options
again after SIGHUP.
"""

import dataclasses

from ironic.conf import CONF

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.patches import body_limit


def by_phase() -> dict[str, budget.Limits]:
    """Return the limits of the phases ``early``, ``preprocess`` and ``main``.

    Data that rules build may be as deep and as large as data that a machine
    may post, so these two limits are Ironic's limits on posted bodies.
    """
    options = CONF.inspection_rules
    usual = budget.Limits(
        time=options.phase_time_limit,
        operations=options.phase_operation_limit,
        loop=options.loop_limit,
        depth=body_limit.depth(),
        size=body_limit.find_size_limit('continue_inspection').most_bytes,
    )
    # The early phase has lower limits by default, because anybody may post
    # data, and the API waits for this phase.
    early = dataclasses.replace(
        usual,
        time=options.early_phase_time_limit,
        operations=options.early_phase_operation_limit,
    )
    return {model.EARLY: early, model.PREPROCESS: usual, model.MAIN: usual}
