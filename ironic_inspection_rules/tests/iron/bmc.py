# SPDX-License-Identifier: Apache-2.0

"""Machines and their controllers: libvirt, and sushy-tools over it."""

import pathlib
import subprocess
import sys
import tempfile

import bcrypt
import fixtures

from ironic_inspection_rules.tests.iron import boot_image
from ironic_inspection_rules.tests.iron import progress
from ironic_inspection_rules.tests.iron import waiting

PORT = 8000
URL = f'http://127.0.0.1:{PORT}'
USER = 'admin'
PASSWORD = 'of-the-bmc'

WITH_STORAGE = '7a2f5c1e-93f4-4b0c-9a6d-0d5f3b1c8e42'
"""The identity of the machine whose BMC knows its disks.

The emulator has that from its configuration. Of other machines it answers to
questions about disks with an error, and Ironic does not inspect them by
Redfish.
"""

_EMULATOR = boot_image.CACHE / 'sushy-tools'
_RELEASE = '2.2.0'

_QEMU = """\
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
remember_owner = 0
"""

_LIBVIRTD = """\
unix_sock_group = "root"
auth_unix_rw = "none"
auth_unix_ro = "none"
"""

_SUSHY = """\
SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = {port}
SUSHY_EMULATOR_AUTH_FILE = '{directory}/users'
SUSHY_EMULATOR_LIBVIRT_URI = 'qemu:///system'
SUSHY_EMULATOR_STATE_DIR = '{directory}'
SUSHY_EMULATOR_IGNORE_BOOT_DEVICE = False
SUSHY_EMULATOR_BOOT_LOADER_MAP = {{
    'UEFI': {{'x86_64': '/usr/share/OVMF/OVMF_CODE_4M.fd'}},
    'Legacy': {{'x86_64': None}},
}}
SUSHY_EMULATOR_SECURE_BOOT_DISABLED_NVRAM = '/usr/share/OVMF/OVMF_VARS_4M.fd'
SUSHY_EMULATOR_STORAGE = {{
    '{stored}': [{{'Id': '1', 'Name': 'RAID', 'StorageControllers': [
        {{'MemberId': '0', 'Name': 'RAID', 'SpeedGbps': 12}}],
        'Drives': ['drive']}}],
}}
SUSHY_EMULATOR_DRIVES = {{
    ('{stored}', '1'): [{{'Id': 'drive', 'Name': 'Drive',
                        'CapacityBytes': 4294967296, 'Protocol': 'SAS'}}],
}}
SUSHY_EMULATOR_VOLUMES = {{('{stored}', '1'): []}}
"""


def prepare_emulator() -> None:
    """Install sushy-tools for Debian's Python, which has libvirt's module.

    :raises: subprocess.CalledProcessError when it cannot be installed.
    """
    if _EMULATOR.exists():
        return
    progress.say(f'Installing sushy-tools {_RELEASE}')
    _EMULATOR.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_EMULATOR.parent) as directory:
        scratch = pathlib.Path(directory, 'venv')
        subprocess.run(
            [
                '/usr/bin/python3',
                '-m',
                'venv',
                '--without-pip',
                '--system-site-packages',
                str(scratch),
            ],
            check=True,
        )
        subprocess.run(
            [
                sys.executable,
                '-m',
                'pip',
                '--disable-pip-version-check',
                '--python',
                str(scratch / 'bin' / 'python'),
                'install',
                '-qq',
                f'sushy-tools=={_RELEASE}',
            ],
            check=True,
        )
        scratch.rename(_EMULATOR)


class Bmc(fixtures.Fixture):
    """One libvirt, and one Redfish service for all of its machines.

    /etc/libvirt, /run and what libvirt writes under /var must be of a mount
    namespace of ours.

    :ivar directory: where machines keep disks and consoles.
    """

    def _setUp(self) -> None:
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        pathlib.Path('/etc/libvirt/qemu.conf').write_text(_QEMU)
        config = self._write('libvirtd.conf', _LIBVIRTD)
        self._start('libvirtd', 'libvirtd', '-f', str(config))
        waiting.wait_for(
            'libvirt answers',
            lambda: (
                not subprocess.run(
                    ['virsh', 'list'], capture_output=True
                ).returncode
            ),
        )
        digest = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        self._write('users', f'{USER}:{digest}\n')
        config = self._write(
            'sushy.conf',
            _SUSHY.format(
                port=PORT, directory=self.directory, stored=WITH_STORAGE
            ),
        )
        # Its scripts name the directory in which it was installed.
        self._start(
            'sushy-emulator',
            str(_EMULATOR / 'bin' / 'python'),
            '-m',
            'sushy_tools.emulator.main',
            '--config',
            str(config),
        )
        waiting.wait_for(
            'the BMCs answer', lambda: waiting.answers(f'{URL}/redfish/v1/')
        )

    def driver_info(self, system: str) -> dict[str, str]:
        """Return how Ironic reaches the BMC of a machine."""
        return {
            'redfish_address': URL,
            'redfish_system_id': f'/redfish/v1/Systems/{system}',
            'redfish_username': USER,
            'redfish_password': PASSWORD,
        }

    def logs(self) -> str:
        """What libvirt and the emulator have logged."""
        return '\n'.join(
            path.read_text(errors='replace')
            for path in self.directory.glob('*.log')
        )

    def _write(self, name: str, text: str) -> pathlib.Path:
        path = self.directory / name
        path.write_text(text)
        return path

    def _start(self, name: str, *command: str) -> None:
        with self.directory.joinpath(f'{name}.log').open('ab') as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
