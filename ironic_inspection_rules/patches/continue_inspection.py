# SPDX-License-Identifier: Apache-2.0

"""Ironic's API, where it takes inspection data from the ramdisk."""

from collections.abc import Callable
import inspect
from typing import Any

from ironic import api

from ironic_inspection_rules.patches import name

POST = name.Name(
    'ironic.api.controllers.v1.ramdisk', 'ContinueInspectionController.post',
    'inspection data cannot be taken from ramdisks',
    parameters=('self', 'data', 'node_uuid'))
VALIDATOR = name.Name(
    'ironic.api.controllers.v1.ramdisk', 'DATA_VALIDATOR',
    'inspection data cannot be checked', parameters=('name', 'value'))
HAND_OVER = name.Name(
    'ironic.conductor.rpcapi', 'ConductorAPI.continue_inspection',
    'inspection data cannot be put into the queue',
    parameters=('self', 'context', 'node_id', 'inventory', 'plugin_data'))

NAMES = (POST, VALIDATOR, HAND_OVER)


def validated(data: Any) -> dict[str, Any]:
    """Return inspection data as Ironic accepts them.

    :raises: InvalidParameterValue
    """
    return VALIDATOR.find()('data', data)


def post(controller: Any, data: dict[str, Any],
         node_uuid: str | None) -> Any:
    """Look a node up and hand its data over, as Ironic does.

    :param controller: Ironic's own.
    :param data: what :func:`validated` gave.
    :param node_uuid: as the ramdisk knows it.
    """
    return inspect.unwrap(POST.find())(controller, data, node_uuid)


def hand_over_by(wrap: Callable[[Any], Any]) -> None:
    """Replace the conductor that the present request calls.

    :param wrap: makes it of the ``ConductorAPI`` of the request.
    """
    api.request.rpcapi = wrap(api.request.rpcapi)
