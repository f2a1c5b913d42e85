# SPDX-License-Identifier: Apache-2.0

"""A phase of rules on a small machine, through the doors that all use."""

import copy

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy

MAC = '52:54:00:00:00:01'
UUID = '00000000-0000-0000-0000-%012d'
SET = {'op': 'set-plugin-data', 'args': ['/done', True]}


def run(
    *rules,
    plugin_data=None,
    mask_secrets='never',
    ops=None,
    tables=None,
    **options,
):
    """Run rules, each a mapping without its UUID.

    :returns: the outcome, and the data by root name afterwards.
    """
    ops = ops or registry.installed()
    plans = [
        compiler.compile_rule(
            validation.parse(
                {'uuid': UUID % number, 'actions': [SET], **rule}, ops
            ),
            ops,
            mask_secrets,
            tables=tables or {},
        )
        for number, rule in enumerate(rules)
    ]
    target = working_copy.WorkingCopy(
        working_copy.Facts(
            inventory={},
            plugin_data=copy.deepcopy(plugin_data or {}),
            node={'extra': {}, 'driver_info': {'ipmi_password': 'secret'}},
            ports=({'address': MAC, 'uuid': 'p', 'extra': {}},),
        )
    )
    return runner.run(plans, target, **options), target.roots


def reason(condition, **plugin_data):
    """Return the result of a condition, and why it is so."""
    outcome, _roots = run(
        {'conditions': [condition]}, explain=True, plugin_data=plugin_data
    )
    return outcome.traces[0].conditions[0][1:]
