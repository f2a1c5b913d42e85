# SPDX-License-Identifier: Apache-2.0

"""What is asked of two writes does not depend on which comes first."""

import itertools

import z3

from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.tests.unit import base

MAC = '52:54:00:00:00:01'
PLACES = (
    ('node', 'extra'),
    ('node', 'extra', 'a'),
    ('node', 'extra', 'a', 'b'),
    ('node', 'name'),
    ('plugin_data', 'a'),
    cells.TRAITS,
    (*cells.TRAITS, 'CUSTOM_A'),
    (*cells.TRAITS, 'CUSTOM_*'),
    ('ports', MAC, 'extra', 'a'),
    ('ports', states.ANY_PORT, 'extra', 'a'),
)


class ClashTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        alphabet = alphabets.Alphabet({'a', 'b'})
        self.machine = machines.SymbolicMachine(alphabet)

    def written(self):
        """Return values of all kinds, known and unknown ones."""
        inventory = self.machine.root('inventory')
        known = [values.const(value) for value in (1, 'a', [], ['a'])]
        known.append(values.const({'a': 1, 'b': {'b': 2}}))
        return [
            *known,
            values.NOTHING,
            values.unknown('one'),
            values.unknown('other'),
            values.step(inventory, 'hostname'),
            values.step(inventory, 'cpu'),
            values.step(inventory, 'disks'),
        ]

    def writes(self):
        """Return writes of each value at each place."""
        ports = {MAC: logic.text_term(MAC), states.ANY_PORT: z3.String('mac')}
        found = []
        for place, value in itertools.product(PLACES, self.written()):
            port = None
            if place[0] == 'ports':
                port = ports[place[1]]
            found.append(
                states.SymbolicWrite(place, logic.TRUE, value, port=port)
            )
        return found

    def test_either_of_two_writes_may_be_asked(self):
        solver = z3.Solver()
        for one, other in itertools.combinations(self.writes(), 2):
            here = pair.clash(self.machine, one, other)
            there = pair.clash(self.machine, other, one)
            if here is there or here.eq(there):
                continue
            self.assertEqual(
                z3.unsat,
                solver.check(here != there),
                (one.place, one.value, other.place, other.value),
            )

    def test_either_of_two_values_may_be_asked(self):
        many = values.join(
            (z3.Bool(f'is {number}'), value)
            for number, value in enumerate(self.written() * 2)
        )
        written = [*self.written(), many]
        solver = z3.Solver()
        for one, other in itertools.combinations(written, 2):
            here = values.where_different(self.machine, one, other)
            there = values.where_different(self.machine, other, one)
            if here is not there and not here.eq(there):
                self.assertEqual(z3.unsat, solver.check(here != there))
