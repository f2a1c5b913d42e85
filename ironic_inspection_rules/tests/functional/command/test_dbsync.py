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
from ironic.db.sqlalchemy import models as ironic_models
import sqlalchemy as sa

from ironic_inspection_rules.tests.unit import base

RUN = ('import sys; from ironic_inspection_rules.command import dbsync; '
       'sys.exit(dbsync.main())')


class CommandTestCase(base.TestCase):

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


class DBSyncTestCase(CommandTestCase):

    def test_tables_are_made_once_and_may_be_asked_for_again(self):
        self.assertEqual((0, 'None', ''), self.dbsync('version'))
        code, told, errors = self.dbsync('create_schema')
        self.assertEqual((0, ''), (code, errors))
        code, version, _errors = self.dbsync('version')
        self.assertEqual(0, code)
        self.assertRegex(version, '^[0-9a-f]{12}$')
        self.assertIn(f'revision {version} in sqlite:///{self.directory}/',
                      told)
        self.assertEqual((0, told, ''), self.dbsync('create_schema'))
        self.assertEqual((0, told, ''), self.dbsync('upgrade'))
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


class AdoptTestCase(CommandTestCase):

    def setUp(self):
        super().setUp()
        self.engine = sa.create_engine(
            f'sqlite:///{self.directory}/ironic.sqlite')
        self.addCleanup(self.engine.dispose)
        ironic_models.InspectionRule.__table__.create(self.engine)

    def add(self, **fields):
        """Make a rule of Ironic's own."""
        with self.engine.begin() as connection:
            connection.execute(sa.insert(ironic_models.InspectionRule), {
                'actions': [{'op': 'fail', 'args': {'msg': 'no'}}],
                'uuid': '12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11', **fields})

    def count(self):
        """Count Ironic's rules, and the rules here."""
        with self.engine.connect() as connection:
            return tuple(connection.execute(sa.text(
                f'SELECT count(*) FROM {table}')).scalar()
                for table in ('inspection_rules', 'ir_rules'))

    def test_without_tables_it_says_so(self):
        code, _output, errors = self.dbsync('adopt')
        self.assertEqual(1, code)
        self.assertIn('ironic-inspection-rules-dbsync upgrade', errors)

    def test_rules_move_when_all_are_good(self):
        self.dbsync('create_schema')
        self.add(description='good')
        self.add(uuid='any-name', phase='preprocess', priority=5)
        code, output, errors = self.dbsync('adopt', '--dry-run')
        self.assertEqual((0, ''), (code, errors))
        self.assertIn('12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11', output)
        self.assertIn('"any-name" becomes', output)
        self.assertEqual((2, 0), self.count())
        self.assertEqual((0, output, ''), self.dbsync('adopt'))
        self.assertEqual((0, 2), self.count())

    def test_built_in_rules_are_copied_once(self):
        self.dbsync('create_schema')
        self.add()
        path = self.directory / 'built-in.yaml'
        path.write_text('- priority: 10050\n'
                        '  actions: [{op: fail, args: {msg: no}}]\n'
                        '- uuid: 12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a12\n'
                        '  actions: [{op: log, args: {msg: a}, unique: 1}]\n')
        with open(self.directory / 'ironic.conf', 'a') as config:
            config.write(f'[inspection_rules]\nbuilt_in_rules = {path}\n')
        code, output, errors = self.dbsync('adopt')
        self.assertEqual((0, ''), (code, errors))
        self.assertIn('priority 10050 becomes 9999', output)
        self.assertIn('unique', output)
        self.assertEqual((0, 3), self.count())
        self.assertEqual(0, self.dbsync('adopt')[0])
        self.assertEqual((0, 3), self.count())

    def test_one_bad_rule_keeps_all_where_they_are(self):
        self.dbsync('create_schema')
        self.add()
        self.add(uuid='other', description='bad',
                 actions=[{'op': 'faill', 'args': []}])
        code, output, errors = self.dbsync('adopt')
        self.assertEqual(1, code)
        self.assertIn('faill', output)
        self.assertIn('1 of 2 rules', errors)
        self.assertEqual((2, 0), self.count())

    def test_a_rule_that_is_here_already_is_told(self):
        self.dbsync('create_schema')
        self.add()
        self.dbsync('adopt')
        self.add()
        for more in ((), ('--dry-run',)):
            code, output, _errors = self.dbsync('adopt', *more)
            self.assertEqual(1, code)
            self.assertIn('here already', output)

    def test_a_database_that_is_none_is_one_line(self):
        self.dbsync('create_schema')
        code, _output, errors = self.dbsync(
            'adopt', '--inspector-database',
            f'sqlite:///{self.directory}/none')
        self.assertEqual((1, 1), (code, len(errors.splitlines())), errors)
