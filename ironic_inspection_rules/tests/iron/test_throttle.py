# SPDX-License-Identifier: Apache-2.0

"""Four machines that are powered on one after another."""

import time

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import fleet

INTERVAL = 20
"""Seconds between two power-ons; about what the boot of a probe takes."""

AT_ONCE = 2
"""Inventories that are processed at once: one by each worker process."""


class ThrottleTestCase(base.IronTestCase):

    def test_all_are_inspected_in_their_turn(self) -> None:
        self.reconfigure({'inspection_queue': {
            'reboot_throttle': INTERVAL, 'workers': 1}})
        self.create_rules(*fleet.RULES)
        machines = {}
        for number in range(4):
            # The name has a hook take a second.
            machine = self.small_machine(f'slow-{number}')
            machines[self.enroll(machine, iron_cloud.PROBE)] = machine
        began = time.monotonic()
        for node in machines:
            self.start_inspection(node)
        for node in machines:
            self.client.wait_for_state(node, 'inspect wait')
        starting = self.client.call(
            'GET', '/v1/inspection_requests?state=starting')
        self.assertNotEqual([], starting['inspection_requests'])
        waiting_for = dict(machines)
        for turn in range(1, 5):
            node = self.wait_until_any_is_on(waiting_for)
            del waiting_for[node]
            # An interval passes before the first power-on, too.
            self.assertGreaterEqual(time.monotonic() - began,
                                    turn * INTERVAL)
        waiting.wait_for('all are inspected', self.are_all_inspected)
        for node, machine in machines.items():
            self.check_inspected(node, machine)

    def wait_until_any_is_on(self, machines) -> str:
        """Return the node of the first of these machines that is on."""
        on = []

        def look() -> bool:
            self.check_processing()
            on.extend(node for node, machine in machines.items()
                      if machine.was_on)
            return bool(on)

        waiting.wait_for('a machine is powered on', look)
        return on[0]

    def are_all_inspected(self) -> bool:
        self.check_processing()
        nodes = self.client.call('GET', '/v1/nodes')['nodes']
        return all(node['provision_state'] in ('manageable', 'inspect failed')
                   for node in nodes)

    def check_processing(self) -> None:
        """Fail if more is processed than there are workers."""
        processing = self.client.call(
            'GET', '/v1/inspection_requests?state=processing')
        self.assertLessEqual(len(processing['inspection_requests']), AT_ONCE)
