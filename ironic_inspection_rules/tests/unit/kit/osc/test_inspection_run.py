# SPDX-License-Identifier: Apache-2.0

"""The commands for runs, explanations and statistics."""

import json

from osc_lib import exceptions as osc_exceptions
import yaml

from ironic_inspection_rules.kit.osc import inspection_run
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes
from ironic_inspection_rules.tests.unit.kit.osc import test_run_lines

RUN = {
    'uuid': 'r',
    'node_uuid': 'n',
    'event': 'inspection',
    'inspect_interface': 'agent',
    'result': 'failed',
    'error': 'too small',
    'revision': 3,
    'created_at': 'today',
    'started_at': None,
    'links': [],
}
WHOLE = {
    **RUN,
    'phases': {
        'main': test_run_lines.phase(
            rules=[{**test_run_lines.RULE, 'changes': []}]
        )
    },
}
STATISTICS = {
    'uuid': 'a',
    'description': 'big',
    'phase': 'main',
    'mode': 'enforce',
    'runs': 7,
    'matched': 5,
    'failed': 1,
    'audited': 0,
    'seconds': 0.1234567890,
    'last_matched_at': 'today',
    'last_matched_node': 'n',
    'since': 'yesterday',
}


class CommandTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.baremetal = fakes.Baremetal()
        self.app = fakes.App(self.baremetal)

    def run_command(self, command, *arguments):
        instance = command(self.app, None)
        return instance.take_action(
            instance.get_parser('openstack').parse_args(arguments)
        )

    def answer(self, *bodies):
        self.baremetal.answers = [(200, body) for body in bodies]

    def paths(self):
        return [path for _method, path, _args in self.baremetal.calls]


class RunTestCase(CommandTestCase):
    def test_runs_are_listed_with_their_error(self):
        self.answer({'inspection_runs': [RUN]})
        columns, (row,) = self.run_command(
            inspection_run.ListInspectionRuns, 'one'
        )
        *others, error = row
        self.assertEqual(
            {
                'uuid': 'r',
                'created_at': 'today',
                'event': 'inspection',
                'result': 'failed',
                'revision': 3,
                'error': 'too small',
            },
            dict(
                zip(columns, (*others, error.machine_readable()), strict=True)
            ),
        )

    def test_a_list_has_the_reason_once_and_not_all_of_a_long_one(self):
        said = 'Failed. Reason: hooks: Failed. Reason: ' + 'no disk ' * 40
        self.answer({'inspection_runs': [{**RUN, 'error': said}]})
        _columns, (row,) = self.run_command(
            inspection_run.ListInspectionRuns, 'one'
        )
        shown = row[-1].human_readable()
        self.assertTrue(shown.startswith('no disk'))
        self.assertLess(len(shown), 70)
        self.assertEqual(said, row[-1].machine_readable())

    def test_no_more_are_listed_than_asked_for(self):
        self.answer(
            {'inspection_runs': [RUN], 'next': 'http://x/?marker=r'},
            {'inspection_runs': [RUN]},
        )
        _columns, rows = self.run_command(
            inspection_run.ListInspectionRuns, 'one', '--limit', '1'
        )
        self.assertEqual(1, len(rows))

    def test_the_last_run_is_shown_if_none_is_named(self):
        self.answer({'inspection_runs': [RUN]}, WHOLE)
        names, values = self.run_command(
            inspection_run.ShowInspectionRun, 'one'
        )
        self.assertEqual(
            ['/nodes/one/inspection_runs', '/nodes/one/inspection_runs/r'],
            self.paths(),
        )
        shown = dict(zip(names, values, strict=True))
        self.assertEqual(
            'a (big)\n  it changed nothing', shown['main'].human_readable()
        )
        self.assertEqual(
            WHOLE['phases']['main'], shown['main'].machine_readable()
        )
        self.assertNotIn('links', shown)

    def test_the_run_that_is_named_is_shown(self):
        self.answer(WHOLE)
        self.run_command(inspection_run.ShowInspectionRun, 'one', 'r')
        self.assertEqual(['/nodes/one/inspection_runs/r'], self.paths())

    def test_a_node_may_have_no_run(self):
        self.answer({'inspection_runs': []})
        self.assertRaisesRegex(
            osc_exceptions.CommandError,
            'one',
            self.run_command,
            inspection_run.ShowInspectionRun,
            'one',
        )

    def test_a_phase_in_which_nothing_happened_says_so(self):
        self.assertEqual(
            'nothing',
            inspection_run.Phase(test_run_lines.phase()).human_readable(),
        )


class ExplainTestCase(CommandTestCase):
    def explain(self, *arguments):
        self.answer(test_run_lines.ANSWER)
        self.run_command(inspection_run.ExplainInspection, 'one', *arguments)
        return self.app.stdout.getvalue()

    def test_people_get_lines(self):
        told = self.explain('--path', '/extra/rack')
        self.assertEqual('/extra/rack: null → "a1"', told.splitlines()[0])
        self.assertEqual(
            [
                (
                    'GET',
                    '/nodes/one/inspection_runs/explain',
                    {'params': {'path': '/extra/rack'}},
                )
            ],
            self.baremetal.calls,
        )

    def test_programs_get_the_answer(self):
        self.assertEqual(
            test_run_lines.ANSWER,
            json.loads(self.explain('--trait', 'CUSTOM_A', '-f', 'json')),
        )

    def test_or_the_same_in_yaml(self):
        self.assertEqual(
            test_run_lines.ANSWER,
            yaml.safe_load(self.explain('--trait', 'CUSTOM_A', '-f', 'yaml')),
        )

    def test_the_last_run_is_told_where_nothing_is_asked(self):
        self.answer({'inspection_runs': [RUN]}, WHOLE)
        self.run_command(inspection_run.ExplainInspection, 'one')
        self.assertEqual(
            list(inspection_run.run_lines(WHOLE)),
            self.app.stdout.getvalue().splitlines(),
        )
        self.assertEqual('/nodes/one/inspection_runs/r', self.paths()[-1])

    def test_a_rule_is_told_of_by_its_description(self):
        self.answer(
            {'inspection_rules': [{'uuid': 'a', 'description': 'big'}]},
            {
                'rule': {'uuid': 'a'},
                'run': test_run_lines.RUN,
                'mode': 'enforce',
                'matched': False,
                'conditions': [],
                'changes': [],
                'error': None,
                'decided_again': False,
                'reason': None,
            },
        )
        self.run_command(
            inspection_run.ExplainInspection, 'one', '--rule', 'big'
        )
        self.assertEqual(
            'rule a did not match', self.app.stdout.getvalue().splitlines()[0]
        )

    def test_that_nobody_set_it_is_a_sentence(self):
        self.baremetal.answers = [
            (404, {'error_message': {'faultstring': 'No rule has set it.'}}),
            (200, {'traits': []}),
        ]
        command = inspection_run.ExplainInspection(self.app, None)
        parsed = command.get_parser('openstack').parse_args(
            ['one', '--path', '/extra/x']
        )
        error = self.assertRaises(
            osc_exceptions.CommandError, command.run, parsed
        )
        self.assertEqual('No rule has set it.', str(error))

    def test_one_thing_is_asked_at_a_time(self):
        self.assertRaises(
            SystemExit,
            self.explain,
            '--path',
            '/extra/a',
            '--trait',
            'CUSTOM_A',
        )
        self.assertEqual([], self.baremetal.calls)


class StatisticsTestCase(CommandTestCase):
    def statistics(self, *arguments):
        self.answer({'statistics': [STATISTICS]})
        columns, (row,) = self.run_command(
            inspection_run.ShowStatistics, *arguments
        )
        return dict(zip(columns, row, strict=True))

    def test_the_short_table_has_what_is_looked_for_first(self):
        shown = self.statistics()
        self.assertEqual(
            (7, 5, 1), (shown['runs'], shown['matched'], shown['failed'])
        )
        self.assertNotIn('seconds', shown)

    def test_the_long_one_has_all(self):
        self.assertEqual(
            {**STATISTICS, 'seconds': 0.123457}, self.statistics('--long')
        )

    def test_the_order_is_that_asked_for(self):
        self.statistics('--sort', 'matched:desc')
        self.assertEqual(
            [
                (
                    'GET',
                    '/inspection_rules/statistics',
                    {'params': {'sort_key': 'matched', 'sort_dir': 'desc'}},
                )
            ],
            self.baremetal.calls,
        )
