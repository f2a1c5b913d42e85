# SPDX-License-Identifier: Apache-2.0

"""What a machine may send that means harm.

As a program, this runs each attack in a thread with the stack that threads of
Ironic have, where deep recursion ends the process.
"""

import dataclasses
import json
import math
import sys
import threading

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy

STACK = 128 * 1024

NICS = '{inventory[nics]}'

LIMITS = dataclasses.replace(budget.EARLY, time=math.inf)
"""Those of the early phase, but for its time: machines are busy."""


def act(op, *args, loop=NICS, **more):
    return {'op': op, 'args': list(args), 'loop': loop, **more}


def run(actions, nics, conditions=(), limits=LIMITS, plugin_data=None, **more):
    """Run one rule in the early phase, and return outcome and data.

    :param more: further fields of the rule.
    """
    ops = registry.installed()
    plan = compiler.compile_rule(
        validation.parse(
            {
                'uuid': '11111111-1111-4111-8111-111111111111',
                'phase': 'early',
                'description': 'watched',
                'actions': actions,
                'conditions': list(conditions),
                **more,
            },
            ops,
        ),
        ops,
    )
    target = working_copy.WorkingCopy(
        working_copy.Facts({'nics': nics}, plugin_data or {})
    )
    outcome = runner.run([plan], target, limits=limits)
    return outcome, target.roots['plugin_data']


def long_name(levels):
    return '/'.join('a' * levels)


def run_in_small_stack(*attacks):
    """Run each attack as :func:`run` does, and print how they ended."""
    registry.installed()
    threading.stack_size(STACK)
    ended = []
    for attack in attacks:
        thread = threading.Thread(
            target=lambda args=attack: ended.append(run(*args))
        )
        thread.start()
        thread.join()
    json.dump(
        [[str(outcome.error or ''), list(data)] for outcome, data in ended],
        sys.stdout,
    )


ATTACKS = (
    (
        [act('set-plugin-data', '/nics/{item[name]}', 1)],
        [{'name': long_name(600)}, {'name': long_name(9000)}],
    ),
    (
        [
            act('set-plugin-data', '/a', {'b': '{plugin_data[a]}'}),
            act('log', '{plugin_data!r}'),
        ],
        [1] * 600,
        [],
        LIMITS,
        {'a': 1},
    ),
    (
        [act('extend-plugin-data', '/a', '{plugin_data[a]}')],
        [1] * 600,
        [],
        LIMITS,
        {'a': [1]},
    ),
)

if __name__ == '__main__':
    run_in_small_stack(*ATTACKS)
