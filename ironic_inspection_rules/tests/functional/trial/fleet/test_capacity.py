# SPDX-License-Identifier: Apache-2.0

"""Numbers of flavors are those of a real Placement."""

import collections
import logging
import os
import random
import re
from urllib import parse
import uuid

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.tests.functional.trial.fleet import placement
from ironic_inspection_rules.tests.unit import base

FLEETS = int(os.environ.get('IR_FLEETS', 8))
CLASSES = {
    'gold': 'CUSTOM_GOLD',
    'Gold.v2': 'CUSTOM_GOLD_V2',
    'bm -- 1': 'CUSTOM_BM_1',
    'gold-v2': 'CUSTOM_GOLD_V2',
}
TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'HW_CPU_X86_AVX')
STATES = (
    *['available'] * 6,
    *['active'] * 3,
    'manageable',
    'cleaning',
    'inspect failed',
)
SPEC = re.compile('(resources|trait)([a-zA-Z0-9_-]*):(.*)')


def uuid_of(number):
    return str(uuid.UUID(int=number + 1000, version=4))


class Fleet:
    """Nodes, and rules that change them."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.nodes = [self._node(number) for number in range(8)]
        self.plans = {phase: [] for phase in model.PHASES}
        for number in range(self.dice.randint(0, 4)):
            self.plans['main'].append(
                compiler.compile_rule(
                    model.Rule.from_mapping(
                        {
                            'uuid': f'rule-{number}',
                            'conditions': [
                                {
                                    'op': 'one-of',
                                    'args': [
                                        '{inventory.number}',
                                        self.dice.sample(range(8), 3),
                                    ],
                                }
                            ],
                            'actions': [
                                self._action()
                                for _number in range(self.dice.randint(1, 3))
                            ],
                        }
                    ),
                    registry.installed(),
                )
            )

    def _node(self, number):
        dice = self.dice
        state = dice.choice(STATES)
        return {
            'uuid': uuid_of(number),
            'name': None,
            'provision_state': state,
            'resource_class': dice.choice([*CLASSES, None]),
            'traits': dice.sample(TRAITS, dice.randint(0, 3)),
            'instance_uuid': uuid_of(90) if state == 'active' else None,
            'maintenance': dice.random() < 0.2,
            'retired': False,
            'power_state': dice.choice(['power off'] * 5 + ['error']),
        }

    def _action(self):
        op, *args = self.dice.choice(
            (
                [
                    'set-attribute',
                    '/resource_class',
                    self.dice.choice(list(CLASSES)),
                ],
                ['set-attribute', '/maintenance', True],
                ['add-trait', self.dice.choice(TRAITS)],
                ['remove-trait', self.dice.choice(TRAITS)],
                ['set-traits', self.dice.sample(TRAITS, 2), 'CUSTOM_'],
                ['fail', 'no'],
                ['set-plugin-data', '/x', '{inventory.none}'],
            )
        )
        return {'op': op, 'args': args}

    def extra_specs(self):
        """Return extra specs as people write them, and some mistakes."""
        dice = self.dice
        suffix = dice.choice(['', '', '', '1', '_DISK'])
        resource = f'resources{suffix}:{dice.choice(list(CLASSES.values()))}'
        specs = {resource: dice.choice(['1', 1, '1', '1', '2', '0'])}
        for trait in dice.sample(TRAITS, dice.randint(0, 2)):
            specs[f'trait{suffix}:{trait}'] = dice.choice(
                ['required', 'forbidden']
            )
        specs.update(
            dice.choice(
                (
                    {},
                    {},
                    {'resources:VCPU': '0', 'resources:MEMORY_MB': 0},
                    {'resources:VCPU': '4'},
                    {'trait2:CUSTOM_A': 'required'},
                    {'resources2:CUSTOM_GOLD': '1', 'group_policy': 'none'},
                    {'resources2:CUSTOM_GOLD': '0'},
                    {'trait:CUSTOM_A': 'perhaps'},
                    {'capabilities:boot_mode': 'uefi', 'hw:boot_menu': 'true'},
                )
            )
        )
        return specs

    def entry(self, node):
        """Return what Ironic's answer says, and the node as it would be."""
        outcome = evaluation.evaluate(
            self.plans,
            working_copy.Facts(
                {'number': self.nodes.index(node)}, {}, node=node
            ),
            explain=False,
        )
        entry = {
            'result': 'ok',
            'changed_by': outcome.changed_by,
            'changes': [each.as_dict() for each in outcome.changes],
        }
        after = outcome.facts.node
        if outcome.error:
            entry.update(
                result='failed',
                failed_by={
                    'rule': outcome.error.rule_uuid,
                    'op': outcome.error.op,
                    'kind': 'fail'
                    if isinstance(outcome.error, exceptions.RuleFailed)
                    else 'error',
                },
            )
            after = {
                **after,
                'provision_state': 'inspect failed',
                'instance_uuid': None,
            }
        return entry, after


def query(specs):
    """Return what Nova asks Placement for."""
    groups = collections.defaultdict(lambda: ([], []))
    for key, value in specs.items():
        match = SPEC.fullmatch(key)
        if match and match[1] == 'resources' and int(value):
            groups[match[2]][0].append(f'{match[3]}:{value}')
        elif match and value in ('required', 'forbidden'):
            groups[match[2]][1].append(
                ('!' if value == 'forbidden' else '') + match[3]
            )
    asked = {'group_policy': specs.get('group_policy')}
    for suffix, (resources, traits) in groups.items():
        asked[f'resources{suffix}'] = ','.join(resources)
        asked[f'required{suffix}'] = ','.join(traits)
    return parse.urlencode(
        {name: value for name, value in asked.items() if value}
    )


class PlacementTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if placement.MISSING:
            self.skipTest(placement.MISSING)
        # Each request has many lines to tell.
        self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        self.placement = placement.Placement()
        for name in CLASSES.values():
            self.placement.call('PUT', f'/resource_classes/{name}')
        for name in TRAITS[:3]:
            self.placement.call('PUT', f'/traits/{name}')

    def report(self, nodes):
        """Report nodes; one in use also as if it were free.

        :returns: the nodes that are looked for, by what Placement has.
        """
        found = {}
        for number, node in enumerate(nodes):
            resource_class = CLASSES.get(node['resource_class'])
            used = node['instance_uuid'] is not None
            self.placement.report(
                node['uuid'],
                resource_class,
                not used
                and (
                    node['maintenance']
                    or node['power_state'] == 'error'
                    or node['provision_state'] != 'available'
                ),
                used,
                node['traits'],
            )
            self.placement.report(
                uuid_of(number + 50),
                resource_class if used else None,
                False,
                False,
                node['traits'],
            )
            found[node['uuid']] = ('free', node['uuid'])
            found[uuid_of(number + 50)] = ('in_use', node['uuid'])
        return found

    def candidates(self, nodes, queries):
        """Return who can take each query, free and in use."""
        known = self.report(nodes)
        found = []
        for each in queries:
            some = {'free': set(), 'in_use': set()}
            for provider in self.placement.candidates(each):
                use, node = known[provider]
                some[use].add(node)
            found.append(some)
        return found

    def test_every_number_is_that_of_placement(self):
        seen = collections.Counter()
        for seed in range(FLEETS):
            fleet = Fleet(seed)
            specs = [fleet.extra_specs() for _number in range(8)]
            counted = capacity.Capacity(
                flavor.parse(str(number), each)
                for number, each in enumerate(specs)
            )
            after = []
            for node in fleet.nodes:
                entry, changed = fleet.entry(node)
                counted.add(entry, node)
                after.append(changed)
            queries = list(map(query, specs))
            sides = [
                self.candidates(nodes, queries)
                for nodes in (fleet.nodes, after)
            ]
            for each, spec, *now_then in zip(
                counted.as_list(), specs, *sides, strict=True
            ):
                now, then = now_then
                for side, sets in (('before', now), ('after', then)):
                    numbers = {use: len(each) for use, each in sets.items()}
                    self.assertEqual(
                        numbers, each[side], f'fleet {seed}, {spec}, {side}'
                    )
                    seen.update(
                        {
                            f'{side} {use}': number
                            for use, number in numbers.items()
                        }
                    )
                had, has = (set().union(*sets.values()) for sets in now_then)
                self.assertEqual(
                    had - has, {node['uuid'] for node in each['lost']}
                )
                self.assertEqual(
                    has - had, {node['uuid'] for node in each['gained']}
                )
                self.assertTrue(all(node['rules'] for node in each['lost']))
                seen['lost'] += len(each['lost'])
        # The fleets are worth it.
        self.assertEqual(5, len(seen), seen)
