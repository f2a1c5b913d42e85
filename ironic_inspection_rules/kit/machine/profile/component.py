# SPDX-License-Identifier: Apache-2.0

"""The values and parts that a profile compares, and their tolerances.

A profile accepts machines like a sample of good ones. It compares single
values, such as the number of processors, and lists of parts, such as disks.
Serial numbers, addresses and kernel names are not compared. A tolerance says
how much a size or a count may differ from the sample, e.g. ``memory=5%``.

Every value and every list belongs to a component, such as ``processors``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import dataclasses
import math
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import part_source

PartItem = Mapping[str, typing.Any]
"""A part as a machine reports it: ``{'name': 'sda', 'size': 960…}``."""

# A tolerance: "memory=5%", "disks=1".
_TOLERANCE = re.compile(
    r'(?P<component>[a-z-]+)=(?P<number>[0-9]+(?:\.[0-9]+)?)'
    r'(?P<percent>%?)'
)

COMPONENTS = (
    'processors',
    'memory',
    'disks',
    'interfaces',
    'accelerators',
    'pci-devices',
)
"""Components for which a tolerance may be given."""

OBSERVED = 'observed'
_MAX_NUMBER = 1e300
MEMORY = 'memory'
FIRMWARE = 'firmware'


@dataclasses.dataclass(frozen=True)
class Scalar:
    """One value of a machine, which is a number or a text.

    :param component: the component that the value belongs to, e.g.
        ``processors``.
    :param path: the path of the value in the data.
    :param name: the name for messages; empty if the component has no other
        value.
    :param unit: the unit for messages; empty if there is none.
    :param sized: whether the value is a size rather than a count, which
        decides how a tolerance is applied.
    """

    component: str
    path: str
    name: str = ''
    unit: str = ''
    sized: bool = False

    def read_from(self, machine: views.Facts) -> typing.Any:
        """Read the value of a machine.

        :param machine: the inventory and the plugin data.
        :returns: None if the machine reports neither a number nor a text.
        """
        value = find(machine, self.path)
        if is_number(value):
            return value
        if isinstance(value, str) and value.strip():
            return value
        return None


VALUES = (
    Scalar('system', 'inventory.system_vendor.manufacturer', 'manufacturer'),
    Scalar('system', 'inventory.system_vendor.product_name', 'product'),
    Scalar(FIRMWARE, 'inventory.system_vendor.firmware.vendor', 'vendor'),
    Scalar(FIRMWARE, 'inventory.system_vendor.firmware.version', 'version'),
    Scalar(FIRMWARE, f'{part_source.BIOS_PATH}.vendor', 'BIOS vendor'),
    Scalar(FIRMWARE, f'{part_source.BIOS_PATH}.version', 'BIOS version'),
    Scalar(FIRMWARE, f'{part_source.DMI_BIOS_PATH}.Vendor', 'BIOS vendor'),
    Scalar(FIRMWARE, f'{part_source.DMI_BIOS_PATH}.Version', 'BIOS version'),
    Scalar('processors', 'inventory.cpu.architecture', 'architecture'),
    Scalar('processors', 'inventory.cpu.model_name', 'model'),
    Scalar('processors', 'inventory.cpu.socket_count', 'sockets'),
    Scalar('processors', 'inventory.cpu.count', 'count'),
    Scalar('memory', 'inventory.memory.physical_mb', unit='MiB', sized=True),
)


def _is_any(_item: PartItem) -> bool:
    """Return True, because all parts are compared if there is no filter."""
    return True


@dataclasses.dataclass(frozen=True)
class ComparedParts:
    """A list of a machine's parts.

    :param component: the kind of parts, such as ``disks``.
    :param path: the path of the list in the data, such as ``inventory.disks``.
    :param attributes: the names of the attributes that distinguish sorts of
        parts, such as ``size`` and ``model``.
    :param must_agree: the attributes that must be equal for different parts to
        be counted as one sort.
    :param label: a function that returns a name for parts, given their common
        attributes.
    :param part_filter: a filter of rules that selects some parts of the list;
        empty to compare all parts.
    :param accepts: a function that returns whether this filter selects a part.
    """

    component: str
    path: str
    attributes: tuple[str, ...]
    must_agree: tuple[str, ...]
    label: typing.Callable[[Mapping[str, typing.Any]], str]
    part_filter: str = ''
    accepts: typing.Callable[[PartItem], bool] = _is_any

    def read_from(self, machine: views.Facts) -> list[PartItem] | None:
        """Read the parts of a machine that are compared.

        :param machine: the inventory and the plugin data.
        :returns: None if the machine does not report a list of parts.
        """
        items = find(machine, self.path)
        if not isinstance(items, list):
            return None
        if not all(isinstance(item, dict) for item in items):
            return None
        return [item for item in items if self.accepts(item)]

    @property
    def field(self) -> str:
        """The field that reads the list in a rule, without braces.

        For example, ``inventory.disks | default([], true)``. The default makes
        a machine without the list count as a machine without parts.
        """
        field = f'{self.path} | default([], true)'
        if self.part_filter:
            field += f' | {self.part_filter}'
        return field


def find(machine: views.Facts, path: str) -> typing.Any:
    """Return the value at a path of a machine; None if there is none.

    :param machine: the inventory and the plugin data.
    :param path: the path, such as ``inventory.cpu.count``.
    """
    data = {'inventory': machine.inventory, 'plugin_data': machine.plugin_data}
    return part_source.value_at(data, path)


def reduce(machine: views.Facts) -> views.Facts:
    """Reduce a machine to the data that profiles compare.

    For example, the size and the model of a disk stay, but its name and serial
    number are removed. Parts are sorted. Therefore machines that give the same
    profile are equal after the reduction.

    :param machine: the inventory and the plugin data.
    :returns: a smaller inventory and plugin data, with the same paths.
    """
    data: dict[str, typing.Any] = {}
    for value in VALUES:
        _set_value(data, value.path, find(machine, value.path))
    # The attributes that are kept of parts, by the path of the list.
    lists = {
        DISKS.path: DISKS.attributes,
        INTERFACES.path: INTERFACES.attributes,
    }
    for path in part_source.PCI_PATHS:
        # The class says whether a device is an accelerator.
        lists[path] = (*part_source.PCI, 'class')
    for path, names in lists.items():
        parts_of_machine = find(machine, path)
        if isinstance(parts_of_machine, list):
            compared = [
                _pick_attributes(part, names) for part in parts_of_machine
            ]
            # Machines may list equal parts in any order.
            _set_value(data, path, sorted(compared, key=str))
    return views.Facts(data.get('inventory', {}), data.get('plugin_data', {}))


def _pick_attributes(
    item: typing.Any, names: Iterable[str]
) -> dict[str, typing.Any] | None:
    """Return the given attributes of a part, as far as the part has them.

    :returns: None if the item is not a mapping, and therefore not a part.
    """
    if not isinstance(item, dict):
        return None
    return {name: item[name] for name in names if name in item}


def _set_value(
    data: dict[str, typing.Any], path: str, value: typing.Any
) -> None:
    """Set the value at a dotted path of nested mappings, unless it is None.

    Missing mappings are added. For example, setting ``cpu.count`` in an empty
    mapping gives ``{'cpu': {'count': 8}}``.
    """
    if value is None:
        return
    *above, last = path.split('.')
    parent = data
    for name in above:
        parent = parent.setdefault(name, {})
    parent[last] = value


def is_number(value: typing.Any) -> bool:
    """Return whether a value is a number that may be a size or a count.

    Booleans are not, and neither are numbers of 1e300 or more: no machine
    reports them, and a share of them may not fit into a float.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _MAX_NUMBER


def compared_parts(machines: Sequence[views.Facts]) -> Iterator[ComparedParts]:
    """Yield the lists of parts that all machines report.

    These are disks, network interfaces and PCI devices. If the class of every
    PCI device is known, the PCI devices are given as two lists: accelerators,
    and all others.

    :param machines: the sample.
    """
    for compared in (DISKS, INTERFACES):
        if _do_all_report(machines, compared):
            yield compared
    for path in part_source.PCI_PATHS:
        devices = ComparedParts(
            'pci-devices',
            path,
            attributes=part_source.PCI,
            must_agree=(),
            label=_label_device,
        )
        if not _do_all_report(machines, devices):
            continue
        devices_of_all: list[PartItem] = []
        for machine in machines:
            devices_of_all += devices.read_from(machine) or ()
        # Only the class of a device says whether it is an accelerator.
        have_all_classes = all(
            isinstance(device.get('class'), str) for device in devices_of_all
        )
        if not have_all_classes:
            yield devices
            continue
        yield dataclasses.replace(
            devices,
            component='accelerators',
            part_filter=f'selectattr({_IS_ACCELERATOR})',
            accepts=_is_accelerator,
        )
        yield dataclasses.replace(
            devices,
            part_filter=f'rejectattr({_IS_ACCELERATOR})',
            accepts=_is_no_accelerator,
        )


def _do_all_report(
    machines: Sequence[views.Facts], compared: ComparedParts
) -> bool:
    """Return whether all machines report a list of parts, even if empty."""
    return all(compared.read_from(machine) is not None for machine in machines)


def _label_disk(attributes: Mapping[str, typing.Any]) -> str:
    """Return a name for disks of one sort, e.g. "SSD 480 GB Intel".

    :param attributes: the attributes that these disks share.
    """
    words = {True: 'HDD', False: 'SSD'}
    # Some machines do not report whether a disk rotates. Then it is a "disk".
    rotational = attributes.get('rotational', '')
    word = words.get(rotational, 'disk')
    return _join_words(
        word,
        attributes.get('size'),
        attributes.get('vendor'),
        attributes.get('model'),
    )


def _label_interface(attributes: Mapping[str, typing.Any]) -> str:
    """Return a name for interfaces of one sort: "0x8086:0x1521 1000 Mb/s".

    :param attributes: the attributes that these interfaces share.
    """
    words = [_join_ids(attributes, ('vendor', 'product')) or 'interface']
    speed = attributes.get('speed_mbps')
    if speed:
        words.append(f'{speed} Mb/s')
    return _join_words(*words)


def _label_device(attributes: Mapping[str, typing.Any]) -> str:
    """Return a name for PCI devices of one sort, e.g. "8086:1521"."""
    return _join_ids(attributes, part_source.PCI) or 'device'


def _join_ids(
    attributes: Mapping[str, typing.Any], names: Iterable[str]
) -> str:
    """Join the values of attributes that are known, e.g. ``8086:1521``."""
    return ':'.join(
        str(attributes[name]) for name in names if attributes.get(name)
    )


def _join_words(*words: typing.Any) -> str:
    """Join the words that are not empty by spaces."""
    known = [str(word).strip() for word in words if word]
    return ' '.join(known)


DISKS = ComparedParts(
    'disks',
    part_source.DISKS.path,
    attributes=part_source.DISKS.attributes,
    must_agree=('rotational',),
    label=_label_disk,
)
INTERFACES = ComparedParts(
    'interfaces',
    part_source.INTERFACES.path,
    attributes=(*part_source.INTERFACES.attributes, 'speed_mbps'),
    must_agree=(),
    label=_label_interface,
)


_IS_ACCELERATOR = (
    f"'class', 'matches', '{part_source.ACCELERATOR_CLASS.pattern}'"
)
"""Arguments of the filters ``selectattr`` and ``rejectattr``, which test the
class of a PCI device."""


def _is_accelerator(item: PartItem) -> bool:
    """Return whether a device passes the filter :data:`_IS_ACCELERATOR`."""
    device_class = str(item.get('class'))
    return part_source.ACCELERATOR_CLASS.fullmatch(device_class) is not None


def _is_no_accelerator(item: PartItem) -> bool:
    """Return whether a device is filtered out by :data:`_IS_ACCELERATOR`."""
    return not _is_accelerator(item)


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The amounts by which sizes and counts may differ, by component.

    :ivar shares: a share of the size if the component has a size, otherwise of
        the count; 5 % is 0.05.
    :ivar numbers: a number of parts; for memory, a number of MiB.
    :ivar observed: the components for which only the values of the sample are
        accepted, without values in between.
    """

    shares: dict[str, float] = dataclasses.field(default_factory=dict)
    numbers: dict[str, int] = dataclasses.field(default_factory=dict)
    observed: set[str] = dataclasses.field(default_factory=set)

    def widen_sizes(
        self, component: str, low: int, high: int
    ) -> tuple[int, int]:
        """Widen a range of sizes by the tolerance of a component.

        For example, ``disks=5%`` widens the range 960 to 960 to 912 to 1008. A
        share applies to any size. A number applies only to the size of memory,
        in MiB; for disks, a number means the count of disks.

        :param low: the least size in the sample.
        :param high: the greatest size in the sample.
        """
        number = 0
        if component == MEMORY:
            number = self.numbers.get(component, 0)
        return self._widen(low, high, self.shares.get(component, 0.0), number)

    def widen_counts(
        self, component: str, low: int, high: int
    ) -> tuple[int, int]:
        """Widen a range of counts by the tolerance of a component.

        For example, ``disks=1`` widens the range 4 to 4 to 3 to 5.

        :param low: the least number of parts in the sample.
        :param high: the greatest number of parts in the sample.
        """
        share = 0.0
        # For disks, a share applies to their sizes.
        if component != DISKS.component:
            share = self.shares.get(component, 0.0)
        return self._widen(low, high, share, self.numbers.get(component, 0))

    @staticmethod
    def _widen(
        low: int, high: int, share: float, number: int
    ) -> tuple[int, int]:
        """Widen a range by a share of its ends and by a number.

        For example, the share 0.05 and the number 1 widen 100 to 200 to 94 to
        211. The lower end is never less than 0.
        """
        # The products are rounded first because of float errors: 29 % of 100
        # would be 28.999999999999996.
        share_of_low = math.floor(round(low * share, 6))
        share_of_high = math.floor(round(high * share, 6))
        least = low - share_of_low - number
        most = high + share_of_high + number
        return max(0, least), most


def parse_tolerance(texts: Iterable[str]) -> Tolerance:
    """Read the values of ``--tolerance`` on the command line.

    ``memory=5%`` allows a share, ``disks=1`` allows a number, and
    ``memory=observed`` allows only the values that the machines have. A
    component may have both a share and a number. If a component has two shares
    or two numbers, the last one is used.

    :raises: :class:`.exceptions.Invalid` if a text is not a tolerance, or if a
        component has both ``observed`` and a share or number.
    """
    tolerance = Tolerance()
    for text in texts:
        component, _equals, number = text.partition('=')
        if number == OBSERVED and component in COMPONENTS:
            tolerance.observed.add(component)
            continue
        # All other texts must be a number or a share.
        match = _TOLERANCE.fullmatch(text)
        if match is None or match['component'] not in COMPONENTS:
            raise exceptions.Invalid(
                _(
                    'tolerance "%(given)s": must be COMPONENT=NUMBER, '
                    'COMPONENT=NUMBER%% or COMPONENT=observed, with one of '
                    '%(components)s'
                )
                % {'given': text, 'components': ', '.join(COMPONENTS)}
            )
        if match['percent']:
            tolerance.shares[component] = float(match['number']) / 100
        elif '.' in match['number']:
            raise exceptions.Invalid(
                _(
                    'tolerance "%s": must be a whole number, or have a %% '
                    'behind it'
                )
                % text
            )
        else:
            tolerance.numbers[component] = int(match['number'])
    with_number = {*tolerance.shares, *tolerance.numbers}
    contradictory = sorted(tolerance.observed & with_number)
    if contradictory:
        raise exceptions.Invalid(
            _('tolerance "%s=observed": it has a number as well')
            % contradictory[0]
        )
    return tolerance
