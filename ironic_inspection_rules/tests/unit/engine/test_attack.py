# SPDX-License-Identifier: Apache-2.0

"""Machines that mean harm."""

import gc
import itertools
import json
import subprocess
import sys
import time
import tracemalloc

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import attack

ITEMS = 2000


class DeathTestCase(base.TestCase):
    def test_no_attack_ends_the_process(self):
        done = subprocess.run(
            [sys.executable, attack.__file__],
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(0, done.returncode, done.stderr[-500:])
        slashes, nesting, itself = json.loads(done.stdout)

        self.assertEqual(['', ['nics']], slashes)
        self.assertIn('deeper than 25 levels', nesting[0])
        self.assertIn('the phase', itself[0])


class BudgetTestCase(base.TestCase):
    def check_exceeded(self, text, *args, **kwargs):
        outcome, data = attack.run(*args, **kwargs)
        self.assertIn('(watched)', str(outcome.error))
        self.assertIn(text, str(outcome.error))
        self.assertFalse(outcome.keeps_changes)

    def test_many_items_take_time_in_proportion(self):
        for action in (
            attack.act('extend-plugin-data', '/a', '{item}'),
            attack.act('extend-plugin-data', '/a', '{item}', True),
            attack.act('extend-plugin-data', '/a', {'b': '{item}'}),
            attack.act('set-plugin-data', '/a/{item}', {'b': 1}),
            attack.act('set-plugin-data', '/passwords/{item}', {'b': 1}),
            attack.act('unset-plugin-data', '/held/{item}'),
            attack.act('unset-plugin-data', '/tokens/{item}'),
        ):
            nics = [f'nic{number}' for number in range(ITEMS)]
            outcome, _data = attack.run(
                [action],
                nics,
                plugin_data={
                    'held': dict.fromkeys(nics, 1),
                    'tokens': dict.fromkeys(nics, 1),
                },
                limits=budget.Limits(time=60, operations=4 * ITEMS),
            )
            self.assertIsNone(outcome.error, action)

    def test_a_phase_ends_after_its_operations(self):
        self.check_exceeded(
            'set-plugin-data: the phase does more than 100 operations',
            [attack.act('set-plugin-data', '/a', 1)],
            [1] * 200,
            limits=budget.Limits(operations=100),
        )

    def test_a_phase_ends_after_its_time(self):
        # A second between two looks at the clock.
        self.patch(self.phase_clock, 'monotonic', itertools.count().__next__)
        self.check_exceeded(
            'set-plugin-data: the phase runs longer than 1 seconds',
            [attack.act('set-plugin-data', '/a', 1)],
            [1] * 200,
            limits=budget.Limits(time=1),
        )

    def test_a_loop_has_no_more_than_so_many_items(self):
        self.check_exceeded(
            'the loop has 101 items, more than 100',
            [attack.act('set-plugin-data', '/a', 1)],
            [1] * 101,
            limits=budget.Limits(loop=100),
        )

    def test_a_loop_of_a_condition_counts_too(self):
        self.check_exceeded(
            'eq: the phase does more than 100 operations',
            [attack.act('set-plugin-data', '/a', 1)],
            [1] * 200,
            [attack.act('eq', '{item}', 2)],
            budget.Limits(operations=100),
        )

    def test_all_expressions_of_a_phase_share_its_time(self):
        self.patch(self.phase_clock, 'monotonic', time.monotonic)
        self.check_exceeded(
            'matches: the phase runs longer than 0.2 seconds',
            [attack.act('set-plugin-data', '/a', 1)],
            ['a' * 60 + 'b'] * 20,
            [attack.act('matches', '{item}', '(a|aa)+$')],
            budget.Limits(time=0.2),
        )

    def test_what_is_written_has_a_size(self):
        for value in ('{item.text}', ['{item.text}'], {'{item.text}': 1}):
            self.check_exceeded(
                'set-plugin-data: the phase writes more than 10000',
                [attack.act('set-plugin-data', '/a/{item.name}', value)],
                [
                    {'name': f'{number}', 'text': 'x' * 1000}
                    for number in range(50)
                ],
                limits=budget.Limits(size=10_000),
            )

    def test_a_path_is_text_that_is_made(self):
        for op, *values in (('set-plugin-data', 1), ('unset-plugin-data',)):
            for path in ('/a/{inventory.nics[0]}/{item}', 'a.{item}'):
                self.check_exceeded(
                    f'{op}: the phase does more than 1000 operations',
                    [attack.act(op, path, *values)],
                    ['x' * 10_000] * 100,
                    limits=budget.Limits(operations=1000),
                )
                self.check_exceeded(
                    f'{op}: the text is longer than 1000 characters',
                    [attack.act(op, path, *values)],
                    ['x' * 1001],
                    limits=budget.Limits(size=1000),
                )

    def test_a_path_is_written_too(self):
        for op, *values in (
            ('set-plugin-data', 1),
            ('set-plugin-data', '{item}'),
            ('extend-plugin-data', 1),
            ('extend-plugin-data', 1, True),
        ):
            self.check_exceeded(
                f'{op}: the phase writes more than 10000 characters',
                [attack.act(op, '/a/{plugin_data.name}', *values)],
                [*range(50)],
                limits=budget.Limits(size=10_000),
                plugin_data={'name': 'x' * 1000},
            )
        self.check_exceeded(
            'unset-plugin-data: the phase writes more than 10000 characters',
            [attack.act('unset-plugin-data', '/{plugin_data.name}/{item}')],
            [*'abcdefghijk'],
            limits=budget.Limits(size=10_000),
            plugin_data={
                'name': 'x' * 1000,
                'x' * 1000: dict.fromkeys('abcdefghijk', 1),
            },
        )

    def test_writing_the_same_place_takes_its_room_once(self):
        outcome, _data = attack.run(
            [attack.act('set-plugin-data', '/a', ['{item}'])],
            [f'{number}' * 500 for number in range(50)],
            limits=budget.Limits(size=10_000),
        )
        self.assertIsNone(outcome.error)

    def test_text_has_a_size(self):
        self.check_exceeded(
            'log: the text is longer than 1000 characters',
            [attack.act('log', 'a {item}')],
            ['x' * 1000],
            limits=budget.Limits(size=1000),
        )

    def test_what_is_made_of_long_text_is_paid_first(self):
        for filters in ('split(",")', 'split', 'sort'):
            self.check_exceeded(
                'the phase does more than 100000 operations',
                [
                    {
                        'op': 'set-plugin-data',
                        'args': [
                            '/a',
                            f'{{inventory.nics[0] | {filters} | length}}',
                        ],
                    }
                ],
                ['a, ' * 1_000_000],
            )

    def test_to_look_for_what_is_masked_is_paid(self):
        data = {'password': 'x', 'held': {'list': [1] * 10_000}}
        for value, more in (
            ('{plugin_data.held | length}', {}),
            ('{vars.held | length}', {'vars': {'held': '{plugin_data.held}'}}),
        ):
            self.check_exceeded(
                'set-plugin-data: the phase does more than 100000 operations',
                [
                    attack.act(
                        'extend-plugin-data', '/held/list', 1, loop=None
                    ),
                    attack.act('set-plugin-data', '/a', value),
                ],
                [1] * 100,
                # From now on there are two forms of all, and of the list.
                [{'op': '!is-empty', 'args': ['{plugin_data}']}],
                plugin_data=data,
                **more,
            )

    def test_a_message_is_paid_whatever_it_is_made_of(self):
        self.check_exceeded(
            'log: the phase does more than 100000 operations',
            [attack.act('log', '{inventory}')],
            ['x' * 1000] * 300,
        )

    def test_what_is_compared_as_text_is_paid(self):
        for values in (
            ['{inventory}', 'x'],
            ['{inventory}', 'x', '{item}'],
            '{inventory.nics}',
        ):
            self.check_exceeded(
                'ge: the phase does more than 100000 operations',
                [attack.act('set-plugin-data', '/a', 1)],
                [['x' * 1000]] * 300,
                [
                    {
                        'op': 'ge',
                        'loop': attack.NICS,
                        'multiple': 'all',
                        'args': {'values': values, 'force_strings': True},
                    }
                ],
            )

    def test_each_filter_is_an_operation(self):
        value = f'{{inventory.nics[0]{" | abs" * 60}}}'
        self.check_exceeded(
            'set-plugin-data: the phase does more than 50 operations',
            [{'op': 'set-plugin-data', 'args': ['/a', value]}],
            [1],
            limits=budget.Limits(operations=50),
        )

    def test_a_number_that_no_text_can_be_made_of_is_none(self):
        nine = 9 * 10**4299
        for value in (
            '{inventory.nics | sum}',
            '{inventory.nics | first | round(-4299)}',
        ):
            self.check_exceeded(
                'the number has too many digits',
                [{'op': 'set-plugin-data', 'args': ['/a', value]}],
                [nine + 9 * 10**4298, nine],
            )

    def test_a_number_is_rounded_to_no_more_digits_than_it_may_have(self):
        outcome, data = attack.run(
            [
                {
                    'op': 'set-plugin-data',
                    'args': [
                        '/a',
                        '{inventory.nics[0] | round(inventory.nics[1])}',
                    ],
                }
            ],
            [7, -(10**9)],
            limits=budget.Limits(time=60),
        )
        self.assertIsNone(outcome.error)
        self.assertEqual({'a': 0}, data)


class MemoryTestCase(base.TestCase):
    def test_nothing_of_a_machine_is_kept(self):
        def inspect(number):
            key = f'{number}' * 100_000
            attack.run(
                [attack.act('set-plugin-data', '/{item}', '{item}')],
                [key],
                [
                    {'op': op, 'args': args}
                    for op, args in (
                        ('eq', ['{inventory.nics[0]}', 1]),
                        ('in-net', ['{inventory.nics[0]}', '10.0.0.0/8']),
                        ('contains', ['{inventory.nics[0]}', '^a+b']),
                    )
                ],
                plugin_data={key: {key: 1}},
            )

        for number in range(10, 20):
            inspect(number)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for number in range(20, 60):
            inspect(number)
        # When it is collected by itself depends on the tests before.
        gc.collect()
        kept, _peak = tracemalloc.get_traced_memory()
        self.assertLess(kept, 500_000)
