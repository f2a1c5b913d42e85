# SPDX-License-Identifier: Apache-2.0

"""The rules API of real Ironics: databases, topologies, authentication."""

import atexit
from concurrent import futures
import functools
from typing import Any
import uuid

from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import fixtures
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options

RULES = '/v1/inspection_rules'
ACTIONS = [{'op': 'log', 'args': ['hello']}]

# As many as Ironic's web server takes at once. It resets some connections
# when there are many more.
CLIENTS = 8


class RulesMixin:
    """What must hold on every Ironic; ``self.ironic`` runs."""

    def send(self, method, path='', **kwargs):
        with self.ironic.client() as client:
            return client.request(method, RULES + path, **kwargs)

    def at_once(self, function, count=50):
        """Call a function with numbers from many threads.

        :returns: the statuses of the answers.
        """
        with futures.ThreadPoolExecutor(CLIENTS) as pool:
            return [
                answer.status_code
                for answer in pool.map(function, range(count))
            ]

    def test_a_rule_is_made_read_changed_and_removed(self):
        made = self.send('POST', json={'actions': ACTIONS, 'priority': '5'})
        self.assertEqual(201, made.status_code, made.text)
        path = f'/{made.json()["uuid"]}'

        self.assertEqual(made.json(), self.send('GET', path).json())
        changed = self.send(
            'PATCH',
            path,
            json=[{'op': 'replace', 'path': '/scope', 'value': 'rack'}],
        )
        self.assertEqual(
            ('rack', 5), (changed.json()['scope'], changed.json()['priority'])
        )
        listed = self.send('GET', '?detail=true&scope=rack').json()
        self.assertEqual([changed.json()], listed['inspection_rules'])
        replaced = self.send('PUT', path, json={'actions': ACTIONS})
        self.assertIsNone(replaced.json()['scope'])
        self.assertEqual(204, self.send('DELETE', path).status_code)
        self.assertEqual(404, self.send('GET', path).status_code)

    def test_errors_are_those_of_the_client(self):
        taken = str(uuid.uuid4())
        self.send('POST', json={'actions': ACTIONS, 'uuid': taken})
        self.addCleanup(self.send, 'DELETE', f'/{taken}')
        absent = f'/{uuid.uuid4()}'

        for status, answer in (
            (409, self.send('POST', json={'actions': ACTIONS, 'uuid': taken})),
            (400, self.send('POST', json={'actions': []})),
            (
                400,
                self.send(
                    'POST', json={'actions': ACTIONS, 'description': '\0'}
                ),
            ),
            (400, self.send('GET', '?scope=%00')),
            (404, self.send('GET', absent)),
            (404, self.send('PATCH', absent, json=[])),
            (404, self.send('PUT', absent, json={'actions': ACTIONS})),
            (404, self.send('DELETE', absent)),
            (404, self.send('GET', f'?marker={absent[1:]}')),
        ):
            self.assertEqual(status, answer.status_code, answer.text)
            self.assertIn('faultstring', answer.json()['error_message'])

    def test_rules_made_at_once_are_all_there(self):
        made = [str(uuid.uuid4()) for _ in range(50)]

        statuses = self.at_once(
            lambda number: self.send(
                'POST', json={'actions': ACTIONS, 'uuid': made[number]}
            )
        )

        self.assertEqual({201}, set(statuses))
        listed = self.send('GET', '?limit=1000').json()['inspection_rules']
        self.assertLessEqual(set(made), {rule['uuid'] for rule in listed})
        self.assertEqual(204, self.send('DELETE').status_code)
        self.assertEqual([], self.send('GET').json()['inspection_rules'])

    def test_of_rules_with_one_uuid_made_at_once_one_is_made(self):
        taken = str(uuid.uuid4())

        statuses = self.at_once(
            lambda number: self.send(
                'POST', json={'actions': ACTIONS, 'uuid': taken}
            ),
            20,
        )

        self.assertEqual([201] + [409] * 19, sorted(statuses))

    def test_no_patch_of_a_rule_is_lost(self):
        path = (
            '/' + self.send('POST', json={'actions': ACTIONS}).json()['uuid']
        )

        statuses = self.at_once(
            lambda number: self.send(
                'PATCH',
                path,
                json=[
                    {
                        'op': 'add',
                        'path': '/conditions/-',
                        'value': {'op': 'eq', 'args': [number, number]},
                    }
                ],
            )
        )

        self.assertEqual({200}, set(statuses))
        conditions = self.send('GET', path).json()['conditions']
        self.assertEqual(
            [{'op': 'eq', 'args': [number, number]} for number in range(50)],
            sorted(conditions, key=lambda condition: condition['args']),
        )

    def test_removing_and_changing_at_once_is_no_error_of_the_server(self):
        path = (
            '/' + self.send('POST', json={'actions': ACTIONS}).json()['uuid']
        )

        def change(number):
            if number % 5 == 4:
                return self.send('DELETE')
            return self.send(
                'PATCH',
                path,
                json=[{'op': 'replace', 'path': '/priority', 'value': number}],
            )

        self.assertLessEqual(set(self.at_once(change, 30)), {200, 204, 404})


class SQLiteTestCase(RulesMixin, base.TestCase):
    def test_rules_outlive_a_restart(self):
        made = self.send('POST', json={'actions': ACTIONS}).json()
        self.addCleanup(self.send, 'DELETE', f'/{made["uuid"]}')

        self.ironic.restart()

        self.assertEqual(made, self.send('GET', f'/{made["uuid"]}').json())


class SplitMixin(RulesMixin):
    """A separate API service, which works on a database server."""

    kind: str
    objects_over_rpc = False

    def setUp(self):
        super().setUp()
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        self.ironic = _split_ironic(self.kind, self.objects_over_rpc)


@functools.cache
def _split_ironic(kind: str, objects_over_rpc: bool) -> launcher.Ironic:
    """Start services on a database server; they last to the end."""
    overrides: options.Options = {}
    if objects_over_rpc:
        # Ironic cannot do this over JSON-RPC.
        bus = _lasting(fixtures.MessageBus())
        overrides = {
            'DEFAULT': {
                'rpc_transport': 'oslo',
                'rpc_response_timeout': 5,
                'transport_url': bus.url,
                'use_rpc_for_database': True,
            }
        }
    server = _lasting(database.Database(kind, ready=False))
    return _lasting(
        fixtures.Split(
            server.engine.url.render_as_string(hide_password=False), overrides
        )
    ).ironic


def _lasting(fixture: Any) -> Any:
    fixture.setUp()
    atexit.register(fixture.cleanUp)
    return fixture


class MySQLTestCase(SplitMixin, base.IntegrationTestCase):
    kind = 'mysql'


class PostgreSQLTestCase(SplitMixin, base.IntegrationTestCase):
    kind = 'postgresql'


class ObjectsOverRPCTestCase(SplitMixin, base.IntegrationTestCase):
    """An API service that asks the conductor for all that is stored."""

    kind = 'mysql'
    objects_over_rpc = True

    def test_what_it_cannot_do_is_said(self) -> None:
        with self.ironic.client() as client:
            answer = client.get('/v1/nodes?traits=CUSTOM_A')
        self.assertEqual(400, answer.status_code, answer.text)
        self.assertIn(
            'use_rpc_for_database: this API answers 400', self.ironic.logs()
        )


class BasicAuthenticationTestCase(base.IntegrationTestCase):
    def test_no_route_is_open_to_all(self):
        ironic = self.useFixture(
            fixtures.AllInOne(auth=('user', 'pass'))
        ).ironic
        ironic.auth = None

        with ironic.client() as nobody:
            for method, path in (
                ('GET', ''),
                ('POST', ''),
                ('DELETE', ''),
                ('GET', f'/{uuid.uuid4()}'),
                ('PATCH', f'/{uuid.uuid4()}'),
                ('PUT', f'/{uuid.uuid4()}'),
                ('DELETE', f'/{uuid.uuid4()}'),
                ('POST', '/evaluate'),
            ):
                answer = nobody.request(method, RULES + path)
                self.assertEqual(401, answer.status_code, (method, path))
