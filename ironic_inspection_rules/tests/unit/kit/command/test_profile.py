# SPDX-License-Identifier: Apache-2.0

"""The command that writes rules for machines like some good ones."""

import contextlib
import io

import yaml

from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.rule_file import files

GOOD = {
    'inventory': {
        **files.INVENTORY,
        'memory': {'physical_mb': 4096},
        'system_vendor': {'product_name': 'R7 '},
    }
}


class ProfileTestCase(test_shell.CallTestCase):
    def test_rules_are_written_that_accept_the_machine(self):
        good = self.write('good/a.json', GOOD)
        rules = str(self.directory / 'rules.yaml')
        self.assertEqual(
            (0, ''),
            self.call('profile', str(self.directory / 'good'), '-o', rules),
        )
        self.assertEqual((0, ''), self.call('lint', rules))
        code, _output = self.call('test', rules, '--inventory', good)
        self.assertEqual(0, code)

    def test_they_are_called_as_the_product_or_as_one_says(self):
        good = self.write('a.json', GOOD)
        for options, name in (((), 'R7'), (('--name', 'b 7'), 'b 7')):
            _code, output = self.call('profile', good, *options)
            self.assertIn(f'like {name}. Made from 1 inventory by', output)
            self.assertEqual(
                f'{name}: begin', yaml.safe_load(output)[0]['description']
            )

    def test_numbers_that_no_machine_has_are_no_sizes(self):
        large = 10**400
        inventory = {
            **GOOD['inventory'],
            'memory': {'physical_mb': large},
            'disks': [{'name': '/dev/sda', 'size': large}],
            'cpu': {'count': large},
        }
        path = self.write('a.json', {'inventory': inventory})
        for options in ((), ('--tolerance', 'memory=5%', 'disks=1%')):
            code, output = self.call('profile', path, *options)
            self.assertEqual(0, code, output)

    def test_nothing_stands_for_something_else(self):
        good = self.write('a.json', GOOD)
        for mismatch in ('fail', 'trait', 'audit'):
            _code, output = self.call(
                'profile', good, '--on-mismatch', mismatch
            )
            self.assertNotIn('&id', output)

    def test_only_what_was_seen_is_accepted_where_that_is_wanted(self):
        def machine(name, memory, disks):
            return self.write(
                name,
                {
                    'inventory': {
                        **files.INVENTORY,
                        'memory': {'physical_mb': memory},
                        'disks': [
                            {
                                'name': f'/dev/sd{each}',
                                'size': size * 10**9,
                                'model': f'M{size}',
                            }
                            for each, size in enumerate(disks)
                        ],
                    }
                },
            )

        good = [
            machine('good/a.json', 32768, [480]),
            machine('good/b.json', 131072, [480, 480, 480]),
        ]
        rules = str(self.directory / 'rules.yaml')
        dead = machine('dead.json', 65536, [480])
        fewer = machine('fewer.json', 32768, [480, 480])
        for tolerances, codes in (
            (('memory=observed', 'disks=observed'), [0, 0, 2, 2]),
            (('memory=observed',), [0, 0, 2, 0]),
            ((), [0, 0, 0, 0]),
        ):
            self.assertEqual(
                0,
                self.call(
                    'profile',
                    *good,
                    '-o',
                    rules,
                    *(['--tolerance', *tolerances] if tolerances else []),
                )[0],
            )
            self.assertEqual(
                codes,
                [
                    self.call('test', rules, '--inventory', each)[0]
                    for each in (*good, dead, fewer)
                ],
            )

    def test_observed_is_no_number(self):
        good = self.write('a.json', GOOD)
        for wrong in (
            ('memory=observed', 'memory=5%'),
            ('fans=observed',),
            ('memory=seen',),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                code, _output = self.call(
                    'profile', good, '--tolerance', *wrong
                )
            self.assertEqual(1, code)
            self.assertIn(wrong[0].partition('=')[0], errors.getvalue())

    def test_a_bad_tolerance_ends_with_one(self):
        good = self.write('a.json', GOOD)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code, _output = self.call('profile', good, '--tolerance', 'fans=2')
        self.assertEqual(1, code)
        self.assertIn('fans=2', errors.getvalue())
