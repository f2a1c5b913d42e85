# SPDX-License-Identifier: Apache-2.0

"""A phase pays for what it does, and ends where nothing is left."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.tests.unit import base


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
        allowance.enter_loop(3)
        self.refused('4 items', allowance.enter_loop, 4)
        allowance.make_text(20)
        self.refused('longer than 20', allowance.make_text, 21)
        allowance.make_value(['x' * 16])
        self.refused('larger than 20', allowance.make_value, ['x' * 17])
        allowance.make_value([[]])
        self.refused('deeper than 2', allowance.make_value, [[[]]])

    def test_what_is_written_over_gives_its_room_back(self):
        allowance = budget.Budget(budget.Limits(size=20))
        allowance.write('x' * 15, 1)
        allowance.write('y' * 20, 1, 'x' * 15)
        self.refused('writes more than 20', allowance.write, 'z', 1)

    def test_a_budget_is_in_force_while_its_context_lasts(self):
        outer, inner = (budget.Budget(budget.MAIN) for _each in range(2))
        with budget.in_force(outer):
            with budget.in_force(inner):
                self.assertIs(inner, budget.current())
            self.assertIs(outer, budget.current())
        self.assertIs(budget.UNLIMITED, budget.current())
