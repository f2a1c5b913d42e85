# SPDX-License-Identifier: Apache-2.0

"""Calls for runs and statistics, as they are sent."""

from openstack import exceptions as sdk_exceptions

from ironic_inspection_rules.kit.client import inspection_run
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

RUNS = '/nodes/one/inspection_runs'


class InspectionRunTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.baremetal = fakes.Baremetal()

    def answer(self, *bodies, status=200):
        self.baremetal.answers = [(status, body) for body in bodies]

    def assert_called(self, where, **params):
        self.assertEqual(
            [('GET', where, {'params': params})], self.baremetal.calls
        )

    def test_runs_are_listed_page_by_page(self):
        self.answer(
            {
                'inspection_runs': [{'uuid': 'b'}],
                'next': f'http://x/v1{RUNS}?limit=1&marker=b',
            },
            {'inspection_runs': [{'uuid': 'a'}]},
        )
        self.assertEqual(
            ['b', 'a'],
            [
                run['uuid']
                for run in (
                    inspection_run.inspection_runs(
                        self.baremetal, 'one', True, limit=1
                    )
                )
            ],
        )
        self.assertEqual(
            [
                ('GET', RUNS, {'params': {'limit': 1, 'detail': 'true'}}),
                (
                    'GET',
                    RUNS,
                    {
                        'params': {
                            'limit': '1',
                            'detail': 'true',
                            'marker': 'b',
                        }
                    },
                ),
            ],
            self.baremetal.calls,
        )

    def test_one_run_is_shown(self):
        run = {'uuid': 'a', 'phases': {}}
        self.answer(run)
        self.assertEqual(
            run,
            inspection_run.get_inspection_run(self.baremetal, 'one', 'a'),
        )
        self.assertEqual([('GET', f'{RUNS}/a', {})], self.baremetal.calls)

    def test_a_question_has_only_what_was_asked(self):
        self.answer({'object': 'node', 'rule': {'uuid': 'a'}})
        inspection_run.explain(
            self.baremetal, 'one', path='/extra/a', trait=None, port=None
        )
        self.assert_called(f'{RUNS}/explain', path='/extra/a')

    def test_statistics_are_sorted_as_asked(self):
        self.answer({'statistics': [{'uuid': 'a'}]})
        self.assertEqual(
            [{'uuid': 'a'}],
            inspection_run.rule_statistics(
                self.baremetal, sort_key='matched', sort_dir=None
            ),
        )
        self.assert_called('/inspection_rules/statistics', sort_key='matched')

    def test_what_ironic_refuses_is_raised(self):
        self.answer({'error_message': 'No rule set it.'}, status=404)
        self.assertRaises(
            sdk_exceptions.NotFoundException,
            inspection_run.explain,
            self.baremetal,
            'one',
            path='/extra/a',
        )
