# SPDX-License-Identifier: Apache-2.0

"""That the client of real services does not depend on when they are idle."""

import http.server
import threading
from typing import Any

from ironic_inspection_rules.tests.live import client
from ironic_inspection_rules.tests.unit import base


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request of a connection, and ends it at the second.

    So does the server of Ironic's API where a request comes just when the
    connection has been idle for too long.
    """

    protocol_version = 'HTTP/1.1'
    answered = False

    def do_GET(self) -> None:
        if self.answered:
            self.close_connection = True
            return
        self.answered = True
        self.send_response(200)
        self.send_header('Content-Length', '2')
        if self.close_connection:
            self.send_header('Connection', 'close')
        self.end_headers()
        self.wfile.write(b'{}')

    def log_message(self, *args: Any) -> None:
        pass


class ClientTestCase(base.TestCase):
    def test_a_connection_that_the_server_ends_is_not_used(self) -> None:
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        with client.Client(
            f'http://127.0.0.1:{server.server_port}'
        ) as session:
            self.assertEqual({}, session.call('GET', '/v1/nodes'))
            self.assertEqual({}, session.call('GET', '/v1/nodes'))
