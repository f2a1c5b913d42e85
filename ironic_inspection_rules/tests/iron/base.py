# SPDX-License-Identifier: Apache-2.0

"""What the tests with machines stand on."""

import pathlib
import subprocess
from typing import Any, ClassVar

import fixtures
import testtools

from ironic_inspection_rules.tests.iron import boot_image
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import machine as iron_machine
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

_STABLE = frozenset(
    ['active', 'available', 'enroll', 'inspect failed', 'manageable']
)
_ENDED = frozenset(['error', 'finished'])

Json = dict[str, Any]


class IronTestCase(testtools.TestCase):
    """A test with machines, on a cloud that all tests share.

    A cloud on which a test has failed is not used again.
    """

    _cloud: ClassVar[iron_cloud.Cloud | None] = None

    @classmethod
    def end_cloud(cls) -> None:
        """End the cloud that tests share, if there is one."""
        cloud, IronTestCase._cloud = cls._cloud, None
        if cloud is not None:
            cloud.cleanUp()

    def setUp(self) -> None:
        super().setUp()
        progress.say(self.id().rpartition('.')[2])
        self._failed = False
        self.addOnException(self._give_up)
        self.addCleanup(self._end_failed)
        self.machines: list[iron_machine.Machine] = []
        if self._cloud is None:
            cloud = iron_cloud.Cloud(boot_image.of_environment())
            cloud.setUp()
            IronTestCase._cloud = cloud
        self.cloud = self._cloud
        self.client = self.cloud.ironic.client()
        self.client.patience = waiting.PATIENCE
        self.client.pause = waiting.PAUSE
        self.addCleanup(self.client.close)
        self.addCleanup(self._remove)
        self._logged = {
            name: len(text) for name, text in self.cloud.logs().items()
        }

    def _give_up(self, exc_info: object) -> None:
        """Keep what a person needs who looks for the cause."""
        self._failed = True
        directory = boot_image.FAILED / self.id().rpartition('tests.iron.')[2]
        directory.mkdir(parents=True, exist_ok=True)
        for machine in self.machines:
            directory.joinpath(f'{machine.name}.console').write_text(
                machine.console()
            )
        if self._cloud is not None:
            for name, text in self._cloud.logs().items():
                directory.joinpath(f'{name}.log').write_text(
                    text[self._logged.get(name, 0) :]
                )
        progress.say(f'Consoles and logs: {directory}')

    def _remove(self) -> None:
        """Remove rules and nodes, so that the next test has its own."""
        if self._failed:
            return
        self.check_at_rest()
        self.client.call(
            'PUT', '/v1/inspection_rules', {'rules': [], 'tables': {}}
        )
        for node in self.client.call('GET', '/v1/nodes')['nodes']:
            uuid = node['uuid']
            # Until nothing works on it.
            self.client.wait_for(uuid, lambda shown: True)
            self.client.call('PUT', f'/v1/nodes/{uuid}/maintenance')
            self.client.wait_for(uuid, lambda shown: True)
            self.client.call('DELETE', f'/v1/nodes/{uuid}')

    def _end_failed(self) -> None:
        if self._failed:
            self.end_cloud()

    def machine(self, name: str, **features: Any) -> iron_machine.Machine:
        """Make a machine that is off.

        :param features: as :class:`iron_machine.Machine` takes them.
        """
        machine = self.useFixture(
            iron_machine.Machine(self.cloud.bmc.directory, name, **features)
        )
        self.machines.append(machine)
        return machine

    def small_machine(
        self, name: str, **features: Any
    ) -> iron_machine.Machine:
        """Make a machine that is large enough for a probe, and off."""
        return self.machine(name, memory=384, **features)

    def enroll(
        self,
        machine: iron_machine.Machine,
        ramdisk: dict[str, str] = iron_cloud.AGENT,
        **fields: Any,
    ) -> str:
        """Enroll a machine by its BMC and its address; return the UUID.

        :param ramdisk: what it boots, {} if Ironic is not to manage that.
        """
        driver_info = self.cloud.bmc.driver_info(machine.uuid) | ramdisk
        node = self.client.enroll(
            [machine.mac],
            name=machine.name,
            driver='redfish',
            driver_info=driver_info,
            **fields,
        )
        progress.say(f'{machine.name}: it is enrolled')
        return node

    def reconfigure(self, changes: options.Options) -> None:
        """Have conductor and workers run with other options.

        That is until the end of this test.
        """
        before = {
            group: dict.fromkeys(values)
            | dict(self.cloud.ironic.options.get(group, {}))
            for group, values in changes.items()
        }
        self.cloud.reconfigure(changes)
        self.addCleanup(self._restore, before)

    def _restore(self, before: options.Options) -> None:
        if not self._failed:
            self.cloud.reconfigure(before)

    def set_power(self, node: str, state: str) -> None:
        """Have Ironic power a machine on or off."""
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/power', {'target': state}
        )

    def offers(self, machine: iron_machine.Machine) -> int:
        """Count the addresses that guarded servers have offered a machine."""
        return sum(host.offers(machine.mac) for host in self.cloud.hosts)

    def create_rules(self, *rules: Json) -> None:
        """Create rules that run until the end of this test."""
        for rule in rules:
            self.client.call('POST', '/v1/inspection_rules', rule)

    def start_inspection(self, node: str) -> None:
        """Have Ironic inspect a manageable node; do not wait for it."""
        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'inspect'}
        )

    def boot_for_inspection(
        self, node: str, machine: iron_machine.Machine
    ) -> None:
        """Inspect a node until its machine runs the ramdisk."""
        before = len(machine.console())
        self.start_inspection(node)
        machine.wait_for_console(
            'the ramdisk runs', 'the network is there', before
        )

    def wait_until_inspected(self, node: str) -> Json:
        """Wait until an inspection ends; return the node."""
        shown = self.client.wait_for_state(
            node, 'manageable', 'inspect failed'
        )
        progress.say(f'{shown["name"]}: {shown["provision_state"]}')
        return shown

    def check_inspected(
        self, node: str, machine: iron_machine.Machine, times: int = 1
    ) -> Json:
        """Fail unless a node was inspected, with effects of rules once.

        The rules are those of :data:`fleet.RULES`.

        :param times: how often they have run.
        :returns: the node.
        """
        shown = self.wait_until_inspected(node)
        self.assertEqual(
            (None, 'manageable'),
            (shown['last_error'], shown['provision_state']),
        )
        self.assertEqual(fleet.MARKS * times, shown['extra']['marks'])
        self.assertFalse(machine.is_on)
        requests = self.client.call(
            'GET', f'/v1/inspection_requests?node={node}'
        )['inspection_requests']
        self.assertEqual(
            ['finished'] * times,
            [
                request['state']
                for request in requests
                if request['event'] != 'power-on'
            ],
        )
        return shown

    def check_at_rest(self) -> None:
        """Fail if a node stays locked or waits, or a request is open."""
        waiting.wait_for('nothing is under way', self._is_at_rest)

    def _is_at_rest(self) -> bool:
        for node in self.client.call('GET', '/v1/nodes/detail')['nodes']:
            if node['reservation'] is not None:
                return False
            if node['provision_state'] not in _STABLE:
                return False
        requests = self.client.call('GET', '/v1/inspection_requests')[
            'inspection_requests'
        ]
        return all(request['state'] in _ENDED for request in requests)

    def openstack(self, *arguments: str, ends_with: int = 0) -> str:
        """Run a command of "openstack baremetal", see run_program."""
        return self.run_program(
            'openstack',
            '--os-auth-type',
            'none',
            '--os-endpoint',
            self.cloud.ironic.url,
            'baremetal',
            *arguments,
            ends_with=ends_with,
        )

    def run_program(
        self, name: str, *arguments: str, ends_with: int = 0
    ) -> str:
        """Run a program as an operator does.

        :param ends_with: its only right exit code.
        :returns: what it printed.
        """
        done = subprocess.run(
            [*service.console_script(name), *arguments],
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            ends_with, done.returncode, f'{done.stdout}{done.stderr}'
        )
        return done.stdout

    def apply(self, **files: str) -> None:
        """Apply rule files and their tables.

        :param files: their text, by name; ``_`` stands for the dot.
        """
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in files.items():
            directory.joinpath(name.replace('_', '.')).write_text(text)
        self.openstack(
            'inspection',
            'rule',
            'apply',
            '--yes',
            str(directory / 'rules.yaml'),
        )
        progress.say('rules and table are applied')

    def log(self, name: str) -> str:
        """What a part of the cloud has logged since this test began."""
        return self.cloud.logs()[name][self._logged.get(name, 0) :]
