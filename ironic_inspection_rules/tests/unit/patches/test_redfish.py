# SPDX-License-Identifier: Apache-2.0

import fixtures
from ironic.drivers.modules.redfish import inspect as redfish_inspect

from ironic_inspection_rules.patches import redfish
from ironic_inspection_rules.tests.unit.inspection import base


class ReconcilePropertiesTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.task.node.properties = {'old': 1, 'kept': 1}
        self.task.node.save()

    def inspect(self, *steps):
        """Inspect as Ironic does.

        :param steps: functions of the node, in the place of hooks and rules.
        """

        def inspect_hardware(interface, task):
            inspected_properties = task.node.properties
            inspected_properties['memory_mb'] = 4096
            for step in steps:
                step(task.node)
            task.node.properties = inspected_properties
            task.node.save()

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.redfish._stock_inspect_hardware',
                inspect_hardware,
            )
        )
        interface = redfish_inspect.RedfishInspect
        # It is there again after the test.
        self.useFixture(
            fixtures.MockPatchObject(
                interface, 'inspect_hardware', interface.inspect_hardware
            )
        )
        redfish.install(self.note)
        interface.inspect_hardware(interface, self.task)
        return self.stored_node().properties

    def note(self, task, inspection):
        self.inspection = inspection

    def rules(self, **properties):
        """A phase of rules: what it replaces the properties by."""

        def step(node):
            self.inspection.reconcile_properties(node)
            self.seen = dict(node.properties)
            node.properties = properties
            node.save()
            self.inspection.reconcile_properties(node)

        return step

    @staticmethod
    def save_something_else(node):
        node.extra = {'a': 1}
        node.save()

    @staticmethod
    def find(node):
        node.set_property('cpu_arch', 'x86_64')
        node.save()

    def test_what_rules_made_of_them_is_what_stays(self):
        self.assertEqual(
            {'rack': {'row': 7}, 'memory_mb': 1},
            self.inspect(self.rules(rack={'row': 7}, memory_mb=1)),
        )

    def test_rules_see_what_was_found_whatever_was_saved_before(self):
        self.inspect(self.save_something_else, self.rules())

        self.assertEqual({'old': 1, 'kept': 1, 'memory_mb': 4096}, self.seen)

    def test_what_was_found_stays_where_rules_save_something_else(self):
        def step(node):
            self.inspection.reconcile_properties(node)
            self.save_something_else(node)
            self.inspection.reconcile_properties(node)

        self.assertEqual(
            {'old': 1, 'kept': 1, 'memory_mb': 4096}, self.inspect(step)
        )

    def test_what_is_found_between_two_phases_stays(self):
        self.assertEqual(
            {'cpu_arch': 'x86_64', 'last': 1},
            self.inspect(
                self.rules(first=1),
                self.find,
                lambda node: self.rules(
                    last=1, cpu_arch=node.properties['cpu_arch']
                )(node),
            ),
        )
        self.assertEqual({'first': 1, 'cpu_arch': 'x86_64'}, self.seen)
