# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_requests: what is to be processed, and what became of it."""

import datetime
from http import client as http_client
from typing import Any
from urllib import parse

from ironic import api
from ironic.api.controllers import link
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.common import states
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.policies import inspection_request as policies
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import submission

LOG = log.getLogger(__name__)

RESOURCE = 'inspection_requests'

FIELDS = tuple(sorted({*request_object.InspectionRequest.fields}
                      - {'id', 'version'}))
"""What clients are told of a request."""


class InspectionRequestController(base.RestController):
    """Inspection requests (spec 001 "Data model impact").

    :param requests: where they are aborted.
    """

    def __init__(self, requests: submission.RequestSubmitter) -> None:
        self._requests = requests

    @base.expose()
    def get_all(self) -> dict[str, Any]:
        """List requests, oldest first."""
        api_utils.check_policy(policies.GET)
        query = request.query({
            'node': args.string, 'state': _state, 'limit': args.integer,
            'marker': args.uuid})
        limit = api_utils.validate_limit(query['limit'])
        filters = {}
        if query['state'] is not None:
            filters['state'] = query['state']
        if query['node'] is not None:
            filters['node_uuid'] = _node_uuid(query['node'])
        found = request_object.InspectionRequest.list(
            api.request.context, filters, limit + 1, query['marker'])
        answer: dict[str, Any] = {
            RESOURCE: [represent(each) for each in found[:limit]]}
        if len(found) > limit:
            answer['next'] = _next_link(limit, found[limit - 1].uuid)
        return answer

    @base.expose()
    def get_one(self, request_uuid: str) -> dict[str, Any]:
        """Show a request."""
        api_utils.check_policy(policies.GET)
        request.query({})
        return represent(request_object.InspectionRequest.get_by_uuid(
            api.request.context, args.uuid('uuid', request_uuid)))

    @base.expose(status_code=http_client.NO_CONTENT)
    def delete(self, request_uuid: str) -> None:
        """Abort a request that is not yet processed.

        The inspection that it belongs to is aborted as well: the machine
        has posted its data and will not do so again, or is never powered on.
        """
        api_utils.check_policy(policies.DELETE)
        request.query({})
        aborted = self._requests.abort(
            args.uuid('uuid', request_uuid),
            _('Inspection was aborted by request.'))
        if aborted.event in (queue_request.CONTINUE,
                             queue_request.POWER_ON):
            _abort_inspection(aborted.node_uuid)


def represent(stored: Any) -> dict[str, Any]:
    """Tell a client about a request."""
    shown = {name: getattr(stored, name) for name in FIELDS}
    for name, value in shown.items():
        if isinstance(value, datetime.datetime):
            shown[name] = value.isoformat()
    shown['links'] = [
        link.make_link('self', api.request.public_url, RESOURCE, stored.uuid),
        link.make_link('bookmark', api.request.public_url, RESOURCE,
                       stored.uuid, bookmark=True),
    ]
    return shown


def _state(name: str, value: str) -> str:
    if value not in state.STATES:
        raise exceptions.Invalid(
            _('%(name)s must be one of %(states)s, not "%(value)s"')
            % {'name': name, 'value': value,
               'states': ', '.join(state.STATES)})
    return value


def _node_uuid(ident: str) -> str:
    return api_utils.get_rpc_node(ident).uuid


def _next_link(limit: int, marker: str) -> str:
    parameters = [(name, value) for name, value in api.request.GET.items()
                  if name not in ('limit', 'marker')]
    parameters += [('limit', str(limit)), ('marker', marker)]
    return link.make_link('next', api.request.public_url, RESOURCE,
                          '?' + parse.urlencode(parameters))['href']


def _abort_inspection(node_uuid: str) -> None:
    """Have the conductor abort the inspection of a node that waits for it.

    The request is out of the queue already: should this fail, the leader
    of the workers has the inspection fail.
    """
    context, rpcapi = api.request.context, api.request.rpcapi
    try:
        node = api_utils.get_rpc_node(node_uuid)
        if node.provision_state == states.INSPECTWAIT:
            rpcapi.do_provisioning_action(
                context, node.uuid, 'abort',
                topic=rpcapi.get_topic_for(node))
    except ironic_exception.IronicException as exc:
        LOG.warning('The inspection of node %(node)s is left to the workers: '
                    '%(error)s', {'node': node_uuid, 'error': exc})
