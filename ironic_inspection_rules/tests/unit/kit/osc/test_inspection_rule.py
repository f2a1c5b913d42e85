# SPDX-License-Identifier: Apache-2.0

"""What is printed of rules, and of those that are tried on one node."""

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class GetTestCase(base.TestCase):
    UUID = '9f6c1d0e-7b3a-4d52-8c11-0e5f4a3b2c1d'

    def get(self, status, body, *options):
        baremetal = fakes.Baremetal()
        baremetal.answers = [(status, body)]
        command = inspection_rule.GetInspectionRule(fakes.App(baremetal), None)
        parser = command.get_parser('openstack')
        result = command.take_action(parser.parse_args([self.UUID, *options]))
        return result, baremetal.calls

    def test_fields_are_sorted_without_links(self):
        rule = {'uuid': self.UUID, 'description': 'Tag', 'links': []}
        (names, values), _calls = self.get(200, rule)
        self.assertEqual(('description', 'uuid'), tuple(names))
        self.assertEqual(('Tag', self.UUID), tuple(values))

    def test_only_the_fields_that_are_asked_for_are_read(self):
        _result, calls = self.get(
            200, {'phase': 'main'}, '--fields', 'phase', 'priority'
        )
        [(_method, _path, arguments)] = calls
        self.assertEqual({'params': {'fields': 'phase,priority'}}, arguments)

    def test_every_field_of_a_rule_may_be_asked_for(self):
        names = [*model.FIELDS, 'created_at', 'updated_at']
        for name in names:
            _result, calls = self.get(200, {name: None}, '--fields', name)
            [(_method, _path, arguments)] = calls
            self.assertEqual({'params': {'fields': name}}, arguments)

    def test_an_answer_of_nothing_is_told_with_its_url(self):
        for body in (None, {}):
            error = self.assertRaises(exceptions.Invalid, self.get, 200, body)
            self.assertIn(f'/inspection_rules/{self.UUID}', str(error))
            self.assertIn('"uuid" is expected', str(error))


class PurgeTestCase(base.TestCase):
    def purge(self, answer):
        self.useFixture(fixtures.MonkeyPatch('sys.stdin.isatty', lambda: True))
        self.useFixture(
            fixtures.MonkeyPatch('builtins.input', lambda _prompt: answer)
        )
        baremetal = fakes.Baremetal()
        baremetal.answers = [(204, None)]
        command = inspection_rule.PurgeInspectionRules(
            fakes.App(baremetal), None
        )
        parser = command.get_parser('openstack')
        return command.run(parser.parse_args([])), baremetal.calls

    def test_whoever_declines_gets_another_status(self):
        self.assertEqual((1, []), self.purge('n'))
        status, [(method, path, _arguments)] = self.purge('y')
        self.assertEqual(
            (0, 'DELETE', '/inspection_rules'), (status, method, path)
        )


class EditTestCase(base.TestCase):
    UUID = GetTestCase.UUID
    RULE = {
        'description': 'Tag',
        'priority': 7,
        'phase': 'main',
        'conditions': [],
        'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
    }

    def edit(self, body, *words):
        ironic = fakes.Baremetal()
        ironic.answers = [(201, body)]
        app = fakes.App(ironic)
        command = inspection_rule.EditInspectionRule(app, None)
        parser = command.get_parser('openstack')
        columns, values = command.take_action(parser.parse_args(words))
        row = dict(zip(columns, values, strict=True))
        return row, app.stderr.getvalue()

    def test_a_change_stands_if_its_answer_has_no_uuid(self):
        for words in (('--description', 'Tag'), (self.UUID, '--priority=7')):
            for members in (
                tuple(self.RULE),
                ('priority',),
                ('phase',),
                ('conditions',),
                ('actions',),
            ):
                row, errors = self.edit(
                    {name: self.RULE[name] for name in members}, *words
                )
                for name in members:
                    self.assertEqual(self.RULE[name], row[name])
                self.assertIsNone(row['uuid'])
                self.assertEqual(
                    "Warning: The rule is stored, but Ironic's answer has no "
                    'UUID of it\n',
                    errors,
                )

    def test_there_is_no_warning_about_a_whole_answer(self):
        row, errors = self.edit(
            {**self.RULE, 'uuid': self.UUID}, '--description', 'Tag'
        )
        self.assertEqual((self.UUID, ''), (row['uuid'], errors))

    def test_an_answer_that_is_not_of_ironic_is_an_error(self):
        for words in (('--description', 'Tag'), (self.UUID, '--priority=7')):
            for body in (None, {}, [], 'stored', {'versions': []}):
                error = self.assertRaises(
                    exceptions.Invalid, self.edit, body, *words
                )
                self.assertIn('"uuid" is expected', str(error))


class ExportTestCase(base.TestCase):
    def test_a_dash_and_nothing_are_standard_output(self):
        rule = {
            **dict.fromkeys(model.FIELDS),
            'description': 'Tag',
            'built_in': False,
            'sensitive': False,
        }
        for words in ((), ('-',)):
            baremetal = fakes.Baremetal()
            baremetal.answers = [
                (200, {'inspection_rules': [rule]}),
                (200, {'tables': []}),
            ]
            app = fakes.App(baremetal)
            command = inspection_rule.ExportInspectionRules(app, None)
            command.take_action(
                command.get_parser('openstack').parse_args(words)
            )
            self.assertIn('description: Tag\n', app.stdout.getvalue())


class EvaluateTestCase(base.TestCase):
    def evaluate(self, **fields):
        baremetal = fakes.Baremetal()
        answer = {'result': 'ok', 'error': None, 'rules': [], 'changes': []}
        baremetal.answers = [(200, {**answer, **fields})]
        command = inspection_rule.EvaluateInspectionRules(
            fakes.App(baremetal), None
        )
        parser = command.get_parser('openstack')
        return command.run(parser.parse_args(['--node', 'one']))

    def test_the_result_is_the_exit_status(self):
        self.assertEqual(0, self.evaluate())
        self.assertEqual(2, self.evaluate(result='failed', error='too small'))
        self.assertEqual(0, self.evaluate(audit=None, warnings=None))

    def test_a_result_that_is_not_known_is_an_error(self):
        for result in (None, 'maybe'):
            error = self.assertRaises(
                exceptions.Invalid, self.evaluate, result=result
            )
            self.assertIn('has the result', str(error))


class TablesTestCase(base.TestCase):
    def test_no_change_is_said_in_words(self):
        change = {
            'object': 'node',
            'op': 'add',
            'path': '/extra/a',
            'value': 1,
        }
        for changes, said in (([], True), ([change], False)):
            text = inspection_rule._as_tables(
                {'rules': [], 'changes': changes, 'error': None}
            )
            self.assertIs(said, 'nothing would change' in text)
            self.assertIs(not said, '/extra/a' in text)

    def test_changes_of_sensitive_rules_are_said_to_be_withheld(self):
        change = {
            'object': 'node',
            'op': 'add',
            'path': '/extra/a',
            'value': 1,
        }
        entry = {'uuid': 'u', 'matched': True, 'withheld': True}
        for changes, audited, is_withheld in (
            ([], [], True),
            ([change], [], True),
            ([], [entry], False),
        ):
            text = inspection_rule._as_tables(
                {
                    'rules': [entry],
                    'changes': changes,
                    'error': None,
                    'audit': audited,
                }
            )
            said = 'what sensitive rules would change is withheld' in text
            self.assertIs(is_withheld, said)
            self.assertIs(not is_withheld, 'nothing would change' in text)

    def test_what_a_rule_in_audit_would_do_is_apart(self):
        entry = {
            'uuid': 'u',
            'description': None,
            'matched': True,
            'error': None,
            'changes': [],
        }
        change = {
            'object': 'node',
            'op': 'add',
            'path': '/extra/a',
            'value': 1,
        }
        for changed, expected in (
            ({'changes': [change]}, '/extra/a'),
            ({'error': 'too small'}, 'would fail: too small'),
            ({}, 'would change nothing'),
        ):
            text = inspection_rule._as_tables(
                {
                    'rules': [],
                    'changes': [],
                    'error': None,
                    'audit': [{**entry, **changed}],
                }
            )
            # What will not be carried out is no change.
            _in_force, _said, audited = text.partition(
                'nothing would change\naudit: u\n'
            )
            self.assertIn(expected, audited)

    def test_a_rule_in_audit_that_is_sensitive_or_does_nothing(self):
        for entry, expected in (
            (
                {'uuid': 'u', 'matched': True, 'withheld': True},
                'audit: a sensitive rule, u',
            ),
            (
                {
                    'uuid': 'u',
                    'matched': False,
                    'description': 'U',
                    'error': None,
                    'changes': [],
                },
                'nothing would change',
            ),
        ):
            text = inspection_rule._as_tables(
                {'rules': [], 'changes': [], 'error': None, 'audit': [entry]}
            )
            self.assertEqual(expected, text.splitlines()[-1])

    def test_why_no_rules_run_on_the_node_is_the_last_thing_said(self):
        text = inspection_rule._as_tables(
            {
                'rules': [],
                'changes': [],
                'error': None,
                'warnings': ['no rules run on this node'],
            }
        )
        self.assertEqual(
            'Warning: no rules run on this node', text.splitlines()[-1]
        )
