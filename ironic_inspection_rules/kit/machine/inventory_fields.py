# SPDX-License-Identifier: Apache-2.0

"""The known fields of inspection data, and what provides them.

``inventory_fields.yaml`` is made by ``tools/collect_inventory_fields.py`` from
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
"""The step to a member that every machine names its own way."""

OPEN = '**'
"""The step below which there may be anything."""

_TOKEN = re.compile(r'\[\]|[^.\[\]]+')
_INDEX = re.compile(r'-?\d+')

AGENT = 'agent'
REDFISH = 'redfish'
INTERFACES = (AGENT, REDFISH)
"""The inspect interfaces that differ in what they report."""

_USUAL = {
    'collector': ('default', 'logs'),
    'hook': ('validate-interfaces', 'ports', 'architecture', 'ramdisk-error'),
    'service': ('auto-discovery',),
}
"""The sources that run by default."""

PLAIN = frozenset(('boolean', 'number', 'text'))
"""The types of fields that have nothing below."""

Steps = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Provider:
    """What provides a field.

    :ivar kind: ``collector`` of the ramdisk, ``hook`` of Ironic, inspect
        ``interface`` or ``service``.
    :ivar since: the first release of Ironic that has it, None where the oldest
        supported one does.
    :ivar until: the last one, None where the newest one does.
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
    """The inspections that rules are for; None stands for any.

    ``interface`` is one of :data:`INTERFACES`, ``release`` one of Ironic.
    """

    interface: str | None = None
    release: str | None = None

    def has(self, source: Provider) -> bool:
        """Return whether a source takes part in such an inspection.

        It has to be one of the interface, and there in the release.
        """
        # Hooks run with both interfaces. What inspection by Redfish itself
        # reports has the kind interface; all else is of the ramdisk.
        if self.interface and source.kind != 'hook':
            is_of_redfish = source.kind == 'interface'
            if is_of_redfish is (self.interface == AGENT):
                return False
        return self.release is None or releases.is_between(
            self.release, source.since, source.until
        )


ANY = InspectionTarget()


@dataclasses.dataclass
class InventoryField:
    """A field that inspection may report.

    :ivar type: ``boolean``, ``number``, ``text``, ``list`` or ``mapping``;
        None where it is not known.
    :ivar sources: that report it.
    :ivar below: the fields in it, by name; by ``[]`` the items of a list, by
        ``*`` members of any name, by ``**`` anything.
    """

    type: str | None = None
    sources: tuple[Provider, ...] = ()
    below: dict[str, 'InventoryField'] = dataclasses.field(
        default_factory=dict
    )

    def step(self, name: str) -> 'InventoryField | None':
        """Return the field below, None where there is none of that name."""
        if name in self.below:
            return self.below[name]
        if ITEM in self.below and (name == MEMBER or _INDEX.fullmatch(name)):
            return self.below[ITEM]
        return self.below.get(MEMBER)

    @property
    def is_open(self) -> bool:
        """Whether the fields in it are not known."""
        return not self.below or OPEN in self.below

    @property
    def names(self) -> list[str]:
        """The names of the fields below."""
        return [
            name for name in self.below if name not in (ITEM, MEMBER, OPEN)
        ]


class UnknownStep(typing.NamedTuple):
    """A step to a field that no machine has.

    :ivar above: the last field on the way that is known.
    :ivar steps: those that lead to it.
    """

    name: str
    above: InventoryField
    steps: Steps


def find(
    root: InventoryField, steps: typing.Iterable[str]
) -> InventoryField | UnknownStep:
    """Return the known field that steps lead to, or the first wrong step.

    Below a field whose members are not known nothing can be wrong: such a
    field is returned in place of all that is in it.

    :param root: the field that the steps begin in.
    """
    field = root
    known_steps: list[str] = []
    for name in steps:
        if field.is_open and field.type not in PLAIN:
            return field
        below = field.step(name)
        if below is None:
            return UnknownStep(name, field, tuple(known_steps))
        field = below
        known_steps.append(name)
    return field


def needs(steps: typing.Iterable[str]) -> list[str]:
    """Return what an inspection needs to report a field that is known.

    :returns: phrases; none where each inspection by the ramdisk reports it,
        and where nothing is known of what provides it.
    """
    providers = sources(steps)
    if not providers or any(source.is_usual for source in providers):
        return []
    phrases = _provided_by(providers)
    since = [source.since for source in providers if source.since]
    if len(since) == len(providers):
        phrases.append(_('from %s on') % min(map(releases.major, since)))
    until = [source.until for source in providers if source.until]
    if len(until) == len(providers):
        phrases.append(_('up to %s') % max(until, key=releases.numbers))
    return phrases


def _provided_by(providers: tuple[Provider, ...]) -> list[str]:
    """Return which hook, collector or interface has to provide a field.

    :returns: at most one phrase, such as "needs the hook raid-device or
        needs the ramdisk's collector pci-devices"; none for a service, which
        is always there.
    """
    names_by_kind: dict[str, set[str]] = {}
    for source in providers:
        names_by_kind.setdefault(source.kind, set()).add(source.name)
    interfaces = sorted(names_by_kind.pop('interface', ()))
    if interfaces and not names_by_kind:
        return [_('%s only') % ', '.join(map(str.capitalize, interfaces))]
    phrases = []
    for hook in sorted(names_by_kind.get('hook', ())):
        phrases.append(_('needs the hook %s') % hook)
    for collector in sorted(names_by_kind.get('collector', ())):
        phrases.append(_("needs the ramdisk's collector %s") % collector)
    if len(phrases) > 1:
        phrases = [_(' or ').join(phrases)]
    if interfaces:
        phrases = [_('%s, or Redfish') % phrases[0]]
    return phrases


def sources(steps: typing.Iterable[str]) -> tuple[Provider, ...]:
    """Return what provides a field.

    Where that is not known of the field itself, or it is no known field, it
    is what provides the nearest field around it.

    :param steps: the path of the field.
    """
    field = known()
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
def known() -> InventoryField:
    """Return the root of all known fields."""
    packaged = yaml_text.packaged('kit/machine/inventory_fields.yaml')
    root = InventoryField()
    for path, providers in packaged['fields'].items():
        field = root
        for token in _TOKEN.findall(path):
            field = field.below.setdefault(token, InventoryField())
        field.sources = tuple(map(_source, providers))
        field.type = packaged['types'].get(path)
    return root


def _source(entry: typing.Mapping[str, typing.Any]) -> Provider:
    """Read what provides a field: ``{hook: NAME, since: RELEASE}``.

    The kind with the name is always the first key.
    """
    kind, name = next(iter(entry.items()))
    return Provider(kind, name, entry.get('since'), entry.get('until'))
