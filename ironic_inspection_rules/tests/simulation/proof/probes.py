# SPDX-License-Identifier: Apache-2.0

"""Rules that only ask, and that some machine surely matches.

A proof that does not know what the rules before them leave says that no
machine can match them.
"""

import copy
import random

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.proof import witness
from ironic_inspection_rules.tests.simulation.proof import rules

_PROBES = 4
_CONDITIONS = 6


def make(
    chance: random.Random,
    grammar: rules.Grammar,
    entries: list[rules.Entry],
    machines: list[witness.Witness],
) -> list[rules.Entry]:
    """Return rules whose conditions hold after others on some machine.

    :param entries: the other rules.
    """
    conditions = [grammar.condition() for _number in range(_CONDITIONS)]
    asked = rules.valid(
        _probe(number, [condition])
        for number, condition in enumerate(conditions)
    )
    parsed = rules.in_order([*entries, *asked])
    engine = witness.Engine()
    found = []
    for number in range(_PROBES):
        done = engine.evaluate(parsed, chance.choice(machines))
        matched = {each.rule.uuid for each in done.audited if each.matched}
        holding = []
        for entry in chance.sample(asked, min(len(asked), 3)):
            condition = copy.deepcopy(entry['conditions'][0])
            if entry['uuid'] not in matched:
                # The opposite, also where a value is missing.
                condition = {'op': 'none-of', 'conditions': [condition]}
            holding.append(condition)
        found.append(_probe(number, holding))
    return rules.valid(found)


def _probe(number: int, conditions: list[rules.Entry]) -> rules.Entry:
    # Without a priority, and last in a list, it asks after all others.
    return {
        'uuid': f'00000000-0000-4000-9000-{number:012d}',
        'description': f'probe {number}',
        'mode': model.AUDIT,
        'conditions': conditions,
        'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
    }
