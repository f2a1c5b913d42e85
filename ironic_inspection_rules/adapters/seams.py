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

"""Every private name of Ironic that this project touches, and why.

Each has a test that says what moved when a new release of Ironic breaks it.
"""

from collections.abc import Mapping
import contextlib
import functools
import inspect
from typing import Any

from ironic.api.controllers import v1
from ironic.api.controllers.v1 import utils as api_utils
from ironic.db.sqlalchemy import api as sql_api
from ironic.drivers.modules.redfish import inspect as redfish_inspect

from ironic_inspection_rules.engine import path as data_path

_KEPT = 'inspection_rules_properties'


def transaction() -> contextlib.AbstractContextManager[Any]:
    """Open a transaction that Ironic's own database calls join."""
    return sql_api._session_for_write()


def controllers() -> dict[str, Any]:
    """Return the map of Ironic's v1 API: first part of the path to who
    answers."""
    return v1.Controller._subcontroller_map


def continue_inspection(controller, data: dict, node_uuid: str | None):
    """Have Ironic's controller take inspection data that was validated.

    :param controller: a ``ContinueInspectionController``.
    :returns: what it answers the ramdisk.
    """
    return inspect.unwrap(type(controller).post)(controller, data, node_uuid)


def is_valid_node_name(name: str | None) -> bool:
    """Tell whether Ironic's API would take this name for a node."""
    return name is None or api_utils.is_valid_node_name(name)


def keep_properties(task, properties: Mapping[str, Any]) -> None:
    """Have changes of node properties outlive a redfish inspection.

    After its hooks that interface replaces the properties as a whole.

    :param properties: what was changed, by name.
    """
    if properties:
        kept = {**getattr(task, _KEPT, {}), **properties}
        setattr(task, _KEPT, kept)


def install_redfish() -> None:
    """Make redfish inspection put back what :func:`keep_properties` got."""
    stock = redfish_inspect.RedfishInspect.inspect_hardware
    if hasattr(stock, '__wrapped__'):
        return

    @functools.wraps(stock)
    def inspect_hardware(self, task):
        setattr(task, _KEPT, {})
        state = stock(self, task)
        properties = dict(task.node.properties)
        for name, value in getattr(task, _KEPT).items():
            properties.pop(name, None)
            if value is not data_path.ABSENT:
                properties[name] = value
        if properties != task.node.properties:
            task.node.properties = properties
            task.node.save()
        return state

    redfish_inspect.RedfishInspect.inspect_hardware = inspect_hardware
