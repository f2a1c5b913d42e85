# SPDX-License-Identifier: Apache-2.0

"""Quantities in another unit than that of their field are found."""

from ironic_inspection_rules.kit.authoring.checks import shape
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

RULE = """
- conditions: [{{op: ge, args: {{values: ["{{{}}}", {}]}}}}]
  actions: [{{op: fail, args: {{msg: x}}}}]
"""

MEMORY = 'inventory.memory.physical_mb'
DISK = 'inventory.disks[0].size'
TOTAL = 'inventory.memory.total'


class QuantityTestCase(base.CheckTestCase):
    def check(self, check, field, value):
        return [
            message
            for _pointer, message in self.messages(
                check, RULE.format(field, value)
            )
        ]

    def test_the_number_to_write_is_told(self):
        for field, value, number, unit in (
            (MEMORY, '64 GiB', 65536, 'MiB'),
            (MEMORY, '64GB', 61035, 'MiB'),
            (MEMORY, '2t', 2097152, 'MiB'),
            (MEMORY, '1.5 TiB', 1572864, 'MiB'),
            (MEMORY, '3TB', 2861022, 'MiB'),
            ('node.properties.memory_mb', '512 MB', 488, 'MiB'),
            ('node.properties.memory_mb', '512 m', 512, 'MiB'),
            ('node.properties.memory_mb', '8 G', 8192, 'MiB'),
            ('node.properties.local_gb', '480 GB', 447, 'GiB'),
            ('node.properties.local_gb', '1 TiB', 1024, 'GiB'),
            (DISK, '480 GB', 480 * 10**9, 'bytes'),
            (DISK, '7 b', 7, 'bytes'),
            (DISK, '2 kB', 2000, 'bytes'),
            (TOTAL, '2k', 2048, 'bytes'),
            (TOTAL, '2 KiB', 2048, 'bytes'),
            (TOTAL, '3 MiB', 3 << 20, 'bytes'),
            (TOTAL, '3 MB', 3_000_000, 'bytes'),
        ):
            (message,) = self.check(shape.check_units, field, f'"{value}"')
            self.assertIn(
                f'write a number in the unit of the field, {number}:'
                f' {{{field.replace("[0]", ".0")}}} is in {unit}',
                message,
            )

    def test_of_an_unknown_unit_no_number_is_told(self):
        for field, value in (
            (MEMORY, '64 parsec'),
            (MEMORY, '5 %'),
            ('inventory.cpu.count', '8 k'),
        ):
            (message,) = self.check(shape.check_units, field, f'"{value}"')
            self.assertTrue(
                message.endswith('in the unit of the field'), (field, value)
            )

    def test_what_has_no_unit_is_text(self):
        for value in ('"64"', '"GB"', '"64 GB RAM"', '64', 'a64 GB'):
            self.assertEqual([], self.check(shape.check_units, MEMORY, value))

    def test_sizes_that_hardly_any_machine_has_are_found(self):
        for field, value, told in (
            (MEMORY, 4, 'did you mean 4096, which is 4 GiB?'),
            (MEMORY, 64, 'did you mean 65536, which is 64 GiB?'),
            (MEMORY, 192, 'did you mean 196608, which is 192 GiB?'),
            (MEMORY, 2**31, "are hardly any machine's"),
            (DISK, 1, 'did you mean 1073741824, which is 1 GiB?'),
            (TOTAL, 64, 'did you mean 68719476736, which is 64 GiB?'),
            (DISK, 999_999, 'is in bytes'),
        ):
            (message,) = self.check(values.check, field, value)
            self.assertIn(told, message)

    def test_sizes_that_machines_have_are_good(self):
        for field, value in (
            (MEMORY, 5),
            (MEMORY, 256),
            (MEMORY, 512),
            (MEMORY, 2048),
            (MEMORY, 65536),
            (MEMORY, 2**31 - 1),
            (DISK, 0),
            (DISK, 10**6),
            (DISK, 480 * 10**9),
            (TOTAL, 2**40),
            ('node.properties.size', 64),
        ):
            self.assertEqual(
                [], self.check(values.check, field, value), (field, value)
            )
