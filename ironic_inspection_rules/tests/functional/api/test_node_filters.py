# SPDX-License-Identifier: Apache-2.0

"""Random combinations of filters on lists of nodes, against a model."""

from typing import Any
import uuid

import fixtures
import httpx
import hypothesis
from hypothesis import strategies as st
from ironic import objects
from ironic.common import context
from ironic.conf import CONF
from oslo_config import fixture as config_fixture

from ironic_inspection_rules.api.fleet import page
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.unit import base

TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'HW_CPU_X86_VMX')
PROJECTS = (None, 'one', 'two')
CLASSES = ('big', 'small')
SHARDS = (None, 'left', 'right')
CHASSIS = (None, str(uuid.uuid4()), str(uuid.uuid4()))

#: What each filter keeps: of a node, and of what was asked for.
FILTERS = {
    'traits': lambda node, asked: set(asked) <= node['traits'],
    'traits-any': lambda node, asked: bool(set(asked) & node['traits']),
    'not-traits': lambda node, asked: not set(asked) <= node['traits'],
    'not-traits-any': lambda node, asked: not set(asked) & node['traits'],
    'owner': lambda node, asked: node['owner'] == asked,
    'lessee': lambda node, asked: node['lessee'] == asked,
    'resource_class': lambda node, asked: node['resource_class'] == asked,
    'maintenance': lambda node, asked: node['maintenance'] == asked,
    'shard': lambda node, asked: node['shard'] in asked,
    'sharded': lambda node, asked: (node['shard'] is not None) == asked,
    'chassis_uuid': lambda node, asked: node['chassis'] == asked,
    'conductor': lambda node, asked: asked == conductor.HOST,
    'description_contains': lambda node, asked: asked in node['description'],
}

trait_lists = st.lists(st.sampled_from(TRAITS), min_size=1, max_size=6)

trait_filters = st.dictionaries(
    st.sampled_from(['traits', 'traits-any', 'not-traits', 'not-traits-any']),
    trait_lists,
    min_size=1,
)

other_filters = st.fixed_dictionaries(
    {},
    optional={
        'owner': st.sampled_from(PROJECTS[1:]),
        'lessee': st.sampled_from(PROJECTS[1:]),
        'resource_class': st.sampled_from(CLASSES),
        'maintenance': st.booleans(),
        'shard': st.lists(st.sampled_from(SHARDS[1:]), min_size=1),
        'sharded': st.booleans(),
        'chassis_uuid': st.sampled_from(CHASSIS[1:]),
        'conductor': st.sampled_from([conductor.HOST, 'elsewhere']),
        'description_contains': st.sampled_from(['odd', 'even', 'other']),
    },
)

presentations = st.fixed_dictionaries(
    {},
    optional={
        'limit': st.integers(min_value=1, max_value=9),
        'sort_key': st.sampled_from(['name', 'uuid', 'id']),
        'sort_dir': st.sampled_from(['asc', 'desc']),
    },
)

views = st.sampled_from(
    [
        ('/v1/nodes', {}),
        ('/v1/nodes', {'fields': 'uuid,name'}),
        ('/v1/nodes', {'fields': 'name,traits'}),
        ('/v1/nodes', {'detail': 'true'}),
        ('/v1/nodes/detail', {}),
    ]
)


def fleet() -> list[dict[str, Any]]:
    """Nodes with every set of traits, and everything else mixed."""
    return [
        {
            'uuid': str(uuid.uuid4()),
            'name': f'node-{(number * 37) % 64}',
            'traits': {
                trait
                for place, trait in enumerate(TRAITS)
                if number >> place & 1
            },
            'owner': PROJECTS[number % 3],
            'lessee': PROJECTS[number // 3 % 3],
            'resource_class': CLASSES[number % 2],
            'maintenance': number % 5 == 0,
            'shard': SHARDS[number // 2 % 3],
            'chassis': CHASSIS[number // 5 % 3],
            'description': 'odd' if number % 2 else 'even',
        }
        for number in range(48)
    ]


def enroll(nodes: list[dict[str, Any]]) -> None:
    """Put nodes into the database."""
    admin = context.get_admin_context()
    chassis = {None: None}
    for chassis_uuid in CHASSIS[1:]:
        made = objects.Chassis(admin, uuid=chassis_uuid)
        made.create()
        chassis[chassis_uuid] = made.id
    for node in nodes:
        fields = {
            name: value
            for name, value in node.items()
            if name not in ('traits', 'chassis')
        }
        made = objects.Node(
            admin,
            driver='fake-hardware',
            **fields,
            chassis_id=chassis[node['chassis']],
        )
        made.create()
        objects.TraitList.create(admin, made.id, node['traits'])


class KnownFiltersTestCase(base.TestCase):
    def test_our_commands_know_those_of_ironic(self):
        self.assertLessEqual(set(page.FILTERS), set(node_selection.FILTERS))


class NodeFiltersMixin:
    """The tests, for each kind of database."""

    kind: str

    def setUp(self):
        super().setUp()
        if reason := self.why_skipped():
            self.skipTest(reason)
        self.app = self.useFixture(application.Application(kind=self.kind)).app
        self.useFixture(conductor.Conductor())
        self.nodes = fleet()
        enroll(self.nodes)
        # From here on what a request says about its user is believed.
        self.useFixture(config_fixture.Config(CONF)).config(
            auth_strategy='keystone'
        )
        self.clients = {
            project: self.client(
                x_user_id='someone', x_roles='reader', x_project_id=project
            )
            for project in PROJECTS[1:]
        }
        self.clients[None] = self.client(
            x_user_id='operator',
            x_roles='admin,manager,member,reader',
            openstack_system_scope='all',
        )

    def client(self, **headers):
        client = httpx.Client(
            transport=httpx.WSGITransport(app=self.app),
            base_url='http://ironic.test',
            headers={
                'X-OpenStack-Ironic-API-Version': '1.96',
                **{
                    name.replace('_', '-'): value
                    for name, value in headers.items()
                },
            },
        )
        self.addCleanup(client.close)
        return client

    def why_skipped(self) -> str | None:
        return (
            None if self.kind == 'sqlite' else database.why_absent(self.kind)
        )

    def visible(self, project):
        return [
            node
            for node in self.nodes
            if project is None or project in (node['owner'], node['lessee'])
        ]

    def expected(self, project, filters, presentation):
        """Names of the nodes to expect, in order."""
        kept = [
            node
            for node in self.visible(project)
            if all(
                FILTERS[name](node, asked) for name, asked in filters.items()
            )
        ]
        key = presentation.get('sort_key', 'id')
        if key != 'id':
            kept.sort(key=lambda node: node[key])
        if presentation.get('sort_dir') == 'desc':
            kept.reverse()
        return [node['name'] for node in kept]

    def listed(self, project, path, parameters):
        """Names of the nodes that the API lists, page by page."""
        limit = parameters.get('limit', 1000)
        found = []
        answer = self.clients[project].get(
            path,
            params={
                name: ','.join(value) if isinstance(value, list) else value
                for name, value in parameters.items()
            },
        )
        while True:
            self.assertEqual(200, answer.status_code, answer.text)
            page = answer.json()
            names = [node['name'] for node in page['nodes']]
            self.assertLessEqual(len(names), limit)
            found += names
            if 'next' not in page:
                return found
            answer = self.clients[project].get(page['next'])

    @hypothesis.settings(
        max_examples=80,
        deadline=None,
        database=None,
        suppress_health_check=[
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.differing_executors,
        ],
    )
    @hypothesis.given(
        project=st.sampled_from(PROJECTS),
        by_trait=trait_filters,
        others=other_filters,
        presentation=presentations,
        view=views,
    )
    def test_a_list_is_that_of_the_model(
        self, project, by_trait, others, presentation, view
    ):
        path, fields = view
        if 'conductor' in others:
            # Ironic chooses these nodes after it has cut the page.
            presentation.pop('limit', None)
        filters = {**by_trait, **others}
        self.assertEqual(
            self.expected(project, filters, presentation),
            self.listed(project, path, {**filters, **presentation, **fields}),
        )


class SQLiteNodeFiltersTestCase(NodeFiltersMixin, base.TestCase):
    kind = 'sqlite'

    def test_nodes_of_a_chassis_are_filtered_page_by_page(self):
        chassis = CHASSIS[1]
        filters = {'traits-any': ['CUSTOM_A', 'CUSTOM_B']}
        self.assertEqual(
            self.expected(None, {**filters, 'chassis_uuid': chassis}, {}),
            self.listed(
                None, f'/v1/chassis/{chassis}/nodes', {**filters, 'limit': 2}
            ),
        )


class MySQLNodeFiltersTestCase(NodeFiltersMixin, base.TestCase):
    kind = 'mysql'


class PostgreSQLNodeFiltersTestCase(NodeFiltersMixin, base.TestCase):
    kind = 'postgresql'


class DatabaseOverRPCTestCase(base.TestCase):
    """An API for which conductors read the database."""

    def setUp(self):
        super().setUp()
        app = self.useFixture(application.Application()).app
        # Nothing here may get as far as to ask a conductor.
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.objects.base.IronicObject.indirection_api', object()
            )
        )
        self.client = httpx.Client(
            transport=httpx.WSGITransport(app=app),
            base_url='http://ironic.test',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        self.addCleanup(self.client.close)

    def test_what_would_have_to_read_it_here_is_refused(self):
        for path in (
            'nodes?traits=CUSTOM_A',
            'nodes?not-traits-any=CUSTOM_A',
            'nodes/detail?traits-any=CUSTOM_A,CUSTOM_B',
            'traits',
            'traits?associated=true',
            'traits/CUSTOM_A',
        ):
            answer = self.client.get(f'/v1/{path}')
            self.assertEqual(400, answer.status_code, answer.text)
            self.assertIn('use_rpc_for_database', answer.text)
