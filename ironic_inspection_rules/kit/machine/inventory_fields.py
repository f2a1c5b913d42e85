# SPDX-License-Identifier: Apache-2.0

"""The known fields of inspection data, and their providers.

A path such as ``inventory.disks[].size`` leads to a field in steps:
``inventory``, ``disks``, ``[]`` and ``size``. A provider, or source, is the
part of an inspection that reports a field: a collector of the ramdisk, a hook
of Ironic, inspection by Redfish, or a service.

``tools/collect_inventory_fields.py`` generates ``inventory_fields.yaml`` from
the code of the ramdisk, of Ironic's hooks and of inspection by Redfish.
"""

import dataclasses
import functools
import re
import typing

from ironic_inspection_rules import releases
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import yaml_text

ITEM = '[]'
"""The step into an item of a list."""

MEMBER = '*'
"""The step to a member whose name differs between machines."""

OPEN = '**'
"""The step below which any fields may exist."""

_TOKEN = re.compile(r'\[\]|[^.\[\]]+')
_INDEX = re.compile(r'-?\d+')

AGENT = 'agent'
REDFISH = 'redfish'
INTERFACES: tuple[str, ...] = (AGENT, REDFISH)
"""The inspect interfaces whose reports differ."""

_USUAL = {
    'collector': ('default', 'logs'),
    'hook': ('validate-interfaces', 'ports', 'architecture', 'ramdisk-error'),
    'service': ('auto-discovery',),
}
"""The sources that run by default."""

PLAIN = frozenset(('boolean', 'number', 'text'))
"""The types of fields that have no members."""

Steps = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Provider:
    """A part of the inspection that provides a field.

    :ivar kind: ``collector`` of the ramdisk, ``hook`` of Ironic, inspect
        ``interface`` or ``service``.
    :ivar since: the first release of Ironic that has it; None if the oldest
        supported release has it.
    :ivar until: the last release that has it; None if the newest one has it.
    """

    kind: str
    name: str
    since: str | None = None
    until: str | None = None

    @property
    def is_usual(self) -> bool:
        """Whether it runs by default, in all supported releases."""
        if self.since is not None or self.until is not None:
            return False
        return self.name in _USUAL.get(self.kind, ())


@dataclasses.dataclass(frozen=True)
class InspectionTarget:
    """The inspections that rules are written for; None means any.

    ``interface`` is one of :data:`INTERFACES`, and ``release`` is a release of
    Ironic.
    """

    interface: str | None = None
    release: str | None = None

    def has(self, source: Provider) -> bool:
        """Return whether a provider takes part in such an inspection.

        For example, the hook ``raid-device`` takes part in any inspection, but
        a collector takes part only in an inspection by the ramdisk.
        """
        if source.kind == 'hook':
            interfaces = INTERFACES
        elif source.kind == 'interface':
            # Only inspection by Redfish itself is a provider of this kind.
            interfaces = (REDFISH,)
        else:
            # Collectors and services belong to inspection by the ramdisk.
            interfaces = (AGENT,)
        if self.interface and self.interface not in interfaces:
            return False
        if self.release is None:
            return True
        return releases.is_between(self.release, source.since, source.until)


ANY = InspectionTarget()


@dataclasses.dataclass
class InventoryField:
    """A field that inspection may report.

    :ivar type: ``boolean``, ``number``, ``text``, ``list`` or ``mapping``;
        None if it is unknown.
    :ivar sources: the providers that report the field.
    :ivar below: the fields in it, by name. The key ``[]`` is for the items of
        a list, ``*`` for members of any name, and ``**`` for anything.
    """

    type: str | None = None
    sources: tuple[Provider, ...] = ()
    below: dict[str, 'InventoryField'] = dataclasses.field(
        default_factory=dict
    )

    def step(self, name: str) -> 'InventoryField | None':
        """Return the field with a name below this one; None if there is none.

        In a list, any index and ``*`` lead to the field of all items, ``[]``.
        A name that is not known leads to the members of any name, ``*``, if
        there are such members.

        :param name: the name of a member, or the index of an item.
        """
        if name in self.below:
            return self.below[name]
        is_item = name == MEMBER or _INDEX.fullmatch(name) is not None
        if ITEM in self.below and is_item:
            return self.below[ITEM]
        return self.below.get(MEMBER)

    @property
    def is_open(self) -> bool:
        """Whether the fields below are unknown."""
        return not self.below or OPEN in self.below

    @property
    def names(self) -> list[str]:
        """The names of the fields below."""
        return [
            name for name in self.below if name not in (ITEM, MEMBER, OPEN)
        ]


class UnknownStep(typing.NamedTuple):
    """A step to a field that no machine has.

    :ivar above: the last known field on the way.
    :ivar steps: the steps to ``above``.
    """

    name: str
    above: InventoryField
    steps: Steps


def find_field(
    root: InventoryField, steps: typing.Iterable[str]
) -> InventoryField | UnknownStep:
    """Find the field to which steps lead, or the first unknown step.

    For example, ``('inventory', 'cpu', 'count')`` lead to a field, while
    ``('inventory', 'cpu', 'cuont')`` give an unknown step with the name
    "cuont". If the members of a field are unknown, no step below it can be
    wrong, and the field itself is returned.

    :param root: the field at which the steps begin.
    :param steps: names of members, and indices of items.
    """
    field = root
    known_steps: list[str] = []
    for name in steps:
        # A number has no members, so any step into it is unknown.
        if field.is_open and field.type not in PLAIN:
            return field
        below = field.step(name)
        if below is None:
            return UnknownStep(name, field, tuple(known_steps))
        field = below
        known_steps.append(name)
    return field


def describe_needs(steps: typing.Iterable[str]) -> list[str]:
    """Return what an inspection needs to report a known field.

    It may need a hook, a collector or Redfish, and a release of Ironic.

    :param steps: the path of the field.
    :returns: phrases, e.g. "needs the hook raid-device" and "from 39 on". The
        list is empty if every inspection by the ramdisk reports the field, or
        if its sources are unknown.
    """
    providers = find_sources(steps)
    if not providers or any(source.is_usual for source in providers):
        return []
    phrases = _describe_providers(providers)
    # A release is needed only if all providers have one. Otherwise another
    # provider reports the field in all releases.
    since = [source.since for source in providers if source.since]
    if len(since) == len(providers):
        phrases.append(_('from %s on') % min(map(releases.major, since)))
    until = [source.until for source in providers if source.until]
    if len(until) == len(providers):
        phrases.append(_('up to %s') % max(until, key=releases.numbers))
    return phrases


def _describe_providers(providers: tuple[Provider, ...]) -> list[str]:
    """Return which hook, collector or interface must provide a field.

    :returns: at most one phrase, e.g. "needs the hook raid-device or needs the
        ramdisk's collector pci-devices". The list is empty for a service,
        because services always run.
    """
    names_by_kind: dict[str, set[str]] = {}
    for source in providers:
        names_by_kind.setdefault(source.kind, set()).add(source.name)
    interfaces = sorted(names_by_kind.pop('interface', ()))
    if interfaces and not names_by_kind:
        # Only inspection by Redfish reports it.
        return [_('%s only') % ', '.join(map(str.capitalize, interfaces))]
    phrases = []
    for hook in sorted(names_by_kind.get('hook', ())):
        phrases.append(_('needs the hook %s') % hook)
    for collector in sorted(names_by_kind.get('collector', ())):
        phrases.append(_("needs the ramdisk's collector %s") % collector)
    if len(phrases) > 1:
        phrases = [_(' or ').join(phrases)]
    if interfaces:
        # Redfish reports the field without this hook or collector.
        phrases = [_('%s, or Redfish') % phrases[0]]
    return phrases


def find_sources(steps: typing.Iterable[str]) -> tuple[Provider, ...]:
    """Return the providers of a field.

    If they are unknown, the providers of the nearest field around it are
    returned. For example, ``('plugin_data', 'extra', 'cpu')`` gives the
    providers of ``extra``.

    :param steps: the path of the field.
    """
    field = known_fields()
    providers = field.sources
    for name in steps:
        if field.is_open:
            break
        below = field.step(name)
        if below is None:
            break
        field = below
        if field.sources:
            providers = field.sources
    return providers


@functools.cache
def known_fields() -> InventoryField:
    """Read the known fields from the packaged file, and return their root.

    For example, the path ``inventory.disks[].size`` in the file gives the
    fields ``inventory``, ``disks``, ``[]`` and ``size``, one below the other.
    """
    packaged = yaml_text.load_packaged('kit/machine/inventory_fields.yaml')
    root = InventoryField()
    for path, providers in packaged['fields'].items():
        field = root
        for token in _TOKEN.findall(path):
            field = field.below.setdefault(token, InventoryField())
        field.sources = tuple(map(_parse_provider, providers))
        field.type = packaged['types'].get(path)
    return root


def _parse_provider(entry: typing.Mapping[str, typing.Any]) -> Provider:
    """Read a provider of a field: ``{interface: redfish, since: 39.0.0}``.

    :param entry: the entry of the file; its first key is the kind.
    """
    kind, name = next(iter(entry.items()))
    return Provider(
        kind=kind,
        name=name,
        since=entry.get('since'),
        until=entry.get('until'),
    )
