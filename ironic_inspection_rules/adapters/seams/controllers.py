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

"""Ironic's map of controllers, and what lies beneath their decorators."""

from collections.abc import Callable
import typing

from ironic.api.controllers import v1
from ironic.api.controllers.v1 import chassis
from ironic.api.controllers.v1 import node

Controller = typing.Any
_Method = Callable[..., typing.Any]


def serve(name: str, controller: Controller) -> None:
    """Have ``/v1/<name>`` answered by a controller.

    :param controller: one that takes the place of Ironic's, if it has one.
    """
    v1.Controller._subcontroller_map[name] = controller


def serve_of_chassis(controller: Controller) -> None:
    """Have ``/v1/chassis/<uuid>/nodes`` answered by a controller."""
    controller.from_chassis = True
    chassis.ChassisController.nodes = controller


def serve_of_node(name: str, controller: Callable[..., Controller]) -> None:
    """Have ``/v1/nodes/<ident>/<name>`` answered by a controller.

    :param controller: its class, or whatever makes it with ``node_ident``.
    """
    node.NodesController._subcontroller_map[name] = controller


def show_in_root(name: str, allowed: Callable[[], bool]) -> None:
    """List ``/v1/<name>`` among the resources that ``GET /v1`` shows.

    :param allowed: whether the request's microversion has it.
    """
    v1.VERSIONED_CONTROLLERS[name] = allowed


def undecorated(method: _Method) -> _Method:
    """What a method of an Ironic controller does before it becomes JSON.

    :param method: the method as its class has it.
    :returns: a function that converts its arguments, returns plain data and
        raises, where the method answers with JSON and a status.
    """
    while getattr(getattr(method, '__wrapped__', None),
                  'arguments_transformed', False):
        method = method.__wrapped__  # type: ignore[attr-defined]
    return method
