# SPDX-License-Identifier: Apache-2.0

"""ironic-inspection-rules-dbsync, run as operators run it."""

import pathlib
import sqlite3

import fixtures
from ironic import objects
from ironic.db.sqlalchemy import models as ironic_models
from oslo_utils import uuidutils
from pymysql import constants
import sqlalchemy as sa

from ironic_inspection_rules.db import models
from ironic_inspection_rules.tests.functional.command import forking
from ironic_inspection_rules.tests.unit import base

MODULE = 'ironic_inspection_rules.command.dbsync'


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
            f'[database]\nconnection = {url}\n'
        )

    def dbsync(self, *arguments):
        code, output, errors = forking.load(MODULE).run(
            '--config-file', self.config_file, *arguments
        )
        return code, output.strip(), errors.strip()


class DBSyncTestCase(CommandTestCase):
    def test_a_wrong_call_is_an_error_and_no_difference(self):
        code, told, errors = self.dbsync('adopt', '--nothing')
        self.assertEqual((1, ''), (code, told))
        self.assertIn('--nothing', errors)

    def test_tables_are_made_once_and_may_be_asked_for_again(self):
        code, told, errors = self.dbsync('version')
        self.assertEqual((1, ''), (code, told))
        self.assertRegex(
            errors,
            r'^\S+: there are no tables .* in sqlite:///'
            r'.* "\S+ create_schema" makes them$',
        )
        code, told, errors = self.dbsync('create_schema')
        self.assertEqual((0, ''), (code, errors))
        code, version, _errors = self.dbsync('version')
        self.assertEqual(0, code)
        self.assertRegex(version, '^[0-9a-f]{12}$')
        self.assertIn(
            f'revision {version} in sqlite:///{self.directory}/', told
        )
        self.assertEqual((0, told, ''), self.dbsync('create_schema'))
        self.assertEqual((0, told, ''), self.dbsync('upgrade'))
        self.assertEqual((0, version, ''), self.dbsync('version'))

    def test_only_warnings_are_printed_unless_all_is_asked_for(self):
        self.config_file.write_text(
            self.config_file.read_text()
            .replace('use_stderr = False', 'use_stderr = True')
            .replace(f'log_file = {self.directory}/log', '')
        )
        code, _told, errors = self.dbsync('create_schema')
        self.assertEqual((0, ''), (code, errors))
        self.assertEqual('', self.dbsync('version')[2])
        self.assertIn('alembic', self.dbsync('--debug', 'version')[2])

    def test_stamp_takes_a_revision(self):
        self.assertEqual((0, '', ''), self.dbsync('stamp'))
        self.assertEqual(0, self.dbsync('version')[0])
        self.assertEqual(
            (0, '', ''), self.dbsync('stamp', '--revision', 'base')
        )
        self.assertEqual(1, self.dbsync('version')[0])

    def test_what_cannot_be_done_is_one_line_and_code_1(self):
        def refused(*arguments):
            code, _output, errors = self.dbsync(*arguments)
            self.assertEqual((1, 1), (code, len(errors.splitlines())), errors)
            return errors

        self.assertIn('nonsense', refused('upgrade', '--revision', 'nonsense'))
        absent = self.directory / 'absent' / 'ironic.sqlite'
        self.configure(f'sqlite:///{absent}')
        self.assertIn(
            str(
                self.assertRaises(
                    sqlite3.OperationalError, sqlite3.connect, absent
                )
            ),
            refused('version'),
        )
        port = self.useFixture(base.DeadPort())
        self.configure(f'mysql+pymysql://user:s3cret@127.0.0.1:{port}/ironic')
        errors = refused('create_schema')
        self.assertIn(str(constants.CR.CR_CONN_HOST_ERROR), errors)
        self.assertNotIn('s3cret', errors)
        self.config_file = self.directory / 'absent.conf'
        self.assertIn('absent.conf', refused('version'))

    def test_a_wrong_call_is_code_2(self):
        self.assertEqual(1, self.dbsync('nonsense')[0])


class CheckTestCase(CommandTestCase):
    def setUp(self):
        super().setUp()
        self.engine = sa.create_engine(
            f'sqlite:///{self.directory}/ironic.sqlite'
        )
        self.addCleanup(self.engine.dispose)
        ironic_models.Base.metadata.create_all(self.engine)

    def add(self, text):
        with self.config_file.open('a') as stream:
            stream.write(text)

    def write_actions(self, text):
        """Have somebody write the actions of all rules to the database."""
        with self.engine.begin() as connection:
            connection.execute(
                sa.text('UPDATE ir_rules SET actions = :actions'),
                {'actions': text},
            )

    def test_what_switches_all_off_is_printed(self):
        self.dbsync('create_schema')
        self.add(
            '[api]\nmiddleware = inspection-rules\n'
            '[inspector]\nhooks = $default_hooks,inspection-rules\n'
        )
        code, told, errors = self.dbsync('check')
        self.assertEqual((1, ''), (code, errors))
        self.assertIn('enabled_inspect_interfaces does not name agent', told)

        self.add('[DEFAULT]\nenabled_inspect_interfaces = agent\n')
        code, told, errors = self.dbsync('check')
        self.assertEqual((0, ''), (code, errors), told)

        self.add(
            '[inspection_rules]\nsupported_interfaces = agent,redfish\n'
            '[inspection-rules]\nkeep_runs = 9\n'
        )
        code, told, errors = self.dbsync('check')
        self.assertEqual((1, ''), (code, errors))
        self.assertEqual(2, len(told.splitlines()), told)
        self.assertIn('did you mean "^(agent)$"?', told)
        self.assertIn('did you mean [inspection_rules]?', told)

    def test_a_wrong_coordination_service_is_printed_where_one_is_used(self):
        self.dbsync('create_schema')
        self.add('[coordination]\nbackend_url = redis-typo://192.0.2.1\n')
        self.assertNotIn('backend_url', self.dbsync('check')[1])
        for use in (
            '[inspection_queue]\nenabled = true\n',
            '[inspection_queue]\nenabled = false\n'
            '[inspection_pxe_filter]\ninterface = eth1\n',
        ):
            self.add(use)
            code, told, errors = self.dbsync('check')
            self.assertEqual((1, ''), (code, errors))
            self.assertIn(
                '[coordination]backend_url cannot be used: "redis-typo"', told
            )

    def test_a_file_without_rules_is_printed(self):
        self.dbsync('create_schema')
        path = self.directory / 'rules.yaml'
        path.write_text('[]')
        self.add(f'[inspection_rules]\nbuilt_in = {path}\n')
        _code, told, _errors = self.dbsync('check')
        self.assertIn(f'{path} has no rules', told)

    def test_so_is_a_stored_rule_that_stops_all(self):
        self.dbsync('create_schema')
        with self.engine.begin() as connection:
            connection.execute(
                sa.insert(models.RuleRow.__table__).values(
                    uuid='00000000-0000-4000-8000-000000000001',
                    conditions=[],
                    actions=[{'op': 'of-a-plugin', 'args': []}],
                    vars={},
                    position=1,
                    revision=1,
                    version='1.0',
                )
            )
        code, told, _errors = self.dbsync('check')
        self.assertEqual(1, code)
        self.assertIn('"of-a-plugin" is no longer installed: no rule', told)

        self.write_actions('[{}]')
        code, told, _errors = self.dbsync('check')
        self.assertEqual(1, code)
        self.assertIn('/actions/0/op: the name of an op is required', told)

        for text in ('{', '[7]'):
            self.write_actions(text)
            code, told, _errors = self.dbsync('check')
            self.assertEqual(1, code)
            self.assertIn('stored rules cannot be read', told)
            self.assertIn('[api]middleware does not name', told)

    def test_so_is_what_keeps_services_from_starting(self):
        code, told, errors = self.dbsync('check')
        self.assertEqual((1, ''), (code, errors))
        self.assertIn('tables of the inspection rules are missing', told)
        self.assertIn('[api]middleware does not name', told)


class AdoptTestCase(CommandTestCase):
    def setUp(self):
        super().setUp()
        self.engine = sa.create_engine(
            f'sqlite:///{self.directory}/ironic.sqlite'
        )
        self.addCleanup(self.engine.dispose)
        ironic_models.Base.metadata.create_all(self.engine)
        objects.register_all()

    def add(self, **fields):
        """Make a rule of Ironic's own."""
        with self.engine.begin() as connection:
            connection.execute(
                sa.insert(ironic_models.InspectionRule),
                {
                    'actions': [{'op': 'fail', 'args': {'msg': 'no'}}],
                    'uuid': '12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11',
                    **fields,
                },
            )

    def count(self):
        """Count Ironic's rules, and the rules here."""
        with self.engine.connect() as connection:
            return tuple(
                connection.execute(
                    sa.text(f'SELECT count(*) FROM {table}')
                ).scalar()
                for table in (
                    'inspection_rules WHERE phase IS NULL OR '
                    "phase NOT LIKE 'was:%'",
                    'ir_rules',
                )
            )

    def built_in(self, rules):
        """Give the file of ``[inspection_rules]built_in_rules``."""
        path = self.directory / 'built-in.yaml'
        path.write_text(rules)
        with open(self.directory / 'ironic.conf', 'a') as config:
            config.write(f'[inspection_rules]\nbuilt_in_rules = {path}\n')

    def test_without_tables_it_says_so(self):
        code, _output, errors = self.dbsync('adopt')
        self.assertEqual(1, code)
        self.assertIn('ironic-inspection-rules-dbsync upgrade', errors)

    def test_without_rules_it_says_so(self):
        self.dbsync('create_schema')
        self.assertEqual(
            (0, 'There are no rules to adopt.', ''), self.dbsync('adopt')
        )

    def test_rules_move_when_all_are_good(self):
        self.dbsync('create_schema')
        self.add(description='good')
        self.add(uuid='any-name', phase='preprocess', priority=5)
        code, output, errors = self.dbsync('adopt', '--dry-run')
        self.assertEqual((0, ''), (code, errors))
        self.assertIn('12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11', output)
        self.assertIn('"any-name" becomes', output)
        self.assertEqual((2, 0), self.count())
        code, done, errors = self.dbsync('adopt')
        self.assertEqual((0, ''), (code, errors))
        self.assertEqual(
            f'{output}\n'
            '2 rules were adopted; stock Ironic does not run them any more.\n'
            'ironic-inspection-rules-dbsync adopt --undo puts all back.',
            done,
        )
        self.assertEqual((0, 2), self.count())

    def test_built_in_rules_are_copied_once(self):
        self.dbsync('create_schema')
        self.add()
        self.built_in(
            '- priority: 10050\n'
            '  actions: [{op: fail, args: {msg: no}}]\n'
            '- uuid: 12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a12\n'
            '  actions: [{op: log, args: {msg: a}, unique: 1}]\n'
        )
        code, output, errors = self.dbsync('adopt')
        self.assertEqual((0, ''), (code, errors))
        self.assertIn('priority 10050 becomes 9999', output)
        self.assertIn('unique', output)
        self.assertEqual((0, 3), self.count())
        self.assertEqual(0, self.dbsync('adopt')[0])
        self.assertEqual((0, 3), self.count())

    def test_what_differs_is_only_adopted_when_that_is_accepted(self):
        self.dbsync('create_schema')
        self.add()
        self.add(
            uuid='other',
            description='bad',
            actions=[
                {
                    'op': 'set-attribute',
                    'args': {'path': '/reservation', 'value': 'x'},
                }
            ],
        )
        code, output, _errors = self.dbsync('adopt')
        self.assertEqual(2, code)
        self.assertIn('"reservation" of a node cannot be changed', output)
        self.assertIn('--accept-differences', output)
        self.assertEqual((2, 0), self.count())
        code, output, errors = self.dbsync('adopt', '--accept-differences')
        self.assertEqual((2, ''), (code, errors))
        self.assertIn('1 rule was adopted', output)
        self.assertIn('bad is not adopted; it is set aside', output)
        self.assertEqual((0, 1), self.count())

    def test_stock_ironic_runs_no_rule_that_cannot_be_one_here(self):
        self.dbsync('create_schema')
        for number, (op, args) in enumerate(
            (
                ('add-trait', {'name': 'lower-case'}),
                ('set-attribute', {'path': '/memory_gb', 'value': '5'}),
            )
        ):
            self.add(
                uuid=f'rule-{number}',
                description=f'bad {number}',
                actions=[{'op': op, 'args': args}],
            )
        before = self.rows()
        code, output, _errors = self.dbsync('adopt', '--dry-run')
        self.assertEqual(2, code)
        self.assertNotIn('switched off', output)
        self.assertIn('cannot be a rule here', output)
        self.assertEqual(2, self.dbsync('adopt')[0])
        self.assertEqual(before, self.rows())

        code, output, errors = self.dbsync('adopt', '--accept-differences')

        self.assertEqual((2, ''), (code, errors))
        self.assertIn('0 rules were adopted', output)
        self.assertEqual((0, 0), self.count())
        self.assertEqual(0, self.dbsync('adopt', '--undo')[0])
        self.assertEqual(before, self.rows())

    def test_rules_are_tried_on_machines(self):
        self.dbsync('create_schema')
        self.add(
            actions=[
                {
                    'op': 'extend-plugin-data',
                    'args': {'path': 'list', 'value': 'x'},
                }
            ]
        )
        path = self.directory / 'machines' / 'odd.json'
        path.parent.mkdir()
        path.write_text(
            '{"inventory": {"interfaces": []}, "plugin_data": {"list": 0}}'
        )
        code, output, errors = self.dbsync(
            'adopt', '--inventory', str(path.parent)
        )
        self.assertEqual((2, ''), (code, errors))
        self.assertIn(
            f'12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11: {path}: ', output
        )
        self.assertIn('differences: 2', output)
        self.assertEqual((1, 0), self.count())
        path.write_text('{"inventory": {"interfaces": []}}')
        self.store_inventory('rack1-07', {'list': []})
        code, output, _errors = self.dbsync(
            'adopt', '--inventory', str(path.parent)
        )
        self.assertEqual(0, code, output)
        self.assertIn('on 2 machines; differences: 0', output)
        self.assertEqual((0, 1), self.count())

    def test_rules_are_tried_on_what_is_stored(self):
        self.dbsync('create_schema')
        self.add(
            description='lists',
            actions=[
                {
                    'op': 'extend-plugin-data',
                    'args': {'path': 'list', 'value': '{node.name}'},
                }
            ],
        )
        self.store_inventory('rack1-07', {'list': 0})
        code, output, errors = self.dbsync('adopt')
        self.assertEqual((2, ''), (code, errors))
        self.assertIn(
            'lists: rack1-07: plugin_data /list: stock Ironic '
            '["rack1-07"], here 0',
            output,
        )
        self.assertEqual((1, 0), self.count())

    def store_inventory(self, name, plugin_data):
        """Store what an inspection found on a new node."""
        with self.engine.begin() as connection:
            (node,) = connection.execute(
                sa.insert(ironic_models.Node).values(
                    uuid=uuidutils.generate_uuid(),
                    name=name,
                    driver='ipmi',
                    version=objects.Node.VERSION,
                )
            ).inserted_primary_key
            connection.execute(
                sa.insert(ironic_models.NodeInventory).values(
                    node_id=node,
                    inventory_data={'interfaces': []},
                    plugin_data=plugin_data,
                )
            )

    def test_undo_puts_rules_back_as_they_were(self):
        self.dbsync('create_schema')
        self.add(phase='main', description='mine')
        self.add(uuid='named', phase=None, priority=3)
        before = self.rows()
        self.assertEqual(0, self.dbsync('adopt')[0])
        self.assertEqual((0, 2), self.count())
        code, _output, errors = self.dbsync('drop', '--yes')
        self.assertEqual(1, code)
        self.assertIn('adopt --undo', errors)
        code, output, errors = self.dbsync('adopt', '--undo', '--dry-run')
        self.assertEqual((0, ''), (code, errors))
        self.assertIn('mine goes back', output)
        self.assertEqual((0, 2), self.count())
        self.assertEqual(output, self.dbsync('adopt', '--undo')[1])
        self.assertEqual(before, self.rows())
        self.assertEqual((2, 0), self.count())

    def test_drop_removes_the_tables_when_told_to(self):
        self.dbsync('create_schema')
        code, output, _errors = self.dbsync('drop')
        self.assertEqual(1, code)
        self.assertIn('ir_rules, 0 rows', output)
        self.assertEqual(0, self.dbsync('version')[0])
        self.assertEqual(0, self.dbsync('drop', '--yes')[0])
        self.assertEqual(1, self.dbsync('version')[0])
        self.assertIn(
            'inspection_rules', sa.inspect(self.engine).get_table_names()
        )
        self.assertEqual(0, self.dbsync('create_schema')[0])
        with self.engine.begin() as connection:
            connection.execute(sa.text('DROP TABLE inspection_rules'))
        self.assertEqual((0, ''), self.dbsync('drop', '--yes')[::2])
        for arguments in (('drop', '--yes'), ('drop',)):
            self.assertEqual(
                (0, 'There are no tables to remove.', ''),
                self.dbsync(*arguments),
            )

    def test_tables_of_a_preview_are_made_anew_by_what_is_said(self):
        with self.engine.begin() as connection:
            for statement in (
                'CREATE TABLE ir_alembic_version (version_num TEXT)',
                "INSERT INTO ir_alembic_version VALUES ('a4c9e61d02b7')",
                'CREATE TABLE ir_rules (id INTEGER)',
                'CREATE TABLE ir_requests (worker TEXT, '
                'open_node_uuid TEXT, due_at FLOAT)',
            ):
                connection.execute(sa.text(statement))
        # They are set aside for rules that are not readable here.
        self.add(phase='was:main')
        for command in ('create_schema', 'upgrade', 'adopt', 'stamp'):
            code, output, errors = self.dbsync(command)
            self.assertEqual(
                (1, '', 1), (code, output, len(errors.splitlines())), errors
            )
            self.assertIn('ironic-inspection-rules-dbsync drop --yes', errors)
        code, output, errors = self.dbsync('check')
        self.assertEqual((1, ''), (code, errors))
        self.assertIn('ironic-inspection-rules-dbsync drop --yes', output)

        self.assertEqual((0, ''), self.dbsync('drop', '--yes')[::2])
        self.assertEqual(0, self.dbsync('create_schema')[0])
        self.assertEqual(0, self.dbsync('adopt', '--undo')[0])
        self.assertEqual((1, 0), self.count())

    def test_tables_without_a_revision_are_not_taken_for_none(self):
        with self.engine.begin() as connection:
            connection.execute(sa.text('CREATE TABLE ir_rules (id INTEGER)'))
        for command in ('version', 'create_schema'):
            code, output, errors = self.dbsync(command)
            self.assertEqual((1, ''), (code, output))
            self.assertIn('have no revision', errors)

    def test_drop_waits_for_the_end_of_conductors(self):
        self.dbsync('create_schema')
        with self.engine.begin() as connection:
            connection.execute(
                sa.insert(ironic_models.Conductor).values(
                    hostname='conductor-1',
                    online=True,
                    drivers=[],
                    conductor_group='',
                )
            )
        # This configuration does not name the plugin.
        self.assertEqual(0, self.dbsync('drop', '--yes')[0])
        self.dbsync('create_schema')
        with open(self.config_file, 'a') as config:
            config.write(
                '[inspector]\nhooks = $default_hooks,inspection-rules\n'
            )

        code, _output, errors = self.dbsync('drop', '--yes')

        self.assertEqual(1, code)
        self.assertIn('conductor-1', errors)
        self.assertEqual(0, self.dbsync('version')[0])
        with self.engine.begin() as connection:
            connection.execute(
                sa.update(ironic_models.Conductor).values(online=False)
            )
        self.assertEqual(0, self.dbsync('drop', '--yes')[0])

    def test_drop_waits_for_the_end_of_requests(self):
        self.dbsync('create_schema')
        with self.engine.begin() as connection:
            connection.execute(
                sa.text(
                    'INSERT INTO ir_requests (uuid, node_uuid, '
                    'open_node_uuid, event, state, attempts, token, '
                    "lock_failures, worker, due_at, progress) VALUES ('r', "
                    "'n', 'n', 'continue', 'processing', 1, 1, 0, "
                    "'worker-1', 9e9, '{}')"
                )
            )

        code, _output, errors = self.dbsync('drop', '--yes')

        self.assertEqual(1, code)
        self.assertIn('worker-1', errors)

    def rows(self):
        with self.engine.connect() as connection:
            return connection.execute(
                sa.text('SELECT * FROM inspection_rules ORDER BY id')
            ).all()

    def test_a_rule_that_is_here_already_is_told(self):
        self.dbsync('create_schema')
        self.built_in(
            '- uuid: 12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11\n'
            '  actions: [{op: fail, args: {msg: no}}]\n'
        )
        self.dbsync('adopt')
        self.add()
        for more in ((), ('--dry-run',)):
            code, _output, errors = self.dbsync('adopt', *more)
            self.assertEqual(1, code)
            self.assertIn('here already', errors)
            self.assertEqual((1, 1), self.count())

    def test_a_database_that_is_none_is_one_line(self):
        self.dbsync('create_schema')
        code, _output, errors = self.dbsync(
            'adopt', '--inspector-database', f'sqlite:///{self.directory}/none'
        )
        self.assertEqual((1, 1), (code, len(errors.splitlines())), errors)
