# SPDX-License-Identifier: Apache-2.0

"""Identifiers in texts, in the notations that machines use."""

import ipaddress
import math
import re

from ironic_inspection_rules.kit.machine.anonymity import machine
from ironic_inspection_rules.tests.unit import base


class TextsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.anonymizer = machine.Anonymizer(b'a key')

    def made(self, text, field='note', **known):
        """Return what a text becomes on a machine with certain fields."""
        return self.anonymizer.machine({**known, field: text})[field]

    def test_an_address_before_a_colon_goes(self):
        address = self.made('10.31.7.42')
        other = self.made('10.31.0.1')
        for text in (
            'http://{}:5050',
            '{}:22',
            '{}:/export',
            'addr:{}',
            'a:b:{}',
            'nfsroot={}:/srv',
            '{}/24',
            '::ffff:{}',
            '[::ffff:{}]:22',
            '{}/255.255.255.0',
            'x,{},y',
        ):
            self.assertEqual(
                text.format(address), self.made(text.format('10.31.7.42'))
            )
        text = 'ip={}::{}:255.255.255.0::eth0:none BOOTIF=x'
        for field in ('kernel_cmdline', 'note', 'kernel'):
            self.assertEqual(
                text.format(address, other),
                self.made(text.format('10.31.7.42', '10.31.0.1'), field),
            )

    def test_the_host_on_a_command_line_goes(self):
        text = 'ip=10.31.7.42::10.31.0.1:255.255.255.0:rack1:eth0:none'
        made = self.made(text + ' rack1')
        self.assertNotIn('rack1', made)
        self.assertRegex(made, r':255\.255\.255\.0:(\w{5}):eth0:none \1$')

    def test_a_short_serial_number_does_not_tear_an_address(self):
        mac = self.made('ac:1f:6b:94:6d:01')
        for serial in ('94:6d', '6d:01', '1f:6b:94', '6b:94:6d:01'):
            made = self.made(
                f'{serial} of ac:1f:6b:94:6d:01', serial_number=serial
            )
            self.assertRegex(made, f'^(?!{serial})\\S+ of {mac}$')
        for text in (
            '10.31.7.42',
            '0000:3b:00.0',
            '2026-11-25T12:34:56Z',
            '12:34:56',
            'fe80::31:7',
        ):
            serial = re.search(r'31.7|3b:00|11-25|34:56', text)[0]
            known = self.made(text)
            self.assertEqual(known, self.made(text, serial_number=serial))

    def test_an_address_that_begins_with_a_serial_number_goes_whole(self):
        known = {
            'mac': '52:54:00:1a:bb:cc',
            'system_uuid': '5254001a-c3d4-4e5f-8a9b-0c1d2e3f4a5b',
            'wwn': '0x5254001abb',
        }
        texts = (
            '5254001abbcc',
            '5254 001a bbcc',
            '01-52-54-00-1a-bb-cc',
            '5254001ac3d44e5f8a9b0c1d2e3f4a5b',
            'x 5254001abb',
        )
        alone = [self.made(text, **known) for text in texts]
        known['serial_number'] = '5254001a'
        self.assertEqual(alone, [self.made(text, **known) for text in texts])
        # The longest known identifier goes whole.
        known['hostname'] = '5254001abbcc-rack7'
        made = self.made('5254001abbcc-rack7 5254001a', **known)
        self.assertRegex(made, r'^(?!.*(5254001a|bbcc|rack7))\S+-\w{5} \S+$')
        self.assertEqual(alone, [self.made(text, **known) for text in texts])

    def test_a_guid_that_begins_with_a_serial_number_goes_whole(self):
        known = {'mac': 'ac:1f:6b:94:6d:01'}
        for serial in ('ac1f6bfffe', 'ac1f6bffff', 'ac1f6b0300'):
            guid = f'{serial}946d01'
            alone = self.made(guid, **known)
            self.assertEqual(
                alone, self.made(guid, serial_number=serial, **known)
            )

    def test_a_serial_number_that_is_a_date_goes_before_a_time(self):
        for serial in ('2023-05-17', '20230517'):
            made = self.made(
                'made 2023-05-17 10:00:05.1Z', serial_number=serial
            )
            self.assertRegex(made, r'^made [\d-]{10} 10:00:05\.1Z$')
            self.assertNotIn('2023-05-17', made)
        # The number of a year is in all dates of that year.
        text = 'made 2023-05-17 10:00'
        self.assertEqual(text, self.made(text, serial_number='2023'))

    def test_a_version_stays_whole_beside_a_serial_number(self):
        # The serial number is in the first part of the version.
        text = 'FW-REV-10.2.0.4'
        for serial in ('FW-REV-10', 'REV-10.2'):
            self.assertEqual(text, self.made(text, serial_number=serial))
        self.assertEqual(
            'BIOS-U-30.20.10.4',
            self.made(
                'BIOS-U-30.20.10.4', 'bios_version', serial_number='BIOS-U-30'
            ),
        )

    def test_a_pci_address_stays_whole_beside_a_name(self):
        # The name of a host without its domain is a name as well.
        text = 'at 0000:3b:00.0'
        self.assertEqual(text, self.made(text, serial_number='0000:3b:00.1'))

    def test_an_address_joined_to_a_word_that_says_so_goes(self):
        for word in ('ip', 'addr', 'host', 'DHCP: dhcp'):
            made = self.made(f'{word}10.3.5.7 is up')
            self.assertEqual(f'{word}{self.made("10.3.5.7")} is up', made)
        # In the name of a host, all other words go as well.
        made = self.made('ip10.3.5.7.corp.example', 'next_server')
        self.assertNotRegex(made, '^ip|10.3.5.7|corp|example')
        for text in (
            'chip10.3.5.7',
            'fw10.3.5.7',
            'ip10.3.5.7.9',
            'X10.3.5.7',
        ):
            self.assertEqual(text, self.made(text))

    def test_a_known_address_as_a_decimal_number_goes(self):
        known = self.made('10.3.5.7')
        number = int(ipaddress.IPv4Address('10.3.5.7'))
        self.assertEqual(
            f'addr {int(ipaddress.IPv4Address(known))}',
            self.made(f'addr {number}', bmc_address='10.3.5.7'),
        )
        for text in (f'addr {number}', f'{number}7', f'0.{number}'):
            self.assertEqual(text, self.made(text, bmc_address='10.3.5.8'))
        # 10.0.0.0 is 160 MiB as well.
        self.assertEqual(
            'size 167772160',
            self.made('size 167772160', bmc_address='10.0.0.0'),
        )

    def test_a_serial_number_has_the_digits_of_an_address(self):
        number = int(ipaddress.IPv4Address('1.53.41.5'))
        self.assertEqual(20261125, number)
        made = self.made(
            'made 2026-11-25',
            bmc_address='1.53.41.5',
            serial_number=f'{number}',
        )
        self.assertNotIn('2026-11-25', made)

    def test_all_notations_of_an_address_become_one(self):
        digits = self.made('ac:1f:6b:0a:34:c6').replace(':', '')
        pairs = re.findall('..', digits)
        for text, expected in (
            ('AC-1F-6B-0A-34-C6', '-'.join(pairs).upper()),
            ('ac1f.6b0a.34c6', '.'.join(re.findall('....', digits))),
            ('ac1f6b0a34c6', digits),
            ('AC1F6B0A34C6', digits.upper()),
            ('01-ac-1f-6b-0a-34-c6', '-'.join(['01', *pairs])),
            ('ac 1f 6b 0a 34 c6', ' '.join(pairs)),
            ('ac1f-6b0a-34c6', '-'.join(re.findall('....', digits))),
            ('enxac1f6b0a34c6', f'enx{digits}'),
            ('0x1000ac1f6b0a34c6', f'0x1000{digits}'),
            ('10:00:ac:1f:6b:0a:34:c6', ':'.join(['10', '00', *pairs])),
            ('ac1f6b03000a34c6', f'{digits[:6]}0300{digits[6:]}'),
            ('ae1f6bfffe0a34c6', f'ae{digits[2:6]}fffe{digits[6:]}'),
        ):
            self.assertEqual(
                expected, self.made(text, mac_address='ac:1f:6b:0a:34:c6')
            )
        self.assertRegex(
            self.made('ac:1f:6b:a:34:c6', mac_address='ac:1f:6b:0a:34:c6'),
            '^ac:1f:6b(:[0-9a-f]{1,2}){3}$',
        )

    def test_ipv6_keeps_its_notation(self):
        made = self.made('2a01:4f8:aaaa::17')
        address = ipaddress.IPv6Address(made)
        for text, expected in (
            ('2A01:4F8:AAAA::17', made.upper()),
            ('2a01:04f8:aaaa:0000:0000:0000:0000:0017', address.exploded),
            ('[2a01:4f8:aaaa::17]:443', f'[{made}]:443'),
            ('2a01:4f8:aaaa::17/128', f'{made}/128'),
            ('2a01:4f8:aaaa::17%eth0', f'{made}%eth0'),
            ('addr:2a01:4f8:aaaa::17', f'addr:{made}'),
            ('iface:2a01:4f8:aaaa::17:eth0', f'iface:{made}:eth0'),
        ):
            self.assertEqual(expected, self.made(text))

    def test_what_is_no_address_stays(self):
        for text in (
            'std::string a::b',
            'a::beef:cafe',
            'ab::cd::beef:cafe',
            '1:2:3:4:5:6:7:8',
            '12:34:56.789',
            '1.2.3.4.5',
            'version 5.1.0.4',
            'FW 8.60.0.1',
            'v2.8.20.3',
            '0.0.0.0 127.0.0.1 ::1 255.255.255.0',
            '::ffff:127.0.0.1',
            'http://localhost:80/',
            '1:0:0:0',
            '999.1.1.1:22',
            'oid 1.3.6.1.4.1.674.10892',
        ):
            self.assertEqual(text, self.made(text, serial_number='CZ3409XK'))

    def test_beside_a_version_a_word_is_one_and_a_text_is_none(self):
        for name in ('version', 'firmware', 'bios_version', 'kernel_release'):
            self.assertEqual('8.60.0.1', self.made('8.60.0.1', name))
        made = self.anonymizer.machine(
            {
                'firmware': {
                    'nic': '8.60.0.1',
                    'from': 'tftp://8.60.0.1/',
                    'at': 'a 8.60.0.1',
                    'cmdline': 'x=8.60.0.2',
                }
            }
        )['firmware']
        self.assertEqual('8.60.0.1', self.made('8.60.0.1', 'version'))
        for name in ('from', 'at', 'cmdline'):
            self.assertNotIn('8.60.0', made[name])

    def test_a_known_address_is_none_of_a_version(self):
        self.assertNotIn(
            '8.60.0.1', self.made('version 8.60.0.1', bmc_address='8.60.0.1')
        )

    def test_names_go_in_all_letters_and_in_hexadecimal(self):
        made = self.made(
            'rack1-07 RACK1-07 7261636b312d3037', hostname='Rack1-07'
        )
        name = self.anonymizer.name('Rack1-07')
        self.assertEqual(
            f'{name.lower()} {name.upper()}', made.rpartition(' ')[0]
        )
        self.assertNotIn('7261636b312d3037', made)

    def test_a_name_with_half_a_surrogate_pair_goes(self):
        name = 'rack\ud8001-07'
        made = self.made(f'on {name}', hostname=name)
        self.assertEqual(f'on {self.anonymizer.name(name)}', made)
        self.assertNotIn('rack', made)

    def test_a_name_that_is_a_field_too_leaves_the_field(self):
        made = self.anonymizer.machine(
            {
                'inventory': {
                    'hostname': 'inventory',
                    'disks': [{'name': '/dev/sda', 'size': 1}],
                }
            },
            ['disks'],
        )
        self.assertEqual(['hostname', 'disks'], list(made['inventory']))
        self.assertNotEqual('inventory', made['inventory']['hostname'])

    def test_what_a_switch_calls_its_port_may_be_a_name_of_ours(self):
        made = self.anonymizer.machine(
            {
                'interfaces': [{'name': 'eth0'}],
                'port_id': 'eth0',
                'vendor': 'Intel Corp.',
                'node_name': 'intel',
                'x': 'Intel',
            }
        )
        self.assertEqual([{'name': 'eth0'}], made['interfaces'])
        self.assertNotEqual('eth0', made['port_id'])
        self.assertNotEqual('intel', made['node_name'])
        self.assertEqual('Intel', made['x'])

    def test_a_part_that_is_named_by_its_serial_number_gets_another_name(self):
        disk = {'name': 'S4X1NJ0N', 'serial': 'S4X1NJ0N'}
        made = self.anonymizer.machine(
            {
                'disks': [disk],
                'all_interfaces': {'CZ3409XK7Q': {'serial': 'CZ3409XK7Q'}},
                'x': 'S4X1NJ0N CZ3409XK7Q',
            }
        )
        self.assertNotIn('S4X1NJ0N', str(made))
        self.assertNotIn('CZ3409XK7Q', str(made))

    def test_numbers_become_numbers_of_as_many_digits(self):
        for number in (7, 42, 1000, 8814237709):
            made = self.made(number, 'serial')
            self.assertEqual(len(str(number)), len(str(made)))
            self.assertNotEqual(number, made)
            self.assertEqual(str(made), self.made(str(number), 'serial'))
        self.assertEqual(
            self.made('8814237709', 'serial'),
            str(self.made(8814237709, serial='8814237709')),
        )
        self.assertEqual(1000, self.made(1000, serial='1000'))
        self.assertEqual([0, True], self.made([0, True], 'serial'))

    def test_a_number_with_a_fraction_goes_where_its_field_is_a_name(self):
        for number in (88142377.5, 12.5, 1.2345e71, -7.25, 1.7e308):
            made = self.made(number, 'serial')
            self.assertIsInstance(made, float)
            self.assertNotEqual(number, made)
            self.assertTrue(math.isfinite(made))
            self.assertEqual(made, self.made(number, 'rack'))
            self.assertEqual(number, self.made(number, 'note'))
        for number in (0.0, math.inf):
            self.assertEqual(number, self.made(number, 'serial'))

    def test_a_host_in_a_url_needs_no_dot(self):
        made = self.made('http://deploy-a/x tftp://deploy-a:69/')
        self.assertNotIn('deploy', made)
        self.assertRegex(made, r'^http://(\w{6}-\w)/x tftp://\1:69/$')

    def test_short_names_go_where_their_field_says_so(self):
        item = ['disk', 'sda', 'serial', 'A1']
        made = self.anonymizer.machine({'data': [item], 'serial': 'A1'})
        self.assertEqual(item[:3], made['data'][0][:3])
        self.assertEqual(made['serial'], made['data'][0][3])
        self.assertNotEqual('A1', made['serial'])

    def test_a_name_in_one_field_says_what_the_other_has(self):
        pair = {'name': 'Serial Number', 'value': 'CZ3409XK7Q'}
        made = self.anonymizer.machine({'a': pair, 'b': 'x_CZ3409XK7Q'})
        self.assertEqual('Serial Number', made['a']['name'])
        self.assertNotIn('CZ3409XK7Q', str(made))

    def test_serial_numbers_may_be_names_of_fields(self):
        made = self.anonymizer.machine(
            {'serials': {'CZ3409XK7Q': {'slot1': 'x'}}, 'b': 'CZ3409XK7Q'}
        )
        self.assertEqual([made['b']], list(made['serials']))
        self.assertNotEqual('CZ3409XK7Q', made['b'])
        self.assertEqual(['slot1'], list(made['serials'][made['b']]))

    def test_an_address_may_be_a_list_of_numbers(self):
        numbers = [10, 31, 7, 42]
        fe80_1 = [0xFE, 0x80, *[0] * 13, 1]

        made = self.anonymizer.machine(
            {
                'ip': numbers,
                'v': '10.31.7.42',
                'ipv6_address': fe80_1,
                'x': numbers,
                'macs': [1, 2],
            }
        )

        self.assertNotEqual(numbers, made['ip'])
        self.assertEqual(made['v'], '.'.join(map(str, made['ip'])))
        made_ipv6 = ipaddress.IPv6Address(bytes(made['ipv6_address']))
        self.assertEqual(self.made('fe80::1'), str(made_ipv6))
        # Other fields have numbers, and a MAC address has six of them.
        self.assertEqual(numbers, made['x'])
        self.assertEqual([1, 2], made['macs'])

    def test_a_label_says_what_stands_behind_it(self):
        made = self.made(
            'Serial Number: CZ3409XK7Q\n\tHost Name: rack1\n'
            'Serial: enabled, rack1'
        )
        self.assertNotIn('CZ3409XK7Q', made)
        self.assertNotIn('rack1', made)
        self.assertIn('Serial: enabled', made)
