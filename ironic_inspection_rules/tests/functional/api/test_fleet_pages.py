# SPDX-License-Identifier: Apache-2.0

"""Which nodes rules are tried on: pages, filters, and who sees what."""

import json

import fixtures
from ironic import objects
from ironic.common import exception as ironic_exception
from ironic.common import policy
from ironic.conf import CONF
from oslo_db.sqlalchemy import enginefacade
from oslo_policy import policy as oslo_policy
import sqlalchemy as sa

from ironic_inspection_rules import policies
from ironic_inspection_rules.api import inspection_data
from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.api.fleet import trial
from ironic_inspection_rules.db import content
from ironic_inspection_rules.inspection import refusal
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import test_fleet

uuid_of = test_fleet.uuid_of


def named(name):
    return [
        {
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': {'path': '/name', 'value': name},
                }
            ]
        }
    ]


class PageTestCase(test_fleet.FleetTestCase):
    def test_all_pages_are_all_nodes(self):
        self.enroll(6)
        found, marker = [], None
        for _page in range(4):
            page = self.page({}, limit=2, marker=marker)
            found += [entry['name'] for entry in page['nodes']]
            marker = page['next']
        self.assertIsNone(marker)
        self.assertEqual([f'n{number}' for number in range(7)], found)

    def test_filters_are_those_of_the_list_of_nodes(self):
        objects.TraitList.create(
            self.admin,
            objects.Node.get_by_uuid(self.admin, uuid_of(1)).id,
            ['CUSTOM_A', 'CUSTOM_B'],
        )
        for names, filters in (
            ('n1 n3 n5', {'resource_class': 'odd'}),
            ('n0 n2 n4', {'maintenance': True}),
            ('n0 n2 n4', {'maintenance': 'true', 'fault': None}),
            ('n1', {'traits': ['CUSTOM_A', 'CUSTOM_B']}),
            (
                'n1',
                {'traits': 'CUSTOM_A,CUSTOM_B', 'owner': application.OWNER},
            ),
            (
                'n3 n5',
                {'not-traits-any': ['CUSTOM_A'], 'resource_class': 'odd'},
            ),
            ('n2', {'project': application.LESSEE}),
            ('', {'provision_state': 'active'}),
        ):
            self.assertEqual(names.split(), self.listed(filters))

    def test_pages_keep_the_filters(self):
        page = self.page(
            {'resource_class': 'odd', 'not-traits': ['CUSTOM_A']}, limit=1
        )
        self.assertEqual(uuid_of(1), page['next'])
        page = self.page(
            {'resource_class': 'odd', 'not-traits': ['CUSTOM_A']},
            limit=2,
            marker=page['next'],
        )
        self.assertEqual(
            ['n3', 'n5'], [entry['name'] for entry in page['nodes']]
        )

    def test_a_list_keeps_its_order(self):
        self.assertEqual(
            ['n4', 'n1', 'n4'],
            self.listed(['n4', uuid_of(1).upper(), uuid_of(4)]),
        )
        self.assertEqual({'nodes': [], 'next': None}, self.page([]))

    def test_a_list_has_pages(self):
        nodes = ['n4', 'nobody', 'n4', 'n1', 'n2']
        found = []
        marker = None
        while not found or marker:
            page = self.page(nodes, limit=2, marker=marker)
            found += [entry['name'] for entry in page['nodes']]
            marker = page['next']
        self.assertEqual(nodes, found)

    def test_what_a_list_names_wrongly_has_an_entry(self):
        page = self.page([test_fleet.UNKNOWN, 'n1', 'nobody', 'no body\0', ''])
        self.assertEqual(
            [
                (test_fleet.UNKNOWN, None, 'error'),
                (uuid_of(1), 'n1', 'ok'),
                (None, 'nobody', 'error'),
                (None, 'no body\0', 'error'),
                (None, '', 'error'),
            ],
            [
                (entry['uuid'], entry['name'], entry['result'])
                for entry in page['nodes']
            ],
        )
        self.assertIn('nobody could not be found', page['nodes'][2]['error'])

    def test_a_page_takes_as_many_queries_as_a_node(self):
        names = [f'n{number}' for number in range(6)]
        # The rules in force, and those among them, are read once.
        self.page(names[:1], rules=test_fleet.ALL)
        few, many = (self.count_queries(nodes) for nodes in (names[:1], names))
        self.assertEqual(few, many)
        self.assertLess(many, 15)

    def test_names_are_asked_for_together(self):
        rules = named('x{node.name}')
        self.page([], rules=rules)
        few = self.count_queries(['n1'], rules)
        many = self.count_queries([f'n{number}' for number in range(6)], rules)
        self.assertEqual(few, many)

    def test_what_has_a_name_of_another_is_told_in_its_place(self):
        page = self.page(
            [f'n{number}' for number in (3, 2, 4, 1, 5)],
            rules=named(
                'n{inventory[cpu][count]|tier([[0, 9], '
                '[2, 2], [4, 1], [5, 77]])}'
            ),
        )
        entries = {entry['name']: entry['error'] for entry in page['nodes']}
        self.assertEqual(['n3', 'n2', 'n4', 'n1', 'n5'], list(entries))
        for name, other in (('n3', 'n2'), ('n4', 'n1')):
            taken = ironic_exception.DuplicateName(name=other)
            self.assertTrue(
                entries.pop(name).endswith(f': {taken}'), (name, other)
            )
        self.assertEqual({None}, set(entries.values()))
        self.assertEqual(
            [0, 0, 0, 1, 1], [len(entry['changes']) for entry in page['nodes']]
        )

    def test_names_are_looked_up_for_some_machines_at_a_time(self):
        self.patch('fleet.trial._MOST_WAITING', 2)
        looked_up = []
        stock = refusal.Refusals.find_taken

        def noted(refusals, names):
            if names:
                looked_up.append(len(names))
            return stock(refusals, names)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.refusal.Refusals.find_taken',
                noted,
            )
        )
        nodes = [f'n{number}' for number in range(5)]
        page = self.page(nodes, rules=named('{node.name}-new'))
        self.assertEqual([2, 2, 1], looked_up)
        self.assertEqual(nodes, [entry['name'] for entry in page['nodes']])
        self.assertEqual({'ok'}, {entry['result'] for entry in page['nodes']})

    def count_queries(self, nodes, rules=test_fleet.ALL):
        engine = enginefacade.reader.get_engine()
        seen = []

        def note(_connection, _cursor, statement, *_more):
            seen.append(statement)

        sa.event.listen(engine, 'before_cursor_execute', note)
        self.page(nodes, rules=rules)
        sa.event.remove(engine, 'before_cursor_execute', note)
        return sum(each.startswith('SELECT') for each in seen)

    def test_data_are_read_in_portions_of_some_size(self):
        self.large(1, 9000)
        self.large(2, 9000)
        self.patch('fleet.trial._MOST_CHARACTERS', 10000)
        self.patch('stream._PART_LENGTH', 1)
        read = self.spy_on_data()
        names = ['n0', 'nobody', 'n1', 'n2', 'n3', 'n4', 'nobody']
        parts = iter(self.send({'nodes': names}).app_iter)
        next(parts)
        self.assertEqual([['n0', 'n1']], read)
        text = b''.join(parts)
        self.assertEqual([['n0', 'n1'], ['n2', 'n3', 'n4']], read)
        self.assertEqual(names, self.listed(names))
        self.assertIn(b'"next": null', text)

    def test_what_is_larger_is_read_alone(self):
        self.large(1, 9000)
        database.record_run(
            {
                'uuid': test_fleet.UNKNOWN,
                'node_uuid': uuid_of(3),
                'event': 'inspection',
                'result': 'failed',
                'phases': {},
                'content': content.store(
                    {'inventory': {'x': 'x' * 9000}, 'plugin_data': {}}
                ),
            },
            keep=5,
        )
        self.patch('fleet.trial._MOST_CHARACTERS', 5000)
        read = self.spy_on_data()
        self.page([f'n{number}' for number in range(6)])
        self.assertEqual([['n0'], ['n1'], ['n2'], ['n3'], ['n4', 'n5']], read)

    def test_data_in_swift_are_read_as_many_as_are_fetched_together(self):
        CONF.set_override('data_backend', 'swift', 'inventory')
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils.get_inspection_data',
                lambda node, context: {'inventory': {}, 'plugin_data': None},
            )
        )
        read = self.spy_on_data()
        self.page(['n1'] * 20)
        self.assertEqual([8, 8, 4], list(map(len, read)))

    def test_data_are_decoded_when_it_is_the_turn_of_their_machine(self):
        decoded = []
        stock = inspection_data._decode

        def noted(data):
            decoded.append(data)
            return stock(data)

        self.patch('inspection_data._decode', noted)
        nodes = [(f'n{number}', uuid_of(number)) for number in range(3)]
        page = fleet_page.Page(nodes, {'include_children': True})
        machines = iter(next(trial.read_machines(self.admin, page)))
        counts = []
        for machine in machines:
            self.assertIsNotNone(machine.facts)
            counts.append(len(decoded))
        # Inventory and plugin data of each.
        self.assertEqual([2, 4, 6], counts)

    def test_nodes_and_ports_are_read_by_the_hundreds(self):
        few, many = (
            self.count_queries(['n1'] * count) for count in (200, 201)
        )
        self.assertLess(few, many)

    def test_uuids_take_no_query_that_looks_them_up(self):
        # The first request also reads the rules.
        self.page(['n1'], rules=test_fleet.ALL)
        by_uuid, by_name = (
            self.count_queries([ident] * 3) for ident in (uuid_of(1), 'n1')
        )
        self.assertEqual(by_name - 1, by_uuid)

    def test_a_uuid_may_be_in_upper_case(self):
        written = uuid_of(1).upper()
        (entry,) = self.page([written])['nodes']
        self.assertEqual((uuid_of(1), 'n1'), (entry['uuid'], entry['name']))

    def test_answers_are_sent_in_parts(self):
        self.patch('stream._PART_LENGTH', 1000)
        parts = list(self.send({'nodes': ['n1'] * 20}).app_iter)
        self.assertGreater(len(parts), 2)
        self.assertEqual(20, len(json.loads(b''.join(parts))['nodes']))

    def large(self, number, size):
        node = objects.Node.get_by_uuid(self.admin, uuid_of(number))
        objects.NodeInventory(
            self.admin,
            node_id=node.id,
            inventory_data={'x': 'x' * size},
            plugin_data={},
        ).create()

    def patch(self, name, value):
        self.useFixture(
            fixtures.MonkeyPatch(f'ironic_inspection_rules.api.{name}', value)
        )

    def spy_on_data(self):
        """Note the names of the nodes whose data are read together."""
        read = []
        stock = inspection_data.find_all

        def noted(context, nodes, failing):
            read.append([node.name for node in nodes])
            return stock(context, nodes, failing)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.api.inspection_data.find_all', noted
            )
        )
        return read


class VisibilityTestCase(test_fleet.FleetTestCase):
    def setUp(self):
        super().setUp()
        enforcer = policy.get_enforcer()
        enforcer.load_rules()
        self.addCleanup(
            enforcer.set_rules,
            dict(enforcer.rules),
            use_conf=enforcer.use_conf,
        )
        enforcer.set_rules(
            oslo_policy.Rules.from_dict({policies.EVALUATE: '@'}),
            overwrite=False,
        )

    def test_a_member_of_a_project_is_shown_what_its_list_shows(self):
        for user, names in (
            ('owner-member', ['n0', 'n1']),
            ('lessee-reader', ['n2']),
            ('member', []),
        ):
            self.assertEqual(names, self.listed({}, user=user))
            self.assertEqual(names[:1], self.listed({}, user=user, limit=1))

    def test_no_filter_and_no_list_shows_more(self):
        self.reason(
            {'nodes': {'owner': 'x', 'project': 'x'}}, 403, 'owner-member'
        )
        self.assertEqual(
            [],
            self.listed({'lessee': application.LESSEE}, user='owner-member'),
        )
        found = self.page(['n0', 'n2', uuid_of(2)], 'owner-member')['nodes']
        self.assertEqual(
            [
                (uuid_of(0), 'n0', 'ok'),
                (None, 'n2', 'error'),
                (uuid_of(2), None, 'error'),
            ],
            [
                (entry['uuid'], entry['name'], entry['result'])
                for entry in found
            ],
        )
        self.assertIn('could not be found', found[1]['error'])

    def test_who_may_list_no_nodes_is_refused(self):
        for nodes in ({}, ['n0']):
            self.reason({'nodes': nodes}, 403, 'no-role')
        self.reason({'node': 'n0'}, 403, 'no-role')

    def test_a_node_alone_is_shown_to_whom_a_list_shows_it(self):
        for user, seen in (
            ('owner-member', 0),
            ('lessee-reader', 2),
            ('admin', 2),
        ):
            for ident in (f'n{seen}', uuid_of(seen)):
                self.assertEqual(
                    200,
                    self.send({'node': ident, 'rules': []}, user).status_int,
                )
        for user, ident in (
            ('owner-member', 'n2'),
            ('lessee-reader', 'n0'),
            ('member', uuid_of(0)),
            ('admin', 'nobody'),
        ):
            # Also where nothing of the node but its own fields is asked for.
            for members in ({}, {'inventory': {}, 'plugin_data': {}}):
                self.assertIn(
                    'could not be found',
                    self.reason(
                        {'node': ident, 'rules': [], **members}, 404, user
                    ),
                )


class MistakesTestCase(test_fleet.FleetTestCase):
    def test_each_is_told(self):
        for told, members in (
            (
                'did you mean "resource_class"?',
                {'nodes': {'resource_clas': 'x'}},
            ),
            ('did you mean "traits-any"?', {'nodes': {'traits_any': 'x'}}),
            ('"nodes" must be of the type object or list', {'nodes': 'x'}),
            ('"limit" must be 1 to 1000', {'nodes': {}, 'limit': 0}),
            ('"limit" must be 1 to 1000', {'nodes': {}, 'limit': 1001}),
            (
                '"limit" must be of the type integer',
                {'nodes': {}, 'limit': True},
            ),
            ('"limit" must be 1 to 1000', {'nodes': ['a'], 'limit': 0}),
            ('"marker" must be the "next"', {'nodes': ['a'], 'marker': 'a'}),
            ('"marker" must be the "next"', {'nodes': ['a'], 'marker': '1'}),
            ('more than 1000', {'nodes': ['a'] * 1001}),
            ('must list UUIDs and names', {'nodes': [1]}),
            ('"compare" needs "rules"', {'nodes': {}, 'compare': True}),
            ('"node" is only for one machine', {'nodes': {}, 'node': 'n1'}),
            ('"marker" is only for many nodes', {'node': 'n1', 'marker': 'x'}),
            ('takes one string', {'nodes': {'resource_class': ['a', 'b']}}),
            ('a string or a list', {'nodes': {'traits': {}}}),
            ('a character that no text has', {'nodes': {'owner': '\0'}}),
            ('a character that no text has', {'nodes': {'owner': '\ud800'}}),
            ('is not the name of a trait', {'nodes': {'traits': ['x y']}}),
            ('maintenance', {'nodes': {'maintenance': 'perhaps'}}),
            ('Provision state', {'nodes': {'provision_state': 'flying'}}),
            ('marker', {'nodes': {}, 'marker': 'n1'}),
            (
                '/rules/1',
                {'nodes': {}, 'rules': [test_fleet.SIZE, {'actions': 1}]},
            ),
        ):
            self.assertIn(told, self.reason(members), members)
        self.reason({'nodes': {}, 'marker': test_fleet.UNKNOWN}, 404)
