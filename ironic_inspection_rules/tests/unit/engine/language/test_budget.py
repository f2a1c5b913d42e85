# SPDX-License-Identifier: Apache-2.0

"""A phase pays for what it does, and ends where nothing is left."""

import json
import tracemalloc

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.tests.unit import base


def nested(depth):
    """Make lists in lists."""
    value = []
    for _each in range(depth - 1):
        value = [value]
    return value


class BudgetTestCase(base.TestCase):
    def refused(self, reason, call, *args):
        self.assertRaisesRegex(exceptions.BudgetExceeded, reason, call, *args)

    def test_the_last_operation_is_allowed_and_no_more(self):
        for most in (1, 63, 64, 65, 1000):
            allowance = budget.Budget(budget.Limits(operations=most))
            for _each in range(most):
                allowance.spend()
            self.refused(f'more than {most} operations', allowance.spend)

    def test_the_clock_is_looked_at_while_operations_are_paid(self):
        now = 0.0
        self.patch(budget.time, 'monotonic', lambda: now)
        allowance = budget.Budget(budget.Limits(time=2))
        now = 2.0
        self.assertEqual(0.001, allowance.remaining())
        allowance.spend(1000)
        now = 2.1
        self.refused('longer than 2 seconds', allowance.spend, 1000)
        self.refused('longer than 2 seconds', allowance.remaining)

    def test_loops_texts_and_values_have_a_largest_size(self):
        allowance = budget.Budget(budget.Limits(loop=3, size=20, depth=2))
        allowance.check_loop(3)
        self.refused('4 items', allowance.check_loop, 4)
        allowance.make_text(20)
        self.refused('longer than 20', allowance.make_text, 21)
        allowance.make_value(['x' * 16])
        self.refused('larger than 20', allowance.make_value, ['x' * 17])
        allowance.make_value([[]])
        self.refused('deeper than 2', allowance.make_value, [[[]]])

    def test_each_phase_has_the_limits_that_are_documented(self):
        for phase, operations, seconds in (
            ('early', 100_000, 2),
            ('preprocess', 1_000_000, 10),
            ('main', 1_000_000, 10),
        ):
            limits = budget.BY_PHASE[phase]
            self.assertEqual(seconds, limits.time)
            allowance = budget.Budget(limits)
            allowance.spend(operations)
            self.refused(f'more than {operations} operations', allowance.spend)
            allowance = budget.Budget(limits)
            allowance.check_loop(100_000)
            self.refused('100001 items', allowance.check_loop, 100_001)
            allowance.make_value(nested(25))
            self.refused('deeper than 25', allowance.make_value, nested(26))
            allowance.make_text(16 << 20)
            self.refused('longer than', allowance.make_text, (16 << 20) + 1)

    def test_a_value_is_about_as_large_as_its_json(self):
        for value in (
            [1000] * 100,
            [[None] * 99],
            {'a' * 398: 1000},
            [{'a' * 394: True}],
            ['x' * 398],
            [['x' * 396]],
            {'a' * 200: ['x' * 193]},
        ):
            size = len(json.dumps(value))
            budget.Budget(budget.Limits(size=size + 5)).make_value(value)
            self.refused(
                'larger than',
                budget.Budget(budget.Limits(size=size - 8)).make_value,
                value,
            )

    def test_text_costs_an_operation_for_every_256_characters(self):
        allowance = budget.Budget(budget.Limits(operations=4))
        for length in (255, 256, 511, 512):
            allowance.make_text(length)
        self.refused('more than 4 operations', allowance.make_text, 256)

    def test_values_cost_an_operation_for_every_four_items(self):
        allowance = budget.Budget(budget.Limits(operations=5))
        allowance.make_value([0] * 16)
        self.refused('more than 5 operations', allowance.make_value, [])

    def test_what_is_written_over_gives_its_room_back(self):
        allowance = budget.Budget(budget.Limits(size=20))
        allowance.write('x' * 15, ('',))
        allowance.write('y' * 20, ('',), 'x' * 15)
        self.refused('writes more than 20', allowance.write, 'z', ('',))

    def test_where_it_is_written_takes_room(self):
        allowance = budget.Budget(budget.Limits(size=20))
        allowance.write('x' * 10, ('a', 'b'))
        allowance.write('y' * 10, ('abc', 'abcde'), 'x' * 10)
        self.refused('writes more than 20', allowance.write, '', ('a',))

    def test_the_clock_is_looked_at_before_an_item_of_a_loop_is_read(self):
        field = template.compile_value('{item}')
        late = budget.Budget(budget.Limits(time=-1))
        self.refused(
            'longer than', field.render, budget.View({'item': [1]}, late)
        )
        self.assertEqual('a', field.render(budget.View({'item': 'a'}, late)))

    def test_another_budget_pays_while_its_context_lasts(self):
        outer, inner = (budget.Budget(budget.MAIN) for _each in range(2))
        view = budget.View({'node': 1}, outer)
        self.assertRaises(KeyError, self.fail_paid_by, view, inner)
        self.assertIs(outer, view.budget)
        self.assertEqual({'node': 1}, view)
        self.assertIs(budget.UNLIMITED, budget.View().budget)

    def fail_paid_by(self, view, inner):
        with view.paid_by(inner):
            self.assertIs(inner, view.budget)
            raise KeyError


DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text('[]{}"\\,: a\u2200'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('[]{}"\\'), inner),
    max_leaves=20,
)


def height(document):
    """Count the lists and objects around the innermost value."""
    if not isinstance(document, dict | list):
        return 0
    inner = document.values() if isinstance(document, dict) else document
    return 1 + max(map(height, inner), default=0)


def counted(text):
    """Count the lists and objects that are open at once, byte by byte."""
    depth = deepest = 0
    in_string = is_escaped = False
    for byte in text:
        if is_escaped:
            is_escaped = False
        elif in_string:
            is_escaped = byte == ord('\\')
            in_string = byte != ord('"')
        elif byte == ord('"'):
            in_string = True
        elif byte in b'[{':
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b']}':
            depth -= 1
    return deepest


class NestingTestCase(base.TestCase):
    @hypothesis.given(DOCUMENTS)
    def test_json_is_as_deep_as_what_it_stands_for(self, document):
        depth = height(document)
        for text in (
            json.dumps(document),
            json.dumps(document, ensure_ascii=False),
        ):
            self.assertTrue(budget.is_within_depth(text.encode(), depth))
            if depth:
                self.assertFalse(
                    budget.is_within_depth(text.encode(), depth - 1)
                )

    def test_what_is_closed_is_no_depth(self):
        for pair in (b'[],', b'{},', b'[[]],', b'{"a":[]},'):
            text = b'[' + pair * 9 + b'[[[1]]]]'
            self.assertTrue(budget.is_within_depth(text, 4), pair)
            self.assertFalse(budget.is_within_depth(text, 3), pair)

    @hypothesis.given(st.binary(), st.integers(1, 5))
    def test_of_anything_something_is_told(self, text, limit):
        self.assertIsInstance(budget.is_within_depth(text, limit), bool)

    def test_what_is_opened_and_never_closed_counts(self):
        self.assertFalse(budget.is_within_depth(b'["",' * 100_000, 99_999))
        self.assertTrue(budget.is_within_depth(b'[],' * 100_000, 1))

    def test_brackets_in_strings_and_behind_escapes_do_not_count(self):
        for text in (rb'"[[["', rb'"\"[[["', rb'"\\\"[[["', b'"[[[', b'"[\\'):
            self.assertTrue(budget.is_within_depth(text, 0), text)
        for text in (rb'"\\"[', rb'\"["[', b'""[', b'"\\\xff"{'):
            self.assertFalse(budget.is_within_depth(text, 0), text)

    @hypothesis.given(st.text('"\\[]{}, a\u00e4'), st.integers(0, 4))
    def test_it_counts_as_byte_by_byte(self, text, limit):
        self.assertEqual(
            counted(text.encode()) <= limit,
            budget.is_within_depth(text.encode(), limit),
        )

    def test_parts_of_a_text_take_no_memory_of_their_own(self):
        # One for each would take many times the size of the text.
        escapes = b'"' + b'\\n' * 500_000 + b'"'
        strings = b'"a", ' * 200_000
        brackets = b'[' * 1_000_000
        for text in (escapes, strings, brackets):
            tracemalloc.start()
            try:
                budget.is_within_depth(text, 1)
                _now, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            self.assertLess(peak, 4 * len(text))
