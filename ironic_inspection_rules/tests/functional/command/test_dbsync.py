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

"""ironic-inspection-rules-dbsync, run as operators run it."""

import pathlib
import subprocess
import sys

import fixtures

from ironic_inspection_rules.tests.unit import base

RUN = ('import sys; from ironic_inspection_rules.command import dbsync; '
       'sys.exit(dbsync.main())')


class DBSyncTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.configure(f'sqlite:///{self.directory}/ironic.sqlite')

    def configure(self, url):
        self.config_file = self.directory / 'ironic.conf'
        self.config_file.write_text(
            '[DEFAULT]\nuse_stderr = False\n'
            f'log_file = {self.directory}/log\n'
            f'[database]\nconnection = {url}\n')

    def dbsync(self, *arguments):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', RUN,
             '--config-file', self.config_file, *arguments],
            capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def test_tables_are_made_once_and_may_be_asked_for_again(self):
        self.assertEqual((0, 'None', ''), self.dbsync('version'))
        self.assertEqual((0, '', ''), self.dbsync('create_schema'))
        code, version, _errors = self.dbsync('version')
        self.assertEqual(0, code)
        self.assertRegex(version, '^[0-9a-f]{12}$')
        self.assertEqual((0, '', ''), self.dbsync('create_schema'))
        self.assertEqual((0, '', ''), self.dbsync('upgrade'))
        self.assertEqual((0, version, ''), self.dbsync('version'))

    def test_stamp_takes_a_revision(self):
        self.assertEqual((0, '', ''), self.dbsync('stamp'))
        self.assertNotEqual('None', self.dbsync('version')[1])
        self.assertEqual((0, '', ''),
                         self.dbsync('stamp', '--revision', 'base'))
        self.assertEqual('None', self.dbsync('version')[1])

    def test_what_cannot_be_done_is_one_line_and_code_1(self):
        def refused(*arguments):
            code, _output, errors = self.dbsync(*arguments)
            self.assertEqual((1, 1), (code, len(errors.splitlines())), errors)
            return errors

        self.assertIn('nonsense',
                      refused('upgrade', '--revision', 'nonsense'))
        self.configure(f'sqlite:///{self.directory}/absent/ironic.sqlite')
        self.assertIn('unable to open database file', refused('version'))
        self.configure('mysql+pymysql://user:s3cret@127.0.0.1:1/ironic')
        errors = refused('create_schema')
        self.assertIn("Can't connect", errors)
        self.assertNotIn('s3cret', errors)
        self.config_file = self.directory / 'absent.conf'
        self.assertIn('absent.conf', refused('version'))

    def test_a_wrong_call_is_code_2(self):
        self.assertEqual(2, self.dbsync('nonsense')[0])
