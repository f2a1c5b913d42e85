# SPDX-License-Identifier: Apache-2.0

"""A machine as ramdisks describe it, in which identifiers are planted."""

_KERNEL = """\
[    0.000000] Linux version 6.1.0-21-amd64 (gcc-12 12.2.0) #1 SMP 6.1.90-1
[    0.000000] DMI: Dell Inc. PowerEdge R640/0H28RR, BIOS 2.10.2 11/04/2020
[    0.812345] pci 0000:3b:00.0: [8086:1572] type 00 class 0x020000
[    1.200000] ixgbe: version 5.1.0.4, firmware 8.60.0.1 0x80005ad8
2026-11-25T12:34:56.789012Z systemd[1]: std::string a::b at 12:34:56
2026-11-25 12:34:56 lo: 127.0.0.1/8 ::1/128 mask 255.255.255.0 0.0.0.0/0
scsi 1:0:0:0: Direct-Access ATA 480GB rev 1.7.3.4 oid 1.3.6.1.4.1.674"""

_STEADY = {
    'bios': {
        'version': '2.10.2.1',
        'date': '11/04/2020',
        'release_date': '2020-11-04',
    },
    'firmware_version': '14.32.1010',
    'idrac_version': '4.22.0.201',
    'nic_firmware': 'FW 8.60.0.1, NVM 19.5.12.7',
    'driver': 'v5.1.0.4',
    'drivers': 'ixgbe version 5.1.0.4 and i40e v2.8.20.3',
    'pci': '0000:3b:00.0',
    'pci_id': '8086:1572',
    'uptime': '12:34:56',
    'started': '2026-11-25T12:34:56Z',
    'size': 480103981056,
    'ratio': 1600000000.5,
    'count': 48,
    'on': True,
    'none': None,
    'flags': 'fpu vme de pse tsc msr pae mce cx8 apic sep mtrr',
    'model': 'SAMSUNG MZ7LH480HAHQ0D3',
    'product': 'PowerEdge R640 (SKU=x)',
    'netmask': '255.255.255.0',
    'loopback': '127.0.0.1',
    'lo6': '::1',
    'any': '0.0.0.0:22 [::]:22 ::/0',
    'dimm': 'DDR4 2933 MHz (0.3 ns)',
    'microcode': '0x500002c',
    'class': '0x020000',
    'hctl': '1:0:0:0',
    'numbers': '1:2:3:4:5:6:7:8',
    'group': '01:00.0',
    'text': 'std::vector',
    'kernel': {'arch': 'x86_64', 'version': '6.1.0-21-amd64'},
    'dmesg': _KERNEL,
    'address_of_all': 'ff:ff:ff:ff:ff:ff',
    'path': '/dev/disk/by-path/pci-0000:00:17.0-ata-1',
    'empty': '',
    'serial_number': 'Not Specified',
    'wwn': None,
    'speed': '8.0 GT/s x8',
}


WITH_VERSIONS = 3
"""How many of the open mappings are about versions: the last ones."""


def machine(mark):
    """Return a machine whose identifiers are marks.

    :param mark: returns one; called with the kind of identifier, its number,
        and perhaps its style and what stands before and after it.
    """
    frames = [
        [0, ''],
        [1, mark('mac', 1, 'bare', '04')],
        [3, '0078'],
        [5, mark('name', 1, 'ascii')],
        [7, '00140014'],
        [8, mark('ipv4', 1, 'hex', '0501', '020000000100')],
        [127, mark('serial', 0, 'ascii', '0012bb08')],
    ]
    interfaces = [
        {
            'name': f'eno{number + 1}',
            'mac_address': mark('mac', number, 'colon'),
            'ipv4_address': mark('ipv4', number),
            'ipv6_address': mark('ipv6', number),
            'vendor': '0x8086',
            'product': '0x1572',
            'has_carrier': True,
            'pci_address': '0000:3b:00.0',
            'speed_mbps': 10000,
            'lldp': frames,
        }
        for number in range(2)
    ]
    interfaces[1]['lldp'] = None
    disks = [
        {
            'name': f'/dev/sd{letter}',
            'model': 'MZ7LH480',
            'hctl': '1:0:0:0',
            'serial': mark('serial', number),
            'wwn': mark('wwn', number),
            'by_path': '/dev/disk/by-path/pci-0000:00:17.0-ata-1',
            'size': 480 << 30,
        }
        for number, letter in enumerate('ab')
    ]
    return {
        'inventory': {
            'hostname': mark('name', 0),
            'interfaces': interfaces,
            'disks': disks,
            'cpu': {
                'count': 48,
                'model_name': 'Xeon 6130',
                'frequency': '2100.0',
            },
            'memory': {'physical_mb': 196608},
            'system_vendor': {
                'manufacturer': 'Dell Inc.',
                'product_name': 'PowerEdge R640',
                'serial_number': mark('short', 0),
                'system_uuid': mark('uuid', 0),
                'firmware': {'version': '2.10.2.1', 'vendor': 'Dell Inc.'},
            },
        },
        'plugin_data': {
            'node_uuid': mark('uuid', 1),
            'fru': {'Board Serial': mark('number', 0, 'integer')},
            'pair': {'name': 'Serial Number', 'value': mark('number', 1)},
            'switch_system_name': mark('name', 1),
            'steady': _steady(),
            'lldp_raw': {'eno1': frames},
            'data': [
                ['system', 'kernel', 'version', '6.1.0'],
                ['firmware', 'bios', 'version', '2.10.2.1'],
                ['memory', 'bank:0', 'serial', mark('serial', 2)],
                ['cpu', 'physical', 'number', 2],
            ],
        },
    }


def _steady():
    return {
        name: dict(value) if isinstance(value, dict) else value
        for name, value in _STEADY.items()
    }


def open_mappings(data):
    """Yield mappings that have room for more fields."""
    plugin_data = data['plugin_data']
    yield from (
        data['inventory'],
        plugin_data,
        data['inventory']['cpu'],
        data['inventory']['interfaces'][0],
        data['inventory']['disks'][1],
        plugin_data['steady'],
        plugin_data['steady']['bios'],
        plugin_data['steady']['kernel'],
        data['inventory']['system_vendor']['firmware'],
    )


def frames(data):
    """Return the LLDP of the first interface."""
    return data['inventory']['interfaces'][0]['lldp']


def items(data):
    """Return what hardware-detect found."""
    return data['plugin_data']['data']
