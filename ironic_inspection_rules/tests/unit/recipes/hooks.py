# SPDX-License-Identifier: Apache-2.0

"""Inspection hooks as a site writes them, in Python.

Each changes a machine in place: a mapping of ``node`` with its ``traits``,
``ports``, ``inventory`` and ``plugin_data``. The rules of the cookbook have to
come to the same.
"""

import re
import typing

Machine = dict[str, typing.Any]

GROUPS = {'1': 'network', '2': 'network', '1f': 'storage', '2f': 'storage'}
CLASSES = {
    'compute-small': (
        'AMD EPYC 9124 16-Core Processor',
        131072,
        2,
        480 * 10**9,
    ),
    'compute-large': (
        'AMD EPYC 9454 48-Core Processor',
        786432,
        4,
        1900 * 10**9,
    ),
}


class InspectionFailed(Exception):
    """The hook lets the inspection fail."""


def _vendor(name: str) -> str:
    if 'DELL' in name.upper():
        return 'Dell'
    return 'HP' if 'HP' in name.upper() else name


def _system(machine: Machine) -> dict[str, typing.Any]:
    return machine['inventory'].get('system_vendor') or {}


def _trait(text: str) -> str:
    return f'CUSTOM_{re.sub("[^A-Z0-9]+", "_", text.upper())}'


def set_chassis_trait(machine: Machine) -> None:
    """Give the node a trait of its vendor and model."""
    words = []
    for key in ('manufacturer', 'product_name'):
        text = _system(machine).get(key) or ''
        if not re.search('[A-Za-z0-9]', text):
            return
        words.append(text.strip())
    vendor = _vendor(words[0])
    model = re.sub(r' *\(.*\)', '', words[1]).strip()
    prefix = f'{_trait(vendor)}_'
    machine['node']['traits'] = [
        *(
            each
            for each in machine['node']['traits']
            if not each.startswith(prefix)
        ),
        _trait(f'{vendor} {model}'),
    ]


def check_name(machine: Machine) -> None:
    """Fail unless the node is named after its vendor and serial number."""
    vendor = _system(machine).get('manufacturer')
    serial = _system(machine).get('serial_number')
    name = machine['node']['name']
    if (
        not vendor
        or not serial
        or name != (f'{_vendor(vendor).replace(" ", "_")}_{serial}')
    ):
        raise InspectionFailed(f'{name} {vendor} {serial}')


def _names(machine: Machine) -> dict[str, str]:
    """Names of interfaces by MAC address."""
    return {
        each['mac_address'].lower(): each['name']
        for each in machine['inventory'].get('interfaces') or ()
        if each.get('mac_address') and each.get('name')
    }


def name_ports(machine: Machine) -> None:
    """Name ports after their interfaces."""
    node = machine['node']
    names = _names(machine)
    for port in machine['ports']:
        name = names.get(port['address'].lower())
        if name:
            port['name'] = f'{node["name"] or node["uuid"]}:{name}'
            port['extra']['bios_name'] = name
        else:
            port['name'] = None
            port['extra'].pop('bios_name', None)


def _natural(text: str) -> str:
    return re.sub('[0-9]+', lambda number: number[0].zfill(9), text)


def _links(machine: Machine) -> dict[str, dict[str, str]]:
    """What LLDP says of each port that it says all of, by MAC address."""
    names = _names(machine)
    links = {}
    for port in machine['ports']:
        name = names.get(port['address'].lower())
        lldp = machine['plugin_data']['parsed_lldp'].get(name) or {}
        values: list[typing.Any] = [
            lldp.get(f'switch_{key}')
            for key in ('port_id', 'chassis_id', 'system_name')
        ]
        if not all(values):
            continue
        switch = values[2].lower()
        rack, dash, suffix = switch.split('.')[0].rpartition('-')
        links[port['address']] = {
            'port_id': str(values[0]),
            'switch_id': values[1].lower(),
            'switch': switch,
            'rack': rack,
            'group': GROUPS.get(suffix, '') if rack and dash else '',
        }
    return links


def connect_ports(machine: Machine) -> None:
    """Tell where ports are connected, and which of them boots."""
    if not machine['plugin_data'].get('parsed_lldp'):
        return
    links = _links(machine)
    networks = sorted(
        (
            link['switch']
            for link in links.values()
            if link['group'] == 'network'
        ),
        key=_natural,
    )
    for port in machine['ports']:
        link = links.get(port['address'])
        port['local_link_connection'] = (
            link
            and {
                'port_id': link['port_id'],
                'switch_id': link['switch_id'],
                'switch_info': link['switch'],
            }
            or {}
        )
        port['physical_network'] = (
            f'{link["rack"]}-{link["group"]}'
            if link and link['group']
            else None
        )
        port['pxe_enabled'] = bool(
            link and networks and link['switch'] == networks[0]
        )
    prefix = 'CUSTOM_NETWORK_GROUP_'
    machine['node']['traits'] = sorted(
        {
            each
            for each in machine['node']['traits']
            if not each.startswith(prefix)
        }
        | {
            f'{prefix}{link["group"].upper()}'
            for link in links.values()
            if link['group']
        }
    )


def _fits(
    inventory: dict[str, typing.Any],
    model: str,
    memory: int,
    number: int,
    size: int,
) -> bool:
    disks = [
        disk
        for disk in inventory.get('disks') or ()
        if disk.get('rotational') is False
    ]
    has = (inventory.get('memory') or {}).get('physical_mb') or 0
    return (
        ((inventory.get('cpu') or {}).get('model_name') or '').lower()
        == (model.lower())
        and memory * 0.95 <= has <= memory * 1.05
        and (len(disks) == number)
        and all((disk.get('size') or 0) >= size for disk in disks)
    )


def choose_resource_class(machine: Machine) -> None:
    """Set the resource class that the machine fits, or none."""
    machine['node']['resource_class'] = None
    for name, wanted in CLASSES.items():
        if _fits(machine['inventory'], *wanted):
            machine['node']['resource_class'] = name


BY_RULE = {
    'A trait of vendor and model': set_chassis_trait,
    'The name is vendor and serial number': check_name,
    'Ports are named after their interfaces': name_ports,
    'Networks by switch': connect_ports,
    'No resource class unless one fits': choose_resource_class,
}
"""The hooks, by the first rule that does the same."""
