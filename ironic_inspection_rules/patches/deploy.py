# SPDX-License-Identifier: Apache-2.0

"""Checks of Ironic before it deploys a node."""

from collections.abc import Callable
import functools
import typing

from ironic import objects
from ironic.common import exception

from ironic_inspection_rules.patches import name

_Node = typing.Any

VALIDATE_TRAITS = name.Name(
    'ironic.conductor.utils', 'validate_instance_info_traits',
    'a validation does not name missing traits', parameters=('node',))
VALIDATE_NODE = name.Name(
    'ironic.conductor.deployments', 'validate_node',
    'nodes without the traits of an instance are deployed',
    parameters=('task', 'event'))
VALIDATE_INTERFACES = name.Name(
    'ironic.conductor.manager',
    'ConductorManager.validate_driver_interfaces',
    'a validation does not name missing traits')

NAMES = (VALIDATE_TRAITS, VALIDATE_NODE, VALIDATE_INTERFACES)

_stock_validate_node = VALIDATE_NODE.find()
_stock_validate_interfaces = VALIDATE_INTERFACES.find()


def check(problem: Callable[[_Node], str | None]) -> None:
    """Check the traits of an instance when its node is validated or deployed.

    A deployment is refused before Ironic touches the node, and a validation
    names the problem beside those of the deploy interface, whichever it is.

    :param problem: says what is wrong with a node, None when nothing is.
    """
    def validate_instance_info_traits(node: _Node) -> None:
        if found := problem(node):
            raise exception.InvalidParameterValue(found)

    def validate_node(task: typing.Any, event: str = 'deploy') -> None:
        _stock_validate_node(task, event)
        if found := problem(task.node):
            raise exception.InstanceDeployFailure(
                found, code=exception.InvalidParameterValue.code)

    @functools.wraps(_stock_validate_interfaces)
    def validate_driver_interfaces(
            self: typing.Any, context: typing.Any,
            node_id: str) -> dict[str, dict[str, typing.Any]]:
        validations = _stock_validate_interfaces(self, context, node_id)
        if found := problem(objects.Node.get(context, node_id)):
            reason = validations['deploy'].get('reason') or found
            if found not in reason:
                reason = f'{found}; {reason}'
            validations['deploy'] = {'result': False, 'reason': reason}
        return validations

    VALIDATE_TRAITS.put(validate_instance_info_traits)
    VALIDATE_NODE.put(validate_node)
    VALIDATE_INTERFACES.put(validate_driver_interfaces)
