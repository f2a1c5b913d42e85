# SPDX-License-Identifier: Apache-2.0

"""Redfish inspection, which changes a node before and after rules.

It takes the mapping of the node's properties before its hooks run, adds its
findings to that same mapping, and in the end puts it back as a whole. Each
save of the node in between replaces the node's mapping by a copy. Besides, it
stores the data of the inspection before rules are applied, not afterwards.
"""

import copy
import dataclasses
import functools
from typing import Any

from ironic_inspection_rules.patches import name

INSPECT = name.Name(
    'ironic.drivers.modules.redfish.inspect',
    'RedfishInspect.inspect_hardware',
    'redfish inspection overwrites what rules do to properties',
    parameters=('self', 'task'), required=False)
STORE = name.Name(
    'ironic.drivers.modules.inspect_utils', 'store_inspection_data',
    'redfish inspection stores its data without the marks of rules',
    parameters=('node', 'inventory', 'plugin_data', 'context'), required=False)

NAMES = (INSPECT, STORE)

_stock_inspect_hardware = INSPECT.find()


@dataclasses.dataclass
class _Inspection:
    """A redfish inspection in progress.

    ``properties`` is the mapping that it adds to and puts back in the end,
    ``reconciled`` a copy of it from when it was last the same as the node's.
    """

    properties: dict[str, Any]
    reconciled: dict[str, Any]


_ATTRIBUTE = 'inspection_rules_redfish'
"""The attribute of a task that holds its inspection; Ironic hands it on."""


def install() -> None:
    """Follow redfish inspections, for the other functions of this module.

    Where the names in Ironic have moved, those do nothing.
    """
    if name.are_here(NAMES):
        INSPECT.put(_inspect_hardware)


def goes_on(task: Any) -> bool:
    """Check if a task is in the middle of a redfish inspection."""
    return getattr(task, _ATTRIBUTE, None) is not None


def reconcile_properties(task: Any) -> None:
    """Merge the node's properties and those held by the inspection.

    Before rules run, the node gets the findings of the inspection. After their
    changes are saved, the inspection gets the result. Other inspections are
    left alone.
    """
    inspection = getattr(task, _ATTRIBUTE, None)
    if inspection is None:
        return
    node = task.node
    merged = _merge(base=inspection.reconciled, ours=node.properties,
                    theirs=inspection.properties)
    if merged != node.properties:
        node.properties = copy.deepcopy(merged)
    # The same mapping goes on: Ironic's code has a reference to it. A copy
    # for each of the three, as each of them is changed by somebody else.
    inspection.properties.clear()
    inspection.properties.update(copy.deepcopy(merged))
    inspection.reconciled = copy.deepcopy(merged)


def _merge(base: dict[str, Any], ours: dict[str, Any],
           theirs: dict[str, Any]) -> dict[str, Any]:
    """Merge two mappings that have a common ancestor.

    What only one of the two changed or removed is as that one has it. Where
    both changed a key, the value is that of ``theirs``.
    """
    merged = {}
    for key, value in ours.items():
        was_removed = key in base and key not in theirs
        if not was_removed:
            merged[key] = value
    for key, value in theirs.items():
        was_changed = key not in base or base[key] != value
        if was_changed:
            merged[key] = value
    return merged


def store_again(task: Any, inventory: dict, plugin_data: dict) -> None:
    """Store the data of an inspection that has stored them before."""
    if goes_on(task):
        STORE.find()(task.node, inventory, plugin_data, task.context)


@functools.wraps(_stock_inspect_hardware)
def _inspect_hardware(self, task):
    # Ironic's method takes this very mapping next, and puts it back in the
    # end: reconcile_properties() merges into it what rules have changed.
    properties = task.node.properties
    inspection = _Inspection(properties, copy.deepcopy(properties))
    setattr(task, _ATTRIBUTE, inspection)
    try:
        return _stock_inspect_hardware(self, task)
    finally:
        setattr(task, _ATTRIBUTE, None)
