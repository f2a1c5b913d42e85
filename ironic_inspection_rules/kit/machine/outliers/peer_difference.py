# SPDX-License-Identifier: Apache-2.0

"""A difference of a machine from its peers, and the kind of its field."""

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
"""Words that say which kind of parts a field is about, the surest first."""

_PATHS_OF_BIOS = (
    'inventory.system_vendor.firmware',
    part_source.BIOS_PATH,
    part_source.DMI_BIOS_PATH,
)


@dataclasses.dataclass(frozen=True)
class PeerDifference:
    """A difference of one machine from its peers.

    :ivar kind: of the finding, see :data:`.finding.KINDS`.
    :ivar what: ``missing``, ``new``, ``changed`` or ``moved``.
    :ivar slot: of the part; None without a slot.
    :ivar field: the path of the field, or the source of the part.
    :ivar has: see :class:`.finding.Outlier`.
    :ivar value: what most peers have, for people.
    :ivar count: how many peers have ``value``.
    :ivar normal_count: how many peers have a normal value.
    :ivar of: how many peers report any value.
    :ivar far: how far a number is from normal numbers; 1 for other values.
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
    of: int
    far: float = 1
    has_extra: bool = True
    names: tuple[str, ...] = ()

    @property
    def odd(self) -> float:
        """How odd the difference is; 0 would be normal."""
        return finding.rate_oddness(
            self.kind, self.normal_count, self.of, self.far
        )

    def as_finding(self, machine: str, group: str) -> finding.Outlier:
        """Build the finding that is reported.

        :param group: the name of the group of peers.
        """
        of_peers = finding.PeerValue(self.value, self.count, self.of)
        return finding.Outlier(
            machine=machine,
            kind=self.kind,
            what=self.what,
            slot=self.slot,
            field=self.field,
            has=self.has,
            peers=of_peers,
            odd=self.odd,
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
    """Return the kind of parts that a field is about, by words in its path.

    For example, ``raid.disks`` is about disks. Of several kinds the surest is
    taken.

    :returns: None if no word tells.
    """
    words = field_name.split_words(path)
    for kind, names in _WORDS_FOR_PARTS:
        if words & names:
            return kind
    return None


@functools.lru_cache(20000)
def finding_kind(path: str, is_number: bool = False) -> str:
    """Return the kind of a finding about a field, by words in its path.

    For example, ``bios-setting`` of ``plugin_data.bios.settings.Turbo``. Users
    leave out findings by their kind.

    :param is_number: whether numbers differ: only numbers are benchmarks.
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
    """Return the key of the cause for which a field differs.

    Differences of a machine with the same key are reported as one: a slow disk
    changes several benchmarks of disks.

    :param kind: of the finding about the field, see :func:`finding_kind`.
    :returns: a kind, and a component or the beginning of paths, e.g.
        ``('benchmark', 'disk')`` or ``('field', 'inventory.boot')``; the
        second text is empty where the kind alone is the key.
    """
    if kind == finding.BENCHMARK:
        return kind, part_kind(path) or ''
    if kind == part_source.FIRMWARE and path.startswith(_PATHS_OF_BIOS):
        return kind, 'bios'
    if kind in (finding.FIELD, finding.NUMBER) and '[]' in path:
        # One more item changes the number of items and their values.
        return finding.FIELD, path.partition('[]')[0]
    if kind in (finding.FIELD, finding.NUMBER, part_source.FIRMWARE):
        # Fields beside one another are about one thing.
        return kind, path.rpartition('.')[0]
    return kind, ''
