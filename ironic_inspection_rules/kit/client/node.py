# SPDX-License-Identifier: Apache-2.0

"""Requests for nodes and their inventories that openstacksdk lacks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_inspection_rules.kit.client import http


def nodes(
    baremetal, filters: Mapping[str, str], fields: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield nodes, page by page.

    :param filters: filters of ``GET /v1/nodes``, including filters by trait.
    :param fields: the names of the fields to return; the first field must be
        in every answer.
    """
    return http.list_items(
        baremetal,
        '/nodes',
        name='nodes',
        query={**filters, 'fields': ','.join(fields)},
        required_in_items=fields[:1],
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
