# SPDX-License-Identifier: Apache-2.0

"""A dry run that asks Ironic says what the inspection itself would say."""

import pathlib
import sys

import fixtures
from ironic import objects
from ironic.common import driver_factory
from ironic.common import exception as ironic_exception
from ironic.db import api as db_api
from ironic.drivers import fake_hardware
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import refusal
from ironic_inspection_rules.tests.unit.inspection import base
from ironic_inspection_rules.tests.unit.inspection import test_saving

OTHER = base.MAC[:-1] + '7'
SPARE = base.MAC[:-1] + '8'
UUID = '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10'


class RefusalTestCase(test_saving.SavingTestCase):
    def setUp(self):
        super().setUp()
        self.register('one', ['fake-hardware', 'manual-management'])

    def register(self, host, drivers):
        """Store what a conductor tells of itself when it starts."""
        conductor = objects.Conductor.register(self.context, host, drivers, '')
        conductor.register_hardware_interfaces(
            [
                {
                    'hardware_type': driver,
                    'interface_type': kind,
                    'interface_name': name,
                    'default': False,
                }
                for driver in drivers
                for kind, names in driver_factory.enabled_supported_interfaces(
                    driver_factory.get_hardware_type(driver)
                ).items()
                for name in names
            ]
        )
        return conductor

    def rules(self, operations, sensitive=()):
        """Make rules of operations, some of them sensitive by number."""
        return base.rules(
            *(
                {
                    **base.rule(operation),
                    'uuid': UUID[:-1] + str(number),
                    'sensitive': number in sensitive,
                }
                for number, operation in enumerate(operations)
            )
        )

    def tried(self, *operations):
        """Return the error of a dry run, None if there is none."""
        rules = self.rules(operations)
        rules.refresh(self.context)
        machine = facts.read_and_build(self.context, self.task.node, {}, {})
        outcome = evaluation.evaluate(
            {'main': rules.snapshot.plans['main']},
            machine,
            refuse=refusal.Refusals(self.context).find,
        )
        if outcome.error:
            self.assertEqual(
                ([], machine), (list(outcome.changes), outcome.facts)
            )
        return outcome.error

    def inspect(self, *operations):
        base.Hook(self.rules(operations)).apply(self.task, {}, {}, 'main')

    def check(self, *operations):
        """Check that both end with the same error."""
        error = self.tried(*operations)
        self.assertIsInstance(error, exceptions.RuleError)
        real = self.assertRaises(
            ironic_exception.HardwareInspectionFailure,
            self.inspect,
            *operations,
        )
        self.assertIn(str(error), str(real))
        return str(error)

    def check_fine(self, *operations):
        """Check that both end well."""
        self.assertIsNone(self.tried(*operations))
        self.inspect(*operations)


class NodeTestCase(RefusalTestCase):
    def test_a_name_of_another_node(self):
        self.make_task(mac=OTHER, name='two')
        self.check(
            ('set-attribute', ['/name', 'two']),
            ('set-attribute', ['/owner', 'me']),
        )
        self.check_fine(
            ('set-attribute', ['/name', 'three']),
            ('set-attribute', ['/name', 'one']),
        )

    def test_a_name_that_is_none(self):
        for name in ('not a name', '', 'a/b', UUID):
            self.check(('set-attribute', ['/name', name]))

    def test_a_size_that_is_no_number(self):
        for name in ('memory_mb', 'local_gb'):
            for value in ('16 GiB', '', -1, {'mb': 1}, [1], '1.5'):
                error = self.check(
                    ('set-attribute', [f'/properties/{name}', value]),
                    ('set-attribute', ['/owner', 'me']),
                )
                self.assertIn(f'properties/{name}', error)
                self.assertIn(f'{UUID[:-1]}0', error)
        self.check_fine(
            ('set-attribute', ['/properties/memory_mb', 'x']),
            ('set-attribute', ['/properties/memory_mb', '16']),
        )
        self.check_fine(('set-attribute', ['/properties/local_gb', None]))

    def test_who_set_another_property_later_is_not_blamed(self):
        for bad in (
            ('set-attribute', ['/properties/memory_mb', 'x']),
            ('set-attribute', ['/properties/memory_mb', {'mb': 1}]),
        ):
            error = self.check(
                bad, ('set-attribute', ['/properties/vendor', 'x'])
            )
            self.assertIn(f'{UUID[:-1]}0', error)

    def test_a_conductor_group_that_is_none(self):
        error = self.check(
            ('set-attribute', ['/conductor_group', 'a b']),
            ('set-attribute', ['/owner', 'me']),
        )
        self.assertIn(f'{UUID[:-1]}0', error)
        self.check_fine(('set-attribute', ['/conductor_group', 'Rack-1']))

    def test_an_instance_of_another_node(self):
        self.make_task(mac=OTHER, name='two', instance_uuid=UUID)
        self.check(('set-attribute', ['/instance_uuid', UUID]))

    def test_objects_that_there_are_not(self):
        for name in ('chassis_uuid', 'parent_node'):
            self.check(('set-attribute', [f'/{name}', UUID]))

    def test_objects_that_there_are(self):
        parent = self.make_task(mac=OTHER, name='two').node.uuid
        self.check_fine(('set-attribute', ['/parent_node', parent]))
        self.assertEqual(parent, self.stored_node().parent_node)
        self.check_fine(('set-attribute', ['/parent_node', None]))
        self.assertIsNone(self.stored_node().parent_node)

    def test_an_unsaved_phase_is_not_refused(self):
        error = self.tried(
            ('set-attribute', ['/chassis_uuid', UUID]),
            ('set-attribute', ['/name', '{nobody}']),
        )
        self.assertIn('nobody', str(error))

    def test_what_a_sensitive_rule_did_is_not_told(self):
        rules = base.rules(
            {
                **base.rule(('set-attribute', ['/chassis_uuid', UUID])),
                'sensitive': True,
            }
        )
        rules.refresh(self.context)
        error = evaluation.evaluate(
            {'main': rules.snapshot.plans['main']},
            facts.read_and_build(self.context, self.task.node, {}, {}),
            refuse=refusal.Refusals(self.context).find,
        ).error
        self.assertNotIn(UUID, str(error))

    def test_nor_if_another_rule_is_at_fault(self):
        self.make_task(mac=OTHER, name='c4n4ry')
        for operations in (
            (
                ('set-attribute', ['/name', 'c4n4ry']),
                ('set-attribute', ['/instance_uuid', UUID]),
            ),
            (
                ('set-attribute', ['/driver', 'c4n4ry']),
                ('set-attribute', ['/boot_interface', 'fake']),
            ),
        ):
            rules = self.rules(operations, sensitive=[0])
            rules.refresh(self.context)
            error = evaluation.evaluate(
                {'main': rules.snapshot.plans['main']},
                facts.read_and_build(self.context, self.task.node, {}, {}),
                refuse=refusal.Refusals(self.context).find,
            ).error
            real = self.assertRaises(
                ironic_exception.HardwareInspectionFailure,
                base.Hook(rules).apply,
                self.task,
                {},
                {},
                'main',
            )
            self.assertNotIn('c4n4ry', str(real))
            self.assertIn(str(error), str(real))
            self.assertIn(
                f'{UUID[:-1]}1, set-attribute: what it sets', str(error)
            )
            self.assertIsNone(error.__cause__, repr(operations))

    def test_the_early_phase_saves_nothing(self):
        rules = base.rules(
            base.rule(('set-plugin-data', ['/a', 1]), phase='early')
        )
        rules.refresh(self.context)
        for node in ({}, {'uuid': UUID}):
            self.assertIsNone(
                evaluation.evaluate(
                    {'early': rules.snapshot.plans['early']},
                    evaluation.working_copy.Facts({}, {}, node=node),
                    refuse=refusal.Refusals(self.context).find,
                ).error,
                repr(node),
            )

    def test_no_node_takes_nothing_from_another(self):
        rules = self.rules([('set-attribute', ['/name', 'one'])])
        rules.refresh(self.context)
        machine = evaluation.working_copy.Facts({}, {}, node={})
        self.assertIsNone(
            evaluation.evaluate(
                {'main': rules.snapshot.plans['main']},
                machine,
                refuse=refusal.Refusals(self.context).find,
            ).error
        )


class Derived(fake_hardware.FakeHardware):
    """A hardware type of somebody else."""


class DriverTestCase(RefusalTestCase):
    def test_a_driver_that_no_conductor_has(self):
        self.check(
            ('set-attribute', ['/driver', 'nope']),
            ('set-attribute', ['/owner', 'me']),
        )
        self.check_fine(('set-attribute', ['/driver', 'manual-management']))

    def test_a_driver_of_a_conductor_that_has_stopped(self):
        self.register('two', ['fake-hardware']).unregister()
        db_api.get_instance().register_conductor(
            {'hostname': 'two', 'drivers': ['nope']}, update_existing=True
        )
        self.assertIsNone(self.tried(('set-attribute', ['/driver', 'nope'])))

    def test_an_interface_that_no_conductor_has(self):
        driver = ('set-attribute', ['/driver', 'manual-management'])
        for operations in (
            [driver, ('set-attribute', ['/boot_interface', 'nope'])],
            [driver, ('set-attribute', ['/vendor_interface', 'fake'])],
        ):
            self.inspect_fails(*operations)
            self.assertIn(
                'for the driver manual-management; there are: ',
                str(self.tried(*operations)),
            )
        self.check_fine(driver, ('set-attribute', ['/boot_interface', 'pxe']))

    def inspect_fails(self, *operations):
        self.assertRaises(
            ironic_exception.HardwareInspectionFailure,
            self.inspect,
            *operations,
        )

    def test_fake_hardware_takes_any_interface(self):
        self.check_fine(('set-attribute', ['/management_interface', 'noop']))

    def install(self, driver, place):
        """Have a hardware type, which a conductor knows from then on."""
        site = self.useFixture(fixtures.TempDir()).path
        about = pathlib.Path(site, f'{driver}-1.dist-info')
        about.mkdir()
        (about / 'METADATA').write_text(f'Name: {driver}\nVersion: 1\n')
        (about / 'entry_points.txt').write_text(
            f'[ironic.hardware.types]\n{driver} = {place}\n'
        )
        self.useFixture(fixtures.MonkeyPatch('sys.path', [*sys.path, site]))
        self.know(driver)

    def know(self, driver):
        conductor = objects.Conductor.register(
            self.context, driver, [driver], ''
        )
        conductor.register_hardware_interfaces(
            [
                {
                    'hardware_type': driver,
                    'interface_type': 'power',
                    'interface_name': 'fake',
                    'default': True,
                }
            ]
        )

    def try_other_power(self, driver):
        return self.tried(
            ('set-attribute', ['/driver', driver]),
            ('set-attribute', ['/power_interface', 'other']),
        )

    def test_what_is_derived_from_fake_hardware_takes_any_interface(self):
        self.install('derived', f'{__name__}:Derived')
        self.assertIsNone(self.try_other_power('derived'))

    def test_another_hardware_type_takes_what_conductors_tell(self):
        self.install('generic', 'ironic.drivers.generic:GenericHardware')
        self.assertIn(
            'for the driver generic; there are: fake',
            str(self.try_other_power('generic')),
        )

    def test_a_hardware_type_that_is_not_here_may_take_any_interface(self):
        self.know('far')
        self.assertIsNone(self.try_other_power('far'))
        self.install('broken', f'{__name__}:NotThere')
        self.assertIsNone(self.try_other_power('broken'))

    def test_an_interface_of_a_conductor_that_has_stopped(self):
        self.register('two', ['manual-management']).unregister()
        self.assertIsNone(
            self.tried(
                ('set-attribute', ['/driver', 'manual-management']),
                ('set-attribute', ['/boot_interface', 'nope']),
            )
        )

    def test_nothing_is_known_without_conductors(self):
        objects.Conductor.delete(self.context, 'one')
        self.assertIsNone(self.tried(('set-attribute', ['/driver', 'nope'])))


class PortTestCase(RefusalTestCase):
    def setUp(self):
        super().setUp()
        self.make_port(self.task.node, OTHER)

    def set(self, mac, name, value):
        return ('set-port-attribute', [mac, f'/{name}', value])

    def test_an_address_of_another_node(self):
        self.make_task(mac=SPARE, name='two')
        self.check(self.set(base.MAC, 'address', SPARE.upper()))

    def test_an_address_of_another_port_of_the_node(self):
        self.check(self.set(base.MAC, 'address', OTHER))

    def test_addresses_are_taken_in_the_order_of_saving(self):
        first, second = (port.address for port in self.task.ports)
        self.check(
            self.set(first, 'address', second),
            self.set(self.task.ports[1].uuid, 'address', SPARE),
        )
        self.check_fine(
            self.set(first, 'address', SPARE),
            self.set(self.task.ports[1].uuid, 'address', first),
        )

    def test_a_name_of_another_node(self):
        other = self.make_task(mac=SPARE, name='two').ports[0]
        other.name = 'eth'
        other.save()
        self.check(self.set(base.MAC, 'name', 'eth'))

    def test_a_name_of_two_ports(self):
        self.check(
            self.set(base.MAC, 'name', 'a'), self.set(OTHER, 'name', 'a')
        )
        self.check_fine(
            self.set(base.MAC, 'name', 'a'), self.set(OTHER, 'name', 'b')
        )
        self.check(self.set(base.MAC, 'name', 'b'))
        self.check_fine(
            self.set(base.MAC, 'name', 'b'), self.set(OTHER, 'name', 'a')
        )

    def test_a_port_group_that_there_is_not(self):
        self.check(
            self.set(OTHER, 'portgroup_uuid', uuidutils.generate_uuid())
        )
