# SPDX-License-Identifier: Apache-2.0

"""Durable inspection under faults, on real processes and servers."""

import signal
import time

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.integration import durable
from ironic_inspection_rules.tests.integration import fixtures
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import sabotage


class AllInOneTestCase(durable.DurableTestCase):
    """Topology (a): one process, SQLite, the embedded worker."""

    def setUp(self):
        super().setUp()
        self.useFixture(durable.Sabotage())
        self.use(
            self.useFixture(
                fixtures.AllInOne(
                    options.merged(
                        durable.OPTIONS,
                        {'inspection_queue': {'inspection_timeout': 2}},
                    )
                )
            ).ironic
        )

    def test_inspections_survive_the_process(self):
        machines = self.fleet.make(['plain-1', 'hook-1', 'save-1'])
        # Of a node that is in inspection by then, Ironic says that there is
        # none.
        self.post(machines, repeated=404)
        self.check(machines)
        # Now that no process dies any more: one that dies after it failed the
        # node, and before it ended the request, leaves the state "finished".
        (late,) = self.fleet.make(['late'])
        timed_out = self.fleet.wait([late])[late.uuid]
        self.assertEqual(
            ('timeout', 'error'), (timed_out['event'], timed_out['state'])
        )
        self.client.wait_for_state(late.uuid, 'inspect failed')


class WorkersTestCase(durable.DurableTestCase):
    """Worker processes of their own, on MariaDB."""

    def setUp(self):
        super().setUp()
        if reason := database.why_absent('mysql'):
            self.skipTest(reason)
        self.useFixture(durable.Sabotage())
        server = self.useFixture(database.Database('mysql', ready=False))
        ironic = fixtures.AllInOne(
            options.merged(
                durable.OPTIONS,
                {
                    # One thread: who dies takes no other request along.
                    'inspection_queue': {'embedded': False, 'workers': 1},
                    'database': {
                        'connection': server.engine.url.render_as_string(
                            hide_password=False
                        )
                    },
                },
            )
        )
        ironic._create_database = lambda: ironic.ironic.create_database()
        self.use(self.useFixture(ironic).ironic)

    def test_death_and_retirement(self):
        self.check_workers_that_are_killed()
        self.check_a_worker_that_is_stopped()

    def check_workers_that_are_killed(self):
        """Kill a worker in each step; then nothing is lost or doubled."""
        machines = self.fleet.make([f'{step}-1' for step in sabotage.STEPS])
        (failing,) = self.fleet.make(['raise-1'])
        (deleted,) = self.fleet.make(['deleted'])
        self.post([*machines, failing, deleted])
        # The same inventories once more.
        self.post(machines[:3])
        self.fleet.delete(deleted)
        workers = self.start_workers(3)
        self.check(machines)
        request = self.fleet.wait([failing])[failing.uuid]
        self.assertEqual(('error', 1), (request['state'], request['attempts']))
        # Of the request, which has ended: Ironic may have looked at the power
        # of the node since then, and have cleared its error.
        self.assertIn('sabotage', request['last_error'])
        self.client.wait_for_state(failing.uuid, 'inspect failed')
        self.assertEqual(len(machines) + 1, len(self.fleet.requests()))
        for worker in workers:
            worker.stop()

    def check_a_worker_that_is_stopped(self):
        """Stop a worker under load; it finishes what it has begun."""
        machines = self.fleet.make([f'slow-{number}' for number in range(5)])
        self.post(machines)
        (first,) = self.start_workers(1)
        self.wait_until_begun()
        first.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, first.process.wait(30))
        self.assertEqual(
            [],
            [
                request
                for request in self.fleet.requests()
                if request['state'] == 'processing'
            ],
        )
        self.start_workers(2)
        self.check(machines)
        attempts = {
            request['attempts']
            for request in self.fleet.wait(machines).values()
        }
        self.assertEqual({1}, attempts)

    def wait_until_begun(self):
        deadline = time.monotonic() + 60
        while not any(
            request['state'] == 'processing'
            for request in self.fleet.requests()
        ):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)


class BrokerTestCase(durable.DurableTestCase):
    """API, conductor and worker apart, over RabbitMQ and MariaDB."""

    def setUp(self):
        super().setUp()
        if reason := database.why_absent('mysql'):
            self.skipTest(reason)
        bus = self.useFixture(fixtures.MessageBus())
        server = self.useFixture(database.Database('mysql', ready=False))
        self.use(
            self.useFixture(
                fixtures.Split(
                    server.engine.url.render_as_string(hide_password=False),
                    options.merged(
                        durable.OPTIONS,
                        {
                            'DEFAULT': {
                                'rpc_transport': 'oslo',
                                'transport_url': bus.url,
                            },
                            'inspection_queue': {'embedded': False},
                            'inspector': {
                                'hooks': '$default_hooks,inspection-rules'
                            },
                        },
                    ),
                )
            ).ironic
        )

    def test_an_inspection_from_its_start_to_its_end(self):
        (machine,) = self.fleet.make(['plain-1'])
        self.start_workers(1)
        self.post([machine])
        self.check([machine])


class SplitTestCase(durable.DurableTestCase):
    """Topology (c): JSON-RPC and PostgreSQL; and what operators do."""

    def setUp(self):
        super().setUp()
        if reason := database.why_absent('postgresql'):
            self.skipTest(reason)
        server = self.useFixture(database.Database('postgresql', ready=False))
        self.use(
            self.useFixture(
                fixtures.Split(
                    server.engine.url.render_as_string(hide_password=False),
                    options.merged(
                        durable.OPTIONS,
                        {
                            'inspection_queue': {'reboot_throttle': 1.0},
                            'inspector': {
                                'hooks': '$default_hooks,inspection-rules'
                            },
                        },
                    ),
                )
            ).ironic
        )

    def test_what_operators_do(self):
        inspected, aborted = self.fleet.make(['inspected', 'aborted'])
        (active,) = self.fleet.make(['active'], 'active')
        self.post([inspected, aborted])
        self.check_abortion(aborted)
        self.start_workers(1)
        self.check([inspected])
        self.check_reapplication(inspected, 'manageable', None, 4)
        self.check_reapplication(active, 'active', active.data(), 2)
        self.check_throttle()

    def check_abortion(self, machine):
        """Abort a request: its node fails inspection at once."""
        (request,) = [
            request
            for request in self.fleet.requests()
            if request['node_uuid'] == machine.uuid
        ]
        self.client.call(
            'DELETE', f'/v1/inspection_requests/{request["uuid"]}'
        )
        self.client.wait_for_state(machine.uuid, 'inspect failed')
        request = self.fleet.wait([machine])[machine.uuid]
        self.assertEqual(('error', 0), (request['state'], request['attempts']))
        self.assertIn('abort', request['last_error'])

    def check_reapplication(self, machine, state, data, marks):
        """Process data again: neither state nor power change."""
        before = self.client.node(machine.uuid)
        self.client.call(
            'POST', f'/v1/nodes/{machine.uuid}/inventory/reapply', data
        )
        request = self.fleet.wait([machine])[machine.uuid]
        self.assertEqual(
            ('reapply', 'finished', None),
            (request['event'], request['state'], request['last_error']),
        )
        after = self.client.wait_for_state(machine.uuid, state)
        self.assertEqual(marks, len(after['extra']['marks']))
        for untouched in (
            'power_state',
            'provision_state',
            'boot_mode',
            'provision_updated_at',
            'driver_info',
        ):
            self.assertEqual(before[untouched], after[untouched])
        self.assertEqual(
            fleet.MARKS,
            self.client.stored_data(machine.uuid)['plugin_data']['marks'],
        )

    def check_throttle(self):
        """Start inspections at once: machines are powered on one by one."""
        machines = self.fleet.make(['first', 'second', 'third'], 'manageable')
        began = time.monotonic()
        for machine in machines:
            self.client.call(
                'PUT',
                f'/v1/nodes/{machine.uuid}/states/provision',
                {'target': 'inspect'},
            )
        for machine in machines:
            self.client.wait_for_state(machine.uuid, 'inspect wait')
            self.wait_until_powered_on(machine)
        self.assertLess(len(machines) * 1.0, time.monotonic() - began)

    def wait_until_powered_on(self, machine):
        deadline = time.monotonic() + 60
        while self.client.node(machine.uuid)['power_state'] != 'power on':
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
