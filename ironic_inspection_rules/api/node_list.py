# SPDX-License-Identifier: Apache-2.0

"""Lists nodes with filters by trait, and links to the next page."""

import typing
from urllib import parse

from ironic import api
from ironic.api.controllers.v1 import node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.api.controllers.v1 import versions
from ironic.common import exception

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.traits import filter as trait_filter

GET_ALL = controllers.undecorate(node.NodesController.get_all)
"""Ironic's list of nodes."""

DETAIL = controllers.undecorate(node.NodesController.detail)
"""Ironic's list of nodes with all fields."""


def list_uuids(
    parameters: dict[str, typing.Any], limit: int, marker: str | None
) -> tuple[list[str], bool]:
    """List the UUIDs of the nodes that the caller may see.

    :param parameters: filters of the list of nodes, in the format of the query
        of ``GET /v1/nodes``: ``{'driver': 'ipmi', 'traits': 'HW_GPU'}``.
    :param limit: maximum number of nodes; Ironic's own limit may be lower.
    :param marker: UUID of the last node of the previous page; None for the
        first page.
    :returns: the UUIDs, and whether there may be more nodes after them.
    """
    query = {**parameters, 'fields': 'uuid', 'limit': str(limit)}
    chassis_uuid = query.pop('chassis_uuid', None)
    if marker:
        query['marker'] = marker
    # Within this block, a list has only the UUIDs of its nodes: building
    # Ironic's answer for every node would take longer than the query.
    with controllers.only_uuids():
        nodes = list_nodes(
            node.NodesController(), GET_ALL, chassis_uuid, query
        )
    uuids = [listed['uuid'] for listed in nodes['nodes']]
    return uuids, 'next' in nodes


def list_nodes(
    controller: node.NodesController,
    stock: typing.Callable[..., dict[str, typing.Any]],
    chassis_uuid: str | None,
    parameters: dict[str, typing.Any],
) -> dict[str, typing.Any]:
    """Return Ironic's list of nodes, with support for filters by trait.

    Ironic's own method builds the list. While it runs, conditions such as "the
    node has HW_GPU" are added to its database query.

    :param stock: Ironic's own method: :data:`GET_ALL` or :data:`DETAIL`.
    :param parameters: all parameters of the request except the chassis. The
        filters by trait are removed from this dict.
    :returns: Ironic's answer. Its link to the next page includes the filters.
    :raises: NotAcceptable if the microversion of the request has no traits.
    """
    # Move the filters by trait out of the parameters, because Ironic's method
    # would reject them as unknown.
    filters = {}
    for name in trait_filter.PARAMETERS:
        if name in parameters:
            filters[name] = parameters.pop(name)
    if not filters:
        return stock(controller, chassis_uuid, **parameters)
    if not api_utils.allow_traits():
        raise exception.NotAcceptable(
            _(
                'Request not acceptable. The minimal required API version '
                'should be %(base)s.%(minor)s'
            )
            % {
                'base': versions.BASE_VERSION,
                'minor': versions.MINOR_37_NODE_TRAITS,
            }
        )
    storage.require_own_database(failure=_('Nodes cannot be listed by trait'))
    terms = trait_filter.parse(filters)
    with controllers.node_conditions(
        trait_filter.build_node_conditions(terms)
    ):
        nodes = stock(controller, chassis_uuid, **parameters)
    if 'next' in nodes:
        nodes['next'] = _complete_link(nodes['next'], chassis_uuid)
    return nodes


def _complete_link(link: str, chassis_uuid: str | None) -> str:
    """Return a link to the next page with all parameters of this request.

    Ironic's own link omits most filters, so the next page would not be
    filtered. For example, for ``/v1/nodes?traits=HW_GPU&limit=2`` it is
    ``/v1/nodes?limit=2&marker=<uuid>``, and this function returns
    ``/v1/nodes?limit=2&marker=<uuid>&traits=HW_GPU``.

    :param link: Ironic's link to the next page.
    :param chassis_uuid: the chassis whose nodes are listed; None for all.
    """
    parts = parse.urlsplit(link)
    # A list of pairs is used because a request may repeat a parameter.
    parameters = parse.parse_qsl(parts.query)
    # These parameters keep the values of Ironic's link, e.g. the marker.
    names_in_link = {name for name, _value in parameters}
    requested = dict(api.request.GET.dict_of_lists())
    if chassis_uuid:
        # The link goes to /v1/nodes, so it needs the chassis as a parameter.
        # In /v1/chassis/<uuid>/nodes, the chassis is part of the path.
        requested['chassis_uuid'] = [chassis_uuid]
    for name, values in requested.items():
        if name not in names_in_link:
            parameters += [(name, value) for value in values]
    # Commas are not escaped, so that traits=A,B stays readable.
    query = parse.urlencode(parameters, safe=',')
    return parts._replace(query=query).geturl()
