# SPDX-License-Identifier: Apache-2.0

"""Ironic's map of controllers, and what lies beneath their decorators."""

from collections.abc import Callable
import typing

from ironic_inspection_rules.patches import name

Controller = typing.Any
_Method = Callable[..., typing.Any]

MAP = name.Name(
    'ironic.api.controllers.v1', 'Controller._subcontroller_map',
    'there is no place for the API of rules and traits')
ROOT = name.Name(
    'ironic.api.controllers.v1', 'VERSIONED_CONTROLLERS',
    'the root of the API does not show traits')
OF_CHASSIS = name.Name(
    'ironic.api.controllers.v1.chassis', 'ChassisController.nodes',
    'the nodes of a chassis cannot be listed by trait')
OF_NODE = name.Name(
    'ironic.api.controllers.v1.node', 'NodesController._subcontroller_map',
    "there is no place for the API of a node's traits")

BENEATH = tuple(
    name.Name('ironic.api.controllers.v1.node', path,
              'what Ironic itself answers is out of reach', parameters)
    for path, parameters in (
        ('NodesController.get_all', None),
        ('NodesController.detail', None),
        ('NodesController._lookup', ('self', 'ident', 'remainder')),
        ('NodeTraitsController.put', ('self', 'trait', 'body')),
        ('NodeTraitsController.delete', ('self', 'trait')),
        ('NodeInventoryController.get', ('self',)),
        ('NodeStatesController.provision', ('self', 'node_ident', 'target'))))
"""Methods that controllers of this project call, see :func:`undecorated`."""

NAMES = (MAP, ROOT, OF_CHASSIS, OF_NODE, *BENEATH)


def serve(path: str, controller: Controller) -> None:
    """Route ``/v1/<path>`` to a controller.

    :param controller: one that takes the place of Ironic's, if it has one.
    """
    MAP.find()[path] = controller


def serve_of_chassis(controller: Controller) -> None:
    """Route ``/v1/chassis/<uuid>/nodes`` to a controller."""
    controller.from_chassis = True
    OF_CHASSIS.put(controller)


def serve_of_node(path: str, controller: Callable[..., Controller]) -> None:
    """Route ``/v1/nodes/<ident>/<path>`` to a controller.

    :param controller: its class, or whatever makes it with ``node_ident``.
    """
    OF_NODE.find()[path] = controller


def show_in_root(path: str, allowed: Callable[[], bool]) -> None:
    """List ``/v1/<path>`` among the resources that ``GET /v1`` shows.

    :param allowed: whether the request's microversion has it.
    """
    ROOT.find()[path] = allowed


def undecorated(method: _Method) -> _Method:
    """Return a method of an Ironic controller without its JSON decorators.

    :param method: the method as its class has it.
    :returns: a function that converts its arguments, returns plain data and
        raises, where the method answers with JSON and a status.
    """
    while getattr(getattr(method, '__wrapped__', None),
                  'arguments_transformed', False):
        method = method.__wrapped__  # type: ignore[attr-defined]
    return method
