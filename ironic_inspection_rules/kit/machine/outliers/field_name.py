# SPDX-License-Identifier: Apache-2.0

"""Decide by the names of fields which fields of machines are compared.

The words in the name of a field say what its value is. For example,
``SerialNumber`` has the words "serial" and "number". Serial numbers,
addresses, names and times are unique to a machine, and are not compared,
unless another word says that they are of a model, a version or a firmware.
"""

import functools
import re

MEMBER = '*'
"""Replaces the name of a member that differs from machine to machine."""

# The words of a name, which may also be separated only by capitals:
# "MemorySize".
_WORD = re.compile('[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+')

_WORDS_OF_ONE_MACHINE = frozenset(
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
_WORDS_OF_ONE_MACHINE_IN_BIOS = frozenset(
    (
        'serial',
        'serials',
        'uuid',
        'guid',
        'mac',
        'address',
        'addr',
        'ip',
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

The other words of :data:`_WORDS_OF_ONE_MACHINE` have another meaning in a
setting, e.g. ``LoadDefaults`` is not a load.
"""

_WORDS_FOR_MODEL_NAME = frozenset(
    ('model', 'product', 'processor', 'vendor', 'chip', 'driver', 'part')
)
_WORDS_FOR_MODEL_ID = frozenset(
    ('device', 'subsystem', 'class', 'product', 'vendor')
)
"""If a name has one of these words, its id states a model: ``product_id``."""

# Names that a kernel gives to disks and interfaces.
_KERNEL_NAME = re.compile(
    r'(?:/dev/)?(?:[shv]d[a-z]{1,2}|xvd[a-z]|nvme\d+(?:[nc]\d+)*|eth\d+|'
    r'en[opsxP]\w*\d\w*|ib\w*\d+\w*|bond\d+|dm-\d+|md\d+|loop\d+|sr\d+|'
    r'wlan\d+|wl\w*\d\w*|mmcblk\d+|lo|usb\d+|em\d+|p\d+p\d+)(?:\.\d+)?'
)
# A name with a number: "DIMM 3", "fan_2".
_NAME_WITH_NUMBER = re.compile(r'(\D*?)[_:. #-]?\d+')
# Values that are unique to a machine: addresses, UUIDs, dates, paths, URLs,
# long numbers.
_ADDRESS_DATE_OR_PATH = re.compile(
    r'(?:[0-9a-f]{2}[:-]){5,}[0-9a-f]{2}|'
    r'[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|'
    r'\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}|'
    r'\d{4}-\d\d-\d\d[t ]\d\d:\d\d.*|/dev/.*|[a-z]+://.*|(?:0x)?[0-9a-f]{12,}',
    re.IGNORECASE,
)
_MAX_TEXT_LENGTH = 200


# The names of fields are the same on all machines of a fleet, so most of them
# are looked up many times. The caches are limited because machines choose the
# names.
@functools.lru_cache(10000)
def split_words(name: str) -> frozenset[str]:
    """Return the words of a name: memory, size, mb for ``MemorySize_mb``."""
    return frozenset(word.lower() for word in _WORD.findall(name))


@functools.lru_cache(10000)
def is_compared(name: str) -> bool:
    """Return whether fields with a name are compared between machines.

    For example, ``product_name`` is compared, because all machines of a model
    have the same one. Values that are unique to a machine, such as
    ``serial_number``, or that change with time, such as ``uptime``, are not
    compared.
    """
    words_of_name = split_words(name)
    if 'firmware' in words_of_name:
        # This includes "firmware_date", because it says which firmware it is.
        return True
    if 'version' in words_of_name:
        # Drivers are part of the ramdisk, not of the machine.
        return 'driver' not in words_of_name
    # The words that say that the value is unique to a machine, or changes.
    individual = words_of_name & _WORDS_OF_ONE_MACHINE
    if individual == {'id'} and words_of_name & _WORDS_FOR_MODEL_ID:
        # ``product_id`` is the same for all devices of a model.
        return True
    if individual:
        return False
    if 'name' in words_of_name:
        # ``product_name`` is the same for all machines of a model, but any
        # other name may be unique to a machine.
        return bool(words_of_name & _WORDS_FOR_MODEL_NAME)
    return True


def is_bios_setting(path: str) -> bool:
    """Return whether a path leads to a BIOS setting.

    For example, ``plugin_data.bios.settings.Turbo``.
    """
    words_of_path = split_words(path)
    if 'bios' not in words_of_path:
        return False
    return bool(words_of_path & {'setting', 'settings', 'attributes'})


@functools.lru_cache(20000)
def is_value_compared(path: str, name: str) -> bool:
    """Return whether the value of a field is compared between machines.

    :param path: the path of the field, which ends with ``name`` or, for an
        item of a list, with the name of the list.
    :param name: the name of the field; empty for an item of a list.
    """
    if is_bios_setting(path):
        # For example, LoadDefaults is not a load, and TimerMode is not a time.
        return not split_words(name) & _WORDS_OF_ONE_MACHINE_IN_BIOS
    return is_compared(name)


@functools.lru_cache(10000)
def common_name(name: str) -> str:
    """Return the name that a mapping or list has on all machines.

    For example, ``*`` for "eth0" and ``DIMM*`` for "DIMM 3". :data:`MEMBER`
    replaces kernel names, addresses, and numbers at the end.
    """
    if _KERNEL_NAME.fullmatch(name) or _ADDRESS_DATE_OR_PATH.fullmatch(name):
        return MEMBER
    # In "DIMM 3", the group before the number is "DIMM".
    counted = _NAME_WITH_NUMBER.fullmatch(name)
    if counted:
        return counted[1] + MEMBER
    return name


def is_common_text(text: str) -> bool:
    """Return whether several machines may have a text.

    Machines do not share addresses, UUIDs, paths of devices, URLs or times,
    and hardly ever a text of more than 200 characters.
    """
    if len(text) > _MAX_TEXT_LENGTH:
        return False
    return _ADDRESS_DATE_OR_PATH.fullmatch(text.strip()) is None
