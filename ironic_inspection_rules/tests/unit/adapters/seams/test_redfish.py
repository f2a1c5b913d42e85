# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import inspect

from ironic_inspection_rules.adapters.seams import redfish
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.tests.unit.adapters import base


class KeepPropertiesTestCase(base.GlueTestCase):

    def test_ironic_takes_the_mapping_first_and_puts_it_back_last(self):
        source = inspect.getsource(redfish._stock_inspect_hardware)
        taken = 'inspected_properties = task.node.properties'
        put_back = 'task.node.properties = inspected_properties'
        self.assertIn(taken, source)
        self.assertIn('run_inspection_hooks', source.partition(taken)[2])
        self.assertIn(put_back,
                      source.partition('run_inspection_hooks')[2])

    def test_the_node_keeps_its_mapping_when_it_is_saved(self):
        node = self.task.node
        held = node.properties
        held['memory_mb'] = 4096
        node.extra = {'a': 1}
        node.save()
        self.assertIsNot(held, node.properties)
        redfish.keep_properties(self.task, held, {'rack': {'row': 7}})
        self.assertIs(held, node.properties)
        self.assertEqual({'memory_mb': 4096, 'rack': {'row': 7}}, held)

    def test_absent_takes_a_property_out(self):
        held = self.task.node.properties
        held['old'] = 1
        redfish.keep_properties(self.task, held, {'old': data_path.ABSENT})
        self.assertEqual({}, held)
