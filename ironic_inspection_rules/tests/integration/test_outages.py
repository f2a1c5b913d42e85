# SPDX-License-Identifier: Apache-2.0

"""Outages that outlast all retries, of what durable inspection stands on.

``IR_OUTAGE_SECONDS`` makes them longer than here; ``make outages`` does.
"""

import os
import re
import time
import urllib.parse

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional import coordinator
from ironic_inspection_rules.tests.integration import durable
from ironic_inspection_rules.tests.integration import fixtures as ironics
from ironic_inspection_rules.tests.integration import relay
from ironic_inspection_rules.tests.live import options

OUTAGE = float(os.environ.get('IR_OUTAGE_SECONDS', '8'))
"""Seconds; longer than the retries and the lease of the tests."""

START = 60
"""Seconds within which workers begin."""

RECOVERY = 30
"""Seconds within which all works again."""

LINES = 10
"""What a process may log of one outage, however long it is.

A warning and an error for each of its parts, a warning for each attempt.
"""

OPTIONS = options.merged(
    durable.OPTIONS, {'inspection_queue': {'connection_retries': 5}}
)

_OURS = re.compile(r' (?:WARNING|ERROR|CRITICAL) ironic_inspection_rules\.')


class OutageTestCase(durable.DurableTestCase):
    """What an outage may not do, whatever is away."""

    def put_relay(self, url: str, port: int) -> tuple[relay.Relay, str]:
        """Put a relay in front of the server of a URL."""
        parsed = urllib.parse.urlsplit(url)
        between = self.useFixture(
            relay.Relay((parsed.hostname, parsed.port or port))
        )
        user = parsed.netloc.rpartition('@')[0]
        return between, parsed._replace(
            netloc=f'{user}@127.0.0.1:{between.port}'
        ).geturl()

    def mysql(self) -> tuple[relay.Relay, str]:
        """An empty database behind a relay."""
        if reason := database.why_absent('mysql'):
            self.skipTest(reason)
        server = self.useFixture(database.Database('mysql', ready=False))
        return self.put_relay(
            server.engine.url.render_as_string(hide_password=False), 3306
        )

    def ironic_on(self, url: str, overrides: options.Options) -> None:
        ironic = ironics.AllInOne(
            options.merged(
                OPTIONS, {'database': {'connection': url}}, overrides
            )
        )
        ironic._create_database = lambda: ironic.ironic.create_database()
        self.use(self.useFixture(ironic).ironic)

    def pass_outage(self, away, back) -> None:
        """Let something be away for a while."""
        logged = len(self.ironic.logs())
        away()
        time.sleep(OUTAGE)
        back()
        self.logged = self.ironic.logs()[logged:]

    def check_recovery(self, machines) -> None:
        """Fail unless all is done soon, with effects once."""
        done = self.fleet.wait(machines, RECOVERY)
        self.assertEqual(
            {'finished'},
            {request['state'] for request in done.values()},
            [request['last_error'] for request in done.values()],
        )
        self.assertEqual([], self.fleet.problems(machines))

    def check_log(self) -> None:
        """Fail if the log grows with the outage."""
        # Tracebacks repeat the beginning of their first line.
        lines = {
            ' '.join(line.split()[:2]): line
            for line in self.logged.splitlines()
            if _OURS.search(line)
        }
        self.assertLessEqual(
            len(lines), LINES * len(self.ironic.services), [*lines.values()]
        )


class InTurnTestCase(OutageTestCase):
    """One after the other is away, while there is work."""

    def start(self, **options_of_queue) -> None:
        """Start Ironic on a database, a broker and a coordination service."""
        self.useFixture(durable.Sabotage())
        if reason := coordinator.Redis.why_missing():
            self.skipTest(reason)
        self.redis = self.useFixture(coordinator.Redis())
        self.database, url = self.mysql()
        self.broker, bus = self.put_relay(
            self.useFixture(ironics.MessageBus()).url, 5672
        )
        self.ironic_on(
            url,
            {
                'DEFAULT': {
                    'rpc_transport': 'oslo',
                    'transport_url': bus,
                    'rpc_response_timeout': 10,
                },
                # Ironic's API refuses data until it sees a living conductor.
                'conductor': {'heartbeat_interval': 1},
                'coordination': {'backend_url': self.redis.url},
                'inspection_queue': {
                    'inspection_timeout': 10,
                    **options_of_queue,
                },
            },
        )

    def check_each(self) -> None:
        self.check_away('database', self.database.cut, self.database.join)
        self.check_away('coordinator', self.redis.stop, self.redis.start)
        self.check_leader_tasks()
        self.check_away('broker', self.broker.cut, self.broker.join)

    def check_away(self, name, away, back) -> None:
        """Post before and after an outage; all is to be done soon."""
        before = self.fleet.make(
            [f'slow-{name}-{number}' for number in range(4)]
        )
        self.post(before)
        self.pass_outage(away, back)
        after = self.fleet.make(
            [f'after-{name}-{number}' for number in range(2)]
        )
        self.post(after)
        self.check_recovery(before + after)
        self.check_log()

    def check_leader_tasks(self) -> None:
        """Leave a node waiting: only the leader has it time out."""
        (late,) = self.fleet.make(['late'])
        request = self.fleet.wait([late], RECOVERY)[late.uuid]
        self.assertEqual('timeout', request['event'])
        self.client.wait_for_state(late.uuid, 'inspect failed')


class EmbeddedTestCase(InTurnTestCase):
    """The all-in-one Ironic and its embedded worker."""

    def test_each_is_away_in_turn(self) -> None:
        self.start(embedded=True)
        self.check_each()


class WorkersTestCase(InTurnTestCase):
    """Separate workers."""

    def test_each_is_away_in_turn(self) -> None:
        # Long, so that work is only found in time by wake-ups.
        self.start(embedded=False, get_timeout=20)
        workers = self.start_workers(2)
        # A service that cannot start ends, and is started again by systemd.
        deadline = time.monotonic() + START
        while workers[0].output().count(' starts with ') < len(workers):
            self.assertLess(time.monotonic(), deadline, workers[0].output())
            time.sleep(0.1)
        self.check_each()


class WakeUpTestCase(OutageTestCase):
    """Wake-ups over RabbitMQ, without which this takes minutes."""

    def setUp(self) -> None:
        super().setUp()
        if reason := database.why_absent('mysql'):
            self.skipTest(reason)
        self.ironic_on(
            self.mysql()[1],
            {
                'DEFAULT': {
                    'rpc_transport': 'oslo',
                    'transport_url': self.useFixture(ironics.MessageBus()).url,
                },
                'inspector': {'hooks': '$default_hooks,inspection-rules'},
                'inspection_queue': {'embedded': False, 'get_timeout': 600},
            },
        )
        [self.worker] = self.start_workers(1)

    def test_a_posted_inventory_wakes_a_worker(self) -> None:
        for number in range(3):
            machines = self.fleet.make([f'{number}-a', f'{number}-b'])
            self.post(machines)
            self.check_recovery(machines)
