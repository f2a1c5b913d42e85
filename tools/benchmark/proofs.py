#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure proofs about generated rules: the time that each question takes."""

import argparse
import random
import time
from typing import Any

from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.proof import question
from ironic_inspection_rules.rule_set import repository

QUESTIONS = ('dead', 'shadowed', 'conflict', 'gap:/resource_class')


def rule(chance: random.Random, number: int) -> dict[str, Any]:
    """Return a rule as operators have them."""
    conditions: list[dict[str, Any]] = [{
        'op': chance.choice(('ge', 'lt')), 'args': [
            '{inventory.cpu.count}', chance.choice((8, 16, 32, 64, 128))]}]
    conditions += chance.choice(([], [{'op': 'contains', 'args': [
        '{inventory.system_vendor.manufacturer}',
        chance.choice(('(?i)^dell', '(?i)^hpe', '(?i)^lenovo'))]}], [
            {'op': 'ge', 'args': ['{item.size}', 10 ** 12],
             'loop': '{inventory.disks}'}], [
            {'op': 'in-net', 'args': ['{inventory.bmc_address}',
                                      chance.choice(('10.0.0.0/8',
                                                     '192.0.2.0/24'))]}]))
    action = chance.choice((
        ['set-attribute', ['/resource_class', chance.choice('abcd')]],
        ['add-trait', [f'CUSTOM_{chance.choice("ABCDEFGH")}']],
        ['set-capability', ['zone', chance.choice('ab')]]))
    return {'uuid': f'00000000-0000-4000-8000-{number:012d}',
            'priority': chance.choice((0, 10, 20)), 'conditions': conditions,
            'actions': [{'op': action[0], 'args': action[1]}]}


def main() -> None:
    """Time each question, and count its answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rules', type=int, default=100)
    given = parser.parse_args()
    chance, ops = random.Random(0), registry.installed()
    rules = repository.order([
        validation.parse(rule(chance, number), ops)
        for number in range(given.rules)])
    started = time.process_time()
    proof = question.Proof(rules, 3600)
    print(f'translated: {time.process_time() - started:.1f} s')
    for asked in QUESTIONS:
        begun = time.process_time()
        verdicts = [each.verdict for each in proof.answers([asked])]
        print(f'{asked}: {time.process_time() - begun:.1f} s',
              {each: verdicts.count(each) for each in sorted(set(verdicts))})
    print(f'all: {time.process_time() - started:.1f} s of a processor')


if __name__ == '__main__':
    main()
