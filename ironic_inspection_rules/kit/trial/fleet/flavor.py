# SPDX-License-Identifier: Apache-2.0

"""Parse flavors of bare metal in the same way as Nova and Placement.

The extra specs of a flavor request resources and traits of Placement::

    {'resources:CUSTOM_LARGE': '1', 'resources:VCPU': '0',
     'trait:CUSTOM_GPU': 'required'}

A node of Ironic offers Placement one unit of its resource class, here
``CUSTOM_LARGE``, and its traits. Extra specs may belong to a group, whose
suffix is in the key: ``resources_gpu:…`` and ``trait_gpu:…`` are the group
``_gpu``.
"""

import collections
from collections.abc import Iterator, Mapping
import dataclasses
import re
from typing import Any

from ironic_inspection_rules.i18n import _

_CUSTOM = 'CUSTOM_'
_REQUIRED = 'required'
_FORBIDDEN = 'forbidden'
_GROUP_POLICY = 'group_policy'
# ResourceRequest.XS_KEYPAT of nova.scheduler.utils: kind, suffix of the group
# and name, as in "resources_gpu:VGPU" or "trait:CUSTOM_GPU".
_SPEC_KEY = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)')
# Characters that Nova replaces by one underscore in the name of a resource
# class.
_NOT_ALPHANUMERIC = re.compile('[^0-9A-Za-z]+')


@dataclasses.dataclass(frozen=True)
class Flavor:
    """The resource class and traits that a flavor requests.

    :ivar name: the name of the flavor.
    :ivar resource_class: e.g. ``CUSTOM_LARGE``; None if no node can take the
        flavor.
    :ivar required: traits that a node must have.
    :ivar forbidden: traits that a node must not have.
    :ivar problem: why no node can take the flavor; None if nodes can.
    :ivar ignored: extra specs that do not concern Placement, e.g.
        ``capabilities:…``, which Nova's own filters read, or whose value is
        invalid.
    """

    name: str
    resource_class: str | None = None
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    problem: str | None = None
    ignored: tuple[str, ...] = ()

    def fits(self, resource_class: str | None, traits: frozenset[str]) -> bool:
        """Return whether a node can take the flavor.

        :param resource_class: the class of the node in Placement; see
            :func:`normalize`.
        :param traits: the traits of the node.
        """
        if self.resource_class is None:
            return False
        if self.resource_class != resource_class:
            return False
        has_required_traits = self.required <= traits
        has_forbidden_trait = bool(self.forbidden & traits)
        return has_required_traits and not has_forbidden_trait


@dataclasses.dataclass
class _SpecGroup:
    """Extra specs with the same suffix, which a single node must satisfy.

    :ivar resources: amounts by name, e.g. ``{'CUSTOM_LARGE': 1}``.
    :ivar traits: e.g. ``{'HW_CPU_X86_VMX': 'required'}``.
    """

    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    traits: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def wanted(self) -> dict[str, int]:
        """The requested resources, without amounts of 0."""
        return {
            name: amount for name, amount in self.resources.items() if amount
        }

    def named(self, value: str) -> frozenset[str]:
        """Return the names of the traits with a value.

        :param value: ``required`` or ``forbidden``.
        """
        return frozenset(
            name
            for name, value_of_trait in self.traits.items()
            if value_of_trait == value
        )


def parse(
    name: str,
    extra_specs: Mapping[str, Any],
    vcpus: int = 0,
    ram: int = 0,
    disk: int = 0,
) -> Flavor:
    """Parse a flavor like ``ResourceRequest.from_request_spec`` of Nova.

    For example, the extra specs ``resources:CUSTOM_LARGE=1`` and
    ``trait:CUSTOM_GPU=required`` request a node with the resource class
    ``CUSTOM_LARGE`` and this trait.

    A flavor also requests processors, memory and disk, unless extra specs such
    as ``resources:VCPU=0`` override them. No node of Ironic has these, so the
    flavor then gets a problem instead of a resource class and traits.

    :param vcpus: the number of processors; 0 for none.
    :param ram: memory in MiB.
    :param disk: disk in GiB, including swap and ephemeral disk.
    """
    # The groups by suffix: all extra specs with "_gpu", e.g.
    # "resources_gpu:VGPU", are one group, and all extra specs without a suffix
    # are the group ''.
    groups: dict[str, _SpecGroup] = collections.defaultdict(_SpecGroup)
    ignored = []
    for key, value in extra_specs.items():
        if not _add_spec(groups, key, value):
            ignored.append(key)
    names_in_specs: set[str] = set()
    for group in groups.values():
        names_in_specs.update(group.resources)
    # The processors, memory and disk of the flavor belong to the group without
    # a suffix. An extra spec in any group replaces them.
    amounts_of_flavor = groups[''].resources
    # Nova also counts dedicated processors (PCPU) as VCPU.
    if 'VCPU' not in names_in_specs and 'PCPU' not in names_in_specs:
        amounts_of_flavor['VCPU'] = vcpus
    if 'MEMORY_MB' not in names_in_specs:
        amounts_of_flavor['MEMORY_MB'] = ram
    if 'DISK_GB' not in names_in_specs:
        amounts_of_flavor['DISK_GB'] = disk
    problem = next(_find_problems(groups), None)
    if problem:
        return Flavor(name, problem=problem, ignored=tuple(ignored))
    # Without a problem, the flavor requests one unit of one resource. So one
    # group wants something, and its only resource is the resource class.
    [group] = [group for group in groups.values() if group.wanted]
    [resource_class] = group.wanted
    return Flavor(
        name,
        resource_class,
        required=group.named(_REQUIRED),
        forbidden=group.named(_FORBIDDEN),
        ignored=tuple(ignored),
    )


def asks_for_bare_metal(extra_specs: Mapping[str, Any]) -> bool:
    """Return whether extra specs request a custom resource class.

    ``{'resources:CUSTOM_LARGE': '1'}`` requests one. The flavors of virtual
    machines do not, and are skipped when bare metal nodes are counted.
    """
    groups: dict[str, _SpecGroup] = collections.defaultdict(_SpecGroup)
    for key, value in extra_specs.items():
        _add_spec(groups, key, value)
    for group in groups.values():
        if any(name.startswith(_CUSTOM) for name in group.wanted):
            return True
    return False


def normalize(resource_class: str | None) -> str | None:
    """Return a resource class in the form of Placement.

    ``large-1`` becomes ``CUSTOM_LARGE_1``, like ``normalize_rc_name`` of
    ``nova.utils``. An empty name becomes None.
    """
    if not resource_class:
        return None
    return _CUSTOM + _NOT_ALPHANUMERIC.sub('_', resource_class).upper()


def _add_spec(groups: dict[str, _SpecGroup], key: str, value: Any) -> bool:
    """Add the resource or trait of an extra spec to its group.

    ``resources_gpu:VGPU`` with the value "2" adds the resource ``{'VGPU': 2}``
    to the group ``_gpu``. ``trait:CUSTOM_GPU`` with the value "required" adds
    a trait to the group without a suffix. The key ``group_policy`` adds
    nothing.

    :param groups: the groups by suffix.
    :param key: the key of the extra spec.
    :returns: False if Placement does not read the extra spec, or if its value
        is invalid.
    """
    if key == _GROUP_POLICY:
        # Placement reads the policy for several groups. It makes no difference
        # here, because a flavor of bare metal has resources in one group only.
        return True
    match = _SPEC_KEY.fullmatch(key)
    if not match:
        return False
    kind, suffix, name = match.groups()
    group = groups[suffix or '']
    if kind == 'trait':
        if value not in (_REQUIRED, _FORBIDDEN):
            return False
        group.traits[name] = value
        return True
    try:
        amount = int(value)
    except (TypeError, ValueError):
        return False
    if amount < 0:
        return False
    group.resources[name] = amount
    return True


def _find_problems(groups: Mapping[str, _SpecGroup]) -> Iterator[str]:
    """Yield the reasons why no node can take a flavor, as sentences.

    In Placement, a node has one unit of one custom resource class. So a flavor
    must request a custom resource class, nothing else, and one unit of it.
    Placement also refuses traits in a group without resources.
    """
    # Pairs such as ("VCPU", 4). They are in a list, because a resource may be
    # in two groups.
    wanted: list[tuple[str, int]] = []
    for group in groups.values():
        wanted += group.wanted.items()
    if not any(name.startswith(_CUSTOM) for name, _amount in wanted):
        yield _('it asks for no custom resource class')
    for name, amount in wanted:
        if not name.startswith(_CUSTOM):
            yield _(
                'it asks for %(name)s=%(amount)d, which no node of '
                'Ironic has: set resources:%(name)s=0'
            ) % {'name': name, 'amount': amount}
    units_wanted = sum(amount for _name, amount in wanted)
    if units_wanted > 1:
        amounts = [f'{name}={amount}' for name, amount in wanted]
        yield _(
            'it asks for %s, and a node has one resource class, once'
        ) % ', '.join(amounts)
    for suffix, group in groups.items():
        if group.traits and not group.wanted:
            yield _(
                'it asks for traits (trait%(suffix)s:…) without '
                'resources (resources%(suffix)s:…), which Placement '
                'refuses'
            ) % {'suffix': suffix}
