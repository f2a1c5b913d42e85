# SPDX-License-Identifier: Apache-2.0

"""A table beside the stored inventories of nodes, through the API."""

from urllib import parse

from ironic import objects
from ironic.common import context
from ironic.common import policy
from oslo_policy import policy as oslo_policy
import webob

from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

PIN = 'canary-of-a-pin'
TABLE = {
    'key': '{serial | trim | upper}',
    'of': '{inventory.system_vendor.serial_number | trim | upper}',
    'secret': ['pin'],
    'expect': {'cpus': '{inventory.cpu.count}', 'pin': '{inventory.pin}'},
    'rows': [
        {'serial': 'sn-one', 'pin': PIN, 'cpus': 4},
        {'serial': 'sn-two', 'pin': PIN, 'cpus': 4},
        {'serial': 'sn-three', 'cpus': 4},
        {'serial': '7', 'cpus': 4},
        {'serial': 'sn-gone', 'cpus': 4},
    ],
}


def uuid_of(number):
    return f'{number:08}-0000-4000-8000-00000000000a'


class Base(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(
            application.Application({'DEFAULT': {'auth_strategy': 'keystone'}})
        ).app
        self.admin = context.get_admin_context()
        self.count = 0
        self.put(machines=TABLE)

    def call(self, method, path, body=None, status=200, user='admin'):
        request = webob.Request.blank(
            path,
            method=method,
            headers={
                'X-OpenStack-Ironic-API-Version': '1.96',
                'X-Auth-Token': user,
            },
        )
        if body is not None:
            request.content_type = 'application/json'
            request.json = body
        answer = request.get_response(self.app)
        self.assertEqual(status, answer.status_int, answer.text[:2000])
        self.assertNotIn(PIN, answer.text)
        return answer.json if answer.body else None

    def put(self, **tables):
        self.call(
            'PUT', '/v1/inspection_rules', {'rules': [], 'tables': tables}
        )

    def enroll(self, serial=None, cpus=4, owner=None, **inventory):
        """Have a node with a stored inventory, and return its UUID."""
        self.count += 1
        node = objects.Node(
            self.admin,
            uuid=uuid_of(self.count),
            driver='fake-hardware',
            owner=owner,
            name=f'n{self.count}',
        )
        node.create()
        objects.NodeInventory(
            self.admin,
            node_id=node.id,
            plugin_data={},
            inventory_data={
                'system_vendor': {'serial_number': serial},
                'cpu': {'count': cpus},
                **inventory,
            },
        ).create()
        return node.uuid

    def machines(self, query='', table='machines', **options):
        return self.call(
            'GET', f'/v1/inspection_tables/{table}/machines{query}', **options
        )

    def states(self, query='', **options):
        return [
            (found['key'], found['node'], found['state'])
            for found in self.machines(query, **options)['machines']
        ]


class StateTestCase(Base):
    def setUp(self):
        super().setUp()
        self.right = self.enroll(' sn-one', pin=PIN)
        self.wrong = self.enroll('SN-TWO', cpus=8, pin='other')
        self.twins = [self.enroll('SN-THREE'), self.enroll('sn-three')]
        self.short = self.enroll('7')
        self.other = self.enroll('SN-OTHER')
        self.nameless = [
            self.enroll('NA'),
            self.enroll('To be filled by O.E.M.'),
            self.enroll(None),
            self.enroll(''),
        ]
        node = objects.Node(
            self.admin, uuid=uuid_of(99), driver='fake-hardware'
        )
        node.create()

    def test_rows_in_their_order_then_machines_that_no_row_names(self):
        self.assertEqual(
            [
                ('SN-ONE', self.right, 'right'),
                ('SN-TWO', self.wrong, 'wrong'),
                *(('SN-THREE', twin, 'twice') for twin in self.twins),
                ('7', self.short, 'right'),
                ('SN-GONE', None, 'missing'),
                ('SN-OTHER', self.other, 'unexpected'),
                *((None, node, 'twice') for node in self.nameless),
            ],
            self.states(),
        )

    def test_key_of_one_character_is_that_of_its_row(self):
        self.assertIn(('7', self.short, 'right'), self.states())

    def test_one_state(self):
        everything = self.states()
        for state in ('missing', 'unexpected', 'wrong', 'twice', 'right'):
            wanted = [found for found in everything if found[2] == state]
            self.assertTrue(wanted, repr(state))
            self.assertEqual(wanted, self.states(f'?state={state}'))
        self.machines('?state=wrnog', status=400)

    def test_differences_without_secrets(self):
        (found,) = self.machines('?state=wrong')['machines']
        self.assertEqual(
            [
                {'column': 'cpus', 'expected': 4, 'found': 8},
                {'column': 'pin', 'expected': '******', 'found': '******'},
            ],
            found['differences'],
        )

    def test_pages_are_the_whole(self):
        for query in ('', 'state=twice'):
            wanted = self.states(f'?{query}')
            read = []
            page = f'?limit=2&{query}'
            while page:
                answer = self.machines(page)
                self.assertLessEqual(len(answer['machines']), 2, repr(query))
                read += [
                    (found['key'], found['node'], found['state'])
                    for found in answer['machines']
                ]
                following = answer.get('next')
                page = following and f'?{parse.urlparse(following).query}'
            self.assertEqual(wanted, read)

    def test_last_page_says_that_it_is_the_last(self):
        for query in ('', '?limit=100', '?limit=2&marker=100'):
            self.assertIn('next', self.machines(query), repr(query))
            self.assertIsNone(self.machines(query)['next'], repr(query))

    def test_bad_pages(self):
        for query in (
            'limit=0',
            'limit=-1',
            'limit=x',
            'marker=x',
            'marker=-1',
            'nothing=1',
        ):
            self.machines(f'?{query}', status=400)
        self.assertEqual([], self.states('?marker=100'))

    def test_unknown_table_with_its_near_name(self):
        self.assertIn(
            'machines', str(self.machines(table='machine', status=404))
        )

    def test_table_that_knows_no_machine(self):
        self.put(other={'key': 'n', 'rows': [{'n': 1}]})
        self.assertIn('of', str(self.machines(table='other', status=400)))


class VisibilityTestCase(Base):
    def setUp(self):
        super().setUp()
        self.own = self.enroll('SN-ONE', owner=application.OWNER, pin=PIN)
        self.enroll('SN-OTHER', owner='somebody-else')
        self.enroll('SN-THREE')

    def test_tables_are_for_those_who_may_see_rules(self):
        for user in ('system-reader', 'system-member', 'system-admin'):
            self.call('GET', '/v1/inspection_tables', user=user)
            self.machines(user=user)
        for user in ('owner-admin', 'lessee-reader', 'foreign-admin'):
            for path in ('', '/machines', '/machines/machines', '/nothing'):
                self.call(
                    'GET',
                    f'/v1/inspection_tables{path}',
                    user=user,
                    status=403,
                )

    def test_nodes_of_others_are_not_shown(self):
        enforcer = policy.get_enforcer()
        enforcer.load_rules()
        self.addCleanup(
            enforcer.set_rules,
            dict(enforcer.rules),
            use_conf=enforcer.use_conf,
        )
        enforcer.set_rules(
            oslo_policy.Rules.from_dict(
                {'baremetal:inspection_rule:table:get': ''}
            ),
            overwrite=False,
        )
        self.assertEqual(
            [self.own],
            [
                node
                for _key, node, _state in self.states(user='owner-reader')
                if node
            ],
        )
        self.assertEqual(
            [],
            [
                node
                for _key, node, _state in self.states(user='foreign-admin')
                if node
            ],
        )
        self.assertEqual('missing', self.states(user='owner-reader')[2][2])
