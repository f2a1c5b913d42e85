# SPDX-License-Identifier: Apache-2.0

"""Revisions, which count rules and name tables."""

import fixtures
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.kit.osc import rule_set
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

ROWS = {'new': 3, 'changed': 0, 'gone': 0}
CREATED = {'uuid': 'a', 'description': None, 'outcome': 'created'}
DELETED = {'uuid': 'b', 'description': None, 'outcome': 'deleted'}


class RevisionsTestCase(base.TestCase):
    def call(self, kind, answer, *words):
        baremetal = fakes.Baremetal()
        baremetal.answers = [(200, answer)]
        app = fakes.App(baremetal)
        command = kind(app, None)
        result = command.take_action(
            command.get_parser('openstack').parse_args(words)
        )
        self.errors = app.stderr.getvalue()
        return result, app.stdout.getvalue()

    def history(self, *changes):
        """Return what one revision is said to have changed."""
        (_names, rows), _output = self.call(
            rule_set.ListRevisions,
            {
                'revisions': [
                    {
                        'revision': 1,
                        'created_at': None,
                        'user_id': None,
                        'project_id': None,
                        'message': None,
                        'changes': changes,
                    }
                ]
            },
            '--limit',
            '1',
        )
        (row,) = rows
        return row[4]

    def test_a_table_is_no_rule(self):
        self.assertEqual(
            '1 created, 1 deleted, table machines created',
            self.history(
                CREATED,
                DELETED,
                {'table': 'machines', 'outcome': 'created', 'rows': ROWS},
            ),
        )

    def test_a_restored_table_is_named(self):
        _status, text = self.call(
            rule_set.RestoreRevision,
            {
                'revision': 8,
                'rules': [DELETED],
                'tables': [
                    {'name': 'machines', 'outcome': 'deleted', 'rows': ROWS},
                    {'name': 'racks', 'outcome': 'unchanged', 'rows': ROWS},
                ],
            },
            '5',
            '--yes',
        )
        self.assertEqual(
            'The rule set is at revision 8 now: 1 deleted, '
            'table machines deleted\n',
            text,
        )

    def test_a_restored_set_without_tables_has_none(self):
        answer = {'revision': 8, 'rules': [DELETED]}
        for answered in (answer, {**answer, 'tables': None}):
            _status, text = self.call(
                rule_set.RestoreRevision, answered, '5', '--yes'
            )
            self.assertEqual(
                'The rule set is at revision 8 now: 1 deleted\n', text
            )

    def test_a_restored_set_without_a_revision_is_in_force(self):
        for answer in (
            {'rules': [DELETED]},
            {'revision': None, 'rules': [DELETED]},
        ):
            status, text = self.call(
                rule_set.RestoreRevision, answer, '5', '--yes'
            )
            self.assertEqual(0, status)
            self.assertEqual(
                'The rules are those of revision 5: 1 deleted\n', text
            )
            self.assertIn('Warning: The rules are in force', self.errors)

    def test_a_restored_set_whose_changes_are_unknown_is_in_force(self):
        step = {'uuid': 'a'}
        for answer in (
            {'revision': 8},
            {'revision': 8, 'rules': None},
            {'revision': 8, 'rules': {'outcome': 'deleted'}},
            {'revision': 8, 'rules': ['deleted']},
            {'revision': 8, 'rules': [DELETED, step]},
            {'revision': 8, 'rules': [DELETED], 'tables': [step]},
            {'revision': 8, 'rules': [DELETED], 'tables': [{'name': 'racks'}]},
            {'revision': 8, 'rules': [DELETED], 'tables': ['racks']},
            {'revision': 8, 'rules': [DELETED], 'tables': 7},
        ):
            status, text = self.call(
                rule_set.RestoreRevision, answer, '5', '--yes'
            )
            self.assertEqual(0, status)
            self.assertEqual('The rule set is at revision 8 now\n', text)
            self.assertEqual(
                "Warning: The rules are in force, but Ironic's answer does "
                'not say what was changed\n',
                self.errors,
            )

    def test_rules_alone_are_counted(self):
        self.assertEqual('2 created', self.history(CREATED, CREATED))
        self.assertEqual('nothing changed', self.history())


class ConfirmTestCase(base.TestCase):
    def test_who_has_closed_the_input_cannot_answer(self):
        self.useFixture(fixtures.MonkeyPatch('sys.stdin', None))
        error = self.assertRaises(
            osc_exceptions.CommandError, rule_set.confirm, 'Apply?', False
        )
        self.assertIn('--yes', str(error))
