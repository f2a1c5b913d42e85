# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Ironic's API with the plugin in it, inside the test's process."""

import fixtures
import httpx
from ironic import objects
from ironic.api import app
from ironic.api.controllers.v1 import versions
from ironic.common import hash_ring
from ironic.common import rpc
from ironic.conductor import manager
from ironic.conf import CONF
from ironic.db import api as db_api
from ironic.db.sqlalchemy import models
from ironic.drivers import base
from oslo_config import fixture as config_fixture
from oslo_messaging import conffixture

from ironic_inspection_rules.tests import database

HOST = 'host.test'

_IMPLEMENTATIONS = {'network': 'noop', 'storage': 'noop'}
_VERSION = 'X-OpenStack-Ironic-API-Version'


class Api(fixtures.Fixture):
    """Ironic's API over a database of its own.

    What the API asks of a conductor is done in the same process, by one
    that does no more than it is asked for.

    :param kind: of the database, see :class:`database.Database`.
    :ivar app: the WSGI application.
    """

    def __init__(self, kind: str = 'sqlite') -> None:
        super().__init__()
        self._kind = kind

    def _setUp(self) -> None:
        objects.register_all()
        self.config = self.useFixture(config_fixture.Config(CONF))
        CONF([], project='ironic', default_config_files=[],
             default_config_dirs=[])
        self.config.config(
            host=HOST, auth_strategy='noauth', rpc_transport='none',
            enabled_hardware_types=['fake-hardware'],
            **{f'enabled_{interface}_interfaces': [_IMPLEMENTATIONS.get(
                interface, 'fake')] for interface in base.ALL_INTERFACES})
        self.config.config(group='api', middleware=['inspection-rules'])
        ironic = self.useFixture(database.Database(self._kind))
        models.Base.metadata.create_all(ironic.engine)
        self._start_conductor()
        self.app = app.setup_app(app.get_pecan_config())

    def client(self, **headers: str) -> httpx.Client:
        """A client of the API at the latest microversion.

        :param headers: to send with each request, with ``_`` for ``-``.
        """
        client = httpx.Client(
            transport=httpx.WSGITransport(app=self.app),
            base_url='http://ironic.test',
            headers={_VERSION: versions.max_version_string(),
                     **{name.replace('_', '-'): value
                        for name, value in headers.items()}})
        self.addCleanup(client.close)
        return client

    def enforce_policies(self) -> None:
        """Believe what the headers of a request say about its user."""
        self.config.config(auth_strategy='keystone')

    def _start_conductor(self) -> None:
        messaging = self.useFixture(conffixture.ConfFixture(CONF))
        messaging.transport_url = 'fake:'
        rpc.init(CONF)
        self.addCleanup(rpc.cleanup)
        conductor = db_api.get_instance().register_conductor(
            {'hostname': HOST, 'drivers': []})
        db_api.get_instance().register_conductor_hardware_interfaces(
            conductor.id, [
                {'hardware_type': 'fake-hardware', 'interface_type': 'power',
                 'interface_name': 'fake', 'default': True}])
        hash_ring.HashRingManager().reset()
        self.addCleanup(hash_ring.HashRingManager().reset)
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.common.rpc.GLOBAL_MANAGER',
            manager.ConductorManager(HOST)))
