# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

from ironic.db.sqlalchemy import models
import oslo_messaging
from oslo_utils import uuidutils
import sqlalchemy as sa
import stevedore

from ironic_inspection_rules.adapters import announcer
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

MAC = '52:54:00:00:00:01'


class FakeAnnouncer:

    def __init__(self):
        self.announced = []
        self.broken = False

    def announce(self, change):
        if self.broken:
            raise oslo_messaging.MessageDeliveryFailure('no bus')
        self.announced.append(change)


class AnnouncingDriverTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.database = self.useFixture(database.Database(ready=False))
        models.Base.metadata.create_all(self.database.engine)
        self.announcer = FakeAnnouncer()
        self.driver = announcer.AnnouncingDriver(
            None, topics=[], transport=None, announcer=self.announcer)

    def notify(self, event, **payload):
        """Pass one notification; return all that was announced so far."""
        self.driver.notify({}, {'event_type': f'baremetal.{event}', 'payload':
                                {'ironic_object.data': payload}}, 'info', 0)
        return self.announcer.announced

    def insert(self, model, **values):
        uuid = uuidutils.generate_uuid()
        with self.database.engine.begin() as connection:
            result = connection.execute(
                sa.insert(model).values(uuid=uuid, **values))
        return uuid, result.inserted_primary_key[0]

    def test_a_new_or_changed_port_is_known(self):
        for action in ('create', 'update'):
            self.announcer.announced.clear()
            self.assertEqual(
                [('blacklist', 'add', 'uuid', MAC)],
                self.notify(f'port.{action}.end', uuid='uuid', address=MAC))

    def test_a_deleted_port_is_known_no_longer(self):
        self.assertEqual(
            [('blacklist', 'remove', 'uuid', MAC)],
            self.notify('port.delete.end', uuid='uuid', address=MAC))

    def test_a_port_group_is_known_if_it_has_an_address(self):
        self.assertEqual([], self.notify('portgroup.create.end', uuid='uuid',
                                         address=None))
        self.assertEqual(
            [('blacklist', 'add', 'uuid', MAC)],
            self.notify('portgroup.create.end', uuid='uuid', address=MAC))

    def test_only_what_has_happened_counts(self):
        self.assertEqual([], self.notify('port.create.start', uuid='uuid',
                                         address=MAC))
        self.assertEqual([], self.notify('port.create.error', uuid='uuid',
                                         address=MAC))

    def test_an_inspection_that_begins_names_the_ports_of_the_node(self):
        node, number = self.insert(models.Node)
        ports = {self.insert(models.Port, node_id=number, address=mac)[0]: mac
                 for mac in (MAC, '52:54:00:00:00:02')}
        self.insert(models.Port, address='52:54:00:00:00:03')
        for state in ('inspecting', 'inspect wait'):
            self.announcer.announced.clear()
            self.assertEqual(
                {('whitelist', 'add', port, mac)
                 for port, mac in ports.items()},
                set(self.notify('node.provision_set.start', uuid=node,
                                provision_state=state,
                                previous_provision_state='manageable')))

    def test_an_inspection_that_ends_leaves_the_whitelist(self):
        node, number = self.insert(models.Node)
        port = self.insert(models.Port, node_id=number, address=MAC)[0]
        for state in ('manageable', 'inspect failed'):
            self.announcer.announced.clear()
            self.assertEqual(
                [('whitelist', 'remove', port, MAC)],
                self.notify('node.provision_set.end', uuid=node,
                            provision_state=state,
                            previous_provision_state='inspecting'))

    def test_a_node_without_ports_matters_too(self):
        node = self.insert(models.Node)[0]
        self.assertEqual(
            [('whitelist', 'add', None, None)],
            self.notify('node.provision_set.start', uuid=node,
                        provision_state='inspecting',
                        previous_provision_state='manageable'))

    def test_other_states_and_events_mean_nothing(self):
        self.assertEqual([], self.notify(
            'node.provision_set.end', uuid='uuid', provision_state='active',
            previous_provision_state='deploying'))
        self.assertEqual([], self.notify('node.create.end', uuid='uuid'))

    def test_ironic_does_not_suffer_from_a_broken_bus(self):
        self.announcer.broken = True
        self.notify('port.create.end', uuid='uuid', address=MAC)

    def test_oslo_messaging_finds_it_by_name(self):
        found = stevedore.DriverManager(
            'oslo.messaging.notify.drivers', 'inspection-pxe-filter')
        self.assertIs(announcer.AnnouncingDriver, found.driver)
