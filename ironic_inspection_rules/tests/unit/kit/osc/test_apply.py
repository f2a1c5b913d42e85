# SPDX-License-Identifier: Apache-2.0

"""What apply and import say once the rules are changed."""

import json

import fixtures
from keystoneauth1 import exceptions as auth_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.kit.osc import rule_set
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

RULE = {
    'uuid': '41a5a1c8-6f6c-4d0f-8c1f-16b9d9e0ee21',
    'description': 'Note the vendor',
    'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
}
STEP = {
    'uuid': RULE['uuid'],
    'description': RULE['description'],
    'outcome': 'created',
    'matched_by': None,
    'fields': [],
}
COMMANDS = (
    (rule_set.ApplyInspectionRules, ('--yes',), 'at revision 3 now'),
    (inspection_rule.ImportInspectionRules, (), '1 created'),
)


def time_out(**_arguments):
    raise auth_exceptions.ConnectTimeout('no answer in time')


class AfterChangeTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        directory = self.useFixture(fixtures.TempDir())
        self.path = directory.join('rules.json')
        with open(self.path, 'w', encoding='utf-8') as stream:
            json.dump([RULE], stream)

    def run_command(
        self, kind, words, warnings, planned=3, applied=3, changed=None
    ):
        """Run a command.

        :param warnings: the answer to the request for warnings, which is the
            second request for the list of rules.
        :param planned: the revision in the answer to the dry run; None for
            an answer without a revision.
        :param applied: the same of the answer to the change.
        :param changed: the whole answer to the change; None for an answer
            with a step for the rule.
        """
        self.ironic = fakes.Ironic()
        answers = []
        for revision in (planned, applied):
            answer = {'rules': [STEP]}
            if revision is not None:
                answer['revision'] = revision
            answers.append((200, answer))
        if changed is not None:
            answers[1] = (200, changed)
        self.ironic.routes['PUT', '/inspection_rules'] = answers
        lists = [(200, {'inspection_rules': []}), warnings]

        def list_rules(**arguments):
            answer = lists.pop(0)
            if callable(answer):
                return answer(**arguments)
            return answer

        self.ironic.routes['GET', '/inspection_rules'] = list_rules
        app = fakes.App(self.ironic)
        command = kind(app, None)
        parser = command.get_parser('openstack')
        status = command.run(parser.parse_args([self.path, *words]))
        return status, app.stdout.getvalue(), app.stderr.getvalue()

    def test_warnings_that_cannot_be_read_are_no_failure(self):
        for kind, words, printed in COMMANDS:
            for warnings, reason in (
                ((500, {'error_message': 'database is away'}), 'is away'),
                ((403, {'error_message': 'not yours'}), 'not yours'),
                ((200, None), 'is empty'),
                (
                    (200, {'inspection_rules': [], 'warnings': 'all'}),
                    'no list of warnings, but "all"',
                ),
                (time_out, 'no answer in time'),
            ):
                status, output, errors = self.run_command(
                    kind, words, warnings
                )
                self.assertEqual(0, status)
                self.assertIn(printed, output)
                self.assertIn('Warning: The rules are in force', errors)
                self.assertIn(reason, errors)

    def test_warnings_are_printed(self):
        for kind, words, _printed in COMMANDS:
            for warnings, errors in (
                (['set an option'], 'Warning: set an option\n'),
                ([], ''),
                (None, ''),
            ):
                answer = {'inspection_rules': [], 'warnings': warnings}
                result = self.run_command(kind, words, (200, answer))
                self.assertEqual((0, errors), (result[0], result[2]))

    def test_a_plan_without_a_revision_is_not_applied(self):
        for kind, words, _printed in COMMANDS:
            for planned in (None, 'x'):
                error = self.assertRaises(
                    exceptions.Invalid,
                    self.run_command,
                    kind,
                    words,
                    (200, {'inspection_rules': []}),
                    planned=planned,
                )
                self.assertIn('no number of a revision', str(error))
                [(_method, _path, arguments)] = self.ironic.calls
                self.assertIs(True, arguments['params']['dry_run'])

    def test_a_change_without_a_revision_stands(self):
        for applied in (None, 'x'):
            status, output, errors = self.run_command(
                rule_set.ApplyInspectionRules,
                ['--yes'],
                (200, {'inspection_rules': [], 'warnings': ['set it']}),
                applied=applied,
            )
            self.assertEqual(0, status)
            self.assertNotIn('The rule set is at', output)
            self.assertIn('Warning: The rules are in force', errors)
            self.assertIn('Warning: set it', errors)

    def test_a_change_whose_steps_cannot_be_read_stands(self):
        for kind, words, printed in COMMANDS:
            for changed in (
                {'revision': 3},
                {'revision': 3, 'rules': None},
                {'revision': 3, 'rules': {'outcome': 'created'}},
                {'revision': 3, 'rules': ['created']},
                {'revision': 3, 'rules': [{'uuid': RULE['uuid']}]},
            ):
                status, output, errors = self.run_command(
                    kind,
                    words,
                    (200, {'inspection_rules': [], 'warnings': ['set it']}),
                    changed=changed,
                )
                self.assertEqual(0, status)
                self.assertIn(printed, output)
                self.assertEqual(
                    "Warning: The rules are in force, but Ironic's answer "
                    'does not say what was changed\nWarning: set it\n',
                    errors,
                )

    def test_an_answer_to_a_change_that_is_not_of_ironic_is_an_error(self):
        for kind, words, _printed in COMMANDS:
            for changed in ([], 'changed', 7):
                self.assertRaises(
                    exceptions.Invalid,
                    self.run_command,
                    kind,
                    words,
                    (200, {'inspection_rules': []}),
                    changed=changed,
                )
