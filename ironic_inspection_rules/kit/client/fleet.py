# SPDX-License-Identifier: Apache-2.0

"""The request for a dry run on a page of nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from ironic_inspection_rules.kit.client import http

PAGE = 200
"""Nodes of a page where nothing else is asked for: a second or less."""

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
    """Try rules on one page of nodes.

    :param nodes: which nodes: filters, ``{}`` for all that may be seen, or a
        list of up to 1000 names and UUIDs.
    :param rules: the rules to try, as if they were applied to those in force;
        None to try those in force alone.
    :param phase: the only phase to try, None for all.
    :param compare: ask only for what differs from the rules in force.
    :param limit: nodes of the page, at most 1000.
    :param marker: ``next`` of the page before.
    :param prune: leave out stored rules that are not among ``rules``.
    :param tables: the JSON form of tables to try with them; None for none.
    :returns: ``nodes``, a list with the answer for each node, as the API
        reference has it, and ``next``, the marker of the next page, None
        after the last one.
    """
    if isinstance(nodes, Mapping):
        selected: dict[str, Any] | list[str] = dict(nodes)
    else:
        selected = list(nodes)
    # Defaults are left out, false ones too: an API of a release without one of
    # these refuses the member, whatever its value.
    request = http.without_none(
        nodes=selected,
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
        needed='nodes',
        is_list=True,
        needed_of_items=('uuid',),
    )
