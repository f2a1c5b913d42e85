# SPDX-License-Identifier: Apache-2.0

"""A machine of QEMU that boots from its network, or else from its disk."""

import datetime
import pathlib
import re
import subprocess
import uuid
import xml.sax.saxutils

import fixtures

from ironic_inspection_rules.tests.iron import bridge
from ironic_inspection_rules.tests.iron import waiting

_BIOS = '<bios useserial="yes" rebootTimeout="{milliseconds}"/>'
_NEVER = -1
_SOON = 1000

_UEFI = """\
<loader readonly="yes" type="pflash">/usr/share/OVMF/OVMF_CODE_4M.fd</loader>
<nvram template="/usr/share/OVMF/OVMF_VARS_4M.fd">{nvram}</nvram>"""

_DOMAIN = """\
<domain type="qemu">
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <memory unit="MiB">{memory}</memory>
  <vcpu>1</vcpu>
  <sysinfo type="smbios"><system>
    <entry name="manufacturer">Acme</entry>
    <entry name="product">Metal 1</entry>
    <entry name="serial">{serial}</entry>
  </system></sysinfo>
  <os>
    <type arch="x86_64" machine="q35">hvm</type>
    {firmware}
    <boot dev="network"/>
    <boot dev="hd"/>
    <smbios mode="sysinfo"/>
  </os>
  <features><acpi/><apic/></features>
  <cpu mode="custom" match="exact">
    <model fallback="allow">qemu64</model>
  </cpu>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type="scsi" index="0" model="virtio-scsi"/>
    <controller type="usb" model="none"/>
    {disks}
    <interface type="bridge">
      <mac address="{mac}"/>
      <source bridge="{bridge}"/>
      <model type="virtio"/>
    </interface>
    <rng model="virtio">
      <backend model="random">/dev/urandom</backend>
    </rng>
    <serial type="file"><source path="{console}" append="on"/></serial>
    <memballoon model="none"/>
  </devices>
</domain>
"""

_DISK = """\
<disk type="file" device="disk">
  <driver name="qemu" type="raw" cache="unsafe"/>
  <source file="{path}"/>
  <target dev="sd{letter}" bus="scsi" rotation_rate="1"/>
  <serial>{serial}</serial>
  <wwn>{wwn}</wwn>
</disk>"""

_DISK_SIZE = 4 * 1024**3

_LOGS = pathlib.Path('/var/log/libvirt/qemu')
_POWER_ON = re.compile(r'^(\S+ \S+): starting up libvirt', re.MULTILINE)


class Machine(fixtures.Fixture):
    """A machine with one processor, off until something powers it on.

    Of two that QEMU emulates, one can miss the interrupt of its timer and
    sleep for ever; then the kernel hangs while it boots.

    :param directory: for its disks and its console.
    :param serial: its serial number, also the name that libvirt has for it.
    :param memory: in MiB.
    :param uefi: whether it boots by UEFI.
    :param disks: serial numbers of its disks.
    :param identity: what its BMC calls it.
    :param retries: whether its BIOS starts again if there is nothing to boot.
    :ivar mac: the address of its network interface.
    :ivar uuid: the identity, a new one where none was given.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        name: str,
        serial: str | None = None,
        memory: int = 1280,
        uefi: bool = False,
        disks: tuple[str, ...] | None = None,
        identity: str | None = None,
        retries: bool = False,
    ) -> None:
        super().__init__()
        self.name = name
        self.serial = serial or name
        self.uuid = identity or str(uuid.uuid4())
        tail = uuid.uuid4().hex[:6]
        self.mac = f'52:54:00:{tail[:2]}:{tail[2:4]}:{tail[4:]}'
        self._directory = directory
        self._memory = memory
        self._uefi = uefi
        self._retries = retries
        self._disks = disks or (f'DISK-{name}',)

    def _setUp(self) -> None:
        self._console = self._directory / f'{self.name}.console'
        self._console.touch()
        self._define()
        self.addCleanup(_virsh, 'undefine', '--nvram', self.name)
        self.addCleanup(self.power_off)

    def _define(self) -> None:
        firmware = _BIOS.format(
            milliseconds=_SOON if self._retries else _NEVER
        )
        if self._uefi:
            firmware = _UEFI.format(
                nvram=self._directory / f'{self.name}.nvram'
            )
        description = _DOMAIN.format(
            name=self.name,
            uuid=self.uuid,
            memory=self._memory,
            mac=self.mac,
            firmware=firmware,
            serial=xml.sax.saxutils.escape(self.serial),
            bridge=bridge.NAME,
            console=self._console,
            disks='\n'.join(
                self._disk(*numbered) for numbered in enumerate(self._disks)
            ),
        )
        path = self._directory / f'{self.name}.xml'
        path.write_text(description)
        _virsh('define', str(path))

    def _disk(self, number: int, serial: str) -> str:
        path = self._directory / f'{serial}.disk'
        with path.open('ab') as disk:
            disk.truncate(_DISK_SIZE)
        return _DISK.format(
            path=path, letter='abcdef'[number], serial=serial, wwn=wwn(serial)
        )

    def swap_disks(self, *serials: str) -> None:
        """Replace all disks while the machine is off.

        :param serials: serial numbers of the disks that it has then.
        """
        self._disks = serials
        self._define()

    @property
    def is_on(self) -> bool:
        """Whether it is powered on."""
        return _virsh('domstate', self.name).strip() != 'shut off'

    def power_ons(self) -> list[float]:
        """Return when it was powered on, since the epoch.

        Libvirt logs that to the millisecond, whoever does it.
        """
        log = _LOGS.joinpath(f'{self.name}.log').read_text(errors='replace')
        return [
            datetime.datetime.fromisoformat(time).timestamp()
            for time in _POWER_ON.findall(log)
        ]

    def power_on(self) -> None:
        """Push the power button of a machine that is off."""
        _virsh('start', self.name)

    def power_off(self) -> None:
        """Pull the plug."""
        if self.is_on:
            _virsh('destroy', self.name)

    def suspend(self) -> None:
        """Stop its processors where they are."""
        _virsh('suspend', self.name)

    def resume(self) -> None:
        """Let its processors go on."""
        _virsh('resume', self.name)

    def console(self) -> str:
        """All that its serial console has shown."""
        return self._console.read_text(errors='replace')

    def wait_for_console(
        self,
        event: str,
        text: str,
        before: int = 0,
        pause: float = waiting.PAUSE,
    ) -> None:
        """Wait until the console shows a text.

        :param event: what that means.
        :param before: length of what it had shown before.
        :param pause: seconds between two looks.
        """
        waiting.wait_for(
            f'{self.name}: {event}',
            lambda: text in self.console()[before:],
            pause=pause,
        )

    def wait_until_off(self) -> None:
        """Wait until something has powered it off."""
        waiting.wait_for(f'{self.name}: it is off', lambda: not self.is_on)


def wwn(serial: str) -> str:
    """Return the world wide name of the disk with a serial number."""
    return f'5000c500{uuid.uuid5(uuid.NAMESPACE_OID, serial).hex[:8]}'


def _virsh(*arguments: str) -> str:
    return subprocess.run(
        ['virsh', '--quiet', '--connect', 'qemu:///system', *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
