# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.machine import part_source
from ironic_inspection_rules.tests.unit import base


class KindsTestCase(base.TestCase):
    def test_a_part_of_every_kind_may_be_odd(self):
        for source in part_source.SOURCES:
            for kind in source.kinds:
                self.assertIn(kind, finding.KINDS_OF_PARTS)
