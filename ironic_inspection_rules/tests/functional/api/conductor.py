# SPDX-License-Identifier: Apache-2.0

"""A conductor in this process."""

import fixtures
from ironic.common import hash_ring
from ironic.common import rpc
from ironic.conductor import manager
from ironic.conf import CONF
from ironic.db import api as db_api
from ironic.drivers import base
from oslo_config import fixture as config_fixture
from oslo_messaging import conffixture

HOST = 'host.test'

_NOOP = ('network', 'storage')


class Conductor(fixtures.Fixture):
    """Does what an :class:`.application.Application` asks of a conductor.

    It knows fake hardware only, whose inspection can be aborted, and does
    nothing on its own account.
    """

    def _setUp(self) -> None:
        config = self.useFixture(config_fixture.Config(CONF))
        config.config(
            enabled_hardware_types=['fake-hardware'],
            **{
                f'enabled_{interface}_interfaces': [
                    'noop' if interface in _NOOP else 'fake'
                ]
                for interface in base.ALL_INTERFACES
            },
        )
        messaging = self.useFixture(conffixture.ConfFixture(CONF))
        messaging.transport_url = 'fake:'
        rpc.init(CONF)
        self.addCleanup(rpc.cleanup)
        conductor = db_api.get_instance().register_conductor(
            {'hostname': HOST, 'drivers': []}
        )
        db_api.get_instance().register_conductor_hardware_interfaces(
            conductor.id,
            [
                {
                    'hardware_type': 'fake-hardware',
                    'interface_type': 'power',
                    'interface_name': 'fake',
                    'default': True,
                }
            ],
        )
        hash_ring.HashRingManager().reset()
        self.addCleanup(hash_ring.HashRingManager().reset)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.rpc.GLOBAL_MANAGER',
                manager.ConductorManager(HOST),
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.drivers.modules.fake.FakeInspect.abort',
                lambda interface, task: None,
            )
        )
