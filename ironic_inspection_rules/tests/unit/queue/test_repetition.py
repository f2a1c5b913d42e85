# SPDX-License-Identifier: Apache-2.0

"""Deliveries of one request, on a real database."""

import fixtures
from ironic.common import exception as ironic_exception
from oslo_db import exception as db_exc

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import external_error
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.unit.inspection import base

MARK = ('extend-attribute', ['/extra/marks', 'x'])
PORT_MARK = ('extend-port-attribute', [base.MAC, '/extra/marks', 'x'])


class DeliveryTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        self.queue = database_queue.DatabaseQueue(60)
        self.queue.put(self.task.node.uuid, queue_request.CONTINUE, {})
        self.request = self.queue.begin(self.queue.get('w1'), state.PROCESSING)
        self.plugin_data = {}

    def use(self, *stored):
        self.runner = base.Hook(base.rules(*stored))

    def deliver(self, *phases):
        """Run phases as one more delivery, with fresh data."""
        self.plugin_data = {'fresh': True}
        self.task.node.refresh()
        current = attempt.Attempt(self.task, self.queue, self.request, 900)
        setattr(self.task, inspection.ATTRIBUTE, current)
        try:
            for phase in phases:
                phase(self.task, {}, self.plugin_data)
        except external_error.Abandoned as exc:
            raise external_error.as_exception(exc) from exc
        finally:
            self.request = current.request

    def main(self, task, inventory, plugin_data):
        self.runner.apply(task, inventory, plugin_data, 'main')

    def deliver_all(self):
        self.deliver(self.runner.preprocess, self.main)

    def lose_the_request(self):
        self.queue.retry(self.request, 0)

    def test_a_phase_happens_once(self):
        self.use(
            base.rule(MARK, PORT_MARK, phase='preprocess'),
            base.rule(MARK, PORT_MARK),
        )
        for _delivery in range(3):
            self.deliver_all()
        self.assertEqual({'marks': ['x', 'x']}, self.stored_node().extra)
        self.assertEqual({'marks': ['x', 'x']}, self.stored_port().extra)

    def test_rules_of_a_discovered_node_happen_once(self):
        self.use(base.rule(MARK))
        self.task.node.provision_state = 'enroll'
        self.task.node.save()

        def discovered(task, inventory, plugin_data):
            plugin_data['auto_discovered'] = True
            self.runner.finish_discovery(task, inventory, plugin_data)

        self.deliver(self.runner.preprocess, discovered)
        for _delivery in range(2):
            self.deliver(self.runner.preprocess, discovered, self.main)
        self.assertEqual({'marks': ['x']}, self.stored_node().extra)

    def test_the_next_delivery_goes_on_with_the_next_phase(self):
        self.use(base.rule(MARK, phase='preprocess'), base.rule(MARK))
        self.deliver(self.runner.preprocess)
        self.deliver_all()
        self.assertEqual({'marks': ['x', 'x']}, self.stored_node().extra)

    def test_plugin_data_and_trace_are_the_same_each_time(self):
        self.use(
            base.rule(
                ('set-plugin-data', ['/a/b', [1]]),
                ('extend-plugin-data', ['/list', 1]),
                ('unset-plugin-data', ['/fresh']),
                phase='preprocess',
            ),
            base.rule(('extend-plugin-data', ['/list', 2])),
        )
        self.deliver_all()
        first = self.plugin_data
        self.deliver_all()
        self.assertEqual([1, 2], first['list'])
        self.assertNotIn('fresh', first)
        self.assertEqual(
            ['main', 'preprocess'], sorted(first['inspection_rules'])
        )
        self.assertEqual(first, self.plugin_data)

    def test_what_another_hook_undoes_is_done_again(self):
        self.use(
            base.rule(
                ('set-attribute', ['/properties/memory_mb', 5]),
                ('del-attribute', ['/properties/cpus']),
                ('set-port-attribute', [base.MAC, '/pxe_enabled', False]),
                ('add-trait', ['CUSTOM_GOLD']),
            )
        )
        self.task.node.properties = {'memory_mb': 1, 'cpus': 1}
        self.task.node.save()
        self.deliver_all()
        node, port = self.stored_node(), self.stored_port()
        node.properties = {'memory_mb': 1, 'cpus': 1, 'new': 1}
        node.save()
        port.pxe_enabled = True
        port.save()
        self.task.ports = [port]
        self.deliver_all()
        node = self.stored_node()
        self.assertEqual({'memory_mb': 5, 'new': 1}, node.properties)
        self.assertEqual(['CUSTOM_GOLD'], node.traits.get_trait_names())
        self.assertFalse(self.stored_port().pxe_enabled)

    def test_a_port_that_is_gone_is_left_out(self):
        self.use(base.rule(MARK, PORT_MARK))
        self.deliver_all()
        self.task.ports = []
        self.deliver_all()
        self.assertEqual({'marks': ['x']}, self.stored_node().extra)

    def test_rules_changed_meanwhile_do_not_matter(self):
        self.use(base.rule(MARK, ('set-plugin-data', ['/a', 1])))
        self.deliver_all()
        for rules in ([base.rule(MARK, MARK, MARK)], []):
            self.use(*rules)
            self.deliver_all()
            self.assertEqual({'marks': ['x']}, self.stored_node().extra)
            self.assertEqual(1, self.plugin_data['a'])

    def test_a_failure_is_the_same_each_time(self):
        self.use(base.rule(MARK, ('fail', {'msg': 'no', 'maintenance': True})))
        messages = {
            str(
                self.assertRaises(
                    ironic_exception.HardwareInspectionFailure,
                    self.deliver_all,
                )
            )
            for _delivery in range(2)
        }
        self.assertEqual(1, len(messages))
        node = self.stored_node()
        self.assertEqual(
            ({'marks': ['x']}, True, 'no'),
            (node.extra, node.maintenance, node.maintenance_reason),
        )

    def test_what_did_not_match_is_looked_at_again(self):
        self.use(
            base.rule(
                MARK,
                conditions=[{'op': 'eq', 'args': ['{node.extra[go]}', True]}],
            )
        )
        self.deliver_all()
        self.task.node.extra = {'go': True}
        self.task.node.save()
        self.deliver_all()
        self.assertEqual(['x'], self.stored_node().extra['marks'])

    def test_who_lost_the_request_changes_nothing(self):
        self.use(base.rule(MARK, PORT_MARK))
        self.lose_the_request()
        self.assertRaises(exceptions.LeaseLost, self.deliver_all)
        self.assertEqual({}, self.stored_node().extra)
        self.assertEqual({}, self.stored_port().extra)

    def test_who_lost_the_request_does_not_repeat_anything(self):
        self.use(base.rule(('set-attribute', ['/extra/a', 1])))
        self.deliver_all()
        self.lose_the_request()
        node = self.stored_node()
        node.extra = {'a': 2}
        node.save()
        self.assertRaises(exceptions.LeaseLost, self.deliver_all)
        self.assertEqual({'a': 2}, self.stored_node().extra)

    def test_what_is_lost_while_saving_was_not_done(self):
        self.use(base.rule(MARK))

        def fail(*args):
            raise db_exc.DBConnectionError()

        with fixtures.MonkeyPatch('ironic.objects.node.Node.save', fail):
            self.assertRaises(exceptions.TemporaryFailure, self.deliver_all)
        self.deliver_all()
        self.assertEqual({'marks': ['x']}, self.stored_node().extra)
