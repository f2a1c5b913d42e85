# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.tests.unit import base

KNOWN = frozenset({'52:54:00:00:00:01', '52:54:00:00:00:02'})
INSPECTED = frozenset({'52:54:00:00:00:02'})


class DecideTestCase(base.TestCase):
    def decide(
        self,
        leads=True,
        auto_discovery=False,
        inspected=INSPECTED,
        any_inspection=True,
    ):
        return admission.decide(
            admission.Machines(KNOWN, inspected, any_inspection),
            leads,
            auto_discovery,
        )

    def test_the_leader_admits_what_is_in_inspection(self):
        self.assertEqual(
            admission.Admission(
                allowlist=INSPECTED, denylist=KNOWN - INSPECTED, unknown=True
            ),
            self.decide(),
        )

    def test_a_follower_admits_nobody(self):
        self.assertEqual(
            admission.Admission(denylist=KNOWN),
            self.decide(leads=False, auto_discovery=True),
        )

    def test_the_unknown_pass_only_while_something_is_inspected(self):
        self.assertFalse(
            self.decide(inspected=frozenset(), any_inspection=False).unknown
        )

    def test_the_unknown_pass_while_a_node_without_ports_is_inspected(self):
        self.assertTrue(self.decide(inspected=frozenset()).unknown)

    def test_the_unknown_pass_with_auto_discovery(self):
        self.assertTrue(
            self.decide(
                auto_discovery=True,
                inspected=frozenset(),
                any_inspection=False,
            ).unknown
        )


class ReadMacsTestCase(base.TestCase):
    def test_addresses_are_in_lower_case(self):
        self.assertEqual(
            {'52:54:00:00:00:0a', '52:54:00:00:00:0b'},
            admission.read_macs(
                [('a', '52:54:00:00:00:0A'), ('b', '52:54:00:00:00:0b')]
            ),
        )

    def test_a_bad_address_is_named_with_its_port(self):
        for bad in (
            '',
            '52:54:00:00:00',
            '52:54:00:00:00:0g',
            '52-54-00-00-00-01',
            '52:54:00:00:00:01\n',
            '52:54:00:00:00:01:02',
            '{ evil }',
        ):
            exc = self.assertRaises(
                admission.BadAddress,
                admission.read_macs,
                [('a', '52:54:00:00:00:01'), ('port-b', bad)],
            )
            self.assertIn('port-b', str(exc))
            self.assertIn(f'"{bad}"', str(exc))

    def test_rows_are_read_to_the_end(self):
        rows = iter([('a', 'bad'), ('b', 'worse'), ('c', 'worst')])
        exc = self.assertRaises(
            admission.BadAddress, admission.read_macs, rows
        )
        self.assertIn('"bad"', str(exc))
        self.assertEqual([], list(rows))
