# SPDX-License-Identifier: Apache-2.0

"""What proofs say of all machines holds on machines made to refute it."""

import collections
import os
import unittest

from ironic_inspection_rules.tests.unit import base

try:
    from ironic_inspection_rules.tests.simulation.proof import leisure
    from ironic_inspection_rules.tests.simulation.proof import search
    from ironic_inspection_rules.tests.simulation.proof import third_party
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

COUNT = int(os.environ.get('IR_PROOFS', 200))
"""Sets of rules; 5,000 with ``make proofs``."""

FIRST = int(os.environ.get('IR_FIRST_PROOF', 0))
WORKERS = 4


class VerdictTestCase(base.TestCase):
    """Each test asks about a share of the sets, so that they run at once."""

    def setUp(self):
        super().setUp()
        self.useFixture(third_party.Installed())
        # One hard set of rules must not take the time of a hundred.
        self.useFixture(
            leisure.Leisure(
                steps_of_check=2_000_000,
                steps_of_question=3_000_000,
                seconds=10,
            )
        )

    def attack(self, share):
        asked = search.Search()
        for seed in range(FIRST + share, FIRST + COUNT, WORKERS):
            asked.seed(seed)
        kinds = collections.Counter()
        for (_question, verdict), number in asked.verdicts.items():
            kinds[verdict] += number
        self.assertEqual([], asked.wrong)
        # A proof that knows nothing is never wrong.
        self.assertGreater(kinds['yes'] + kinds['no'], kinds['unknown'])

    def test_first_share(self):
        self.attack(0)

    def test_second_share(self):
        self.attack(1)

    def test_third_share(self):
        self.attack(2)

    def test_fourth_share(self):
        self.attack(3)
