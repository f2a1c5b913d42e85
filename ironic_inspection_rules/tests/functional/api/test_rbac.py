# SPDX-License-Identifier: Apache-2.0

"""Who may call what: rbac.yaml, and that no call is left out of it."""

import importlib
import inspect
import pathlib
import pkgutil

import fixtures
from ironic import objects
from ironic.common import context
from pecan import core
import webob
import yaml

from ironic_inspection_rules.api import controllers
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures
from ironic_inspection_rules.tests.unit import base

TABLE = yaml.safe_load(
    pathlib.Path(__file__).with_name('rbac.yaml').read_text())

ANONYMOUS = 'anonymous'

OPTIONS = {
    'DEFAULT': {'auth_strategy': 'keystone',
                'rbac_service_role_elevated_access': True},
    'conductor': {'node_locked_retry_attempts': 0},
    'inspection_queue': {'enabled': True},
}


def served():
    """Name every method of this project's controllers that answers a call."""
    names = set()
    for module in pkgutil.iter_modules(controllers.__path__):
        found = importlib.import_module(
            f'{controllers.__name__}.{module.name}')
        for _name, controller in inspect.getmembers(found, inspect.isclass):
            if controller.__module__ == found.__name__:
                names |= {name_of(method)
                          for name, method in vars(controller).items()
                          if not name.startswith('_')
                          and getattr(method, 'exposed', False)}
    return names


def name_of(method):
    return f'{method.__module__}.{method.__qualname__}'


class RBACTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application(OPTIONS)).app
        self.useFixture(conductor.Conductor())
        nodes = gabbi_fixtures.NodesToInspect()
        nodes.start_fixture()
        self.addCleanup(nodes.stop_fixture)
        admin = context.get_admin_context()
        for name in ('posted', 'locked'):
            node = objects.Node.get_by_name(admin, name)
            objects.TraitList.create(admin, node.id, ['CUSTOM_A'])
            objects.NodeInventory(admin, node_id=node.id, inventory_data={},
                                  plugin_data={}).create()
        self.called = set()
        find = core.PecanBase.find_controller

        def find_controller(pecan, state):
            found = find(pecan, state)
            self.called.add(name_of(found[0]))
            return found

        self.useFixture(fixtures.MonkeyPatch(
            'pecan.core.PecanBase.find_controller', find_controller))

    def call(self, persona, method, path, body=None, **_expected):
        """Make a call; Ironic's answer to it must not change the next one's.

        :returns: the status.
        """
        request = webob.Request.blank(path, method=method.upper(), headers={
            'X-OpenStack-Ironic-API-Version': '1.96'})
        if persona != ANONYMOUS:
            request.headers['X-Auth-Token'] = persona
        if body is not None:
            request.json_body = body
            request.content_type = 'application/json'
        return request.get_response(self.app).status_int

    def test_every_persona_gets_the_answer_of_the_table(self):
        for name, call in TABLE['calls'].items():
            self.assertEqual(
                call['assert_status'],
                ' '.join(str(self.call(persona, **call))
                         for persona in TABLE['personas']), name)

    def test_every_call_that_is_served_is_in_the_table(self):
        for call in TABLE['calls'].values():
            self.call('system-admin', **call)

        self.assertEqual(set(), served() - self.called,
                         'calls without a row in rbac.yaml')

    def test_every_persona_of_ironic_is_in_the_table(self):
        self.assertEqual(
            {*application.PERSONAS, ANONYMOUS}, set(TABLE['personas']))
