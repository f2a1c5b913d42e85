# SPDX-License-Identifier: Apache-2.0

import threading

from ironic.conf import CONF
import oslo_messaging

from ironic_inspection_rules.pxe_filter import messages
from ironic_inspection_rules.tests.unit import base

PATIENCE = 20


class MessagesTestCase(base.IronicTestCase):

    def test_every_listener_gets_it(self):
        # The first use registers the option.
        oslo_messaging.get_rpc_transport(CONF)
        self.config(transport_url='fake://')
        change = messages.Change(
            messages.ALLOWLIST, messages.ADD, 'uuid',
            '52:54:00:00:00:01')
        received = []
        both = threading.Barrier(3, timeout=PATIENCE)

        def handle(what):
            received.append(what)
            both.wait()

        for host in ('one', 'two'):
            server = messages.listen(CONF, host, handle)
            self.addCleanup(server.wait)
            self.addCleanup(server.stop)
        messages.Sender(CONF).send(change)
        both.wait()

        self.assertEqual([change, change], received)
