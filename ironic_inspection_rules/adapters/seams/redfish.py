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

"""Node properties under redfish inspection.

The interface takes the mapping of properties before its hooks run, expects
to find in that same mapping what hooks set, and puts it back as a whole
afterwards. Saving a node replaces the mapping by a copy.
"""

from collections.abc import Mapping
import copy
import functools
from typing import Any

from ironic.drivers.modules.redfish import inspect as redfish_inspect

from ironic_inspection_rules.engine import path as data_path

_KEPT = 'inspection_rules_properties'

_stock_inspect_hardware = redfish_inspect.RedfishInspect.inspect_hardware


def install() -> None:
    """Have redfish inspection put back what :func:`keep_properties` got."""
    redfish_inspect.RedfishInspect.inspect_hardware = _inspect_hardware


def keep_properties(task, held: dict[str, Any],
                    properties: Mapping[str, Any]) -> None:
    """Have changes of node properties outlive the inspection.

    :param task: the TaskManager instance of the inspection.
    :param held: the mapping that the node had before it was saved.
    :param properties: what was changed, by name.
    """
    setattr(task, _KEPT, {**getattr(task, _KEPT, {}), **properties})
    _apply(properties, held)
    task.node._obj_properties = held


@functools.wraps(_stock_inspect_hardware)
def _inspect_hardware(self, task):
    state = _stock_inspect_hardware(self, task)
    properties = dict(task.node.properties)
    _apply(getattr(task, _KEPT, {}), properties)
    if properties != task.node.properties:
        task.node.properties = properties
        task.node.save()
    return state


def _apply(changes: Mapping[str, Any], properties: dict[str, Any]) -> None:
    for name, value in changes.items():
        if value is data_path.ABSENT:
            properties.pop(name, None)
        else:
            properties[name] = copy.deepcopy(value)
