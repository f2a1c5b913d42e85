# SPDX-License-Identifier: Apache-2.0

"""What inspections found over time, through HTTP."""

import json
import re
import types
from urllib import parse

from ironic import objects
from ironic.common import context
from oslo_utils import uuidutils
import webob

from ironic_inspection_rules.runs import history
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import test_samples
from ironic_inspection_rules.tests.unit import base

UNKNOWN = '00000000-0000-4000-8000-00000000dead'


def found(disks, **more):
    return {
        'inventory': {
            'disks': [
                {
                    'name': f'/dev/sd{place}',
                    'serial': serial,
                    'by_path': f'path-{place}',
                }
                for place, serial in enumerate(disks)
            ],
            **more,
        },
        'plugin_data': {'seen': True},
        'event': 'inspection',
        'revision': 1,
        'result': 'ok',
        'error': None,
        'phases': {},
        'facts': {},
    }


def shape(answer):
    """Leave out what is another one each time: UUIDs, times, pages."""
    text = json.dumps(
        {name: value for name, value in answer.items() if name != 'next'}
    )
    return json.loads(
        re.sub(r'"[0-9a-f-]{36}"|"[-0-9]{10}T[0-9:.+]+"', '"x"', text)
    )


class HistoryTestCase(base.TestCase):
    options: dict = {}

    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application(self.options)).app
        self.nodes = [
            self.make_node(f'node{number}', owner)
            for number, owner in enumerate(
                (application.OWNER, 'somebody-else')
            )
        ]
        self.path = '/v1/nodes/node0/inventory/history'

    def make_node(self, name, owner):
        node = objects.Node(
            context.get_admin_context(),
            uuid=uuidutils.generate_uuid(),
            name=name,
            driver='fake-hardware',
            owner=owner,
        )
        node.create()
        return node

    def keep(self, document, node=None, interface='agent'):
        kept = history.prepare(
            uuidutils.generate_uuid(),
            types.SimpleNamespace(
                uuid=(node or self.nodes[0]).uuid, inspect_interface=interface
            ),
            document,
        )
        database.keep_inspection(kept)
        return kept.values['uuid']

    def get(self, path, status=200, user=None, version='1.96'):
        request = webob.Request.blank(
            path,
            headers={
                'X-OpenStack-Ironic-API-Version': version,
                **({'X-Auth-Token': user} if user else {}),
            },
        )
        response = request.get_response(self.app)
        self.assertEqual(status, response.status_int, response.text)
        return response.json if status != 401 else None


class InventoryHistoryTestCase(HistoryTestCase):
    def test_inventories_are_listed_newest_first(self):
        uuids = [
            self.keep(found(disks))
            for disks in (['S1', 'S2'], ['S1', 'S2'], ['S1', 'S3'])
        ]
        answer = self.get(self.path)

        self.assertEqual(['inventories'], list(answer))
        self.assertEqual(
            [(uuids[2], True), (uuids[1], False), (uuids[0], False)],
            [
                (each['uuid'], each['changed'])
                for each in answer['inventories']
            ],
        )
        self.assertEqual(
            {'uuid', 'created_at', 'interface', 'run', 'changed'},
            set(answer['inventories'][0]),
        )

    def test_times_say_that_they_are_utc(self):
        self.keep(found(['S1']))
        self.keep(found(['S2']))
        first = self.get(self.path)['inventories'][-1]['created_at']
        self.assertTrue(first.endswith('+00:00'), first)
        (part,) = self.get('/v1/inspection_parts?id=S1')['parts']
        self.assertEqual(
            [first, True], [part['from'], part['to'].endswith('+00:00')]
        )
        page = self.get(f'{self.path}?limit=1&since={parse.quote(first)}')
        self.assertEqual(
            first,
            self.get(page['next'].partition('localhost')[2])['inventories'][0][
                'created_at'
            ],
        )

    def test_they_come_page_by_page(self):
        uuids = [self.keep(found(['S1'])) for _ in range(3)][::-1]
        page = self.get(f'{self.path}?limit=2&since=2020-01-01T00:00:00')
        self.assertEqual(
            uuids[:2], [each['uuid'] for each in page['inventories']]
        )
        self.assertIn('since=2020', page['next'])
        rest = self.get(page['next'].partition('localhost')[2])
        self.assertEqual(
            uuids[2:], [each['uuid'] for each in rest['inventories']]
        )
        self.assertNotIn('next', rest)
        self.assertEqual(
            {'inventories': []}, self.get(f'{self.path}?since=2999-01-01')
        )

    def test_each_is_shown_as_it_was(self):
        uuid = self.keep(found(['S1']))
        self.keep(found(['S2']))

        document = found(['S1'])
        self.assertEqual(
            {name: document[name] for name in ('inventory', 'plugin_data')},
            self.get(f'{self.path}/{uuid}'),
        )

    def test_the_last_two_that_differ_are_compared(self):
        uuids = [
            self.keep(found(disks))
            for disks in (['S1', 'S2'], ['S1', 'S3'], ['S1', 'S3'])
        ]

        self.assertEqual(
            {
                'from': uuids[0],
                'to': uuids[1],
                'parts': [
                    {
                        'kind': 'disk',
                        'what': 'gone',
                        'id': 'S2',
                        'slot': 'path-1',
                        'before': {'id': 'S2', 'slot': 'path-1'},
                        'after': None,
                    },
                    {
                        'kind': 'disk',
                        'what': 'new',
                        'id': 'S3',
                        'slot': 'path-1',
                        'before': None,
                        'after': {'id': 'S3', 'slot': 'path-1'},
                    },
                ],
            },
            self.get(f'{self.path}/diff'),
        )
        self.assertEqual(
            [],
            self.get(f'{self.path}/diff?from={uuids[1]}&to={uuids[2]}')[
                'parts'
            ],
        )
        self.assertEqual(
            uuids[2], self.get(f'{self.path}/diff?from={uuids[0]}')['to']
        )

    def test_samples_are_what_the_api_answers(self):
        if not test_samples.SAMPLES.is_dir():
            self.skipTest('not a checkout: no API reference')
        self.keep(found(['S1', 'S2']))
        self.keep(found(['S1', 'S3']))
        for name, path in (
            ('inventory-history-list', f'{self.path}?limit=1'),
            ('inventory-history-diff', f'{self.path}/diff'),
            ('inspection-parts', '/v1/inspection_parts?id=S2'),
        ):
            resource, _dash, what = name.rpartition('-')
            self.assertEqual(
                shape(test_samples.sample(f'{what}-response', resource)),
                shape(self.get(path)),
            )

    def test_what_another_source_does_not_report_is_said(self):
        self.keep(found(['S1', 'S2']))
        self.keep({**found([]), 'inventory': {}}, interface='redfish')

        self.assertEqual(
            {'unreported'},
            {each['what'] for each in self.get(f'{self.path}/diff')['parts']},
        )

    def test_a_part_is_found_wherever_it_is(self):
        self.keep(found(['0x5000C5']))
        self.keep(found(['S9']))
        self.keep(found(['0x5000c5']), self.nodes[1])

        parts = self.get('/v1/inspection_parts?id=5000C5')['parts']
        self.assertEqual(
            [
                ('0x5000c5', 'disk', self.nodes[1].uuid, True),
                ('0x5000C5', 'disk', self.nodes[0].uuid, False),
            ],
            [
                (each['id'], each['kind'], each['node'], each['to'] is None)
                for each in parts
            ],
        )
        self.assertEqual(
            {'parts': []}, self.get('/v1/inspection_parts?id=nothing')
        )

    def keep_disk(self, **disk):
        document = found([])
        document['inventory']['disks'] = [disk]
        return self.keep(document)

    def find(self, identity):
        path = f'/v1/inspection_parts?id={parse.quote(identity)}'
        return [each['id'] for each in self.get(path)['parts']]

    def test_a_part_has_the_identity_that_was_asked_for(self):
        self.keep_disk(
            serial='S3Z9-Nb0',
            wwn='0x5002538E',
            wwn_with_extension='0x5002538E00AA',
        )

        self.assertEqual(['S3Z9-Nb0'], self.find('s3z9-nb0'))
        self.assertEqual(['0x5002538E00AA'], self.find('5002538e00aa'))

    def test_a_part_without_an_identity_has_no_id(self):
        plain, other = {'size': 100, 'model': 'M'}, {'size': 100, 'model': 'N'}
        for disk, ids in (
            (other, [None, None]),
            ({**other, 'serial': 'S1'}, ['S1']),
            (other, ['S1']),
        ):
            self.keep_disk(**plain)
            self.keep_disk(**disk)
            last = self.get(self.path)['inventories'][0]['uuid']
            parts = self.get(f'{self.path}/diff?to={last}')['parts']
            with self.subTest(disk=disk):
                self.assertEqual(ids, [each['id'] for each in parts])
            plain = disk

    def changes(self):
        """Return what is said of the last inspection."""
        last = self.get(self.path)['inventories'][0]['uuid']
        return [
            (
                each['what'],
                each['id'],
                each['before'] and each['before']['id'],
                each['after'] and each['after']['id'],
            )
            for each in self.get(f'{self.path}/diff?to={last}')['parts']
        ]

    def is_there(self, serial):
        return [
            each['to'] is None
            for each in self.get(f'/v1/inspection_parts?id={serial}')['parts']
        ]

    def test_a_part_belongs_to_a_serial_number_that_came_later(self):
        disk = {
            'name': '/dev/sda',
            'model': 'M',
            'size': 100000000000,
            'rotational': False,
            'vendor': 'V',
            'wwn': None,
        }
        self.keep_disk(**disk, serial=None)
        self.keep_disk(**disk, serial='W1')
        self.assertEqual([('unreported', 'W1', None, 'W1')], self.changes())
        self.assertEqual([True], self.is_there('W1'))
        self.keep_disk(**disk, serial='W1')
        self.assertEqual([], self.changes())
        self.keep_disk(**disk, serial='W2')
        self.assertEqual(
            [('gone', 'W1', 'W1', None), ('new', 'W2', None, 'W2')],
            self.changes(),
        )
        self.assertEqual(
            [[False], [True]], [self.is_there('W1'), self.is_there('W2')]
        )
        self.keep(found([]))
        self.assertEqual([('gone', 'W2', 'W2', None)], self.changes())
        self.assertEqual([False], self.is_there('W2'))

    def test_so_it_does_if_redfish_does_not_report_it(self):
        plain = {'name': 'Disk 1', 'size': 100, 'model': 'M', 'serial': None}
        for interface, serial, changes in (
            ('redfish', None, []),
            ('agent', 'W1', [('unreported', 'W1', None, 'W1')]),
            ('redfish', None, [('unreported', 'W1', 'W1', None)]),
            ('redfish', None, []),
            ('agent', 'W1', []),
            (
                'agent',
                'W2',
                [('gone', 'W1', 'W1', None), ('new', 'W2', None, 'W2')],
            ),
            ('redfish', None, [('unreported', 'W2', 'W2', None)]),
        ):
            document = found([])
            document['inventory']['disks'] = [{**plain, 'serial': serial}]
            self.keep(document, interface=interface)
            if changes:
                self.assertEqual(changes, self.changes())
        self.assertEqual(
            [[False], [True]], [self.is_there('W1'), self.is_there('W2')]
        )

    def test_a_part_went_when_it_was_last_found(self):
        times = []
        for interface, serial in (
            ('agent', 'W1'),
            ('redfish', None),
            ('agent', 'W2'),
        ):
            document = found([])
            document['inventory']['disks'] = [{'size': 1, 'serial': serial}]
            self.keep(document, interface=interface)
            times.append(self.get(self.path)['inventories'][0]['created_at'])
        (stay,) = self.get('/v1/inspection_parts?id=W1')['parts']
        self.assertEqual(times[0], stay['to'])

    def test_a_serial_number_is_the_same_as_text_and_as_a_number(self):
        for plugin_data in (
            {
                'dmi': {
                    'memory': {
                        'devices': [
                            {'Size': '8 GB', 'Serial Number': '00665532'}
                        ]
                    }
                }
            },
            {
                'extra': {
                    'memory': {
                        'total': {'size': 8},
                        'bank:0': {'size': 8, 'serial': 665532},
                    }
                }
            },
        ):
            self.keep({**found([]), 'plugin_data': plugin_data})

        self.assertEqual([], self.changes())
        for asked in ('00665532', '665532'):
            (stay,) = self.get(f'/v1/inspection_parts?id={asked}')['parts']
            self.assertEqual(
                ('00665532', 'dimm', None),
                (stay['id'], stay['kind'], stay['to']),
            )

    def test_what_is_not_there_is_404_and_what_is_wrong_400(self):
        uuid = self.keep(found(['S1']))
        for path, status in (
            (f'{self.path}/{UNKNOWN}', 404),
            (f'{self.path}/nonsense', 400),
            (f'{self.path}?marker={UNKNOWN}', 404),
            (f'{self.path}?since=yesterday', 400),
            (f'{self.path}?limit=-1', 400),
            (f'{self.path}?sort_key=x', 400),
            (f'{self.path}/diff', 404),
            (f'{self.path}/diff?from={UNKNOWN}&to={uuid}', 404),
            (f'{self.path}/diff?from=x', 400),
            ('/v1/nodes/none/inventory/history', 404),
            (f'/v1/nodes/node1/inventory/history/{uuid}', 404),
            ('/v1/inspection_parts', 400),
            ('/v1/inspection_parts?id=', 400),
            ('/v1/inspection_parts?id=x&id=y', 400),
        ):
            self.assertIn('error_message', self.get(path, status), path)
        self.get(self.path, 404, version='1.95')


class WithPoliciesTestCase(HistoryTestCase):
    options = {'DEFAULT': {'auth_strategy': 'keystone'}}

    def test_parts_are_found_only_in_nodes_that_may_be_seen(self):
        for node in self.nodes:
            self.keep(found(['S1']), node)
        path = '/v1/inspection_parts?id=s1'

        self.assertEqual(2, len(self.get(path, user='admin')['parts']))
        self.assertEqual(2, len(self.get(path, user='reader')['parts']))
        self.assertEqual(
            [self.nodes[0].uuid],
            [
                each['node']
                for each in self.get(path, user='owner-reader')['parts']
            ],
        )
        self.assertEqual([], self.get(path, user='member')['parts'])
        self.get(self.path, 401)
        self.get(path, 401)

    def test_who_may_not_see_the_inventory_sees_no_history(self):
        self.keep(found(['S1']))

        self.get(self.path, user='reader')
        self.get(self.path, 404, user='member')
        self.get(f'{self.path}/diff', 404, user='member')
