# SPDX-License-Identifier: Apache-2.0

"""The database is away for a minute while machines are inspected."""

import datetime
import time

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import fleet

AWAY = 60
"""Seconds. Then Ironic takes a conductor for dead that did not report."""

_SOON = 0.1
"""Seconds between two looks at what takes a second or two."""


class DatabaseTestCase(base.IronTestCase):
    def test_all_inspections_go_on_when_it_is_back(self) -> None:
        self.create_rules(*fleet.RULES)
        # The name has a hook take a second.
        ahead = self.small_machine('slow-ahead')
        # A filter that cannot read the database lets no machine pass: what
        # has no lease then must try again.
        behind = self.small_machine('behind', retries=True)
        node_ahead = self.enroll(ahead, iron_cloud.PROBE)
        node_behind = self.enroll(behind, iron_cloud.PROBE)
        self.start_inspection(node_behind)
        behind.wait_for_console(
            'it is in its firmware', 'SeaBIOS (version', pause=_SOON
        )
        behind.suspend()
        self.client.wait_for_state(node_behind, 'inspect wait')
        self.assertNotIn('the kernel has started', behind.console())
        self.start_inspection(node_ahead)
        waiting.wait_for(
            f'{ahead.name}: its inventory is processed',
            lambda: self.is_processed(node_ahead),
            pause=_SOON,
        )
        self.cloud.database.stop()
        stopped = time.time()
        progress.say('the database is away')
        waiting.wait_for(
            'no machine passes', lambda: self.cloud.leader() is None
        )
        offers = self.offers(behind)
        behind.resume()
        time.sleep(AWAY)
        self.assertEqual(offers, self.offers(behind))
        self.cloud.database.start()
        progress.say('the database is back')
        waiting.wait_for(
            'Ironic answers',
            lambda: waiting.answers(f'{self.cloud.ironic.url}/v1/nodes'),
        )
        self.check_inspected(node_ahead, ahead)
        self.check_inspected(node_behind, behind)
        # Else the first one was done before, and all of this showed nothing.
        self.assertGreater(self.finished_at(node_ahead), stopped)

    def is_processed(self, node: str) -> bool:
        """Return whether a worker is at the inventory of a node just now."""
        return bool(
            self.client.call(
                'GET', f'/v1/inspection_requests?node={node}&state=processing'
            )['inspection_requests']
        )

    def finished_at(self, node: str) -> float:
        """Return when the one request of a node ended, since the epoch."""
        (request,) = self.client.call(
            'GET', f'/v1/inspection_requests?node={node}'
        )['inspection_requests']
        return datetime.datetime.fromisoformat(
            request['finished_at']
        ).timestamp()
