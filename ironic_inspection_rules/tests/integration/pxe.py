# SPDX-License-Identifier: Apache-2.0

"""Hosts with a DHCP server and a PXE filter, and machines that boot there."""

import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import typing

import fixtures
from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
from oslotest import base
import sqlalchemy as sa
from testtools import content

from ironic_inspection_rules.tests.integration import dhcpv6
from ironic_inspection_rules.tests.integration import network
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

INTERFACE = 'pxe0'
TABLE = f'ironic_inspection_pxe_filter_{INTERFACE}'
PATIENCE = 60
START = 90
"""Seconds within which filters start on a busy machine."""

POLL = 0.1

UNPRIVILEGED = (
    'setpriv',
    '--no-new-privs',
    '--bounding-set',
    '-all,+net_admin',
    '--inh-caps',
    '-all,+net_admin',
)
"""Leaves a command nothing but CAP_NET_ADMIN."""


def wait_for(
    holds: typing.Callable[[], object], patience: float = PATIENCE
) -> bool:
    """Wait until something holds; say whether it did in time."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True


class Nodes(fixtures.Fixture):
    """Ironic's database, written to behind its back.

    :param url: of an empty database, None for a file.
    """

    def __init__(self, url: str | None = None) -> None:
        super().__init__()
        self.url = url

    def _setUp(self) -> None:
        if self.url is None:
            directory = self.useFixture(fixtures.TempDir()).path
            self.url = f'sqlite:///{directory}/ironic.sqlite'
        self._engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        models.Base.metadata.create_all(self._engine)

    def add(self, state: str, *macs: str, interface: str = 'agent') -> str:
        """Enroll a node with ports; return its UUID."""
        uuid = uuidutils.generate_uuid()
        with self._engine.begin() as connection:
            [node] = connection.execute(
                sa.insert(models.Node).values(
                    uuid=uuid,
                    provision_state=state,
                    inspect_interface=interface,
                )
            ).inserted_primary_key
            for mac in macs:
                connection.execute(
                    sa.insert(models.Port).values(
                        uuid=uuidutils.generate_uuid(),
                        node_id=node,
                        address=mac,
                    )
                )
        return uuid

    def set_state(self, uuid: str, state: str) -> None:
        """Put a node into a provision state."""
        with self._engine.begin() as connection:
            connection.execute(
                sa.update(models.Node)
                .where(models.Node.uuid == uuid)
                .values(provision_state=state)
            )

    def readdress(self, old: str, new: str) -> None:
        """Change the address of a port."""
        with self._engine.begin() as connection:
            connection.execute(
                sa.update(models.Port)
                .where(models.Port.address == old)
                .values(address=new)
            )


class Host(fixtures.Fixture):
    """A host with dnsmasq on one interface, and the filter for it.

    :param number: of the host in its network.
    :param configuration: of the filter, besides the interface.
    """

    def __init__(
        self,
        switch: network.Switch,
        number: int,
        configuration: options.Options,
    ) -> None:
        super().__init__()
        self._switch = switch
        self.number = number
        self._configuration = configuration
        self.filter: subprocess.Popen[bytes] | None = None

    def _setUp(self) -> None:
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self._config = directory / 'ironic.conf'
        self._log = directory / 'log'
        self.namespace = self.useFixture(network.Namespace())
        self._switch.plug(
            self.namespace, INTERFACE, f'10.77.{self.number}.1/16'
        )
        network.ip(
            '-n',
            self.namespace.name,
            'address',
            'add',
            f'fd00:77:{self.number}::1/64',
            'dev',
            INTERFACE,
            'nodad',
        )
        dnsmasq = subprocess.Popen(
            self.namespace.command(
                'dnsmasq',
                '--keep-in-foreground',
                '--leasefile-ro',
                '--user=root',
                '--pid-file',
                *self.dhcp_arguments(directory),
            ),
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(dnsmasq.wait)
        self.addCleanup(dnsmasq.kill)
        self.configure({})
        self.addCleanup(self.kill)

    def dhcp_arguments(self, directory: pathlib.Path) -> list[str]:
        """Return what dnsmasq is to give to whom.

        :param directory: for its files.
        """
        subnet = f'10.77.{self.number}'
        return [
            '--conf-file=/dev/null',
            '--port=0',
            f'--interface={INTERFACE}',
            '--bind-interfaces',
            '--no-ping',
            '--dhcp-authoritative',
            f'--dhcp-range={subnet}.10,{subnet}.250,255.255.0.0',
            f'--dhcp-range=fd00:77:{self.number}::10,'
            f'fd00:77:{self.number}::250,64',
        ]

    def configure(self, changes: options.Options) -> None:
        """Change the configuration; the filter reads it when it starts."""
        self._configuration = options.merged(self._configuration, changes)
        self._config.write_text(
            options.as_ini(
                options.merged(
                    {
                        'DEFAULT': {
                            'host': f'host{self.number}',
                            'rpc_transport': 'none',
                            'state_path': self._config.parent,
                        },
                        'inspection_pxe_filter': {
                            'interface': INTERFACE,
                            'sync_period': 0.5,
                            'whitelist_period': 0.5,
                        },
                    },
                    self._configuration,
                )
            )
        )

    def filter_command(self, *wrapper: str) -> list[str]:
        """The command line of the filter in the namespace."""
        return self.namespace.command(
            *wrapper,
            *service.console_script('ironic-inspection-pxe-filter'),
            '--config-file',
            str(self._config),
        )

    def start(self) -> None:
        """Start the filter."""
        with self._log.open('ab') as log:
            self.filter = subprocess.Popen(
                self.filter_command(*UNPRIVILEGED),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def stop(self) -> int:
        """Have the filter end; return its exit code."""
        self.filter.send_signal(signal.SIGTERM)
        return self.filter.wait(PATIENCE)

    def kill(self) -> None:
        """End the filter without a chance to do anything."""
        if self.filter is not None:
            self.filter.kill()
            self.filter.wait()
            self.filter = None

    def log(self) -> str:
        """What the filter has logged."""
        return self._log.read_text() if self._log.exists() else ''

    def elements(self, name: str) -> str:
        """What a set of the table holds just now, '' for nothing."""
        listing = self.namespace.run(
            'nft', 'list', 'set', 'inet', TABLE, name, check=False
        ).stdout
        found = re.search(r'elements = {([^}]*)}', listing)
        return found[1] if found else ''

    @property
    def passes(self) -> bool:
        """Whether machines pass."""
        return bool(self.elements('leader'))

    @property
    def is_guarded(self) -> bool:
        """Whether the guard is in place."""
        return not self.namespace.run(
            'nft', 'list', 'table', 'inet', TABLE, check=False
        ).returncode


class Machine(fixtures.Fixture):
    """A machine that boots from the network, under any address."""

    def __init__(self, switch: network.Switch) -> None:
        super().__init__()
        self._switch = switch

    def _setUp(self) -> None:
        self._namespace = self.useFixture(network.Namespace())
        self._switch.plug(self._namespace, 'boot')

    def _take_address(self, mac: str) -> None:
        for change in (['down'], ['address', mac], ['up']):
            network.ip(
                '-n', self._namespace.name, 'link', 'set', 'boot', *change
            )

    def gets_ipv6_lease(self, mac: str) -> bool:
        """Whether a DHCPv6 server answers to this address."""
        self._take_address(mac)
        ready = wait_for(
            lambda: (
                self._namespace.run(
                    'ip',
                    '-6',
                    'address',
                    'show',
                    'dev',
                    'boot',
                    'scope',
                    'link',
                    '-tentative',
                ).stdout
            )
        )
        done = self._namespace.run(
            sys.executable, dhcpv6.__file__, 'boot', mac, check=False
        )
        if not ready or done.returncode > 1:
            raise AssertionError(done.stderr)
        return not done.returncode

    def gets_lease(self, mac: str) -> bool:
        """Whether a DHCP server answers to this address."""
        self._take_address(mac)
        done = self._namespace.run(
            'udhcpc',
            '--foreground',
            '--quit',
            '--now',
            '--interface',
            'boot',
            '--retries',
            '2',
            '--timeout',
            '1',
            '--script',
            '/bin/true',
            check=False,
        )
        return not done.returncode


class Observer(fixtures.Fixture):
    """Looks all the time which hosts pass.

    :ivar seen: numbers of hosts that passed at once, at one time or another.
    """

    def __init__(self, *hosts: Host) -> None:
        super().__init__()
        self._hosts = hosts
        self._stop = threading.Event()
        self.seen: set[int] = set()

    def _setUp(self) -> None:
        thread = threading.Thread(target=self._look)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self._stop.set)

    def _look(self) -> None:
        while not self._stop.wait(POLL):
            self.seen.add(sum(host.passes for host in self._hosts))


class TestCase(base.BaseTestCase):
    """A test in a network of its own, with one machine in it."""

    def setUp(self) -> None:
        super().setUp()
        unable = network.why_unable()
        if unable:
            self.skipTest(f'no networks to be made here: {unable}')
        self.switch = self.useFixture(network.Switch())
        self.machine = self.useFixture(Machine(self.switch))

    def host(
        self, number: int, **configuration: typing.Mapping[str, typing.Any]
    ) -> Host:
        """Make a host whose filter is not started."""
        host = self.useFixture(Host(self.switch, number, configuration))
        self.addOnException(
            lambda exc_info: self.addDetail(
                f'log {number}', content.text_content(host.log())
            )
        )
        return host

    def wait_for(
        self, holds: typing.Callable[[], object], patience: float = PATIENCE
    ) -> None:
        """Fail unless something holds in time."""
        self.assertTrue(wait_for(holds, patience))

    def check_log(self, host: Host, lines: int) -> None:
        """Fail if a filter has logged more problems than so many."""
        found = re.findall(
            ' (?:WARNING|ERROR) ironic_inspection_rules.*', host.log()
        )
        self.assertLessEqual(len(found), lines, found)
