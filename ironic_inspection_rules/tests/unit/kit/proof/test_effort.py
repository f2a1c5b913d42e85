# SPDX-License-Identifier: Apache-2.0

"""Limits of the solver that count its steps."""

import unittest

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base

try:
    import z3

    from ironic_inspection_rules.kit.proof import effort
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

RULE = {'uuid': '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10', 'conditions': [
    {'op': 'contains', 'args': ['{inventory.system_vendor.manufacturer}',
                                '(?i)^dell.*x']},
    {'op': 'ge', 'args': ['{inventory.cpu.count}', 8]}],
    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}]}


class EffortTestCase(base.TestCase):

    def verdict(self, **steps):
        self.useFixture(leisure.Leisure(**steps))
        rule = validation.parse(RULE, registry.installed())
        (answer,) = question.Proof([rule], leisure.SECONDS).answers(
            [question.DEAD])
        return answer.verdict

    def test_a_check_ends_after_its_steps(self):
        self.assertEqual('unknown', self.verdict(steps_of_check=10))

    def test_a_search_ends_after_the_steps_of_all_its_checks(self):
        self.assertEqual('unknown', self.verdict(steps_of_search=10))

    def test_enough_steps_are_enough(self):
        self.assertEqual('no', self.verdict())

    def test_steps_are_counted(self):
        solver = z3.Solver()
        before = effort.steps_taken(solver)
        number = z3.Int('number')
        solver.add(number * number == 1369, number > 0)
        self.assertEqual(z3.sat, solver.check())
        self.assertLess(before, effort.steps_taken(solver))
