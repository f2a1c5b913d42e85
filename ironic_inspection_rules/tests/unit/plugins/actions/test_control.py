# SPDX-License-Identifier: Apache-2.0

"""The action that tells another service."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.plugins.actions import control
from ironic_inspection_rules.tests.unit import base


class FakeEffects:
    """Keeps the requests it was asked for, or fails them."""

    def __init__(self, error=None):
        self.requests = []
        self.error = error

    def call(self, request, seconds):
        self.requests.append(request)
        if self.error:
            raise self.error


class ApiCallTestCase(base.TestCase):
    def call(self, effects, *args, **kwargs):
        target = working_copy.WorkingCopy(working_copy.Facts({}, {}), effects)
        control.ApiCall()(target, *args, **kwargs)
        return target

    def test_a_request_has_the_defaults_of_ironic(self):
        effects = FakeEffects()
        self.call(effects, 'http://cmdb/')
        self.assertEqual(
            [working_copy.GetRequest('http://cmdb/', None, None, 5.0, 3, 0.3)],
            effects.requests,
        )

    def test_a_request_has_the_options_given(self):
        effects = FakeEffects()
        self.call(
            effects,
            'https://cmdb/',
            {'X-A': 'b'},
            {'https': 'p'},
            1.5,
            0,
            backoff_factor=0.0,
        )
        self.assertEqual(
            [
                working_copy.GetRequest(
                    'https://cmdb/', {'X-A': 'b'}, {'https': 'p'}, 1.5, 0, 0.0
                )
            ],
            effects.requests,
        )

    def test_what_is_no_request_is_not_sent(self):
        effects = FakeEffects()
        for url in (
            '',
            'cmdb',
            'ftp://cmdb/',
            'http://',
            'http://[::1',
            'javascript:alert(1)',
        ):
            self.assertRaises(
                exceptions.OperationError, self.call, effects, url
            )
        self.assertEqual([], effects.requests)

    def test_a_request_that_fails_is_noted_without_its_secrets(self):
        effects = FakeEffects(exceptions.OperationError('no answer'))
        target = working_copy.WorkingCopy(working_copy.Facts({}, {}), effects)
        exc = self.assertRaises(
            exceptions.OperationError,
            control.ApiCall(),
            target,
            'http://me:pa55@cmdb/?key=k3y',
        )
        request = 'GET http://******@cmdb/?key=******'
        self.assertEqual([request], target.journal.notes)
        self.assertEqual(f'{request} failed: no answer', str(exc))
