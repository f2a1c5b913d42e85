# SPDX-License-Identifier: Apache-2.0

"""The request that tries rules on many nodes, without changing anything.

The nodes are tried page by page. The answer to a page has ``next``, the marker
with which the next page is requested.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ironic_inspection_rules.kit.client import http

PAGE = 200
"""The usual number of nodes per page, which takes at most a second or so."""

Nodes = Mapping[str, Any] | Sequence[str]
"""Filters of ``GET /v1/nodes`` with their values, or names and UUIDs."""


def evaluate_page(
    baremetal,
    nodes: Nodes,
    rules: Sequence[Mapping[str, Any]] | None = None,
    phase: str | None = None,
    compare: bool = False,
    limit: int | None = None,
    marker: str | None = None,
    prune: bool = False,
    tables: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Try rules on one page of nodes, and return the results.

    :param nodes: the filters that select nodes, e.g. ``{'driver': 'ipmi'}``,
        where ``{}`` selects all visible nodes; or a list of up to 1000 names
        and UUIDs of nodes.
    :param rules: the rules to try together with the rules in force, as if they
        were applied; None to try only the rules in force. A new rule without
        ``uuid`` gets one from the server, which is the same on every page.
    :param phase: the only phase to try; None for all phases.
    :param compare: whether to return only differences from the rules in force.
    :param limit: the maximum number of nodes of the page, up to 1000.
    :param marker: ``next`` of the previous page.
    :param prune: whether to leave out stored rules that are not in ``rules``
        and, if ``tables`` is given, stored tables that are not in it.
    :param tables: the JSON form of tables by name, to use as if they were
        applied; None to use the stored tables.
    :returns: ``nodes``, a list with the answer for each node, see the API
        reference; and ``next``, the marker of the next page, which is None
        after the last page.
    """
    if isinstance(nodes, Mapping):
        filters_or_names: dict[str, Any] | list[str] = dict(nodes)
    else:
        filters_or_names = list(nodes)
    # Omit members that have their default, including false. The API of an
    # older release may not know a member, and would refuse it even if it is
    # false.
    request = http.without_none(
        nodes=filters_or_names,
        rules=rules,
        prune=prune or None,
        phase=phase,
        compare=compare or None,
        limit=limit,
        marker=marker,
        tables=tables,
    )
    # Rules and tables may make the request large.
    return http.call_with_large_body(
        baremetal,
        'POST',
        '/inspection_rules/evaluate',
        body=request,
        required_member='nodes',
        is_list=True,
        required_in_items=('uuid',),
    )
