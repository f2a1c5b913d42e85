# SPDX-License-Identifier: Apache-2.0

"""The command that shows machines unlike their peers."""

import contextlib
import io
import json
import random
import sys

from ironic_inspection_rules.tests import odd_fleet
from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.machine.outliers import test_peers


class OutliersTestCase(test_shell.CallTestCase):
    def setUp(self):
        super().setUp()
        self.machines = test_peers.fleet(8)
        self.folder = str(self.directory / 'fleet')

    def write_all(self):
        return {
            name: self.write(f'fleet/{name}.json', machine)
            for name, machine in self.machines.items()
        }

    def test_nothing_is_odd(self):
        self.write_all()
        self.assertEqual(
            (0, '8 machines compared, 0 odd\n'),
            self.call('outliers', self.folder),
        )

    def test_odd_ones_are_told_and_end_with_two(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        paths = self.write_all()
        code, output = self.call('outliers', self.folder)
        self.assertEqual(2, code)
        self.assertIn('count 4, 7 of 8 have count 8', output)
        self.assertIn(paths['m03'], output)
        self.assertIn('8 machines compared, 1 odd\n', output)
        code, output = self.call('outliers', '-f', 'json', *paths.values())
        self.assertEqual(2, code)
        plain = json.loads(output)
        self.assertEqual(
            [(paths['m03'], 'processor', None)],
            [
                (each['machine'], each['kind'], each['slot'])
                for each in plain['findings']
            ],
        )
        self.assertEqual(
            {'findings', 'kinds', 'skipped', 'groups'}, set(plain)
        )

    def test_many_files_are_read_on_all_processors(self):
        self.machines = test_peers.fleet(60)
        self.machines['m55']['inventory']['cpu']['count'] = 4
        paths = self.write_all()
        code, output = self.call('outliers', self.folder, '-f', 'json')
        self.assertEqual(
            [paths['m55']],
            [each['machine'] for each in json.loads(output)['findings']],
        )

    def test_what_is_ignored_is_not_odd(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.write_all()
        for words in (
            (self.folder, '--ignore', 'processor', 'flag'),
            ('--ignore', 'flag', 'processor', self.folder),
        ):
            self.assertEqual(
                (0, '8 machines compared, 0 odd\n'),
                self.call('outliers', *words),
            )

    def test_peers_are_as_one_says(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.write_all()
        for field in (
            'inventory.cpu.count',
            '/inventory/cpu/count',
            '{inventory.cpu.count}',
        ):
            code, output = self.call('outliers', '--by', field, self.folder)
            self.assertEqual(
                (
                    0,
                    '4: not compared, 1 machine, which is too few\n'
                    '7 machines compared, 0 odd\n',
                ),
                (code, output),
            )
        code, output = self.call('outliers', self.folder, '--min-peers', '9')
        self.assertEqual(0, code)
        self.assertIn('8 machines, which are too few', output)

    def test_a_path_that_no_machine_reports_is_said(self):
        self.write_all()
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.call(
                'outliers',
                '--by',
                'inventory.cpu.count',
                'inventory.typo.name',
                '-o',
                str(self.directory / 'out'),
                '--',
                self.folder,
            )
        self.assertIn('inventory.typo.name', errors.getvalue())
        self.assertNotIn('inventory.cpu.count', errors.getvalue())

    def test_kinds_are_listed(self):
        self.machines = test_peers.fleet(12)
        for name in list(self.machines)[:5]:
            self.machines[name]['inventory']['memory']['physical_mb'] = 1024
        self.write_all()
        code, output = self.call('outliers', self.folder)
        self.assertEqual(0, code)
        self.assertIn(
            'Acme One: there are 2 kinds\n'
            '  7 machines: inventory.memory.physical_mb: 512 GiB\n'
            '  5 machines: inventory.memory.physical_mb: 1 GiB\n',
            output,
        )

    def learn(self, *words):
        """Return the path of the rules, and how many each machine breaks."""
        paths = self.write_all()
        rules = str(self.directory / 'rules.yaml')
        _code, output = self.call(
            'outliers', self.folder, '--learn', rules, *words
        )
        self.assertIn('machines compared', output)
        code, output = self.call('lint', rules, '-f', 'json')
        self.assertEqual(0, code, output)
        self.assertEqual(
            {'note'}, {'note'} | {each['level'] for each in json.loads(output)}
        )
        code, output = self.call(
            'test', rules, '--inventory', self.folder, '-f', 'json'
        )
        self.assertEqual(0, code, output)
        broken = {}
        for name, tried in zip(sorted(paths), json.loads(output), strict=True):
            for rule in tried['audit']:
                if rule['matched']:
                    broken[name] = broken.get(name, 0) + 1
        return broken

    def test_rules_accept_all_machines_but_the_odd_ones(self):
        draw = random.Random(4)
        for number in (1, 2):
            made = odd_fleet.group(draw, number, 12, 0)
            self.machines.update(
                (name, machine.inventory())
                for name, machine in made.machines.items()
            )
        self.machines['m1-0004']['inventory']['memory']['physical_mb'] //= 2
        self.machines['m2-0006']['inventory']['disks'].pop()
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.assertEqual({'m03', 'm1-0004', 'm2-0006'}, set(self.learn()))

    def test_what_lies_between_two_kinds_is_not_accepted(self):
        self.machines = test_peers.fleet(20)
        for name in list(self.machines)[:9]:
            self.machines[name]['inventory']['memory']['physical_mb'] = 1024
        self.machines['m12']['inventory']['memory']['physical_mb'] = 2048
        self.assertEqual({'m12'}, set(self.learn()))

    def test_rules_are_for_machines_of_the_group_only(self):
        for name in ('m01', 'm02', 'm03'):
            self.machines[name]['plugin_data']['extra'] = {
                'system': {'motherboard': {'name': "B'1"}}
            }
        self.machines['m07']['inventory']['memory']['physical_mb'] = 2048
        other = test_peers.plain(9, cpu={'count': 1})
        other['inventory']['system_vendor']['product_name'] = 'Two'
        self.machines['other'] = other
        self.assertEqual({'m07'}, set(self.learn()))
        self.assertEqual(
            {'m07'},
            set(
                self.learn(
                    '--by',
                    '/inventory/system_vendor/manufacturer',
                    'inventory.cpu.count',
                )
            ),
        )

    def test_a_file_that_cannot_be_read_ends_with_one(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.write_all()
        self.write('fleet/other.json', {'rules': []})
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, output = self.call('outliers', self.folder)
        self.assertEqual(1, code)
        self.assertIn('other.json', errors.getvalue())
        self.assertIn('count 4, 7 of 8 have count 8', output)

    def test_one_may_be_piped_in(self):
        self.write_all()
        odd = test_peers.plain(9, cpu={'count': 2})
        self.patch(sys, 'stdin', io.StringIO(json.dumps(odd)))
        code, output = self.call('outliers', self.folder, '-', '-f', 'json')
        self.assertEqual(2, code)
        self.assertEqual(
            ['-'], [each['machine'] for each in json.loads(output)['findings']]
        )

    def test_wrong_usage(self):
        self.write_all()
        for words in (
            ('--ignore', 'fan'),
            ('--by', 'cpu'),
            ('--by', 'node.name'),
            ('--min-peers', '0'),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                code, _output = self.call('outliers', self.folder, *words)
            self.assertEqual(64, code)
            self.assertIn('usage:', errors.getvalue())

    def test_the_result_may_be_a_file(self):
        self.write_all()
        path = self.directory / 'found.json'
        self.assertEqual(
            (0, ''),
            self.call('outliers', self.folder, '-f', 'json', '-o', str(path)),
        )
        self.assertEqual([], json.loads(path.read_text())['findings'])

    def test_nothing_a_machine_sends_moves_the_cursor(self):
        self.machines['m03']['inventory']['cpu']['model_name'] = 'x\x1b[2J'
        for machine in self.machines.values():
            machine['inventory']['cpu'].setdefault('model_name', 'y')
        self.write_all()
        _code, output = self.call('outliers', self.folder)
        self.assertNotIn('\x1b', output)
        self.assertIn('\\x1b', output)

    def test_a_page_for_a_browser(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.write_all()
        path = self.directory / 'odd.html'
        self.assertEqual(
            (2, ''),
            self.call('outliers', self.folder, '-f', 'html', '-o', str(path)),
        )
        page = path.read_text()
        self.assertTrue(page.startswith('<!DOCTYPE html>'))
        self.assertIn('count 4', page)
