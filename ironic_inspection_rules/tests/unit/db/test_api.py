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

"""What the storage of rules must do, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

from concurrent import futures

from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import api
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base


def values(**changes):
    """Make the column values of a rule."""
    return {
        'uuid': uuidutils.generate_uuid(),
        'version': '1.0',
        'conditions': [],
        'actions': [{'op': 'fail', 'args': ['no']}],
        **changes,
    }


class RulesMixin:
    """Tests that hold on every kind of database."""

    def test_a_stored_rule_reads_back_as_it_was(self):
        given = values(
            priority=7, description='r\xe9gle \N{GRINNING FACE}',
            scope='rack', sensitive=True, phase='early',
            conditions=[{'op': '!eq', 'args': {'values': [1, '1', None]}}],
            actions=[{'op': 'log', 'args': ['\x00 \ud800'], 'loop': [1.5]}])
        api.create_rule(given)

        row = api.get_rule_by_uuid(given['uuid'])

        self.assertEqual(given, {name: row[name] for name in given})
        self.assertIsNotNone(row.created_at)
        self.assertIsNone(row.updated_at)

    def test_fields_that_were_not_given_have_their_defaults(self):
        row = api.create_rule(values())

        self.assertEqual(
            (0, None, None, False, 'main'),
            (row.priority, row.description, row.scope, row.sensitive,
             row.phase))

    def test_a_big_rule_fits(self):
        big = [{'op': 'log', 'args': ['x' * 200_000]}]
        row = api.create_rule(values(actions=big))

        self.assertEqual(big, api.get_rule_by_uuid(row.uuid).actions)

    def test_a_taken_uuid_is_a_conflict(self):
        given = values()
        api.create_rule(given)

        self.assertRaises(exceptions.RuleAlreadyExists,
                          api.create_rule, given)

    def test_update_changes_only_what_it_is_given(self):
        row = api.create_rule(values(description='before', priority=3))

        api.update_rule(row.uuid, {'description': None}, row.revision)

        after = api.get_rule_by_uuid(row.uuid)
        self.assertIsNone(after.description)
        self.assertEqual(3, after.priority)
        self.assertIsNotNone(after.updated_at)

    def test_update_on_an_old_view_is_refused(self):
        row = api.create_rule(values())
        api.update_rule(row.uuid, {'priority': 1}, row.revision)

        self.assertRaises(exceptions.RuleChanged, api.update_rule,
                          row.uuid, {'priority': 2}, row.revision)
        self.assertEqual(1, api.get_rule_by_uuid(row.uuid).priority)

    def test_what_is_not_there_is_not_found(self):
        absent = uuidutils.generate_uuid()

        self.assertRaises(exceptions.RuleNotFound,
                          api.get_rule_by_uuid, absent)
        self.assertRaises(exceptions.RuleNotFound,
                          api.update_rule, absent, {'priority': 1}, 1)
        self.assertRaises(exceptions.RuleNotFound,
                          api.destroy_rule, absent)

    def test_destroy_removes_one_and_destroy_all_the_rest(self):
        first, second, third = (api.create_rule(values()) for _ in range(3))

        api.destroy_rule(second.uuid)
        self.assertEqual([first.uuid, third.uuid],
                         [row.uuid for row in api.list_rules()])
        api.destroy_all_rules()
        self.assertEqual([], api.list_rules())

    def test_rules_are_listed_in_creation_order(self):
        created = [api.create_rule(values(priority=priority)).uuid
                   for priority in (5, 9, 1)]

        self.assertEqual(created, [row.uuid for row in api.list_rules()])

    def test_filters_compare_exactly(self):
        upper = api.create_rule(values(scope='Rack')).uuid
        lower = api.create_rule(values(scope='rack', phase='early')).uuid
        none = api.create_rule(values()).uuid

        def found(**filters):
            return [row.uuid for row in api.list_rules(filters)]

        self.assertEqual([upper], found(scope='Rack'))
        self.assertEqual([lower], found(scope='rack'))
        self.assertEqual([none], found(scope=None))
        self.assertEqual([], found(scope='Rack', phase='early'))
        self.assertEqual([upper, none], found(phase='main'))
        self.assertEqual([upper, lower], found(uuid=[lower, upper]))

    def test_one_column_of_many_rules(self):
        first = api.create_rule(values(priority=4)).uuid
        api.create_rule(values(priority=5, phase='early'))
        last = api.create_rule(values(priority=6)).uuid

        self.assertEqual(
            [(first, 4), (last, 6)],
            api.list_values('priority', {'phase': 'main'}))

    def test_every_change_and_no_reading_makes_a_new_revision(self):
        seen = [api.get_revision()]

        def note():
            seen.append(api.get_revision())

        row = api.create_rule(values())
        note()
        api.update_rule(row.uuid, {'priority': 1}, row.revision)
        note()
        api.destroy_rule(row.uuid)
        note()
        api.destroy_all_rules()
        note()
        self.assertEqual(sorted(set(seen)), seen)

        api.list_rules()
        self.assertEqual(seen[-1], api.get_revision())

    def test_a_refused_change_makes_no_new_revision(self):
        row = api.create_rule(values())
        before = api.get_revision()

        self.assertRaises(exceptions.RuleAlreadyExists,
                          api.create_rule, values(uuid=row.uuid))
        self.assertRaises(exceptions.RuleChanged, api.update_rule,
                          row.uuid, {'priority': 1}, row.revision - 1)

        self.assertEqual(before, api.get_revision())

    def test_fifty_rules_created_at_once_are_all_stored(self):
        given = [values() for _ in range(50)]
        before = api.get_revision()

        with futures.ThreadPoolExecutor(25) as pool:
            list(pool.map(api.create_rule, given))

        self.assertEqual({rule['uuid'] for rule in given},
                         {row.uuid for row in api.list_rules()})
        self.assertEqual(before + 50, api.get_revision())

    def test_of_updates_at_once_on_one_view_one_wins(self):
        row = api.create_rule(values())

        def update(priority):
            try:
                api.update_rule(row.uuid, {'priority': priority},
                                row.revision)
            except exceptions.RuleChanged:
                return None
            return priority

        with futures.ThreadPoolExecutor(10) as pool:
            won = [priority for priority in pool.map(update, range(1, 11))
                   if priority]

        self.assertEqual([api.get_rule_by_uuid(row.uuid).priority], won)


class SQLiteRulesTestCase(RulesMixin, base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
