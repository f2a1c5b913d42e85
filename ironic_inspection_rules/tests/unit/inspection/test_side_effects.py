# SPDX-License-Identifier: Apache-2.0

"""What actions do beyond the data of the machine."""

import http.server
import logging
import math
import threading
import time
import types

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.inspection import side_effects
from ironic_inspection_rules.tests.unit import base

ENOUGH = 60


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as the server's ``answer`` says, and keeps the headers."""

    def do_GET(self):
        self.server.seen.append(dict(self.headers))
        self.server.answer(self)

    def log_message(self, *args):
        """Write nothing."""


class LogTestCase(base.IronicTestCase):
    def test_what_a_machine_says_stays_one_line(self):
        logs = self.useFixture(fixtures.FakeLogger(format='%(message)s'))
        side_effects.ServiceEffects().log(
            'info', 'serial a\n2026 CRITICAL \x1b[31mforged\u2028\ud800\n'
        )
        self.assertEqual(
            'serial a\\n2026 CRITICAL \\x1b[31mforged\\u2028\\ud800\n',
            logs.output,
        )


class ApiCallTestCase(base.IronicTestCase):
    def serve(self, answer):
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        server.answer, server.seen = answer, []
        threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        ).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def url(self, server, host='127.0.0.1'):
        return f'http://{host}:{server.server_port}/?key=k3y'

    def call(self, url, seconds=math.inf, **options):
        side_effects.ServiceEffects().call(
            working_copy.GetRequest(url, **{'retries': 0, **options}), seconds
        )

    def test_its_url_is_in_no_line_of_the_log(self):
        """Whatever is logged of each retry."""
        logs = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        port = self.useFixture(base.DeadPort())
        self.assertRaises(
            exceptions.OperationError,
            self.call,
            f'http://127.0.0.1:{port}/k3y?key=k3y',
            retries=2,
            backoff_factor=0,
        )
        self.assertNotIn('k3y', logs.output)
        self.assertIn('api-call failed', logs.output)

    def test_a_bug_is_an_answer_too_and_an_error_in_the_log(self):
        """Else the phase would wait for the thread that failed."""

        def fail(**_options):
            raise AttributeError('k3y')

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.tls.make_adapter', fail
            )
        )
        logs = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        error = self.assertRaises(
            exceptions.OperationError, self.call, 'http://host.test'
        )
        self.assertIn('cannot be sent', str(error))
        self.assertIn('api-call failed: AttributeError', logs.output)
        self.assertNotIn('k3y', logs.output)

    def test_an_answer_is_not_read(self):
        written = []
        rest = threading.Event()

        def answer(handler):
            handler.send_response(200)
            handler.send_header('Content-Length', str(2**40))
            handler.end_headers()
            written.append(rest.wait(ENOUGH))

        self.call(self.url(self.serve(answer)))
        self.assertEqual([], written)
        rest.set()

    def test_an_answer_that_never_ends_is_given_up(self):
        rest = threading.Event()
        server = self.serve(lambda handler: rest.wait(ENOUGH))
        exc = self.assertRaises(
            exceptions.OperationError,
            self.call,
            self.url(server),
            0.05,
            timeout=ENOUGH,
        )
        rest.set()
        self.assertIn('the end of the phase', str(exc))

    def assert_ends_with_the_phase(self, answer):
        server = self.serve(answer)
        begun = []

        class Thread(threading.Thread):
            """Told of, as threads of others come and go meanwhile."""

            def start(self):
                begun.append(self)
                super().start()

        self.useFixture(
            fixtures.MonkeyPatch(
                f'{side_effects.__name__}.threading',
                types.SimpleNamespace(Thread=Thread),
            )
        )
        self.assertRaises(
            exceptions.OperationError,
            self.call,
            self.url(server),
            0.2,
            timeout=ENOUGH,
            retries=10**9,
            backoff_factor=1000,
        )
        [thread] = begun
        thread.join(ENOUGH)
        self.assertFalse(thread.is_alive())
        return server

    def test_nothing_is_tried_again_after_the_phase(self):
        self.assert_ends_with_the_phase(
            lambda handler: handler.send_error(503)
        )

    def test_no_server_has_a_thread_wait_beyond_the_phase(self):
        def later(handler):
            handler.send_response(503)
            handler.send_header('Retry-After', '3600')
            handler.end_headers()

        self.assert_ends_with_the_phase(later)

    def test_no_redirect_is_followed_after_the_phase(self):
        def elsewhere(handler):
            handler.send_response(302)
            handler.send_header('Location', f'/{len(handler.server.seen)}')
            handler.end_headers()
            time.sleep(0.05)

        server = self.assert_ends_with_the_phase(elsewhere)
        self.assertLess(len(server.seen), 10)

    def test_an_error_holds_no_value_of_the_query(self):
        server = self.serve(lambda handler: handler.send_error(404))
        closed = (
            f'http://127.0.0.1:{self.useFixture(base.DeadPort())}/?key=k3y'
        )
        for url, problem in (
            (self.url(server), '404'),
            (closed, 'the host cannot be reached'),
        ):
            exc = self.assertRaises(exceptions.OperationError, self.call, url)
            self.assertIn(problem, str(exc))
            while exc:
                self.assertNotIn('k3y', str(exc))
                exc = exc.__cause__ or exc.__context__

    def test_an_error_holds_no_text_of_the_server(self):
        server = self.serve(
            lambda handler: handler.send_error(403, 's3cret', 's3cret')
        )
        exc = self.assertRaises(
            exceptions.OperationError, self.call, self.url(server)
        )
        self.assertIn('403', str(exc))
        self.assertNotIn('s3cret', str(exc))

    def test_an_error_names_no_class(self):
        rest = threading.Event()
        slow = self.serve(lambda handler: rest.wait(ENOUGH))

        def again(handler):
            handler.send_response(302)
            handler.send_header('Location', '/')
            handler.end_headers()

        circle = self.url(self.serve(again))
        for problem, url, options in (
            ('answer in time', self.url(slow), {'timeout': 0.05}),
            ('too many redirects', circle, {}),
            ('TLS', circle.replace('http:', 'https:'), {}),
            ('cannot be sent', 'http://[1/', {}),
        ):
            exc = self.assertRaises(
                exceptions.OperationError, self.call, url, **options
            )
            self.assertIn(problem, str(exc))
        rest.set()

    def test_another_host_gets_no_headers_of_the_rule(self):
        def found(handler):
            handler.send_response(200)
            handler.end_headers()

        other = self.serve(found)

        def elsewhere(handler):
            handler.send_response(302)
            handler.send_header('Location', self.url(other, 'localhost'))
            handler.end_headers()

        first = self.serve(elsewhere)
        self.call(self.url(first), headers={'X-Auth-Token': 's3cret'})
        self.assertEqual('s3cret', first.seen[0]['X-Auth-Token'])
        self.assertNotIn('X-Auth-Token', other.seen[0])

    def test_another_scheme_is_not_followed(self):
        def elsewhere(handler):
            handler.send_response(302)
            handler.send_header('Location', 'https://127.0.0.1:1/')
            handler.end_headers()

        exc = self.assertRaises(
            exceptions.OperationError,
            self.call,
            self.url(self.serve(elsewhere)),
        )
        self.assertIn('another scheme', str(exc))
