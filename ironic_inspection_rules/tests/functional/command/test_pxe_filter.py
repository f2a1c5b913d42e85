# SPDX-License-Identifier: Apache-2.0

"""ironic-inspection-pxe-filter, run as operators run it, without rights."""

import contextlib
import os
import pathlib
import select
import shutil
import signal
import sqlite3
import subprocess
import sys

import fixtures
from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules.tests.functional.command import forking
from ironic_inspection_rules.tests.unit import base

MODULE = 'ironic_inspection_rules.command.pxe_filter'
RUN_NFT = (
    'from ironic_inspection_rules.pxe_filter import firewall; '
    'firewall.run_nft(timeout=1)'
)
TABLE = 'inet ironic_inspection_pxe_filter_eth1'
WAIT = 60


class NftTestCase(base.TestCase):
    def test_its_time_ends_while_the_filter_is_suspended(self):
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        lives, waits = directory / 'lives', directory / 'waits'
        nft = directory / 'nft'
        os.mkfifo(lives)
        os.mkfifo(waits)
        nft.write_text(
            f'#!/bin/sh\nexec > {lives}\necho\nread line < {waits}\n'
        )
        nft.chmod(0o755)
        # Open before nft is: who opens it later may find it killed.
        reader = os.open(lives, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        change = select.poll()
        change.register(reader, select.POLLIN)
        caller = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', RUN_NFT],
            stderr=subprocess.DEVNULL,
            env={**os.environ, 'PATH': f'{directory}:{os.environ["PATH"]}'},
        )
        self.addCleanup(caller.wait)
        self.addCleanup(caller.kill)
        self.assertTrue(change.poll(WAIT * 1000))
        caller.send_signal(signal.SIGSTOP)
        # From now on only the end of nft is waited for.
        change.modify(reader, 0)
        self.assertEqual([(reader, select.POLLHUP)], change.poll(WAIT * 1000))


class PxeFilterTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.directory / 'ironic.sqlite'
        models.Base.metadata.create_all(
            sa.create_engine(f'sqlite:///{self.file}')
        )
        (self.directory / 'timeout').symlink_to(shutil.which('timeout'))
        self.configure('interface = eth1')

    def configure(self, *options, url=None):
        self.config_file = self.directory / 'ironic.conf'
        self.config_file.write_text(
            '\n'.join(
                [
                    '[DEFAULT]',
                    'use_stderr = False',
                    'rpc_transport = none',
                    f'log_file = {self.directory}/log',
                    f'state_path = {self.directory}',
                    '[database]',
                    f'connection = {url or f"sqlite:///{self.file}"}',
                    '[inspection_pxe_filter]',
                    *options,
                    '',
                ]
            )
        )

    def execute(self, statement):
        with contextlib.closing(sqlite3.connect(self.file)) as connection:
            connection.execute(statement)
            connection.commit()

    def run_filter(self, *arguments, path=None):
        """Run it, without nft unless there is a path to it."""
        code, output, errors = forking.load(MODULE).run(
            '--config-file',
            self.config_file,
            *arguments,
            environment={'PATH': path or str(self.directory)},
        )
        return code, output, errors.strip()

    def install_nft(self):
        """Install one that finds no table, and keeps any script."""
        nft = self.directory / 'nft'
        nft.write_text(
            '#!/bin/sh\n[ "$1" = -f ] || '
            '{ echo "Error: No such file or directory" >&2; '
            'exit 1; }\n'
            'while read -r line; do echo "$line"; done '
            f'>> {self.directory}/scripts\n'
        )
        nft.chmod(0o755)

    def refused(self, *arguments, **environment):
        code, output, errors = self.run_filter(*arguments, **environment)
        self.assertEqual(
            (1, '', 1), (code, output, len(errors.splitlines())), errors
        )
        return errors

    def test_dry_run_prints_the_script_of_a_leader(self):
        self.execute(
            'INSERT INTO nodes (id, uuid, provision_state, inspect_interface)'
            ' VALUES (1, "a", "inspect wait", "agent")'
        )
        self.execute(
            'INSERT INTO ports (uuid, address, node_id) VALUES'
            ' ("p", "52:54:00:00:00:01", 1), ("q", "52:54:00:00:00:02", 2)'
        )
        code, output, errors = self.run_filter('--dry-run')
        self.assertEqual((0, ''), (code, errors))
        elements = [
            line for line in output.splitlines() if 'add element' in line
        ]
        lease = elements.pop(3)
        self.assertRegex(lease, f'{TABLE} lease {{ [0-9]+-[0-9]+ }}')
        self.assertEqual(
            [
                f'add element {TABLE} whitelist {{ 52:54:00:00:00:01 }}',
                f'add element {TABLE} blacklist {{ 52:54:00:00:00:02 }}',
                f'add element {TABLE} unknown {{ "eth1" }}',
                f'add element {TABLE} leader {{ "eth1" timeout 1500ms }}',
            ],
            elements,
        )

    def test_without_a_log_file_a_warning_is_not_in_the_script(self):
        self.config_file.write_text(
            self.config_file.read_text()
            .replace('use_stderr = False\n', '')
            .replace(f'log_file = {self.directory}/log\n', '')
        )
        code, output, errors = self.run_filter('--dry-run')
        self.assertEqual(0, code)
        self.assertIn('whitelist_period is 15', errors)
        self.assertTrue(output.startswith('add table'), output)

    def test_nor_is_it_where_the_options_are_written_in_another_way(self):
        self.config_file.write_text(
            self.config_file.read_text().replace(
                f'log_file = {self.directory}/log\n', ''
            )
        )
        # The configuration has "use_stderr = False", as is the default.
        for argument in ('--dry-run', '--dry'):
            code, output, errors = self.run_filter(argument)
            self.assertEqual(0, code)
            self.assertIn('whitelist_period is 15', errors)
            self.assertTrue(output.startswith('add table'), output)

    def test_with_a_log_file_a_warning_is_only_there(self):
        self.config_file.write_text(
            self.config_file.read_text().replace('use_stderr = False\n', '')
        )
        code, output, errors = self.run_filter('--dry-run')
        self.assertEqual((0, ''), (code, errors))
        self.assertTrue(output.startswith('add table'), output)
        log = (self.directory / 'log').read_text()
        self.assertIn('whitelist_period is 15', log)

    def test_a_dry_run_needs_no_interface(self):
        self.configure('interface = eth9', 'whitelist_period = 3')
        self.assertEqual(0, self.run_filter('--dry-run')[0])

    def test_an_option_that_is_almost_one_is_named(self):
        self.configure('interface = eth1', 'sync_perod = 3')
        self.assertEqual(0, self.run_filter('--dry-run')[0])
        self.assertIn(
            'unknown option in [inspection_pxe_filter] '
            '"sync_perod"; did you mean "sync_period"?',
            (self.directory / 'log').read_text(),
        )

    def test_a_machine_that_may_pass_too_late_is_warned_of_once(self):
        for period, count in (15, 1), (5, 0):
            self.configure('interface = eth1', f'whitelist_period = {period}')
            log = self.directory / 'log'
            log.write_text('')
            self.assertEqual(0, self.run_filter('--dry-run')[0])
            self.assertEqual(
                count,
                log.read_text().count(
                    f'[inspection_pxe_filter]whitelist_period is {period}'
                ),
            )

    def test_inspect_interfaces_without_a_name_are_refused(self):
        self.configure('interface = eth1', 'supported_inspect_interfaces =')
        code, _output, errors = self.run_filter('--dry-run')
        self.assertEqual(1, code)
        self.assertIn('supported_inspect_interfaces is empty', errors)

    def test_the_options_are_heeded(self):
        self.configure('interface = eth1', 'ports = 4011/udp, 80/tcp')
        output = self.run_filter('--dry-run')[1]
        self.assertIn('iifname "eth1" udp dport 4011', output)
        self.assertIn('iifname "eth1" tcp dport 80', output)
        self.assertNotIn('dport 67', output)

    def test_bad_input_is_one_line_and_code_1(self):
        self.assertIn('no network interface "eth1"', self.refused())
        self.configure('interface = lo')
        self.assertIn('nft program is not installed', self.refused())

        self.execute('INSERT INTO ports (uuid, address) VALUES ("p", "bad")')
        self.assertIn(
            'Port p has a bad MAC address: "bad"', self.refused('--dry-run')
        )

        self.configure('interface = eth1', url='sqlite:////absent/ironic')
        self.assertIn(
            str(
                self.assertRaises(
                    sqlite3.OperationalError, sqlite3.connect, '/absent/ironic'
                )
            ),
            self.refused('--dry-run'),
        )

    def test_a_bad_option_is_named(self):
        for bad, message in (
            ('', 'interface is required'),
            ('sync_period = 31', 'sync_period'),
            ('ports = 67', '"67" is not a port'),
            ('ports =', '[inspection_pxe_filter]ports is required'),
            (
                'supported_inspect_interfaces = agent, agnet',
                'supported_inspect_interfaces: agnet: no such',
            ),
        ):
            self.configure(*(['interface = eth1', bad] if bad else []))
            self.assertIn(message, self.refused('--dry-run'))

    def test_a_bad_option_blocks_everything(self):
        self.install_nft()
        self.configure('interface = lo', 'sync_period = 31')
        self.assertIn('[inspection_pxe_filter]sync_period', self.refused())
        self.assertIn(
            'add table inet ironic_inspection_pxe_filter_lo',
            (self.directory / 'scripts').read_text(),
        )

    def test_a_mistyped_coordinator_is_named(self):
        self.install_nft()
        self.configure(
            'interface = lo',
            '[coordination]',
            'backend_url = radis://192.0.2.1',
        )
        self.assertIn('[coordination]backend_url', self.refused())
