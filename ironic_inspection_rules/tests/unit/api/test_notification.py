# SPDX-License-Identifier: Apache-2.0

"""The notifications about rules."""

import fixtures
from ironic.common import context
from oslo_utils import uuidutils

from ironic_inspection_rules.api import notification
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.tests.unit import base


class FakeNotifier:
    """Keeps what is sent instead of sending it."""

    def __init__(self):
        self.sent = []

    def __call__(self, publisher_id):
        return self

    def info(self, context, event_type, payload):
        self.sent.append((event_type, payload['ironic_object.data']))

    error = info


class NotificationTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.config(notification_level='debug')
        self.notifier = FakeNotifier()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.common.rpc.get_versioned_notifier', self.notifier
            )
        )
        self.context = context.get_admin_context()

    def rule(self, **fields):
        return rule_object.StoredRule(
            self.context,
            **{
                'uuid': uuidutils.generate_uuid(),
                'priority': 3,
                'description': 'a rule',
                'scope': 'rack',
                'phase': 'main',
                'sensitive': False,
                'conditions': [],
                'actions': [{'op': 'log', 'args': ['s3cret']}],
                **fields,
            },
        )

    def events(self):
        return [event for event, _payload in self.notifier.sent]

    def test_a_change_starts_and_ends(self):
        rule = self.rule()

        with notification.emit_around(self.context, rule, 'create'):
            self.assertEqual(
                ['baremetal.inspectionrule.create.start'], self.events()
            )

        self.assertEqual(
            [
                'baremetal.inspectionrule.create.start',
                'baremetal.inspectionrule.create.end',
            ],
            self.events(),
        )
        payload = self.notifier.sent[-1][1]
        self.assertEqual(
            (
                rule.uuid,
                3,
                'a rule',
                'rack',
                'main',
                False,
                [],
                [{'op': 'log', 'args': ['s3cret']}],
            ),
            tuple(
                payload[name]
                for name in (
                    'uuid',
                    'priority',
                    'description',
                    'scope',
                    'phase',
                    'sensitive',
                    'conditions',
                    'actions',
                )
            ),
        )

    def test_a_change_that_fails_is_an_error(self):
        def fail():
            with notification.emit_around(self.context, self.rule(), 'delete'):
                raise ValueError('no')

        self.assertRaises(ValueError, fail)

        self.assertEqual(
            [
                'baremetal.inspectionrule.delete.start',
                'baremetal.inspectionrule.delete.error',
            ],
            self.events(),
        )

    def test_a_notification_has_no_secrets(self):
        with notification.emit_around(
            self.context, self.rule(sensitive=True), 'update'
        ):
            pass

        self.assertEqual(2, len(self.notifier.sent))
        self.assertNotIn('s3cret', str(self.notifier.sent))

    def test_secrets_do_not_even_reach_ironic(self):
        # It tells of what it is given, in its older releases.
        given = []
        for name in ('start', 'end'):
            self.useFixture(
                fixtures.MonkeyPatch(
                    'ironic.api.controllers.v1.notification_utils.'
                    f'emit_{name}_notification',
                    lambda _context, rule, _action: given.append(rule),
                )
            )

        with notification.emit_around(
            self.context, self.rule(sensitive=True), 'update'
        ):
            pass

        self.assertEqual(
            [([], [])] * 2, [(rule.conditions, rule.actions) for rule in given]
        )

    def test_nothing_is_told_unless_asked_for(self):
        self.config(notification_level=None)

        with notification.emit_around(self.context, self.rule(), 'create'):
            pass

        self.assertFalse(notification.is_enabled())
        self.assertEqual([], self.notifier.sent)
