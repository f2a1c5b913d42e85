# SPDX-License-Identifier: Apache-2.0

"""The first cause of a failure, where cleaning up fails as well."""

import fixtures
from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.drivers.modules.inspector import interface as ironic_interface

from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.unit.queue import test_attempt


class CleanUpInterface(test_attempt.Interface):
    """One that cleans up as Ironic's agent interface does."""

    def continue_inspection(self, task, inventory, plugin_data):
        super().continue_inspection(task, inventory, plugin_data)
        self.abort(task)

    def abort(self, task):
        ironic_interface.clean_up(task, finish=False, always_power_off=True)


class FirstCauseTestCase(test_attempt.InspectorTestCase):
    """What is said where cleaning up fails too, as Ironic has it."""

    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.inspection_rules.engine.apply_rules',
                lambda *args: None,
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils.store_inspection_data',
                lambda *args, **kwargs: None,
            )
        )
        missing = ironic_exception.MissingParameterValue('no redfish_address')
        self.driver.power.get_power_state.side_effect = missing
        self.driver.power.set_power_state.side_effect = missing

    def inspect(self, provision_state, **trouble):
        self.set_node(provision_state=provision_state, last_error=None)
        self.driver.inspect = CleanUpInterface(**trouble)
        self.assertEqual(delivery.Outcome.FAILED, self.deliver())
        request = self.queue.find(self.request.uuid)
        self.request = self.get(test_attempt.NAME)
        node = self.stored_node()
        self.assertNotIn('transition', request.last_error)
        self.assertNotIn('transition', node.last_error)
        return request.last_error, node


class ErrorTestCase(FirstCauseTestCase):
    def test_a_discovered_node_that_cannot_be_powered_off(self):
        error, node = self.inspect(states.ENROLL)
        self.assertIn('no redfish_address', error)
        self.assertIn('no redfish_address', node.last_error)
        self.assertEqual(states.ENROLL, node.provision_state)

    def test_a_node_that_cannot_be_powered_off(self):
        error, node = self.inspect(states.INSPECTWAIT)
        self.assertIn('no redfish_address', error)
        self.assertIn('no redfish_address', node.last_error)
        self.assertEqual(states.INSPECTFAIL, node.provision_state)

    def test_the_error_of_a_hook_comes_first(self):
        for present in (states.ENROLL, states.INSPECTWAIT):
            error, node = self.inspect(present, call=ValueError('no disk'))
            self.assertIn('no disk', error)
            self.assertIn('no disk', node.last_error)

    def test_the_reason_of_a_refusal_comes_first(self):
        self.set_node(provision_state=states.INSPECTWAIT)
        self.driver.inspect = CleanUpInterface()
        with self.lock() as current:
            current.fail('no way')
        node = self.stored_node()
        self.assertEqual(states.INSPECTFAIL, node.provision_state)
        self.assertRegex(node.last_error, 'no way.*no redfish_address')


class TimeoutTestCase(FirstCauseTestCase):
    event = queue_request.TIMEOUT

    def test_a_timeout_comes_first(self):
        self.set_node(inspection_started_at=test_attempt.LONG_AGO)
        error, node = self.inspect(states.INSPECTWAIT)
        self.assertIn('900', error)
        self.assertRegex(node.last_error, '900 seconds.*no redfish_address')
