# SPDX-License-Identifier: Apache-2.0

"""Durable inspection on many processes and hosts' worth of servers."""

import os
import socket
import time

import fixtures

from ironic_inspection_rules.tests.functional import coordinator
from ironic_inspection_rules.tests.integration import durable
from ironic_inspection_rules.tests.integration import servers
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

CONDUCTOR = 'ironic-conductor'
_FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'


class ClusterTestCase(durable.DurableTestCase):
    """Topology (b), and what becomes of it when parts of it fail."""

    def setUp(self):
        super().setUp()
        self.useFixture(durable.Sabotage())
        self.database = self.serve(servers.MariaDB)
        self.broker = self.serve(servers.RabbitMQ)
        self.coordinator = self.serve(coordinator.Redis)
        ports = [options.free_port() for _api in range(2)]
        balancer = self.serve(servers.HAProxy, ports)
        directory = self.useFixture(fixtures.TempDir()).path
        self.ironic = launcher.Ironic(
            directory,
            options.merged(
                durable.OPTIONS,
                {
                    'DEFAULT': {
                        'rpc_transport': 'oslo',
                        'transport_url': self.broker.url,
                        'rpc_response_timeout': 10,
                    },
                    'api': {'port': balancer.port},
                    'conductor': {'heartbeat_interval': 1},
                    'coordination': {'backend_url': self.coordinator.url},
                    'database': {'connection': self.database.url},
                    'oslo_messaging_rabbit': {'rabbit_quorum_queue': False},
                },
            ),
            services=(),
        )
        self.addCleanup(self.ironic.stop)
        self.ironic.create_database()
        self.conductors = [self.start_conductor(number) for number in range(2)]
        for port in ports:
            self.ironic.spawn('ironic-api', {'api': {'port': port}})
        self.ironic.start()
        self.use(self.ironic)
        self.workers = self.start_workers(2) + [self.start_late_worker()]

    def serve(self, server, *arguments):
        if reason := server.why_missing():
            self.skipTest(reason)
        return self.useFixture(server(*arguments))

    def start_conductor(self, number: int) -> service.Service:
        return self.ironic.spawn(
            CONDUCTOR, {'DEFAULT': {'host': f'conductor{number}'}}
        )

    def start_late_worker(self) -> service.Service:
        """Start a worker whose clock is 30 seconds fast, if possible."""
        if not os.path.exists(_FAKETIME):
            return self.ironic.spawn(durable.WORKER)
        with (
            fixtures.EnvironmentVariable('LD_PRELOAD', _FAKETIME),
            fixtures.EnvironmentVariable('FAKETIME', '+30s'),
        ):
            return self.ironic.spawn(durable.WORKER)

    def test_parts_of_it_fail(self):
        self.check_all_is_well('before')
        self.check_conductor()
        self.check_broker()
        self.check_coordinator()
        self.check_database()
        self.check_all_is_well('afterwards')

    def make(self, name: str, count: int = 5):
        return self.fleet.make(
            [f'slow-{name}-{number}' for number in range(count)]
        )

    def check_all_is_well(self, when: str):
        machines = self.make(when, 3)
        self.post(machines)
        self.check(machines)

    def check_conductor(self):
        """Kill a conductor: requests that were accepted need none."""
        machines = self.make('conductor')
        self.post(machines)
        self.conductors[0].kill()
        self.check(machines)
        self.conductors[0] = self.start_conductor(0)

    def check_broker(self):
        """Kill the message broker: nobody is woken up, workers look."""
        machines = self.make('broker')
        self.post(machines)
        self.broker.stop()
        self.assertRaises(
            OSError,
            socket.create_connection,
            (self.broker.host, self.broker.port),
        )
        self.check(machines)
        self.broker.start()

    def check_coordinator(self):
        """Kill the coordinator: there is no leader, but work goes on."""
        machines = self.make('coordinator')
        self.post(machines)
        self.coordinator.stop()
        self.check(machines)
        self.coordinator.start()

    def check_database(self):
        """Kill the database for longer than a lease."""
        machines = self.make('database')
        self.post(machines)
        time.sleep(1)
        self.database.stop()
        time.sleep(durable.LEASE + 1)
        self.database.start()
        self.check(machines)
