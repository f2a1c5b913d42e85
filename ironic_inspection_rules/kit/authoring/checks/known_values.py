# SPDX-License-Identifier: Apache-2.0

"""Known values of fields in inventories: words, sizes and their units.

``lint`` compares the values in rules with them. For example, no machine
reports the architecture ``amd64``, because its name in inventories is
``x86_64``. A memory of 16 is probably meant in GiB, but the field is in MiB.
"""

import re
import typing

from ironic_inspection_rules.kit.authoring.checks import field_value

WORDS: dict[field_value.Steps, dict[str, tuple[str, ...]]] = {
    ('inventory', 'cpu', 'architecture'): {
        'x86_64': ('amd64', 'x64', 'x86-64', 'em64t'),
        'aarch64': ('arm64', 'armv8'),
        'ppc64le': (),
        'ppc64': (),
        's390x': (),
        'riscv64': (),
        'i686': ('i386', 'x86'),
        'armv7l': (),
    },
    ('inventory', 'boot', 'current_boot_mode'): {
        'bios': ('legacy', 'csm'),
        'uefi': ('efi',),
    },
    ('node', 'power_state'): {
        'power on': ('on', 'powered on', 'power_on', 'poweron'),
        'power off': ('off', 'powered off', 'power_off', 'poweroff'),
        'rebooting': (),
        'soft power off': (),
        'soft rebooting': (),
        'error': (),
    },
}
"""The words that a field may have, each with other names that people use."""

TEXT_FIELDS = frozenset(
    (
        'product_name',
        'manufacturer',
        'model',
        'model_name',
        'hostname',
        'name',
        'vendor',
        'architecture',
        'driver',
        'current_boot_mode',
        'mac_address',
        'product',
    )
)
"""Names of fields whose text is hardly ever a number."""

SMALLEST_BYTES = 10**6
"""All memory and all disks are larger, so a smaller size is probably not in
bytes."""

LARGEST_MEBIBYTES = 2**31
"""All machines have less memory, so this size or a larger size is probably not
in MiB."""

USUAL_GIBIBYTES = frozenset((4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192))
"""Common sizes of memory in GiB. In MiB, hardly any machine has them."""

SLOWEST_MHZ = 100
"""All processors are faster, so a lower frequency is probably not in MHz."""

USUAL_GIGABITS = frozenset((2.5, 5, 10, 25, 40, 50, 200, 400))
"""Common speeds of networks in Gbit/s. In Mbit/s, no current network has
them."""

QUANTITY = re.compile(r'\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+|%)\s*')
"""A number and a unit."""

BYTES_OF_UNIT = {
    'b': 1,
    'k': 2**10,
    'kb': 1000,
    'kib': 2**10,
    'm': 2**20,
    'mb': 1000**2,
    'mib': 2**20,
    'g': 2**30,
    'gb': 1000**3,
    'gib': 2**30,
    't': 2**40,
    'tb': 1000**4,
    'tib': 2**40,
}
"""The number of bytes in a unit, by the unit in lower case."""


class Unit(typing.NamedTuple):
    """The unit of a quantity: its name, and its size in bytes."""

    name: str
    size: int


_BYTE = Unit('bytes', 1)
_MEBIBYTE = Unit('MiB', 2**20)
_GIBIBYTE = Unit('GiB', 2**30)

UNIT_OF_FIELD = {
    'physical_mb': _MEBIBYTE,
    'memory_mb': _MEBIBYTE,
    'local_gb': _GIBIBYTE,
    'size': _BYTE,
    'total': _BYTE,
}
"""The units of fields in an inventory or a node, by the name of the field."""
