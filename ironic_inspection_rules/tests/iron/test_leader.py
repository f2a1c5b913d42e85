# SPDX-License-Identifier: Apache-2.0

"""The leading PXE filter dies while a machine is in iPXE."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import fleet


class LeaderTestCase(base.IronTestCase):
    def test_the_machine_boots_through_the_other(self) -> None:
        # What the first server has offered, the second one does not give: a
        # request names the server that it is for. So iPXE gives up, and the
        # machine has to try again.
        machine = self.small_machine('patient', retries=True)
        self.create_rules(*fleet.RULES)
        node = self.enroll(machine, iron_cloud.PROBE)
        leader = self.cloud.leader()
        self.start_inspection(node)
        waiting.wait_for(
            'its iPXE was offered an address',
            lambda: leader.offers(machine.mac),
        )
        leader.kill()
        progress.say('the leader is killed')
        waiting.wait_for(
            'the other one leads',
            lambda: self.cloud.leader() not in (None, leader),
        )
        self.check_inspected(node, machine)
        leader.start()
