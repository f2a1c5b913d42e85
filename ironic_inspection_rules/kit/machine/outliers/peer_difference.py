# SPDX-License-Identifier: Apache-2.0

"""A difference of a machine from its peers, and the kind of its field.

A difference is about a field, such as the BIOS setting ``Turbo``, or about a
part, such as the DIMM in the slot A1. Users see it as a finding. The kind of a
finding, such as ``disk`` or ``benchmark``, is derived from the words in the
path of the field.
"""

import dataclasses
import functools

from ironic_inspection_rules.kit.machine.outliers import field_name
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.machine import part_source

_WORDS_FOR_MEASUREMENTS = frozenset(
    (
        'bandwidth',
        'bogomips',
        'loops',
        'iops',
        'kbps',
        'latency',
        'throughput',
        'benchmark',
        'benchmarks',
        'burnin',
        'gflops',
        'flops',
        'score',
        'frequency',
        'mhz',
        'standalone',
        'simultaneous',
        'rpm',
        'jitter',
        'fan',
        'fans',
        'voltage',
        'volts',
        'sensor',
        'sensors',
        'amps',
    )
)

_WORDS_FOR_PARTS = (
    (
        part_source.DISK,
        frozenset(
            (
                'disk',
                'disks',
                'drive',
                'drives',
                'local',
                'storage',
                'raid',
                'nvme',
                'fio',
            )
        ),
    ),
    (
        part_source.INTERFACE,
        frozenset(
            ('network', 'nic', 'nics', 'interface', 'interfaces', 'ethernet')
        ),
    ),
    (
        part_source.ACCELERATOR,
        frozenset(('gpu', 'gpus', 'accelerator', 'accelerators')),
    ),
    (part_source.POWER_SUPPLY, frozenset(('psu', 'psus'))),
    (finding.MEMORY, frozenset(('memory', 'ram', 'dimm', 'dimms'))),
    (
        part_source.PROCESSOR,
        frozenset(
            ('cpu', 'cpus', 'processor', 'processors', 'cores', 'threads')
        ),
    ),
)
"""Words that say which kind of parts a field describes, the surest first."""

_PATHS_OF_BIOS = (
    'inventory.system_vendor.firmware',
    part_source.BIOS_PATH,
    part_source.DMI_BIOS_PATH,
)


@dataclasses.dataclass(frozen=True)
class PeerDifference:
    """A difference of one machine from its peers.

    :ivar kind: the kind of the finding, see :data:`.finding.KINDS`.
    :ivar what: ``missing``, ``new``, ``changed`` or ``moved``.
    :ivar slot: the slot of the part; None if it has none.
    :ivar field: the path of the field, or the source of the part.
    :ivar has: see :class:`.finding.Outlier`.
    :ivar value: the value of most peers, as text for people.
    :ivar count: the number of peers that have ``value``.
    :ivar normal_count: the number of peers that have a normal value.
    :ivar reporting_count: the number of peers that report any value.
    :ivar relative_distance: the distance of a number from normal numbers, see
        :class:`.norm.Odd`; 1 for other values.
    :ivar has_extra: whether the machine has something that its peers lack.
    :ivar names: the attributes of a part that differ.
    """

    kind: str
    what: str
    slot: str | None
    field: str
    has: str | None
    value: str
    count: int
    normal_count: int
    reporting_count: int
    relative_distance: float = 1
    has_extra: bool = True
    names: tuple[str, ...] = ()

    def as_finding(self, machine: str, group: str) -> finding.Outlier:
        """Build the finding that is reported.

        :param group: the name of the group of peers.
        """
        value_of_peers = finding.PeerValue(
            self.value, self.count, self.reporting_count
        )
        oddness = finding.rate_oddness(
            self.kind,
            self.normal_count,
            self.reporting_count,
            self.relative_distance,
        )
        return finding.Outlier(
            machine=machine,
            kind=self.kind,
            what=self.what,
            slot=self.slot,
            field=self.field,
            has=self.has,
            peers=value_of_peers,
            odd=oddness,
            group=group,
        )


@functools.lru_cache(20000)
def is_measured(path: str) -> bool:
    """Return whether a field is a measurement, such as a benchmark.

    For example, ``plugin_data.extra.disk.sda.standalone_read_1M_KBps``.
    """
    return bool(field_name.split_words(path) & _WORDS_FOR_MEASUREMENTS)


@functools.lru_cache(20000)
def part_kind(path: str) -> str | None:
    """Return the kind of parts that a field describes, by words in its path.

    For example, ``raid.disks`` describes disks. If the words match several
    kinds, the surest one is returned.

    :returns: None if no word matches.
    """
    words = field_name.split_words(path)
    for kind, names in _WORDS_FOR_PARTS:
        if words & names:
            return kind
    return None


@functools.lru_cache(20000)
def finding_kind(path: str, is_number: bool = False) -> str:
    """Return the kind of a finding about a field, by words in its path.

    For example, ``bios-setting`` for ``plugin_data.bios.settings.Turbo``.
    Users can ignore findings by their kind. The first kind that matches is
    returned: flags, BIOS settings, firmware, benchmarks, the system, and the
    kinds of parts. If none matches, it is ``number`` or ``field``.

    :param is_number: whether the difference is in numbers; only numbers are
        benchmarks.
    """
    words = field_name.split_words(path)
    if path.endswith('flags[]'):
        return finding.FLAG
    if field_name.is_bios_setting(path):
        return finding.BIOS_SETTING
    if 'firmware' in words or 'bios' in words:
        return part_source.FIRMWARE
    if is_number and is_measured(path):
        return finding.BENCHMARK
    if path.startswith('inventory.system_vendor') or (
        words & {'motherboard', 'chassis'}
    ):
        return part_source.SYSTEM
    kind = part_kind(path)
    if kind is not None:
        return kind
    if is_number:
        return finding.NUMBER
    return finding.FIELD


@functools.lru_cache(20000)
def cause_key(path: str, kind: str) -> tuple[str, str]:
    """Return the key of the cause of a difference in a field.

    Differences of a machine that have the same key are reported as one. For
    example, a slow disk changes several benchmarks of disks. These fields have
    the same key:

    * benchmarks of one kind of parts,
    * fields about the firmware of the system itself,
    * fields and numbers in the items of one list,
    * other fields with the same parent, if all of them are of the kind
      ``field``, of the kind ``number`` or of the kind ``firmware``,
    * fields of any other kind that is the same, such as BIOS settings.

    :param kind: the kind of the finding about the field, see
        :func:`finding_kind`.
    :returns: a kind, and a component or the beginning of paths, e.g.
        ``('benchmark', 'disk')`` or ``('field', 'inventory.boot')``. The
        second text is empty if the kind alone is the key.
    """
    if kind == finding.BENCHMARK:
        return kind, part_kind(path) or ''
    if kind == part_source.FIRMWARE and path.startswith(_PATHS_OF_BIOS):
        return kind, 'bios'
    if kind in (finding.FIELD, finding.NUMBER) and '[]' in path:
        # An additional item changes both the number of items and their values.
        return finding.FIELD, path.partition('[]')[0]
    if kind in (finding.FIELD, finding.NUMBER, part_source.FIRMWARE):
        # Fields with the same parent describe the same thing.
        return kind, path.rpartition('.')[0]
    return kind, ''
