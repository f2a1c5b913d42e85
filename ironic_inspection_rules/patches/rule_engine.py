# SPDX-License-Identifier: Apache-2.0

"""Where Ironic applies inspection rules of its own."""

from collections.abc import Callable
from typing import Any

from ironic_inspection_rules.patches import name

Apply = Callable[[Any, dict, dict, str], None]
"""Called with a task, inventory, plugin data and the name of a phase."""

APPLY_RULES = name.Name(
    'ironic.common.inspection_rules.engine', 'apply_rules',
    'rules of the main phase do not run',
    parameters=('task', 'inventory', 'plugin_data', 'inspection_phase'))

NAMES = (APPLY_RULES,)


def replace(apply: Apply) -> None:
    """Have other rules applied wherever Ironic would apply its own.

    :param apply: comes instead of Ironic's function.
    """
    def apply_rules(task: Any, inventory: dict, plugin_data: dict,
                    inspection_phase: str) -> None:
        apply(task, inventory, plugin_data, inspection_phase)

    APPLY_RULES.put(apply_rules)
