# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.tests.unit import base

FIRST = '52:54:00:00:00:01'
SECOND = '52:54:00:00:00:02'
NAME = 'ironic_inspection_pxe_filter_eth1'


class TableTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.table = nftables.FilterTable('eth1', ['67/udp', '80/tcp'])

    def test_it_is_named_after_the_interface(self):
        self.assertEqual(NAME, self.table.name)

    def test_its_name_needs_no_quotes(self):
        self.assertEqual(
            'ironic_inspection_pxe_filter_br-ex.1_x',
            nftables.FilterTable('br-ex.1+x', []).name,
        )

    def test_it_is_made_afresh(self):
        script = self.table.create()
        self.assertEqual(
            [f'add table inet {NAME}', f'delete table inet {NAME}'], script[:2]
        )
        self.assertIn(f'add table inet {NAME}', script[2:])

    def test_nothing_of_another_table_is_touched(self):
        for line in self.table.create() + self.table.create_fallback():
            verb, kind, family, table, *rest = line.split()
            self.assertIn(table, {NAME, f'{NAME}_closed'})

    def test_new_tables_let_nobody_pass(self):
        for script in (self.table.create(), self.table.create_fallback()):
            self.assertNotIn('element', ' '.join(script))
            self.assertTrue(
                script[-1].endswith('guard counter drop comment "unknown"'),
                repr(script),
            )

    def test_no_change_is_no_command(self):
        same = admission.Admission(
            frozenset({FIRST}), frozenset({SECOND}), True
        )
        self.assertEqual([], self.table.change(same, same))

    def test_a_change_says_only_what_is_different(self):
        script = self.table.change(
            admission.Admission(frozenset(), frozenset({FIRST, SECOND})),
            admission.Admission(frozenset({FIRST}), frozenset({SECOND}), True),
        )
        self.assertEqual(
            [
                f'add element inet {NAME} whitelist {{ {FIRST} }}',
                f'delete element inet {NAME} blacklist {{ {FIRST} }}',
                f'add element inet {NAME} unknown {{ "eth1" }}',
            ],
            script,
        )

    def test_passing_starts_its_time_anew(self):
        self.assertEqual(
            [
                f'flush set inet {NAME} leader',
                f'flush set inet {NAME} lease',
                f'add element inet {NAME} lease {{ 1000-1002 }}',
                f'add element inet {NAME} leader {{ "eth1" timeout 1200ms }}',
            ],
            self.table.pass_for(1.25, 1000.9, 1002.9),
        )

    def test_too_short_a_time_blocks(self):
        self.assertEqual(
            self.table.block(), self.table.pass_for(0.09, 1000.9, 1001.0)
        )

    def test_blocking_empties_both_sets(self):
        self.assertEqual(
            [f'flush set inet {NAME} leader', f'flush set inet {NAME} lease'],
            self.table.block(),
        )

    def test_a_table_is_known_by_its_mark(self):
        self.assertFalse(
            self.table.is_foreign(f'... goto guard comment "{nftables.MARK}"')
        )
        self.assertTrue(self.table.is_foreign(f'table inet {NAME} {{ }}'))


class ScriptTestCase(base.TestCase):
    def test_a_table_as_a_script(self):
        self.assertEqual(
            """\
add table inet T
delete table inet T
add table inet T_closed
delete table inet T_closed
add table inet T
add set inet T leader { type ifname; flags timeout; }
add set inet T lease { typeof meta time; flags interval; }
add set inet T unknown { type ifname; }
add set inet T whitelist { type ether_addr; }
add set inet T blacklist { type ether_addr; }
add chain inet T guard
add chain inet T input { type filter hook input priority -10; policy accept; }
add rule inet T input iifname "eth1" tcp dport 80 goto guard comment "M"
add rule inet T guard iifname != @leader counter drop comment "not the leader"
add rule inet T guard meta time != @lease counter drop comment \
"the lease is over"
add rule inet T guard ether saddr @whitelist counter accept comment \
"in inspection"
add rule inet T guard ether saddr @blacklist counter drop comment \
"not in inspection"
add rule inet T guard iifname @unknown counter accept comment \
"unknown, and discovery is on"
add rule inet T guard counter drop comment "unknown"
""",
            '\n'.join([*nftables.FilterTable('eth1', ['80/tcp']).create(), ''])
            .replace(NAME, 'T')
            .replace(nftables.MARK, 'M'),
        )
