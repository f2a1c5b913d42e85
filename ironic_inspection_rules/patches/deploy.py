# SPDX-License-Identifier: Apache-2.0

"""Patches that check the traits of an instance before a deployment.

An instance may require that its node has some traits. Three functions of
Ironic are replaced, so that a missing trait is reported before the node is
changed. A variable ``_stock_…`` is Ironic's own function, which our function
calls as well.
"""

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
    """Make Ironic check the traits of an instance before a deployment.

    If the node of the instance lacks traits, Ironic then refuses the
    deployment before it changes the node. ``GET /v1/nodes/<ident>/validate``
    answers ``{'deploy': {'result': False, 'reason': …}}``.

    :param find_problem: returns a sentence that says why the traits of a node
        are not sufficient; None if they are sufficient.
    """

    # Replaces a function that accepts any string as the name of a trait.
    # Ironic calls it when it validates a node and when it begins a deployment,
    # after the deploy interface has accepted the node.
    def validate_instance_info_traits(node: _Node) -> None:
        reason = find_problem(node)
        if reason is not None:
            raise exception.InvalidParameterValue(reason)

    # Replaces a function that does not check traits. Ironic calls it while the
    # client waits for the answer to a deployment request. Without this patch,
    # the deployment would fail later, and only the state of the node would
    # show the error.
    def validate_node(task: typing.Any, event: str = 'deploy') -> None:
        _stock_validate_node(task, event)
        reason = find_problem(task.node)
        if reason is not None:
            # The code makes the API answer 400 instead of 500.
            raise exception.InstanceDeployFailure(
                reason, code=exception.InvalidParameterValue.code
            )

    # Replaces the method that answers the request to validate a node.
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
        full_reason = _join_reasons(reason, stock_reason)
        validations['deploy'] = {'result': False, 'reason': full_reason}
        return validations

    VALIDATE_TRAITS.replace_with(validate_instance_info_traits)
    VALIDATE_NODE.replace_with(validate_node)
    VALIDATE_INTERFACES.replace_with(validate_driver_interfaces)


def _join_reasons(reason: str, stock_reason: str | None) -> str:
    """Join two reasons why a node cannot be deployed: ``ours; Ironic's``.

    :param reason: our reason, that traits are missing.
    :param stock_reason: the reason of the deploy interface; None or empty if
        the deploy interface accepts the node.
    """
    if not stock_reason:
        return reason
    if reason in stock_reason:
        # The deploy interface has called our function and has its reason.
        return stock_reason
    return f'{reason}; {stock_reason}'
