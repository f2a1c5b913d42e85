# SPDX-License-Identifier: Apache-2.0

"""Histories of generated machines say what was done to them."""

import datetime
import os
import random
import types

from oslo_utils import timeutils
from oslo_utils import uuidutils

from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.machine import part_difference
from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.machine import part_model
from ironic_inspection_rules.tests.unit.machine import part_oracle

HISTORIES = int(os.environ.get('IR_SWAPS', '50'))
"""2,000 with ``make swaps``."""

FIRST = int(os.environ.get('IR_SWAPS_SEED', '0'))
"""The seed of the first history; each has the next one."""

INSPECTIONS = 7

START = datetime.datetime(2026, 1, 1)

CHANNELS = (
    part_model.AgentDisks,
    part_model.RedfishDisks,
    part_model.RedfishDrives,
    part_model.ExtraHardware,
    part_model.DmiDecode,
    part_model.AgentInterfaces,
    part_model.RedfishInterfaces,
    part_model.PciDevices,
)


class History:
    """A machine, and those who report it, by a seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.machine = part_model.Machine(self.draw)
        self.channels = [self.make(cls) for cls in CHANNELS]
        # The sources of one kind of parts, in turn.
        self.is_narrow = self.draw.random() < 0.4
        self.plans = [
            self.plan() for _number in range(self.draw.randrange(1, 4))
        ]
        self.interface, self.used = self.plans[0]

    def make(self, cls):
        blind = self.draw.choice((0, 0, 5, 9))
        channel = cls(
            self.draw.choice(
                (
                    part_model.NAMES,
                    part_model.NAMES,
                    part_model.NEVER,
                    part_model.LATE,
                    part_model.FICKLE,
                    part_model.PARTLY,
                    part_model.MIXED,
                    part_model.MIXED,
                )
            ),
            self.draw.randrange(1, INSPECTIONS),
            lambda part: blind > 0 and (part.number + blind) % 7 == 0,
            self.draw.random() < 0.1,
        )
        if cls is part_model.AgentDisks:
            channel.fields = self.draw.choice(
                (('serial', 'wwn'), ('serial',), ('wwn',))
            )
        return channel

    def plan(self):
        """Return the interface and the sources of one sort of inspections."""
        if self.is_narrow:
            channel = self.draw.choice(
                [
                    channel
                    for channel in self.channels
                    if channel.kind == self.machine.kinds[-1]
                ]
            )
            return channel.interface, [channel]
        interface = self.draw.choice(('agent', 'agent', 'redfish'))
        share = self.draw.choice((0.3, 0.6, 0.9))
        return interface, [
            channel
            for channel in self.channels
            if channel.interface == interface and self.draw.random() < share
        ]

    def go_on(self):
        """Let time pass to the next inspection."""
        if self.draw.random() < 0.3:
            self.draw.shuffle(self.machine.parts)
            return
        for _number in range(self.draw.choice((0, 1, 1, 1, 2, 3))):
            self.machine.happen()
        self.interface, self.used = self.draw.choice(self.plans)

    def data(self, time):
        data = {
            'inventory': {},
            'plugin_data': {},
            'event': 'inspection',
            'revision': 1,
            'result': 'ok',
            'error': None,
            'phases': {},
            'facts': {},
        }
        for channel in self.used:
            channel.report(self.machine, time, data)
        return data

    def sights(self, time):
        return {
            channel: channel.sights(self.machine, time)
            for channel in self.used
        }


class PartHistoryTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.time = 0
        self.patch(
            timeutils,
            'utcnow',
            lambda: START + datetime.timedelta(hours=self.time),
        )

    def keep(self, node_uuid, interface, data):
        kept = history.prepare(
            uuidutils.generate_uuid(),
            types.SimpleNamespace(uuid=node_uuid, inspect_interface=interface),
            data,
        )
        database.keep_inspection(kept)

    def last_changes(self, node_uuid):
        """Return what the API says of the last two inspections."""
        rows = db_history.list_inventories(node_uuid, 2, patches=True)
        if len(rows) < 2:
            return None
        changes = part_difference.between(
            history.read_parts(rows[1]), history.reported_parts(rows[0])
        )
        return [change.as_dict() for change in changes]

    def stays(self, identity, node_uuid):
        """Return the stays of a part, as inspections by number."""
        return [
            [self.number(row['began_at']), self.number(row['ended_at'])]
            for row in reversed(
                db_history.list_stays(part_identity.normalise(identity), 99)
            )
            if row['node_uuid'] == node_uuid
        ]

    @staticmethod
    def number(time):
        return time and (time - START) // datetime.timedelta(hours=1)

    def search(self, seed):
        """Return what is wrong with a history, with its last inspection."""
        story = History(seed)
        oracle = part_oracle.Oracle()
        node_uuid = uuidutils.generate_uuid()
        identities = set()
        for self.time in range(INSPECTIONS):
            self.keep(node_uuid, story.interface, story.data(self.time))
            wrong = oracle.check(
                self.time,
                story.sights(self.time),
                self.last_changes(node_uuid),
            )
            if wrong:
                return [seed, self.time, *wrong]
            identities.update(
                name
                for each in story.machine.parts
                for name in (each.serial, each.wwn, each.mac)
            )
            story.go_on()
        found = {name: self.stays(name, node_uuid) for name in identities}
        return [
            [seed, name, found[name], expected]
            for name in sorted(identities)
            if found[name]
            != (expected := oracle.stays.get(part_model.plain(name), []))
        ]

    def test_histories_say_what_was_done_no_more_no_less(self):
        for seed in range(FIRST, FIRST + HISTORIES):
            self.assertEqual([], self.search(seed))
