# SPDX-License-Identifier: Apache-2.0

import contextlib
import inspect
import types

import fixtures
from ironic.conductor import inspection as conductor_inspection
from ironic.conductor import manager
from ironic.drivers.modules.inspector import agent
from ironic.drivers.modules.inspector import interface
from ironic.objects import node as node_object

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.tests.unit import base


class InspectionTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.seen = []
        for name in ('continue_inspection', 'inspect_hardware'):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f'ironic.conductor.inspection.{name}',
                    getattr(conductor_inspection, name),
                )
            )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.inspection._stock_continue',
                lambda *args: self.seen.append(args),
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.inspection._stock_inspect',
                lambda *args: self.seen.append(args),
            )
        )

    @contextlib.contextmanager
    def around(self, *args):
        self.seen.append(('begins', *args))
        yield
        self.seen.append('ends')

    def test_the_conductor_finds_both_functions_in_their_module(self):
        source = inspect.getsource(manager.ConductorManager)
        for name in ('continue_inspection', 'inspect_hardware'):
            self.assertIn(f'inspection.{name}', source)

    def test_data_of_the_ramdisk_are_processed_inside(self):
        inspection.around_inspection(self.around)
        conductor_inspection.continue_inspection('task', {'cpu': 1}, None)
        self.assertEqual(
            [
                ('begins', 'task', {'cpu': 1}, {}),
                ('task', {'cpu': 1}, None),
                'ends',
            ],
            self.seen,
        )

    def test_a_machine_is_asked_inside(self):
        inspection.around_inspection(self.around)
        conductor_inspection.inspect_hardware('task')
        self.assertEqual([('begins', 'task'), ('task',), 'ends'], self.seen)

    def test_what_is_asked_twice_happens_once(self):
        for _time in range(2):
            inspection.around_inspection(self.around)
        conductor_inspection.inspect_hardware('task')
        self.assertEqual(3, len(self.seen))


class PowerTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.seen = []
        for name in (
            'ironic.drivers.modules.inspector.interface.Common.'
            '_power_on_or_reboot',
            'ironic_inspection_rules.patches.inspection.'
            '_stock_power_on_or_reboot',
        ):
            self.useFixture(
                fixtures.MonkeyPatch(
                    name, lambda interface, task: self.seen.append(task)
                )
            )

    def test_all_power_ons_for_inspection_lead_through_here(self):
        for start in (
            agent.AgentInspect._start_managed_inspection,
            agent.AgentInspect._start_unmanaged_inspection,
        ):
            self.assertIn(
                'self._power_on_or_reboot(task)', inspect.getsource(start)
            )

    def replace(self):
        inspection.replace_power_on(self.seen.append)

    def test_a_machine_is_powered_on_later(self):
        machine = types.SimpleNamespace(node=types.SimpleNamespace(uuid='1'))
        for _time in range(2):
            self.replace()
        interface.Common._power_on_or_reboot(None, machine)
        self.assertEqual(['1'], self.seen)
        inspection.power_on(machine)
        self.assertEqual(['1', machine], self.seen)

    def test_a_pace_that_cannot_be_kept_is_refused(self):
        del interface.Common._power_on_or_reboot
        self.assertRaises(exceptions.Invalid, self.replace)


class FakeNode:
    uuid = 'a-uuid'


class NodeRemovalTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.seen = []
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.objects.node.Node.destroy', node_object.Node.destroy
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.inspection._stock_destroy',
                self.destroy,
            )
        )

    def destroy(self, node):
        self.seen.append('destroyed')

    def test_ironic_removes_nodes_by_this_method(self):
        self.assertIn('node.destroy()', inspect.getsource(manager))

    def test_the_function_is_called_afterwards(self):
        inspection.after_removal(self.seen.append)
        node_object.Node.destroy(FakeNode())
        self.assertEqual(['destroyed', 'a-uuid'], self.seen)

    def test_a_node_that_cannot_be_removed_is_not_forgotten(self):
        def fail(node):
            raise ValueError()

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.inspection._stock_destroy',
                fail,
            )
        )
        inspection.after_removal(self.seen.append)
        self.assertRaises(ValueError, node_object.Node.destroy, FakeNode())
        self.assertEqual([], self.seen)
