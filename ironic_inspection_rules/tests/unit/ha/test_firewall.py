# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import os
import pathlib
import socket
import stat

import fixtures

from ironic_inspection_rules.ha import admission
from ironic_inspection_rules.ha import firewall
from ironic_inspection_rules.ha import nftables
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.ha import fake_kernel

ADMISSION = admission.Admission(
    whitelist=frozenset({'52:54:00:00:00:01'}),
    blacklist=frozenset({'52:54:00:00:00:02'}), unknown=True)


class FirewallTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.interface = socket.if_indextoname(1)
        self.kernel = fake_kernel.FakeKernel()
        self.table = nftables.Table(self.interface, ['67/udp'])
        self.firewall = firewall.Firewall(self.table, self.kernel)

    def sets(self):
        return self.kernel.tables[self.table.name]

    def test_install_closes_the_door(self):
        self.firewall.install()
        self.assertFalse(self.kernel.is_open)
        self.assertIn(self.table.name, self.kernel.tables)

    def test_install_again_forgets_what_was(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, 2)
        self.firewall.install()
        self.assertEqual([set()] * 4, list(self.sets().values()))
        self.firewall.update(ADMISSION, 2)
        self.assertEqual(ADMISSION.whitelist, self.sets()['whitelist'])

    def test_update_opens_the_door_to_the_admitted(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, 2)
        self.assertEqual(
            {'leader': {self.interface}, 'unknown': {self.interface},
             'whitelist': ADMISSION.whitelist,
             'blacklist': ADMISSION.blacklist}, self.sets())

    def test_update_with_no_time_closes_the_door(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, 2)
        self.firewall.update(ADMISSION, 0)
        self.assertFalse(self.kernel.is_open)

    def test_close_keeps_only_the_blacklist(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, 2)
        self.firewall.close()
        self.assertEqual(
            {'leader': set(), 'unknown': set(), 'whitelist': set(),
             'blacklist': ADMISSION.blacklist}, self.sets())

    def test_a_table_that_vanished_is_noticed_and_close_restores_it(self):
        self.firewall.install()
        self.kernel.tables.clear()
        self.assertRaises(firewall.FirewallError, self.firewall.update,
                          admission.Admission(), 0)
        self.firewall.close()
        self.assertIn(self.table.name, self.kernel.tables)
        self.assertFalse(self.kernel.is_open)

    def test_a_refused_update_is_made_up_for_by_the_next(self):
        self.firewall.install()
        self.kernel.broken = 'nft: busy'
        self.assertRaises(firewall.FirewallError, self.firewall.update,
                          ADMISSION, 2)
        self.kernel.broken = None
        self.firewall.update(ADMISSION, 2)
        self.assertEqual(ADMISSION.blacklist, self.sets()['blacklist'])

    def test_a_foreign_table_is_left_alone_and_the_door_closed(self):
        self.kernel.tables[self.table.name] = None
        exc = self.assertRaises(firewall.ForeignTable, self.firewall.install)
        self.assertIn(self.table.name, str(exc))
        self.assertIsNone(self.kernel.tables[self.table.name])
        self.assertIn(self.table.fallback_name, self.kernel.tables)
        self.assertFalse(self.kernel.is_open)

    def test_the_fallback_goes_when_the_foreign_table_is_gone(self):
        self.kernel.tables[self.table.name] = None
        self.assertRaises(firewall.ForeignTable, self.firewall.install)
        del self.kernel.tables[self.table.name]
        self.firewall.install()
        self.assertEqual([self.table.name], list(self.kernel.tables))

    def test_an_unknown_interface_has_its_door_closed(self):
        table = nftables.Table('no-such-iface', ['67/udp'])
        exc = self.assertRaises(
            firewall.UnknownInterface,
            firewall.Firewall(table, self.kernel).install)
        self.assertIn('no-such-iface', str(exc))
        self.assertIn(table.name, self.kernel.tables)


class RunNftTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path

    def install_nft(self, script):
        path = pathlib.Path(self.directory, 'nft')
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.useFixture(fixtures.EnvironmentVariable(
            'PATH', f'{self.directory}:{os.environ["PATH"]}'))

    def test_commands_go_in_and_an_answer_comes_out(self):
        self.install_nft('echo "{\\"arguments\\": \\"$*\\", '
                         '\\"input\\": $(cat)}"')
        self.assertEqual(
            {'arguments': '-j -f -',
             'input': {'nftables': [{'flush': {}}]}},
            firewall.run_nft('-f', '-', commands=[{'flush': {}}]))

    def test_no_answer_is_empty(self):
        self.install_nft('cat > /dev/null')
        self.assertEqual({}, firewall.run_nft('-f', '-', commands=[]))

    def test_its_reason_is_one_line(self):
        self.install_nft(
            'cat > /dev/null\n'
            'echo "internal:0:0-0: Error: Could not process rule: '
            'Operation not permitted" >&2\n'
            'echo "and more" >&2\n'
            'exit 1')
        exc = self.assertRaises(firewall.FirewallError, firewall.run_nft)
        self.assertEqual(
            'nft: Could not process rule: Operation not permitted', str(exc))

    def test_no_reason_is_its_exit_status(self):
        self.install_nft('cat > /dev/null; exit 3')
        exc = self.assertRaises(firewall.FirewallError, firewall.run_nft)
        self.assertEqual('nft: exit status 3', str(exc))

    def test_no_nft(self):
        self.useFixture(fixtures.EnvironmentVariable('PATH', self.directory))
        exc = self.assertRaises(firewall.FirewallError, firewall.run_nft)
        self.assertEqual('The nft program is not installed', str(exc))
