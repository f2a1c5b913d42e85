# SPDX-License-Identifier: Apache-2.0

"""Running old rules on a machine made up for a test."""

import copy
import typing

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.plugins.legacy import translate

NODE = {
    'driver': 'fake-hardware',
    'driver_info': {},
    'extra': {},
    'properties': {},
    'traits': [],
}
UUID = '00000000-0000-0000-0000-%012d'


class Result(typing.NamedTuple):
    """What became of a machine.

    ``node`` is the node afterwards, ``matched`` the numbers of the rules
    that matched.
    """

    node: dict[str, typing.Any]
    matched: list[int]
    error: str | None


def parse(rule: typing.Any, number: int = 0) -> model.Rule:
    """Read an old rule, with a UUID that ends in the number."""
    return translate.parse(
        {**rule, 'uuid': UUID % number}, registry.installed()
    )


def run(
    rules: typing.Iterable[model.Rule],
    data: dict[str, typing.Any],
    node: dict[str, typing.Any] = NODE,
) -> Result:
    """Apply rules to a machine.

    :param data: what ironic-inspector knew of it, in one flat mapping.
    """
    plans = [
        compiler.compile_rule(rule, registry.installed()) for rule in rules
    ]
    plugin_data = dict(data)
    inventory = plugin_data.pop('inventory', {})
    target = working_copy.WorkingCopy(
        working_copy.Facts(inventory, plugin_data, copy.deepcopy(node))
    )
    outcome = runner.run(
        plans, target, node['properties'].get('inspection_scope')
    )
    return Result(
        target.roots['node'] if outcome.keeps_changes else node,
        [
            int(trace.rule.uuid[-12:])
            for trace in outcome.traces
            if trace.matched
        ],
        outcome.error and str(outcome.error),
    )


def inspect(
    *rules: dict[str, typing.Any],
    data: dict[str, typing.Any] | None = None,
    node: dict[str, typing.Any] = NODE,
) -> Result:
    """Apply rules as ironic-inspector took them, see :func:`run`."""
    return run(
        [parse(rule, number) for number, rule in enumerate(rules)],
        data or {},
        node,
    )
