# SPDX-License-Identifier: Apache-2.0

"""Machines to make profiles of, and what rules tell of others."""

import contextlib
import functools
import pathlib
import unittest

import yaml

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import rules
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit.rule_file import files

SAMPLE = (
    pathlib.Path(__file__).parents[6]
    / 'tools'
    / 'samples'
    / 'inventory-virtual-machine.json'
)

SSD = {
    'rotational': False,
    'size': 480103981056,
    'vendor': 'ATA',
    'model': "SSD {a} 'b' \\c",
}
HDD = {
    'rotational': True,
    'size': 4000787030016,
    'vendor': None,
    'model': 'ST4000',
}
PORT = {'vendor': '0x8086', 'product': '0x1572', 'speed_mbps': 10000}

SERVER = working_copy.Facts(
    {
        'cpu': {
            'model_name': 'Xeon {6230}',
            'count': 80,
            'socket_count': 2,
            'architecture': 'x86_64',
            'flags': ['vmx'],
            'frequency': '2100',
        },
        'memory': {'physical_mb': 196608, 'total': 201000000000},
        'disks': [
            *(
                {
                    **SSD,
                    'name': f'/dev/sd{letter}',
                    'serial': f's{letter}',
                    'wwn': f'0x{letter}',
                    'hctl': '0:0:0:0',
                    'by_path': letter,
                }
                for letter in 'abcd'
            ),
            *(
                {**HDD, 'name': f'/dev/sd{letter}', 'serial': f's{letter}'}
                for letter in 'ef'
            ),
        ],
        'interfaces': [
            {
                **PORT,
                'name': 'eno1',
                'mac_address': '52:54:00:00:00:01',
                'ipv4_address': '192.0.2.1',
                'pci_address': '0000:18:00.0',
            },
            {
                **PORT,
                'name': 'eno2',
                'mac_address': '52:54:00:00:00:02',
                'speed_mbps': None,
            },
        ],
        'system_vendor': {
            'manufacturer': 'Dell Inc.',
            'serial_number': 'X1',
            'product_name': 'PowerEdge R740',
            'firmware': {'vendor': 'Dell', 'version': '2.4.8'},
        },
    },
    {
        'pci_devices': [
            {
                'vendor_id': '8086',
                'product_id': '1572',
                'class': '020000',
                'bus': '0000:18:00.0',
            },
            {
                'vendor_id': '8086',
                'product_id': '1572',
                'class': '020000',
                'bus': '0000:18:00.1',
            },
            {
                'vendor_id': '10de',
                'product_id': '1eb8',
                'class': '030200',
                'bus': '0000:3b:00.0',
            },
        ]
    },
)

REDFISH = working_copy.Facts(
    {
        'cpu': {'count': 32, 'architecture': 'x86_64', 'model_name': None},
        'memory': {'physical_mb': 65536},
        'disks': [{'name': 'd', 'size': 960197124096, 'serial': 'x'}],
        'interfaces': [{'mac_address': '52:54:00:00:00:09', 'name': 'n'}],
        'pci_devices': [
            {
                'vendor_id': '0x8086',
                'product_id': '0x1572',
                'class': '0x020000',
            }
        ],
        'system_vendor': {'manufacturer': '', 'product_name': 'R7'},
    },
    {},
)


@functools.cache
def samples():
    found = [SERVER, REDFISH, machine_file.load(str(SAMPLE))]
    with contextlib.suppress(unittest.SkipTest):
        found += [
            machine_file.load(str(path))
            for path in sorted(
                (shared_data.directory() / 'inventories').iterdir()
            )
        ]
    return found


class ProfileTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        self.ops = registry.installed()

    def write_rules(self, *machines, tolerated=(), on_mismatch=rules.FAIL):
        written = rules.write(
            machines,
            'Good one {x}',
            on_mismatch,
            component.parse_tolerance(tolerated),
        )
        return yaml.safe_load(yaml.safe_dump(written))

    def plans(self, *machines, **options):
        return {
            'main': [
                compiler.compile_rule(
                    file_rule.parse(each, self.ops), self.ops
                )
                for each in self.write_rules(*machines, **options)
            ]
        }

    def evaluate(self, plans, each):
        return evaluation.evaluate(
            plans,
            working_copy.Facts(
                each.inventory, each.plugin_data, {'traits': []}
            ),
        )

    def differences(self, plans, each):
        error = self.evaluate(plans, each).error
        if error is None:
            return []
        self.assertIn('not like Good one {x}: ', str(error))
        return str(error).partition('not like Good one {x}: ')[2].split('; ')

    def components(self, plans, each):
        return {
            text.partition(':')[0] for text in self.differences(plans, each)
        }
