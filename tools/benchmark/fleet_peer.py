# SPDX-License-Identifier: Apache-2.0

"""Try rules on a fleet without this project, as a user would.

The nodes are listed. Then the inventory and the ports of every node are
downloaded from a stock Ironic, and the rules are evaluated by the offline
engine.
"""

from concurrent import futures
import threading
from typing import Any

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.live import launcher

Json = dict[str, Any]


def evaluate(
    ironic: launcher.Ironic, rules: list[Json], count: int, jobs: int
) -> dict[str, int]:
    """Evaluate rules on the first nodes, as a client of a stock Ironic.

    :param count: the number of nodes.
    :param jobs: the number of nodes that are processed at the same time.
    :returns: the number of changes that nodes would get, by name of the node.
    """
    ops = registry.installed()
    plans = {
        model.MAIN: [
            compiler.compile_rule(validation.parse(rule, ops), ops)
            for rule in rules
        ]
    }
    sessions = threading.local()

    def evaluate_node(node: Json) -> int:
        # A session of requests must be used by only one thread.
        if not hasattr(sessions, 'client'):
            sessions.client = ironic.client()
        call = sessions.client.call
        data = call('GET', f'/v1/nodes/{node["uuid"]}/inventory')
        ports = call('GET', f'/v1/ports/detail?node={node["uuid"]}')['ports']
        outcome = evaluation.evaluate(
            plans,
            working_copy.Facts(
                data['inventory'], data['plugin_data'], node, tuple(ports)
            ),
            [model.MAIN],
            explain=False,
        )
        return len(outcome.changes)

    with ironic.client() as session, futures.ThreadPoolExecutor(jobs) as pool:
        # The very first node is skipped, because it has no inventory: the
        # database was filled with copies of it.
        nodes = _list_nodes(session, count + 1)[1:]
        return dict(
            zip(
                (node['name'] for node in nodes),
                pool.map(evaluate_node, nodes),
                strict=True,
            )
        )


def _list_nodes(session: Any, count: int) -> list[Json]:
    """List the first nodes, page by page.

    :param count: the number of nodes; the result is shorter if there are
        fewer.
    """
    nodes: list[Json] = []
    marker = ''
    while len(nodes) < count:
        page = session.call(
            'GET', f'/v1/nodes/detail?limit={count - len(nodes)}{marker}'
        )['nodes']
        if not page:
            break
        nodes += page
        marker = f'&marker={nodes[-1]["uuid"]}'
    return nodes
