# SPDX-License-Identifier: Apache-2.0

"""The inspection data as ironic-inspector's rules read them.

They are what the ramdisk sent and inspection hooks added: ``inventory``, and
beside it the keys of plugin data. Hooks that ran in each ironic-inspector
added values that Ironic's do not: ``scheduler``, ``root_disk_selection`` and
``validate_interfaces``. A step that the data do not have finds these values,
with the meaning that ironic-inspector 12.5.0 gave them under its default
options. The document as a whole does not have them.
"""

import re
import typing

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.plugins.legacy import interface

Container = dict[str, typing.Any]
Steps = tuple[typing.Any, ...]

_GIB = 2**30  # Bytes.
_OPERATOR = re.compile('[<>=!]')  # Of root device hints.

IN_IRONIC = {
    'cpu_arch': 'inventory.cpu.architecture',
    'cpus': 'inventory.cpu.count',
    'interfaces': 'plugin_data.valid_interfaces',
    'ipmi_address': 'inventory.bmc_address',
    'ipmi_v6address': 'inventory.bmc_v6address',
    'memory_mb': 'inventory.memory.physical_mb',
}
"""Where Ironic has the values that ironic-inspector added beside
``inventory``, by name."""

NO_ADDRESS = {'ipmi_address': '0.0.0.0', 'ipmi_v6address': '::/0'}
"""What the ramdisk sends for a BMC that has no address of that version."""


def place_in_ironic(steps: typing.Iterable[typing.Any]) -> Steps:
    """Return where Ironic has a value that a rule of ironic-inspector reads.

    * ``inventory.cpu`` is ``inventory.cpu``, as before.
    * ``cpus`` is ``inventory.cpu.count``, by :data:`IN_IRONIC`.
    * ``interfaces.eth0.ip`` is
      ``plugin_data.valid_interfaces.eth0.ipv4_address``; the last name is by
      :data:`.interface.IN_IRONIC`.
    * ``interfaces.eth0.lldp_processed`` is ``plugin_data.parsed_lldp.eth0``.
    * ``custom.a`` is ``plugin_data.custom.a``, as all else.

    :param steps: the path in the data of ironic-inspector: names and indices,
        such as ``('cpus',)``.
    :returns: the path in Ironic, such as ``('inventory', 'cpu', 'count')``.
    """
    path = tuple(steps)
    if not path:
        return ('plugin_data',)
    first, *rest = path
    if first == 'inventory':
        return path
    is_of_interfaces = first in ('interfaces', 'all_interfaces')
    if is_of_interfaces and len(rest) >= 2:
        name, field, *below = rest
        if field == 'lldp_processed':
            return ('plugin_data', 'parsed_lldp', name, *below)
        if field in interface.IN_IRONIC:
            rest = [name, interface.IN_IRONIC[field], *below]
    if first in IN_IRONIC:
        return (*IN_IRONIC[first].split('.'), *rest)
    return ('plugin_data', first, *rest)


class InspectorData(dict[str, typing.Any]):
    """Inventory and plugin data as ironic-inspector had them.

    The values that its hooks added are computed by ``__missing__``, when a
    rule reads them.

    :param roots: the data of a machine by root name.
    """

    def __init__(self, roots: budget.View) -> None:
        # The inventory is the first key, and counts more than plugin data of
        # that name.
        super().__init__({'inventory': None, **roots['plugin_data']})
        self.inventory = roots['inventory']
        self['inventory'] = self.inventory
        # What rules have noted of themselves, ironic-inspector did not have.
        self.pop(model.TRACE_KEY, None)
        self.budget = roots.budget
        self._roots = roots
        if isinstance(self.get('all_interfaces'), dict):
            self['all_interfaces'] = self.interfaces(self['all_interfaces'])

    @property
    def lldp(self) -> Container:
        """What switches say of their ports, by name of an interface.

        It is ``parsed_lldp`` of the plugin data, or empty without a mapping
        there.
        """
        parsed = self.get('parsed_lldp')
        if not isinstance(parsed, dict):
            return {}
        return parsed

    def interfaces(self, interfaces: Container) -> interface.Interfaces:
        """Return interfaces that also have the names of ironic-inspector.

        :param interfaces: interfaces as Ironic has them, by name.
        """
        # To copy them is cheap: 16 interfaces cost one operation.
        self.budget.spend(len(interfaces) // 16)
        return interface.Interfaces(interfaces, self.lldp)

    @property
    def node(self) -> Container:
        """The node, for its root device hints; empty in the early phase."""
        try:
            node: Container = self._roots['node']
        except LookupError:
            return {}
        return node

    def __missing__(self, name: str) -> typing.Any:
        """Return a value that ironic-inspector had in another place.

        A value that a hook of ironic-inspector added, such as ``cpus``, is
        made as the hook made it. Any other is read from the place where Ironic
        has it.

        :raises: KeyError if there is no such value.
        """
        if name in _ADDED_BY_HOOKS:
            return _ADDED_BY_HOOKS[name](self)
        places_in_ironic = rendering.SECOND_NAMES.get(name, ())
        for root, *steps in places_in_ironic:
            # All these roots are "inventory", which is always there: looking
            # it up does not come back here.
            value = data_path.get(self[root], tuple(steps))
            # An empty address counts as missing.
            if value and value is not data_path.ABSENT:
                return value
        raise KeyError(name)


def _memory_mb(document: InspectorData) -> int:
    """Return the size of the memory in MiB."""
    return _read_number(document, ('memory', 'physical_mb'))


def _cpus(document: InspectorData) -> int:
    """Return the number of processors."""
    return _read_number(document, ('cpu', 'count'))


def _cpu_arch(document: InspectorData) -> str:
    """Return the architecture of the processor.

    :raises: KeyError if the inventory does not have it.
    """
    architecture = data_path.get(document.inventory, ('cpu', 'architecture'))
    if architecture is data_path.ABSENT or architecture is None:
        raise KeyError('cpu_arch')
    return str(architecture)


def _read_number(document: InspectorData, steps: data_path.Path) -> int:
    """Return a whole number of the inventory.

    :param steps: its path in the inventory: ``('cpu', 'count')``.
    :raises: KeyError if there is no number: ironic-inspector only logged that,
        and did not add the value.
    """
    value = data_path.get(document.inventory, steps)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise KeyError(steps[-1]) from None


def _ipmi_address(document: InspectorData) -> typing.Any:
    """Return the IPv4 address of the BMC, None if it has none."""
    return _read_address_of_bmc(document, 'ipmi_address')


def _ipmi_v6address(document: InspectorData) -> typing.Any:
    """Return the IPv6 address of the BMC, None if it has none."""
    return _read_address_of_bmc(document, 'ipmi_v6address')


def _read_address_of_bmc(document: InspectorData, name: str) -> typing.Any:
    """Return an address of the BMC, None for a BMC without such an address.

    Where it has none, the ramdisk writes ``0.0.0.0`` or ``::/0``.

    :param name: ``ipmi_address`` or ``ipmi_v6address``.
    """
    _root, key = IN_IRONIC[name].split('.')
    address = document.inventory.get(key)
    if address in ('', NO_ADDRESS[name]):
        return None
    return address


def _local_gb(document: InspectorData) -> int:
    """Return the size of the root disk in GiB, one less for partitions.

    :returns: 0 where the machine has no disks, and its node no root device
        hints.
    :raises: KeyError if the root disk or its size is not known.
    """
    disk = _find_root_disk(document)
    if not disk:
        # The node has no hints, and the ramdisk has named no root disk: either
        # it found no disk at all, or the inspection was by Redfish, which
        # lists disks but never names the root disk.
        if document.inventory.get('disks'):
            raise KeyError('root_disk')
        return 0
    size = data_path.get(disk, ('size',))
    if not isinstance(size, int):
        raise KeyError('size')
    return max(size // _GIB - 1, 0)


def _find_root_disk(document: InspectorData) -> typing.Any:
    """Return the disk that the root device hints of the node choose.

    Without hints, it is the disk that the ramdisk has chosen. Only hints of
    plain text are followed, such as ``{'serial': 'S1'}``: the disk must have
    the same text. Hints with operators or numbers, and the property
    ``skip_block_devices`` of the node, need Ironic's hook ``root-device``.

    :returns: None where there are no hints, and the ramdisk names no disk.
    :raises: KeyError if no disk meets the hints, or only Ironic's hook can
        find the disk.
    """
    hints = data_path.get(document.node, ('properties', 'root_device'))
    if not hints or hints is data_path.ABSENT:
        return document.get('root_disk')
    skipped = data_path.get(
        document.node, ('properties', 'skip_block_devices')
    )
    if skipped not in (None, [], data_path.ABSENT):
        raise KeyError('root_disk')
    if not isinstance(hints, dict):
        raise KeyError('root_disk')
    wanted = {}
    for name, hint in hints.items():
        if not isinstance(hint, str) or _OPERATOR.search(hint):
            raise KeyError('root_disk')
        wanted[name] = hint.strip().lower()
    disks = document.inventory.get('disks')
    if isinstance(disks, list):
        document.budget.spend(len(disks))
        for disk in disks:
            if isinstance(disk, dict) and _meets_hints(disk, wanted):
                return disk
    # No disk meets the hints.
    raise KeyError('root_disk')


def _meets_hints(disk: dict[str, typing.Any], hints: dict[str, str]) -> bool:
    """Return whether a disk meets all hints, whatever the case of letters.

    :param hints: texts in lower case, such as ``{'serial': 's1'}``, by the
        names of the disk's values.
    """
    for name, hint in hints.items():
        if str(disk.get(name)).strip().lower() != hint:
            return False
    return True


def _all_interfaces(document: InspectorData) -> interface.Interfaces:
    """Return all interfaces of the inventory, by ironic-inspector's names too.

    :raises: KeyError if none has a name and a MAC address.
    """
    return interface.read_all(
        document.inventory.get('interfaces'),
        interface.boot_mac(document),
        document.lldp,
        document.budget,
    )


def _suitable_interfaces(document: InspectorData) -> interface.Interfaces:
    """Return the interfaces that ironic-inspector made ports for.

    Ironic's hook ``validate-interfaces`` has chosen them already, if it ran;
    else they are chosen here, as ironic-inspector did by default.

    :raises: KeyError if there are no interfaces to choose from, or none is
        suitable.
    """
    chosen_by_hook = document.get('valid_interfaces')
    if isinstance(chosen_by_hook, dict):
        has_hook_chosen = True
        interfaces = document.interfaces(chosen_by_hook)
    else:
        has_hook_chosen = False
        interfaces = document['all_interfaces']
    if not isinstance(interfaces, interface.Interfaces):
        # The ramdisk has sent something else by the name "all_interfaces".
        raise KeyError('interfaces')
    document.budget.spend(len(interfaces))
    suitable = interface.choose_suitable(
        interfaces, interface.boot_mac(document), has_hook_chosen
    )
    return document.interfaces(suitable)


_ADDED_BY_HOOKS: typing.Mapping[
    str, typing.Callable[[InspectorData], typing.Any]
] = {
    'all_interfaces': _all_interfaces,
    'cpu_arch': _cpu_arch,
    'cpus': _cpus,
    'interfaces': _suitable_interfaces,
    'ipmi_address': _ipmi_address,
    'ipmi_v6address': _ipmi_v6address,
    'local_gb': _local_gb,
    'memory_mb': _memory_mb,
}
"""The values that hooks of ironic-inspector added, by name."""
