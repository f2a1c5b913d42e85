# SPDX-License-Identifier: Apache-2.0

"""Answers that are sent while they are made."""

import collections.abc

import fixtures
import webob

from ironic_inspection_rules.api import stream
from ironic_inspection_rules.tests.unit import base

PATH = '/v1/rules/evaluate'


class LayerTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.made = []
        self.status = 200
        self.app = stream.layer(self.inner, endings=('rules/evaluate',))

    def inner(self, environ, start_response):
        """Answer as Ironic does, which may copy the environment."""
        request = webob.Request(dict(environ))
        self.useFixture(fixtures.MonkeyPatch('ironic.api.request', request))
        stream.send(self.parts())
        return webob.Response(b'whole', status=self.status)(
            environ, start_response
        )

    def parts(self):
        for part in (b'one', b'two'):
            self.made.append(part)
            yield part

    def answer(self):
        return webob.Request.blank(PATH).get_response(self.app)

    def test_parts_are_made_when_they_are_sent(self):
        answer = self.answer()
        self.assertEqual([], self.made)
        parts = iter(answer.app_iter)
        self.assertEqual(b'one', next(parts))
        self.assertEqual([b'one'], self.made)
        self.assertEqual([b'two'], list(parts))

    def test_nobody_can_take_them_for_an_iterator(self):
        self.assertNotIsInstance(
            self.answer().app_iter, collections.abc.Iterator
        )

    def test_an_answer_that_is_not_whole_has_no_length(self):
        self.assertIsNone(self.answer().content_length)

    def test_an_error_is_sent_as_it_is(self):
        self.status = 500
        self.assertEqual(b'whole', self.answer().body)
        self.assertEqual([], self.made)
