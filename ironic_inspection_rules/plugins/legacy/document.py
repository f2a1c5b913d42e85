# SPDX-License-Identifier: Apache-2.0

"""The inspection data in the form that ironic-inspector's rules read.

The data, or the document, are what the ramdisk sent and what inspection hooks
added: ``inventory``, and the keys of plugin data next to it::

    {'inventory': {'cpu': {'count': 8}, …}, 'boot_interface': …, …}

The hooks ``scheduler``, ``root_disk_selection`` and ``validate_interfaces``
ran in every ironic-inspector. They added values that Ironic's hooks do not
add, e.g. ``cpus``. If a rule reads one of these values and the data lack it,
it is computed as ironic-inspector 12.5.0 did with its default options. The
document as a whole does not contain these values. A function that computes a
value raises KeyError if the value does not exist, as for any missing key.
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
"""The places where Ironic has the values that ironic-inspector added next to
``inventory``, by name."""

NO_ADDRESS = {'ipmi_address': '0.0.0.0', 'ipmi_v6address': '::/0'}
"""The text that the ramdisk sends if the BMC has no address of that version.
"""


def place_in_ironic(steps: typing.Iterable[typing.Any]) -> Steps:
    """Return where Ironic has a value that a rule of ironic-inspector reads.

    A rule that is converted to this language reads the value there.

    * ``inventory.cpu`` is not changed.
    * ``cpus`` becomes ``inventory.cpu.count``, see :data:`IN_IRONIC`.
    * ``interfaces.eth0.ip`` becomes
      ``plugin_data.valid_interfaces.eth0.ipv4_address``; for the last name,
      see :data:`.interface.IN_IRONIC`.
    * ``interfaces.eth0.lldp_processed`` becomes
      ``plugin_data.parsed_lldp.eth0``.
    * ``custom.a`` becomes ``plugin_data.custom.a``, like everything else.

    :param steps: the path in the data of ironic-inspector: names and indexes,
        e.g. ``('cpus',)``.
    :returns: the path in Ironic, e.g. ``('inventory', 'cpu', 'count')``.
    """
    path = tuple(steps)
    if not path:
        # The path of the whole document.
        return ('plugin_data',)
    first, *rest = path
    if first == 'inventory':
        return path
    is_of_interfaces = first in ('interfaces', 'all_interfaces')
    if is_of_interfaces and len(rest) >= 2:
        # The name of the interface, one of its values, and further steps.
        name, value_name, *further = rest
        if value_name == 'lldp_processed':
            return ('plugin_data', 'parsed_lldp', name, *further)
        if value_name in interface.IN_IRONIC:
            rest = [name, interface.IN_IRONIC[value_name], *further]
    if first in IN_IRONIC:
        return (*IN_IRONIC[first].split('.'), *rest)
    return ('plugin_data', first, *rest)


class InspectorData(dict[str, typing.Any]):
    """The inventory and plugin data in the form of ironic-inspector.

    ``__missing__`` computes the values that its hooks added when a rule reads
    them.

    :param roots: the data of a machine by root name.
    """

    def __init__(self, roots: budget.View) -> None:
        # The inventory must be the first key. It is set afterwards, because it
        # takes precedence over plugin data with the name "inventory".
        super().__init__({'inventory': None, **roots['plugin_data']})
        self.inventory = roots['inventory']
        self['inventory'] = self.inventory
        # Remove the traces of rules, which ironic-inspector did not have.
        self.pop(model.TRACE_KEY, None)
        self.budget = roots.budget
        self._roots = roots
        if isinstance(self.get('all_interfaces'), dict):
            self['all_interfaces'] = self.wrap_interfaces(
                self['all_interfaces']
            )

    @property
    def lldp(self) -> Container:
        """The LLDP data of all interfaces, by the name of the interface.

        A switch sends these data for its port. They are ``parsed_lldp`` of the
        plugin data; empty if this is not a mapping.
        """
        parsed = self.get('parsed_lldp')
        if not isinstance(parsed, dict):
            return {}
        return parsed

    def wrap_interfaces(self, interfaces: Container) -> interface.Interfaces:
        """Return interfaces that also have ironic-inspector's names.

        :param interfaces: interfaces as Ironic has them, by name.
        """
        # Copying is cheap: 16 interfaces cost one operation.
        self.budget.spend(len(interfaces) // 16)
        return interface.Interfaces(interfaces, self.lldp)

    @property
    def node(self) -> Container:
        """The node, for its root device hints; empty in the early phase."""
        try:
            node: Container = self._roots['node']
        except LookupError:
            # In the early phase there is no node.
            return {}
        return node

    def __missing__(self, name: str) -> typing.Any:
        """Return a value that ironic-inspector had in another place.

        Python calls this if the document itself does not have the name.

        * A value that a hook of ironic-inspector added, e.g. ``cpus``, is
          computed like the hook did.
        * Some other values, e.g. ``bmc_address``, are read from their places
          in Ironic's inventory.

        :raises: KeyError if there is no such value.
        """
        if name in _ADDED_BY_HOOKS:
            compute_value = _ADDED_BY_HOOKS[name]
            return compute_value(self)
        places_in_ironic = rendering.SECOND_NAMES.get(name, ())
        for root, *steps in places_in_ironic:
            # The root is always "inventory", which always exists, so this
            # look-up does not call __missing__ again.
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
    """Return a whole number from the inventory.

    :param steps: its path in the inventory, e.g. ``('cpu', 'count')``.
    :raises: KeyError if there is no number. In this case ironic-inspector only
        logged a message and did not add the value.
    """
    value = data_path.get(document.inventory, steps)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise KeyError(steps[-1]) from None


def _ipmi_address(document: InspectorData) -> typing.Any:
    """Return the IPv4 address of the BMC, or None if it has none."""
    return _read_address_of_bmc(document, 'ipmi_address')


def _ipmi_v6address(document: InspectorData) -> typing.Any:
    """Return the IPv6 address of the BMC, or None if it has none."""
    return _read_address_of_bmc(document, 'ipmi_v6address')


def _read_address_of_bmc(document: InspectorData, name: str) -> typing.Any:
    """Return an address of the BMC, or None if it has no such address.

    If there is no address, the ramdisk sends ``0.0.0.0`` or ``::/0``.

    :param name: ``ipmi_address`` or ``ipmi_v6address``.
    """
    # For example, "inventory.bmc_address" has the key "bmc_address".
    _root, key = IN_IRONIC[name].split('.')
    address = document.inventory.get(key)
    if address in ('', NO_ADDRESS[name]):
        return None
    return address


def _local_gb(document: InspectorData) -> int:
    """Return the size of the root disk in GiB, minus one for partitions.

    :returns: 0 if the machine has no disks and its node has no root device
        hints.
    :raises: KeyError if the root disk or its size is unknown.
    """
    disk = _find_root_disk(document)
    if not disk:
        if document.inventory.get('disks'):
            # Redfish lists disks, but never names the root disk.
            raise KeyError('root_disk')
        # The machine has no disks.
        return 0
    size = data_path.get(disk, ('size',))
    if not isinstance(size, int):
        raise KeyError('size')
    size_in_gib = size // _GIB
    return max(size_in_gib - 1, 0)


def _find_root_disk(document: InspectorData) -> typing.Any:
    """Return the disk that the root device hints of the node select.

    * Without hints, it is the disk that the ramdisk has selected.
    * If all hints are plain text, e.g. ``{'serial': 'S1'}``, it is the first
      disk with these texts, regardless of case.
    * Hints with operators or numbers, and the node property
      ``skip_block_devices``, are not supported. They need Ironic's hook
      ``root-device``.

    :returns: None if there are no hints and the ramdisk names no disk.
    :raises: KeyError if no disk matches the hints, or if they are not
        supported.
    """
    hints = data_path.get(document.node, ('properties', 'root_device'))
    if not hints or hints is data_path.ABSENT:
        return document.get('root_disk')
    skipped = data_path.get(
        document.node, ('properties', 'skip_block_devices')
    )
    if skipped not in (None, [], data_path.ABSENT):
        raise KeyError('root_disk')
    texts = _read_plain_hints(hints)
    disks = document.inventory.get('disks')
    if isinstance(disks, list):
        document.budget.spend(len(disks))
        for disk in disks:
            if isinstance(disk, dict) and _meets_hints(disk, texts):
                return disk
    # No disk matches the hints.
    raise KeyError('root_disk')


def _read_plain_hints(hints: typing.Any) -> dict[str, str]:
    """Return root device hints in lower case, if all of them are plain text.

    :param hints: e.g. ``{'serial': 'S1'}``. An operator may have written
        anything else into the node.
    :raises: KeyError if a hint has an operator, or is no text.
    """
    if not isinstance(hints, dict):
        raise KeyError('root_disk')
    texts = {}
    for name, hint in hints.items():
        if not isinstance(hint, str) or _OPERATOR.search(hint):
            raise KeyError('root_disk')
        texts[name] = hint.strip().lower()
    return texts


def _meets_hints(disk: dict[str, typing.Any], hints: dict[str, str]) -> bool:
    """Return whether a disk matches all hints, ignoring case.

    :param hints: texts in lower case by the name of the disk's value, e.g.
        ``{'serial': 's1'}``.
    """
    for name, hint in hints.items():
        text_of_disk = str(disk.get(name)).strip().lower()
        if text_of_disk != hint:
            return False
    return True


def _all_interfaces(document: InspectorData) -> interface.Interfaces:
    """Return all interfaces of the inventory, with ironic-inspector's names.

    :raises: KeyError if no interface has a name and a MAC address.
    """
    return interface.read_all(
        document.inventory.get('interfaces'),
        interface.boot_mac(document),
        document.lldp,
        document.budget,
    )


def _suitable_interfaces(document: InspectorData) -> interface.Interfaces:
    """Return the interfaces for which ironic-inspector created ports.

    If Ironic's hook ``validate-interfaces`` ran, it has already chosen them.
    Otherwise they are chosen here, like ironic-inspector did by default.

    :raises: KeyError if there are no interfaces to choose from, or if none is
        suitable.
    """
    chosen_by_hook = document.get('valid_interfaces')
    if isinstance(chosen_by_hook, dict):
        has_hook_chosen = True
        interfaces = document.wrap_interfaces(chosen_by_hook)
    else:
        has_hook_chosen = False
        interfaces = document['all_interfaces']
    if not isinstance(interfaces, interface.Interfaces):
        # The ramdisk has sent something else as "all_interfaces".
        raise KeyError('interfaces')
    document.budget.spend(len(interfaces))
    suitable = interface.choose_suitable(
        interfaces, interface.boot_mac(document), has_hook_chosen
    )
    return document.wrap_interfaces(suitable)


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
