# SPDX-License-Identifier: Apache-2.0

"""A ramdisk that boots fast, for cases in which many machines boot.

It posts an inventory without an agent. It is made of the ramdisk that has
one, and boots in a tenth of the time.
"""

import pathlib
import subprocess
import tempfile

_INIT = pathlib.Path(__file__).with_name('probe_init')

_MODULES = (
    'virtio',
    'virtio_ring',
    'virtio_pci_legacy_dev',
    'virtio_pci_modern_dev',
    'virtio_pci',
    'failover',
    'net_failover',
    'virtio_net',
)
"""In an order in which each finds what it needs."""

_FILES = (
    'lib',
    'lib64',
    'usr/lib64/*',
    'usr/bin/busybox',
    'etc/udhcpc/default.script',
    *(
        f'usr/lib/x86_64-linux-gnu/{library}'
        for library in ('ld-linux-x86-64.so.2', 'libc.so.6', 'libresolv.so.2')
    ),
    *(f'usr/lib/modules/*/{name}.ko' for name in _MODULES),
)

_COMMANDS = ('cat', 'insmod', 'ip', 'mount', 'sh', 'sleep', 'udhcpc', 'wget')


def build(initramfs: pathlib.Path) -> bytes:
    """Return the probe as an initramfs.

    :param initramfs: the one with the agent, of the same kernel.
    :raises: subprocess.CalledProcessError when it lacks a file.
    """
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        with initramfs.open('rb') as packed:
            subprocess.run(
                [
                    'bash',
                    '-o',
                    'pipefail',
                    '-c',
                    'zstd -dc | cpio --extract --make-directories --quiet '
                    '"$@"',
                    'bash',
                    *_FILES,
                ],
                cwd=root,
                stdin=packed,
                check=True,
            )
        modules = [
            next(root.glob(f'usr/lib/modules/**/{name}.ko'))
            for name in _MODULES
        ]
        for name in ('dev', 'proc', 'sys'):
            root.joinpath(name).mkdir()
        for name in _COMMANDS:
            root.joinpath('usr/bin', name).symlink_to('busybox')
        root.joinpath('bin').symlink_to('usr/bin')
        names = ' '.join(str(module.relative_to(root)) for module in modules)
        init = root / 'init'
        init.write_text(_INIT.read_text().replace('in MODULES', f'in {names}'))
        init.chmod(0o755)
        return subprocess.run(
            ['sh', '-c', 'find . | cpio --create --format=newc --quiet'],
            cwd=root,
            check=True,
            capture_output=True,
        ).stdout
