# SPDX-License-Identifier: Apache-2.0

"""Patches that check the traits of an instance before a deployment."""

from collections.abc import Callable
import functools
import typing

from ironic import objects
from ironic.common import exception

from ironic_inspection_rules.patches import name

_Node = typing.Any

VALIDATE_TRAITS = name.Name(
    'ironic.conductor.utils',
    'validate_instance_info_traits',
    'a validation does not name missing traits',
    parameters=('node',),
)
VALIDATE_NODE = name.Name(
    'ironic.conductor.deployments',
    'validate_node',
    'nodes without the traits of an instance are deployed',
    parameters=('task', 'event'),
)
VALIDATE_INTERFACES = name.Name(
    'ironic.conductor.manager',
    'ConductorManager.validate_driver_interfaces',
    'a validation does not name missing traits',
)

NAMES = (VALIDATE_TRAITS, VALIDATE_NODE, VALIDATE_INTERFACES)

_stock_validate_node = VALIDATE_NODE.find()
_stock_validate_interfaces = VALIDATE_INTERFACES.find()


def install_trait_checks(
    find_problem: Callable[[_Node], str | None],
) -> None:
    """Check the traits of an instance when its node is validated or deployed.

    Afterwards, if a node lacks these traits, Ironic refuses the deployment
    before it changes the node, and ``GET /v1/nodes/<ident>/validate`` answers
    ``{'deploy': {'result': False, 'reason': …}}``.

    :param find_problem: returns a sentence that says why the traits of a node
        are not sufficient; None if they are sufficient.
    """

    # Ironic calls this when it validates a node and when it begins a
    # deployment, after the deploy interface has accepted the node. Ironic's
    # own function accepts any string as the name of a trait.
    def validate_instance_info_traits(node: _Node) -> None:
        reason = find_problem(node)
        if reason is not None:
            raise exception.InvalidParameterValue(reason)

    # Ironic calls this while the client waits for the answer to a deployment
    # request. Ironic's own function does not check traits, so the deployment
    # would fail later, and only the node's state would show the error.
    def validate_node(task: typing.Any, event: str = 'deploy') -> None:
        _stock_validate_node(task, event)
        reason = find_problem(task.node)
        if reason is not None:
            # The code makes the API answer 400 instead of 500.
            raise exception.InstanceDeployFailure(
                reason, code=exception.InvalidParameterValue.code
            )

    @functools.wraps(_stock_validate_interfaces)
    def validate_driver_interfaces(
        self: typing.Any, context: typing.Any, node_id: str
    ) -> dict[str, dict[str, typing.Any]]:
        validations = _stock_validate_interfaces(self, context, node_id)
        node = objects.Node.get(context, node_id)
        reason = find_problem(node)
        if reason is None:
            return validations
        stock_reason = validations['deploy'].get('reason')
        full_reason = _with_stock_reason(reason, stock_reason)
        validations['deploy'] = {'result': False, 'reason': full_reason}
        return validations

    VALIDATE_TRAITS.put(validate_instance_info_traits)
    VALIDATE_NODE.put(validate_node)
    VALIDATE_INTERFACES.put(validate_driver_interfaces)


def _with_stock_reason(reason: str, stock_reason: str | None) -> str:
    """Join our reason why a node cannot be deployed with Ironic's reason.

    :param stock_reason: the reason given by the deploy interface; None or
        empty if the deploy interface accepts the node.
    """
    if not stock_reason:
        return reason
    if reason in stock_reason:
        # The deploy interface has validated the traits already.
        return stock_reason
    return f'{reason}; {stock_reason}'
