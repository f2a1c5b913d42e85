# SPDX-License-Identifier: Apache-2.0

"""An Ironic with canaries everywhere, whose machines have been inspected.

What a ramdisk posts goes through API, queue, worker, and Ironic's own
inspection, all in this process.
"""

import functools
import io
import json
import logging
from typing import Any

import fixtures
import futurist
from ironic import objects
from ironic.common import context
from ironic.common import driver_factory
from ironic.common import rpc
from ironic.common import states
from ironic.conf import CONF
from oslo_config import fixture as config_fixture
import webob

from ironic_inspection_rules.inspection import rule_counter
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import service
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.functional.secrecy import rules
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.api import test_notification

ADMIN = 'system-admin'
PERSONAS = (ADMIN, 'system-reader', 'owner-admin')

PASSED, FAILED = 'passed', 'failed'
"""Names of the nodes: the last inspection of one passed, of the other not."""

_INTERFACES = (
    'boot',
    'deploy',
    'power',
    'management',
    'bios',
    'console',
    'raid',
    'rescue',
    'vendor',
    'firmware',
)

_HOOKS = 'ramdisk-error,validate-interfaces,inspection-rules'


class Site(fixtures.Fixture):
    """Two machines, inspected in every case there is.

    :param mask_secrets: the option.
    :ivar app: the WSGI application of the API.
    :ivar rules: the stored rules, in the new language.
    :ivar answers: texts of what was answered while the machines were
        inspected.
    :ivar logs: lines of this project's loggers.
    :ivar others: lines of all other loggers.
    :ivar notifier: keeps notifications.
    :ivar metrics: what the collector has.
    """

    def __init__(self, mask_secrets: str) -> None:
        self.mask_secrets = mask_secrets

    def _setUp(self) -> None:
        directory = self.useFixture(fixtures.TempDir())
        built_in = directory.join('built_in.json')
        with open(built_in, 'w', encoding='utf-8') as stream:
            json.dump(rules.BUILT_IN, stream)
        self.logs = self._lines_of('ironic_inspection_rules')
        self.others = self._lines_of('ironic')
        self.notifier = test_notification.FakeNotifier()
        self.metrics: dict[str, Any] = {}
        for name, value in (
            ('ironic.common.rpc.get_versioned_notifier', self.notifier),
            ('ironic.common.metrics_collector.STATISTIC_DATA', self.metrics),
            (
                'ironic_inspection_rules.patches.conductor.after_work',
                lambda flush: None,
            ),
        ):
            self.useFixture(fixtures.MonkeyPatch(name, value))
        # Tests have another one in its place.
        make_counter = rule_counter.get_counter.__wrapped__
        self.app = self.useFixture(
            application.Application(
                {
                    'DEFAULT': {
                        'auth_strategy': 'keystone',
                        'notification_level': 'debug',
                    },
                    'metrics': {'backend': 'collector'},
                    'inspection_queue': {'enabled': True},
                    'inspection_rules': {
                        'built_in': built_in,
                        'keep_history': 30,
                        'keep_runs': 20,
                        'statistics_period': 3600,
                        'mask_secrets': self.mask_secrets,
                    },
                }
            )
        ).app
        self.counter = make_counter()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.rule_counter.get_counter',
                lambda: self.counter,
            )
        )
        self._serve_agent()
        self._admin = context.get_admin_context()
        queue = service.make_queue()
        self._queue = queue
        port = self.useFixture(base.DeadPort())
        self.rules = rules.rule_set(f'http://127.0.0.1:{port}/')
        self.answers: list[str] = []
        self._store_rules()
        for number, name in enumerate((PASSED, FAILED), 1):
            self._enroll(number, name)
        self._inspect_all()

    def _lines_of(self, logger: str) -> io.StringIO:
        """Return a stream of what is logged.

        It is no detail of a test that fails: that would be very long.
        """
        stream = io.StringIO()
        self.useFixture(
            fixtures.LogHandler(
                logging.StreamHandler(stream), logger, logging.DEBUG
            )
        )
        return stream

    def _serve_agent(self) -> None:
        """Have a conductor whose fake hardware is inspected by the agent."""
        self.useFixture(conductor.Conductor())
        rpc.GLOBAL_MANAGER._executor = futurist.SynchronousExecutor()
        config = self.useFixture(config_fixture.Config(CONF))
        config.config(enabled_inspect_interfaces=['agent', 'fake'])
        config.config(
            group='inspector', hooks=_HOOKS, require_managed_boot=False
        )
        # What the hook replaces is Ironic's own again afterwards.
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.name.Name.replace_with',
                lambda name, value: self.useFixture(
                    fixtures.MonkeyPatch(f'{name.module}.{name.path}', value)
                ),
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.inspect_utils._HOOKS_MGR', {}
            )
        )
        # Other tests have loaded other interfaces.
        for factory in (
            driver_factory.HardwareTypesFactory,
            *driver_factory._INTERFACE_LOADERS.values(),
        ):
            self.addCleanup(
                setattr,
                factory,
                '_extension_manager',
                factory._extension_manager,
            )
            factory._extension_manager = None

    def call(
        self, method: str, path: str, body: Any = None, user: str = ADMIN
    ) -> webob.Response:
        """Make a call of the API.

        :param path: below ``/v1/``.
        """
        request = webob.Request.blank(
            f'/v1/{path}',
            method=method,
            headers={
                'X-OpenStack-Ironic-API-Version': '1.96',
                'X-Auth-Token': user,
            },
        )
        if body is not None:
            request.json_body = body
            request.content_type = 'application/json'
        return request.get_response(self.app)

    def do(
        self, method: str, path: str, body: Any = None, status: int = 200
    ) -> Any:
        """Make a call that is part of the scene.

        :returns: what it answers.
        """
        response = self.call(method, path, body)
        self.answers.append(response.text)
        if response.status_int != status:
            raise AssertionError(
                f'{method} {path}: {response.status} {response.text}'
            )
        return response.json if response.body else None

    def _store_rules(self) -> None:
        old = self.do('POST', 'rules', rules.OLD, 201)
        # It was no secret until now.
        self.answers.clear()
        self.notifier.sent.clear()
        self.do(
            'PATCH',
            f'inspection_rules/{old["uuid"]}',
            [{'op': 'add', 'path': '/sensitive', 'value': True}],
        )
        self.do(
            'PUT',
            'inspection_rules?prune=false',
            {
                'rules': self.rules,
                'tables': {
                    'machines': {'key': 'serial', 'rows': [{'serial': 'a1'}]}
                },
            },
        )

    def store_again(self) -> None:
        """Store the rules; all of them may have been removed."""
        self.do('PUT', 'inspection_rules', {'rules': self.rules})

    def _enroll(self, number: int, name: str) -> None:
        fields = {
            f'{interface}_interface': 'fake' for interface in _INTERFACES
        }
        node = objects.Node(
            self._admin,
            uuid=f'{number:08}-0000-4000-8000-00000000000b',
            name=name,
            driver='fake-hardware',
            power_state=states.POWER_ON,
            inspect_interface='agent',
            network_interface='noop',
            storage_interface='noop',
            owner=application.OWNER,
            driver_internal_info={'agent_secret_token': rules.SECRET_TOKEN},
            **{**fields, **rules.NODE},
        )
        node.create()
        objects.Port(
            self._admin,
            node_id=node.id,
            address=rules.MAC.format(number),
            **rules.PORT,
        ).create()
        objects.Portgroup(
            self._admin,
            node_id=node.id,
            name=f'bond{number}',
            address=rules.MAC.format(number + 10),
            **rules.PORT_GROUP,
        ).create()

    def _inspect_all(self) -> None:
        for number, name, cases in (
            (1, PASSED, (*rules.CASES, rules.PASSES, rules.PASSES)),
            (2, FAILED, (rules.PASSES, rules.CASES[1])),
        ):
            for case in cases:
                self.inspect(number, name, case)
        for case in rules.REFUSED:
            self.do(
                'POST',
                'continue_inspection',
                rules.data(rules.MAC.format(1), case),
                400,
            )
        self.do('POST', f'nodes/{PASSED}/inventory/reapply', None, 202)
        self.deliver()

    def inspect(self, number: int, name: str, case: str) -> objects.Node:
        """Inspect a machine.

        :returns: its node afterwards.
        """
        node = objects.Node.get_by_name(self._admin, name)
        node.provision_state = states.INSPECTWAIT
        node.target_provision_state = states.MANAGEABLE
        node.last_error = None
        # A rule has replaced the password.
        node.driver_info = {**node.driver_info, **rules.NODE['driver_info']}
        node.save()
        self.do(
            'POST',
            'continue_inspection',
            rules.data(rules.MAC.format(number), case),
            202,
        )
        self.deliver()
        node = objects.Node.get_by_name(self._admin, name)
        passes = case == rules.PASSES or (
            case == rules.WRITES_SECRET and self.mask_secrets == 'never'
        )
        if passes != (node.provision_state == states.MANAGEABLE):
            raise AssertionError(
                f'{case}: {node.provision_state} {node.last_error}'
            )
        self.answers.append(node.last_error or '')
        return node

    def deliver(self) -> None:
        """Process the request that waits."""
        delivery.Delivery(
            self._queue,
            self._queue.get('worker'),
            functools.partial(attempt.locked, self._queue, 900),
            1,
            0,
            lambda seconds: True,
        ).carry_out()
