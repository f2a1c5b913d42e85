# SPDX-License-Identifier: Apache-2.0

"""Trying rules on many machines at once, without changing anything.

Each function takes ``baremetal``, the bare metal proxy of an openstacksdk
connection, of which several threads may ask.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import itertools
from typing import Any
import uuid

from ironic_inspection_rules.client import http

PAGE = 200
"""Nodes of a page where nothing else is asked for: a second or less."""

Nodes = Mapping[str, Any] | Sequence[str]
"""Filters of ``GET /v1/nodes`` with their values, or names and UUIDs."""

Entry = dict[str, Any]
"""What the answer says of one node; the API reference tells its members."""


def evaluate_page(baremetal, nodes: Nodes,
                  rules: Sequence[Mapping[str, Any]] | None = None,
                  phase: str | None = None, compare: bool = False,
                  limit: int | None = None, marker: str | None = None
                  ) -> dict[str, Any]:
    """Try rules on one page of nodes.

    :param nodes: which nodes: filters, ``{}`` for all that may be seen, or a
        list of up to 1000 names and UUIDs.
    :param rules: the rules to try, None for those in force. Rules without
        ``uuid`` get one of the server, the same on every page.
    :param phase: the only phase to try, None for all.
    :param compare: tell what the rules do otherwise than those in force.
    :param limit: nodes of the page, at most 1000.
    :param marker: ``next`` of the page before.
    :returns: ``nodes``, a list of :data:`Entry`, and ``next``, the marker
        of the next page, None after the last one.
    :raises: an exception of openstacksdk.
    """
    asked = {'nodes': _listed(nodes), 'rules': rules, 'phase': phase,
             'compare': compare or None, 'limit': limit, 'marker': marker}
    return http.call(baremetal, 'POST', '/inspection_rules/evaluate', json={
        name: value for name, value in asked.items() if value is not None})


def evaluate(baremetal, nodes: Nodes,
             rules: Sequence[Mapping[str, Any]] | None = None,
             phase: str | None = None, compare: bool = False,
             limit: int = PAGE, jobs: int = 1) -> Iterator[Entry]:
    """Try rules on any number of nodes, page by page.

    :param nodes: as for :func:`evaluate_page`, with any number of names.
    :param limit: nodes of a page.
    :param jobs: how many pages to ask for at a time. With more than one,
        filters are resolved to lists of nodes, while others are tried.
    :returns: the entries of the nodes, in the order of the nodes.
    :raises: an exception of openstacksdk.
    """
    asked: dict[str, Any] = {'rules': rules and with_uuids(rules),
                             'phase': phase, 'compare': compare}
    if isinstance(nodes, Mapping) and jobs == 1:
        yield from _by_marker(baremetal, nodes, {**asked, 'limit': limit})
        return
    names = (node_uuids(baremetal, nodes) if isinstance(nodes, Mapping)
             else iter(nodes))
    # A window of pages: no more of them wait than are worked on.
    with futures.ThreadPoolExecutor(jobs) as pool:
        pages = (pool.submit(evaluate_page, baremetal, page, **asked)
                 for page in _pages(names, limit))
        running = list(itertools.islice(pages, 2 * jobs))
        while running:
            page = running.pop(0).result()
            running += itertools.islice(pages, 1)
            yield from page['nodes']


def node_uuids(baremetal, filters: Mapping[str, Any]) -> Iterator[str]:
    """List the UUIDs of the nodes that filters keep, page by page."""
    query = {name: value if isinstance(value, str) else _text(value)
             for name, value in filters.items() if value is not None}
    for node in http.items(baremetal, '/nodes', 'nodes',
                           {**query, 'fields': 'uuid'}):
        yield node['uuid']


def with_uuids(rules: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give rules that have no UUID one, by which the answer names them."""
    return [{**rule, 'uuid': rule.get('uuid') or str(uuid.uuid4())}
            for rule in rules]


def _by_marker(baremetal, nodes: Nodes, asked: dict[str, Any]
               ) -> Iterator[Entry]:
    marker = None
    while True:
        page = evaluate_page(baremetal, nodes, marker=marker, **asked)
        yield from page['nodes']
        marker = page['next']
        if marker is None:
            return


def _pages(nodes: Iterator[str], limit: int) -> Iterator[list[str]]:
    while page := list(itertools.islice(nodes, limit)):
        yield page


def _listed(nodes: Nodes) -> Any:
    return dict(nodes) if isinstance(nodes, Mapping) else list(nodes)


def _text(value: Any) -> str:
    """Return a value of a filter as a query has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence):
        return ','.join(map(str, value))
    return str(value)
