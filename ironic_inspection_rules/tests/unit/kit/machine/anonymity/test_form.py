# SPDX-License-Identifier: Apache-2.0

import ipaddress
import os.path
import re
import uuid

import hypothesis
from hypothesis import strategies

from ironic_inspection_rules.kit.machine.anonymity import address as addresses
from ironic_inspection_rules.kit.machine.anonymity import form
from ironic_inspection_rules.tests.unit import base


class FormsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.forms = form.FormReplacer(b'a key')

    def test_a_mac_keeps_its_vendor_however_it_is_written(self):
        made = self.forms.replace_octets('AC:1F:6B:12:34:56')
        self.assertRegex(made, '^AC:1F:6B(:[0-9A-F]{2}){3}$')
        self.assertNotEqual('AC:1F:6B:12:34:56', made)
        self.assertEqual(
            made.replace(':', '-').lower(),
            self.forms.replace_octets('ac-1f-6b-12-34-56'),
        )
        self.assertEqual(
            '01-' + made.replace(':', '-').lower(),
            self.forms.replace_octets('01-ac-1f-6b-12-34-56'),
        )
        self.assertEqual(
            re.sub('[:]', '', made).lower(),
            self.forms.replace_octets('ac1f.6b12.3456').replace('.', ''),
        )

    def test_a_mac_without_a_vendor_keeps_what_kind_it_is(self):
        self.assertRegex(
            self.forms.replace_octets('02:42:ac:11:00:02'), '^02:(?!42:ac)'
        )
        self.assertRegex(
            self.forms.replace_octets('52:54:00:12:34:56'), '^52:54:00:'
        )

    def test_addresses_of_infiniband_go_with_their_mac(self):
        mac = self.forms.replace_octets('7c:fe:90:29:26:52')
        guid = mac[:9] + '03:00:' + mac[9:]
        self.assertEqual(
            guid, self.forms.replace_octets('7c:fe:90:03:00:29:26:52')
        )
        head = 'ff:00:00:00:00:00:02:00:00:02:c9:00:'
        self.assertEqual(
            head + guid,
            self.forms.replace_octets(head + '7c:fe:90:03:00:29:26:52'),
        )

    def test_the_bit_that_ipv6_inverts_is_no_difference(self):
        mac = self.forms.replace_octets('7c:fe:90:29:26:52')
        self.assertEqual(
            f'7e{mac[2:9]}ff:fe:{mac[9:]}',
            self.forms.replace_octets('7e:fe:90:ff:fe:29:26:52'),
        )

    def test_a_wwn_is_the_same_with_colons_and_without(self):
        for wwn in (
            '5000c500a1b2c3d4',
            '20017cfe90292652',
            '7cfe900300292652',
            '0025385b71b0a1b2',
        ):
            pairs = ':'.join(re.findall('..', wwn))
            self.assertEqual(
                self.forms.wwn(f'0x{wwn}'),
                '0x' + (self.forms.replace_octets(pairs).replace(':', '')),
            )

    def test_an_address_of_ipv4_in_one_of_ipv6_is_the_same(self):
        made = self.forms.address('10.31.7.42')
        for head in ('::ffff:', '64:ff9b::', '::FFFF:', '::'):
            self.assertEqual(
                head + made, self.forms.address(head + '10.31.7.42')
            )
        packed = ipaddress.ip_address(made).packed.hex()
        self.assertEqual(
            ipaddress.ip_address(f'::ffff:{packed[:4]}:{packed[4:]}'),
            ipaddress.ip_address(self.forms.address('::ffff:a1f:72a')),
        )
        self.assertNotIn('.', self.forms.address('::ffff:a1f:72a'))

    def test_zeros_in_front_of_numbers_stay(self):
        self.assertRegex(
            self.forms.address('010.031.007.042'), r'^010(\.\d{3}){3}$'
        )
        self.assertRegex(self.forms.text('0042'), '^0[0-9]{3}$')
        self.assertRegex(self.forms.text('42'), '^[1-9][0-9]$')

    def test_letters_of_other_scripts_are_told_apart(self):
        self.assertNotEqual(
            self.forms.text('server-ü-x'), self.forms.text('server-s-x')
        )

    def test_no_address_and_the_address_of_all_stay(self):
        for text in ('00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff'):
            self.assertEqual(text, self.forms.replace_octets(text))
        for text in (
            '0.0.0.0',
            '127.0.0.1',
            '255.255.255.0',
            '::1',
            '::',
            '255.255.255.255',
            '224.0.0.1',
            'ff02::1',
        ):
            self.assertEqual(text, self.forms.address(text))

    @hypothesis.given(strategies.ip_addresses())
    def test_an_address_is_replaced_by_one_that_nobody_owns(self, address):
        made = ipaddress.ip_address(self.forms.address(str(address)))
        if address.is_global and not address.is_multicast:
            self.assertFalse(made.is_global)
        if not addresses.is_common(address):
            self.assertNotEqual(address, made)
        self.assertEqual(address.version, made.version)

    @hypothesis.given(
        strategies.ip_addresses(network='10.0.0.0/8'),
        strategies.integers(9, 31),
    )
    def test_an_address_stays_in_its_network(self, address, length):
        network = ipaddress.ip_network((address, length), strict=False)

        made_network = ipaddress.ip_network(self.forms.address(str(network)))
        made = ipaddress.ip_address(self.forms.address(str(address)))

        self.assertIn(made, made_network)
        self.assertEqual(length, made_network.prefixlen)
        self.assertTrue(made_network.is_private)

    def test_what_is_no_address_is_none(self):
        for text in ('1.2.3.4.5', '300.1.1.1', 'eth0'):
            self.assertIsNone(self.forms.address(text), repr(text))

    @hypothesis.given(strategies.uuids())
    def test_a_uuid_stays_one_of_its_version(self, value):
        made = uuid.UUID(self.forms.uuid(str(value)))
        self.assertEqual(value.version, made.version)
        self.assertNotEqual(value, made)

    def test_a_wwn_keeps_its_vendor(self):
        self.assertRegex(
            self.forms.wwn('0x5000c500a1b2c3d4'),
            '^0x5000c50(?!0a1b2c3d4)[0-9a-f]{9}$',
        )
        self.assertRegex(
            self.forms.wwn('eui.0025385b71b0a1b2'),
            r'^eui\.002538[0-9a-f]{10}$',
        )
        self.assertRegex(
            self.forms.wwn('0x5000c500'), '^0x(?!5000c500)[0-9a-f]{8}$'
        )

    @hypothesis.given(
        strategies.from_regex('[0-9a-zA-Z-]{1,20}', fullmatch=True)
    )
    def test_a_text_keeps_its_form(self, text):
        made = self.forms.text(text)
        self.assertEqual(len(text), len(made))
        if re.search('[0-9a-zA-Z]', text):
            self.assertNotEqual(text, made)
        self.assertEqual(
            [character for character in text if not character.isalnum()],
            [character for character in made if not character.isalnum()],
        )

    @hypothesis.given(
        strategies.sets(
            strategies.from_regex('SN[0-9]{3}', fullmatch=True), min_size=2
        )
    )
    def test_different_serial_numbers_stay_different(self, texts):
        self.assertEqual(
            len(texts), len({self.forms.text(text) for text in texts})
        )

    def test_a_host_has_the_same_name_with_its_domain(self):
        full, host, other = map(
            self.forms.text,
            ('rack1-07.acme.example', 'rack1-07', 'rack1-08.acme.example'),
        )
        self.assertEqual(host, full.split('.')[0])
        self.assertEqual(full.split('.')[1:], other.split('.')[1:])

    @hypothesis.given(
        strategies.binary(min_size=1),
        strategies.sampled_from(['a0', '7', 'x.y', 'Q-3', 'ab']),
    )
    def test_short_names_never_become_one(self, key, like):
        forms = form.FormReplacer(key)
        names = [
            f'{letter}{digit}'
            for letter in ('', *'abcdefgh')
            for digit in range(10)
        ]

        made = {name: forms.text(name) for name in names}

        self.assertEqual(len(names), len(set(made.values())))
        for name in names:
            self.assertNotEqual(name, made[name])
        self.assertEqual(made['a0'], form.FormReplacer(key).text('a0'))

    def test_another_key_gives_other_names(self):
        self.assertNotEqual(
            self.forms.text('SN-12345678'),
            form.FormReplacer(b'other').text('SN-12345678'),
        )

    def test_neighbours_do_not_look_like_neighbours(self):
        one, other = map(self.forms.text, ('CZ20080001', 'CZ20080002'))
        self.assertLess(len(os.path.commonprefix([one, other])), 5)

    @hypothesis.given(
        strategies.integers(0, 2**24 - 1), strategies.integers(8, 31)
    )
    def test_addresses_are_as_near_as_they_were(self, value, same):
        first_different_bit = 1 << 31 - same
        address = 10 << 24 | value
        neighbour = address ^ first_different_bit

        differing_bits = self.replaced(address) ^ self.replaced(neighbour)

        self.assertEqual(
            first_different_bit.bit_length(), differing_bits.bit_length()
        )

    def replaced(self, number):
        """Replace an IPv4 address, as a number."""
        text = self.forms.address(str(ipaddress.IPv4Address(number)))
        return int(ipaddress.IPv4Address(text))
