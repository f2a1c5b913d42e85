# SPDX-License-Identifier: Apache-2.0

"""The command that decides kept inspections again."""

import contextlib
import io
import json
import pathlib

import fixtures
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.osc import replay
from ironic_inspection_rules.tests.unit.kit.osc import fakes
from ironic_inspection_rules.tests.unit.kit.osc import test_inspection_run
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data

NODES = {
    'nodes': [{'uuid': f'u{each}', 'name': f'n{each}'} for each in range(25)]
}
OK = {'result': 'ok', 'error': None, 'matched': []}
SAME = {
    'node': 'u0',
    'run': 'r',
    'created_at': 'today',
    'revision': 1,
    'outcome': 'same',
    'reason': None,
    'then': OK,
}
DIFFERENT = {
    **SAME,
    'outcome': 'different',
    'now': {
        'result': 'failed',
        'error': 'too small',
        'matched': [],
        'changes': [
            {
                'object': 'node',
                'op': 'add',
                'path': '/extra/a',
                'before': None,
                'value': 1,
            }
        ],
    },
}
GONE = {'node': 'u0', 'outcome': 'incomparable', 'reason': 'rules are gone'}
LOST = {'node': 'u0', 'outcome': 'error', 'reason': 'not found'}


def page(*runs):
    return {'runs': list(runs), 'next': None}


class ReplayTestCase(test_inspection_run.CommandTestCase):
    def replay(self, *words):
        status = self.run_command(
            replay.ReplayInspectionRules, '--jobs', '1', *words
        )
        return status, self.app.stdout.getvalue()

    def bodies(self):
        return [
            call[2]['json']
            for call in self.baremetal.calls
            if call[1].endswith('replay')
        ]

    def test_all_nodes_are_asked_for_page_by_page(self):
        self.answer(NODES, page(SAME, SAME), page(SAME))
        status, text = self.replay('--since', '2026-01-31')
        self.assertEqual(0, status)
        self.assertEqual(
            '3 inspections: 3 end as they did, 0 end otherwise, 0 cannot be '
            'compared\n',
            text,
        )
        self.assertEqual(
            [20, 5], [len(each['nodes']) for each in self.bodies()]
        )
        self.assertEqual(
            {'2026-01-31T00:00:00'}, {each['since'] for each in self.bodies()}
        )
        self.assertNotIn('rules', self.bodies()[0])

    def test_a_report_on_standard_output_has_nothing_beside_it(self):
        self.answer({'inspection_rules': []}, NODES, page(SAME), page())
        _status, output = self.replay('--report', '-')
        self.assertTrue(output.startswith('<!DOCTYPE html>'), output)
        self.assertTrue(output.rstrip().endswith('</html>'), output)

    def test_where_nothing_is_kept_the_option_is_named(self):
        self.answer(NODES, page(), page())
        status, text = self.replay()
        self.assertEqual(0, status)
        self.assertIn('nothing to replay', text)
        self.assertIn('keep_history', text)

    def test_what_ends_otherwise_is_told_with_what(self):
        path = self.useFixture(fixtures.TempDir()).join('rules.json')
        rule = {'uuid': 'x', 'actions': []}
        with open(path, 'w', encoding='utf-8') as stream:
            json.dump([rule], stream)
        self.answer(
            {
                'inspection_rules': [
                    {'uuid': 'b', 'description': None, 'built_in': True}
                ]
            },
            NODES,
            page(SAME, DIFFERENT),
            page(GONE, GONE),
        )
        status, text = self.replay(path, 'driver=redfish')
        self.assertEqual(replay.EXIT_DIFFERENT, status)
        for part in (
            'n0',
            'too small',
            'node /extra/a: null → 1',
            '1 end otherwise',
            '2: rules are gone',
        ):
            self.assertIn(part, text)
        self.assertEqual([rule], self.bodies()[0]['rules'])
        self.assertNotIn('prune', self.bodies()[0])
        self.answer({'inspection_rules': []}, NODES, page(SAME), page())
        self.replay('--prune', path)
        self.assertEqual(
            [True, True], [each['prune'] for each in self.bodies()[-2:]]
        )
        self.assertEqual(
            'redfish', self.baremetal.calls[1][2]['params']['driver']
        )

    def test_filters_that_match_no_node_are_an_error(self):
        self.answer({'nodes': []})
        error = self.assertRaises(
            osc_exceptions.CommandError, self.replay, 'driver=typo'
        )
        self.assertEqual('No node matches driver=typo', str(error))

    def test_prune_needs_files(self):
        self.answer()
        self.assertRaises(osc_exceptions.CommandError, self.replay, '--prune')
        self.assertEqual([], self.baremetal.calls)

    def test_programs_read_json(self):
        self.answer(NODES, page(DIFFERENT, GONE), page(LOST))
        status, text = self.replay('-f', 'json')
        self.assertEqual(replay.EXIT_ERROR, status)
        self.assertEqual(
            {
                'same': 0,
                'different': 1,
                'incomparable': 1,
                'error': 1,
                'reasons': {'rules are gone': 1},
                'runs': [{**DIFFERENT, 'name': 'n0'}, {**LOST, 'name': 'n0'}],
            },
            json.loads(text),
        )

    def test_the_counts_name_runs_that_could_not_be_decided(self):
        self.answer(NODES, page(SAME, GONE, LOST), page())
        status, text = self.replay()
        self.assertEqual(replay.EXIT_ERROR, status)
        self.assertIn(
            '3 inspections: 1 end as they did, 0 end otherwise, 1 cannot be '
            'compared, 1 could not be decided\n',
            text,
        )

    def test_nothing_to_compare_is_an_error_but_no_runs_are_none(self):
        self.answer(NODES, page(GONE), page())
        self.assertEqual(replay.EXIT_ERROR, self.replay()[0])
        self.answer(NODES, page(), page())
        self.assertEqual(0, self.replay()[0])

    def test_a_page_shows_a_node_that_could_not_be_read(self):
        path = self.useFixture(fixtures.TempDir()).join('page.html')
        self.answer({'inspection_rules': []}, NODES, page(LOST), page())
        status, _text = self.replay('--report', path)
        self.assertEqual(replay.EXIT_ERROR, status)
        self.assertIn('not found', pathlib.Path(path).read_text())

    def test_a_page_shows_what_ends_otherwise(self):
        path = self.useFixture(fixtures.TempDir()).join('page.html')
        self.answer(
            {
                'inspection_rules': [
                    {
                        'uuid': 'b',
                        'description': 'Note the rack',
                        'built_in': False,
                    }
                ]
            },
            NODES,
            page({**DIFFERENT, 'then': {**OK, 'matched': ['b']}}),
            page(GONE),
        )
        status, text = self.replay('--report', path)
        self.assertEqual(replay.EXIT_DIFFERENT, status)
        self.assertIn(f'The whole of it: {path}', text)
        with open(path, encoding='utf-8') as stream:
            written = stream.read()
        for part in (
            'The rules of their time on kept inspections',
            'n0',
            '+ /extra/a: 1',
            'Note the rack',
            'rules are gone',
        ):
            self.assertIn(part, written)

    def test_a_page_names_rules_of_files_and_those_that_are_gone(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        rules_file = folder / 'rules.json'
        rules_file.write_text(
            json.dumps(
                [
                    {'description': 'Note the rack', 'actions': []},
                    {'description': 'No small ones', 'actions': []},
                ]
            )
        )
        page_file = folder / 'page.html'
        in_force = {
            'uuid': 'b',
            'description': 'Note the rack',
            'built_in': False,
        }
        gone = {'uuid': 'gone', 'description': 'Tag them'}

        def decide(json, **_more):
            uuids = [rule['uuid'] for rule in json['rules']]
            return 200, page(
                {
                    **DIFFERENT,
                    'then': {**OK, 'matched': ['b', 'gone']},
                    'now': {**DIFFERENT['now'], 'matched': uuids},
                }
            )

        self.baremetal = fakes.Ironic()
        self.app = fakes.App(self.baremetal)
        self.baremetal.routes = {
            ('GET', '/inspection_rules'): (
                200,
                {'inspection_rules': [in_force]},
            ),
            ('GET', '/nodes'): (200, {'nodes': NODES['nodes'][:1]}),
            ('POST', '/inspection_rules/replay'): decide,
            ('GET', '/inspection_rules/revisions/1'): (200, {'rules': [gone]}),
        }

        self.replay(str(rules_file), '--report', str(page_file))

        # The rule of the same description is the same rule, and matches then
        # as well as now.
        [row] = page_data.rows(page_data.read(page_file.read_text()))
        only_then, only_now = page_data.parts(row['opened'], 'block')
        self.assertEqual(['Tag them'], only_then['parts'])
        self.assertEqual(['No small ones'], only_now['parts'])

    def test_an_outcome_that_is_not_known_is_an_error(self):
        for outcome in (None, 'perhaps'):
            self.answer(NODES, page(SAME, {**SAME, 'outcome': outcome}))
            error = self.assertRaises(exceptions.Invalid, self.replay)
            self.assertIn('node n0 has the outcome', str(error))

    def test_members_that_are_null_are_nothing(self):
        self.answer(
            NODES,
            page(
                {
                    **DIFFERENT,
                    'then': {**OK, 'matched': None},
                    'now': {**DIFFERENT['now'], 'changes': None},
                }
            ),
            page(),
        )
        status, text = self.replay()
        self.assertEqual(replay.EXIT_DIFFERENT, status)
        self.assertIn('too small', text)

    def test_a_page_needs_a_folder_before_anything_is_asked(self):
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            stopped = self.assertRaises(
                SystemExit,
                self.replay,
                '--report',
                '/nowhere/at/all/page.html',
            )
        self.assertEqual(1, stopped.code)
        self.assertIn('no file can be written there', stderr.getvalue())
        self.assertEqual([], self.baremetal.calls)
