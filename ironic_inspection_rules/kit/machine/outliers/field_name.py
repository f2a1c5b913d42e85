# SPDX-License-Identifier: Apache-2.0

"""Names in inspection data: which of them say what a machine is made of.

Serial numbers, addresses, names and times are each machine's own, and are
never compared.
"""

import functools
import re

MEMBER = '*'
"""Stands for the name of a member that differs from machine to machine."""

# The words of a name, also where only capitals begin them: "MemorySize".
_WORD = re.compile('[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+')

_INDIVIDUAL = frozenset(
    (
        'serial',
        'serials',
        'uuid',
        'guid',
        'mac',
        'macs',
        'address',
        'addresses',
        'addr',
        'ip',
        'ipv4',
        'ipv6',
        'ipaddress',
        'netmask',
        'gateway',
        'route',
        'routes',
        'dns',
        'dhcp',
        'hostname',
        'fqdn',
        'wwn',
        'wwid',
        'wwpn',
        'eui',
        'nguid',
        'iqn',
        'lldp',
        'switch',
        'neighbor',
        'date',
        'time',
        'timestamp',
        'uptime',
        'created',
        'updated',
        'started',
        'hours',
        'age',
        'runtime',
        'temp',
        'temperature',
        'smart',
        'asset',
        'tag',
        'password',
        'token',
        'secret',
        'url',
        'hctl',
        'seed',
        'random',
        'hash',
        'fingerprint',
        'certificate',
        'logs',
        'error',
        'id',
        'handle',
        'businfo',
        'utilization',
        'free',
        'used',
        'available',
        'load',
        'path',
        'cmdline',
        'note',
        'notes',
        'description',
        'location',
        'owner',
        'ambient',
        'inlet',
        'exhaust',
        'consumption',
        'processes',
        'cycles',
        'reboots',
        'written',
        'wear',
        'biosdevname',
        'driverversion',
    )
)
_NETWORK_OR_OWNER = frozenset(
    (
        'serial',
        'serials',
        'uuid',
        'guid',
        'mac',
        'address',
        'addr',
        'ip',
        'ipv4',
        'ipv6',
        'netmask',
        'gateway',
        'dns',
        'hostname',
        'fqdn',
        'wwn',
        'wwpn',
        'iqn',
        'date',
        'time',
        'asset',
        'tag',
        'password',
        'token',
        'secret',
        'url',
        'hash',
        'fingerprint',
        'certificate',
        'owner',
        'name',
    )
)
"""Words of BIOS settings that are not compared.

The other words of :data:`_INDIVIDUAL` stand for something else there:
``LoadDefaults`` is no load.
"""

_MODELS = frozenset(
    ('model', 'product', 'processor', 'vendor', 'chip', 'driver', 'part')
)
_NOT_NAMES = frozenset(('device', 'subsystem', 'class', 'product', 'vendor'))
"""With one of these, an id says what a device is, not which one it is."""

# Names that a kernel gives to disks and interfaces.
_KERNEL_NAME = re.compile(
    r'(?:/dev/)?(?:[shv]d[a-z]{1,2}|xvd[a-z]|nvme\d+(?:[nc]\d+)*|eth\d+|'
    r'en[opsxP]\w*\d\w*|ib\w*\d+\w*|bond\d+|dm-\d+|md\d+|loop\d+|sr\d+|'
    r'wlan\d+|wl\w*\d\w*|mmcblk\d+|lo|usb\d+|em\d+|p\d+p\d+)(?:\.\d+)?'
)
# A name with a number: "DIMM 3", "fan_2".
_COUNTED = re.compile(r'(\D*?)[_:. #-]?\d+')
# What is a machine's own: addresses, UUIDs, dates, paths, URLs, long numbers.
_ADDRESS = re.compile(
    r'(?:[0-9a-f]{2}[:-]){5,}[0-9a-f]{2}|'
    r'[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|'
    r'\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}|'
    r'\d{4}-\d\d-\d\d[t ]\d\d:\d\d.*|/dev/.*|[a-z]+://.*|(?:0x)?[0-9a-f]{12,}',
    re.IGNORECASE,
)
_LONGEST = 200


# The names of fields are the same on all machines of a fleet, so that most are
# looked up again and again. Machines choose them: the caches have an end.
@functools.lru_cache(10000)
def words(name: str) -> frozenset[str]:
    """Return the words of a name: ``MemorySize_mb`` has three."""
    return frozenset(word.lower() for word in _WORD.findall(name))


@functools.lru_cache(10000)
def is_compared(name: str) -> bool:
    """Check that fields of this name are compared between machines.

    A field is not compared where its name says that the value is a machine's
    own, such as ``serial_number``, or changes with time.
    """
    words_of_name = words(name)
    if 'firmware' in words_of_name:
        return True
    if 'version' in words_of_name:
        # Drivers are part of the ramdisk, not of the machine.
        return 'driver' not in words_of_name
    individual = words_of_name & _INDIVIDUAL
    if individual == {'id'} and words_of_name & _NOT_NAMES:
        # ``product_id`` is the same for all devices of a model.
        return True
    if individual:
        return False
    if 'name' in words_of_name:
        # A ``name`` is a machine's own, a ``product_name`` is not.
        return bool(words_of_name & _MODELS)
    return True


def is_bios_setting(path: str) -> bool:
    """Check that a path leads to a BIOS setting."""
    in_path = words(path)
    if 'bios' not in in_path:
        return False
    return bool(in_path & {'setting', 'settings', 'attributes'})


@functools.lru_cache(20000)
def is_value_compared(path: str, name: str) -> bool:
    """Check that the value of a field may be alike in several machines.

    :param path: of the field; it ends with its name, or that of its list.
    :param name: empty for an item of a list.
    """
    if is_bios_setting(path):
        # LoadDefaults and TimerMode are no loads and no times.
        return not words(name) & _NETWORK_OR_OWNER
    return is_compared(name)


@functools.lru_cache(10000)
def common(name: str) -> str:
    """Return the name of a mapping or list as all machines have it.

    ``eth0`` becomes ``*``, ``DIMM 3`` becomes ``DIMM*``: so the fields of a
    part have one path, whatever the part is called.
    """
    if _KERNEL_NAME.fullmatch(name) or _ADDRESS.fullmatch(name):
        return MEMBER
    counted = _COUNTED.fullmatch(name)
    if counted:
        return counted[1] + MEMBER
    return name


def is_common_text(text: str) -> bool:
    """Check that a text is none that only one machine can have."""
    return len(text) <= _LONGEST and not _ADDRESS.fullmatch(text.strip())
