# SPDX-License-Identifier: Apache-2.0

"""Rules tried on many nodes at once."""

import json
from typing import Any

import fixtures
from ironic import objects
from ironic.common import context
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
import webob

from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.api.fleet import trial
from ironic_inspection_rules.db import content
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

RULES = '/v1/inspection_rules'
URL = f'{RULES}/evaluate'
UNKNOWN = 'ffffffff-0000-4000-8000-000000000000'

SIZE = {
    'description': 'size',
    'uuid': UNKNOWN[:-1] + '1',
    'conditions': [{'op': 'ge', 'args': ['{inventory[cpu][count]}', 4]}],
    'actions': [
        {
            'op': 'set-attribute',
            'args': ['/extra/cpus', '{inventory[cpu][count]}'],
        },
        {'op': 'add-trait', 'args': ['CUSTOM_BIG']},
        {
            'op': 'set-port-attribute',
            'args': ['{ports[0].uuid}', '/extra/n', '{ports[0].node_uuid}'],
        },
        {'op': 'set-plugin-data', 'args': ['/seen', True]},
        {'op': 'api-call', 'args': ['http://127.0.0.1:1/']},
    ],
}
SMALL = {
    'description': 'small',
    'uuid': UNKNOWN[:-1] + '2',
    'conditions': [{'op': 'lt', 'args': ['{inventory[cpu][count]}', 2]}],
    'actions': [{'op': 'fail', 'args': ['too small']}],
}
BROKEN = {
    'description': 'broken',
    'uuid': UNKNOWN[:-1] + '3',
    'conditions': [{'op': 'eq', 'args': ['{inventory[cpu][count]}', 3]}],
    'actions': [
        {'op': 'set-attribute', 'args': ['/extra/x', '{inventory[none]}']}
    ],
}
SECRET = {
    'description': 'secret',
    'uuid': UNKNOWN[:-1] + '4',
    'sensitive': True,
    'phase': 'preprocess',
    'actions': [
        {'op': 'set-attribute', 'args': ['/extra/key', 's3cret']},
        {
            'op': 'set-attribute',
            'args': ['/driver_info/fake_password', 's3cret'],
        },
    ],
}
AUDITED = {
    'description': 'audited',
    'uuid': UNKNOWN[:-1] + '5',
    'mode': 'audit',
    'priority': 9,
    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_LATER']}],
}
TIMES = {
    'description': 'times',
    'uuid': UNKNOWN[:-1] + '6',
    'actions': [
        {
            'op': 'set-attribute',
            'args': [
                '/extra/times',
                [
                    '{node.created_at}',
                    '{ports[0].created_at}',
                    '{ports[0].updated_at}',
                ],
            ],
        }
    ],
}
ALL = [SIZE, SMALL, BROKEN, SECRET, AUDITED, TIMES]


def uuid_of(number: int) -> str:
    return f'{number:08}-0000-4000-8000-00000000000a'


class FleetTestCase(base.TestCase):
    options: dict[str, dict[str, Any]] = {
        'DEFAULT': {'auth_strategy': 'keystone'}
    }

    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application(self.options)).app
        self.admin = context.get_admin_context()
        for number in range(6):
            self.enroll(number)

    def enroll(self, number, inventory=True, **fields):
        """Have a node with as many processors as its number says."""
        node = objects.Node(
            self.admin,
            uuid=uuid_of(number),
            name=f'n{number}',
            driver='fake-hardware',
            maintenance=number % 2 == 0,
            resource_class='even' if number % 2 == 0 else 'odd',
            owner=application.OWNER if number < 2 else None,
            lessee=application.LESSEE if number == 2 else None,
            driver_info={'fake_password': 'hidden'},
            **fields,
        )
        node.create()
        objects.Port(
            self.admin, node_id=node.id, address=f'52:54:00:00:00:{number:02}'
        ).create()
        if inventory:
            objects.NodeInventory(
                self.admin,
                node_id=node.id,
                inventory_data={'cpu': {'count': number}},
                plugin_data={'number': number},
            ).create()
        return node

    def send(self, body, user='admin', path=URL, method='POST'):
        request = webob.Request.blank(
            path,
            method=method,
            headers={
                'X-OpenStack-Ironic-API-Version': '1.96',
                'X-Auth-Token': user,
            },
        )
        request.json_body = body
        request.content_type = 'application/json'
        return request.get_response(self.app)

    def page(self, nodes, user='admin', **members):
        response = self.send({'nodes': nodes, **members}, user)
        self.assertEqual(200, response.status_int, response.text)
        self.assertEqual('application/json', response.content_type)
        return response.json

    def entries(self, nodes, user='admin', **members):
        return {
            entry['name']: entry
            for entry in self.page(nodes, user, **members)['nodes']
        }

    def listed(self, nodes, user='admin', **members):
        return [
            entry['name']
            for entry in self.page(nodes, user, **members)['nodes']
        ]

    def reason(self, body, status=400, user='admin'):
        response = self.send(body, user)
        self.assertEqual(status, response.status_int, response.text)
        return json.loads(response.json['error_message'])['faultstring']


class EntryTestCase(FleetTestCase):
    def assert_as_alone(self, **members):
        for name, entry in self.entries({}, **members).items():
            alone = self.send({'node': name, **members}).json
            self.assertEqual(
                [
                    alone['result'],
                    alone['error'],
                    alone['changes'],
                    alone['source'],
                    alone['audit'],
                    [
                        rule['uuid']
                        for rule in alone['rules']
                        if rule['matched']
                    ],
                ],
                [
                    entry['result'],
                    entry['error'],
                    entry['changes'],
                    entry['source'],
                    entry.get('audit', []),
                    entry['matched'],
                ],
            )

    def test_facts_are_those_that_an_inspection_has(self):
        node = objects.Node.get_by_uuid(self.admin, uuid_of(1))
        objects.Portgroup(self.admin, node_id=node.id, name='bond').create()
        (port,) = objects.Port.list_by_node_id(self.admin, node.id)
        port.extra = {'list': [1, None]}
        port.local_link_connection = {'switch_id': 'aa:bb'}
        port.save()
        page = fleet_page.Page([('n1', node.uuid)], {'include_children': True})

        found = [
            machine.facts
            for machines in trial.read_machines(self.admin, page)
            for machine in machines
        ]

        self.assertEqual(
            [
                facts.read_and_build(
                    self.admin, node, {'cpu': {'count': 1}}, {'number': 1}
                )
            ],
            found,
        )

    def test_a_node_gets_what_it_would_get_alone(self):
        self.assert_as_alone(rules=ALL)
        self.assert_as_alone(rules=ALL, phase='preprocess')

    def test_so_it_does_from_the_rules_in_force(self):
        self.assert_as_alone()
        for rule in ALL:
            self.assertEqual(201, self.send(rule, path=RULES).status_int)
        self.assert_as_alone()

    def test_each_change_says_whose_it_is(self):
        broken = {
            **BROKEN,
            'phase': 'main',
            'priority': 1,
            'actions': [
                {'op': 'add-trait', 'args': ['CUSTOM_NEVER']},
                *BROKEN['actions'],
            ],
        }
        for entry in self.page(
            {}, rules=[SIZE, {**SECRET, 'sensitive': False}, broken]
        )['nodes']:
            self.assertEqual(
                [
                    SECRET['uuid']
                    if 'key' in change['path'] or 'password' in change['path']
                    else SIZE['uuid']
                    for change in entry['changes']
                ],
                entry['changed_by'],
            )

    def test_a_failure_says_whose_it_is(self):
        found = self.entries({}, rules=ALL)
        self.assertEqual(
            [
                {'rule': SMALL['uuid'], 'op': 'fail', 'kind': 'fail'},
                {
                    'rule': BROKEN['uuid'],
                    'op': 'set-attribute',
                    'kind': 'error',
                },
                None,
            ],
            [found[name].get('failed_by') for name in ('n0', 'n3', 'n5')],
        )
        self.assertEqual(
            ['failed', 'failed', 'ok'],
            [found[name]['result'] for name in ('n0', 'n3', 'n5')],
        )

    def test_nothing_is_known_of_a_machine_and_the_others_go_on(self):
        self.enroll(6, inventory=False)
        found = self.entries({}, rules=ALL)
        self.assertEqual(
            ('error', [], []),
            tuple(
                found['n6'][name] for name in ('result', 'matched', 'changes')
            ),
        )
        self.assertIn('n6 has no stored inventory', found['n6']['error'])
        self.assertNotIn('give one', found['n6']['error'])
        self.assertIn(
            'give one as "inventory"', self.reason({'node': 'n6'}, 404)
        )
        self.assertEqual('ok', found['n5']['result'])

    def test_what_would_not_be_saved_is_an_error(self):
        rules = [
            {
                'uuid': UNKNOWN,
                'actions': [{'op': 'set-attribute', 'args': ['/name', 'n3']}],
            }
        ]
        found = self.entries(['n2', 'n3'], rules=rules, compare=True)
        self.assertEqual(
            ('ok', False), (found['n3']['result'], found['n3']['differs'])
        )
        self.assertEqual(
            (
                'failed',
                [],
                True,
                {'rule': UNKNOWN, 'op': 'set-attribute', 'kind': 'error'},
            ),
            tuple(
                found['n2'][name]
                for name in ('result', 'changes', 'differs', 'failed_by')
            ),
        )
        alone = self.send({'node': 'n2', 'rules': rules}).json
        self.assertEqual(
            ('failed', [], found['n2']['error']),
            (alone['result'], alone['changes'], alone['error']),
        )
        self.assertIn(
            str(ironic_exception.DuplicateName(name='n3')), alone['error']
        )

    def test_the_nodes_of_a_chassis(self):
        chassis = objects.Chassis(self.admin, uuid=UNKNOWN)
        chassis.create()
        self.enroll(6, chassis_id=chassis.id)
        self.assertEqual(['n6'], self.listed({'chassis_uuid': UNKNOWN}))
        self.reason({'nodes': {'chassis_uuid': 'x'}})

    def test_data_of_a_failed_run_are_used(self):
        self.enroll(6, inventory=False)
        for number in (5, 6):
            database.record_run(
                {
                    'uuid': uuid_of(10 + number),
                    'node_uuid': uuid_of(number),
                    'event': 'inspection',
                    'result': 'failed',
                    'phases': {},
                    'content': content.store(
                        {
                            'inventory': {'cpu': {'count': 99}},
                            'plugin_data': {},
                        }
                    ),
                },
                keep=5,
            )
        self.assert_as_alone(rules=ALL)
        found = self.entries({}, rules=ALL)['n6']
        self.assertEqual(
            ('inspection_run', uuid_of(16)), (found['source'], found['run'])
        )
        self.assertIn(99, [each['value'] for each in found['changes']])

    def test_data_may_be_in_swift(self):
        def fetch(node, _context):
            if node.name == 'n1':
                raise ironic_exception.SwiftOperationError(
                    operation='get', error='slow'
                )
            if node.name == 'n2':
                raise ironic_exception.NodeInventoryNotFound(node=node.uuid)
            return {'inventory': {'cpu': {'count': 7}}, 'plugin_data': None}

        CONF.set_override('data_backend', 'swift', 'inventory')
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils.get_inspection_data',
                fetch,
            )
        )
        found = self.entries({}, rules=ALL)
        self.assertEqual(
            ['ok', 'error', 'error', 'ok', 'ok', 'ok'],
            [found[f'n{number}']['result'] for number in range(6)],
        )
        self.assertIn('slow', found['n1']['error'])
        self.assertEqual(7, found['n0']['changes'][0]['value'])

    def test_what_a_sensitive_rule_sets_does_not_show(self):
        for members in ({}, {'compare': True}):
            response = self.send({'nodes': {}, 'rules': ALL, **members})
            self.assertNotIn('s3cret', response.text)
            self.assertNotIn('hidden', response.text)

    def test_nothing_is_saved(self):
        self.page({}, rules=ALL)
        node = objects.Node.get_by_uuid(self.admin, uuid_of(5))
        self.assertEqual(({}, []), (node.extra, node.traits.get_trait_names()))

    def test_rules_without_uuid_have_the_same_on_each_page(self):
        rule = {'actions': [{'op': 'log', 'args': ['x']}]}
        first, second = (
            self.page({}, rules=[rule, rule], limit=1, marker=marker)['nodes'][
                0
            ]['matched']
            for marker in (None, uuid_of(0))
        )
        self.assertEqual(first, second)
        self.assertEqual(2, len(set(first)))


class ValidatesTestCase(FleetTestCase):
    def test_it_tells_before_and_after(self):
        asked = {'instance_info': {'traits': ['CUSTOM_BIG']}}
        self.enroll(6, **asked)
        lost = self.enroll(7, **asked)
        objects.TraitList.create(self.admin, lost.id, ['CUSTOM_BIG'])
        rules = [
            SIZE,
            {
                'conditions': [
                    {'op': 'eq', 'args': ['{inventory.cpu.count}', 7]}
                ],
                'actions': [{'op': 'remove-trait', 'args': ['CUSTOM_BIG']}],
            },
        ]
        found = self.entries({}, rules=rules)
        self.assertEqual(
            [(True, False), (False, True)],
            [
                (found[name]['validates'], found[name]['validates_before'])
                for name in ('n6', 'n7')
            ],
        )
        self.assertNotIn('validates', found['n5'])
        compared = self.entries({}, rules=rules, compare=True)['n6']
        self.assertEqual(
            (True, False),
            (compared['validates'], compared['in_force']['validates']),
        )


class CompareTestCase(FleetTestCase):
    def setUp(self):
        super().setUp()
        for rule in (SIZE, SMALL):
            self.assertEqual(201, self.send(rule, path=RULES).status_int)

    def compared(self, *rules):
        return self.entries({}, rules=list(rules), prune=True, compare=True)

    def test_the_same_rules_differ_nowhere(self):
        renamed = {**SMALL, 'uuid': None, 'description': 'other'}
        for entry in self.compared(SIZE, renamed).values():
            self.assertEqual((False, []), (entry['differs'], entry['changes']))
            self.assertNotIn('in_force', entry)

    def test_only_what_is_otherwise_is_told(self):
        more = {
            **SIZE,
            'conditions': [
                {'op': 'ge', 'args': ['{inventory[cpu][count]}', 3]}
            ],
        }
        more['actions'] = [
            {'op': 'set-attribute', 'args': ['/extra/cpus', 'many']},
            *SIZE['actions'][1:2],
            *SIZE['actions'][3:],
        ]
        found = self.compared(more, SMALL)
        self.assertEqual(
            ['n3', 'n4', 'n5'],
            [name for name in sorted(found) if found[name]['differs']],
        )
        self.assertEqual(
            [
                {
                    'object': 'node',
                    'op': 'replace',
                    'path': '/extra/cpus',
                    'value': 'many',
                    'before': 4,
                },
                {
                    'object': 'port 52:54:00:00:00:04',
                    'op': 'remove',
                    'path': '/extra/n',
                    'value': None,
                    'before': uuid_of(4),
                },
            ],
            found['n4']['changes'],
        )
        self.assertEqual(
            {
                ('node', '/extra/cpus'),
                ('traits', '/CUSTOM_BIG'),
                ('plugin_data', '/seen'),
            },
            {
                (each['object'], each['path'])
                for each in found['n3']['changes']
            },
        )
        self.assertEqual(
            {'result': 'ok', 'error': None, 'matched': []},
            found['n3']['in_force'],
        )

    def test_given_rules_are_added_to_those_in_force(self):
        for more in ({}, {'prune': False}):
            found = self.entries({}, rules=[BROKEN], compare=True, **more)
            self.assertEqual(
                ['n3'],
                [name for name in sorted(found) if found[name]['differs']],
            )
        # The one without a UUID replaces that of the same description.
        found = self.entries(
            {}, compare=True, rules=[{**SMALL, 'uuid': None, 'mode': 'off'}]
        )
        self.assertEqual(
            ['n0', 'n1'],
            [name for name in sorted(found) if found[name]['differs']],
        )

    def test_what_was_tried_is_what_is_applied(self):
        given = [{**SMALL, 'uuid': None, 'priority': 3}, SECRET, BROKEN]
        for prune in (True, False):
            tried = self.entries({}, rules=given, prune=prune)
            response = self.send(
                {'rules': given}, method='PUT', path=f'{RULES}?prune={prune}'
            )
            self.assertEqual(200, response.status_int, response.text)
            self.assertEqual(tried, self.entries({}))
            self.send({'rules': [SIZE, SMALL]}, method='PUT', path=RULES)

    def test_prune_needs_rules(self):
        self.assertIn(
            '"prune" needs "rules"', self.reason({'nodes': {}, 'prune': True})
        )
        self.assertIn(
            '"prune" must be of the type boolean',
            self.reason({'nodes': {}, 'rules': [], 'prune': 'yes'}),
        )

    def test_a_failure_that_is_new_or_gone_is_a_difference(self):
        found = self.compared(SIZE, BROKEN)
        self.assertEqual(
            ['n0', 'n1', 'n3'],
            [name for name in sorted(found) if found[name]['differs']],
        )
        self.assertEqual('failed', found['n0']['in_force']['result'])
        self.assertEqual(
            ('ok', 'failed'),
            (found['n3']['in_force']['result'], found['n3']['result']),
        )
