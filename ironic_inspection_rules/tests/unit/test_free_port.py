# SPDX-License-Identifier: Apache-2.0

"""The ports of the services that other tests start."""

import socket

from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.unit import base


class FreePortTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.socket = self.enterContext(socket.socket())
        self.address = ('127.0.0.1', options.free_port())

    def test_nobody_gets_it_by_chance(self):
        self.assertRaises(OSError, self.socket.bind, self.address)

    def test_a_server_may_listen_there(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.address)
        self.socket.listen()
        socket.create_connection(self.address).close()
