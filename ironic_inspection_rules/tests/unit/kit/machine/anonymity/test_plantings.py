# SPDX-License-Identifier: Apache-2.0

"""Identifiers planted by chance: none is left, and nothing else changes."""

import json
import os

from ironic_inspection_rules.kit.machine.anonymity import machine
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.machine.anonymity import marking
from ironic_inspection_rules.tests.unit.kit.machine.anonymity import plantings
from ironic_inspection_rules.tests.unit.kit.machine.anonymity import verdict

PLANTINGS = int(os.environ.get('IR_PLANTINGS', '1000'))
"""20,000 with ``make plantings``."""
SEED = int(os.environ.get('IR_PLANTINGS_SEED', '1'))
_A_MACHINE = 25  # Plantings.
_FILES_OF_A_KEY = 10
_SHOWN = 50


class PlantingsTestCase(base.TestCase):
    def _check(self, numbers, published=None):
        """Return what is wrong with machines that have the same key."""
        seed = f'{SEED} {numbers[0]}'
        site = plantings.site(seed)
        key = seed.encode()
        check = verdict.Check()
        for number in numbers:
            anonymizer = machine.Anonymizer(key)
            marked = None
            if published:
                marked = marking.fixed(
                    published, anonymizer.machine(published)
                )
            planter = plantings.Planter(
                f'{SEED} {number}', _A_MACHINE, site, marked
            )
            given = marking.rendered(planter.machine)
            before = json.dumps(given)
            made = anonymizer.machine(given)
            self.assertEqual(before, json.dumps(given))
            check.compare(planter.machine, made, f'machine {number}')
            check.check_gone(planter.identifiers, made)
        check.check_different()
        return check.problems

    def test_nothing_is_left_and_nothing_else_changes(self):
        problems = []
        machines = range(-(-PLANTINGS // _A_MACHINE))
        for first in machines[::_FILES_OF_A_KEY]:
            problems += self._check(machines[first : first + _FILES_OF_A_KEY])
        self.assertEqual('', '\n'.join(problems[:_SHOWN]))

    def test_published_inventories_hide_them_as_well(self):
        problems = []
        count = max(2, PLANTINGS // _A_MACHINE // 50)
        for path in sorted(
            (shared_data.directory() / 'inventories').iterdir()
        ):
            problems += [
                f'{path.name}: {problem}'
                for problem in self._check(
                    range(count), json.loads(path.read_text())
                )
            ]
        self.assertEqual('', '\n'.join(problems[:_SHOWN]))
