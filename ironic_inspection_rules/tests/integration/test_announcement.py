# SPDX-License-Identifier: Apache-2.0

"""Changes in a real Ironic that reach a PXE filter over RabbitMQ alone."""

import os
import socket
import time
import urllib.parse
import uuid

from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import fixtures as ironics
from ironic_inspection_rules.tests.integration import network
from ironic_inspection_rules.tests.integration import pxe
from ironic_inspection_rules.tests.integration import test_outages

URL = os.environ.get(
    'IR_TEST_RABBITMQ_URL', 'rabbit://guest:guest@127.0.0.1:5672/'
)


class AnnouncementTestCase(pxe.TestCase):
    def setUp(self):
        super().setUp()
        url = urllib.parse.urlsplit(URL)
        try:
            socket.create_connection((url.hostname, url.port)).close()
        except OSError as exc:
            self.skipTest(f'no RabbitMQ: {exc}')
        self.exchange = f'ir_{uuid.uuid4().hex}'
        self.ironic = self.useFixture(
            ironics.AllInOne(
                {
                    'DEFAULT': {
                        'transport_url': URL,
                        'notification_level': 'info',
                        'control_exchange': self.exchange,
                    },
                    'oslo_messaging_notifications': {
                        'driver': 'inspection-pxe-filter'
                    },
                }
            )
        ).ironic
        self.client = self.ironic.client()
        self.addCleanup(self.client.close)
        self.one = self.host(1)
        self.relay = self.useFixture(
            network.Relay(self.one.namespace, (url.hostname, url.port))
        )
        near = url._replace(
            netloc=url.netloc.replace(
                f'{url.hostname}:{url.port}', f'127.0.0.1:{self.relay.port}'
            )
        )
        self.one.configure(
            {
                'DEFAULT': {
                    'transport_url': near.geturl(),
                    'control_exchange': self.exchange,
                },
                'database': self.ironic.options['database'],
                'inspection_pxe_filter': {
                    'sync_period': 0,
                    'whitelist_period': 0,
                },
            }
        )
        self.one.start()
        self.wait_for(lambda: self.one.passes, pxe.START)

    def test_ports_and_inspections_are_announced(self):
        mac = base.new_mac()
        node = self.client.enroll([mac])
        self.wait_for(lambda: mac in self.one.elements('blacklist'))

        self.client.start_inspection(node)
        self.wait_for(lambda: mac in self.one.elements('whitelist'))
        self.assertTrue(self.machine.gets_lease(mac))

        self.client.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'abort'}
        )
        self.wait_for(lambda: mac in self.one.elements('blacklist'))
        self.assertEqual('', self.one.elements('whitelist'))

        [port] = self.client.call('GET', f'/v1/nodes/{node}/ports')['ports']
        self.client.call('DELETE', f'/v1/ports/{port["uuid"]}')
        self.wait_for(lambda: not self.one.elements('blacklist'))

        self.check_outage()

    def check_outage(self):
        """Nothing that is announced while the broker is away is lost."""
        self.relay.cut()
        mac = base.new_mac()
        self.client.start_inspection(self.client.enroll([mac]))
        time.sleep(test_outages.OUTAGE)
        self.assertTrue(self.one.passes)
        self.relay.join()
        self.wait_for(
            lambda: mac in self.one.elements('whitelist'),
            test_outages.RECOVERY,
        )
        self.check_log(self.one, test_outages.LINES)
