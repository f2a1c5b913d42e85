# SPDX-License-Identifier: Apache-2.0

"""The parts of a machine, e.g. disks, as its inventory lists them.

An *identifier* of a part is its serial number, WWN or MAC address, but never a
name that a kernel assigns. With the kind of the part it is an *identity*:
``('disk', 's3z8nb0k')``. A part may have several identities or none.

A *source* is a list of parts of one kind that one reporter sends. A reporter
is an inspect interface of Ironic: ``agent`` is the ramdisk, ``redfish`` the
BMC. For example, the disks in the inventory of the ramdisk are the source
``agent disk inventory.disks``. A source is *silent* if the last inspection did
not include it, e.g. because Redfish did the inspection.
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

        :param shared: the identities to remove.
        """
        ids = tuple(
            name for name in self.ids if (self.kind, name) not in shared
        )
        if ids == self.ids:
            return self
        # "unidentified" says where identifiers come from, so it is False if
        # there are none left.
        return self._replace(
            ids=ids,
            label=self.label_of(ids),
            unidentified=self.unidentified and bool(ids),
        )

    def label_of(self, ids: tuple[str, ...]) -> str:
        """Return the label that fits other identifiers of this part.

        The part keeps its label, e.g. ``S3Z8``, if ``s3z8`` is one of the
        identifiers. Otherwise the label is the first identifier, or empty if
        there are none.

        :param ids: identifiers normalized by
            :func:`.part_identity.normalise`.
        """
        if part_identity.normalise(self.label) in ids:
            return self.label
        if ids:
            return ids[0]
        return ''

    def sort_key(self) -> tuple[str, ...]:
        """Return the key by which :func:`sort_parts` sorts parts."""
        return (
            self.kind,
            self.label,
            self.slot or '',
            self.source,
            str(sorted(self.attributes.items())),
        )


class AlreadyAnnounced(typing.NamedTuple):
    """Numbers of changes that a silent source must not announce again.

    Other sources announced these changes while the source was silent. For
    example, Redfish announced that a disk is gone. If the ramdisk reports its
    disks without serial numbers, it will report one disk fewer next time.
    That is the same disk, although it cannot be recognized, so such parts are
    counted.

    :param gone: number of parts of the source without an identity that are
        gone.
    :param new: number of new parts of the same kind.
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
    announced: Mapping[str, AlreadyAnnounced] = dataclasses.field(
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
        for kind, ids, *other_fields in self.parts:
            # JSON has no tuples. With lists, the result equals its decoded
            # JSON.
            parts.append([kind, list(ids), *other_fields])
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
        for kind, ids, *other_fields in plain['parts']:
            # as_dict() has converted the tuple of identifiers to a list.
            parts.append(Part(kind, tuple(ids), *other_fields))
        announced = {}
        for source, counts in plain['announced'].items():
            announced[source] = AlreadyAnnounced(*counts)
        return cls(sort_parts(parts), plain['sources'], announced)

    @functools.cached_property
    def identities(self) -> dict[Identity, list[Part]]:
        """The parts by identity: ``{('dimm', 's3z8'): [Part(…)]}``.

        A list has several parts if several sources report the same part.

        Identities that this package assigns, e.g. to the firmware, are
        skipped, because all machines have them.
        """
        parts: dict[Identity, list[Part]] = {}
        for part in self.parts:
            for identity in part.identities:
                _kind, name = identity
                if name not in part_source.GIVEN_IDS:
                    parts.setdefault(identity, []).append(part)
        return parts


NOTHING = Parts((), {})


def sort_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Sort parts, so that equal machines have equal :class:`Parts`."""
    return tuple(sorted(parts, key=Part.sort_key))


def read(
    inventory: Mapping[str, typing.Any],
    plugin_data: Mapping[str, typing.Any],
    reporter: str,
) -> Parts:
    """Return the parts of a machine, e.g. disks, from its inspection data.

    At most :data:`MOST` parts are read. Three things are left out:

    - entries that are not parts, e.g. empty slots;
    - identities that several parts of a source share;
    - parts without an identity that another part summarizes, as the part
      ``inventory.cpu`` summarizes all processors.

    :param reporter: the inspect interface that sent the data, e.g. ``agent``.
    """
    data = {'inventory': inventory, 'plugin_data': plugin_data}
    # The sources that report their parts. The value would be the time of the
    # report; it is always None here, because the report is the last one.
    sources: dict[str, str | None] = {}
    parts: list[Part] = []
    # Identifiers as they were reported, by their normalized form.
    reported_texts: dict[str, str] = {}
    for source in part_source.SOURCES:
        # The limit applies to all sources together.
        most_items = MOST - len(parts)
        parts_of_source = []
        for name, item in list(source.items(data))[:most_items]:
            identifiers = _read_identifiers(source, item)
            part = _make_part(source, name, item, reporter, identifiers)
            if part is not None:
                parts_of_source.append(part)
                reported_texts.update(identifiers)
        parts += parts_of_source
        # A source with an empty list reports too: the machine has no such
        # parts.
        if parts_of_source or source.is_reported(data):
            for kind in source.kinds:
                sources[_source_name(source, reporter, kind)] = None
    # Shared identities are only known after all parts have been read.
    shared = _find_shared_identities(parts)
    remaining_parts = []
    for part in _leave_out_summarized(parts):
        remaining_parts.append(_without_shared(part, shared, reported_texts))
    return Parts(
        sort_parts(remaining_parts),
        sources,
        shared=shared,
        texts=reported_texts,
    )


def _read_identifiers(
    source: part_source.PartSource, item: part_source.Item
) -> dict[str, str]:
    """Return the identifiers of a part, e.g. its serial number and WWN.

    :param item: the part as its source lists it, e.g. ``{'serial': 'S3Z8',
        'wwn': '0x5002538e', 'size': 480}``.
    :returns: identifiers as they were reported, by their normalized form:
        ``{'s3z8': 'S3Z8', '5002538e': '0x5002538e'}``. The first is the label.
    """
    if source.given_id:
        # The part reports no identifier, and each machine has it once, e.g.
        # the firmware.
        return {source.given_id: source.given_id}
    texts = []
    for field in source.ids:
        text = part_identity.reported_text(item.get(field))
        if text is not None:
            texts.append(text)
    wwn = item.get('wwn')
    if wwn and 'wwn_with_extension' in item:
        # All units of a disk array have the same WWN and differ in the
        # extension. So drop the WWN, but keep the first text: it is the WWN
        # with its extension, or the WWN itself if there is no extension.
        texts_after_first = [text for text in texts[1:] if text != wwn]
        texts = [*texts[:1], *texts_after_first]
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
    """Return the part that an item of a source describes.

    For example, the item ``{'serial': 'S3Z8', 'slot': 'A1', 'size': 32}``
    becomes ``Part('dimm', ('s3z8',), 'S3Z8', 'A1', {'size': 32}, …)``.

    :param name: the key of the item in a mapping of parts, otherwise empty. It
        is the slot if the item has no other.
    :param identifiers: the result of :func:`_read_identifiers`.
    :returns: None if the item has neither attributes nor a reported
        identifier, so that nothing is known of the part.
    """
    attributes = source.describe(item)
    has_reported_identifier = bool(identifiers) and not source.given_id
    if not attributes and not has_reported_identifier:
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

    :param source: the name of the source. For example, ``agent dimm
        inventory.dimms`` has the kind ``dimm``.
    """
    return source.split()[-2]


def _source_name(
    source: part_source.PartSource, reporter: str, kind: str
) -> str:
    """Return the name of a source: ``agent dimm inventory.dimms``."""
    return f'{reporter} {kind} {source.path}'


def _find_shared_identities(parts: Iterable[Part]) -> frozenset[Identity]:
    """Return the identities that several parts of one source have.

    For example, all disks of an array report the WWN of the array, which thus
    identifies none of them. If two parts of different sources have an
    identity, both are the same part, and the identity is not returned.
    """
    counts: collections.Counter[tuple[str, Identity]] = collections.Counter()
    for part in parts:
        if part_source.GIVEN_IDS.intersection(part.ids):
            # This package has assigned the identity, e.g. to the firmware.
            continue
        for identity in part.identities:
            counts[part.source, identity] += 1
    shared = set()
    for (_source, identity), count in counts.items():
        if count > 1:
            shared.add(identity)
    return frozenset(shared)


def _without_shared(
    part: Part,
    shared: Iterable[Identity],
    reported_texts: Mapping[str, str],
) -> Part:
    """Return a part without shared identities, labeled as it was reported.

    If a part loses its first identity, :meth:`Part.without` labels it with
    another one in normalized form, e.g. ``s3z8``, which was reported as
    ``S3Z8``.

    :param shared: the identities that several parts share.
    :param reported_texts: identifiers as they were reported, by their
        normalized form.
    """
    remaining = part.without(shared)
    label = reported_texts.get(remaining.label, remaining.label)
    return remaining._replace(label=label)


def _leave_out_summarized(parts: list[Part]) -> list[Part]:
    """Return the parts without the parts that another part summarizes.

    For example, ``inventory.cpu`` summarizes all processors of a machine, so a
    list of processors without serial numbers adds no information.
    """
    # A part that summarizes others has an identity that this package assigns.
    summarized_kinds = {
        part.kind
        for part in parts
        if part_source.GIVEN_IDS.intersection(part.ids)
    }
    return [
        part for part in parts if part.ids or part.kind not in summarized_kinds
    ]
