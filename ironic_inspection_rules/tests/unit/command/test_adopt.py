# SPDX-License-Identifier: Apache-2.0

"""What adopting Ironic's rules says, and giving them back."""

import contextlib
import io

import fixtures
from ironic.conf import CONF
from ironic.db.sqlalchemy import models as ironic_models
from oslo_config import fixture as config_fixture
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.command import adopt
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

ACTIONS = [{'op': 'fail', 'args': {'msg': 'no'}}]


class AdoptTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.database = self.useFixture(database.Database())
        ironic_models.Base.metadata.create_all(self.database.engine)
        self.patch(migration, 'check', lambda: None)

    def add(self, number, description):
        """Make a rule of Ironic's own.

        :returns: its UUID.
        """
        uuid = f'00000000-0000-4000-8000-00000000000{number}'
        with self.database.engine.begin() as connection:
            connection.execute(
                sa.insert(ironic_models.InspectionRule),
                {
                    'uuid': uuid,
                    'description': description,
                    'phase': 'main',
                    'actions': ACTIONS,
                },
            )
        return uuid

    def printed(self, function, *args):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            function(*args)
        return output.getvalue()

    def test_undo_names_what_was_changed_since(self):
        self.add(1, 'same')
        edited = self.add(2, 'edited')
        gone = self.add(3, 'gone')
        self.printed(adopt.adopt_from_ironic, False)
        db_rule.update_rule(edited, {'priority': 7}, database.read_revision())
        db_rule.destroy_rule(gone)
        time = db_rule.get_rule_by_uuid(edited).updated_at
        told = self.printed(adopt.undo, True)
        self.assertEqual(
            [
                "same goes back to Ironic's own table",
                "edited goes back to Ironic's own table",
                "gone goes back to Ironic's own table; it was removed here, "
                'or never could be a rule here',
                'same is removed here',
                'edited is removed here, with what was changed in it since, '
                f'last at {time} UTC',
            ],
            told.splitlines(),
        )

    def test_a_uuid_is_the_same_whatever_its_capitals_and_dashes(self):
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        with open(path, 'w') as file:
            file.write(
                '- uuid: 0A1B2C3D-0000-4000-8000-00000000000F\n'
                '  actions: [{op: fail, args: {msg: no}}]\n'
            )
        self.useFixture(config_fixture.Config(CONF)).config(
            group='inspection_rules', built_in_rules=path
        )
        with self.database.engine.begin() as connection:
            connection.execute(
                sa.insert(ironic_models.InspectionRule),
                [
                    {
                        'uuid': '0A1B2C3D-0000-4000-8000-00000000000A',
                        'actions': ACTIONS,
                    },
                    {
                        'uuid': '0a1b2c3d00004000800000000000000b',
                        'actions': ACTIONS,
                    },
                ],
            )
        self.printed(adopt.adopt_from_ironic, False)
        self.assertEqual(3, len(db_rule.list_rules()))
        self.assertIn(
            'no rules to adopt', self.printed(adopt.adopt_from_ironic, False)
        )

        self.assertEqual(
            3, self.printed(adopt.undo, False).count('is removed here')
        )

        self.assertEqual([], db_rule.list_rules())

    def test_a_uuid_of_inspector_is_the_same_whatever_its_capitals(self):
        row = {
            'uuid': '0A1B2C3D-0000-4000-8000-00000000000A',
            'description': 'old',
            'scope': None,
            'conditions': [],
            'actions': [{'action': 'fail', 'message': 'no'}],
        }
        self.patch(adopt.adoption, 'read_inspector', lambda url: [row])
        self.printed(adopt.adopt_from_inspector, 'sqlite://', False)
        self.assertEqual(1, len(db_rule.list_rules()))
        for dry_run in (True, False):
            error = self.assertRaises(
                exceptions.Invalid,
                self.printed,
                adopt.adopt_from_inspector,
                'sqlite://',
                dry_run,
            )
            self.assertIn('1 of 1 rule cannot be taken over', str(error))

    def test_two_rules_of_one_uuid_are_named_before_anything_is_tried(self):
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        self.useFixture(config_fixture.Config(CONF)).config(
            group='inspection_rules', built_in_rules=path
        )
        actions = 'actions: [{op: fail, args: {msg: no}}]'
        for rules in (
            f'- {actions}\n- {actions}\n',
            f'- {{uuid: a, description: one, {actions}}}\n'
            f'- {{uuid: a, {actions}}}\n',
        ):
            with open(path, 'w') as file:
                file.write(rules)
            for dry_run in (True, False):
                error = self.assertRaises(
                    exceptions.Invalid, adopt.adopt_from_ironic, dry_run
                )
                self.assertIn('have the same UUID', str(error))

    def test_what_is_in_the_table_and_in_the_file_is_given_back_once(self):
        uuid = self.add(1, 'both')
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        with open(path, 'w') as file:
            file.write(
                f'- uuid: {uuid}\n'
                '  actions: [{op: fail, args: {msg: no}}]\n'
            )
        self.useFixture(config_fixture.Config(CONF)).config(
            group='inspection_rules', built_in_rules=path
        )
        self.printed(adopt.adopt_from_ironic, False)
        self.assertEqual(
            ["both goes back to Ironic's own table", 'both is removed here'],
            self.printed(adopt.undo, False).splitlines(),
        )
        self.assertEqual([], db_rule.list_rules())

    def test_a_priority_that_stock_ironic_refuses_is_named(self):
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        with open(path, 'w') as file:
            file.write(
                '- priority: -1\n  actions: [{op: fail, args: {msg: no}}]\n'
            )
        self.useFixture(config_fixture.Config(CONF)).config(
            group='inspection_rules', built_in_rules=path
        )
        self.assertIn(
            '/priority: must be an integer from 0 to 9999, not -1',
            self.printed(adopt.adopt_from_ironic, False),
        )
        self.assertEqual([], db_rule.list_rules())

    def test_what_no_rule_by_itself_shows_is_told(self):
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        with open(path, 'w') as file:
            file.write(
                '- actions:\n  - {op: api-call, args: {url: "http://x"}}\n'
            )
        options = self.useFixture(config_fixture.Config(CONF))
        options.config(group='inspection_rules', built_in_rules=path)
        told = self.printed(adopt.adopt_from_ironic, True)
        self.assertNotIn('default_scope', told)
        self.assertIn('What api-call does was not tried.', told)
        self.assertIn('such as a password', told)
        self.add(1, 'old')
        options.config(
            group='inspection_rules', built_in_rules=None, default_scope='rack'
        )
        told = self.printed(adopt.adopt_from_ironic, False)
        self.assertIn('default_scope is "rack"', told)
        self.assertNotIn('api-call', told)
        self.assertIn('Nothing was adopted', told)
