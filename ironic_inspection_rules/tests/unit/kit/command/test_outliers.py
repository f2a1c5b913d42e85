# SPDX-License-Identifier: Apache-2.0

"""The command that shows machines unlike their peers."""

import contextlib
import io
import json
import sys

from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.machine.outliers import test_peers


class OutliersTestCase(test_shell.CallTestCase):

    def setUp(self):
        super().setUp()
        self.machines = test_peers.fleet(8)
        self.folder = str(self.directory / 'fleet')

    def write_all(self):
        return {name: self.write(f'fleet/{name}.json', machine)
                for name, machine in self.machines.items()}

    def test_nothing_is_odd(self):
        self.write_all()
        self.assertEqual((0, '8 machines compared, 0 odd\n'),
                         self.call('outliers', self.folder))

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
        self.assertEqual([(paths['m03'], 'processor', None)], [
            (each['machine'], each['kind'], each['slot'])
            for each in plain['findings']])
        self.assertEqual({'findings', 'kinds', 'skipped', 'groups'},
                         set(plain))

    def test_many_files_are_read_on_all_processors(self):
        self.machines = test_peers.fleet(60)
        self.machines['m55']['inventory']['cpu']['count'] = 4
        paths = self.write_all()
        code, output = self.call('outliers', self.folder, '-f', 'json')
        self.assertEqual([paths['m55']], [
            each['machine'] for each in json.loads(output)['findings']])

    def test_what_is_ignored_is_not_odd(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.write_all()
        for words in ((self.folder, '--ignore', 'processor', 'flag'),
                      ('--ignore', 'flag', 'processor', self.folder)):
            self.assertEqual((0, '8 machines compared, 0 odd\n'),
                             self.call('outliers', *words))

    def test_peers_are_as_one_says(self):
        self.machines['m03']['inventory']['cpu']['count'] = 4
        self.write_all()
        for field in ('inventory.cpu.count', '/inventory/cpu/count',
                      '{inventory.cpu.count}'):
            code, output = self.call('outliers', '--by', field, self.folder)
            self.assertEqual(
                (0, '4: not compared, 1 machine, which are too few\n'
                    '7 machines compared, 0 odd\n'), (code, output))
        code, output = self.call('outliers', self.folder, '--min-peers', '9')
        self.assertEqual(0, code)
        self.assertIn('8 machines, which are too few', output)

    def test_kinds_are_listed(self):
        self.machines = test_peers.fleet(12)
        for name in list(self.machines)[:5]:
            self.machines[name]['inventory']['memory']['physical_mb'] = 1024
        self.write_all()
        code, output = self.call('outliers', self.folder)
        self.assertEqual(0, code)
        self.assertIn('Acme One: there are 2 kinds\n'
                      '  7 machines: inventory.memory.physical_mb: 512 GiB\n'
                      '  5 machines: inventory.memory.physical_mb: 1 GiB\n',
                      output)

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
        self.assertEqual(['-'], [each['machine'] for each
                                 in json.loads(output)['findings']])

    def test_wrong_usage(self):
        self.write_all()
        for words in (('--ignore', 'fan'), ('--by', 'cpu'),
                      ('--by', 'node.name'), ('--min-peers', '0')):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                code, _output = self.call('outliers', self.folder, *words)
            self.assertEqual(64, code)
            self.assertIn('usage:', errors.getvalue())

    def test_the_result_may_be_a_file(self):
        self.write_all()
        path = self.directory / 'found.json'
        self.assertEqual((0, ''), self.call('outliers', self.folder, '-f',
                                            'json', '-o', str(path)))
        self.assertEqual([], json.loads(path.read_text())['findings'])

    def test_nothing_a_machine_sends_moves_the_cursor(self):
        self.machines['m03']['inventory']['cpu']['model_name'] = 'x\x1b[2J'
        for machine in self.machines.values():
            machine['inventory']['cpu'].setdefault('model_name', 'y')
        self.write_all()
        _code, output = self.call('outliers', self.folder)
        self.assertNotIn('\x1b', output)
        self.assertIn('\\x1b', output)
