# SPDX-License-Identifier: Apache-2.0

"""Patches redfish inspection, which changes a node before and after rules.

Redfish inspection reads the mapping of the node's properties before the hooks
run, adds its findings to the same mapping, and finally assigns the whole
mapping to the node again. Every save of the node in between replaces the
node's mapping with a copy, so changes made by rules would be lost. Redfish
inspection also stores its data before rules are applied, not afterwards.
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

    ``properties`` is the mapping that the inspection adds to and finally
    assigns to the node. ``reconciled`` is a copy of this mapping from the last
    time it was equal to the node's properties.
    """

    properties: dict[str, Any]
    reconciled: dict[str, Any]

    def reconcile_properties(self, node: Any) -> None:
        """Make the properties of the node and of the inspection the same.

        Before rules run, this copies the properties found by the inspection to
        the node. After the rules, it copies their changes to the inspection.
        If both changed a key, the value of the inspection is kept.
        """
        merged = _merge(
            base=self.reconciled,
            of_node=node.properties,
            of_inspection=self.properties,
        )
        # Every side gets a separate copy, because rules change the node's
        # copy and Ironic changes the inspection's.
        if merged != node.properties:
            node.properties = copy.deepcopy(merged)
        # This mapping must be changed in place, because Ironic's code refers
        # to it by a local variable.
        self.properties.clear()
        self.properties.update(copy.deepcopy(merged))
        self.reconciled = copy.deepcopy(merged)


def install(on_begin: Callable[[Any, RedfishInspection], None]) -> None:
    """Call a function when Ironic begins a redfish inspection.

    Nothing is patched if this release of Ironic lacks one of the names.

    :param on_begin: called with the task and the inspection that begins.
    """
    if not name.are_here(NAMES):
        return

    @functools.wraps(_stock_inspect_hardware)
    def inspect_hardware(self: Any, task: Any) -> Any:
        # Ironic's method now reads the same mapping, and finally assigns it to
        # the node. reconcile_properties() merges the changes made by rules
        # into it.
        properties = task.node.properties
        on_begin(
            task, RedfishInspection(properties, copy.deepcopy(properties))
        )
        return _stock_inspect_hardware(self, task)

    INSPECT.put(inspect_hardware)


def store_again(task: Any, inventory: dict, plugin_data: dict) -> None:
    """Store the data of a redfish inspection a second time.

    This is needed because the inspection stores the data before rules change
    them.
    """
    STORE.find()(task.node, inventory, plugin_data, task.context)


def _merge(
    base: dict[str, Any],
    of_node: dict[str, Any],
    of_inspection: dict[str, Any],
) -> dict[str, Any]:
    """Merge the properties of a node and of its inspection, key by key.

    A key gets the value of the side that changed it. If both sides changed the
    key, the inspection wins. Keys that the inspection removed are omitted.

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
