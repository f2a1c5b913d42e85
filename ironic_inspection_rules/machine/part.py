# SPDX-License-Identifier: Apache-2.0

"""The parts of a machine, as its sources report them.

A part is known by its serial number, WWN or MAC address, never by a name that
a kernel gives. Histories and differences ask this description.
"""

import collections
from collections.abc import Iterable, Mapping
import dataclasses
import functools
import typing

from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.machine import part_source

MOST = 2000
"""Parts that are looked at; no real machine has more."""

Identity = tuple[str, str]
"""A kind of parts, and what one of them is known by."""


class Part(typing.NamedTuple):
    """A part of a machine, as one source reports it.

    :param ids: what identifies it, as :func:`.part_identity.normalised`; may
        be empty.
    :param label: the first of them as it was reported; empty without any.
    :param slot: where in the machine it is, None if that is not known.
    :param source: who reported it, and where.
    :param unidentified: the last report of the source has it without identity.
    """

    kind: str
    ids: tuple[str, ...]
    label: str
    slot: str | None
    what: Mapping[str, typing.Any]
    source: str
    unidentified: bool = False

    @property
    def identities(self) -> list[Identity]:
        """What identifies it among all parts of a machine."""
        return [(self.kind, name) for name in self.ids]

    @property
    def is_named(self) -> bool:
        """Whether the last report of its source says which one it is."""
        return bool(self.ids) and not self.unidentified

    def without(self, shared: Iterable[Identity]) -> 'Part':
        """Return it without identities that belong to several parts."""
        ids = tuple(name for kind, name in self.identities
                    if (kind, name) not in shared)
        return self if ids == self.ids else self._replace(
            ids=ids, label=self.label_of(ids), unidentified=self.unidentified
            and bool(ids))

    def label_of(self, ids: tuple[str, ...]) -> str:
        """Return the label of the part if it had these identities."""
        if part_identity.normalised(self.label) in ids:
            return self.label
        return ids[0] if ids else ''

    def place(self) -> tuple[str, ...]:
        """Return what to sort parts by."""
        return (self.kind, self.label, self.slot or '', self.source,
                str(sorted(self.what.items())))


@dataclasses.dataclass(frozen=True)
class Parts:
    """The parts of a machine, and the sources that have reported any.

    A part that two sources report is there twice; identities connect them.

    :param sources: when those that reported a list of parts, perhaps an empty
        one, were last heard, as text; None stands for the last inspection.
    :param told: how many parts without a known identity have ``gone`` and
        are ``new`` by other sources since a source was last heard, by source.
    :param shared: identities that the report gives to several parts; only of
        parts that were just read.
    :param texts: identities as they were reported, by their normalised form;
        only of parts that were just read.
    """

    parts: tuple[Part, ...]
    sources: Mapping[str, str | None]
    told: Mapping[str, tuple[int, int]] = dataclasses.field(
        default_factory=dict)
    shared: frozenset[Identity] = dataclasses.field(
        default=frozenset(), compare=False)
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict,
                                                 compare=False)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data, which :meth:`from_dict` reads."""
        return {'parts': [[kind, list(ids), *others]
                          for kind, ids, *others in self.parts],
                'sources': dict(sorted(self.sources.items())),
                'told': {source: list(counts) for source, counts in sorted(
                    self.told.items())}}

    @classmethod
    def from_dict(cls, plain: Mapping[str, typing.Any]) -> 'Parts':
        """Make parts of what :meth:`as_dict` returned."""
        parts = []
        for kind, ids, *others in plain['parts']:
            parts.append(Part(kind, tuple(ids), *others))
        return cls(tuple(sorted(parts, key=Part.place)), plain['sources'],
                   {source: (gone, new) for source, (gone, new)
                    in plain['told'].items()})

    @functools.cached_property
    def identities(self) -> dict[Identity, list[Part]]:
        """The parts by what identifies them, not those of all machines."""
        found: dict[Identity, list[Part]] = {}
        for part in self.parts:
            for identity in part.identities:
                if identity[1] not in part_source.GIVEN_IDS:
                    found.setdefault(identity, []).append(part)
        return found


NOTHING = Parts((), {})


def read(inventory: Mapping[str, typing.Any],
         plugin_data: Mapping[str, typing.Any], reporter: str) -> Parts:
    """Find the parts of a machine in its inventory.

    :param reporter: the inspect interface; each of them sees other parts.
    """
    data = {'inventory': inventory, 'plugin_data': plugin_data}
    sources: dict[str, str | None] = {}
    found: list[Part] = []
    texts: dict[str, str] = {}
    for source in part_source.SOURCES:
        items = list(source.items(data))
        parts = []
        for name, item in items[:MOST - len(found)]:
            identities = _identities(source, item)
            part = _part(source, name, item, reporter, identities)
            if part is not None:
                parts.append(part)
                texts.update(identities)
        found += parts
        if parts or source.is_reported(data):
            sources[_named(source, reporter, source.kind)] = None
            if source.kind == part_source.PCI_DEVICE:
                sources[_named(source, reporter,
                               part_source.ACCELERATOR)] = None
    shared = _shared(found)
    distinct = [part.without(shared) for part in _without_summed_up(found)]
    named = [part._replace(label=texts.get(part.label, part.label))
             for part in distinct]
    return Parts(tuple(sorted(named, key=Part.place)), sources,
                 shared=shared, texts=texts)


def _identities(source: part_source.Source, item: part_source.Item
                ) -> dict[str, str]:
    """Return what a part is known by.

    :returns: texts as they were reported, by their normalised form; the first
        is shown.
    """
    if source.given_id:
        return {source.given_id: source.given_id}
    named = [text for field in source.ids
             if (text := part_identity.written(item.get(field))) is not None]
    if 'wwn_with_extension' in item and len(named) > 1 and item.get('wwn'):
        # Units of one array share the rest of it.
        named = [text for text in named
                 if text != item['wwn'] or text == named[0]]
    identities: dict[str, str] = {}
    for text in named:
        identities.setdefault(part_identity.normalised(text), text)
    return identities


def _part(source: part_source.Source, name: str, item: part_source.Item,
          reporter: str, identities: Mapping[str, str]) -> Part | None:
    what = source.describe(item)
    if not what and (source.given_id or not identities):
        return None
    kind = source.kind_of(item)
    slot = source.slot_of(name, item)
    return Part(kind, tuple(identities), next(iter(identities.values()), ''),
                slot and slot[:part_identity.LONGEST], what,
                _named(source, reporter, kind))


def kind_of(source: str) -> str:
    """Return the kind of parts that a source reports."""
    return source.split()[-2]


def _named(source: part_source.Source, reporter: str, kind: str) -> str:
    return f'{reporter} {kind} {source.path}'


def _shared(found: Iterable[Part]) -> frozenset[Identity]:
    """Return the identities that a source gives to several parts."""
    count = collections.Counter(
        (part.source, identity) for part in found
        if not part_source.GIVEN_IDS.intersection(part.ids)
        for identity in part.identities)
    return frozenset(identity for (_source, identity), times in count.items()
                     if times > 1)


def _without_summed_up(found: list[Part]) -> list[Part]:
    """Leave out parts without identity that one entry sums up."""
    summed_up = {part.kind for part in found
                 if part_source.GIVEN_IDS.intersection(part.ids)}
    return [part for part in found
            if part.ids or part.kind not in summed_up]
