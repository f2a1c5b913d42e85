# SPDX-License-Identifier: Apache-2.0

import sys
import traceback
from unittest import mock

import fixtures
from ironic import objects
from ironic.common import exception as ironic_exception
from ironic.db.sqlalchemy import models
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.tests.unit.inspection import base


class SavingTestCase(base.GlueTestCase):
    """A test with drivers: Ironic loads them once in a process."""

    def setUp(self):
        super().setUp()
        self.config(
            enabled_hardware_types=['fake-hardware', 'manual-management'],
            enabled_boot_interfaces=['fake', 'pxe'],
            enabled_power_interfaces=['fake', 'agent'],
            enabled_management_interfaces=['fake', 'noop'],
            enabled_vendor_interfaces=['fake', 'no-vendor'],
        )


class NothingToSaveTestCase(base.GlueTestCase):
    """Rules often set what an inspection before has set already."""

    def test_there_is_no_transaction(self):
        rules = base.Hook(
            base.rules(base.rule(('set-attribute', ['/extra/rack', 'r1'])))
        )
        rules.apply(self.task, {}, {}, 'main')
        self.assertEqual({'rack': 'r1'}, self.stored_node().extra)
        transactions = self.useFixture(
            fixtures.MockPatch(
                'ironic_inspection_rules.patches.database.transaction'
            )
        )
        rules.apply(self.task, {}, {}, 'main')
        transactions.mock.assert_not_called()


class DeadlockTestCase(SavingTestCase):
    """The database may end a transaction for the good of another one."""

    def setUp(self):
        super().setUp()
        self.deadlocks = 1
        save = objects.Node.save

        def save_or_lose(node, *args, **kwargs):
            save(node, *args, **kwargs)
            if self.deadlocks:
                self.deadlocks -= 1
                raise db_exc.DBDeadlock()

        self.useFixture(
            fixtures.MonkeyPatch('ironic.objects.Node.save', save_or_lose)
        )

    def apply(self, *operations):
        runner = base.Hook(base.rules(base.rule(*operations)))
        runner.apply(self.task, {}, {}, 'main')
        self.assertEqual(0, self.deadlocks)

    def test_the_loser_saves_again(self):
        self.apply(
            ('extend-attribute', ['/extra/marks', 'x']),
            ('extend-port-attribute', [base.MAC, '/extra/marks', 'x']),
            ('add-trait', ['CUSTOM_GOLD']),
        )
        node = self.stored_node()
        self.assertEqual({'marks': ['x']}, node.extra)
        self.assertEqual(['CUSTOM_GOLD'], node.traits.get_trait_names())
        self.assertEqual({'marks': ['x']}, self.stored_port().extra)

    def test_the_loser_chooses_interfaces_again(self):
        self.apply(('set-attribute', ['/driver', 'manual-management']))
        node = self.stored_node()
        self.assertEqual(
            ('manual-management', 'agent', 'noop'),
            (node.driver, node.power_interface, node.management_interface),
        )


class ErrorOfDatabaseTestCase(base.GlueTestCase):
    """An error of SQLAlchemy has the values of its statement, by default."""

    def test_it_does_not_show_what_rules_set(self):
        with enginefacade.writer.get_engine().begin() as connection:
            connection.execute(
                sa.text(
                    'CREATE TRIGGER refuse BEFORE UPDATE ON nodes BEGIN '
                    "SELECT RAISE(ABORT, 'the disk is full'); END"
                )
            )
        runner = base.Hook(
            base.rules(
                base.rule(
                    ('set-attribute', ['/driver_info/password', 'canary']),
                    sensitive=True,
                )
            )
        )
        with self.assertRaises(db_exc.DBError) as caught:
            runner.apply(self.task, {}, {}, 'main')
        error = caught.exception
        self.assertIn('the disk is full', str(error))
        trace = ''.join(traceback.format_exception(error))
        self.assertNotIn('canary', trace)


class CheckpointTestCase(base.GlueTestCase):
    def test_it_comes_after_the_node(self):
        # Who locks the rows in another order waits for others for ever.
        target = working_copy.WorkingCopy(
            facts.read_and_build(self.task.context, self.task.node, {}, {})
        )
        target.set('node', ('extra', 'a'), 1)
        seen = []
        saving.save(
            self.task,
            target,
            (),
            in_transaction=lambda session: seen.append(
                session.scalar(sa.select(models.Node.extra))
            ),
        )
        self.assertEqual([{'a': 1}], seen)


class PortNamesTestCase(base.GlueTestCase):
    """No two ports in Ironic have one name."""

    def setUp(self):
        super().setUp()
        self.make_port(self.task.node, base.MAC[:-1] + '7')
        for port, name in zip(self.task.ports, 'ab', strict=True):
            port.name = name
            port.save()

    def apply(self, names):
        runner = base.Hook(
            base.rules(
                base.rule(
                    *(
                        ('set-port-attribute', [port.address, '/name', name])
                        for port, name in zip(
                            self.task.ports, names, strict=True
                        )
                    )
                )
            )
        )
        runner.apply(self.task, {}, {}, 'main')

    def names(self):
        return [
            port.name
            for port in objects.Port.list_by_node_id(
                self.context, self.task.node.id
            )
        ]

    def test_ports_exchange_their_names(self):
        self.apply('ba')
        self.assertEqual(['b', 'a'], self.names())

    def test_a_port_takes_the_name_that_another_gives_up(self):
        for names in (['b', 'c'], ['c', 'd'], [None, 'c'], ['c', None]):
            self.apply(names)
            self.assertEqual(names, self.names())

    def test_no_port_loses_its_name_to_another(self):
        runner = base.Hook(
            base.rules(
                base.rule(
                    (
                        'set-port-attribute',
                        [self.task.ports[0].address, '/extra/a', 1],
                    ),
                    (
                        'set-port-attribute',
                        [self.task.ports[1].address, '/name', 'a'],
                    ),
                )
            )
        )
        self.assertRaises(
            ironic_exception.HardwareInspectionFailure,
            runner.apply,
            self.task,
            {},
            {},
            'main',
        )
        self.assertEqual(['a', 'b'], self.names())

    def test_a_port_that_gets_its_first_name_is_saved_once(self):
        nameless, other = self.task.ports
        nameless.name = None
        nameless.save()
        runner = base.Hook(
            base.rules(
                base.rule(
                    ('set-port-attribute', [nameless.address, '/name', 'x']),
                    ('set-port-attribute', [other.address, '/extra/a', 1]),
                )
            )
        )
        with mock.patch.object(
            objects.Port, 'save', autospec=True, side_effect=objects.Port.save
        ) as save:
            runner.apply(self.task, {}, {}, 'main')

        saved_addresses = [call.args[0].address for call in save.mock_calls]
        self.assertCountEqual(
            [nameless.address, other.address], saved_addresses
        )
        self.assertEqual(['x', 'b'], self.names())

    def test_two_ports_do_not_get_one_name(self):
        error = self.assertRaises(
            ironic_exception.HardwareInspectionFailure, self.apply, 'cc'
        )
        self.assertIn('set-port-attribute', str(error))
        self.assertEqual(['a', 'b'], self.names())


class BlameTestCase(SavingTestCase):
    """What Ironic refuses is laid on the rule that asked for it."""

    def blamed(self, *operations):
        """Return the error, where an innocent rule was the last one.

        :param operations: each becomes a rule that names its path.
        """
        others = [
            ('set-attribute', ['/extra/a', 1]),
            ('set-port-attribute', [self.task.ports[0].uuid, '/extra/a', 1]),
        ]
        runner = base.Hook(
            base.rules(
                *(
                    base.rule(
                        operation, description=f'guilty {operation[1][-2]}'
                    )
                    for operation in operations
                ),
                base.rule(*others, description='innocent'),
            )
        )
        error = self.assertRaises(
            ironic_exception.HardwareInspectionFailure,
            runner.apply,
            self.task,
            {},
            {},
            'main',
        )
        self.assertNotIn('innocent', str(error))
        return str(error)

    def test_a_driver_that_there_is_not(self):
        self.assertIn(
            '(guilty /driver), set-attribute: ',
            self.blamed(
                ('set-attribute', ['/driver', 'nope']),
                ('set-attribute', ['/owner', 'me']),
            ),
        )

    def test_an_interface_that_there_is_not(self):
        self.assertIn(
            '(guilty /boot_interface)',
            self.blamed(('set-attribute', ['/boot_interface', 'nope'])),
        )

    def test_a_name_that_is_none(self):
        self.assertIn(
            '(guilty /name)',
            self.blamed(('set-attribute', ['/name', 'not a name'])),
        )

    def test_a_name_that_is_taken(self):
        self.make_task(mac=base.MAC[:-1] + '7', name='two')
        self.assertIn(
            '(guilty /name)',
            self.blamed(
                ('set-attribute', ['/name', 'two']),
                ('set-attribute', ['/owner', 'me']),
            ),
        )

    def test_a_chassis_that_there_is_not(self):
        self.assertIn(
            '(guilty /chassis_uuid)',
            self.blamed(
                ('set-attribute', ['/chassis_uuid', uuidutils.generate_uuid()])
            ),
        )

    def test_an_address_that_is_taken(self):
        self.make_port(self.task.node, base.MAC[:-1] + '7')
        self.assertIn(
            '(guilty /address)',
            self.blamed(
                (
                    'set-port-attribute',
                    [base.MAC, '/address', base.MAC[:-1] + '7'],
                )
            ),
        )


class Port:
    """A port that is saved nowhere."""

    def __init__(self, number):
        self.address = self.name = str(number)
        self.extra = {}

    def save(self):
        pass


class CostTestCase(base.GlueTestCase):
    """What follows a phase costs in proportion to what it changed."""

    def calls(self, ports, places):
        """Count the calls of saving places of some ports and plugin data."""
        target = working_copy.WorkingCopy(
            working_copy.Facts(
                {},
                {'a': {}},
                {},
                tuple(
                    {'uuid': str(number), 'address': str(number), 'extra': {}}
                    for number in range(ports)
                ),
            )
        )
        for number in range(places):
            target.set(
                'ports',
                (str(number % ports), 'extra', str(number)),
                {'a': [number]},
            )
            target.set('plugin_data', ('a', str(number)), [number])
        self.task.ports = [Port(number) for number in range(ports)]
        count = 0

        def profile(_frame, event, _arg):
            nonlocal count
            count += event == 'call'

        sys.setprofile(profile)
        try:
            saving.update_plugin_data(target, {})
            saving._write_ports(self.task, target)
        finally:
            sys.setprofile(None)
        self.assertEqual(
            {
                str(number): {'a': [number]}
                for number in range(0, places, ports)
            },
            self.task.ports[0].extra,
        )
        return count

    def test_ten_times_as_much_costs_ten_times_as_much(self):
        small = self.calls(20, 100)
        self.assertLess(self.calls(200, 1000), 11 * small)
        self.assertLess(self.calls(20, 1000), 11 * small)
        self.assertLess(self.calls(200, 200), 11 * small)
