# SPDX-License-Identifier: Apache-2.0

"""What the YAML files of HTTP tests name under ``fixtures``."""

import contextlib
import datetime
import pathlib
import tempfile
from typing import Any

from gabbi import fixture
from ironic import objects
from ironic.common import context
from oslo_serialization import jsonutils
from oslo_utils import timeutils

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import rule_statistics
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.unit import clock

RULE = '00000000-0000-4000-8000-000000000001'
NODE = '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10'

BUILT_IN_RULES = [
    {
        'uuid': '11111111-1111-4111-8111-111111111111',
        'description': 'built-in, first of all',
        'priority': 20000,
        'actions': [{'op': 'log', 'args': ['first']}],
    },
    {
        'uuid': '22222222-2222-4222-8222-222222222222',
        'description': 'built-in, in the middle',
        'priority': 5,
        'scope': 'rack',
        'phase': 'preprocess',
        'sensitive': True,
        'actions': [{'op': 'log', 'args': ['middle']}],
    },
    {
        'uuid': '33333333-3333-4333-8333-333333333333',
        'description': 'built-in, last of all',
        'priority': -1,
        'actions': [{'op': 'log', 'args': ['last']}],
    },
]


class API(fixture.GabbiFixture):
    """Ironic's API without authentication."""

    options: dict[str, dict[str, Any]] = {}

    def start_fixture(self) -> None:
        self.stack = contextlib.ExitStack()
        # A busy machine must not use up the time that phases have.
        self.stack.enter_context(clock.Clock(budget))
        self.stack.enter_context(
            application.current.use(application.Application(self.options))
        )

    def stop_fixture(self) -> None:
        self.stack.close()


class SmallPagesAPI(API):
    """With at most three rules on a page."""

    options = {'api': {'max_limit': 3}}


class KeystoneAPI(API):
    """With tokens ``admin``, ``reader`` and ``member``."""

    options = {'DEFAULT': {'auth_strategy': 'keystone'}}


class BuiltInRulesAPI(API):
    """With three built-in rules."""

    more: dict[str, dict[str, Any]] = {}

    def start_fixture(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.directory.name) / 'rules.yaml'
        path.write_text(jsonutils.dumps(BUILT_IN_RULES))
        self.options = {
            'inspection_rules': {'built_in': str(path)},
            **self.more,
        }
        super().start_fixture()

    def stop_fixture(self) -> None:
        super().stop_fixture()
        self.directory.cleanup()


class BuiltInRulesKeystoneAPI(BuiltInRulesAPI):
    """With three built-in rules and tokens."""

    more = {'DEFAULT': {'auth_strategy': 'keystone'}}


class QueueAPI(API):
    """With durable inspection; no worker runs."""

    options = {'inspection_queue': {'enabled': True}}


class QueueKeystoneAPI(API):
    """With durable inspection and tokens."""

    options = {
        'DEFAULT': {
            'auth_strategy': 'keystone',
            'rbac_service_role_elevated_access': True,
        },
        'inspection_queue': {'enabled': True},
    }


class NodesToInspect(fixture.GabbiFixture):
    """Nodes named after their states, each with a port; after an API.

    They have an owner and a lessee.
    ``locked`` is manageable, ``posted`` too and has unprocessed data.
    """

    def start_fixture(self) -> None:
        admin = context.get_admin_context()
        for number, (name, state) in enumerate(
            (
                ('waiting', 'inspect wait'),
                ('inspecting', 'inspecting'),
                ('manageable', 'manageable'),
                ('enroll', 'enroll'),
                ('locked', 'manageable'),
                ('posted', 'manageable'),
            )
        ):
            node = objects.Node(
                admin,
                uuid=f'{number}{NODE[1:]}',
                name=name,
                driver='fake-hardware',
                inspect_interface='fake',
                provision_state=state,
                inspection_started_at=timeutils.utcnow()
                if (state == 'inspect wait')
                else None,
                owner=application.OWNER,
                lessee=application.LESSEE,
                driver_internal_info={'agent_secret_token': 's3cret'},
                reservation='host' if name == 'locked' else None,
            )
            node.create()
            objects.Port(
                admin, node_id=node.id, address=f'52:54:00:00:00:0{number}'
            ).create()
            if name in ('posted', 'locked'):
                requests = database_queue.DatabaseQueue(60)
                requests.put(
                    node.uuid,
                    queue_request.CONTINUE,
                    {'interfaces': [{'mac_address': '52:54:00:00:00:09'}]},
                    {'sent': True, 'logs': 'H4sI'},
                )
                requests.consume(requests.get('w1'))


class NodesInInspection(fixture.GabbiFixture):
    """Nodes at each moment of an inspection, by its name; after an API."""

    def start_fixture(self) -> None:
        admin = context.get_admin_context()
        now = timeutils.utcnow()
        before, after = (
            (now + datetime.timedelta(seconds=more)).isoformat()
            for more in (-60, 0.2)
        )
        for number, (name, state, interface, began, heartbeat) in enumerate(
            (
                ('begun', 'inspecting', 'agent', now, None),
                ('begun-again', 'inspecting', 'agent', now, before),
                ('to-power-on', 'inspecting', 'agent', None, before),
                ('booted', 'inspect wait', 'agent', now, before),
                ('in-queue', 'inspect wait', 'agent', None, before),
                ('posted', 'inspecting', 'agent', now, after),
                ('out-of-band', 'inspecting', 'redfish', now, before),
            )
        ):
            objects.Node(
                admin,
                uuid=f'{number}{NODE[1:]}',
                name=name,
                driver='fake-hardware',
                inspect_interface=interface,
                provision_state=state,
                inspection_started_at=began,
                driver_internal_info={'agent_last_heartbeat': heartbeat},
            ).create()


class NodesToPowerOn(fixture.GabbiFixture):
    """Nodes whose machines wait for their turn; after an API.

    ``first`` has its turn just now, ``second`` waits.
    """

    def start_fixture(self) -> None:
        admin = context.get_admin_context()
        requests = database_queue.DatabaseQueue(
            60, node_reservation.stop_timeout
        )
        for number, name in enumerate(('first', 'second')):
            node = objects.Node(
                admin,
                uuid=f'{number}{NODE[1:]}',
                name=name,
                driver='fake-hardware',
                inspect_interface='fake',
                provision_state='inspecting',
                inspection_started_at=timeutils.utcnow(),
            )
            node.create()
            requests.put(node.uuid, queue_request.POWER_ON)
            node.refresh()
            node.provision_state = 'inspect wait'
            node.save()
            if name == 'first':
                requests.get_power_on('w1')


class InspectedNode(fixture.GabbiFixture):
    """A node with a port and stored inspection data; after an API.

    Rules do not run on another one, ``unsupported``.
    """

    def start_fixture(self) -> None:
        admin = context.get_admin_context()
        node = objects.Node(
            admin,
            uuid=NODE,
            name='inspected',
            driver='fake-hardware',
            inspect_interface='agent',
            extra={'rack': 'a1'},
            driver_info={'fake_password': 's3cret'},
        )
        node.create()
        objects.Port(
            admin, node_id=node.id, address='52:54:00:00:00:01'
        ).create()
        objects.NodeInventory(
            admin,
            node_id=node.id,
            inventory_data={
                'cpu': {'count': 8},
                'memory': {'physical_mb': 4096},
            },
            plugin_data={'seen': True, 'inspection_rules': {}},
        ).create()
        objects.Node(
            admin,
            name='unsupported',
            driver='fake-hardware',
            inspect_interface='no-inspect',
        ).create()


class InspectionRuns(fixture.GabbiFixture):
    """Runs of rules of a node that was inspected; after InspectedNode.

    Of the last two runs the first passed and the second failed.
    """

    def start_fixture(self) -> None:
        change = {
            'object': 'node',
            'op': 'replace',
            'path': '/extra/rack',
            'before': None,
            'after': 'a1',
            'action': 'set-attribute',
        }
        rule = {
            'uuid': RULE,
            'description': 'big',
            'revision': 3,
            'conditions': [
                {'op': 'eq', 'result': True, 'reason': 'values=(1, 1)'}
            ],
            'actions': ['set-attribute'],
            'changes': [change],
            'when': [
                {
                    'action': 'add-trait',
                    'ran': False,
                    'conditions': [],
                    'reason': 'the loop has no items',
                }
            ],
        }
        withheld = {
            'uuid': BUILT_IN_RULES[1]['uuid'],
            'matched': True,
            'withheld': True,
        }
        main = {
            'rules': [rule, withheld],
            'reverted': [],
            'audit': [],
            'saved': True,
            'seconds': 0.01,
        }
        for number, result in enumerate(('ok', 'ok', 'failed')):
            failed = {
                'error': 'too small',
                'content': content.store(
                    {
                        'inventory': {'cpu': {'count': 2}},
                        'plugin_data': {'kept': True},
                    }
                ),
            }
            database.record_run(
                {
                    'uuid': f'0000000{number}{RULE[8:]}',
                    'node_uuid': NODE,
                    'event': 'inspection',
                    'inspect_interface': 'agent',
                    'result': result,
                    'revision': 3,
                    'phases': {'main': main} if number == 1 else {},
                    'places': {'main': {withheld['uuid']: None}},
                    **(failed if result == 'failed' else {}),
                },
                keep=5,
            )
        with transaction.writer() as session:
            # It is known that the rule was never sensitive.
            session.add(
                models.RuleVersionRow(
                    uuid=RULE,
                    first_revision=3,
                    end_revision=3,
                    rule_revision=3,
                    sensitive=False,
                    position=1.0,
                    fields={},
                )
            )
        rule_statistics.add_statistics(
            [
                {
                    'rule_uuid': BUILT_IN_RULES[2]['uuid'],
                    'since': datetime.datetime(2026, 11, 1),
                    'runs': 7,
                    'matched': 5,
                    'failed': 1,
                    'audited': 0,
                    'seconds': 0.25,
                    'last_matched_at': datetime.datetime(2026, 11, 2),
                    'last_matched_node': NODE,
                }
            ]
        )


class Conductor(fixture.GabbiFixture):
    """A conductor of fake hardware; after an API."""

    def start_fixture(self) -> None:
        self.conductor = conductor.Conductor()
        self.conductor.setUp()

    def stop_fixture(self) -> None:
        self.conductor.cleanUp()
