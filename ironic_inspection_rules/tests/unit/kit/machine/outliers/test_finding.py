# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.machine import part_source
from ironic_inspection_rules.tests.unit import base


class KindsTestCase(base.TestCase):
    def test_a_part_of_every_kind_may_be_odd(self):
        for source in part_source.SOURCES:
            for kind in source.kinds:
                self.assertIn(kind, finding.KINDS_OF_PARTS)


class NumberTestCase(base.TestCase):
    def test_one_of_several_numbers_has_the_unit_of_its_field(self):
        for path, amount, text in (
            ('inventory.memory.physical_mb', 524288.0, '512 GiB'),
            ('inventory.memory.total', 2.0**39, '512 GiB'),
            ('plugin_data.root_disk.size', 960e9, '960 GB'),
            ('inventory.cpu.count', 64.0, '64'),
        ):
            for word in ('', ' least', ' median', ' most'):
                self.assertEqual(
                    text, finding.format_number(path + word, amount), word
                )


class TextTestCase(base.TestCase):
    def of_slot(self, slot):
        odd = finding.Outlier(
            machine='m.json',
            kind=part_source.DIMM,
            what=finding.MISSING,
            slot=slot,
            field='plugin_data.extra.memory',
            has='480 GiB',
            peers=finding.PeerValue('512 GiB', 39, 40),
            odd=6.5,
        )
        return odd.text

    def test_a_missing_part_is_named_by_kind_and_slot(self):
        self.assertEqual(
            'memory 480 GiB, 39 of 40 have 512 GiB: DIMM B4 is missing',
            self.of_slot('B4'),
        )

    def test_a_slot_that_names_the_kind_stands_alone(self):
        for slot in ('DIMM B4', 'DIMM_B4', 'Dimm.Socket.B4'):
            self.assertTrue(
                self.of_slot(slot).endswith(f': {slot} is missing')
            )
