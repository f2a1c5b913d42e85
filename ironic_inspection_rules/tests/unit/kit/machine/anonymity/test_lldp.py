# SPDX-License-Identifier: Apache-2.0

import random

from ironic_inspection_rules.kit.machine.anonymity import machine
from ironic_inspection_rules.tests.unit import base

SERIAL = 'CZ3409XK7Q'
MAC = bytes.fromhex('885a92ec5459')
IEEE_802_1 = bytes.fromhex('0080c2')
IEEE_802_3 = bytes.fromhex('00120f')
LLDP_MED = bytes.fromhex('0012bb')
JUNIPER = bytes.fromhex('009069')
ORGANIZATIONS = (IEEE_802_1, IEEE_802_3, LLDP_MED, JUNIPER)
ANY_NUMBERS = {(IEEE_802_1, 12), (IEEE_802_1, 14)}
"""Tables of any length that have only small numbers."""
VERSIONS = {(LLDP_MED, subtype) for subtype in (5, 6, 7, 9, 10)}
"""Texts that are not names, so that only known identifiers go."""
LENGTH_BEFORE_IDENTIFIERS = 25
"""No numbers of IEEE and LLDP-MED are longer."""
NUMBERS = (
    (0, ''),
    (3, '0078'),
    (7, '00140004'),
    (127, '0080c2010065'),
    (127, '0080c202060066'),
    (127, '0080c20408' + '0026424203000000'),
    (127, '0080c2060064'),
    (127, '0080c2070300000001'),
    (127, '0080c20b0808'),
    (127, '0080c20c00' + '608906' * 9),
    (127, '00120f01036c11001e'),
    (127, '00120f0207010400320032'),
    (127, '00120f030100000000'),
    (127, '00120f042400'),
    (127, '0012bb01003f04'),
    (127, '0012bb0201404065'),
    (127, '0012bb0451001e'),
)
"""Elements with numbers that are no identifiers."""


def element(kind, *parts):
    """Return an element whose content is the given texts and octets."""
    octets = [
        part.encode() if isinstance(part, str) else part for part in parts
    ]
    return [kind, b''.join(octets).hex()]


class FramesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.anonymizer = machine.Anonymizer(b'a key')

    def _replace(self, elements, **plugin_data):
        """Return the contents of replaced elements, as octets."""
        made = self.anonymizer.machine(
            {'plugin_data': {'lldp_raw': {'eno1': elements}, **plugin_data}}
        )
        return [
            bytes.fromhex(content)
            for _kind, content in made['plugin_data']['lldp_raw']['eno1']
        ]

    def _assert_gone(self, heads, identifiers):
        """Check that no element keeps what follows its head."""
        elements = []
        planted = []
        for kind, head in heads:
            for identifier in identifiers:
                elements.append(element(kind, head, identifier))
                planted.append(identifier)
        contents = self._replace(elements)
        self.assertEqual(
            [],
            [
                given
                for given, content, identifier in zip(
                    elements, contents, planted, strict=True
                )
                if _keeps(content, identifier)
                or len(content) != len(given[1]) // 2
            ],
        )

    def test_all_of_an_unknown_type_goes(self):
        heads = [(kind, b'') for kind in (*range(9, 127), 128, 255)]
        self._assert_gone(heads, (SERIAL.encode(), MAC))

    def test_all_of_an_unknown_subtype_of_an_organization_goes(self):
        heads = [(127, JUNIPER + bytes([subtype])) for subtype in range(256)]
        for organization, first in (
            (IEEE_802_1, 15),
            (IEEE_802_3, 9),
            (LLDP_MED, 12),
        ):
            heads += [
                (127, organization + bytes([subtype]))
                for subtype in (0, *range(first, 256))
            ]
        self._assert_gone(heads, (SERIAL.encode(), MAC))

    def test_what_follows_the_numbers_of_an_organization_goes(self):
        padding = bytes(LENGTH_BEFORE_IDENTIFIERS)
        heads = [
            (127, organization + bytes([subtype]) + padding)
            for organization in ORGANIZATIONS
            for subtype in range(256)
            if (organization, subtype) not in ANY_NUMBERS | VERSIONS
        ]
        self._assert_gone(heads, (SERIAL.encode(), MAC))

    def test_the_switch_in_a_frame_of_a_spanning_tree_goes(self):
        frame = bytes.fromhex('0026424203000000' + '00' + '8000')
        head = IEEE_802_1 + b'\x04' + bytes([len(frame + MAC)]) + frame
        self._assert_gone([(127, head)], [MAC])

    def test_an_id_of_a_chassis_or_a_port_goes_whatever_it_is(self):
        heads = [
            (kind, bytes([subtype]))
            for kind in (1, 2)
            for subtype in range(256)
        ]
        chance = random.Random(1)
        identifiers = [SERIAL.encode(), MAC]
        # As Latin-1 these octets are signs, which a name would keep.
        identifiers += [b'\xb8*r\xb1\xd7-', b'\x01\x02\x03\x04\x05\x06\x07']
        identifiers += [chance.randbytes(length) for length in range(5, 17)]
        self._assert_gone(heads, identifiers)

    def test_a_description_that_is_no_text_goes(self):
        self._assert_gone([(4, b''), (5, b''), (6, b'')], [MAC, b'\1' + MAC])

    def test_what_follows_a_number_of_fixed_length_goes(self):
        heads = [(0, b''), (3, b'\x00\x78'), (7, bytes(4))]
        self._assert_gone(heads, (SERIAL.encode(), MAC))

    def test_what_is_not_of_a_management_address_goes(self):
        heads = [
            (8, head)
            for head in (
                b'',
                b'\x00',
                b'\x0b\x10',
                b'\xff\x01',
                bytes.fromhex('05010a1f0003' + '0200000001' + '00'),
                bytes.fromhex('05010a1f0003' + '0200000001' + '022b06'),
            )
        ]
        self._assert_gone(heads, (SERIAL.encode(), MAC))

    def test_numbers_of_ieee_and_of_lldp_med_stay(self):
        elements = [list(pair) for pair in NUMBERS]
        self.assertEqual(
            [content for _kind, content in elements],
            [content.hex() for content in self._replace(elements)],
        )

    def test_a_text_keeps_its_form_and_its_zeros(self):
        for kind in (4, 5):
            for text in ('sw-1\0\0', 'Rückraum–3', 'a\tb\r\nc'):
                [content] = self._replace([element(kind, text)])
                made = content.decode()
                self.assertNotEqual(text, made)
                self.assertEqual(
                    [character.isalnum() for character in text],
                    [character.isalnum() for character in made],
                )

    def test_a_text_in_latin_1_stays_a_text(self):
        [content] = self._replace([element(5, 'Rückraum-3'.encode('latin-1'))])
        self.assertRegex(content.decode(), '^[A-Z][a-z]{7}-[0-9]$')

    def test_the_length_of_a_vlan_name_is_that_of_the_new_name(self):
        for name in ('vl-acme9', 'lab-10.1.2.3', 'lab-10.0.0.1-x'):
            for key in range(20):
                self.anonymizer = machine.Anonymizer(b'%d' % key)
                head = IEEE_802_1 + b'\x03\x00\x65' + bytes([len(name)])
                [content] = self._replace([element(127, head, name)])
                self.assertNotIn(name.encode(), content)
                self.assertEqual(len(content) - len(head), content[6])

    def test_known_identifiers_go_in_versions_and_models(self):
        for _organization, subtype in sorted(VERSIONS):
            head = LLDP_MED + bytes([subtype])
            text = f'2.10.0.1 of {SERIAL}'
            [content] = self._replace(
                [element(127, head, text)], serial_number=SERIAL
            )
            self.assertNotIn(SERIAL.encode(), content)
            self.assertIn(b'2.10.0.1 of ', content)

    def test_serials_and_addresses_of_a_switch_go_in_other_texts(self):
        packed = bytes.fromhex('0a1f0003')
        for given, written in (
            (element(127, LLDP_MED, b'\x08', SERIAL), SERIAL),
            (element(127, LLDP_MED, b'\x0b', 'acme-00471\0'), 'acme-00471'),
            (element(5, 'Rückraum'.encode('latin-1')), 'Rückraum'),
            (element(5, 'sw-acme\0'), 'sw-acme'),
            (element(1, b'\x05\x01', packed), packed.hex()),
            (element(2, b'\x04\x01', packed), packed.hex()),
            (element(8, b'\x07\x06', MAC, bytes(6)), MAC.hex()),
        ):
            made = self.anonymizer.machine(
                {'lldp': [given], 'note': f'<{written}>'}
            )
            self.assertRegex(made['note'], '^<.+>$')
            self.assertNotEqual(f'<{written}>', made['note'])


def _keeps(content, identifier):
    """Return whether more than half of an identifier is at its place.

    The first half of a MAC address is its vendor, which stays.
    """
    tail = content[-len(identifier) :]
    same = sum(map(int.__eq__, tail, identifier))
    return same > len(identifier) / 2
