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

from ironic_inspection_rules.ha import announcement
from ironic_inspection_rules.tests.unit import base

PATIENCE = 20


class AnnouncementTestCase(base.IronicTestCase):

    def test_every_listener_hears_it(self):
        # The first use registers the option.
        oslo_messaging.get_rpc_transport(CONF)
        self.config(transport_url='fake://')
        change = announcement.Announcement(
            announcement.WHITELIST, announcement.ADD, 'uuid',
            '52:54:00:00:00:01')
        heard = []
        both = threading.Barrier(3, timeout=PATIENCE)

        def hear(what):
            heard.append(what)
            both.wait()

        for host in ('one', 'two'):
            server = announcement.listen(CONF, host, hear)
            self.addCleanup(server.wait)
            self.addCleanup(server.stop)
        announcement.Announcer(CONF).announce(change)
        both.wait()

        self.assertEqual([change, change], heard)
