# SPDX-License-Identifier: Apache-2.0

"""Machines as odd as real ones, to be found by hypothesis."""

import copy
import typing

from hypothesis import strategies as st

from ironic_inspection_rules.tests.unit.recipes import hooks

_MACS = [f'52:54:00:00:00:0{digit}' for digit in 'abcd']
_NAMES = ['eth0', 'eth1', 'NIC.Slot.1-1', 'a/b~.x']
_GONE = object()

SOUND: dict[str, typing.Any] = {
    'node': {
        'uuid': '11111111-1111-4111-8111-111111111111',
        'name': 'Dell_AN3Z23A',
        'traits': [],
        'resource_class': None,
    },
    'ports': [
        {
            'uuid': f'22222222-2222-4222-8222-22222222222{index}',
            'address': mac,
            'name': None,
            'extra': {},
            'local_link_connection': {},
            'physical_network': None,
            'pxe_enabled': True,
        }
        for index, mac in enumerate(_MACS[:3])
    ],
    'inventory': {
        'system_vendor': {
            'manufacturer': 'Dell Inc.',
            'product_name': 'PowerEdge R7615 (SKU=0AF7;ModelName=R7615)',
            'serial_number': 'AN3Z23A',
        },
        'cpu': {'model_name': 'AMD EPYC 9124 16-Core Processor'},
        'memory': {'physical_mb': 131072},
        'disks': [
            {'name': name, 'rotational': False, 'size': 480 * 10**9}
            for name in ('/dev/sda', '/dev/sdb')
        ],
        'interfaces': [
            {'name': name, 'mac_address': mac}
            for name, mac in zip(_NAMES[:3], _MACS[:3], strict=True)
        ],
    },
    'plugin_data': {
        'parsed_lldp': {
            'eth0': {
                'switch_chassis_id': '88:5A:92:EC:54:59',
                'switch_port_id': 'Ethernet1/18',
                'switch_system_name': 'a9-3-2.iad3',
            },
            'eth1': {
                'switch_chassis_id': '88:5a:92:ec:54:60',
                'switch_port_id': 'Ethernet1/19',
                'switch_system_name': 'A10-3-1.iad3.example.org',
            },
            'NIC.Slot.1-1': {
                'switch_chassis_id': '88:5a:92:ec:54:61',
                'switch_port_id': 'Ethernet1/20',
                'switch_system_name': 'a9-3-1f',
            },
        }
    },
}
"""A machine that all hooks have something to do for, and that passes."""


def _choose(*values: typing.Any) -> st.SearchStrategy[typing.Any]:
    """One of the values, or null, empty text, no such key, another type."""
    return st.one_of(
        *[st.sampled_from([*values, None, '', _GONE])] * 4,
        st.sampled_from([5, True, ['text'], {'a': 1}]),
    )


def _mapping(
    **keys: st.SearchStrategy[typing.Any],
) -> st.SearchStrategy[typing.Any]:
    return st.fixed_dictionaries(keys).map(
        lambda drawn: {
            key: value for key, value in drawn.items() if value is not _GONE
        }
    )


def _odd(
    value: st.SearchStrategy[typing.Any],
) -> st.SearchStrategy[typing.Any]:
    """Mostly the value, at times null, not there, of another type."""
    return st.one_of(
        *[value] * 5,
        st.sampled_from(
            [None, _GONE, '', 'text', 0, False, [], {}, ['text'], {'a': 1}]
        ),
    )


_traits = st.lists(
    st.sampled_from(
        [
            'CUSTOM_DELL_POWEREDGE_R640',
            'CUSTOM_HP_DL380',
            'CUSTOM_OTHER',
            'CUSTOM_DELLS',
            'HW_CPU_X86_VMX',
            'CUSTOM_NETWORK_GROUP_STORAGE',
            'CUSTOM_NETWORK_GROUP_OLD',
            'CUSTOM_SUPER_MICRO_X11',
        ]
    ),
    unique=True,
)

_system = _mapping(
    manufacturer=_choose(
        'Dell Inc.',
        'DELL',
        'dell emc',
        'HP',
        'HPE',
        'hpe',
        'Super Micro',
        ' Lenovo ',
        'Fujitsu/Siemens',
        '  ',
        'Über GmbH',
        'a\nb',
    ),
    product_name=_choose(
        'PowerEdge R7615 (SKU=0AF7;ModelName=R7615)',
        'PowerEdge R7615',
        'ProLiant DL380 Gen10 (868703)',
        'X (a) Y (b)',
        ' x11-DPi ',
        '(SKU=1)',
        'R640 (SKU',
        'm\u00e9l\u00e9e 5',
    ),
    serial_number=_choose('AN3Z23A', 'an3z23a', 'A B', 12345, ' AN3Z23A'),
)

_interface = _mapping(
    name=_choose(*_NAMES), mac_address=_choose(*_MACS, *map(str.upper, _MACS))
)

_disk = _mapping(
    rotational=st.sampled_from([False, False, False, True, None, _GONE]),
    size=st.sampled_from(
        [480 * 10**9, 10**12, 1900 * 10**9, 479 * 10**9, None, _GONE]
    ),
)

_lldp = _mapping(
    switch_chassis_id=_choose('88:5A:92:EC:54:59', '88:5a:92:ec:54:60'),
    switch_port_id=_choose('Ethernet1/18', 'Et2', 7),
    switch_system_name=st.sampled_from(
        [
            'a9-3-1.iad3',
            'a9-3-2.iad3',
            'A9-3-2.IAD3',
            'a10-3-1.iad3',
            'a9-3-1f.iad3',
            'a9-3-2f',
            'a9-3-77',
            'switch',
            '-1',
            'a--1',
            'a.b-1',
            'a-1-',
            None,
            '',
            _GONE,
        ]
    ),
)

_inventory = _mapping(
    system_vendor=_odd(_system),
    cpu=_odd(
        _mapping(
            model_name=_choose(
                'AMD EPYC 9124 16-Core Processor',
                'amd epyc 9124 16-core processor',
                'AMD EPYC 9454 48-Core Processor',
                'AMD EPYC 9454',
            )
        )
    ),
    memory=_odd(
        _mapping(
            physical_mb=st.sampled_from(
                [
                    131072,
                    124519,
                    124518,
                    137625,
                    137626,
                    786432,
                    0,
                    None,
                    _GONE,
                ]
            )
        )
    ),
    disks=_odd(st.lists(_disk, max_size=5)),
    interfaces=_odd(st.lists(_interface, max_size=5)),
)


@st.composite
def _ports(draw: typing.Any) -> list[dict[str, typing.Any]]:
    ports = copy.deepcopy(SOUND['ports'])
    for port in ports:
        port['name'] = draw(st.sampled_from([None, 'old']))
        port['extra'] = draw(
            st.sampled_from([{}, {'bios_name': 'old', 'a': 1}])
        )
        port['physical_network'] = draw(st.sampled_from([None, 'old']))
    kept: list[dict[str, typing.Any]] = ports[: draw(st.integers(0, 3))]
    return kept


@st.composite
def odd(draw: typing.Any) -> dict[str, typing.Any]:
    """Draw a machine, of which nothing is sure to be as it should."""
    machine = copy.deepcopy(SOUND)
    machine['node']['name'] = draw(
        st.sampled_from(
            [
                'Dell_AN3Z23A',
                'dell_AN3Z23A',
                'HP_12345',
                'Super_Micro_A B',
                None,
            ]
        )
    )
    machine['node']['traits'] = draw(_traits)
    machine['node']['resource_class'] = draw(
        st.sampled_from([None, 'old', *hooks.CLASSES])
    )
    machine['ports'] = draw(_ports())
    sound = machine['inventory']
    machine['inventory'] = draw(_inventory)
    # Two oddities at once hide one another.
    for key in draw(st.sets(st.sampled_from(sorted(sound)))):
        machine['inventory'][key] = sound[key]
    machine['plugin_data'] = draw(
        _mapping(
            parsed_lldp=_odd(st.dictionaries(st.sampled_from(_NAMES), _lldp))
        )
    )
    return machine
