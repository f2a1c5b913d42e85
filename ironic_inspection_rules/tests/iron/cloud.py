# SPDX-License-Identifier: Apache-2.0

"""An Ironic with all that belongs to it, on a network of machines."""

import pathlib
import shutil
import subprocess
import sys

import fixtures

from ironic_inspection_rules.tests.integration import durable
from ironic_inspection_rules.tests.integration import network
from ironic_inspection_rules.tests.integration import pxe
from ironic_inspection_rules.tests.integration import servers
from ironic_inspection_rules.tests.iron import bmc
from ironic_inspection_rules.tests.iron import boot_image
from ironic_inspection_rules.tests.iron import bridge
from ironic_inspection_rules.tests.iron import dhcp
from ironic_inspection_rules.tests.iron import probe
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.iron import waiting
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options

CONDUCTOR = 'ironic-conductor'
API = 'ironic-api'
WORKER = 'ironic-inspection-worker'

LEASE = 10
"""Seconds after which the work of a dead worker is taken over."""

_API_PORT = 6385
_API_URL = f'http://{bridge.ADDRESS}:{_API_PORT}'
_FILES_URL = f'http://{bridge.ADDRESS}:{dhcp.HTTP_PORT}'
_AGENT_RAMDISK = 'ipa.initramfs'
AGENT = {
    'deploy_kernel': f'{_FILES_URL}/ipa.kernel',
    'deploy_ramdisk': f'{_FILES_URL}/{_AGENT_RAMDISK}',
}
"""What a node needs in ``driver_info`` for Ironic to manage its boot."""
PROBE_RAMDISK = 'probe.initramfs'
PROBE = AGENT | {'deploy_ramdisk': f'{_FILES_URL}/{PROBE_RAMDISK}'}
"""The same with a ramdisk that has no agent."""

_FALLBACK = 'inspector.ipxe'
_HOSTS = (1, 2)
_WORKERS = 2


class Cloud(fixtures.Fixture):
    """MariaDB, RabbitMQ, API, conductor, two workers, two PXE filters.

    The API, the conductor and the workers are processes of their own. Each
    filter is beside its DHCP server in a network namespace.

    :param image: the ramdisk of machines.
    :ivar ironic: API, conductor and workers.
    :ivar bmc: libvirt, and the controllers of machines.
    :ivar hosts: those of the DHCP servers.
    """

    def __init__(self, image: boot_image.BootImage) -> None:
        super().__init__()
        self._image = image

    def _setUp(self) -> None:
        progress.say('Starting MariaDB, RabbitMQ, libvirt, BMCs and Ironic')
        self.bridge = self.useFixture(bridge.Bridge())
        self.bmc = self.useFixture(bmc.Bmc())
        self.database = self.useFixture(servers.MariaDB())
        self.useFixture(durable.Sabotage())
        self.broker = self.useFixture(servers.RabbitMQ())
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.ironic = launcher.Ironic(
            self.directory, self._options(), services=()
        )
        self.addCleanup(self.ironic.stop)
        self._serve_files()
        self.ironic.create_database()
        # All of these start at once.
        self.ironic.spawn(API)
        self._start_conductor_and_workers()
        self.hosts = [self._host(number) for number in _HOSTS]
        self._wait_for_services()
        waiting.wait_for('a PXE filter leads', self.leader)

    def _start_conductor_and_workers(self) -> None:
        self.start_conductor()
        for number in range(_WORKERS):
            self.ironic.spawn(WORKER, {'DEFAULT': {'host': f'worker{number}'}})

    def _wait_for_services(self) -> None:
        self.ironic.start()
        progress.say('Ironic answers')

    def _options(self) -> options.Options:
        return {
            'DEFAULT': {
                'debug': True,
                'my_ip': bridge.ADDRESS,
                'host': 'conductor',
                'rpc_transport': 'oslo',
                'transport_url': self.broker.url,
                'rpc_response_timeout': 20,
                'enabled_hardware_types': 'fake-hardware,redfish',
                'enabled_boot_interfaces': 'ipxe',
                'enabled_bios_interfaces': 'no-bios',
                'enabled_deploy_interfaces': 'direct',
                'enabled_firmware_interfaces': 'no-firmware',
                'enabled_management_interfaces': 'redfish,fake,noop',
                'enabled_power_interfaces': 'redfish,fake',
                'enabled_vendor_interfaces': 'no-vendor',
            },
            'agent': {'deploy_logs_collect': 'never'},
            'api': {
                'host_ip': '0.0.0.0',
                'port': _API_PORT,
                'public_endpoint': _API_URL,
            },
            'auto_discovery': {'enabled': True, 'driver': 'fake-hardware'},
            'conductor': {
                'automated_clean': False,
                # A machine loads what is packed in half the time.
                'disable_zstandard_decompression': True,
                'heartbeat_interval': 2,
            },
            'database': {'connection': self.database.url},
            'deploy': {'http_url': _FILES_URL, 'default_boot_mode': 'bios'},
            'inspection_queue': {
                'enabled': True,
                'embedded': False,
                'lease': LEASE,
                'clean_up_period': 2,
                'connection_retry_interval': 1,
            },
            'inspection_rules': {'keep_history': 90},
            'inspector': {
                'hooks': '$default_hooks,sabotage,inspection-rules',
                'extra_kernel_params': (
                    'ipa-inspection-collectors=default,pci-devices ipa-debug=1'
                ),
            },
            'oslo_messaging_rabbit': {'rabbit_quorum_queue': False},
            'pxe': {
                'ipxe_fallback_script': _FALLBACK,
                'kernel_append_params': (
                    f'nofb vga=normal {dhcp.KERNEL_PARAMETERS}'
                ),
            },
            'service_catalog': {
                'auth_type': 'none',
                'endpoint_override': _API_URL,
            },
        }

    def _serve_files(self) -> None:
        root = self.directory / 'http'
        for name in ('ipa.kernel', _AGENT_RAMDISK):
            shutil.copy(self._image.directory / name, root)
        root.joinpath(PROBE_RAMDISK).write_bytes(
            probe.build(self._image.directory / _AGENT_RAMDISK)
        )
        self.serve_script()
        with self.directory.joinpath('files.log').open('ab') as log:
            server = subprocess.Popen(
                [
                    sys.executable,
                    '-m',
                    'http.server',
                    '--bind',
                    bridge.ADDRESS,
                    '--directory',
                    str(root),
                    str(dhcp.HTTP_PORT),
                ],
                stdout=log,
                stderr=log,
            )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

    def _host(self, number: int) -> dhcp.Host:
        """Make a host whose filter reaches the database and the election."""
        host = self.useFixture(
            dhcp.Host(
                self.bridge,
                number,
                {
                    'auto_discovery': {'enabled': True},
                    'coordination': {
                        'backend_url': f'file://{self.directory}/election'
                    },
                },
            )
        )
        relay = self.useFixture(
            network.Relay(
                host.namespace, (self.database.host, self.database.port)
            )
        )
        url = self.database.url.replace(
            f':{self.database.port}/', f':{relay.port}/'
        )
        host.configure({'database': {'connection': url}})
        host.start()
        return host

    def reconfigure(self, changes: options.Options) -> None:
        """Restart conductor and workers with other options."""
        restarted = [part for part in self.ironic.services if part.name != API]
        # All at once, as it takes each of them seconds.
        for part in restarted:
            part.process.terminate()
        for part in restarted:
            part.stop()
            self.ironic.services.remove(part)
        self.ironic.options = options.merged(self.ironic.options, changes)
        self._start_conductor_and_workers()
        self._wait_for_services()

    def serve_script(self, ramdisk: str = _AGENT_RAMDISK) -> None:
        """Serve the script of machines that Ironic does not boot.

        :param ramdisk: the file that they load.
        """
        script = dhcp.boot_script(_API_URL).replace(_AGENT_RAMDISK, ramdisk)
        self.publish(_FALLBACK, script.encode())

    def publish(self, name: str, content: bytes) -> str:
        """Serve a file to machines; return its URL."""
        self.directory.joinpath('http', name).write_bytes(content)
        return f'{_FILES_URL}/{name}'

    def start_conductor(self) -> None:
        """Start the conductor, also after it was killed."""
        self.conductor = self.ironic.spawn(CONDUCTOR)

    def leader(self) -> pxe.Host | None:
        """The host on which machines pass just now."""
        for host in self.hosts:
            if host.passes:
                return host
        return None

    def logs(self) -> dict[str, str]:
        """What all parts have logged, by name."""
        logs = {
            path.stem: path.read_text(errors='replace')
            for path in self.directory.glob('*.log')
        }
        logs['bmc'] = self.bmc.logs()
        for host in self.hosts:
            logs[f'filter{host.number}'] = host.log()
            logs[f'dnsmasq{host.number}'] = host.dhcp_log.read_text()
        return logs
