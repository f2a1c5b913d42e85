# SPDX-License-Identifier: Apache-2.0

"""Files of machines."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.tests.unit.rule_file import files


class MachineFileTestCase(files.FilesTestCase):
    def test_it_may_say_what_was_stored_before(self):
        before = {'inventory': {'cpu': {}}, 'plugin_data': {'a': 1}}
        for more in ({}, {'plugin_data': {'b': 2}}, {'c': 3}):
            read = machine_file.load(
                self.write(
                    'machine.json',
                    {'inventory': files.INVENTORY, **more, 'previous': before},
                )
            )
            self.assertEqual(
                (before, more.get('plugin_data', more)),
                (read.previous, read.plugin_data),
            )

    def test_it_need_not(self):
        read = machine_file.load(self.write('machine.json', files.INVENTORY))
        self.assertIsNone(read.previous)

    def test_what_was_stored_is_a_mapping(self):
        path = self.write(
            'machine.json', {'inventory': files.INVENTORY, 'previous': [1]}
        )
        self.assertRaises(exceptions.InvalidDocument, machine_file.load, path)
