# SPDX-License-Identifier: Apache-2.0

"""The parts of a machine, e.g. disks, as its inventory lists them.

A part is identified by its serial number, WWN or MAC address, but never by a
name that a kernel assigns. A *source* is a list of parts that one reporter
sends. For example, the disks in the inventory of the ramdisk are the source
``agent disk inventory.disks``.
"""

import collections
from collections.abc import Iterable, Mapping
import dataclasses
import functools
import typing

from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.machine import part_source

MOST = 2000
"""Maximum number of parts that are read; real machines have fewer."""

Identity = tuple[str, str]
"""A kind of parts and an identifier: ``('disk', 's3z8nb0k')``."""


class Part(typing.NamedTuple):
    """A part of a machine, as one source reports it.

    For example, ``Part('dimm', ('s3z8',), 'S3Z8', 'A1', {'size': 32}, 'agent
    dimm inventory.dimms')``. Histories of nodes store the values in this
    order.

    :param ids: identifiers of the part, normalized by
        :func:`.part_identity.normalise`; may be empty.
    :param label: the first identifier as it was reported, or empty.
    :param slot: where in the machine the part is; None if unknown.
    :param attributes: the properties of the part by name, e.g. its model.
    :param source: the source that reported the part.
    :param unidentified: whether the identifiers come from earlier reports, and
        the last report of the source has none.
    """

    kind: str
    ids: tuple[str, ...]
    label: str
    slot: str | None
    attributes: Mapping[str, typing.Any]
    source: str
    unidentified: bool = False

    @property
    def identities(self) -> list[Identity]:
        """The identities of the part: ``('dimm', 's3z8')``."""
        return [(self.kind, name) for name in self.ids]

    @property
    def is_identified(self) -> bool:
        """Whether the last report of its source identifies the part."""
        return bool(self.ids) and not self.unidentified

    def without(self, shared: Iterable[Identity]) -> 'Part':
        """Return the part without identities that several parts share.

        For example, all units of a disk array may report the WWN of the array,
        which does not identify any of them.
        """
        ids = tuple(
            name for name in self.ids if (self.kind, name) not in shared
        )
        if ids == self.ids:
            return self
        # "unidentified" says that the identities come from an earlier report.
        # Reset it if no identities are left.
        return self._replace(
            ids=ids,
            label=self.label_of(ids),
            unidentified=self.unidentified and bool(ids),
        )

    def label_of(self, ids: tuple[str, ...]) -> str:
        """Return the label that the part has with the given identifiers.

        The part keeps its label, e.g. ``S3Z8``, if ``s3z8`` is one of them.
        Otherwise the first of them becomes the label.

        :param ids: identifiers normalized by
            :func:`.part_identity.normalise`.
        """
        if part_identity.normalise(self.label) in ids:
            return self.label
        if ids:
            return ids[0]
        return ''

    def sort_key(self) -> tuple[str, ...]:
        """Return the key by which :func:`in_order` sorts parts."""
        return (
            self.kind,
            self.label,
            self.slot or '',
            self.source,
            str(sorted(self.attributes.items())),
        )


class Announced(typing.NamedTuple):
    """Numbers of changes that a silent source must not announce again.

    Other sources announced these changes while the source was silent. Parts
    without an identity are only counted, because they cannot be recognized
    when the source reports again.

    :param gone: number of its parts without identity that are gone.
    :param new: number of parts that are new.
    """

    gone: int = 0
    new: int = 0


@dataclasses.dataclass(frozen=True)
class Parts:
    """The parts of a machine, and the sources that have reported any.

    A part that two sources report is included twice, with the same identities.

    :param sources: the sources that reported a list of parts, even if it was
        empty, with the time of their last report. The time is None if it was
        in the last inspection.
    :param announced: changes that sources must not announce again, by source.
    :param shared: identities that the report assigns to several parts. Only
        :func:`read` sets it.
    :param texts: identifiers as they were reported, by their normalized form.
        Only :func:`read` sets it.
    """

    parts: tuple[Part, ...]
    sources: Mapping[str, str | None]
    announced: Mapping[str, Announced] = dataclasses.field(
        default_factory=dict
    )
    shared: frozenset[Identity] = dataclasses.field(
        default=frozenset(), compare=False
    )
    texts: Mapping[str, str] = dataclasses.field(
        default_factory=dict, compare=False
    )

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the parts as JSON, to store them in the history of a node.

        For example, ``{'parts': [['dimm', ['s3z8'], 'S3Z8', 'A1', {…}, 'agent
        dimm inventory.dimms', False]], 'sources': {…}, 'announced': {}}``.
        """
        parts = []
        for kind, ids, *others in self.parts:
            # Convert the tuple, because JSON has no tuples.
            parts.append([kind, list(ids), *others])
        announced = {}
        for source, counts in sorted(self.announced.items()):
            announced[source] = list(counts)
        return {
            'parts': parts,
            'sources': dict(sorted(self.sources.items())),
            'announced': announced,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, typing.Any]) -> 'Parts':
        """Read parts from the data that :meth:`as_dict` returned."""
        parts = []
        for kind, ids, *others in plain['parts']:
            parts.append(Part(kind, tuple(ids), *others))
        announced = {}
        for source, counts in plain['announced'].items():
            announced[source] = Announced(*counts)
        return cls(in_order(parts), plain['sources'], announced)

    @functools.cached_property
    def identities(self) -> dict[Identity, list[Part]]:
        """The parts by their identities, e.g. ``('dimm', 's3z8')``.

        Identities that this package assigns, e.g. that of the firmware, are
        skipped, because all machines have them. If two sources report the same
        part, the list contains both.
        """
        parts: dict[Identity, list[Part]] = {}
        for part in self.parts:
            for identity in part.identities:
                _kind, name = identity
                if name not in part_source.GIVEN_IDS:
                    parts.setdefault(identity, []).append(part)
        return parts


NOTHING = Parts((), {})


def in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Sort parts, so that equal machines have equal :class:`Parts`."""
    return tuple(sorted(parts, key=Part.sort_key))


def read(
    inventory: Mapping[str, typing.Any],
    plugin_data: Mapping[str, typing.Any],
    reporter: str,
) -> Parts:
    """Return the parts of a machine, e.g. disks, from its inventory.

    At most :data:`MOST` parts are read. Parts without identity are skipped if
    another entry summarizes them, e.g. ``inventory.cpu`` all processors.

    :param reporter: the inspect interface, which determines what is reported.
    """
    data = {'inventory': inventory, 'plugin_data': plugin_data}
    sources: dict[str, str | None] = {}
    parts: list[Part] = []
    # Identifiers as they were reported, by their normalized form.
    texts: dict[str, str] = {}
    for source in part_source.SOURCES:
        # The limit applies to all sources together.
        most_items = MOST - len(parts)
        parts_of_source = []
        for name, item in list(source.items(data))[:most_items]:
            identifiers = _read_identifiers(source, item)
            part = _make_part(source, name, item, reporter, identifiers)
            if part is not None:
                parts_of_source.append(part)
                texts.update(identifiers)
        parts += parts_of_source
        if parts_of_source or source.is_reported(data):
            # None means that the source reported in the last inspection.
            for kind in source.kinds:
                sources[_source_name(source, reporter, kind)] = None
    # The shared identities are only known after all parts have been read.
    shared = _find_shared_identities(parts)
    distinct_parts = []
    for part in _leave_out_summed_up(parts):
        distinct = part.without(shared)
        # If a part has lost its first identity, its label is another identity
        # in normalized form. Use the form that was reported instead.
        label = texts.get(distinct.label, distinct.label)
        distinct_parts.append(distinct._replace(label=label))
    return Parts(in_order(distinct_parts), sources, shared=shared, texts=texts)


def _read_identifiers(
    source: part_source.PartSource, item: part_source.Item
) -> dict[str, str]:
    """Return the identifiers of a part, e.g. its serial number and WWN.

    :returns: identifiers as they were reported, by their normalized form:
        ``{'s3z8': 'S3Z8', '5002538e': '0x5002538e'}``. The first is the label.
    """
    if source.given_id:
        return {source.given_id: source.given_id}
    texts = []
    for field in source.ids:
        text = part_identity.reported_text(item.get(field))
        if text is not None:
            texts.append(text)
    wwn = item.get('wwn')
    if wwn and 'wwn_with_extension' in item and len(texts) > 1:
        # All units of an array have the same WWN and differ in the extension.
        # So keep the first text, which includes the extension, and drop the
        # WWN.
        texts = [texts[0], *(text for text in texts[1:] if text != wwn)]
    identifiers: dict[str, str] = {}
    for text in texts:
        identifiers.setdefault(part_identity.normalise(text), text)
    return identifiers


def _make_part(
    source: part_source.PartSource,
    name: str,
    item: part_source.Item,
    reporter: str,
    identifiers: Mapping[str, str],
) -> Part | None:
    """Build the part that an item of a source describes.

    An item is, for example, ``{'serial': 'S3Z8', 'slot': 'A1', 'size': 32}``.

    :param name: name of the item in the source, which may be its slot.
    :param identifiers: see :func:`_read_identifiers`.
    :returns: None if the item has neither attributes nor a reported
        identifier.
    """
    attributes = source.describe(item)
    has_own_identifier = bool(identifiers) and not source.given_id
    if not attributes and not has_own_identifier:
        return None
    kind = source.kind_of(item)
    slot = source.slot_of(name, item)
    if slot is not None:
        slot = slot[: part_identity.LONGEST]
    label = next(iter(identifiers.values()), '')
    source_name = _source_name(source, reporter, kind)
    return Part(
        kind=kind,
        ids=tuple(identifiers),
        label=label,
        slot=slot,
        attributes=attributes,
        source=source_name,
    )


def kind_of(source: str) -> str:
    """Return the kind of parts that a source reports.

    :param source: e.g. ``agent dimm inventory.dimms``, which has the kind
        ``dimm``.
    """
    return source.split()[-2]


def _source_name(
    source: part_source.PartSource, reporter: str, kind: str
) -> str:
    """Return the name of a source: ``agent dimm inventory.dimms``."""
    return f'{reporter} {kind} {source.path}'


def _find_shared_identities(parts: Iterable[Part]) -> frozenset[Identity]:
    """Return the identities that one source assigns to several parts.

    For example, the WWN of a disk array does not identify a disk. An identity
    is not shared if two different sources report it.
    """
    counts: collections.Counter[tuple[str, Identity]] = collections.Counter()
    for part in parts:
        if part_source.GIVEN_IDS.intersection(part.ids):
            # The identity does not come from the report.
            continue
        for identity in part.identities:
            counts[part.source, identity] += 1
    shared = set()
    for (_source, identity), count in counts.items():
        if count > 1:
            shared.add(identity)
    return frozenset(shared)


def _leave_out_summed_up(parts: list[Part]) -> list[Part]:
    """Return the parts except those that another entry summarizes.

    For example, ``inventory.cpu`` summarizes all processors of a machine, so a
    list of processors without serial numbers adds no information.
    """
    # The kinds that have such an entry. It is recognized by its identity,
    # which this package assigns.
    kinds_summed_up = {
        part.kind
        for part in parts
        if part_source.GIVEN_IDS.intersection(part.ids)
    }
    return [
        part for part in parts if part.ids or part.kind not in kinds_summed_up
    ]
