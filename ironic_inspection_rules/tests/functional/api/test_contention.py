# SPDX-License-Identifier: Apache-2.0

"""Clients that change rules while others do."""

import fixtures
from ironic.common import context
import webob

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

UUID = '00000000-0000-4000-8000-000000000001'
RULE = {'description': 'new', 'actions': [{'op': 'log', 'args': ['x']}]}
OLD_RULE = {'actions': [{'action': 'fail', 'message': 'x'}]}
FOREVER = 10_000


class ContentionTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.app = self.useFixture(application.Application()).app
        rule_object.StoredRule(
            context.get_admin_context(),
            uuid=UUID,
            sensitive=False,
            conditions=[],
            actions=[{'op': 'inspector-fail', 'args': {'message': 'x'}}],
        ).create()
        self.faster = 0
        for name in ('change_rules', 'update_rule'):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f'ironic_inspection_rules.db.rule.{name}',
                    self.late(getattr(db_rule, name)),
                )
            )

    def late(self, write):
        """Return a way to write that others are faster than."""

        def write_or_lose(*arguments, **options):
            if self.faster:
                self.faster -= 1
                raise exceptions.RuleSetChanged(1, 2)
            return write(*arguments, **options)

        return write_or_lose

    def send(self, method, path, body):
        request = webob.Request.blank(
            path,
            method=method,
            json_body=body,
            content_type='application/json',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        return request.get_response(self.app)

    def changes(self):
        """Make every change that does not name a revision."""
        rule = f'/v1/inspection_rules/{UUID}'
        for call in (
            (
                'PATCH',
                rule,
                [{'op': 'replace', 'path': '/priority', 'value': 5}],
            ),
            ('PUT', f'/v1/rules/{UUID}', OLD_RULE),
            ('PUT', rule, {**RULE, 'priority': 7}),
            ('PUT', '/v1/inspection_rules', {'rules': [RULE]}),
            ('DELETE', '/v1/rules', None),
        ):
            lost = self.faster
            yield self.send(*call)
            self.faster = lost

    def test_a_change_follows_faster_ones(self):
        self.faster = 2
        self.assertEqual(
            [200, 200, 200, 200, 204],
            [answer.status_int for answer in self.changes()],
        )

    def test_nobody_waits_for_ever(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.api.rule_set._MOST_ATTEMPTS', 3
            )
        )
        self.faster = FOREVER
        for answer in self.changes():
            self.assertEqual(409, answer.status_int, answer.text)
