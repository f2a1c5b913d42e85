# SPDX-License-Identifier: Apache-2.0

"""The part of the benchmark that runs ironic-inspector's own engine.

It depends only on ironic-inspector. It reads JSON from standard input, and
writes JSON to standard output.
"""

import copy
import functools
import json
import statistics
import sys
import time
import types

from ironic_inspector import rules as engine
from ironic_inspector.plugins import base as plugins

_COLUMNS = ('op', 'field', 'multiple', 'invert', 'action')
"""Members of a condition or an action that have a column. All other members
are parameters of the plugin."""


class NodeInfo:
    """A node in memory, with the part of NodeInfo that rules use."""

    def __init__(self, node):
        self._node = copy.deepcopy(node)

    def node(self):
        """Return the node in the form of ironic-inspector's Ironic client."""
        return types.SimpleNamespace(**self._node, to_dict=self._to_dict)

    def _to_dict(self):
        """Return the node as a mapping, in place of the client's method."""
        return self._node

    def patch(self, patches, **_more):
        """Set values of attributes, such as ``/extra/bench_1``."""
        for patch in patches:
            _empty, attribute, name = patch['path'].split('/')
            self._node[attribute][name] = patch['value']


def make_rules(rules):
    """Make rules in the form in which they come from the database."""
    made = []
    for rule in rules:
        conditions = [_part(condition) for condition in rule['conditions']]
        actions = [_part(action) for action in rule['actions']]
        made.append(
            engine.IntrospectionRule(
                rule['uuid'], conditions, actions, rule['description']
            )
        )
    return made


def _part(operation):
    """Return a condition or an action in the form of a database row.

    For example, ``{'op': 'eq', 'field': 'cpus', 'value': 8}`` has ``op`` and
    ``field`` in columns, and ``{'value': 8}`` as its parameters.
    """
    columns = {'multiple': 'any', 'invert': False}
    params = {}
    for name, value in operation.items():
        if name in _COLUMNS:
            columns[name] = value
        else:
            params[name] = value
    return types.SimpleNamespace(**columns, params=params)


def main():
    """Run the rules as often as the request says, and print the results."""
    request = json.load(sys.stdin)
    # The plugins are loaded here, so that loading them is not measured.
    plugins.rule_conditions_manager()
    plugins.rule_actions_manager()
    times = []
    for _repeat in range(request['repeats'] + 1):
        rules = make_rules(request['rules'])
        # In place of the function that reads the database.
        engine.get_all = functools.partial(list, rules)
        node_info = NodeInfo(request['node'])
        start = time.process_time()
        engine.apply(node_info, request['data'])
        times.append(time.process_time() - start)
    json.dump(
        {
            'seconds': statistics.median(times[1:]),
            'extra': node_info.node().extra,
        },
        sys.stdout,
    )


if __name__ == '__main__':
    main()
