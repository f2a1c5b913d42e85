# SPDX-License-Identifier: Apache-2.0

import json
import os
import pathlib
from unittest import mock

import fixtures
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.osc import inspection_data
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

UUIDS = [f'9f6c1d0e-7b3a-4d52-8c11-0e5f4a3b2c1{digit}' for digit in '0123']
NODES = [
    {'uuid': uuid, 'name': name}
    for uuid, name in zip(
        UUIDS, ('rack1-07', None, '../up', 'new'), strict=True
    )
]


def stored(number):
    return 200, {
        'inventory': {
            'hostname': 'rack1-07',
            'interfaces': [{'mac_address': f'ac:1f:6b:00:00:0{number}'}],
        },
        'plugin_data': {'inspection_rules': {}, 'kept': number},
    }


class ExportInspectionDataTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ironic = fakes.Ironic()
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': NODES})
        for number, uuid in enumerate(UUIDS[:3]):
            self.ironic.routes['GET', f'/nodes/{uuid}/inventory'] = stored(
                number
            )
        self.scratch = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.directory = self.scratch / 'deep' / 'machines'
        self.app = fakes.App(self.ironic)

    def export(self, *arguments):
        command = inspection_data.ExportInspectionData(self.app, None)
        return command.run(
            command.get_parser('openstack').parse_args(
                [str(self.directory), *arguments]
            )
        )

    def texts(self):
        return {
            path.name: path.read_text() for path in self.directory.iterdir()
        }

    def test_a_full_disk_is_told_with_the_file(self):
        if not os.path.exists('/dev/full'):
            self.skipTest('no device that is always full')
        self.directory.mkdir(parents=True)
        part = self.directory / 'rack1-07.part'
        part.symlink_to('/dev/full')
        error = self.assertRaises(
            OSError, self.export, '--force', '--jobs', '1'
        )
        self.assertIn(str(part), str(error))
        # Nothing unfinished is left.
        self.assertEqual([], os.listdir(self.directory))

    def test_a_closed_pipe_is_no_problem_of_a_file(self):
        # cliff ends a command as SIGPIPE does if it raises this error.
        self.app.stdout = mock.Mock(
            isatty=lambda: False, write=mock.Mock(side_effect=BrokenPipeError)
        )
        self.assertRaises(BrokenPipeError, self.export)

    def test_the_files_are_those_that_rules_are_tried_on(self):
        self.assertFalse(self.export('resource_class=baremetal'))
        self.assertEqual(
            {'rack1-07.json', f'{UUIDS[1]}.json', f'_up-{UUIDS[2]}.json'},
            set(self.texts()),
        )
        paths = machine_test.find_inventories([str(self.directory)])
        self.assertEqual(
            [{'kept': 1}, {'kept': 2}, {'kept': 0}],
            [machine_file.load(path).plugin_data for path in paths],
        )
        self.assertIn('3 inventories', self.app.stdout.getvalue())
        self.assertIn(
            'Without an inventory: 1 node\n', self.app.stderr.getvalue()
        )
        self.assertEqual({'deep'}, set(os.listdir(self.scratch)))

    def test_of_a_machine_that_failed_the_kept_data_are_written(self):
        runs = f'/nodes/{UUIDS[3]}/inspection_runs'
        self.ironic.routes['GET', runs] = (
            200,
            {'inspection_runs': [{'uuid': 'r', 'result': 'failed'}]},
        )
        self.ironic.routes['GET', f'{runs}/r'] = (
            200,
            {'inventory': {'hostname': 'new'}, 'plugin_data': {'kept': 3}},
        )
        # One that passed, and one of which nothing is kept.
        for number, result in ((0, 'ok'), (1, 'failed')):
            runs = f'/nodes/{UUIDS[number]}/inspection_runs'
            self.ironic.routes['GET', runs] = (
                200,
                {'inspection_runs': [{'uuid': 'r', 'result': result}]},
            )
            self.ironic.routes['GET', f'{runs}/r'] = (
                200,
                {'inventory': None, 'plugin_data': None},
            )
        self.export()
        self.assertEqual(
            {'hostname': 'new'},
            machine_file.load(str(self.directory / 'new.json')).inventory,
        )
        self.assertIn('4 inventories', self.app.stdout.getvalue())

    def test_who_may_not_read_runs_gets_the_stored_inventories(self):
        forbidden = (403, {'error_message': 'not yours'})
        # The list of runs of one node, the run of another, and both a list of
        # runs and the inventory that the fourth node does not have.
        for number in (0, 3):
            self.ironic.routes[
                'GET', f'/nodes/{UUIDS[number]}/inspection_runs'
            ] = forbidden
        runs = f'/nodes/{UUIDS[1]}/inspection_runs'
        self.ironic.routes['GET', runs] = (
            200,
            {'inspection_runs': [{'uuid': 'r', 'result': 'failed'}]},
        )
        self.ironic.routes['GET', f'{runs}/r'] = forbidden
        self.assertFalse(self.export())
        self.assertEqual(
            {'rack1-07.json', f'{UUIDS[1]}.json', f'_up-{UUIDS[2]}.json'},
            set(self.texts()),
        )
        self.assertIn('3 inventories', self.app.stdout.getvalue())
        self.assertEqual(
            'Without an inventory: 1 node\n'
            'Warning: the runs of 3 nodes may not be read, so the data of '
            'failed inspections are left out\n',
            self.app.stderr.getvalue(),
        )

    def test_who_may_not_read_inventories_is_refused(self):
        self.ironic.routes['GET', '/traits'] = (200, {'traits': []})
        message = json.dumps({'faultstring': 'not yours'})
        for path in ('inspection_runs', 'inventory'):
            self.ironic.routes['GET', f'/nodes/{UUIDS[0]}/{path}'] = (
                403,
                {'error_message': message},
            )
        error = self.assertRaises(osc_exceptions.CommandError, self.export)
        self.assertEqual('not yours', str(error))

    def test_filters_reach_ironic(self):
        self.export('resource_class=baremetal')
        self.assertEqual(
            [
                {
                    'params': {
                        'resource_class': 'baremetal',
                        'fields': 'uuid,name',
                    }
                }
            ],
            self.ironic.asked('GET', '/nodes'),
        )

    def test_filters_that_match_no_node_are_an_error(self):
        self.ironic.routes['GET', '/nodes'] = (200, {'nodes': []})
        error = self.assertRaises(
            osc_exceptions.CommandError, self.export, 'driver=typo'
        )
        self.assertEqual('No node matches driver=typo', str(error))

    def test_options_may_stand_before_filters(self):
        self.export(
            '--jobs', '2', 'resource_class=baremetal', '--force', 'driver=ipmi'
        )
        [asked] = self.ironic.asked('GET', '/nodes')
        self.assertEqual(
            {
                'resource_class': 'baremetal',
                'driver': 'ipmi',
                'fields': 'uuid,name',
            },
            asked['params'],
        )

    def test_anonymous_files_say_no_name_not_even_their_own(self):
        self.export('--anonymize')
        texts = self.texts()
        self.assertEqual(3, len(texts))
        for canary in (*UUIDS, 'rack1', ':00:00:0'):
            self.assertNotIn(canary, ''.join(texts))
            self.assertNotIn(canary, ''.join(texts.values()))

    def test_a_key_gives_the_same_files_again(self):
        key = self.scratch / 'key'
        key.write_bytes(b'sixteen bytes ok')
        for directory in ('one', 'two', 'three'):
            self.directory = self.scratch / directory
            self.export(
                '--anonymize',
                *(['--key', str(key)] if directory != 'three' else []),
            )
        texts = []
        for directory in ('one', 'two', 'three'):
            self.directory = self.scratch / directory
            texts.append(self.texts())
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_a_short_key_is_refused(self):
        key = self.scratch / 'key'
        key.write_bytes(b'short')
        self.assertRaises(
            osc_exceptions.CommandError,
            self.export,
            '--anonymize',
            '--key',
            str(key),
        )
        self.assertRaises(
            osc_exceptions.CommandError, self.export, '--key', str(key)
        )

    def test_files_that_are_there_are_not_overwritten_unasked(self):
        self.directory.mkdir(parents=True)
        mine = self.directory / 'rack1-07.json'
        mine.write_text('mine')
        self.assertRaises(osc_exceptions.CommandError, self.export)
        self.assertEqual('mine', mine.read_text())
        self.export('--force')
        self.assertIn('kept', json.loads(mine.read_text())['plugin_data'])

    def test_a_directory_that_is_not_listed_needs_force(self):
        with mock.patch.object(
            pathlib.Path,
            'iterdir',
            autospec=True,
            side_effect=PermissionError('no'),
        ):
            self.assertRaises(PermissionError, self.export)
            self.assertFalse(self.export('--force'))
        self.assertIn('rack1-07.json', self.texts())

    def test_a_name_in_other_letters_does_not_hide_a_file(self):
        self.ironic.routes['GET', '/nodes'] = (
            200,
            {
                'nodes': [
                    {'uuid': UUIDS[0], 'name': 'one'},
                    {'uuid': UUIDS[1], 'name': 'ONE'},
                ]
            },
        )
        self.export()
        self.assertEqual(
            {'one.json', f'ONE-{UUIDS[1]}.json'}, set(self.texts())
        )
