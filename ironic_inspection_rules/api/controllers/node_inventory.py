# SPDX-License-Identifier: Apache-2.0

"""The API of the inventory of a node.

Ironic stores the inventory when an inspection ends. The *unprocessed* data are
the data as the ramdisk posted them, before hooks and rules changed them. To
*reapply* means to run hooks and rules again on unprocessed data, without a new
inspection; the queue of durable inspection does so.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ironic import api
from ironic.api.controllers.v1 import node as ironic_node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import exception as ironic_exception

from ironic_inspection_rules import exceptions
from ironic_inspection_rules import policies
from ironic_inspection_rules.api import inspection_queue
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import inspection_request
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.queue import request as queue_request

_LOGS = 'logs'
"""Name of the logs of ironic-python-agent, an archive as Base64 text."""

_get_as_ironic = controllers.undecorate(
    ironic_node.NodeInventoryController.get
)

_POSTED_DATA = {
    'type': 'object',
    'required': ['inventory'],
    'additionalProperties': False,
    'properties': {
        'inventory': {'type': ['object']},
        'plugin_data': {'type': ['object', 'null']},
    },
}
"""Body of a request to process other data."""


class PostedData(NamedTuple):
    """Inspection data as the ramdisk posts them, in two parts."""

    inventory: dict[str, Any]
    plugin_data: dict[str, Any]


def get(node_ident: str) -> Any:
    """Show the inventory, as Ironic does."""
    return _get_as_ironic(ironic_node.NodeInventoryController(node_ident))


def get_unprocessed(node: Any) -> dict[str, Any]:
    """Show the data that the ramdisk of a node posted last, as they came.

    The logs of the ramdisk may contain anything, including secrets. They are
    left out if the caller does not pass the policy for them.

    :raises: NotFound if there are no data.
    """
    inventory, plugin_data = _read_unprocessed(node.uuid)
    try:
        _check_policy(policies.UNPROCESSED_LOGS, node)
    except ironic_exception.HTTPForbidden:
        plugin_data = {
            name: value for name, value in plugin_data.items() if name != _LOGS
        }
    return {'inventory': inventory, 'plugin_data': plugin_data}


def reapply(node: Any) -> dict[str, Any]:
    """Queue a request to run hooks and rules on data of the node again.

    :returns: the request, as ``GET /v1/inspection_requests`` shows it.
    :raises: NotFound if there are no data.
    :raises: RequestPending if another request of the node is open;
        AnotherSender if that request waits with other data.
    :raises: Conflict if the node is locked, in inspection, or in another
        state in which its inventory must not change.
    :raises: HTTPForbidden if the caller must not send data in the body.
    :raises: RuleError if an early rule fails; nothing is queued then.
    """
    queued = put_request(node, _validate_body)
    stored = request_object.InspectionRequest.get_by_uuid(
        api.request.context, queued.uuid
    )
    return inspection_request.represent(stored)


def validate_document(document: Any) -> PostedData:
    """Validate inspection data in the form in which a ramdisk posts them.

    :param document: ``{'inventory': {…}, 'extra': …}``: all members except the
        inventory are plugin data. It may be of any type.
    :raises: InvalidParameterValue if Ironic would refuse it from a ramdisk.
    """
    plugin_data = dict(controllers.validate_inspection_data(document))
    inventory = plugin_data.pop('inventory')
    return PostedData(inventory, plugin_data)


def _validate_body(body: Any) -> PostedData:
    """Validate a body with ``inventory`` and ``plugin_data`` as two members.

    :raises: InvalidBody if it has other members, or members of other types.
    """
    data = request.validate(body, _POSTED_DATA)
    # A ramdisk posts the inventory among the plugin data.
    as_from_ramdisk = {
        **(data['plugin_data'] or {}),
        'inventory': data['inventory'],
    }
    return validate_document(as_from_ramdisk)


def put_request(
    node: Any, parse: Callable[[Any], PostedData]
) -> queue_request.Request:
    """Queue a request to run the hooks and rules of a node again.

    They run on the data in the body, or on the data that the ramdisk posted
    last if there is no body. Early rules run on the data immediately, as they
    do for a ramdisk.

    :param parse: validates the body, and returns the data in it.
    :returns: the stored request, or a waiting request with the same data.
    :raises: NotFound if there are no data.
    :raises: RequestPending if another request of the node is open.
    :raises: AnotherSender if that request waits with other data.
    :raises: Conflict if the node is locked, in inspection, or in another
        state in which its inventory must not change.
    :raises: HTTPForbidden if the caller must not send data in the body.
    :raises: RuleError if an early rule fails; nothing is queued then.
    """
    requests = inspection_queue.get_queue()
    document = None
    if api.request.body:
        document = request.parse_body()
    inventory_to_store: dict[str, Any] | None = None
    if document in (None, {}):
        # Without data in the body, the stored data are used, which need not
        # be stored again.
        _check_reapplicable(node, has_data=False)
        inventory, posted = _read_unprocessed(node.uuid)
    else:
        _check_policy(policies.REAPPLY_WITH_DATA, node)
        inventory, posted = parse(document)
        _check_reapplicable(node, has_data=True)
        inventory_to_store = inventory
    # Run the early rules. Their record is kept with the run of all rules; it
    # is None if there is nothing to keep.
    plugin_data, early_record = early_phase.run(
        api.request.context, inventory, posted
    )
    # The data are queued as they were posted, with the changes by early rules
    # as a checkpoint, so that every attempt begins with the same data.
    checkpoints = checkpoint.build_for_early_phase(
        posted, plugin_data, early_record
    )
    return requests.put(
        node.uuid,
        queue_request.REAPPLY,
        inventory=inventory_to_store,
        plugin_data=posted,
        checkpoints=checkpoints,
        sender=api.request.client_addr,
    )


def _check_reapplicable(node: Any, has_data: bool) -> None:
    """Check that a request to reapply data may be queued for a node.

    This is checked before the early rules run:

    * The node must not be locked.
    * If the node has an open request, the new request must have data. The
      queue then compares them with the data of the open request.
    * Otherwise the state of the node must allow reapplication.

    :param has_data: whether the request has data in its body.
    :raises: NodeBusy, RequestPending or Conflict, in the order of these cases.
    """
    # Imported here, so that an API without durable inspection, which is
    # disabled by default, does not load the queue.
    from ironic_inspection_rules.queue import node as queue_node

    if node.reservation:
        raise exceptions.NodeBusy(
            _('Node %(node)s is locked by %(holder)s.')
            % {'node': node.uuid, 'holder': node.reservation}
        )
    open_request = inspection_queue.get_queue().find_open(node.uuid)
    if open_request is not None and has_data:
        return
    if open_request is not None:
        raise exceptions.RequestPending(node.uuid)
    if node.provision_state not in queue_node.REAPPLICABLE:
        raise exceptions.Conflict(
            _(
                'Inspection of node %(node)s cannot be reapplied in state '
                '"%(state)s".'
            )
            % {'node': node.uuid, 'state': node.provision_state}
        )


def _check_policy(name: str, node: Any) -> None:
    api_utils.check_owner_policy('node', name, node.owner, node.lessee)


def _read_unprocessed(node_uuid: str) -> PostedData:
    """Read the data that the ramdisk of a node posted last.

    :raises: NotFound if there are none.
    """
    posted = request_object.InspectionRequest.get_unprocessed(
        api.request.context, node_uuid
    )
    if posted is None:
        raise exceptions.NotFound(
            _('There are no unprocessed inspection data of node %s.')
            % node_uuid
        )
    return PostedData(posted['inventory'], posted['plugin_data'])
