# SPDX-License-Identifier: Apache-2.0

"""A DHCP server behind a PXE filter, as the documents configure it."""

import pathlib
import shutil

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.integration import network
from ironic_inspection_rules.tests.integration import pxe
from ironic_inspection_rules.tests.iron import bridge

_FILTER_PAGE = 'doc/source/admin/pxe-filter.rst'
_BOOT_PAGE = 'doc/source/admin/unmanaged-boot.rst'

_IPXE = pathlib.Path('/usr/lib/ipxe')
_LOADERS = ('undionly.kpxe', 'ipxe.efi')

HTTP_PORT = 8080

KERNEL_PARAMETERS = 'console=ttyS0 mitigations=off'
"""Of ramdisks. What guards a processor is slow where QEMU emulates it."""


class Host(pxe.Host):
    """A host with the dnsmasq of the documents, and the filter for it."""

    def dhcp_arguments(self, directory: pathlib.Path) -> list[str]:
        """Return the arguments of dnsmasq; its configuration is a file."""
        loaders = directory / 'tftpboot'
        loaders.mkdir()
        for name in _LOADERS:
            shutil.copy(_IPXE / name, loaders)
        self.dhcp_log = directory / 'dnsmasq.log'
        config = directory / 'dnsmasq.conf'
        subnet = f'10.77.{self.number}'
        config.write_text(
            _shown(_FILTER_PAGE, 'ini', 'dhcp-boot=')
            .replace('interface=eth1', f'interface={pxe.INTERFACE}')
            .replace(
                '192.0.2.100,192.0.2.199',
                f'{subnet}.10,{subnet}.250,255.255.0.0',
            )
            .replace('192.0.2.1:8080', f'{bridge.ADDRESS}:{HTTP_PORT}')
            .replace('/var/lib/ironic/tftpboot', str(loaders))
            .replace('fd00:a::', f'fd00:77:{self.number}::')
        )
        return [
            f'--conf-file={config}',
            '--log-dhcp',
            f'--log-facility={self.dhcp_log}',
        ]

    def offers(self, mac: str) -> int:
        """Count the addresses that the server has offered a machine."""
        return sum(
            'DHCPOFFER' in line and mac in line
            for line in self.dhcp_log.read_text().splitlines()
        )


class OpenHost(Host):
    """A host that serves one machine, which no filter guards.

    :param mac: the address of the machine.
    """

    def __init__(self, switch: network.Switch, number: int, mac: str) -> None:
        super().__init__(switch, number, {})
        self._mac = mac

    def dhcp_arguments(self, directory: pathlib.Path) -> list[str]:
        """Return the arguments of a dnsmasq that knows the machine."""
        return [
            *super().dhcp_arguments(directory),
            f'--dhcp-host={self._mac},set:served',
            '--dhcp-ignore=tag:!served',
        ]


def boot_script(api: str) -> str:
    """Return the iPXE script of machines that Ironic does not boot.

    :param api: the root of Ironic's API, as these machines reach it.
    """
    return (
        _shown(_BOOT_PAGE, 'text', '#!ipxe')
        .replace(
            'http://192.0.2.1:8080', f'http://{bridge.ADDRESS}:{HTTP_PORT}'
        )
        .replace('http://192.0.2.1:6385', api)
        .replace(
            'BOOTIF=${mac}', f'BOOTIF=${{mac}} {KERNEL_PARAMETERS} ipa-debug=1'
        )
    )


def _shown(page: str, language: str, word: str) -> str:
    """Return the one block of a page that has a word."""
    (block,) = (
        block
        for block in guide.Page(page).blocks
        if block.language == language and word in block.text
    )
    return block.text
