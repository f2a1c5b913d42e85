# SPDX-License-Identifier: Apache-2.0

"""Network interfaces in the form that ironic-inspector's rules read.

The hook ``validate_interfaces`` of ironic-inspector built these interfaces.
The inventory of Ironic has a list of interfaces, whose values have other
names::

    Ironic:           {'name': 'eth0', 'mac_address': '52:54:00:00:00:01',
                       'ipv4_address': '192.0.2.1'}
    ironic-inspector: {'eth0': {'mac': '52:54:00:00:00:01',
                                'ip': '192.0.2.1', 'pxe': True, …}}

The boot interface is the interface from which the machine booted (PXE). LLDP
data are the data that a switch sends for its port.
"""

import ipaddress
import re
import typing

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path

Container = dict[str, typing.Any]

_MAC = re.compile('(?:[0-9a-f]{2}:){5}[0-9a-f]{2}')

IN_IRONIC = {'ip': 'ipv4_address', 'mac': 'mac_address', 'pxe': 'pxe_enabled'}
"""The names in Ironic for the values of an interface in ironic-inspector.

If an interface has only an IPv6 address, ``ip`` is that address.
"""


class Interface(dict[str, typing.Any]):
    """A network interface of Ironic that also has ironic-inspector's names.

    For example, ``interface['ip']`` is the value of ``ipv4_address``. The
    methods ``get`` and ``in`` only support Ironic's names.

    :param lldp: the data that the switch sends for its port; ABSENT if
        unknown.
    """

    def __init__(self, interface: Container, lldp: typing.Any) -> None:
        super().__init__(interface)
        self._lldp = lldp

    def __missing__(self, name: str) -> typing.Any:
        """Return the value of a name that only ironic-inspector had.

        Python calls this if the interface itself does not have the name.

        * ``ip`` is the IPv4 address, or else the IPv6 address without scope.
        * ``mac`` is the MAC address in lower case.
        * ``pxe`` is whether the machine booted from the interface.
        * ``client_id`` is always null, because Ironic does not have it.
        * ``lldp_processed`` are the LLDP data, if they are known.

        :raises: KeyError for any other name, and for a value that is unknown.
        """
        if name == 'ip':
            ipv4_address = self.get('ipv4_address')
            ipv6_address = self.get('ipv6_address')
            return ipv4_address or _without_scope(ipv6_address)
        if name == 'mac' and isinstance(self.get('mac_address'), str):
            return self['mac_address'].lower()
        if name == 'pxe':
            return self['pxe_enabled']
        if name == 'client_id':
            return None
        if name == 'lldp_processed' and self._lldp is not data_path.ABSENT:
            return self._lldp
        raise KeyError(name)


class Interfaces(dict[str, typing.Any]):
    """Network interfaces by name, each as an :class:`Interface`.

    ``interfaces[name]`` and ``values`` return an :class:`Interface`. ``get``
    and ``items`` return mappings that have only Ironic's names.

    :param lldp: the LLDP data by name of an interface.
    """

    def __init__(self, interfaces: Container, lldp: Container) -> None:
        super().__init__(interfaces)
        self._lldp = lldp

    def __getitem__(self, name: str) -> typing.Any:
        """Return an interface with ironic-inspector's names.

        A value that is not a mapping is returned as it is.
        """
        value = super().__getitem__(name)
        if not isinstance(value, dict):
            return value
        lldp_of_interface = self._lldp.get(name, data_path.ABSENT)
        return Interface(value, lldp_of_interface)

    def values(self) -> typing.Any:
        """Return the interfaces with ironic-inspector's names."""
        return [self[name] for name in self]


def read_all(
    interfaces: typing.Any,
    boot: str | None,
    lldp: Container,
    allowance: budget.Budget,
) -> Interfaces:
    """Return the interfaces of an inventory by name.

    Interfaces without a name or a valid MAC address are skipped. The others
    get the value ``pxe_enabled``, which is whether the machine booted from
    them.

    :param interfaces: ``interfaces`` of the inventory. The machine has sent
        it, so it may be of any type.
    :param boot: the MAC address that the machine booted from, in lower case;
        None if unknown.
    :param lldp: the LLDP data by name of an interface.
    :param allowance: the budget of the phase, which is charged for the number
        of interfaces.
    :raises: KeyError if there are no interfaces, as for any missing value.
    """
    if not isinstance(interfaces, list):
        raise KeyError('interfaces')
    allowance.spend(len(interfaces))
    by_name = {}
    for interface in interfaces:
        if not isinstance(interface, dict):
            continue
        name = interface.get('name')
        mac = interface.get('mac_address')
        if not isinstance(name, str) or not isinstance(mac, str):
            continue
        is_mac_valid = _MAC.fullmatch(mac.lower()) is not None
        if name and is_mac_valid:
            is_boot_interface = mac.lower() == boot
            by_name[name] = {**interface, 'pxe_enabled': is_boot_interface}
    if not by_name:
        raise KeyError('interfaces')
    return Interfaces(by_name, lldp)


def choose_suitable(
    interfaces: Interfaces, boot: str | None, has_hook_chosen: bool
) -> Container:
    """Return the interfaces for which ironic-inspector created ports.

    * If the boot interface is unknown: all interfaces with an IP address.
    * If the boot interface is known: only this interface, if it has an IP
      address. This was the default of ironic-inspector.
    * If the boot interface is known and Ironic's hook ``validate-interfaces``
      has chosen the interfaces: all of them, because the options of the hook
      determine which are wanted.

    The loopback interface is never included.

    :param boot: the MAC address that the machine booted from, in lower case;
        None if unknown.
    :param has_hook_chosen: whether the interfaces are those that the hook has
        chosen, instead of all interfaces of the inventory.
    :raises: KeyError if no interface is suitable.
    """
    by_name = {}
    # The method "items" returns values without ironic-inspector's names.
    for name in interfaces:
        interface = interfaces[name]
        if not isinstance(interface, Interface):
            # The value of the machine is not a mapping.
            continue
        if _is_loopback(name, interface['ip']):
            continue
        if _is_suitable(interface, boot, has_hook_chosen):
            by_name[name] = interface
    if not by_name:
        raise KeyError('interfaces')
    return by_name


def _is_suitable(
    interface: Interface, boot: str | None, has_hook_chosen: bool
) -> bool:
    """Return whether ironic-inspector created a port for an interface.

    :func:`choose_suitable` has the cases and the parameters.
    """
    has_address = bool(interface['ip'])
    if boot is None:
        # This also holds if the hook has chosen the interfaces, because
        # without a boot interface it keeps interfaces without an address.
        return has_address
    if has_hook_chosen:
        return True
    mac = interface.get('mac') or interface.get('mac_address')
    return has_address and str(mac).lower() == boot


def boot_mac(document: Container) -> str | None:
    """Return the MAC address that a machine booted from, in lower case.

    It is the value ``boot_interface``, or else
    ``inventory.boot.pxe_interface``. The boot loader pxelinux writes it with
    dashes, and with the type of the hardware in front:
    ``01-AA-BB-CC-DD-EE-FF`` gives ``aa:bb:cc:dd:ee:ff``.

    :param document: the data of the machine in the form of ironic-inspector.
    :returns: None if the machine has sent no such text.
    """
    mac = document.get('boot_interface')
    if not mac:
        path = ('inventory', 'boot', 'pxe_interface')
        mac = data_path.get(document, path)
    if not isinstance(mac, str) or not mac:
        return None
    if '-' in mac:
        _hardware_type, _dash, mac = mac.partition('-')
        mac = mac.replace('-', ':')
    return mac.lower()


def _is_loopback(name: str, address: typing.Any) -> bool:
    """Return whether an interface is a loopback interface.

    :param name: the name of the interface, e.g. ``eth0``.
    :param address: its IP address. The machine has sent it, so it may be any
        other value.
    """
    if name == 'lo':
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        # It is not an IP address.
        return False


def _without_scope(address: typing.Any) -> typing.Any:
    """Return ``fe80::1`` for ``fe80::1%eth0``, and other values as they are.

    The text after the percent sign is the scope of a link-local IPv6 address.
    """
    if isinstance(address, str):
        return address.partition('%')[0]
    return address
