# SPDX-License-Identifier: Apache-2.0

"""What the tests of durable inspection stand on."""

from collections.abc import Sequence
import os
import pathlib
import signal

import fixtures

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import sabotage
from ironic_inspection_rules.tests.live import service

LEASE = 3

OPTIONS: options.Options = {
    'inspection_queue': {
        'enabled': True,
        'lease': LEASE,
        'get_timeout': 0.5,
        'workers': 2,
        'clean_up_period': 1,
        'connection_retry_interval': 0.5,
    },
    'inspector': {'hooks': '$default_hooks,sabotage,inspection-rules'},
}

WORKER = 'ironic-inspection-worker'


class Sabotage(fixtures.Fixture):
    """Makes the hook ``sabotage`` known to processes started meanwhile."""

    def _setUp(self) -> None:
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        package = directory / 'sabotage-1.dist-info'
        package.mkdir()
        (package / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: sabotage\nVersion: 1\n'
        )
        (package / 'entry_points.txt').write_text(
            f'[ironic.inspection.hooks]\n{sabotage.ENTRY_POINT}\n'
        )
        (directory / 'memory').mkdir()
        path = os.pathsep.join(
            filter(None, (str(directory), os.environ.get('PYTHONPATH')))
        )
        self.useFixture(fixtures.EnvironmentVariable('PYTHONPATH', path))
        self.useFixture(
            fixtures.EnvironmentVariable(
                sabotage.DIRECTORY, str(directory / 'memory')
            )
        )


class DurableTestCase(base.IntegrationTestCase):
    """A test of durable inspection on an Ironic of its own."""

    def use(self, ironic: launcher.Ironic) -> None:
        """Work with an Ironic that is running."""
        self.ironic = ironic
        self.client = ironic.client()
        self.addCleanup(self.client.close)
        self.fleet = fleet.Fleet(ironic)
        self.addCleanup(self.fleet.close)
        for rule in fleet.RULES:
            self.client.call('POST', '/v1/inspection_rules', rule)

    def start_workers(self, count: int) -> list[service.Service]:
        """Start worker processes."""
        return [self.ironic.spawn(WORKER) for _worker in range(count)]

    def post(
        self, machines: Sequence[fleet.Machine], repeated: int = 202
    ) -> None:
        """Post the data of machines, each of which must be accepted.

        :param repeated: the other status that one may get whose first answer
            was lost.
        """
        answers = self.fleet.post(machines)
        self.assertLessEqual(
            {answer.status_code for answer in answers},
            {202, repeated},
            [answer.text for answer in answers],
        )

    def check(self, machines: Sequence[fleet.Machine]) -> None:
        """Fail unless all machines were inspected, with effects once."""
        done = self.fleet.wait(machines)
        self.assertEqual(
            {'finished'},
            {request['state'] for request in done.values()},
            [request['last_error'] for request in done.values()],
        )
        self.assertEqual([], self.fleet.problems(machines))


def suspend(part: service.Service) -> None:
    """Stop a service, with all of its processes, without ending it."""
    os.killpg(part.process.pid, signal.SIGSTOP)


def resume(part: service.Service) -> None:
    """Let a service go on that was suspended."""
    os.killpg(part.process.pid, signal.SIGCONT)
