# SPDX-License-Identifier: Apache-2.0

"""Patches redfish inspection, so that it does not undo changes made by rules.

Redfish inspection takes the mapping ``task.node.properties`` before the hooks
and rules run. It adds its findings to this mapping, and finally assigns it to
the node. If the node is saved in between, it gets a copy of the mapping.
Rules then change the copy, and redfish inspection would replace it with its
own mapping, without these changes. Therefore both mappings are *reconciled*
before and after the rules run.

Redfish inspection also stores its data before rules are applied. They are
stored again afterwards.
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
    time it was equal to the node's properties. ``is_separate`` is True if the
    node has a mapping of its own since rules ran.
    """

    properties: dict[str, Any]
    reconciled: dict[str, Any]
    is_separate: bool = False

    def reconcile_properties(self, node: Any) -> None:
        """Make the properties of the node and of the inspection the same.

        Before rules run, this copies the findings of the inspection to the
        node. After the rules, it copies their changes to the inspection. If
        both have changed a key, the value of the inspection is kept.
        """
        merged = _merge(
            base=self.reconciled,
            of_node=node.properties,
            of_inspection=self.properties,
        )
        # The node and the inspection get separate copies, because rules change
        # the mapping of the node, and Ironic that of the inspection. Until the
        # node is saved, both have one mapping. Saving the node then loses what
        # the inspection has added, because nothing was assigned to it.
        is_shared = node.properties is self.properties
        if is_shared or merged != node.properties:
            node.properties = copy.deepcopy(merged)
        # This mapping must be changed in place, because Ironic's code refers
        # to it by a local variable.
        self.properties.clear()
        self.properties.update(copy.deepcopy(merged))
        self.reconciled = copy.deepcopy(merged)
        self.is_separate = True


def install(on_begin: Callable[[Any, RedfishInspection], None]) -> None:
    """Call a function whenever Ironic begins a redfish inspection.

    Nothing is patched if this release of Ironic lacks one of the names.

    :param on_begin: called with the task and the inspection that begins.
    """
    if not name.are_available(NAMES):
        return

    @functools.wraps(_stock_inspect_hardware)
    def inspect_hardware(self: Any, task: Any) -> Any:
        # This is the mapping that Ironic's method takes and finally assigns to
        # the node.
        properties = task.node.properties
        inspection = RedfishInspection(
            properties=properties, reconciled=copy.deepcopy(properties)
        )
        on_begin(task, inspection)
        return _stock_inspect_hardware(self, task)

    INSPECT.replace_with(inspect_hardware)


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

    Both began with the same properties. A key that the inspection has added,
    changed or removed is taken from the inspection, and any other key from the
    node.

    :param base: the properties with which both began.
    :param of_node: the properties of the node, as rules have changed them.
    :param of_inspection: the properties of the inspection.
    """
    merged = {}
    for key, value in of_node.items():
        was_removed_by_inspection = key in base and key not in of_inspection
        if not was_removed_by_inspection:
            merged[key] = value
    for key, value in of_inspection.items():
        was_changed_by_inspection = key not in base or base[key] != value
        if was_changed_by_inspection:
            merged[key] = value
    return merged
