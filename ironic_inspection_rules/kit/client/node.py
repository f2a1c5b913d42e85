# SPDX-License-Identifier: Apache-2.0

"""Requests for nodes and their inventories that openstacksdk lacks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_inspection_rules.kit.client import http

# Ironic fails if these fields of a list of nodes are requested by name.
_ONLY_IN_DETAIL = frozenset(['allocation_uuid', 'chassis_uuid', 'conductor'])


def nodes(
    baremetal,
    filters: Mapping[str, str],
    fields: Sequence[str],
    microversion: str = http.MICROVERSION,
) -> Iterator[dict[str, Any]]:
    """Yield nodes, page by page.

    :param filters: filters of ``GET /v1/nodes``, including filters by trait.
    :param fields: the names of the fields to return. The nodes have all their
        fields if Ironic does not return one of these on request.
    :param microversion: the version of the API that has these fields, or
        ``latest``.
    """
    path = '/nodes'
    query = {**filters, 'fields': ','.join(fields)}
    required_field = fields[0]
    if _ONLY_IN_DETAIL.intersection(fields):
        path = '/nodes/detail'
        query = dict(filters)
        required_field = 'uuid'
    return http.list_items(
        baremetal,
        path,
        name='nodes',
        query=query,
        required_in_items=[required_field],
        microversion=microversion,
    )


def node(baremetal, name: str, fields: Sequence[str]) -> dict[str, Any]:
    """Return one node.

    :param name: the name or UUID of the node.
    :param fields: the names of the fields to return.
    """
    return http.call(
        baremetal,
        'GET',
        f'/nodes/{name}',
        required_member=fields[0],
        params={'fields': ','.join(fields)},
    )


def inventory(baremetal, name: str) -> dict[str, Any]:
    """Return the stored inventory of a machine.

    :param name: the name or UUID of the node.
    :returns: ``inventory`` and ``plugin_data``.
    :raises: NotFoundException of openstacksdk if no inventory is stored.
    """
    return http.call(
        baremetal,
        'GET',
        f'/nodes/{name}/inventory',
        required_member='inventory',
    )
