# SPDX-License-Identifier: Apache-2.0

import threading

import fixtures
from ironic.conf import CONF
import oslo_messaging
from oslo_messaging import opts as messaging_opts
import stevedore

from ironic_inspection_rules.pxe_filter import notification
from ironic_inspection_rules.tests.unit import base

MAC = '52:54:00:00:00:01'


class FakeSender:
    def __init__(self):
        self.sent = []
        self.broken = False

    def send(self, change):
        if self.broken:
            raise oslo_messaging.MessageDeliveryFailure('no bus')
        self.sent.append(change)


class PxeFilterDriverTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.sender = FakeSender()
        self.driver = notification.PxeFilterDriver(
            None, topics=[], transport=None, sender=self.sender
        )

    def notify(self, event, **payload):
        """Pass one notification; return all that was sent so far."""
        self.driver.notify(
            {},
            {
                'event_type': f'baremetal.{event}',
                'payload': {'ironic_object.data': payload},
            },
            'info',
            0,
        )
        return self.sender.sent

    def test_a_new_or_changed_port_is_known(self):
        for action in ('create', 'update'):
            self.sender.sent.clear()
            self.assertEqual(
                [('blacklist', 'add', 'uuid', MAC)],
                self.notify(f'port.{action}.end', uuid='uuid', address=MAC),
            )

    def test_a_deleted_port_is_known_no_longer(self):
        self.assertEqual(
            [('blacklist', 'remove', 'uuid', MAC)],
            self.notify('port.delete.end', uuid='uuid', address=MAC),
        )

    def test_a_port_group_is_known_if_it_has_an_address(self):
        self.assertEqual(
            [], self.notify('portgroup.create.end', uuid='uuid', address=None)
        )
        self.assertEqual(
            [('blacklist', 'add', 'uuid', MAC)],
            self.notify('portgroup.create.end', uuid='uuid', address=MAC),
        )

    def test_only_what_has_happened_counts(self):
        self.assertEqual(
            [], self.notify('port.create.start', uuid='uuid', address=MAC)
        )
        self.assertEqual(
            [], self.notify('port.create.error', uuid='uuid', address=MAC)
        )

    def test_an_inspection_that_begins_is_one_message(self):
        for state in ('inspecting', 'inspect wait'):
            self.sender.sent.clear()
            self.assertEqual(
                [('whitelist', 'add', None, None)],
                self.notify(
                    'node.provision_set.start',
                    uuid='uuid',
                    provision_state=state,
                    previous_provision_state='manageable',
                ),
            )

    def test_an_inspection_that_ends_is_one_message(self):
        for state in ('manageable', 'inspect failed'):
            self.sender.sent.clear()
            self.assertEqual(
                [('whitelist', 'remove', None, None)],
                self.notify(
                    'node.provision_set.end',
                    uuid='uuid',
                    provision_state=state,
                    previous_provision_state='inspecting',
                ),
            )

    def test_other_states_and_events_mean_nothing(self):
        self.assertEqual(
            [],
            self.notify(
                'node.provision_set.end',
                uuid='uuid',
                provision_state='active',
                previous_provision_state='deploying',
            ),
        )
        self.assertEqual([], self.notify('node.create.end', uuid='uuid'))

    def test_ironic_does_not_suffer_from_a_broken_bus(self):
        log = self.useFixture(fixtures.FakeLogger())
        self.sender.broken = True
        for _port in range(3):
            self.notify('port.create.end', uuid='uuid', address=MAC)
        self.assertEqual(1, log.output.count('no bus'))
        self.sender.broken = False
        self.notify('port.create.end', uuid='uuid', address=MAC)
        self.assertIn('works again', log.output)

    def test_oslo_messaging_finds_it_by_name(self):
        found = stevedore.DriverManager(
            'oslo.messaging.notify.drivers', 'inspection-pxe-filter'
        )
        self.assertIs(notification.PxeFilterDriver, found.driver)


PATIENCE = 60


class MessagesTestCase(base.IronicTestCase):
    def test_every_listener_gets_it(self):
        # The first use registers the option.
        oslo_messaging.get_rpc_transport(CONF)
        self.config(transport_url='fake://')
        change = notification.ListChange(
            notification.ALLOWLIST,
            notification.ADD,
            'uuid',
            '52:54:00:00:00:01',
        )
        received = []
        both = threading.Barrier(3, timeout=PATIENCE)

        def handle(what):
            received.append(what)
            both.wait()

        for host in ('one', 'two'):
            server = notification.listen(CONF, host, handle)
            self.addCleanup(server.wait)
            self.addCleanup(server.stop)
        notification.Sender(CONF).send(change)
        both.wait()

        self.assertEqual([change, change], received)


class MissedTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        for group, opts in messaging_opts.list_opts():
            CONF.register_opts(opts, group=group)
        self.config(rpc_transport='none')

    def may_let_pass_too_late(self, period):
        self.config(group='inspection_pxe_filter', whitelist_period=period)
        return notification.may_let_pass_too_late(CONF)

    def name_driver(self):
        self.config(
            group='oslo_messaging_notifications',
            driver=['messagingv2', 'inspection-pxe-filter'],
        )

    def test_a_short_period_is_in_time(self):
        self.assertFalse(self.may_let_pass_too_late(0.1))
        self.assertFalse(self.may_let_pass_too_late(5))
        self.assertTrue(self.may_let_pass_too_late(5.1))

    def test_messages_are_in_time_if_they_are_sent_and_received(self):
        self.name_driver()
        self.assertTrue(self.may_let_pass_too_late(15))
        self.config(rpc_transport='oslo')
        self.assertFalse(self.may_let_pass_too_late(15))
        self.config(rpc_transport='json-rpc')
        self.assertTrue(self.may_let_pass_too_late(15))
        self.config(transport_url='rabbit://192.0.2.1')
        self.assertFalse(self.may_let_pass_too_late(15))

    def test_messages_that_nobody_sends_are_none(self):
        self.config(rpc_transport='oslo')
        self.assertTrue(self.may_let_pass_too_late(15))

    def test_messages_alone_have_to_be_received(self):
        self.name_driver()
        self.assertTrue(self.may_let_pass_too_late(0))
        self.config(group='oslo_messaging_notifications', driver=[])
        self.config(rpc_transport='oslo')
        self.assertFalse(self.may_let_pass_too_late(0))
