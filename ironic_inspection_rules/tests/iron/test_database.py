# SPDX-License-Identifier: Apache-2.0

"""The database is away for a minute while machines are inspected."""

import time

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import fleet

AWAY = 60
"""Seconds. Then Ironic takes a conductor for dead that did not report."""


class DatabaseTestCase(base.IronTestCase):

    def test_all_inspections_go_on_when_it_is_back(self) -> None:
        self.create_rules(*fleet.RULES)
        # A filter that cannot read the database lets no machine pass: what
        # has no lease then must try again.
        ahead = self.small_machine('ahead', retries=True)
        behind = self.small_machine('behind', retries=True)
        node_ahead = self.enroll(ahead, iron_cloud.PROBE)
        node_behind = self.enroll(behind, iron_cloud.PROBE)
        self.start_inspection(node_ahead)
        ahead.wait_for_console('it is in the ramdisk', 'kernel has started')
        self.start_inspection(node_behind)
        self.client.wait_for_state(node_behind, 'inspect wait')
        ahead.wait_for_console('it has posted', 'the inventory is posted')
        self.cloud.database.stop()
        progress.say('the database is away')
        time.sleep(AWAY)
        self.cloud.database.start()
        progress.say('the database is back')
        waiting.wait_for('Ironic answers', lambda: waiting.answers(
            f'{self.cloud.ironic.url}/v1/nodes'))
        self.check_inspected(node_ahead, ahead)
        self.check_inspected(node_behind, behind)
