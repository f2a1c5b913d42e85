# SPDX-License-Identifier: Apache-2.0

"""Redfish inspection, which changes a node before and after rules.

It takes the mapping of the node's properties before its hooks run, adds its
findings to that same mapping, and in the end puts it back as a whole. Each
save of the node in between replaces the node's mapping by a copy. Besides, it
stores the data of the inspection before rules are applied, not afterwards.
"""

from collections.abc import Callable
import copy
import dataclasses
import functools
from typing import Any

from ironic_inspection_rules.patches import name

INSPECT = name.Name(
    'ironic.drivers.modules.redfish.inspect',
    'RedfishInspect.inspect_hardware',
    'redfish inspection overwrites what rules do to properties',
    parameters=('self', 'task'),
    required=False,
)
STORE = name.Name(
    'ironic.drivers.modules.inspect_utils',
    'store_inspection_data',
    'redfish inspection stores its data without the marks of rules',
    parameters=('node', 'inventory', 'plugin_data', 'context'),
    required=False,
)

NAMES = (INSPECT, STORE)

_stock_inspect_hardware = INSPECT.find()


@dataclasses.dataclass
class RedfishInspection:
    """A redfish inspection in progress.

    ``properties`` is the mapping that it adds to and puts back in the end,
    ``reconciled`` a copy of it from when it was last the same as the node's.
    """

    properties: dict[str, Any]
    reconciled: dict[str, Any]

    def reconcile_properties(self, node: Any) -> None:
        """Make the properties of the node and of the inspection the same.

        Before rules run, the node gets the properties that the inspection
        found; after the rules, the inspection gets their changes. If both
        changed a key, the value of the inspection stays.
        """
        merged = _merge(
            base=self.reconciled,
            of_node=node.properties,
            of_inspection=self.properties,
        )
        # Every copy is one of its own, as rules change that of the node, and
        # Ironic changes that of the inspection.
        if merged != node.properties:
            node.properties = copy.deepcopy(merged)
        # This mapping is changed in place, as Ironic's code has it in a
        # variable.
        self.properties.clear()
        self.properties.update(copy.deepcopy(merged))
        self.reconciled = copy.deepcopy(merged)


def install(on_begin: Callable[[Any, RedfishInspection], None]) -> None:
    """Have Ironic report the beginning of redfish inspections.

    Nothing is patched in an Ironic without the patched names.

    :param on_begin: called with the task and the inspection that begins.
    """
    if not name.are_here(NAMES):
        return

    @functools.wraps(_stock_inspect_hardware)
    def inspect_hardware(self: Any, task: Any) -> Any:
        # Ironic's method takes this very mapping next, and puts it back in the
        # end: reconcile_properties() merges into it what rules have changed.
        properties = task.node.properties
        on_begin(
            task, RedfishInspection(properties, copy.deepcopy(properties))
        )
        return _stock_inspect_hardware(self, task)

    INSPECT.put(inspect_hardware)


def store_again(task: Any, inventory: dict, plugin_data: dict) -> None:
    """Store the data of a redfish inspection a second time.

    The inspection has stored them before rules changed the data.
    """
    STORE.find()(task.node, inventory, plugin_data, task.context)


def _merge(
    base: dict[str, Any],
    of_node: dict[str, Any],
    of_inspection: dict[str, Any],
) -> dict[str, Any]:
    """Merge the properties of a node and of its inspection, key by key.

    A key has the value of the side that changed it. If both changed it, the
    inspection wins; a key that the inspection has removed is gone.

    :param base: the properties of both sides before their changes.
    """
    merged = {}
    for key, value in of_node.items():
        inspection_removed_it = key in base and key not in of_inspection
        if not inspection_removed_it:
            merged[key] = value
    for key, value in of_inspection.items():
        inspection_changed_it = key not in base or base[key] != value
        if inspection_changed_it:
            merged[key] = value
    return merged
