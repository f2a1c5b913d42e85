# SPDX-License-Identifier: Apache-2.0

import copy
import ipaddress
import json
import pathlib
import re

import fixtures
import hypothesis
from hypothesis import strategies

import ironic_inspection_rules
from ironic_inspection_rules.kit.machine.anonymity import machine
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base

SAMPLES = (
    pathlib.Path(ironic_inspection_rules.__file__).parents[1]
    / 'tools'
    / 'samples'
)
SERIAL, HOST, TAG = 'CZ3409XK7Q', 'rack1-07.acme-corp.example', 'ASSET-004711'
MAC, BMC, BMC6 = 'ac:1f:6b:a7:34:c6', '10.31.7.42', '2a01:4f8:aaaa::17'
WWN, UUID = '0x5000c500a1b2c3d4', '9f6c1d0e-7b3a-4d52-8c11-0e5f4a3b2c1d'
SWITCH, PORT = 'sw01-dist-1b-b12', 'Ethernet1/18'
SWITCH_MAC, SWITCH_IP = '88:5a:92:ec:54:59', '10.31.0.3'


def canary_machine():
    """A machine that says who it is in every way a ramdisk knows."""

    def element(kind, *parts):
        return [
            kind,
            b''.join(
                part.encode() if isinstance(part, str) else part
                for part in parts
            ).hex(),
        ]

    switch_mac = bytes.fromhex(SWITCH_MAC.replace(':', ''))
    frames = [
        element(1, b'\x04', switch_mac),
        element(2, b'\x05', PORT),
        element(3, b'\x00\x78'),
        element(4, f'to {HOST}'),
        element(5, SWITCH),
        element(6, f'Linux {SWITCH} 5.10 {SERIAL}'),
        element(7, b'\x00\x14\x00\x14'),
        element(8, b'\x05\x01\x0a\x1f\x00\x03\x02\x00\x00\x00\x01\x00'),
        element(127, b'\x00\x12\xbb\x08', SERIAL),
        element(127, b'\x00\x12\xbb\x0b', TAG),
        element(127, b'\x00\x90\x69\x01', SERIAL),
        element(127, b'\x00\x80\xc2\x03\x00\x65\x08', 'vl-acme9'),
        element(9, switch_mac),
        [1, 'no digits ' + SERIAL],
    ]
    nic = {
        'name': 'eno1',
        'mac_address': MAC,
        'ipv4_address': '10.31.7.100',
        'ipv6_address': 'fe80::ae1f:6bff:fea7:34c6%eno1',
        'lldp': frames,
        'vendor': '0x8086',
        'product': '0x1572',
        'client_id': None,
        'pci_address': '0000:3b:00.0',
        'biosdevname': 'em1',
    }
    disk = {
        'name': '/dev/sda',
        'model': 'SAMSUNG MZ7LH480',
        'size': 480 << 30,
        'serial': SERIAL,
        'wwn': WWN,
        'wwn_with_extension': WWN,
        'by_path': '/dev/disk/by-path/pci-0000:00:17.0-ata-1',
        'hctl': '1:0:0:0',
    }
    return {
        'inventory': {
            'bmc_address': BMC,
            'bmc_v6address': f'{BMC6}/64',
            'bmc_mac': MAC,
            'hostname': HOST,
            'interfaces': [nic],
            'disks': [disk],
            'boot': {
                'pxe_interface': '01-' + MAC.replace(':', '-'),
                'current_boot_mode': 'uefi',
            },
            'system_vendor': {
                'manufacturer': 'Dell Inc.',
                'product_name': 'PowerEdge R640',
                'serial_number': SERIAL,
                'sku': SERIAL,
                'system_uuid': UUID,
                'firmware': {'version': '2.10.2.1', 'vendor': 'Dell Inc.'},
            },
            'cpu': {'count': 48, 'flags': ['sse4_1'], 'model_name': 'Xeon'},
            'memory': {'physical_mb': 196608},
        },
        'plugin_data': {
            'all_interfaces': {MAC: {**nic, 'pxe_enabled': True}},
            'lldp_raw': {'eno1': frames},
            'parsed_lldp': {
                'eno1': {
                    'switch_chassis_id': SWITCH_MAC,
                    'switch_port_id': PORT,
                    'switch_system_name': SWITCH,
                    'switch_port_vlans': [{'name': 'vl-acme9', 'id': 101}],
                    'switch_mgmt_addresses': [SWITCH_IP],
                }
            },
            'macs': [MAC],
            'logs': 'H4sIAAAA',
            'inspection_rules': {},
            'data': [
                ['disk', 'sda', 'serial', SERIAL],
                ['network', 'eno1', 'serial', MAC],
                ['network', 'enx' + MAC.replace(':', ''), 'link', 'no'],
            ],
            'extra': {
                'dmi': {
                    'System': {
                        'UUID': UUID.upper(),
                        'Asset Tag': TAG,
                        'SerialNumber': SERIAL,
                    }
                },
                'by_id': f'ata-SAMSUNG_MZ7LH480_{SERIAL}',
                'note': f'{HOST} ({BMC}) {UUID} {WWN}, '
                f'{MAC.replace(":", "").upper()}',
                'iscsi': 'iqn.2010-10.org.acme-corp:rack1-07',
                'number': {'serial': 8814237709},
                'ipmi': {
                    'username': 'acme-admin',
                    'password': 'acme-secret',
                    'lan': {'IP Address': BMC, 'Subnet Mask': '255.255.255.0'},
                },
            },
        },
    }


CANARIES = (
    SERIAL,
    HOST,
    'acme',
    'rack1',
    TAG,
    MAC,
    BMC,
    BMC6,
    WWN,
    UUID,
    SWITCH,
    PORT,
    SWITCH_MAC,
    SWITCH_IP,
    '10.31.7.100',
    '8814237709',
    'ae1f:6bff:fea7:34c6',
)


def encodings(canary):
    """All ways in which a ramdisk writes an identifier, in small letters."""
    found = {
        canary,
        canary.replace(':', ''),
        canary.replace(':', '-'),
        canary.encode().hex(),
        canary.removeprefix('0x'),
    }
    parts = canary.split('.')
    if len(parts) == 4 and all(part.isdecimal() for part in parts):
        found.add(bytes(map(int, parts)).hex())
    return {text.lower() for text in found}


class AnonymizerTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.anonymizer = machine.Anonymizer(b'a key')

    def assert_gone(self, canaries, made):
        text = json.dumps(made).lower()
        self.assertEqual(
            [],
            [
                written
                for canary in canaries
                for written in encodings(canary)
                if written in text
            ],
        )

    def test_nothing_remains_of_who_a_machine_is(self):
        self.assert_gone(CANARIES, self.anonymizer.machine(canary_machine()))

    def test_the_canaries_would_be_seen(self):
        text = json.dumps(canary_machine()).lower()
        self.assertEqual(
            [],
            [
                canary
                for canary in CANARIES
                if not any(written in text for written in encodings(canary))
            ],
        )

    def test_what_a_machine_is_stays(self):
        given = canary_machine()
        made = self.anonymizer.machine(given)['inventory']
        for name in ('cpu', 'memory'):
            self.assertEqual(given['inventory'][name], made[name])
        vendor = made['system_vendor']
        self.assertEqual(
            ('Dell Inc.', 'PowerEdge R640', '2.10.2.1'),
            (
                vendor['manufacturer'],
                vendor['product_name'],
                vendor['firmware']['version'],
            ),
        )
        disk = {
            **given['inventory']['disks'][0],
            **dict.fromkeys(('serial', 'wwn', 'wwn_with_extension')),
        }
        self.assertEqual(
            disk,
            {
                **made['disks'][0],
                **dict.fromkeys(('serial', 'wwn', 'wwn_with_extension')),
            },
        )
        nic = made['interfaces'][0]
        self.assertEqual(
            ('eno1', '0x8086', '0x1572', '0000:3b:00.0'),
            (nic['name'], nic['vendor'], nic['product'], nic['pci_address']),
        )

    def test_what_was_equal_stays_equal(self):
        made = self.anonymizer.machine(canary_machine())
        inventory, plugin_data = made['inventory'], made['plugin_data']
        mac = inventory['interfaces'][0]['mac_address']
        self.assertEqual([mac], plugin_data['macs'])
        self.assertEqual([mac], list(plugin_data['all_interfaces']))
        self.assertEqual(
            '01-' + mac.replace(':', '-'), inventory['boot']['pxe_interface']
        )
        serial = inventory['system_vendor']['serial_number']
        self.assertEqual(serial, inventory['disks'][0]['serial'])
        self.assertTrue(plugin_data['extra']['by_id'].endswith(serial))
        frames = dict(inventory['interfaces'][0]['lldp'][:5])
        parsed = plugin_data['parsed_lldp']['eno1']
        self.assertEqual(
            parsed['switch_system_name'], bytes.fromhex(frames[5]).decode()
        )
        self.assertEqual(
            parsed['switch_port_id'], bytes.fromhex(frames[2])[1:].decode()
        )
        self.assertEqual(
            parsed['switch_chassis_id'].replace(':', ''), frames[1][2:]
        )

    def test_a_key_gives_the_same_in_every_file(self):
        again = machine.Anonymizer(b'a key').machine(canary_machine())
        self.assertEqual(self.anonymizer.machine(canary_machine()), again)
        other = machine.Anonymizer(b'another').machine(canary_machine())
        self.assertNotEqual(
            again['inventory']['hostname'], other['inventory']['hostname']
        )

    def test_secrets_logs_and_the_last_run_go(self):
        made = self.anonymizer.machine(canary_machine())['plugin_data']
        self.assertNotIn('logs', made)
        self.assertNotIn('inspection_rules', made)
        self.assertEqual('******', made['extra']['ipmi']['password'])

    def test_secrets_in_text_go(self):
        secret = 'h0tPotat0SecretPlace'
        key = 'AAAAC3NzaC1lZDI1NTE5AAAAIJ' + secret
        texts = {
            'kernel_cmdline': 'BOOT_IMAGE=/vmlinuz quiet ipa-api-url='
            f'http://10.0.0.1:6385 ipa-token={secret} '
            f'rootpwd="{secret} x" nomodeset',
            'url': f'https://{secret}:{secret}@images.acme.example/a?b=1'
            f'&api_key={secret}&c=2',
            'note': f"sshkey='ssh-rsa {key}' then ssh-ed25519 {key}== root",
            'known': f'[10.0.0.1]:22 ecdsa-sha2-nistp256 {key}',
            'finger': 'SHA256:' + secret + 'x' * 23,
            'header': f'Authorization: Bearer {secret}',
            'yaml': f'ipmi_password: {secret}\nsecret: "{secret}"',
            'pem': f'-----BEGIN RSA PRIVATE KEY-----\n{secret}\n'
            '-----END RSA PRIVATE KEY-----\nafter',
            'cut': f'-----BEGIN OPENSSH PRIVATE KEY-----\n{secret}',
            secret.join(['password=', '']): 1,
        }
        made = self.anonymizer.machine(
            {'inventory': {}, 'plugin_data': texts}
        )['plugin_data']

        self.assertNotIn(secret.lower(), json.dumps(made).lower())
        self.assertIn('quiet ipa-api-url=http://', made['kernel_cmdline'])
        self.assertIn(
            'ipa-token=****** rootpwd=****** nomodeset', made['kernel_cmdline']
        )
        self.assertRegex(
            made['url'],
            r'^https://\*{6}@\S+\.\w+/a\?b=1'
            r'&api_key=\*{6}&c=2$',
        )
        self.assertTrue(made['pem'].endswith('\nafter'))

    def test_words_that_look_like_secrets_stay(self):
        text = 'keymap=de keyboard=us monkey=3 tokens 4 BIOS key: none'
        self.assertEqual(
            text.replace('none', '******'),
            self.anonymizer.machine(
                {'inventory': {}, 'plugin_data': {'a': text}}
            )['plugin_data']['a'],
        )

    def test_an_address_in_the_name_of_a_host_or_a_zone_goes(self):
        # No other place has these addresses.
        given = {
            'notes': [
                'PTR 4.3.2.10.in-addr.arpa.',
                'zone 30.20.10.IN-ADDR.ARPA',
                f'{"7." * 28}0.d.f.2.ip6.arpa',
                'ip-10-9-0-1 and ec2-198-51-100-7.compute.example',
                'host-10-1-2-9.example',
            ]
        }
        made = self.anonymizer.machine({'plugin_data': given})
        text = json.dumps(made)
        for canary in (
            '4.3.2.10',
            '30.20.10',
            '7.7.7.7.0.d.f.2',
            '10-9-0-1',
            '198-51-100-7',
            '10-1-2-9',
        ):
            self.assertNotIn(canary, text)
        for kept in (
            '.10.in-addr.arpa.',
            '.IN-ADDR.ARPA',
            '.ip6.arpa',
            'ip-10-',
            'ec2-198-51-100-',
            'host-10-',
        ):
            self.assertIn(kept, text)

    def test_an_address_is_the_same_in_the_name_of_a_host_or_a_zone(self):
        made = self.anonymizer.machine(
            {
                'inventory': {'bmc_address': BMC},
                'plugin_data': {
                    'zone': '42.7.31.10.in-addr.arpa',
                    'host': 'ip-10-31-7-42',
                },
            }
        )
        numbers = made['inventory']['bmc_address'].split('.')
        self.assertEqual(
            '.'.join([*reversed(numbers), 'in-addr.arpa']),
            made['plugin_data']['zone'],
        )
        self.assertEqual(
            '-'.join(['ip', *numbers]), made['plugin_data']['host']
        )

    def test_numbers_of_a_zone_keep_their_zeros(self):
        for given, kept in (
            (
                '042.007.031.010.in-addr.arpa',
                r'(\d{3}\.){3}010\.in-addr\.arpa',
            ),
            ('31.010.in-addr.arpa', r'\d+\.010\.in-addr\.arpa'),
        ):
            made = self.anonymizer.machine({'plugin_data': {'zone': given}})
            zone = made['plugin_data']['zone']
            self.assertNotEqual(given, zone)
            self.assertRegex(zone, f'^{kept}$')

    def test_a_host_with_an_address_in_its_name_has_one_name(self):
        made = self.anonymizer.machine(
            {
                'inventory': {'hostname': 'host-10-1-2-3'},
                'plugin_data': {'label': '<HOST-10-1-2-3>'},
            }
        )
        self.assertEqual(
            f'<{made["inventory"]["hostname"].upper()}>',
            made['plugin_data']['label'],
        )

    def test_the_domain_behind_an_address_in_a_name_goes(self):
        made = self.anonymizer.machine(
            {'inventory': {'bmc_address': 'ip-10-31-7-42.acme-corp.example'}}
        )
        self.assertNotIn('acme', json.dumps(made))

    def test_numbers_with_dashes_that_are_no_address_stay(self):
        given = {
            'notes': [
                'kernel-5-14-0-1',
                'fw_2_10_0_1.bin',
                'ip-10-0-0-1-5',
                'rack-1-10-31-7-42',
                'node-0-0-0-1',
                'ip-300-0-0-1',
                '255-255-255-0',
                '2026-11-25-10-30-00-1',
                '999.3.2.1.in-addr.arpa',
            ]
        }
        made = self.anonymizer.machine({'plugin_data': given})
        self.assertEqual(given, made['plugin_data'])

    def test_an_address_with_dashes_goes_behind_any_word(self):
        # No other place has this address.
        for dashed in ('10-31-7-42', '10_31_7_42'):
            for text in (
                '{}',
                'node-{}',
                'compute-{}.internal',
                'rack2-{}',
                '{}-eth0',
                'x_{}_y',
                'slot {}',
                'at {}.',
                '({})',
                'ip_{}',
            ):
                made = self.anonymizer.machine({'note': text.format(dashed)})
                self.assertNotIn(dashed, made['note'])
                start, end = map(re.escape, text.split('{}'))
                self.assertRegex(
                    made['note'],
                    rf'^{start}10([-_])\d+\1\d+\1\d+{end}$',
                )

    def test_a_time_a_port_and_a_short_version_are_no_address(self):
        given = {
            'notes': [
                'log-2026_11_25_10_30.txt',
                '2026_11_25_10_30_00',
                '2026-11-25-10',
                'usb-1-1-4-2',
                'scsi-1-0-0-0',
                'image 2-4-1-0',
            ]
        }
        self.assertEqual(given, self.anonymizer.machine(given))

    def test_numbers_with_dashes_in_the_field_of_a_version_stay(self):
        given = {'firmware': '16-35-20-4', 'bios_version': 'U30_2_10_0_1'}
        self.assertEqual(given, self.anonymizer.machine(given))

    def test_all_of_a_name_goes_though_it_looks_like_no_address(self):
        for name, canary in (
            ('host-300-1-2-3', '300-1-2-3'),
            ('host-0-12-34-56', '12-34-56'),
            ('ip-999-12-34-56', '12-34-56'),
            ('bios-10-31-7-42', '31-7-42'),
            ('0.12.34.56', '12.34.56'),
            ('224.1.27.35', '27.35'),
        ):
            for field in ('hostname', 'location', 'port_id'):
                made = self.anonymizer.machine({field: name})
                self.assertNotIn(canary, made[field])

    def test_one_number_in_two_notations_is_no_trouble(self):
        # As octets the digits of a UUID or of IPv6 look like an address.
        digits = UUID.replace('-', '')
        packed = ipaddress.IPv6Address(BMC6).packed
        for field, text, written in (
            ('system_uuid', UUID, bytes.fromhex(digits).hex(':')),
            ('bmc_v6address', BMC6, packed.hex(':')),
        ):
            made = self.anonymizer.machine({field: text, 'dump': written})
            self.assertRegex(made['dump'], '^..(:[0-9a-f]{2}){15}$')
            self.assertNotEqual(written, made['dump'])

    def test_an_address_as_a_number_goes_where_a_field_has_one(self):
        given = {
            'inventory': {'bmc_address': BMC},
            'plugin_data': {
                'ip_address': 0x0A1F072A,
                'dns_servers': [0x0A1F072A, 0x0A1F0701],
                'dhcp_servers': 2,
                'gateway_metric': 0x0A1F072A,
                'size': 0x0A1F072A,
                'firmware': {'ip': 0xFFFFFF00},
            },
        }
        made = self.anonymizer.machine(given)
        number = int(ipaddress.ip_address(made['inventory']['bmc_address']))
        plugin_data = made['plugin_data']
        self.assertEqual(number, plugin_data['ip_address'])
        self.assertEqual(number, plugin_data['dns_servers'][0])
        self.assertNotEqual(0x0A1F0701, plugin_data['dns_servers'][1])
        for name in ('dhcp_servers', 'gateway_metric', 'size', 'firmware'):
            self.assertEqual(given['plugin_data'][name], plugin_data[name])

    def test_a_serial_number_goes_in_groups_and_without_them(self):
        for field, written in (
            (SERIAL, 'CZ34-09XK7Q'),
            (SERIAL, 'cz-3409-xk7q'),
            (SERIAL, 'CZ34 09XK 7Q'),
            (SERIAL, 'CZ34 - 09XK - 7Q'),
            (SERIAL, 'CZ34_09XK.7Q'),
            ('CZ34-09XK7Q', SERIAL),
            ('CZ34-09XK7Q', 'CZ-3409-XK7Q'),
            ('CZ34 09XK 7Q', SERIAL),
            ('8814237709', '8814 237 709'),
            ('8814-237-709', '8814237709'),
        ):
            made = self.anonymizer.machine(
                {
                    'inventory': {'system_vendor': {'serial_number': field}},
                    'plugin_data': {'label': f'<{written}>'},
                }
            )
            serial = made['inventory']['system_vendor']['serial_number']
            label = made['plugin_data']['label'].strip('<>')
            self.assertNotEqual(written, label)
            self.assertEqual(
                re.sub(r'\W|_', '', serial).lower(),
                re.sub(r'\W|_', '', label).lower(),
            )
            self.assertEqual(
                re.sub(r'[^\W_]', 'x', written), re.sub(r'[^\W_]', 'x', label)
            )

    def test_a_list_of_numbers_is_no_serial_number_in_groups(self):
        made = self.anonymizer.machine(
            {'serial': '12345678', 'cpus': 'cpus 0 1 2 3 4 5 6 7 8'}
        )
        self.assertEqual('cpus 0 1 2 3 4 5 6 7 8', made['cpus'])

    def test_a_host_with_the_name_of_a_model_leaves_the_model(self):
        given = {
            'product_name': 'ProLiant DL380 Gen10',
            'os_version': 'Ubuntu 22.04.3 LTS',
            'notes': ['a DL380 Gen10', 'Ubuntu 22.04', 'Controller 0: 10 W'],
        }
        for host in ('dl380-gen10', 'ubuntu-2204', 'controller-0'):
            made = self.anonymizer.machine({**given, 'hostname': host})
            self.assertNotEqual(host, made.pop('hostname'))
            self.assertEqual(given, made)

    def test_a_serial_number_in_groups_goes_behind_its_label(self):
        for label in ('Serial Number', 'S/N', 'SN', 'Service Tag'):
            made = self.anonymizer.machine(
                {'a': f'{label}: CZ 3409 XK7Q Rev', 'b': SERIAL}
            )
            self.assertRegex(made['a'], f'^{label}: .. .... .... Rev$')
            self.assertNotIn('3409', made['a'])
            self.assertNotIn('XK7Q', made['a'])
            self.assertNotIn(SERIAL, made['b'])

    def test_a_number_behind_a_serial_number_may_be_none_of_it(self):
        made = self.anonymizer.machine({'a': 'SN: AB1234 2U', 'b': 'AB1234'})
        self.assertNotIn('AB1234', str(made))

    def test_the_domain_of_a_host_goes_with_it(self):
        made = self.anonymizer.machine(
            {
                'inventory': {
                    'hostname': 'node-a.rz.big-corp.example',
                    'note': 'ask jane.doe@rz.big-corp.example or '
                    'ops@other.example, see '
                    'https://wiki.rz.big-corp.example/x and '
                    'rz.big-corp.example',
                },
                'plugin_data': {},
            }
        )['inventory']

        text = json.dumps(made)
        for name in ('big-corp', 'jane', 'other'):
            self.assertNotIn(name, text)
        self.assertIn(made['hostname'].partition('.')[2], made['note'])

    def test_places_and_owners_under_free_keys_go(self):
        places = {
            'rack': 'R-south-12',
            'Room': 'vault',
            'cluster_name': 'au',
            'datacenter': 'fra4x',
            'row': 'a17',
            'site': 'berlin',
            'building': 'tower',
        }
        made = self.anonymizer.machine(
            {
                'inventory': {},
                'plugin_data': {
                    **places,
                    'note': 'in R-south-12 of berlin',
                    'bracket': 'steel',
                    'tracker': 'none',
                },
            }
        )['plugin_data']

        for name, place in places.items():
            self.assertNotEqual(place, made[name])
        self.assertNotIn('south', made['note'])
        self.assertNotIn('berlin', made['note'])
        self.assertEqual('steel', made['bracket'])

    def test_serial_numbers_and_asset_tags_go_under_short_names(self):
        for name in (
            'SN',
            'S/N',
            'sn',
            'Vendor SN',
            'board_sn',
            'asset',
            'Board Asset',
            'asset_id',
            'AssetNo',
        ):
            for value in ('7', 'x7', '20', SERIAL, 12345678):
                made = self.anonymizer.machine({name: value, 'note': SERIAL})
                self.assertNotEqual(value, made[name])
                if value == SERIAL:
                    self.assertEqual(made[name], made['note'])

    def test_names_that_only_look_like_those_of_serial_numbers_stay(self):
        given = {'dsn': 'x7', 'asset_notes': 'x7', 'tag': 'x7', 'snmp': 'x7'}
        self.assertEqual(given, self.anonymizer.machine(given))

    def test_a_wwn_goes_under_the_names_that_tools_give_it(self):
        for name in ('DurableName', 'Unique Identifier', 'SAS Address(0)'):
            made = self.anonymizer.machine({name: '5000C500A1B2C3D4'})
            self.assertRegex(made[name], '^5000C50[0-9A-F]{9}$')
            self.assertNotEqual('5000C500A1B2C3D4', made[name])

    def test_a_wwn_and_a_part_of_one_go_in_other_texts(self):
        for value in (
            '0xa1b2c3d4',
            'A1B2C3D4',
            '12345678',
            '0x12345678',
            '0xa1b2c3d4e5',
            '0xa1b2c3d4e5f6',
            '0c42:a103:0012:3456',
            '0c42-a103-0012-3456',
            't10.ATA     SAMSUNG MZ7LH480              S45PNA0M123456',
            'HK69 32J81',
            123456789,
        ):
            made = self.anonymizer.machine(
                {'wwn_vendor_extension': value, 'note': f'<{value}>'}
            )
            new = made['wwn_vendor_extension']
            self.assertNotEqual(value, new)
            self.assertEqual(f'<{new}>', made['note'])

    def test_a_guid_has_one_replacement_in_all_notations(self):
        made = self.anonymizer.machine(
            {
                'node_guid': '0c42:a103:0012:3456',
                'sys_image_guid': '0x0c42a10300123456',
                'note': '0C42A10300123456',
            }
        )
        digits = made['node_guid'].replace(':', '')
        self.assertRegex(made['node_guid'], '^([0-9a-f]{4}:){3}[0-9a-f]{4}$')
        self.assertEqual(f'0x{digits}', made['sys_image_guid'])
        self.assertEqual(digits.upper(), made['note'])

    def test_a_short_number_in_a_wwn_goes_only_there(self):
        given = {'naa': 5, 'oui': 3152, 'form': '0x5002'}
        made = self.anonymizer.machine(
            {'wwn': given, 'notes': ['oui 3152', '0x5002', 'nvme 5']}
        )
        self.assertEqual(['oui 3152', '0x5002', 'nvme 5'], made['notes'])
        for name, value in given.items():
            self.assertNotEqual(value, made['wwn'][name])

    def test_what_says_nothing_still_says_so(self):
        for text in (
            '',
            'Not Specified',
            'To Be Filled By O.E.M.',
            '0',
            'None',
            'Default string',
        ):
            self.assertEqual(
                {'serial_number': text},
                self.anonymizer.machine({'serial_number': text}),
            )

    def test_the_name_of_the_node_goes_wherever_it_stands(self):
        made = self.anonymizer.machine(
            {'note': 'this is prod-db7!'}, ['prod-db7']
        )
        self.assertEqual(
            {'note': f'this is {self.anonymizer.name("prod-db7")}!'}, made
        )

    def test_what_is_given_is_not_changed(self):
        given = canary_machine()
        before = copy.deepcopy(given)
        self.anonymizer.machine(given)
        self.assertEqual(before, given)

    @hypothesis.given(
        strategies.recursive(
            strategies.none()
            | strategies.booleans()
            | strategies.integers()
            | strategies.text()
            | strategies.sampled_from(CANARIES),
            lambda inner: (
                strategies.lists(inner)
                | strategies.dictionaries(
                    strategies.text()
                    | strategies.sampled_from(
                        ('serial', 'lldp', 'wwn', 'ip', 'hostname')
                    ),
                    inner,
                )
            ),
        )
    )
    def test_whatever_a_machine_says_is_taken(self, value):
        json.dumps(self.anonymizer.machine({'plugin_data': value}))

    @hypothesis.given(
        name=strategies.sampled_from(
            (
                'serial',
                'Serial Number',
                'serial_number',
                'asset_tag',
                'hostname',
                'uuid',
                'switch_system_name',
                'switch_port_id',
            )
        ),
        canary=strategies.from_regex(
            '[A-Za-z]{2}[A-Za-z0-9]{4}[0-9-]{4}[A-Za-z0-9]{2}', fullmatch=True
        ),
        around=strategies.sampled_from(('{}', 'S/N {}', 'ata-X_{}', '({})')),
    )
    def test_a_name_is_found_in_any_text_of_the_document(
        self, name, canary, around
    ):
        self.assert_gone(
            [canary],
            self.anonymizer.machine(
                {
                    'inventory': {name: canary},
                    'plugin_data': {'text': around.format(canary)},
                }
            ),
        )


class SamplesTestCase(base.TestCase):
    """Inventories that others have published."""

    _FIELDS = (
        'mac_address',
        'mac',
        'ipv4_address',
        'ip',
        'ipv6_address',
        'bmc_address',
        'bmc_v6address',
        'hostname',
        'serial',
        'serial_number',
        'client_id',
        'boot_interface',
        'switch_chassis_id',
        'switch_system_name',
    )

    def _check(self, path):
        given = json.loads(path.read_text())
        canaries = {
            value.partition('%')[0].partition('/')[0]
            for value in _values(given, self._FIELDS)
        }
        text = json.dumps(machine.Anonymizer(b'a key').machine(given)).lower()
        self.assertTrue(canaries)
        self.assertEqual(
            [],
            [
                written
                for canary in canaries
                if len(canary) > 4
                and canary not in ('0.0.0.0', 'Not Specified')
                for written in encodings(canary)
                if f'"{written}' in text
                or len(written) > 9
                and written in text
            ],
        )

    def test_nothing_remains_of_our_sample(self):
        if not SAMPLES.exists():
            self.skipTest('not in a checkout')
        self._check(SAMPLES / 'inventory-virtual-machine.json')

    def test_nothing_remains_of_public_inventories(self):
        for path in (shared_data.directory() / 'inventories').iterdir():
            self._check(path)

    def test_rules_of_others_decide_the_same(self):
        anonymizer = machine.Anonymizer(b'a key')
        scratch = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        directory = shared_data.directory()
        matched = set()
        for path in (directory / 'inventories').iterdir():
            other = scratch / path.name
            other.write_text(
                json.dumps(anonymizer.machine(json.loads(path.read_text())))
            )
            for rules in sorted(directory.glob('rules-*/kayobe-*')):
                plans = machine_test.compile_rules(
                    machine_test.load_rules([str(rules)])
                )
                results = [
                    machine_test.run(
                        str(each), plans, machine_test.load_node(None), False
                    )
                    for each in (path, other)
                ]
                self.assertEqual(
                    *((each.result, each.matched) for each in results)
                )
                matched.update(results[0].matched)
        self.assertTrue(matched)


def _values(value, names):
    if isinstance(value, dict):
        for name, item in value.items():
            if name in names and isinstance(item, str) and item:
                yield item
            yield from _values(item, names)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, names)
