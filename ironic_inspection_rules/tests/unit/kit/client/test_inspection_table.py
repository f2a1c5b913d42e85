# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.kit.client import inspection_table
from ironic_inspection_rules.tests.unit import base


class WrittenTableTestCase(base.TestCase):
    def test_every_member_of_a_definition_is_written(self):
        definition = table.TableDefinition(
            'machines',
            'serial',
            of='{inventory.serial}',
            types={'cpus': 'integer'},
            secret=('pin',),
            expect={'cpus': '{inventory.cpu.count}'},
        ).as_dict()
        rows = [{'serial': 'A1', 'cpus': 4}]
        written = inspection_table.convert_to_file_form(
            {**definition, 'name': 'machines', 'revision': 7}, rows
        )
        self.assertEqual({**definition, 'rows': rows}, written)
