# SPDX-License-Identifier: Apache-2.0

"""What is counted and listed as having run did run, in generated rules."""

import collections
import json
import os
import random

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.tests.unit import base

COUNT = int(os.environ.get('IR_COUNTED', '300'))
"""Rule sets that are tried; 10,000 take three minutes."""

MACHINES = 3
UUID = '00000000-0000-4000-8000-%012d'
EMPTY, WHEN, ERROR = reasons.EMPTY_LOOP, reasons.WHEN, reasons.ERROR


class Generator:
    """Makes rules, and machines for them, by chance."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def _item(self):
        item = {
            'n': self._random.randrange(5),
            'v': self._random.choice(['7', '7', '7', 'x']),
        }
        for name in 'nv':
            if self._random.random() < 0.1:
                del item[name]
        return item

    def _items(self):
        return [
            self._item()
            for _number in range(self._random.choice([0, 1, 2, 3]))
        ]

    def machine(self):
        """Return the plugin data of a machine."""
        data = {'k': self._random.randrange(5), 'v': '7'}
        for name in ('one', 'two', 'three'):
            value = self._random.choice(
                [
                    self._items(),
                    self._items(),
                    [],
                    None,
                    self._item(),
                    'text',
                    ...,
                ]
            )
            if value is not ...:
                data[name] = value
        return data

    def _condition(self, looped):
        root = 'item' if looped else 'plugin_data'
        if self._random.random() < 0.2:
            return {'op': 'eq', 'args': [f'{{{root}.v | int}}', 7]}
        name = 'n' if looped else 'k'
        return {
            'op': 'gt',
            'args': [f'{{{root}.{name}}}', self._random.randrange(-1, 5)],
        }

    def _action(self, number):
        choose = self._random.choice
        loop = choose(
            [
                None,
                None,
                [],
                self._items(),
                self._item(),
                {},
                *[
                    f'{{plugin_data.{name}}}'
                    for name in ('one', 'two', 'three')
                ],
            ]
        )
        value = choose(
            [
                'plain',
                '{item.v | int}'
                if loop is not None
                else '{plugin_data.v | int}',
            ]
        )
        op = choose(
            [
                'log',
                'set-plugin-data',
                'set-plugin-data',
                'extend-plugin-data',
                'set-attribute',
                'fail',
            ]
        )
        args = {'path': f'/{number}', 'value': value}
        if op in ('log', 'fail'):
            args = {'msg': value}
        elif op == 'set-attribute':
            args = {'path': f'/extra/{number}', 'value': value}
        action = {'op': op, 'args': args}
        if loop is not None:
            action['loop'] = loop
        if self._random.random() < 0.4:
            action['when'] = [
                self._condition(loop is not None)
                for _each in range(choose([1, 1, 2]))
            ]
        return action

    def rule(self, number):
        """Return a rule as it is posted."""
        conditions = [self._condition(False)] * (self._random.random() < 0.2)
        return {
            'uuid': UUID % number,
            'priority': 100 - number,
            'mode': self._random.choice(['enforce', 'enforce', 'audit']),
            'sensitive': self._random.random() < 0.1,
            'conditions': conditions,
            'actions': [
                self._action(f'{number}-{index}')
                for index in range(self._random.choice([1, 2, 3]))
            ],
        }


class AnError(Exception):
    """An action, or a condition, cannot be carried out."""


def find(text, data):
    """Return what a field of a rule is in some data, None if it is missing."""
    name = text.strip('{}').partition(' ')[0].partition('.')[2]
    value = data.get(name)
    if '| int' not in text or value is None:
        return value
    if value == 'x':
        raise AnError()
    return int(value)


def holds(condition, data):
    """Return whether a condition holds on an item, or on plugin data."""
    field, other = condition['args']
    value = find(field, data)
    if value is None:
        return False
    return value > other if condition['op'] == 'gt' else value == other


def items(action, data):
    """Return what an action runs over, each with the data it reads."""
    if 'loop' not in action:
        return [data]
    loop = action['loop']
    if isinstance(loop, str):
        name = loop.strip('{}').partition('.')[2]
        if name not in data or data[name] == 'text':
            raise AnError()
        loop = data[name]
    if isinstance(loop, dict):
        return [loop]
    return loop or []


def expected(action, data):
    """Return what becomes of an action, and whether it ended inspection.

    This is the model: it knows nothing of the engine.
    """
    ran, over = False, None
    try:
        over = items(action, data)
        for each in over:
            if not all(
                holds(condition, each) for condition in action.get('when', ())
            ):
                continue
            text = action['args'].get('value', action['args'].get('msg'))
            if (
                '{' in text
                and find(text, each) is None
                and ('msg' not in action['args'])
            ):
                raise AnError()
            ran = True
            if action['op'] == 'fail':
                return 'ran', True
    except AnError:
        return ERROR, True
    if ran:
        return 'ran', False
    return (WHEN if over else EMPTY), False


def walk(rules, data):
    """Return what becomes of the actions of the rules, by their UUID.

    :returns: also how it ended: None, ``failed`` or ``error``.
    """
    told = {}
    for rule in rules:
        try:
            if not all(holds(each, data) for each in rule['conditions']):
                continue
        except AnError:
            if rule['mode'] == 'audit':
                continue
            return told, 'error'
        states = told[rule['uuid']] = []
        for action in rule['actions']:
            state, ended = expected(action, data)
            states.append(state)
            if ended:
                if rule['mode'] == 'audit':
                    break
                return told, 'error' if state == ERROR else 'failed'
    return told, None


class Tried:
    """Rules tried on a machine, beside what the model says of them."""

    def __init__(self, written, plans, data):
        self.data = data
        self.facts = working_copy.Facts({}, data, {'extra': {}}, ())
        self.states, self.end = walk(written, data)
        self.evaluated = evaluation.evaluate(plans, self.facts)
        self.kept = runner.run(
            plans['main'], working_copy.WorkingCopy(self.facts), keep=True
        )


class WhatRanTestCase(base.TestCase):
    def generate(self, seed):
        """Yield the rules as posted and as parsed, and machines tried."""
        generator = Generator(seed)
        written = [generator.rule(number) for number in range(3)]
        rules = [
            validation.parse(rule, registry.installed()) for rule in written
        ]
        plans = machine_test.compile_rules(rules)
        return (
            written,
            rules,
            [
                Tried(written, plans, generator.machine())
                for _number in range(MACHINES)
            ],
        )

    def test_coverage_counts_what_ran(self):
        states = collections.Counter()
        for seed in range(COUNT):
            written, rules, machines = self.generate(seed)
            covered = coverage.Coverage(rules)
            watch = coverage.Watch({})
            for tried in machines:
                covered.count_machine(
                    machine_test.MachineTest('m', tried.evaluated), watch
                )
            for rule, shown in zip(
                written, covered.as_dict()['rules'], strict=True
            ):
                if rule['sensitive']:
                    self.assertTrue(shown['withheld'])
                    continue
                for index, action in enumerate(shown['actions']):
                    counts = collections.Counter(
                        tried.states[rule['uuid']][index]
                        for tried in machines
                        if index < len(tried.states.get(rule['uuid'], ()))
                    )
                    states.update(counts)
                    ran = counts.pop('ran', 0)
                    self.assertEqual(
                        (ran, dict(counts)),
                        (action['ran'], action.get('not_run', {})),
                        (seed, rule['actions'][index]),
                    )
        # Each of them must have been asked for.
        self.assertEqual({'ran', EMPTY, WHEN, ERROR}, set(states))

    def test_the_stored_trace_lists_what_ran(self):
        ends = collections.Counter()
        for seed in range(COUNT):
            written, _rules, machines = self.generate(seed)
            for tried in machines:
                ends[tried.end] += 1
                stored = tried.evaluated.facts.plugin_data.get(trace.KEY, {})
                expected = []
                if tried.end != 'error':
                    expected = list(self.summaries(written, tried))
                self.assertEqual(
                    expected, stored.get(model.MAIN, []), (seed, tried.data)
                )
        self.assertEqual({None, 'failed', 'error'}, set(ends))

    def summaries(self, written, tried):
        """Yield what is stored of the rules that matched."""
        for rule in written:
            if rule['uuid'] not in tried.states or rule['mode'] != 'enforce':
                continue
            if rule['sensitive']:
                yield {'uuid': rule['uuid'], 'withheld': True}
            else:
                yield {
                    'uuid': rule['uuid'],
                    'description': None,
                    'actions': self.ran(rule, tried),
                }

    def test_runs_tell_what_ran_and_why_not(self):
        for seed in range(COUNT):
            written, _rules, machines = self.generate(seed)
            for tried in machines:
                kept = json.loads(
                    json.dumps(phase_record.build(tried.kept, 0))
                )
                by_uuid = {
                    rule['uuid']: (kind, rule)
                    for kind in ('rules', 'audit')
                    for rule in kept[kind]
                }
                for rule in written:
                    kind, told = by_uuid.get(rule['uuid'], ('rules', None))
                    matched = rule['uuid'] in tried.states
                    self.assertIs(
                        matched,
                        told is not None
                        and (phase_record.was_matched(kind, told)),
                        (seed, rule),
                    )
                    if matched and not rule['sensitive']:
                        self.assert_kept(rule, tried, told)

    def assert_kept(self, rule, tried, told):
        self.assertEqual(self.ran(rule, tried), told['actions'])
        self.assertEqual(
            [
                (action['op'], state == 'ran', state)
                for action, state in zip(
                    rule['actions'], tried.states[rule['uuid']], strict=False
                )
                if state != 'ran' or action.get('when')
            ],
            [
                (each['action'], each['ran'], self.state(each))
                for each in told.get('when', ())
            ],
        )

    @staticmethod
    def ran(rule, tried):
        return [
            action['op']
            for action, state in zip(
                rule['actions'], tried.states[rule['uuid']], strict=False
            )
            if state == 'ran'
        ]

    @staticmethod
    def state(asked):
        """Return the state that the reason of an action stands for."""
        if 'reason' not in asked:
            return 'ran'
        return {
            'the loop has no items': EMPTY,
            'its conditions do not hold': WHEN,
            'its conditions hold for no item': WHEN,
        }.get(asked['reason'], ERROR)

    def test_dry_runs_tell_what_ran_and_why_not(self):
        for seed in range(COUNT):
            written, _rules, machines = self.generate(seed)
            for tried in machines:
                shown = {
                    each['uuid']: each
                    for each in tried.evaluated.as_dict()['rules']
                }
                for rule in written:
                    states = tried.states.get(rule['uuid'], [])
                    told = shown.get(rule['uuid'], {'actions': []})
                    if told.get('withheld'):
                        self.assertTrue(rule['sensitive'])
                        continue
                    self.assertEqual(
                        [state == 'ran' for state in states],
                        [each.get('ran', True) for each in told['actions']],
                        (seed, rule),
                    )
                    self.assertEqual(
                        [state != 'ran' for state in states],
                        ['reason' in each for each in told['actions']],
                    )
