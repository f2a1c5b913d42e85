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
