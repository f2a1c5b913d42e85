# SPDX-License-Identifier: Apache-2.0

"""Real filters, real DHCP servers and clients, in networks of their own."""

import signal
import subprocess
import time

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional import coordinator
from ironic_inspection_rules.tests.integration import network
from ironic_inspection_rules.tests.integration import pxe
from ironic_inspection_rules.tests.integration import test_outages

KNOWN = '52:54:00:00:00:01'
INSPECTED = '52:54:00:00:00:02'
UNKNOWN = '52:54:00:00:00:03'
OUT_OF_BAND = '52:54:00:00:00:04'


class OneHostTestCase(pxe.TestCase):
    def setUp(self):
        super().setUp()
        self.nodes = self.useFixture(pxe.Nodes())
        self.node = self.nodes.add('inspect wait', INSPECTED)
        self.nodes.add('available', KNOWN)
        self.one = self.host(1, database={'connection': self.nodes.url})

    def start(self):
        self.one.start()
        self.wait_for(lambda: self.one.passes, pxe.START)

    def rest_of_ruleset(self):
        """All that is not the table of the filter."""
        tables = self.one.namespace.run('nft', 'list', 'ruleset').stdout
        return [
            table for table in tables.split('\n}\n') if pxe.TABLE not in table
        ]

    def test_only_machines_in_inspection_get_a_lease(self):
        self.nodes.add('inspecting', OUT_OF_BAND, interface='redfish')
        self.start()
        self.assertTrue(self.machine.gets_lease(INSPECTED))
        self.assertTrue(self.machine.gets_lease(UNKNOWN))
        self.assertFalse(self.machine.gets_lease(KNOWN))
        self.assertFalse(self.machine.gets_lease(OUT_OF_BAND))

        self.nodes.set_state(self.node, 'manageable')
        self.wait_for(lambda: not self.one.elements('whitelist'))
        self.assertFalse(self.machine.gets_lease(INSPECTED))
        self.assertFalse(self.machine.gets_lease(UNKNOWN))

    def test_auto_discovery_lets_the_unknown_in(self):
        self.nodes.set_state(self.node, 'manageable')
        self.one.configure({'auto_discovery': {'enabled': True}})
        self.start()
        self.assertTrue(self.machine.gets_lease(UNKNOWN))
        self.assertFalse(self.machine.gets_lease(KNOWN))

    def test_stop_blocks_and_spares_the_tables_of_others(self):
        for command in (
            'add table inet other',
            'add chain inet other input { type filter hook input '
            'priority 0; }',
            'add rule inet other input udp dport 67 counter',
            'add table ip ironic_inspection_pxe_filter',
        ):
            self.one.namespace.run('nft', command)
        before = self.rest_of_ruleset()
        self.start()
        self.assertEqual(before, self.rest_of_ruleset())
        self.assertEqual(0, self.one.stop())
        self.assertFalse(self.one.passes)
        self.assertEqual(before, self.rest_of_ruleset())
        self.assertFalse(self.machine.gets_lease(INSPECTED))

    def test_the_kernel_blocks_for_a_dead_filter(self):
        self.start()
        self.one.filter.send_signal(signal.SIGSTOP)
        self.wait_for(lambda: not self.one.passes)
        self.one.filter.send_signal(signal.SIGCONT)
        self.wait_for(lambda: self.one.passes)
        self.one.kill()
        self.wait_for(lambda: not self.one.passes)
        self.assertTrue(self.one.is_guarded)
        self.assertFalse(self.machine.gets_lease(INSPECTED))

    def test_everything_is_blocked_until_trouble_is_over(self):
        self.start()
        self.one.namespace.run('nft', 'flush', 'ruleset')
        self.wait_for(lambda: self.one.is_guarded)
        self.assertFalse(self.one.passes)
        self.wait_for(lambda: self.one.passes)

        self.nodes.readdress(KNOWN, 'bad')
        self.wait_for(lambda: not self.one.passes)
        self.nodes.readdress('bad', KNOWN)
        self.wait_for(lambda: self.one.passes)
        self.assertEqual(
            1, self.one.log().count('failed and is tried again: Port')
        )

    def refused(self, *wrapper):
        """Run a filter that cannot run; return its one line."""
        self.one.configure(
            {'DEFAULT': {'use_stderr': False, 'log_file': '/dev/null'}}
        )
        done = subprocess.run(
            self.one.filter_command(*(wrapper or pxe.UNPRIVILEGED)),
            capture_output=True,
            text=True,
            timeout=pxe.PATIENCE,
        )
        lines = [
            line
            for line in done.stderr.splitlines()
            if line.startswith('ironic-inspection-pxe-filter:')
        ]
        self.assertEqual((1, 1), (done.returncode, len(lines)), done.stderr)
        return lines[0]

    def test_a_foreign_table_of_the_name_is_spared_and_all_is_blocked(self):
        namespace = self.one.namespace
        namespace.run('nft', f'add table inet {pxe.TABLE}')
        namespace.run('nft', f'add chain inet {pxe.TABLE} theirs')
        before = namespace.run(
            'nft', 'list', 'table', 'inet', pxe.TABLE
        ).stdout
        self.assertIn(f'"{pxe.TABLE}" exists and is not ours', self.refused())
        self.assertEqual(
            before,
            namespace.run('nft', 'list', 'table', 'inet', pxe.TABLE).stdout,
        )
        self.assertFalse(self.machine.gets_lease(INSPECTED))

    def test_what_cannot_work_is_named(self):
        self.assertIn(
            ': nft: ', self.refused('setpriv', '--bounding-set', '-all')
        )
        self.assertIn(
            'nft program is not installed',
            self.refused(*pxe.UNPRIVILEGED, 'env', 'PATH=/nowhere'),
        )
        self.one.configure({'inspection_pxe_filter': {'interface': 'pxe9'}})
        self.assertIn('no network interface "pxe9"', self.refused())
        self.assertEqual(
            '', self.one.namespace.run('nft', 'list', 'ruleset').stdout
        )

        self.one.configure(
            {
                'inspection_pxe_filter': {'interface': pxe.INTERFACE},
                'coordination': {'backend_url': 'radis://192.0.2.1'},
            }
        )
        self.assertIn('[coordination]backend_url', self.refused())
        self.assertTrue(self.one.is_guarded)
        self.assertFalse(self.machine.gets_lease(INSPECTED))

    def test_dhcpv6_is_guarded_where_its_port_is_listed(self):
        self.one.configure(
            {'inspection_pxe_filter': {'ports': '67/udp, 69/udp, 547/udp'}}
        )
        self.assertTrue(self.machine.gets_ipv6_lease(KNOWN))
        self.start()
        self.assertTrue(self.machine.gets_ipv6_lease(INSPECTED))
        self.assertTrue(self.machine.gets_ipv6_lease(UNKNOWN))
        self.assertFalse(self.machine.gets_ipv6_lease(KNOWN))
        self.assertEqual(0, self.one.stop())
        self.assertFalse(self.machine.gets_ipv6_lease(INSPECTED))


class LostDatabaseTestCase(pxe.TestCase):
    def setUp(self):
        super().setUp()
        absent = database.why_absent('postgresql')
        if absent:
            self.skipTest(absent)
        url = self.useFixture(
            database.Database('postgresql', ready=False)
        ).engine.url
        self.nodes = self.useFixture(pxe.Nodes(url.render_as_string(False)))
        self.nodes.add('inspect wait', INSPECTED)
        self.one = self.host(1)
        self.relay = self.useFixture(
            network.Relay(self.one.namespace, (url.host, url.port or 5432))
        )
        near = url.set(host='127.0.0.1', port=self.relay.port)
        self.one.configure(
            {'database': {'connection': near.render_as_string(False)}}
        )
        self.one.start()
        self.wait_for(lambda: self.one.passes, pxe.START)

    def test_everything_is_blocked_while_the_database_is_lost(self):
        self.relay.cut()
        self.wait_for(lambda: not self.one.passes)
        self.relay.join()
        self.wait_for(lambda: self.one.passes)

        self.relay.freeze()
        self.wait_for(lambda: not self.one.passes)
        self.wait_for(lambda: 'has not answered' in self.one.log())
        self.relay.cut()
        self.relay.join()
        self.wait_for(lambda: self.one.passes)

    def test_a_long_outage_is_survived(self):
        self.relay.cut()
        time.sleep(test_outages.OUTAGE)
        self.assertFalse(self.one.passes)
        self.relay.join()
        self.wait_for(lambda: self.one.passes, test_outages.RECOVERY)
        self.check_log(self.one, test_outages.LINES)


class TwoHostsTestCase(pxe.TestCase):
    def setUp(self):
        super().setUp()
        missing = coordinator.Redis.why_missing()
        if missing:
            self.skipTest(missing)
        self.redis = self.useFixture(coordinator.Redis())
        self.nodes = self.useFixture(pxe.Nodes())
        self.nodes.add('inspect wait', INSPECTED)
        self.relays = {}
        self.leader, self.other = self.hosts = [
            self.start(number) for number in (1, 2)
        ]
        self.observer = self.useFixture(pxe.Observer(*self.hosts))
        self.wait_for(
            lambda: any(host.passes for host in self.hosts), pxe.START
        )
        if self.other.passes:
            self.leader, self.other = self.other, self.leader

    def start(self, number):
        host = self.host(number, database={'connection': self.nodes.url})
        relay = self.useFixture(
            network.Relay(host.namespace, (self.redis.host, self.redis.port))
        )
        self.relays[host] = relay
        host.configure(
            {
                'coordination': {
                    'backend_url': f'redis://127.0.0.1:{relay.port}'
                }
            }
        )
        host.start()
        return host

    def test_a_new_leader_follows_one_that_is_killed_or_stops(self):
        for leave in (self.leader.kill, self.other.stop):
            leave()
            self.wait_for(lambda: self.other.passes)
            self.assertTrue(self.machine.gets_lease(INSPECTED), repr(leave))
            self.leader.start()
            self.leader, self.other = self.other, self.leader
        self.assertEqual({0, 1}, self.observer.seen)

    def test_a_leader_that_is_cut_off_is_followed_and_comes_back(self):
        self.relays[self.leader].cut()
        self.wait_for(lambda: self.other.passes)
        self.assertFalse(self.leader.passes)
        self.relays[self.leader].join()
        self.relays[self.other].freeze()
        self.wait_for(lambda: self.leader.passes)
        self.assertEqual({0, 1}, self.observer.seen)

    def test_nobody_passes_without_the_coordinator(self):
        self.redis.stop()
        self.wait_for(lambda: not self.leader.passes)
        time.sleep(test_outages.OUTAGE)
        self.redis.start()
        self.wait_for(
            lambda: any(host.passes for host in self.hosts),
            test_outages.RECOVERY,
        )
        self.assertEqual({0, 1}, self.observer.seen)
        for host in self.hosts:
            self.check_log(host, test_outages.LINES)
