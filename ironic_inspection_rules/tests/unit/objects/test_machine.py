# SPDX-License-Identifier: Apache-2.0

"""What is known of many machines."""

import datetime
import json

import fixtures
from ironic import objects
from ironic.common import context
from ironic.db.sqlalchemy import models
from oslo_versionedobjects import fixture as object_fixture
import sqlalchemy as sa

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.objects import machine
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.objects import test_rule

# Raise VERSION when the fields or the remotable methods change, then put the
# new fingerprint here.
FINGERPRINT = '1.0-310833a9402f214fdf5546996ed51db0'
TIME = datetime.datetime(2026, 1, 2, 3, 4, 5)
UUIDS = [f'11111111-1111-4111-8111-11111111111{number}' for number in range(3)]


class FingerprintTestCase(base.TestCase):
    def test_a_change_of_the_object_comes_with_a_new_version(self):
        checker = object_fixture.ObjectVersionChecker(
            {'InspectedMachine': [machine.InspectedMachine]}
        )

        self.assertEqual(
            {'InspectedMachine': FINGERPRINT}, checker.get_hashes()
        )


class InspectedMachineTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database(ironic=True))
        objects.register_all()
        self.context = context.get_admin_context()
        self.ids = []
        for number, uuid in enumerate(UUIDS):
            node = objects.Node(
                self.context,
                uuid=uuid,
                name=f'n{number}',
                driver='fake-hardware',
            )
            node.create()
            self.ids.append(node.id)
            objects.Port(
                self.context,
                node_id=node.id,
                address=f'52:54:00:00:00:0{number}',
            ).create()
            objects.Portgroup(
                self.context, node_id=node.id, name=f'bond{number}'
            ).create()

    def call(self, method, *args):
        return getattr(machine.InspectedMachine, method)(self.context, *args)

    def test_nodes_are_found_by_name(self):
        self.assertEqual(
            [[UUIDS[0], 'n0'], [UUIDS[2], 'n2']],
            sorted(map(list, self.call('identify', ['n2', 'n0', 'n9']))),
        )

    def test_nodes_have_the_fields_of_ironics_objects(self):
        objects.TraitList.create(self.context, self.ids[2], ['CUSTOM_A'])
        with transaction.writer() as session:
            # Null as in a row that is older than the column; and objects that
            # go over RPC have whole seconds only.
            session.execute(
                sa.update(models.Node).values(
                    network_data=None, created_at=TIME, updated_at=TIME
                )
            )

        rows = self.call('list_nodes', {'uuid_in': [UUIDS[0], UUIDS[2]]})

        self.assertEqual([UUIDS[0], UUIDS[2]], [row['uuid'] for row in rows])
        self.assertEqual([[], ['CUSTOM_A']], [row['traits'] for row in rows])
        for row in rows:
            fields = facts.as_dict(
                objects.Node.list(
                    self.context, filters={'uuid_in': [row['uuid']]}
                )[0]
            )
            self.assertEqual(fields, {name: row[name] for name in fields})
            self.assertEqual({}, row['network_data'])

    def test_ports_are_those_of_the_nodes(self):
        for method, field, names in (
            (
                'list_ports',
                'address',
                ['52:54:00:00:00:00', '52:54:00:00:00:02'],
            ),
            ('list_port_groups', 'name', ['bond0', 'bond2']),
        ):
            rows = self.call(method, [self.ids[0], self.ids[2]])
            self.assertEqual(names, [row[field] for row in rows])
            self.assertEqual(
                [self.ids[0], self.ids[2]], [row['node_id'] for row in rows]
            )
            self.assertRegex(rows[0]['created_at'], r'^\d{4}-\d\d-\d\dT')

    def test_inventories_say_when_they_were_stored(self):
        objects.NodeInventory(
            self.context,
            node_id=self.ids[1],
            inventory_data={'a': 1},
            plugin_data={'b': 2},
        ).create()
        [row] = self.call('list_inventories', self.ids)
        self.assertEqual(self.ids[1], row['node_id'])
        self.assertEqual(
            ({'a': 1}, {'b': 2}),
            (json.loads(row['inventory']), json.loads(row['plugin_data'])),
        )
        self.assertRegex(row['stored_at'], r'^\d{4}-\d\d-\d\dT')

    def test_data_are_measured(self):
        objects.NodeInventory(
            self.context,
            node_id=self.ids[1],
            inventory_data={'a': 1},
            plugin_data=None,
        ).create()
        for number, result in enumerate(('failed', 'failed', 'ok')):
            database.record_run(
                {
                    'uuid': f'{number}{UUIDS[0][1:]}',
                    'node_uuid': UUIDS[number],
                    'event': 'inspection',
                    'result': result,
                    'phases': {},
                    **(
                        {}
                        if result == 'ok'
                        else {
                            'content': content.store(
                                {
                                    'inventory': {'n': number * 'x'},
                                    'plugin_data': {},
                                }
                            )
                        }
                    ),
                },
                keep=5,
            )
        stored, failed = self.call('measure', self.ids, UUIDS)
        self.assertEqual([[self.ids[1], len('{"a": 1}') + len('{}')]], stored)
        whole = '{"inventory":{"n":""},"plugin_data":{}}'
        self.assertEqual(
            [[UUIDS[0], len(whole)], [UUIDS[1], len(whole) + 1]],
            sorted(failed),
        )

    def test_only_a_last_run_that_failed_has_data(self):
        for number, results in enumerate(
            (('failed', 'ok'), ('ok', 'failed'), ('failed', 'failed'))
        ):
            for order, result in enumerate(results):
                data = {'inventory': {'order': order}, 'plugin_data': {}}
                database.record_run(
                    {
                        'uuid': f'{number}{order}{UUIDS[0][2:]}',
                        'node_uuid': UUIDS[number],
                        'event': 'inspection',
                        'result': result,
                        'phases': {},
                        'content': content.store(data)
                        if result == 'failed'
                        else None,
                    },
                    keep=5,
                )
        rows = self.call('list_failed', UUIDS)
        self.assertEqual(
            [(UUIDS[1], {'order': 1}), (UUIDS[2], {'order': 1})],
            sorted((row['node_uuid'], row['inventory']) for row in rows),
        )


class RemoteInspectedMachineTestCase(InspectedMachineTestCase):
    """The same when objects go over RPC ([DEFAULT]use_rpc_for_database)."""

    def setUp(self):
        super().setUp()
        self.wire = test_rule.OverTheWire()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.objects.base.IronicObject.indirection_api', self.wire
            )
        )

    def call(self, method, *args):
        before = len(self.wire.calls)
        found = super().call(method, *args)
        self.assertEqual([method], self.wire.calls[before:])
        return found

    def test_a_conductor_has_the_object(self):
        self.assertIn(machine.InspectedMachine, storage.CLASSES)
