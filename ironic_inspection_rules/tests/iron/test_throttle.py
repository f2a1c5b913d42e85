# SPDX-License-Identifier: Apache-2.0

"""Four machines that are powered on one after another."""

import collections
from collections.abc import Iterable
import re
import time

from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import machine as iron_machine
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import fleet

INTERVAL = 15
"""Seconds between two power-ons; about what the boot of a probe takes."""

AT_ONCE = 2
"""Inventories that are processed at once: one by each worker process."""

_STEP = re.compile(
    rf'Request \S+ \({queue_request.CONTINUE}\) of node (\S+), state \w+, '
    r'attempt \d+: (.*)'
)
_BEGINS = 'processing begins'


class ThrottleTestCase(base.IronTestCase):
    def test_all_are_inspected_in_their_turn(self) -> None:
        self.reconfigure(
            {'inspection_queue': {'reboot_throttle': INTERVAL, 'workers': 1}}
        )
        self.create_rules(*fleet.RULES)
        machines = {}
        for number in range(4):
            # The name has a hook take a second.
            machine = self.small_machine(f'slow-{number}')
            machines[self.enroll(machine, iron_cloud.PROBE)] = machine
        began = time.time()
        for node in machines:
            self.start_inspection(node)
        for node in machines:
            self.client.wait_for_state(node, 'inspect wait')
        starting = self.client.call(
            'GET', '/v1/inspection_requests?state=starting'
        )
        self.assertNotEqual([], starting['inspection_requests'])
        waiting.wait_for('all are inspected', self.are_all_inspected)
        for node, machine in machines.items():
            self.check_inspected(node, machine)
        self.check_power_ons(began, machines.values())
        self.check_processing(machines)

    def are_all_inspected(self) -> bool:
        nodes = self.client.call('GET', '/v1/nodes')['nodes']
        return all(
            node['provision_state'] in ('manageable', 'inspect failed')
            for node in nodes
        )

    def check_power_ons(
        self, began: float, machines: Iterable[iron_machine.Machine]
    ) -> None:
        """Fail if a machine was powered on before its turn.

        :param began: when the first inspection was started.
        """
        power_ons = []
        for machine in machines:
            (power_on,) = machine.power_ons()
            power_ons.append(power_on)
        # An interval passes before the first power-on, too.
        for turn, power_on in enumerate(sorted(power_ons), start=1):
            self.assertGreaterEqual(power_on - began, turn * INTERVAL)

    def check_processing(self, nodes: Iterable[str]) -> None:
        """Fail if more was processed at once than there are workers.

        Workers append to one log, so its lines are in the order of events.
        """
        steps = _STEP.findall(self.log(iron_cloud.WORKER))
        by_node = collections.defaultdict(list)
        at_once = 0
        for node, step in steps:
            by_node[node].append(step)
            if step == _BEGINS:
                at_once += 1
            else:
                at_once -= 1
            self.assertLessEqual(at_once, AT_ONCE, steps)
        expected = {node: [_BEGINS, 'done'] for node in nodes}
        self.assertEqual(expected, by_node)
