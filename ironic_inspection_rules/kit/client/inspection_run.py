# SPDX-License-Identifier: Apache-2.0

"""Requests for runs, explanations, failed inspections and statistics.

A run is the record of what the rules did in one inspection of a node.
"""

from collections.abc import Iterator
from typing import Any

from ironic_inspection_rules.kit.client import http


def inspection_runs(
    baremetal, node: str, details: bool = False, **query: Any
) -> Iterator[dict[str, Any]]:
    """Yield the kept runs of a node, newest first, page by page.

    :param node: the name or UUID of the node.
    :param details: whether to include what the rules did.
    :param query: ``limit``, ``marker``, ``fields``.
    """
    if details:
        query['detail'] = 'true'
    return http.list_items(
        baremetal, _path_of_runs(node), name='inspection_runs', query=query
    )


def get_inspection_run(baremetal, node: str, uuid: str) -> dict[str, Any]:
    """Return a run with all its fields."""
    return http.call(
        baremetal,
        'GET',
        f'{_path_of_runs(node)}/{uuid}',
        required_member='phases',
    )


def get_failed_data(baremetal, node: str) -> dict[str, Any] | None:
    """Return the data that a machine sent in its last, failed inspection.

    These data are newer than the stored inventory of the node, because Ironic
    stores an inventory only at the end of a successful inspection.

    :param node: the name or UUID of the node.
    :returns: ``inventory`` and ``plugin_data``; None if there is no run, if
        the newest run did not fail, or if its data are not kept.
    """
    # The list begins with the newest run.
    runs = inspection_runs(baremetal, node, limit=1, fields='uuid,result')
    newest_run = next(runs, None)
    if newest_run is None or newest_run['result'] != 'failed':
        return None
    # A second request is needed, because a list of runs has no inventories.
    data = http.call(
        baremetal,
        'GET',
        f'{_path_of_runs(node)}/{newest_run["uuid"]}',
        required_member='inventory',
        params={'fields': 'inventory,plugin_data'},
    )
    if data['inventory'] is None:
        # Ironic has kept the run without its data.
        return None
    return data


def explain(baremetal, node: str, **query: Any) -> dict[str, Any]:
    """Explain which rule last set a value, or what a rule did and why.

    :param node: the name or UUID of the node.
    :param query: ``path``, ``trait`` and ``port`` ask about a value, ``rule``
        asks about a rule; None means not given.
    :returns: the answer. About a value, it has ``rule``, the rule that set the
        value; about a rule, it has ``matched``.
    """
    required_member = 'rule'
    if query.get('rule') is not None:
        required_member = 'matched'
    return http.call(
        baremetal,
        'GET',
        f'{_path_of_runs(node)}/explain',
        required_member=required_member,
        params=http.without_none(**query),
    )


def rule_statistics(baremetal, **query: Any) -> list[dict[str, Any]]:
    """Return how often each rule ran, matched and failed.

    :param query: ``fields``, ``sort_key``, ``sort_dir``; None means not given.
    """
    answer = http.call(
        baremetal,
        'GET',
        '/inspection_rules/statistics',
        required_member='statistics',
        is_list=True,
        params=http.without_none(**query),
    )
    return answer['statistics']


def _path_of_runs(node: str) -> str:
    """Return the path of the runs of a node, below ``/v1``."""
    return f'/nodes/{node}/inspection_runs'
