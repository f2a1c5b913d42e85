# SPDX-License-Identifier: Apache-2.0

"""The known fields of inspection data, and what provides each.

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

ITEM = '[]'  # The step into an item of a list.
MEMBER = '*'  # The step to a member that each machine names its own way.
OPEN = '**'  # Anything may be below.
_TOKEN = re.compile(r'\[\]|[^.\[\]]+')
_INDEX = re.compile(r'-?\d+')

AGENT, REDFISH = 'agent', 'redfish'
INTERFACES = (AGENT, REDFISH)
"""The inspect interfaces that differ in what they report."""

_USUAL = {'collector': ('default', 'logs'),
          'hook': ('validate-interfaces', 'ports', 'architecture',
                   'ramdisk-error'),
          'service': ('auto-discovery',)}
"""The sources that run by default."""

PLAIN = frozenset(('boolean', 'number', 'text'))
"""The types of fields that have nothing below."""

Steps = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Source:
    """What provides a field.

    ``kind`` is ``collector``, ``hook``, ``interface`` or ``service``.
    ``since`` and ``until`` are the first and the last release of Ironic that
    has it, None where all supported ones do.
    """

    kind: str
    name: str
    since: str | None = None
    until: str | None = None


@dataclasses.dataclass(frozen=True)
class Target:
    """The inspections that rules are for; None stands for any.

    ``interface`` is one of :data:`INTERFACES`, ``release`` one of Ironic.
    """

    interface: str | None = None
    release: str | None = None

    def has(self, source: Source) -> bool:
        """Return whether a source is part of such an inspection."""
        if self.interface and source.kind != 'hook' and (
                (source.kind == 'interface') is (self.interface == AGENT)):
            return False
        return self.release is None or releases.is_between(
            self.release, source.since, source.until)


ANY = Target()


@dataclasses.dataclass
class Field:
    """A field and what is below it, by name, ``[]``, ``*`` or ``**``.

    ``type`` is ``boolean``, ``number``, ``text``, ``list`` or ``mapping``,
    None where nobody knows.
    """

    type: str | None = None
    sources: tuple[Source, ...] = ()
    below: dict[str, 'Field'] = dataclasses.field(default_factory=dict)

    def step(self, name: str) -> 'Field | None':
        """Return the field below, None where there is none of that name."""
        if name in self.below:
            return self.below[name]
        if ITEM in self.below and (name == MEMBER or _INDEX.fullmatch(name)):
            return self.below[ITEM]
        return self.below.get(MEMBER)

    @property
    def is_open(self) -> bool:
        """True where nothing is known of what is below."""
        return not self.below or OPEN in self.below

    @property
    def names(self) -> list[str]:
        """The names of the fields below."""
        return [name for name in self.below
                if name not in (ITEM, MEMBER, OPEN)]


class Unknown(typing.NamedTuple):
    """A step that leads nowhere: its name and the field it is taken at."""

    name: str
    above: Field
    steps: Steps


def find(root: Field, steps: typing.Iterable[str]) -> Field | Unknown:
    """Follow steps from a field as far as the field is known.

    :returns: the field, itself unknown below if it is open; or where the
        first wrong step is.
    """
    field = root
    taken: list[str] = []
    for name in steps:
        if field.is_open and field.type not in PLAIN:
            return field
        below = field.step(name)
        if below is None:
            return Unknown(name, field, tuple(taken))
        field = below
        taken.append(name)
    return field


def needs(steps: typing.Iterable[str]) -> list[str]:
    """Return what an inspection needs to report a field that is known.

    :returns: phrases; none where each inspection by the ramdisk reports it.
    """
    found = sources(steps)
    if not found or any(
            each.name in _USUAL.get(each.kind, ())
            and each.since is each.until is None for each in found):
        return []
    said = []
    kinds = {each.kind for each in found}
    names = {kind: sorted({each.name for each in found if each.kind == kind})
             for kind in kinds}
    if kinds == {'interface'}:
        said.append(_('%s only') % ', '.join(map(str.capitalize,
                                                 names['interface'])))
    else:
        said += [_('needs the hook %s') % name
                 for name in names.get('hook', ())]
        said += [_("needs the ramdisk's collector %s") % name
                 for name in names.get('collector', ())]
        if len(said) > 1:
            said = [_(' or ').join(said)]
        if 'interface' in kinds:
            said = [_('%s, or Redfish') % said[0]]
    since = [each.since for each in found if each.since]
    if len(since) == len(found):
        said.append(_('from %s on') % min(map(releases.major, since)))
    until = [each.until for each in found if each.until]
    if len(until) == len(found):
        said.append(_('up to %s') % max(until, key=releases.numbers))
    return said


def sources(steps: typing.Iterable[str]) -> tuple[Source, ...]:
    """Return what provides a field, or else the field it is in."""
    field, found = known(), known().sources
    for name in steps:
        below = None if field.is_open else field.step(name)
        if below is None:
            break
        field, found = below, below.sources or found
    return found


@functools.cache
def known() -> Field:
    """Return the root of all known fields."""
    read = yaml_text.packaged('kit/machine/inventory_fields.yaml')
    root = Field()
    for path, sources in read['fields'].items():
        field = root
        for token in _TOKEN.findall(path):
            field = field.below.setdefault(token, Field())
        field.sources = tuple(
            Source(kind, name, each.get('since'), each.get('until'))
            for each in sources for kind, name in [next(iter(each.items()))])
        field.type = read['types'].get(path)
    return root
