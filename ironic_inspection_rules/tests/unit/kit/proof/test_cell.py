# SPDX-License-Identifier: Apache-2.0

"""Fields of the machine that a solver makes up."""

import unittest

from ironic_inspection_rules.tests.unit import base

try:
    from ironic_inspection_rules.kit.proof import alphabet as alphabets
    from ironic_inspection_rules.kit.proof import cell as cells
    from ironic_inspection_rules.kit.proof import machine as machines
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc


class OnlyTestCase(base.TestCase):
    def test_fields_are_made_in_one_order(self):
        # The order of texts in a set is another in every run of Python.
        names = [f'field {number}' for number in range(10, 30)]
        machine = machines.SymbolicMachine(alphabets.Alphabet())
        cell = machine.cell(('plugin_data',), None)
        cell.where_only(reversed(names))
        self.assertEqual(names, list(cell.below))

    def test_a_name_of_the_proof_is_not_one_of_a_rule(self):
        machine = machines.SymbolicMachine(alphabets.Alphabet())
        cell = machine.cell(cells.PROPERTIES, None)
        name = cells.CAPABILITIES[-1]
        has_only = cell.where_only([name])
        self.assertFalse(has_only.eq(cell.where_only([str(name)])))
