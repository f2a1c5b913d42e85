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

"""Having the hooks and rules of inspection run again for a node."""

from typing import Any, NamedTuple

from ironic import api
from ironic.api.controllers.v1 import ramdisk
from ironic.api.controllers.v1 import utils as api_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import inspection
from ironic_inspection_rules.adapters import intake
from ironic_inspection_rules.api.controllers import continue_inspection
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.policies import inspection_request as policies


class Data(NamedTuple):
    """Inspection data as the ramdisk posts them, in two parts."""

    inventory: dict[str, Any]
    plugin_data: dict[str, Any]


def checked(document: Any) -> Data:
    """Take inspection data apart that came in one document.

    :param document: ``inventory`` and, beside it, the plugin data.
    :raises: InvalidParameterValue if the ramdisk could not have sent it.
    """
    document = ramdisk.DATA_VALIDATOR('data', document)
    return Data(document['inventory'],
                {name: value for name, value in document.items()
                 if name != 'inventory'})


def reapply(requests: intake.Intake, node_ident: str,
            given: Data | None) -> queue.Request:
    """Put a request to inspect a node with data that there are already.

    :param given: the data, None for what the ramdisk posted last.
    :returns: the request, which is on disk.
    :raises: NotFound if there are no data.
    :raises: Conflict if the node is locked, in inspection, or otherwise in
        a state in which its inventory must not change.
    """
    node = api_utils.check_node_policy_and_retrieve(policies.REAPPLY,
                                                    node_ident)
    _check_state(node)
    if requests.find_open(node.uuid) is not None:
        raise exceptions.RequestPending(node.uuid)
    inventory, posted = given or _unprocessed(node.uuid)
    plugin_data = continue_inspection.without_reserved(posted)
    continue_inspection.run_early_rules(api.request.context, inventory,
                                        plugin_data)
    return requests.put(node.uuid, queue.REAPPLY, given and inventory,
                        posted, plugin_data)


def unprocessed(node_ident: str) -> dict[str, Any]:
    """Show what the ramdisk of a node posted last.

    :raises: NotFound if there is nothing.
    """
    node = api_utils.check_node_policy_and_retrieve(
        'baremetal:node:inventory:get', node_ident)
    return _unprocessed(node.uuid)._asdict()


def _check_state(node: Any) -> None:
    if node.reservation:
        raise exceptions.NodeBusy(
            _('Node %(node)s is locked by %(holder)s.')
            % {'node': node.uuid, 'holder': node.reservation})
    if node.provision_state not in inspection.REAPPLICABLE:
        raise exceptions.Conflict(
            _('Inspection of node %(node)s cannot be reapplied in state '
              '"%(state)s".')
            % {'node': node.uuid, 'state': node.provision_state})


def _unprocessed(node_uuid: str) -> Data:
    found = request_object.InspectionRequest.get_unprocessed(
        api.request.context, node_uuid)
    if found is None:
        raise exceptions.NotFound(
            _('There are no unprocessed inspection data of node %s.')
            % node_uuid)
    return Data(found['inventory'], found['plugin_data'])
