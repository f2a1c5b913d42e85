# SPDX-License-Identifier: Apache-2.0

"""The API of the queue of inspection requests.

With durable inspection, the data that a ramdisk posts are stored in a queue as
a request. A worker process takes the request and inspects the node.
"""

import datetime
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.common import states
from oslo_log import log

from ironic_inspection_rules.api import inspection_queue
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import view
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state

LOG = log.getLogger(__name__)

RESOURCE = 'inspection_requests'

FIELDS = tuple(
    sorted({*request_object.InspectionRequest.fields} - {'id', 'version'})
)
"""Fields of a request that clients see."""


LIST = {
    'node': args.string,
    'state': request.make_word_converter(state.STATES),
    'limit': request.convert_integer,
    'marker': request.convert_marker,
}

_convert_uuid = request.make_uuid_converter(_('an inspection request'))


def get_all(query: dict[str, Any]) -> dict[str, Any]:
    """Return a page of inspection requests, oldest first.

    :param query: the parameters of :data:`LIST`.
    """
    limit = api_utils.validate_limit(query['limit'])
    filters = {}
    if query['state'] is not None:
        filters['state'] = query['state']
    if query['node'] is not None:
        filters['node_uuid'] = api_utils.get_rpc_node(query['node']).uuid
    # One additional request is read to find out whether another page follows.
    stored_requests = request_object.InspectionRequest.list(
        api.request.context, filters, limit + 1, query['marker']
    )
    return view.build_page(RESOURCE, stored_requests, limit, represent)


def get_one(request_uuid: str) -> dict[str, Any]:
    """Show an inspection request."""
    return represent(
        request_object.InspectionRequest.get_by_uuid(
            api.request.context, _convert_uuid('uuid', request_uuid)
        )
    )


def delete(request_uuid: str) -> None:
    """Abort a request that no worker has begun to process.

    The node of the request may wait in the inspection that the request belongs
    to. Without the request it would wait in vain, so a conductor is asked to
    abort the inspection as well. If this fails, the workers make the
    inspection fail later.

    :raises: RequestNotFound if there is no such request; RequestNotWaiting if
        a worker has begun to process it, or if it has ended.
    """
    aborted = inspection_queue.get_queue().abort(
        _convert_uuid('uuid', request_uuid),
        _('Inspection was aborted by request.'),
    )
    if aborted.event not in (queue_request.CONTINUE, queue_request.POWER_ON):
        # No inspection waits for a reapplication or for a timeout.
        return
    context = api.request.context
    rpcapi = api.request.rpcapi
    try:
        node = api_utils.get_rpc_node(aborted.node_uuid)
        if node.provision_state == states.INSPECTWAIT:
            rpcapi.do_provisioning_action(
                context, node.uuid, 'abort', topic=rpcapi.get_topic_for(node)
            )
    except ironic_exception.IronicException as exc:
        LOG.warning(
            'The inspection of node %(node)s is left to the workers: '
            '%(error)s',
            {'node': aborted.node_uuid, 'error': exc},
        )


def represent(stored: Any) -> dict[str, Any]:
    """Return an inspection request as clients see it."""
    represented = {}
    for name in FIELDS:
        value = getattr(stored, name)
        if isinstance(value, datetime.datetime):
            value = view.format_time(value)
        represented[name] = value
    return {**represented, 'links': view.build_links(RESOURCE, stored.uuid)}
