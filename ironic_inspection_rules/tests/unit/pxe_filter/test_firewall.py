# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import re
import socket
import stat

import fixtures

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.pxe_filter import fake_kernel

ADMISSION = admission.Admission(
    allowlist=frozenset({'52:54:00:00:00:01'}),
    denylist=frozenset({'52:54:00:00:00:02'}),
    unknown=True,
)
LEASE = 3.0


class Counted(frozenset):
    """Addresses; counts how often somebody goes through them."""

    passes = 0

    def __sub__(self, other):
        Counted.passes += 1
        return Counted(super().__sub__(other))


class ContractMixin:
    """What a firewall does, with the fake kernel and with the real one.

    :ivar kernel: see :class:`.fake_kernel.FakeKernel`.
    """

    interface = 'lo'

    def make_kernel(self):
        raise NotImplementedError()

    def setUp(self):
        super().setUp()
        self.kernel = self.make_kernel()
        self.table = nftables.FilterTable(self.interface, ['67/udp'])
        self.firewall = firewall.Firewall(self.table, self.kernel)

    def sets(self):
        """All sets but that of the time, which only passes with ``leader``."""
        sets = dict(self.kernel.tables[self.table.name])
        sets.pop('lease')
        return sets

    def test_install_blocks(self):
        self.firewall.install()
        self.assertFalse(self.kernel.passes)
        self.assertIn(self.table.name, self.kernel.tables)

    def test_install_again_forgets_what_was(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, LEASE)
        self.firewall.install()
        self.assertEqual([set()] * 4, list(self.sets().values()))
        self.firewall.update(ADMISSION, LEASE)
        self.assertEqual(ADMISSION.allowlist, self.sets()['whitelist'])

    def test_update_lets_the_admitted_pass(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, LEASE)
        self.assertEqual(
            {
                'leader': {self.interface},
                'unknown': {self.interface},
                'whitelist': ADMISSION.allowlist,
                'blacklist': ADMISSION.denylist,
            },
            self.sets(),
        )

    def test_a_round_without_a_change_goes_through_no_address(self):
        self.firewall.install()
        machines = admission.Machines(
            Counted(ADMISSION.denylist), Counted(ADMISSION.allowlist)
        )
        passes = []
        for _round in range(2):
            self.firewall.update(admission.decide(machines, True, True), LEASE)
            passes.append(Counted.passes)
        self.assertEqual(ADMISSION.denylist, self.sets()['blacklist'])
        self.assertLess(0, passes[0])
        self.assertEqual(passes[0], passes[1])

    def test_update_with_no_time_left_blocks(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, LEASE)
        self.firewall.update(ADMISSION, 0)
        self.assertFalse(self.kernel.passes)

    def test_block_keeps_only_the_denylist(self):
        self.firewall.install()
        self.firewall.update(ADMISSION, LEASE)
        self.firewall.block()
        self.assertEqual(
            {
                'leader': set(),
                'unknown': set(),
                'whitelist': set(),
                'blacklist': ADMISSION.denylist,
            },
            self.sets(),
        )

    def test_a_table_that_vanished_is_noticed_and_block_restores_it(self):
        self.firewall.install()
        self.kernel('flush', 'ruleset') if self.is_real else (
            self.kernel.tables.clear()
        )
        self.assertRaises(
            firewall.FirewallError,
            self.firewall.update,
            admission.Admission(),
            0,
        )
        self.firewall.block()
        self.assertIn(self.table.name, self.kernel.tables)
        self.assertFalse(self.kernel.passes)

    def test_a_refused_change_changes_nothing(self):
        self.firewall.install()
        unknown = admission.Admission(allowlist=frozenset({'00:00'}))
        self.firewall._admitted = admission.Admission(
            denylist=ADMISSION.allowlist
        )
        self.assertRaises(
            firewall.FirewallError, self.firewall.update, unknown, LEASE
        )
        self.assertEqual([set()] * 4, list(self.sets().values()))

    def test_the_fallback_goes_when_the_foreign_table_is_gone(self):
        self.put_foreign_table()
        self.assertRaises(firewall.FirewallError, self.firewall.install)
        self.assertIn(self.table.fallback_name, self.kernel.tables)
        self.assertFalse(self.kernel.passes)
        self.remove_foreign_table()
        self.firewall.install()
        self.assertEqual([self.table.name], list(self.kernel.tables))


class FirewallTestCase(ContractMixin, base.TestCase):
    is_real = False

    def setUp(self):
        self.interface = socket.if_indextoname(1)
        super().setUp()

    def make_kernel(self):
        return fake_kernel.FakeKernel()

    def put_foreign_table(self):
        self.kernel.tables[self.table.name] = None

    def remove_foreign_table(self):
        del self.kernel.tables[self.table.name]

    def test_a_refused_update_is_made_up_for_by_the_next(self):
        self.firewall.install()
        self.kernel.broken = 'nft: busy'
        self.assertRaises(
            firewall.FirewallError, self.firewall.update, ADMISSION, LEASE
        )
        self.kernel.broken = None
        self.firewall.update(ADMISSION, LEASE)
        self.assertEqual(ADMISSION.denylist, self.sets()['blacklist'])

    def test_a_foreign_table_is_left_alone_and_all_is_blocked(self):
        self.put_foreign_table()
        exc = self.assertRaises(firewall.FirewallError, self.firewall.install)
        self.assertIn(self.table.name, str(exc))
        self.assertIsNone(self.kernel.tables[self.table.name])
        self.assertIn(self.table.fallback_name, self.kernel.tables)
        self.assertFalse(self.kernel.passes)

    def test_an_unknown_interface_leaves_nothing_behind(self):
        table = nftables.FilterTable('no-such-iface', ['67/udp'])
        exc = self.assertRaises(
            firewall.FirewallError,
            firewall.Firewall(table, self.kernel).install,
        )
        self.assertIn('no-such-iface', str(exc))
        self.assertEqual({}, self.kernel.tables)

    def test_a_slow_nft_lets_nobody_pass(self):
        self.firewall.install()
        self.kernel.delay = 6.0
        self.assertRaises(
            firewall.FirewallError, self.firewall.update, ADMISSION, LEASE
        )
        self.firewall.block()
        self.assertFalse(self.kernel.passes)

    def test_whatever_nft_takes_it_blocks_while_this_host_leads(self):
        scripts = []

        def run(*arguments, script=None, timeout=None):
            scripts.append((script, timeout))
            return 'none of ours'

        guard = firewall.Firewall(self.table, run)
        guard.update(ADMISSION, LEASE)
        [(script, timeout)] = scripts
        seconds = int(re.search(r'timeout (\d+)ms', script)[1]) / 1000
        self.assertLess(timeout + seconds, LEASE)
        self.assertGreater(seconds, election.HEARTBEAT)


class RunNftTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path

    def install_nft(self, script):
        path = pathlib.Path(self.directory, 'nft')
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.useFixture(
            fixtures.EnvironmentVariable(
                'PATH', f'{self.directory}:{os.environ["PATH"]}'
            )
        )

    def test_a_script_goes_in_and_an_answer_comes_out(self):
        self.install_nft('echo "$*"; cat')
        self.assertEqual(
            '-f -\nadd table inet t\n',
            firewall.run_nft(script='add table inet t\n'),
        )

    def test_arguments_go_in(self):
        self.install_nft('echo "$*"')
        self.assertEqual(
            '-t list ruleset\n', firewall.run_nft('-t', 'list', 'ruleset')
        )

    def test_it_is_killed_when_it_takes_too_long(self):
        done = pathlib.Path(self.directory, 'done')
        fifo = pathlib.Path(self.directory, 'fifo')
        os.mkfifo(fifo)
        self.install_nft(f'read line < {fifo}; touch {done}')
        exc = self.assertRaises(
            firewall.FirewallError, firewall.run_nft, timeout=0.05
        )
        self.assertIn('0.05 seconds', str(exc))
        self.assertFalse(done.exists())

    def test_its_reason_is_one_line(self):
        self.install_nft(
            'cat > /dev/null\n'
            'echo "/dev/stdin:1:1-2: Error: Could not process rule: '
            'Operation not permitted" >&2\n'
            'echo "and more" >&2\n'
            'exit 1'
        )
        exc = self.assertRaises(firewall.FirewallError, firewall.run_nft)
        self.assertEqual(
            'nft: Could not process rule: Operation not permitted', str(exc)
        )

    def test_no_reason_is_its_exit_status(self):
        self.install_nft('cat > /dev/null; exit 3')
        exc = self.assertRaises(firewall.FirewallError, firewall.run_nft)
        self.assertEqual('nft: exit status 3', str(exc))

    def test_a_program_is_missing(self):
        self.useFixture(fixtures.EnvironmentVariable('PATH', self.directory))
        exc = self.assertRaises(firewall.FirewallError, firewall.run_nft)
        self.assertEqual('The nft program is not installed', str(exc))
        self.install_nft('exit 0')
        os.environ['PATH'] = self.directory
        exc = self.assertRaises(firewall.FirewallError, firewall.run_nft)
        self.assertEqual('The timeout program is not installed', str(exc))
