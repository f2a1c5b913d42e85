# SPDX-License-Identifier: Apache-2.0

"""Nodes whose machines are unlike their peers."""

import copy
import json

import fixtures
from osc_lib import exceptions as osc_exceptions
import yaml

from ironic_inspection_rules.kit.osc import outliers
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.machine.outliers import test_peers
from ironic_inspection_rules.tests.unit.kit.osc import fakes


class OutliersTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ironic = fakes.Ironic()
        self.app = fakes.App(self.ironic)
        self.machines = test_peers.fleet(8)

    def answer(self):
        """Let Ironic have the machines, and a node without an inventory."""
        names = [*self.machines, 'new']
        self.ironic.routes['GET', '/nodes'] = (
            200,
            {
                'nodes': [
                    {
                        'uuid': f'u-{name}',
                        'name': None if name == 'm02' else name,
                    }
                    for name in names
                ]
            },
        )
        for name, machine in self.machines.items():
            self.ironic.routes['GET', f'/nodes/u-{name}/inventory'] = (
                200,
                machine,
            )

    def show(self, *words):
        self.answer()
        command = outliers.ShowOutliers(self.app, None)
        status = command.take_action(
            command.get_parser('openstack').parse_args(words)
        )
        return status, self.app.stdout.getvalue()

    def keep(self, name, *inspections):
        """Let Ironic keep earlier inspections of a machine, newest first.

        :param inspections: a time, a machine, and whether it had changed.
        """
        path = f'/nodes/u-{name}/inventory/history'
        self.ironic.routes['GET', path] = (
            200,
            {
                'inventories': [
                    {
                        'uuid': f'i{number}',
                        'created_at': time,
                        'interface': 'agent',
                        'run': None,
                        'changed': changed,
                    }
                    for number, (time, _machine, changed) in enumerate(
                        inspections
                    )
                ]
            },
        )
        for number, (_time, machine, _changed) in enumerate(inspections):
            self.ironic.routes['GET', f'{path}/i{number}'] = (200, machine)

    def test_stored_inventories_are_compared(self):
        self.assertEqual((0, '8 machines compared, 0 odd\n'), self.show())
        self.assertEqual(
            'Without an inventory: 1 node\n', self.app.stderr.getvalue()
        )

    def test_odd_ones_are_told_by_name_or_uuid(self):
        self.machines['m02']['inventory']['cpu']['count'] = 4
        self.machines['m03']['inventory']['memory']['physical_mb'] = 1024
        status, text = self.show('-f', 'json')
        self.assertEqual(2, status)
        plain = json.loads(text)
        self.assertEqual(
            {'u-m02': 'processor', 'm03': 'memory'},
            {each['machine']: each['kind'] for each in plain['findings']},
        )
        self.assertNotIn('since', plain['findings'][0])

    def test_filters_and_options(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        status, text = self.show('driver=redfish', '--ignore', 'processor')
        self.assertEqual((0, '8 machines compared, 0 odd\n'), (status, text))
        self.assertEqual(
            'redfish',
            self.ironic.asked('GET', '/nodes')[0]['params']['driver'],
        )
        status, text = self.show('--min-peers', '9')
        self.assertIn('8 machines, which are too few', text)

    def test_filters_that_match_no_node_are_an_error(self):
        self.machines = {}
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': []})
        command = outliers.ShowOutliers(self.app, None)
        self.assertRaises(
            osc_exceptions.CommandError,
            command.take_action,
            command.get_parser('openstack').parse_args(['driver=typo']),
        )

    def test_a_node_that_is_deleted_meanwhile_is_not_learnt_from(self):
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        self.answer()
        gone = (404, {'error_message': 'no such node'})
        inventory = ('GET', '/nodes/u-m03/inventory')
        first_answer = self.ironic.routes[inventory]
        self.ironic.routes[inventory] = [first_answer, gone]
        command = outliers.ShowOutliers(self.app, None)
        parser = command.get_parser('openstack')
        status = command.take_action(parser.parse_args(['--learn', path]))
        self.assertEqual(0, status)
        with open(path, encoding='utf-8') as stream:
            self.assertTrue(yaml.safe_load(stream))

    def test_what_is_normal_is_learnt(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        status, _text = self.show('--learn', path)
        self.assertEqual(2, status)
        with open(path, encoding='utf-8') as stream:
            rules = yaml.safe_load(stream)
        self.assertEqual({'audit'}, {rule['mode'] for rule in rules})
        [count] = [
            rule
            for rule in rules
            if 'processors, count' in rule['description']
        ]
        self.assertIn(8, count['conditions'][-1]['args']['values'])

    def test_a_page(self):
        status, text = self.show('-f', 'html')
        self.assertTrue(text.startswith('<!DOCTYPE html>'))

    def since(self):
        status, text = self.show('--since', '2026-01-01', '-f', 'json')
        self.assertEqual(2, status)
        return {
            (each['machine'], each['kind']): each['since']
            for each in json.loads(text)['findings']
        }

    def test_it_is_said_since_when_a_machine_is_odd(self):
        whole = copy.deepcopy(self.machines['m03'])
        self.machines['m03']['inventory']['cpu']['count'] = 4
        first = copy.deepcopy(self.machines['m03'])
        self.machines['m03']['inventory']['memory']['physical_mb'] = 1024
        last = self.machines['m03']
        self.keep(
            'm03',
            ('2026-05-05', last, False),
            ('2026-05-04', last, True),
            ('2026-05-03', first, False),
            ('2026-05-02', first, True),
            ('2026-05-01', whole, False),
        )
        self.assertEqual(
            {
                ('m03', 'memory'): '2026-05-04',
                ('m03', 'processor'): '2026-05-02',
            },
            self.since(),
        )
        [asked] = self.ironic.asked('GET', '/nodes/u-m03/inventory/history')
        self.assertEqual('2026-01-01T00:00:00', asked['params']['since'])

    def asked(self, name):
        """Return the requests for kept inventories of a machine."""
        start = f'/nodes/u-{name}/inventory/history/'
        return [
            path
            for _method, path, _arguments in self.ironic.calls
            if path.startswith(start)
        ]

    def test_few_of_the_kept_inventories_are_asked_for(self):
        whole = copy.deepcopy(self.machines['m03'])
        self.machines['m03']['inventory']['cpu']['count'] = 4
        odd = self.machines['m03']
        for began in (1, 2, 20, 63):
            self.keep(
                'm03',
                *(
                    (
                        f'time {99 - step}',
                        odd if step < began else whole,
                        False,
                    )
                    for step in range(64)
                ),
            )
            before = len(self.asked('m03'))
            self.app.stdout.truncate(0)
            self.app.stdout.seek(0)
            self.assertEqual(
                {('m03', 'processor'): f'time {100 - began}'}, self.since()
            )
            self.assertLess(len(self.asked('m03')) - before, 8, repr(began))

    def test_one_that_is_kept_no_longer_counts_for_nothing(self):
        whole = copy.deepcopy(self.machines['m03'])
        self.machines['m03']['inventory']['cpu']['count'] = 4
        odd = self.machines['m03']
        self.keep(
            'm03',
            ('time 4', odd, False),
            ('time 3', odd, False),
            ('time 2', whole, False),
            ('time 1', whole, False),
        )
        del self.ironic.routes['GET', '/nodes/u-m03/inventory/history/i3']
        self.assertEqual({('m03', 'processor'): 'time 3'}, self.since())
        del self.ironic.routes['GET', '/nodes/u-m03/inventory/history/i2']
        self.app.stdout.truncate(0)
        self.app.stdout.seek(0)
        self.assertEqual({('m03', 'processor'): None}, self.since())

    def test_one_request_says_that_a_machine_was_always_odd(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.keep(
            'm03',
            *(
                (f'time {99 - step}', self.machines['m03'], False)
                for step in range(64)
            ),
        )
        self.assertEqual({('m03', 'processor'): None}, self.since())
        self.assertEqual(1, len(self.asked('m03')))

    def test_one_that_was_always_odd_has_no_time(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        odd = self.machines['m03']
        self.machines['m04']['inventory']['cpu']['count'] = 2
        self.keep('m03', ('2026-05-05', odd, True), ('2026-05-04', odd, False))
        self.assertEqual(
            {('m03', 'processor'): None, ('m04', 'processor'): None},
            self.since(),
        )
        self.app.stdout.truncate(0)
        self.app.stdout.seek(0)
        _status, text = self.show('--since', '30d')
        self.assertIn('longer', text)
