# SPDX-License-Identifier: Apache-2.0

"""The limit that Ironic puts on the bodies of requests."""

import importlib.util
import io
import unittest

import fixtures
import hypothesis
from hypothesis import strategies as st
from ironic.conf import api

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.tests.unit import base


@unittest.skipUnless(body_limit.IS_OF_IRONIC, 'this Ironic has no limits')
class BodyLimitTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.middleware.json_depth._is_inspection_path',
                body_limit.json_depth._is_inspection_path,
            )
        )

    def status(self, path, size):
        """Send a JSON body of some size through Ironic's middleware."""
        statuses = []

        def app(environ, start_response):
            start_response('200 OK', [])
            return []

        body_limit.json_depth.JsonDepthMiddleware(
            app,
            max_body_size=10,
            max_provision_size=20,
            max_inspection_size=30,
        )(
            {
                'PATH_INFO': path,
                'CONTENT_TYPE': 'application/json',
                'CONTENT_LENGTH': str(size),
                'wsgi.input': io.BytesIO(b'"' + b'x' * (size - 2) + b'"'),
            },
            lambda status, headers: statuses.append(int(status[:3])),
        )
        return statuses[0]

    def test_requests_with_inspection_data_may_be_bigger(self):
        body_limit.allow_size_of_inspection_data('things/try')

        self.assertEqual(200, self.status('/v1/things/try', 30))
        self.assertEqual(413, self.status('/v1/things/try', 31))

    def test_the_limits_of_others_stay(self):
        body_limit.allow_size_of_inspection_data('things/try')

        self.assertEqual(200, self.status('/v1/continue_inspection', 30))
        self.assertEqual(413, self.status('/v1/things', 11))

    def configure(self):
        body_limit.allow_size_of_inspection_data('things/try')
        self.config(
            group='api',
            max_json_body_depth=9,
            max_json_body_size=4,
            max_json_body_size_inspection=5,
            max_json_body_size_provision=6,
        )

    def assert_size(self, most_bytes, path):
        self.assertEqual(
            most_bytes, body_limit.find_size_limit(path).most_bytes
        )

    def test_the_depth_is_the_option_of_ironic(self):
        self.configure()
        self.assertEqual(9, body_limit.depth())

    def test_the_size_of_most_bodies_is_the_option_of_ironic(self):
        self.configure()
        self.assert_size(4 * 1024, '/v1/things')

    def test_the_size_of_inspection_data_is_the_option_of_ironic(self):
        self.configure()
        self.assert_size(5 * 1024, '/v1/continue_inspection')
        self.assert_size(5 * 1024, '/v1/things/try/')

    def test_the_size_of_a_provision_is_the_option_of_ironic(self):
        self.configure()
        self.assert_size(6 * 1024, '/v1/nodes/n/states/provision')


@unittest.skipUnless(body_limit.IS_OF_IRONIC, 'this Ironic has no limits')
class DepthTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.middleware.json_depth.check_depth',
                body_limit.json_depth.check_depth,
            )
        )
        # Another test may have put ours in the place of Ironic's function.
        spec = importlib.util.find_spec('ironic.api.middleware.json_depth')
        self.stock = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.stock)

    @hypothesis.given(st.text('"\\[]{}, a\u00e4'), st.integers(0, 4))
    def test_the_depth_is_that_of_ironic(self, text, limit):
        body_limit.count_depth_fast()

        self.assertEqual(
            self.stock.check_depth(text.encode(), limit),
            body_limit.json_depth.check_depth(text.encode(), limit),
        )

    def test_ironic_counts_with_ours(self):
        body_limit.count_depth_fast()
        stock = self.stock.JsonDepthMiddleware.__call__.__code__.co_names

        self.assertIn('check_depth', stock)
        self.assertIs(
            budget.is_within_depth, body_limit.json_depth.check_depth
        )


class NoLimitTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        for name, without in (('IS_OF_IRONIC', False), ('CONF.api', object())):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f'ironic_inspection_rules.patches.body_limit.{name}',
                    without,
                )
            )

    def test_an_ironic_without_limits_is_left_as_it_is(self):
        body_limit.allow_size_of_inspection_data('things/try')
        body_limit.count_depth_fast()

        self.assertIsNone(body_limit.find_size_limit('/v1/things').option)

    def test_the_usual_limits_hold_without_options_for_them(self):
        self.assertEqual(25, body_limit.depth())
        self.assertEqual(
            1024**2, body_limit.find_size_limit('/v1/things').most_bytes
        )


class UsualLimitTestCase(base.TestCase):
    def test_they_are_the_defaults_of_ironic(self):
        options = {option.dest: option.default for option in api.opts}
        self.assertEqual(
            {
                name: options.get(name, usual)
                for name, usual in body_limit.USUAL.items()
            },
            body_limit.USUAL,
        )
