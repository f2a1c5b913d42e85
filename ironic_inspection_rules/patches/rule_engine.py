# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
