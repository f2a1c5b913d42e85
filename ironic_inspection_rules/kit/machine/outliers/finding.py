# SPDX-License-Identifier: Apache-2.0

"""Findings about odd machines: their kinds, sentences, units and order.

A finding, or outlier, is a difference of one machine from its peers, which are
the other machines of its model. For example, "DIMM_B4 is missing: 9 of 10 have
32 GiB" is a finding of the kind ``dimm``.
"""

import dataclasses
import math
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import part_source

MEMORY = 'memory'
FLAG = 'flag'
BIOS_SETTING = 'bios-setting'
BENCHMARK = 'benchmark'
NUMBER = 'number'
FIELD = 'field'

KINDS_OF_PARTS = (
    part_source.PROCESSOR,
    part_source.DIMM,
    MEMORY,
    part_source.DISK,
    part_source.INTERFACE,
    part_source.ACCELERATOR,
    part_source.PCI_DEVICE,
    part_source.POWER_SUPPLY,
    part_source.SYSTEM,
    part_source.FIRMWARE,
)
"""The kinds of findings about the hardware of a machine."""

KINDS = (*KINDS_OF_PARTS, BIOS_SETTING, FLAG, BENCHMARK, NUMBER, FIELD)
"""All kinds of findings."""

MISSING, NEW, CHANGED, MOVED = 'missing', 'new', 'changed', 'moved'

_PART_NAMES = {
    part_source.PROCESSOR: _('processor'),
    part_source.DIMM: 'DIMM',
    part_source.DISK: _('disk'),
    part_source.INTERFACE: _('interface'),
    part_source.ACCELERATOR: _('accelerator'),
    part_source.PCI_DEVICE: _('PCI device'),
    part_source.POWER_SUPPLY: _('power supply'),
}


@dataclasses.dataclass(frozen=True)
class PeerValue:
    """The value that the peers of a machine have.

    :param count: the number of peers that have the value.
    :param reporting_count: the number of peers that report any value.
    """

    value: str
    count: int
    reporting_count: int


@dataclasses.dataclass(frozen=True)
class Outlier:
    """A difference of one machine from its peers.

    :param what: :data:`MISSING`, :data:`NEW`, :data:`CHANGED` or
        :data:`MOVED`.
    :param slot: the slot of the part; None if it is unknown.
    :param field: the path of the field; for a part, its source.
    :param has: the value that the machine has. For a missing part, it is the
        value that is left, e.g. the remaining memory, or None.
    :param odd: how odd the difference is; 0 would be normal.
    :param group: the name of the group of peers.
    :param since: the time of the inspection that showed it first; None if that
        is unknown.
    :param dated: whether earlier inspections were searched for it.
    """

    machine: str
    kind: str
    what: str
    slot: str | None
    field: str
    has: str | None
    peers: PeerValue
    odd: float
    group: str = ''
    since: str | None = None
    dated: bool = False

    @property
    def identity(self) -> tuple[str | None, ...]:
        """The key of the finding, which is the same in every inspection."""
        return self.machine, self.kind, self.what, self.slot, self.field

    @property
    def text(self) -> str:
        """The finding as a sentence, with the values of machine and peers.

        For example, ``DIMM_B4 is missing: 9 of 10 have 32 GiB`` or, for a
        changed part, ``disk 1: 480 GB, 9 of 10 have 960 GB``.
        """
        return self._sentence % {
            'name': self._part_name,
            'has': self.has,
            'value': self.peers.value,
            'count': self.peers.count,
            'of': self.peers.reporting_count,
        }

    @property
    def _sentence(self) -> str:
        """The sentence of the finding, with placeholders for the values.

        There is one sentence for a new, a moved and a changed part or field,
        and three for a missing part, see :attr:`text`.
        """
        if self.what == NEW:
            return _(
                '%(name)s is there: %(has)s; %(count)d of %(of)d have '
                '%(value)s'
            )
        if self.what == MOVED:
            return _(
                '%(name)s is in %(has)s, %(count)d of %(of)d have it '
                'in %(value)s'
            )
        if self.what == CHANGED:
            return _('%(name)s: %(has)s, %(count)d of %(of)d have %(value)s')
        # A part is missing. "has" is the value that is left.
        if self.has is None:
            return _('%(name)s is missing: %(count)d of %(of)d have %(value)s')
        if self.kind == part_source.DIMM and self.slot:
            return _(
                'memory %(has)s, %(count)d of %(of)d have '
                '%(value)s: %(name)s is missing'
            )
        return _(
            '%(has)s, %(count)d of %(of)d have %(value)s: %(name)s is missing'
        )

    @property
    def _part_name(self) -> str:
        """The name of the part: ``disk 1``, or ``disk`` if it has no slot."""
        name = _PART_NAMES.get(self.kind, self.kind)
        if not self.slot:
            return name
        if self.slot.lower().startswith(name.lower()):
            # The name of the slot may include the part already, e.g.
            # "DIMM_B4".
            return self.slot
        return f'{name} {self.slot}'

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the finding as plain JSON data.

        ``since`` is included only if earlier inspections were searched.
        """
        plain: dict[str, typing.Any] = {
            'machine': self.machine,
            'kind': self.kind,
            'slot': self.slot,
            'has': self.has,
            'peers': {
                'value': self.peers.value,
                'count': self.peers.count,
                'of': self.peers.reporting_count,
            },
            'odd': self.odd,
            'what': self.what,
            'field': self.field,
            'group': self.group,
            'text': self.text,
        }
        if self.dated:
            plain['since'] = self.since
        return plain

    def sort_key(self) -> tuple[typing.Any, ...]:
        """Return the sort key of the finding, which puts the oddest first."""
        return (
            -self.odd,
            self.machine,
            self.kind,
            self.slot or '',
            self.field,
            self.what,
        )


# The factor of a kind in the oddness of a finding; 1 for all other kinds. It
# puts e.g. a missing DIMM before an unusual field that is equally rare.
_WEIGHT_BY_KIND = {
    part_source.DIMM: 1.5,
    part_source.ACCELERATOR: 1.5,
    part_source.DISK: 1.4,
    part_source.PROCESSOR: 1.4,
    part_source.INTERFACE: 1.3,
    part_source.POWER_SUPPLY: 1.3,
    MEMORY: 1.3,
    BENCHMARK: 1.2,
    FLAG: 1.1,
    FIELD: 0.8,
    NUMBER: 0.8,
    part_source.PCI_DEVICE: 0.9,
}


def rate_oddness(
    kind: str,
    normal_count: int,
    reporting_count: int,
    relative_distance: float = 1,
) -> float:
    """Return how odd a finding is: the fewer peers are odd, the higher.

    The result is the surprise in bits, as defined in information theory, times
    the weight of the kind. For example, if one of 64 peers is odd, the
    surprise is 6 bits. For a missing DIMM, which has the weight 1.5, the
    result is 9.

    :param normal_count: the number of peers that have the normal value.
    :param reporting_count: the number of peers that report the value.
    :param relative_distance: the distance of a number from normal numbers, see
        :class:`.norm.Odd`; 1 for other values. Twice the distance is one more
        bit.
    """
    # At least the machine itself is odd, even if the counts say otherwise.
    odd_peers = max(1, reporting_count - normal_count)
    bits_of_peers = math.log2(reporting_count / odd_peers)
    bits_of_distance = math.log2(max(1, relative_distance))
    bits = max(bits_of_peers + bits_of_distance, 0.1)
    weight = _WEIGHT_BY_KIND.get(kind, 1)
    return round(bits * weight, 2)


def format_size(kind: str, amount: float) -> str:
    """Return the size of a part as text, e.g. ``32 GiB`` or ``960 GB``.

    The unit for DIMMs is a power of 1024, at most GiB. For other parts it is a
    power of 1000, in which disks are sold.

    :param kind: the kind of part.
    :param amount: the size in bytes.
    """
    in_unit = amount
    if kind == part_source.DIMM:
        for unit in ('B', 'KiB', 'MiB', 'GiB'):
            if in_unit < 1024 or unit == 'GiB':
                return f'{in_unit:.4g} {unit}'
            in_unit /= 1024
    # From 999.5 on, the format ".3g" would round up to 1000 and write "1e+03".
    for unit in ('B', 'kB', 'MB', 'GB'):
        if in_unit < 999.5:
            return f'{in_unit:.3g} {unit}'
        in_unit /= 1000
    return f'{in_unit:.3g} TB'


_ENDS_OF_PATHS_OF_SEVERAL = (' least', ' median', ' most')
"""Ends of the paths of numbers that summarize several numbers."""


def format_number(path: str, amount: float) -> str:
    """Return a number of an inventory as text, with a unit if it is a size.

    For example, 524288 at ``inventory.memory.physical_mb`` is ``512 GiB``.

    :param path: the path of the number. If it summarizes several numbers, such
        as one per core, it ends with a word: ``inventory.cpu.frequency
        median``.
    """
    # The path without the word for several numbers.
    path_of_field = path
    for word in _ENDS_OF_PATHS_OF_SEVERAL:
        path_of_field = path_of_field.removesuffix(word)
    name = path_of_field.rpartition('.')[2]
    if name in ('physical_mb', 'memory_mb'):
        return f'{amount / 1024:.6g} GiB'
    if path_of_field == 'inventory.memory.total':
        return f'{amount / 2**30:.6g} GiB'
    if path_of_field.endswith('disk.size'):
        return format_size(part_source.DISK, amount)
    if amount.is_integer():
        return str(int(amount))
    return f'{amount:.6g}'
