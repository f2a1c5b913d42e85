# SPDX-License-Identifier: Apache-2.0

"""Network interfaces in the form that ironic-inspector's rules read.

The hook ``validate_interfaces`` of ironic-inspector built them. Ironic's hook
uses other names for the values of an interface, and with the same options it
creates ports for other interfaces.
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

        These are ``ip``, the IPv4 address or else the IPv6 address; ``mac`` in
        lower case; ``pxe``; ``client_id``, which is always null here; and
        ``lldp_processed``.

        :raises: KeyError for any other name.
        """
        if name == 'ip':
            address = self.get('ipv4_address')
            return address or _without_scope(self.get('ipv6_address'))
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

    ``interfaces[name]`` and ``values`` return such interfaces. ``get`` and
    ``items`` return mappings that have only Ironic's names.

    :param lldp: the data that switches send for their ports, by name of an
        interface.
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
        return Interface(value, self._lldp.get(name, data_path.ABSENT))

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

    Interfaces without a name or a MAC address are skipped. Each interface gets
    the value ``pxe_enabled``, which is whether the machine booted from it.

    :param interfaces: ``interfaces`` of the inventory. The machine has sent
        it, so it may be of any type.
    :param boot: the MAC address that the machine booted from, in lower case;
        None if unknown.
    :raises: KeyError if no interface is left.
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
        if name and _MAC.fullmatch(mac.lower()):
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
    :param has_hook_chosen: whether that hook has chosen the interfaces.
    :raises: KeyError if no interface is suitable.
    """
    by_name = {}
    # Do not use items(), whose values lack ironic-inspector's names.
    for name in interfaces:
        interface = interfaces[name]
        if not isinstance(interface, Interface):
            continue
        if _is_loopback(name, interface['ip']):
            continue
        mac = interface.get('mac') or interface.get('mac_address')
        has_address = bool(interface['ip'])
        if boot is None:
            # Check this even if the hook has chosen the interfaces, because
            # without a boot interface it keeps interfaces without an address.
            is_suitable = has_address
        elif has_hook_chosen:
            is_suitable = True
        else:
            is_suitable = has_address and str(mac).lower() == boot
        if is_suitable:
            by_name[name] = interface
    if not by_name:
        raise KeyError('interfaces')
    return by_name


def boot_mac(document: Container) -> str | None:
    """Return the MAC address that a machine booted from, in lower case.

    It is the value ``boot_interface``, or else ``pxe_interface`` of the
    inventory. pxelinux writes it as ``01-aa-bb-cc-dd-ee-ff``, with the type of
    the hardware in front, which gives ``aa:bb:cc:dd:ee:ff``.

    :param document: the data of the machine in the form of ironic-inspector.
    :returns: None if there is no such text.
    """
    mac = document.get('boot_interface') or data_path.get(
        document, ('inventory', 'boot', 'pxe_interface')
    )
    if not isinstance(mac, str) or not mac:
        return None
    if '-' in mac:
        _hardware_type, _dash, address = mac.partition('-')
        mac = address.replace('-', ':')
    return mac.lower()


def _is_loopback(name: str, address: typing.Any) -> bool:
    """Return whether an interface is a loopback interface.

    :param address: its IP address, or any other value.
    """
    if name == 'lo':
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _without_scope(address: typing.Any) -> typing.Any:
    """Return ``fe80::1`` for ``fe80::1%eth0``, and other values as they are.

    The text after the percent sign is the scope of a link-local IPv6 address.
    """
    if isinstance(address, str):
        return address.partition('%')[0]
    return address
