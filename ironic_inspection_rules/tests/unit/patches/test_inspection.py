# SPDX-License-Identifier: Apache-2.0

import contextlib
import inspect

import fixtures
from ironic.conductor import inspection as conductor_inspection
from ironic.conductor import manager

from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.tests.unit import base


class InspectionTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        self.seen = []
        for name in ('continue_inspection', 'inspect_hardware'):
            self.useFixture(fixtures.MonkeyPatch(
                f'ironic.conductor.inspection.{name}',
                getattr(conductor_inspection, name)))
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.inspection._stock_continue',
            lambda *args: self.seen.append(args)))
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_inspection_rules.patches.inspection._stock_inspect',
            lambda *args: self.seen.append(args)))

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
        self.assertEqual([('begins', 'task', {'cpu': 1}, {}),
                          ('task', {'cpu': 1}, None), 'ends'], self.seen)

    def test_a_machine_is_asked_inside(self):
        inspection.around_inspection(self.around)
        conductor_inspection.inspect_hardware('task')
        self.assertEqual([('begins', 'task'), ('task',), 'ends'], self.seen)

    def test_what_is_asked_twice_happens_once(self):
        for _time in range(2):
            inspection.around_inspection(self.around)
        conductor_inspection.inspect_hardware('task')
        self.assertEqual(3, len(self.seen))
