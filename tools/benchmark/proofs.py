# SPDX-License-Identifier: Apache-2.0

"""Proofs about generated rules."""

import argparse
import random
import time
from typing import Any

from benchmark import common
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.kit.proof import question
from ironic_inspection_rules.rule_set import repository

_TIME_LIMIT = 3600
"""Seconds after which the search for an answer is given up."""

QUESTIONS = ('dead', 'shadowed', 'conflict', 'gap:/resource_class')


def rule(chance: random.Random, number: int) -> dict[str, Any]:
    """Return a rule like those that operators write.

    The same seed must always give the same rules, because otherwise
    measurements cannot be compared. Therefore the order of the choices below
    must not change.

    :param chance: makes the choices.
    :param number: the number of the rule.
    """
    conditions: list[dict[str, Any]] = [
        {
            'op': chance.choice(('ge', 'lt')),
            'args': [
                '{inventory.cpu.count}',
                chance.choice((8, 16, 32, 64, 128)),
            ],
        }
    ]
    conditions += chance.choice(
        (
            [],
            [
                {
                    'op': 'contains',
                    'args': [
                        '{inventory.system_vendor.manufacturer}',
                        chance.choice(
                            ('(?i)^dell', '(?i)^hpe', '(?i)^lenovo')
                        ),
                    ],
                }
            ],
            [
                {
                    'op': 'ge',
                    'args': ['{item.size}', 10**12],
                    'loop': '{inventory.disks}',
                }
            ],
            [
                {
                    'op': 'in-net',
                    'args': [
                        '{inventory.bmc_address}',
                        chance.choice(('10.0.0.0/8', '192.0.2.0/24')),
                    ],
                }
            ],
        )
    )
    action = chance.choice(
        (
            ['set-attribute', ['/resource_class', chance.choice('abcd')]],
            ['add-trait', [f'CUSTOM_{chance.choice("ABCDEFGH")}']],
            ['set-capability', ['zone', chance.choice('ab')]],
        )
    )
    return {
        'uuid': f'00000000-0000-4000-8000-{number:012d}',
        'priority': chance.choice((0, 10, 20)),
        'conditions': conditions,
        'actions': [{'op': action[0], 'args': action[1]}],
    }


def measure(arguments: argparse.Namespace) -> None:
    """Measure the time to answer all questions."""
    count = arguments.proved_rules
    chance, ops = random.Random(0), registry.installed()
    rules = repository.order(
        [
            validation.parse(rule(chance, number), ops)
            for number in range(count)
        ]
    )
    table = common.Table(
        f'Proofs about {count} rules: processor time in s',
        ('Question', 'Takes', 'Yes', 'No', 'Unknown'),
        goal='100 rules in 30 s, at most one answer in ten unknown.',
    )
    started = time.process_time()
    proof = question.Proof(rules, _TIME_LIMIT)
    table.add(
        '(to translate the rules)',
        f'{time.process_time() - started:.1f}',
        '',
        '',
        '',
    )
    for asked in QUESTIONS:
        begun = time.process_time()
        verdicts = [answer.verdict for answer in proof.answers([asked])]
        table.add(
            asked,
            f'{time.process_time() - begun:.1f}',
            *(
                str(verdicts.count(verdict))
                for verdict in ('yes', 'no', 'unknown')
            ),
        )
    table.add('(all)', f'{time.process_time() - started:.1f}', '', '', '')
    table.print()


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--proved-rules',
        type=int,
        default=100,
        metavar='COUNT',
        help='number of rules',
    )


PART = common.Part('proofs', 'what "prove" takes', measure, _add_arguments)
