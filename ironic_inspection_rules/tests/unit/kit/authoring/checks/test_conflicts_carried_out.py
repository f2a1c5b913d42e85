# SPDX-License-Identifier: Apache-2.0

"""Conflicts are compared with what the engine does on machines.

The rules of a pair change what the other one's conditions read.
"""

import itertools
import json
import random

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.authoring.checks import conflicts
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

PAIRS = 400
PLACES = ('a', 'x', 'y')
NUMBERS = (0, 1, 2)
MACHINES = [
    {
        name: value
        for name, value in zip('xy', values, strict=True)
        if value is not None
    }
    for values in itertools.product((None, *NUMBERS), repeat=2)
]


def condition(choose):
    """Return a condition on x or y, or one of two of them."""
    if choose.random() < 0.2:
        either = [plain_condition(choose), plain_condition(choose)]
        return {'op': 'any-of', 'conditions': either}
    return plain_condition(choose)


def plain_condition(choose):
    """Return a condition on x or y."""
    field = f'{{plugin_data.{choose.choice("xy")}}}'
    op = choose.choice(('eq', 'ne', 'one-of', 'exists', '!exists'))
    if op.endswith('exists'):
        return {'op': op, 'args': {'value': field}}
    if op == 'one-of':
        values = choose.sample(NUMBERS, 2)
        return {'op': op, 'args': {'value': field, 'values': values}}
    return {'op': op, 'args': {'values': [field, choose.choice(NUMBERS)]}}


def action(choose, place):
    """Return an action that writes a place, or removes what is there."""
    if choose.random() < 0.2:
        return {'op': 'unset-plugin-data', 'args': {'path': place}}
    value = choose.choice(NUMBERS)
    return {'op': 'set-plugin-data', 'args': {'path': place, 'value': value}}


def rule(choose, name):
    """Return a rule that writes one to three places, each once."""
    places = choose.sample(PLACES, choose.choice((1, 1, 2, 3)))
    actions = [action(choose, place) for place in places]
    if choose.random() < 0.2:
        actions[0]['when'] = [plain_condition(choose)]
    if choose.random() < 0.1:
        actions.append({'op': 'fail', 'args': {'msg': 'x'}})
    conditions = [condition(choose) for _ in range(choose.choice((0, 1, 2)))]
    return {
        'description': name,
        'conditions': conditions,
        'actions': actions,
    }


class CarriedOutTestCase(base.CheckTestCase):
    def run_in_order(self, rules, machine):
        """Return the outcome of rules on a machine."""
        facts = working_copy.Facts(
            inventory={}, plugin_data=machine, node={'extra': {}}, ports=[]
        )
        plans = [
            compiler.compile_rule(subject.rule, registry.installed())
            for subject in rules
        ]
        return evaluation.evaluate({'main': plans}, facts)

    def written(self, subject, outcome):
        """Return what a rule has written, by place."""
        for traced in outcome.traces:
            if traced.rule.uuid != subject.rule.uuid or not traced.matched:
                continue
            places = {}
            for done, declared in zip(
                traced.actions, subject.actions, strict=False
            ):
                path = declared.arguments.get('path')
                if not done.ran or path is None:
                    continue
                places[path] = declared.arguments.get(
                    'value', data_path.ABSENT
                )
            return places
        return {}

    def conflict(self, first, second, machine):
        """Return whether both rules run on a machine, and write otherwise."""
        outcome = self.run_in_order([first, second], machine)
        return self.differ(
            self.written(first, outcome), self.written(second, outcome)
        )

    def conflict_apart(self, first, second, machine):
        """Return the same of the rules where none changes it for the other."""
        mine = self.written(first, self.run_in_order([first], machine))
        theirs = self.written(second, self.run_in_order([second], machine))
        return self.differ(mine, theirs)

    def differ(self, mine, theirs):
        """Return whether two values are written to one place."""
        return any(
            not data_path.is_same(mine[place], theirs[place])
            for place in mine.keys() & theirs.keys()
        )

    def order_decides(self, first, second, machine):
        """Return whether the other order leaves something else."""
        ends = []
        for rules in ((first, second), (second, first)):
            outcome = self.run_in_order(rules, machine)
            left = outcome.facts.plugin_data
            ends.append([left.get(place) for place in PLACES])
        return ends[0] != ends[1]

    def test_conflicts_are_those_that_the_engine_shows(self):
        choose = random.Random(0)
        wrong = []
        said = 0
        for _number in range(PAIRS):
            pair = [rule(choose, 'first'), rule(choose, 'second')]
            first, second = self.rules(json.dumps(pair))
            found = list(conflicts.check([first, second]))
            said += len(found)
            conflicting = any(
                self.conflict(first, second, machine) for machine in MACHINES
            )
            if not found and conflicting:
                wrong.append(('missed', pair))
            if not found or conflicting:
                continue
            if any(
                self.order_decides(first, second, machine)
                for machine in MACHINES
            ):
                continue
            # That no machine meets the conditions of both is another matter:
            # only clear cases of it are looked for.
            if any(
                self.conflict_apart(first, second, machine)
                for machine in MACHINES
            ):
                wrong.append(('false', pair))
        self.assertGreater(said, PAIRS / 20)
        self.assertEqual([], wrong, json.dumps(wrong[:3], indent=1))
