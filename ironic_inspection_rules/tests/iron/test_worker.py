# SPDX-License-Identifier: Apache-2.0

"""Workers die while they process what a machine has posted."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.live import fleet


class WorkerTestCase(base.IronTestCase):
    def test_another_worker_takes_over(self) -> None:
        # The name has the worker killed after the first phase, once.
        machine = self.small_machine('phases-1')
        self.create_rules(*fleet.RULES)
        node = self.enroll(machine, iron_cloud.PROBE)
        self.boot_for_inspection(node, machine)
        machine.wait_until_off()
        self.check_inspected(node, machine)
        (request,) = self.client.call(
            'GET', f'/v1/inspection_requests?node={node}'
        )['inspection_requests']
        self.assertEqual(2, request['attempts'])
