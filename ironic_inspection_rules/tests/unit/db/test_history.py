# SPDX-License-Identifier: Apache-2.0

"""The history of machines in the database, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

import collections
import copy
import datetime
import types

from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base


def node(uuid=None, interface='agent'):
    return types.SimpleNamespace(
        uuid=uuid or uuidutils.generate_uuid(), inspect_interface=interface
    )


def document(number=0, disks=8):
    """What an inspection of a machine found, about 40 kB."""
    return {
        'inventory': {
            'disks': [
                {
                    'name': f'/dev/sd{place}',
                    'serial': f'S{number}-{place}',
                    'by_path': f'/dev/path/{place}',
                    'model': 'M' * 40,
                }
                for place in range(disks)
            ],
            'interfaces': [
                {
                    'name': 'eth0',
                    'mac_address': (f'52:54:00:12:34:{number:02x}'),
                }
            ],
            'cpu': {'flags': [f'flag{each}' for each in range(2000)]},
            'memory': {'total': 1000},
        },
        'plugin_data': {
            'pci_devices': [
                {
                    'vendor_id': '8086',
                    'product_id': f'{each:04x}',
                    'class': '060400',
                    'bus': f'0000:{each:02x}:00.0',
                }
                for each in range(200)
            ]
        },
        'event': 'inspection',
        'revision': 3,
        'result': 'ok',
        'error': None,
        'phases': {},
        'facts': {},
    }


class HistoryMixin:
    """Tests that hold on every kind of database."""

    def keep(self, machine, found):
        kept = history.prepare(uuidutils.generate_uuid(), machine, found)
        database.keep_inspection(kept)
        return kept.values['uuid']

    def rows(self, table):
        with transaction.reader() as session:
            return session.execute(
                sa.select(sa.func.count()).select_from(table)
            ).scalar()

    def stored(self):
        return {
            table.__tablename__: self.rows(table)
            for table in (
                models.ContentRow,
                models.SectionRow,
                models.ContentSectionRow,
                models.PartStayRow,
            )
        }

    def read(self, machine, uuid):
        return history.read(db_history.get_inventory(machine.uuid, uuid))

    def stays(self, identity):
        return [
            (row['node_uuid'], row['ended_at'] is None)
            for row in db_history.list_stays(identity, 9)
        ]

    def make_old(self, machine, days=31):
        with transaction.writer_without_session() as connection:
            for table, column in (
                (models.KeptInventoryRow, 'created_at'),
                (models.PartStayRow, 'began_at'),
            ):
                connection.execute(
                    sa.update(table)
                    .where(table.node_uuid == machine.uuid)
                    .values(
                        {
                            column: timeutils.utcnow()
                            - datetime.timedelta(days=days)
                        }
                    )
                )

    def expire(self, days=30):
        return db_history.expire(
            timeutils.utcnow() - datetime.timedelta(days=days)
        )

    def test_what_was_kept_is_read(self):
        machine = node()
        found = [document(), document(disks=7), document()]
        uuids = [self.keep(machine, each) for each in found]

        self.assertEqual(found, [self.read(machine, uuid) for uuid in uuids])
        self.assertEqual(
            [(uuids[2], True), (uuids[1], True), (uuids[0], False)],
            [
                (row.uuid, row.changed)
                for row in db_history.list_inventories(machine.uuid)
            ],
        )

    def test_an_unchanged_machine_adds_one_small_row(self):
        machine = node()
        self.keep(machine, document())
        before = self.stored()
        found = document()
        for turn in range(3):
            # What is another each time, whatever its name.
            found = copy.deepcopy(found)
            found['inventory']['memory']['total'] = turn
            found['inventory']['booted_at'] = f'2024-01-0{turn}'
            found['inventory']['disks'].reverse()
            uuid = self.keep(machine, found)

        self.assertEqual(before, self.stored())
        row = db_history.get_inventory(machine.uuid, uuid)
        self.assertFalse(row.changed)
        self.assertLess(len(row.patch), 200)
        self.assertEqual(found, self.read(machine, uuid))

    def test_a_machine_that_is_another_altogether_is_stored_whole(self):
        machine = node()
        first = self.keep(machine, document())
        found = document()
        found['plugin_data']['pci_devices'] = [
            {
                'vendor_id': f'{each * 7919 % 65521:04x}',
                'product_id': f'{each * each % 65521:04x}',
            }
            for each in range(1000)
        ]
        uuid = self.keep(machine, found)

        rows = [
            db_history.get_inventory(machine.uuid, each)
            for each in (first, uuid)
        ]
        self.assertEqual([None, None], [row.patch for row in rows])
        self.assertNotEqual(rows[0].content, rows[1].content)
        self.assertEqual(found, self.read(machine, uuid))

    def test_machines_share_what_is_the_same(self):
        self.keep(node(), document(1))
        before = self.stored()
        self.keep(node(), document(2))
        after = self.stored()

        self.assertLess(after['ir_sections'] - before['ir_sections'], 5)

    def test_where_a_part_has_been_is_found(self):
        one, other = node(), node()
        self.keep(one, document())
        self.keep(one, document(disks=7))
        moved = document(1, disks=0)
        moved['inventory']['disks'] = [{'serial': 'S0-7', 'name': 'sda'}]
        self.keep(other, moved)

        self.assertEqual(
            [(other.uuid, True), (one.uuid, False)], self.stays('s0-7')
        )
        self.assertEqual([(one.uuid, True)], self.stays('s0-0'))

    def test_a_part_that_is_not_reported_has_not_gone(self):
        machine = node()
        self.keep(machine, document())
        found = document()
        del found['inventory']['disks']
        uuid = self.keep(machine, found)

        self.assertEqual([(machine.uuid, True)], self.stays('s0-7'))
        self.assertFalse(db_history.get_inventory(machine.uuid, uuid).changed)
        self.keep(machine, document(disks=7))
        self.assertEqual([(machine.uuid, False)], self.stays('s0-7'))

    def test_an_inspection_is_kept_once(self):
        machine = node()
        kept = history.prepare(uuidutils.generate_uuid(), machine, document())
        database.keep_inspection(kept)
        database.keep_inspection(kept)

        self.assertEqual(1, self.rows(models.KeptInventoryRow))

    def test_one_of_another_node_is_not_found(self):
        uuid = self.keep(node(), document())

        self.assertRaises(
            exceptions.KeptInventoryNotFound,
            db_history.get_inventory,
            node().uuid,
            uuid,
        )

    def test_lists_are_limited(self):
        machine = node()
        first, second, third = (
            self.keep(machine, document()) for _ in range(3)
        )
        rows = db_history.list_inventories(machine.uuid, limit=2)

        self.assertEqual([third, second], [row.uuid for row in rows])
        self.assertEqual(
            [first],
            [
                row.uuid
                for row in db_history.list_inventories(
                    machine.uuid, before=rows[-1].id
                )
            ],
        )
        self.assertEqual(
            [],
            db_history.list_inventories(
                machine.uuid,
                since=timeutils.utcnow() + datetime.timedelta(hours=1),
            ),
        )

    def test_history_goes_with_its_node(self):
        gone, there = node(), node()
        self.keep(gone, document(1))
        uuid = self.keep(there, document(2))

        self.assertEqual(
            sorted([gone.uuid, there.uuid]), run.list_nodes('', 9)
        )
        db_history.destroy([gone.uuid])

        self.assertEqual([there.uuid], run.list_nodes('', 9))
        self.assertEqual([], self.stays('s1-0'))
        self.assertEqual(document(2), self.read(there, uuid))

    def test_what_is_old_goes_and_nothing_is_left_of_it(self):
        old, young = node(), node()
        self.keep(old, document(1))
        uuid = self.keep(young, document(2))
        self.make_old(old)
        while self.expire() + content.sweep(grace=-1):
            pass

        self.assertEqual([young.uuid], run.list_nodes('', 9))
        self.assertEqual([], self.stays('s1-0'))
        self.assertEqual(document(2), self.read(young, uuid))
        self.assertEqual(2, self.rows(models.ContentRow))

    def test_what_the_next_inspection_names_does_not_go_meanwhile(self):
        machine = node()
        self.keep(machine, document())
        self.make_old(machine)
        with transaction.writer_without_session() as connection:
            connection.execute(sa.update(models.ContentRow).values(used_at=0))
        uuid = uuidutils.generate_uuid()
        kept = history.prepare(uuid, machine, document())
        while self.expire() + content.sweep():
            pass
        database.keep_inspection(kept)

        self.assertEqual(document(), self.read(machine, uuid))
        row = db_history.get_inventory(machine.uuid, uuid)
        self.assertEqual(
            history.reported_parts(row).identities,
            history.read_parts(row).identities,
        )

    def test_a_part_that_is_still_there_is_found_however_long(self):
        machine = node()
        self.keep(machine, document())
        self.make_old(machine)
        self.keep(machine, document())
        self.expire()

        self.assertEqual([(machine.uuid, True)], self.stays('s0-0'))
        self.assertEqual(1, self.rows(models.KeptInventoryRow))


class HistoryTestCase(HistoryMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())

    def test_a_statement_does_not_grow_with_the_history(self):
        machine = node()
        counts = []
        for _ in range(3):
            statements = collections.Counter()
            with transaction.reader() as session:
                engine = session.get_bind()

            def count(*args, statements=statements):
                statements['all'] += 1

            sa.event.listen(engine, 'before_cursor_execute', count)
            self.keep(machine, document())
            sa.event.remove(engine, 'before_cursor_execute', count)
            counts.append(statements['all'])

        self.assertEqual(counts[1], counts[2])
        self.assertLess(counts[2], 20)
