# SPDX-License-Identifier: Apache-2.0

"""What a machine must have so that others can be booted on it."""

import os
import pathlib
import shutil

PROGRAMS = {
    'cpio': 'cpio',
    'debootstrap': 'debootstrap',
    'dnsmasq': 'dnsmasq-base',
    'ip': 'iproute2',
    'libvirtd': 'libvirt-daemon-system',
    'mariadbd': 'mariadb-server',
    'nft': 'nftables',
    'qemu-img': 'qemu-utils',
    'qemu-system-x86_64': 'qemu-system-x86',
    'setpriv': 'util-linux',
    'unshare': 'util-linux',
    'virsh': 'libvirt-clients',
    'zstd': 'zstd',
}
"""Debian packages by a program of theirs."""

FILES = {
    '/usr/lib/ipxe/qemu/pxe-virtio.rom': 'ipxe-qemu',
    '/usr/lib/ipxe/undionly.kpxe': 'ipxe',
    '/usr/lib/python3/dist-packages/libvirt.py': 'python3-libvirt',
    '/usr/lib/rabbitmq/bin/rabbitmq-server': 'rabbitmq-server',
    '/usr/lib/x86_64-linux-gnu/libvirt/connection-driver/'
    'libvirt_driver_qemu.so': 'libvirt-daemon-driver-qemu',
    '/usr/share/OVMF/OVMF_CODE_4M.fd': 'ovmf',
}
"""Debian packages by a file of theirs."""

MEMORY = 3 * 1024**3
"""Bytes that must be free for a case: Ironic, its servers, two machines."""

_PATH = os.pathsep.join(['/usr/local/sbin', '/usr/sbin', '/sbin'])


def missing_packages() -> list[str]:
    """Return the Debian packages of which a program or a file is missing."""
    path = os.pathsep.join([os.environ.get('PATH', ''), _PATH])
    packages = {
        package
        for program, package in PROGRAMS.items()
        if not shutil.which(program, path=path)
    }
    packages |= {
        package for file, package in FILES.items() if not os.path.exists(file)
    }
    return sorted(packages)


def free_memory() -> int:
    """Return how many bytes of memory are free."""
    for line in pathlib.Path('/proc/meminfo').read_text().splitlines():
        name, value = line.split(':')
        if name == 'MemAvailable':
            return int(value.split()[0]) * 1024
    raise OSError('/proc/meminfo has no MemAvailable')


def problems(jobs: int = 1) -> list[str]:
    """Say what is missing here, a sentence for each; [] if nothing is.

    :param jobs: how many cases run at once.
    """
    found = []
    if os.geteuid() != 0:
        found.append('It needs root: it makes networks and machines.')
    packages = missing_packages()
    if packages:
        found.append(
            'Packages are missing. As root: apt-get install '
            f'--no-install-recommends {" ".join(packages)}'
        )
    memory = free_memory()
    needed = MEMORY * jobs
    if memory < needed:
        found.append(
            f'It needs {needed >> 20} MiB of free memory; there are '
            f'{memory >> 20}.'
        )
    return found
