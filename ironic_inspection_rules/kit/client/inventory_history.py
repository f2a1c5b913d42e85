# SPDX-License-Identifier: Apache-2.0

"""Calls for kept inventories, their differences, parts, and for replay."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_inspection_rules.kit.client import http


def inventories(
    baremetal, node: str, **query: Any
) -> Iterator[dict[str, Any]]:
    """List the kept inventories of a node, newest first, page by page.

    :param node: name or UUID of the node.
    :param query: ``limit``, ``marker``, ``since``; None counts as not given.
    """
    return http.list_items(
        baremetal, _path_of_history(node), name='inventories', query=query
    )


def inventory(baremetal, node: str, uuid: str) -> dict[str, Any]:
    """Show what one inspection found: ``inventory`` and ``plugin_data``."""
    return http.call(
        baremetal,
        'GET',
        f'{_path_of_history(node)}/{uuid}',
        needed='inventory',
    )


def diff(
    baremetal, node: str, from_: str | None = None, to: str | None = None
) -> dict[str, Any]:
    """Return in which parts two inspections of a machine differ.

    Without UUIDs the last two inventories that differ are compared.

    :param from_: UUID of the earlier inventory.
    :param to: UUID of the later inventory.
    """
    # "from" is a keyword of Python, which no argument can be called.
    query = http.without_none(**{'from': from_, 'to': to})
    return http.call(
        baremetal,
        'GET',
        f'{_path_of_history(node)}/diff',
        needed='parts',
        is_list=True,
        params=query,
    )


def parts(baremetal, identity: str) -> list[dict[str, Any]]:
    """Find the nodes that a part has been in, the newest first.

    :param identity: the part's serial number, WWN or MAC address.
    """
    answer = http.call(
        baremetal,
        'GET',
        '/inspection_parts',
        needed='parts',
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

    :param nodes: filters, or a list of names and UUIDs.
    :param rules: the rules to evaluate among the rules in force, as if they
        were applied; None for the rules of the time of an inspection.
    :param since: only inspections since this time.
    :param prune: whether stored rules that are not among ``rules`` are left
        out.
    :param tables: the JSON form of tables to evaluate with; None for no
        tables.
    :returns: ``runs``, and ``next``, the marker of the next page; None after
        the last page.
    """
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
        needed='runs',
        is_list=True,
    )


def _path_of_history(node: str) -> str:
    return f'/nodes/{node}/inventory/history'
