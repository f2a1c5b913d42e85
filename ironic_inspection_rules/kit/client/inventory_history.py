# SPDX-License-Identifier: Apache-2.0

"""Requests for the kept inventories of machines, and for their parts.

Ironic can keep the inventory of every inspection. A part is e.g. a disk or a
DIMM, and is known by its serial number or another identity of its own. To
replay means to evaluate rules again on kept inspections.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_inspection_rules.kit.client import http


def inventories(
    baremetal, node: str, **query: Any
) -> Iterator[dict[str, Any]]:
    """Yield the kept inventories of a node, newest first, page by page.

    :param node: the name or UUID of the node.
    :param query: ``limit``, ``marker``, ``since``; None means not given.
    """
    return http.list_items(
        baremetal, _path_of_history(node), name='inventories', query=query
    )


def inventory(baremetal, node: str, uuid: str) -> dict[str, Any]:
    """Return the ``inventory`` and ``plugin_data`` of one inspection."""
    return http.call(
        baremetal,
        'GET',
        f'{_path_of_history(node)}/{uuid}',
        required_member='inventory',
    )


def diff(
    baremetal, node: str, from_: str | None = None, to: str | None = None
) -> dict[str, Any]:
    """Return the parts in which two inspections of a machine differ.

    Without UUIDs, the last two inventories that differ are compared.

    :param from_: the UUID of the earlier inventory.
    :param to: the UUID of the later inventory.
    """
    # "from" is a keyword of Python, so it cannot be the name of an argument.
    query = http.without_none(**{'from': from_, 'to': to})
    return http.call(
        baremetal,
        'GET',
        f'{_path_of_history(node)}/diff',
        required_member='parts',
        is_list=True,
        params=query,
    )


def parts(baremetal, identity: str) -> list[dict[str, Any]]:
    """Return the nodes that contain or have contained a part, newest first.

    :param identity: the part's serial number, WWN or MAC address.
    """
    answer = http.call(
        baremetal,
        'GET',
        '/inspection_parts',
        required_member='parts',
        is_list=True,
        params={'id': identity},
    )
    return answer['parts']


def replay_page(
    baremetal,
    nodes: Mapping[str, Any] | Sequence[str],
    rules: Sequence[Mapping[str, Any]] | None = None,
    since: str | None = None,
    limit: int | None = None,
    marker: str | None = None,
    prune: bool = False,
    tables: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Evaluate rules on the kept inspections of a page of nodes.

    :param nodes: filters that select nodes, or a list of names and UUIDs.
    :param rules: the rules to evaluate together with the rules in force, as if
        they were applied; None for the rules of the time of an inspection.
    :param since: a time; earlier inspections are skipped.
    :param limit: the maximum number of nodes of the page.
    :param marker: ``next`` of the previous page.
    :param prune: whether to leave out stored rules that are not in ``rules``.
    :param tables: the JSON form of the tables to use; None for no tables.
    :returns: ``runs``, and ``next``, the marker of the next page, which is
        None after the last page.
    """
    # Omit members that have their default, including false. The API of an
    # older release may not know a member, and would refuse it even if it is
    # false.
    request = http.without_none(
        nodes=nodes,
        rules=rules,
        prune=prune or None,
        since=since,
        limit=limit,
        marker=marker,
        tables=tables,
    )
    return http.call_with_large_body(
        baremetal,
        'POST',
        '/inspection_rules/replay',
        body=request,
        required_member='runs',
        is_list=True,
    )


def _path_of_history(node: str) -> str:
    """Return the path of the kept inventories of a node, below ``/v1``."""
    return f'/nodes/{node}/inventory/history'
