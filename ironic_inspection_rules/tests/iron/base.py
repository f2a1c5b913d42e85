# SPDX-License-Identifier: Apache-2.0

"""What the tests with machines stand on."""

from typing import Any, ClassVar

import testtools

from ironic_inspection_rules.tests.iron import boot_image
from ironic_inspection_rules.tests.iron import cloud as iron_cloud
from ironic_inspection_rules.tests.iron import machine as iron_machine
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.iron import waiting

FAILED = boot_image.CACHE / 'failed'
"""Consoles and logs of the cases that failed in the last run."""

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
        self.addOnException(self._give_up)
        self.machines: list[iron_machine.Machine] = []
        if self._cloud is None:
            cloud = iron_cloud.Cloud(boot_image.of_environment())
            cloud.setUp()
            IronTestCase._cloud = cloud
        self.cloud = self._cloud
        self.client = self.cloud.ironic.client()
        self.client.patience = waiting.PATIENCE
        self.addCleanup(self.client.close)
        self.addCleanup(self._remove)
        self._logged = {name: len(text)
                        for name, text in self.cloud.logs().items()}

    def _give_up(self, exc_info: object) -> None:
        """Keep what a person needs who looks for the cause."""
        directory = FAILED / self.id().rpartition('tests.iron.')[2]
        directory.mkdir(parents=True, exist_ok=True)
        for machine in self.machines:
            directory.joinpath(f'{machine.name}.console').write_text(
                machine.console())
        if self._cloud is not None:
            for name, text in self._cloud.logs().items():
                directory.joinpath(f'{name}.log').write_text(
                    text[self._logged.get(name, 0):])
        progress.say(f'Consoles and logs: {directory}')

    def _remove(self) -> None:
        """Remove rules and nodes, so that the next test has its own."""
        self.client.call('PUT', '/v1/inspection_rules',
                         {'rules': [], 'tables': {}})
        for node in self.client.call('GET', '/v1/nodes')['nodes']:
            self.client.call('PUT', f'/v1/nodes/{node["uuid"]}/maintenance')
            self.client.call('DELETE', f'/v1/nodes/{node["uuid"]}')

    def machine(self, name: str, **features: Any) -> iron_machine.Machine:
        """Make a machine that is off.

        :param features: as :class:`iron_machine.Machine` takes them.
        """
        machine = self.useFixture(iron_machine.Machine(
            self.cloud.bmc.directory, name, **features))
        self.machines.append(machine)
        return machine

    def enroll(self, machine: iron_machine.Machine, **fields: Any) -> str:
        """Enroll a machine by its BMC and its address; return the UUID."""
        node = self.client.enroll(
            [machine.mac], name=machine.name, driver='redfish',
            driver_info=self.cloud.bmc.driver_info(machine.uuid), **fields)
        progress.say(f'{machine.name}: it is enrolled')
        return node

    def start_inspection(self, node: str) -> None:
        """Have Ironic inspect a manageable node."""
        self.client.call('PUT', f'/v1/nodes/{node}/states/provision',
                         {'target': 'inspect'})

    def log_since_start(self, name: str) -> str:
        """What a part of the cloud has logged during this test."""
        return self.cloud.logs()[name][self._logged.get(name, 0):]
