# SPDX-License-Identifier: Apache-2.0

"""Reasons agree with what they are the reasons of."""

import ast
import os
import random
import re

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine.run import test_explanation

_COUNT = int(os.environ.get('IR_REASONS', '400'))
"""How many random conditions are tried; 50,000 take a minute."""

_MISSING = re.compile(r'field \{[^}]*\} does not exist')
_ITEM = re.compile(r'item (\d+) of (\d+): ')
_PART = re.compile(
    r'condition (\d+) of (\d+): (.+?) (holds|does not hold) '
    r'\('
)

_DATA = {
    'n': 7,
    's': 'seven',
    'f': 0.5,
    'none': None,
    'yes': True,
    'list': [1, 7, 'seven', 9, None, 7],
    'one': [7],
    'empty': [],
    'disks': [{'a': 1}, {'a': 7}, {'a': 'x'}, {}, {'a': 9}],
}
_FIELDS = (
    'n',
    's',
    'f',
    'none',
    'yes',
    'list',
    'empty',
    'gone',
    's | upper',
    "s | replace('s', 'z')",
)
_LOOPS = (
    '{plugin_data.list}',
    '{plugin_data.one}',
    '{plugin_data.empty}',
    '{plugin_data.gone}',
    '{plugin_data.disks}',
    [0, 1, 7],
    [],
    {'a': 7},
    list(range(10)),
    ['{plugin_data.n}', 's', 3],
)


class Maker:
    """Makes conditions."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def _value(self, in_loop):
        choose = self._random.choice
        kind = self._random.random()
        if in_loop and kind < 0.5:
            return choose(['{item}', '{item}', '{item.a}'])
        if kind < 0.75:
            return f'{{plugin_data.{choose(_FIELDS)}}}'
        return choose(
            [0, 1, 7, 9, '7', 'seven', 'x', None, True, 0.5, [], [7]]
        )

    def _single(self, in_loop):
        choose = self._random.choice
        op = choose(
            [
                'eq',
                'ne',
                'lt',
                'ge',
                'contains',
                'matches',
                'one-of',
                'is-true',
                'is-false',
                'is-none',
                'is-empty',
                'exists',
            ]
        )
        value = self._value(in_loop)
        if op in ('eq', 'ne', 'lt', 'ge'):
            args = [self._value(in_loop) for _each in range(choose([1, 1, 2]))]
            return op, [value, *args]
        if op in ('contains', 'matches'):
            return op, [value, choose(['se', 's.*n', '7', 'S'])]
        if op == 'one-of':
            return op, [value, choose([[1, 7], ['seven', None], []])]
        if op == 'exists':
            value = f'{{plugin_data.{choose(_FIELDS[:8])}}}'
        return op, [value]

    def make(self, depth=0, in_loop=False):
        """Make a condition, with others in it or without."""
        chance = self._random.random
        condition = {}
        if chance() < 0.4:
            condition['loop'] = self._random.choice(_LOOPS)
            in_loop = True
            if chance() < 0.7:
                condition['multiple'] = self._random.choice(
                    ['any', 'all', 'first', 'last']
                )
        if depth < 3 and chance() < 0.35:
            op = self._random.choice(['any-of', 'all-of', 'none-of'])
            condition['conditions'] = [
                self.make(depth + 1, in_loop)
                for _each in range(self._random.randint(1, 4))
            ]
        else:
            op, condition['args'] = self._single(in_loop)
        return {'op': self._random.choice(['', '', '!']) + op, **condition}


def agrees(condition, reason):
    """Return the decision that a reason tells of."""
    if 'loop' in condition:
        if _MISSING.fullmatch(reason) or reason == 'the loop has no items':
            return False
        inner = {
            name: value for name, value in condition.items() if name != 'loop'
        }
        reason = re.sub(r'; \d+ more$', '', reason)
        told = [
            agrees(inner, text) for _match, text in _matches(_ITEM, reason)
        ]
        whole = all if condition.get('multiple') == 'all' else any
        return whole(told)
    op = condition['op'].removeprefix('!')
    inverted = op != condition['op']
    if 'conditions' in condition:
        return _group(op, condition['conditions'], reason) is not inverted
    if _MISSING.match(reason):
        return {
            'exists': inverted,
            'is-none': not inverted,
            'is-empty': not inverted,
            'is-true': inverted,
            'is-false': not inverted,
        }.get(op, False)
    # Without what filters made.
    reason = re.sub(r'; \{[^}]*\} makes .*$', '', reason)
    call = ast.parse(f'f({reason})').body[0]
    arguments = {
        each.arg: ast.literal_eval(each.value) for each in call.value.keywords
    }
    plan = test_explanation.compile_rule({'op': op, 'args': arguments})
    return plan.conditions[0].check(budget.View()) is not inverted


def _group(op, conditions, reason):
    told = {}
    for match, text in _matches(_PART, reason):
        number = int(match[1]) - 1
        assert int(match[2]) == len(conditions)
        assert match[3] == conditions[number]['op']
        told[number] = agrees(conditions[number], text[:-1])
        assert told[number] is (match[4] == 'holds'), (conditions, reason)
    one = any(told.values()) if op != 'all-of' else not all(told.values())
    # One alone decides, or all do.
    assert len(told) == (1 if one else len(conditions)), (op, reason)
    return one if op == 'any-of' else not one


def _matches(pattern, reason):
    """Split a reason where a pattern is outside of quotes and brackets."""
    starts, depth, quote, index = [], 0, '', 0
    while index < len(reason):
        if not quote and not depth:
            match = pattern.match(reason, index)
            if match and (not index or reason[index - 2 : index] == '; '):
                starts.append(match)
                index = max(index, match.end() - (match[0].endswith('(')))
                if index >= len(reason):
                    break
        character = reason[index]
        if quote:
            quote = '' if character == quote else quote
        elif character in '\'"':
            quote = character
        else:
            depth += (character in '([{') - (character in ')]}')
        index += 1
    ends = [match.start() for match in starts[1:]] + [len(reason)]
    return [
        (match, reason[match.end() : end].removesuffix('; '))
        for match, end in zip(starts, ends, strict=True)
    ]


class ReasonTestCase(base.TestCase):
    def test_what_a_reason_tells_gives_the_decision(self):
        first = int(os.environ.get('IR_SEED', '0'))
        decided = {True: 0, False: 0, None: 0}
        for seed in range(first, first + _COUNT):
            condition = Maker(seed).make()
            for mask in ('always', 'never'):
                plan = test_explanation.compile_rule(condition, mask=mask)
                ((result, reason),) = test_explanation.why(plan, **_DATA)
                kept = test_explanation.why(plan, explain=False, **_DATA)
                self.assertEqual([(True, reason)] if result else [], kept)
                decided[result] += 1
                if result is not None:
                    self.assertIs(
                        result,
                        agrees(condition, reason),
                        (seed, condition, reason),
                    )
        # Both must have been asked for, and errors be few.
        self.assertGreater(min(decided[True], decided[False]), _COUNT / 4)
        self.assertLess(decided[None], _COUNT / 4)

    def test_the_reason_names_the_first_item_that_decides(self):
        numbers = list(range(10))
        for multiple, op, told in (
            ('any', 'eq', 'item 8 of 10: values=[7, 7]'),
            ('all', '!eq', 'item 8 of 10: values=[7, 7]'),
            ('first', 'eq', 'item 1 of 10: values=[0, 7]'),
            ('last', 'eq', 'item 10 of 10: values=[9, 7]'),
        ):
            plan = test_explanation.compile_rule(
                {
                    'op': op,
                    'args': ['{item}', 7],
                    'loop': numbers,
                    'multiple': multiple,
                }
            )
            ((_result, reason),) = test_explanation.why(plan)
            self.assertEqual(told, reason)

    def test_the_first_of_many_items_are_told_where_all_decide(self):
        plan = test_explanation.compile_rule(
            {'op': 'lt', 'args': ['{item}', 7], 'loop': [8, 9, 10, 11, 12]}
        )
        self.assertEqual(
            [
                (
                    False,
                    'item 1 of 5: values=[8, 7]; item 2 of 5: values=[9, 7]'
                    '; item 3 of 5: values=[10, 7]; 2 more',
                )
            ],
            test_explanation.why(plan),
        )

    def test_secret_items_are_counted_as_they_are(self):
        plan = test_explanation.compile_rule(
            {
                'op': 'eq',
                'args': ['{item.password}', 'open'],
                'loop': '{plugin_data.users}',
            },
            mask='never',
        )
        self.assertEqual(
            [(True, "item 2 of 2: values=['******', 'open']")],
            test_explanation.why(
                plan,
                explain=False,
                users=[{'password': 'shut'}, {'password': 'open'}],
            ),
        )

    def test_a_loop_over_what_is_hidden_says_so(self):
        plan = test_explanation.compile_rule(
            {
                'op': 'eq',
                'args': ['{item}', 'open'],
                'loop': '{plugin_data.password}',
            },
            mask='never',
        )
        ((result, reason),) = test_explanation.why(
            plan, explain=False, password=['shut', 'open']
        )
        self.assertIs(True, result)
        self.assertNotIn('open', reason)

    def test_machines_decided_at_once_do_not_see_each_other(self):
        told, others = [], []

        class Watched(plugin.Condition):
            def __call__(self, value):
                if others:
                    decide(others.pop())
                return True

        ops = registry.installed()
        plan = compiler.compile_rule(
            model.Rule.from_mapping(
                {
                    'uuid': 'rule',
                    'actions': [{'op': 'log', 'args': ['matches']}],
                    'conditions': [
                        {'op': 'watched', 'args': ['{plugin_data.a}']}
                    ],
                }
            ),
            registry.Registry(
                {'watched': Watched}, {'log': ops.actions['log'].plugin}
            ),
        )

        def decide(name):
            told.append(
                (
                    name,
                    plan.conditions[0]
                    .decide(budget.View({'plugin_data': {'a': name}}))
                    .reason,
                )
            )

        decide('b')
        others.append('c')
        decide('c')
        others.append('b')
        decide('c')
        self.assertEqual(
            [(name, f"value='{name}'") for name, _reason in told], told
        )


class ShowTestCase(base.TestCase):
    def test_values_are_written_as_they_are_kept(self):
        for value in (
            None,
            True,
            1.5,
            'a',
            "it's",
            [],
            {},
            [1, ['a', {}]],
            {'a': {'b': [None]}, '1': 'x'},
        ):
            self.assertEqual(repr(value), reasons.show(value))

    def test_large_values_are_cut(self):
        deep = 'x'
        for _level in range(25):
            deep = {'k': [deep] * 100}
        for value in (
            'x' * 10**7,
            ['x' * 300],
            [1] * 10**6,
            deep,
            {str(number): number for number in range(10**5)},
            10**300,
        ):
            shown = reasons.show(value)
            self.assertEqual(201, len(shown))
            self.assertEqual('…', shown[-1])
