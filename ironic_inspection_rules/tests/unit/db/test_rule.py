# SPDX-License-Identifier: Apache-2.0

"""What the storage of rules must do, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

from concurrent import futures

from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.db import transaction
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


def revisions():
    """Return the revisions that are kept, the newest first."""
    return [row.revision for row in db_rule.list_revisions(1000)]


class RulesMixin:
    """Tests that hold on every kind of database."""

    def test_a_stored_rule_reads_back_as_it_was(self):
        given = values(
            priority=7,
            description='r\xe9gle \N{GRINNING FACE}',
            scope='rack',
            sensitive=True,
            phase='early',
            conditions=[{'op': '!eq', 'args': {'values': [1, '1', None]}}],
            actions=[{'op': 'log', 'args': ['\x00 \ud800'], 'loop': [1.5]}],
        )
        db_rule.create_rule(given)

        row = db_rule.get_rule_by_uuid(given['uuid'])

        self.assertEqual(given, {name: row[name] for name in given})
        self.assertIsNotNone(row.created_at)
        self.assertIsNone(row.updated_at)

    def test_fields_that_were_not_given_have_their_defaults(self):
        row = db_rule.create_rule(values())

        self.assertEqual(
            (0, None, None, False, 'main'),
            (
                row.priority,
                row.description,
                row.scope,
                row.sensitive,
                row.phase,
            ),
        )

    def test_a_big_rule_fits(self):
        big = [{'op': 'log', 'args': ['x' * 200_000]}]
        row = db_rule.create_rule(values(actions=big))

        self.assertEqual(big, db_rule.get_rule_by_uuid(row.uuid).actions)

    def test_a_taken_uuid_is_a_conflict(self):
        given = values()
        db_rule.create_rule(given)

        self.assertRaises(
            exceptions.RuleAlreadyExists, db_rule.create_rule, given
        )

    def test_update_changes_only_what_it_is_given(self):
        row = db_rule.create_rule(values(description='before', priority=3))

        db_rule.update_rule(row.uuid, {'description': None}, row.revision)

        after = db_rule.get_rule_by_uuid(row.uuid)
        self.assertIsNone(after.description)
        self.assertEqual(3, after.priority)
        self.assertIsNotNone(after.updated_at)

    def test_update_on_an_old_view_is_refused(self):
        row = db_rule.create_rule(values())
        db_rule.update_rule(row.uuid, {'priority': 1}, row.revision)

        self.assertRaises(
            exceptions.Conflict,
            db_rule.update_rule,
            row.uuid,
            {'priority': 2},
            row.revision,
        )
        self.assertEqual(1, db_rule.get_rule_by_uuid(row.uuid).priority)

    def test_what_is_not_there_is_not_found(self):
        absent = uuidutils.generate_uuid()

        self.assertRaises(
            exceptions.RuleNotFound, db_rule.get_rule_by_uuid, absent
        )
        self.assertRaises(
            exceptions.RuleNotFound,
            db_rule.update_rule,
            absent,
            {'priority': 1},
            1,
        )
        self.assertRaises(
            exceptions.RuleNotFound, db_rule.destroy_rule, absent
        )

    def test_destroy_removes_one_and_destroy_all_the_rest(self):
        first, second, third = (
            db_rule.create_rule(values()) for _ in range(3)
        )

        db_rule.destroy_rule(second.uuid)
        self.assertEqual(
            [first.uuid, third.uuid],
            [row.uuid for row in db_rule.list_rules()],
        )
        db_rule.destroy_all_rules()
        self.assertEqual([], db_rule.list_rules())

    def test_rules_are_listed_in_creation_order(self):
        created = [
            db_rule.create_rule(values(priority=priority)).uuid
            for priority in (5, 9, 1)
        ]

        self.assertEqual(created, [row.uuid for row in db_rule.list_rules()])

    def test_filters_compare_exactly(self):
        upper = db_rule.create_rule(values(scope='Rack')).uuid
        lower = db_rule.create_rule(values(scope='rack', phase='early')).uuid
        none = db_rule.create_rule(values()).uuid

        def found(**filters):
            return [row.uuid for row in db_rule.list_rules(filters)]

        self.assertEqual([upper], found(scope='Rack'))
        self.assertEqual([lower], found(scope='rack'))
        self.assertEqual([none], found(scope=None))
        self.assertEqual([], found(scope='Rack', phase='early'))
        self.assertEqual([upper, none], found(phase='main'))
        self.assertEqual([upper, lower], found(uuid=[lower, upper]))

    def test_one_column_of_many_rules(self):
        first = db_rule.create_rule(values(priority=4)).uuid
        db_rule.create_rule(values(priority=5, phase='early'))
        last = db_rule.create_rule(values(priority=6)).uuid

        self.assertEqual(
            [(first, 4), (last, 6)],
            db_rule.list_values('priority', {'phase': 'main'}),
        )

    def test_every_change_and_no_reading_makes_a_new_revision(self):
        seen = [database.read_revision()]

        def note():
            seen.append(database.read_revision())

        row = db_rule.create_rule(values())
        note()
        db_rule.update_rule(row.uuid, {'priority': 1}, row.revision)
        note()
        db_rule.destroy_rule(row.uuid)
        note()
        db_rule.create_rule(values())
        note()
        db_rule.destroy_all_rules()
        note()
        self.assertEqual(sorted(set(seen)), seen)

        db_rule.list_rules()
        self.assertEqual(seen[-1], database.read_revision())

    def test_what_changes_nothing_makes_no_new_revision(self):
        row = db_rule.create_rule(values(priority=1))
        before = database.read_revision()

        same = db_rule.update_rule(row.uuid, {'priority': 1}, row.revision)
        db_rule.change_rules(
            before, [], {row.uuid: {'priority': 1}}, [], rule_set.UNKNOWN
        )
        db_rule.change_rules(before, [], {}, [], rule_set.UNKNOWN)

        self.assertEqual((before, None), (same.revision, same.updated_at))
        self.assertEqual(before, database.read_revision())
        self.assertEqual([before], revisions())
        db_rule.destroy_all_rules()
        db_rule.destroy_all_rules()
        self.assertEqual(before + 1, database.read_revision())

    def test_a_revision_says_who_changed_what(self):
        origin = rule_set.ChangeOrigin('jane', 'cloud', 'because')
        given = values(description='one')
        row = db_rule.create_rule(given, origin)
        db_rule.update_rule(row.uuid, {'priority': 2}, row.revision)

        newest, first = db_rule.list_revisions(2)

        self.assertEqual(
            ('jane', 'cloud', 'because'),
            (first.user_id, first.project_id, first.message),
        )
        self.assertEqual(
            [{'uuid': row.uuid, 'description': 'one', 'outcome': 'created'}],
            first.changes,
        )
        self.assertEqual(
            (None, ['updated']),
            (newest.user_id, [each['outcome'] for each in newest.changes]),
        )

    def test_the_rules_of_a_revision_are_as_they_were(self):
        row = db_rule.create_rule(values(priority=1))
        other = db_rule.create_rule(values())
        before = database.read_revision()
        db_rule.update_rule(row.uuid, {'priority': 2}, row.revision)
        db_rule.destroy_rule(other.uuid)
        db_rule.create_rule(values())

        _revision, rules = db_rule.get_rules_of_revision(before)

        self.assertEqual(
            [(row.uuid, 1), (other.uuid, 0)],
            [(rule.uuid, rule.fields['priority']) for rule in rules],
        )
        self.assertEqual(
            [before - 1, before], [rule.rule_revision for rule in rules]
        )
        self.assertEqual(
            [(row.uuid, 2)],
            [
                (rule.uuid, rule.fields['priority'])
                for rule in db_rule.get_rules_of_revision(before + 2)[1]
            ],
        )
        self.assertRaises(
            exceptions.NotFound, db_rule.get_rules_of_revision, before + 4
        )

    def revisions(self):
        return [
            (row.revision, [change['outcome'] for change in row.changes])
            for row in db_rule.list_revisions(100)
        ]

    def test_a_rule_that_is_removed_and_made_again_was_never_gone(self):
        given = values(priority=5, sensitive=True)
        rows = [
            db_rule.create_rule(each) for each in (given, values(), values())
        ]
        before = self.revisions()
        order = [row.uuid for row in db_rule.list_rules()]

        for _turn in range(3):
            db_rule.destroy_rule(given['uuid'])
            made = db_rule.create_rule(given)

        self.assertEqual(before, self.revisions())
        self.assertEqual(order, [row.uuid for row in db_rule.list_rules()])
        self.assertEqual(
            (rows[0].revision, rows[0].created_at),
            (made.revision, made.created_at),
        )
        # Others may have seen the rules without it.
        self.assertEqual(9, database.read_revision())
        for revision in (9, 3):
            found, rules = db_rule.get_rules_of_revision(revision)
            self.assertEqual(3, found.revision)
            self.assertEqual(order, [rule.uuid for rule in rules])
        self.assertRaises(
            exceptions.NotFound, db_rule.get_rules_of_revision, 10
        )
        db_rule.destroy_rule(given['uuid'])
        self.assertEqual([(10, ['deleted']), *before], self.revisions())
        self.assertEqual(
            order[1:],
            [rule.uuid for rule in db_rule.get_rules_of_revision(10)[1]],
        )

    def test_a_rule_that_comes_back_otherwise_or_later_is_another_one(self):
        given = values(priority=5)
        db_rule.create_rule(given)
        db_rule.destroy_rule(given['uuid'])
        db_rule.create_rule({**given, 'priority': 6})
        db_rule.destroy_rule(given['uuid'])
        db_rule.create_rule(values())
        db_rule.create_rule({**given, 'priority': 6})

        self.assertEqual(
            [
                (6, ['created']),
                (5, ['created']),
                (4, ['deleted']),
                (3, ['created']),
                (2, ['deleted']),
                (1, ['created']),
            ],
            self.revisions(),
        )

    def test_a_rule_that_went_before_another_is_not_put_back(self):
        given, other = values(), values()
        db_rule.create_rule(given)
        db_rule.create_rule(other)
        db_rule.destroy_rule(given['uuid'])
        db_rule.destroy_rule(other['uuid'])

        db_rule.create_rule(given)

        self.assertEqual([5, 4, 3, 2, 1], revisions())

    def test_rules_that_are_made_again_push_no_revision_out(self):
        origin = rule_set.ChangeOrigin(keep_revisions=3)
        given = values()
        for each in (given, values(), values()):
            db_rule.create_rule(each, origin)
        for _turn in range(5):
            db_rule.destroy_rule(given['uuid'], origin)
            db_rule.create_rule(given, origin)
        db_rule.create_rule(values(), origin)

        self.assertEqual(
            [14, 3, 2], [revision for revision, _changes in self.revisions()]
        )

    def test_before_the_first_change_there_was_no_rule(self):
        for keep in (5, 1):
            db_rule.create_rule(
                values(), rule_set.ChangeOrigin(keep_revisions=keep)
            )
            found, rules = db_rule.get_rules_of_revision(0)
            self.assertEqual((0, []), (found.revision, rules))
            self.assertIsNone(
                db_rule.describe_revision(found)['created_at'], repr(keep)
            )

    def test_old_revisions_go(self):
        origin = rule_set.ChangeOrigin(keep_revisions=3)
        row = db_rule.create_rule(values(), origin)
        for priority in range(1, 6):
            row = db_rule.update_rule(
                row.uuid, {'priority': priority}, row.revision, origin
            )

        self.assertEqual([6, 5, 4], revisions())
        with transaction.reader() as session:
            versions = (
                session.execute(
                    sa.select(models.RuleVersionRow.first_revision)
                )
                .scalars()
                .all()
            )
        self.assertEqual([4, 5, 6], sorted(versions))
        _revision, rules = db_rule.get_rules_of_revision(4)
        self.assertEqual(3, rules[0].fields['priority'])

    def test_many_rules_change_in_one_revision(self):
        kept, changed, gone = (db_rule.create_rule(values()) for _ in range(3))
        before = database.read_revision()
        made = values(position=10.0)

        after = db_rule.change_rules(
            before,
            [made],
            {
                changed.uuid: {'priority': 5},
                kept.uuid: {'position': 9.5},
            },
            [gone.uuid],
            rule_set.UNKNOWN,
        )

        self.assertEqual(before + 1, after)
        self.assertEqual(
            [
                (changed.uuid, after),
                (kept.uuid, kept.revision),
                (made['uuid'], after),
            ],
            [(row.uuid, row.revision) for row in db_rule.list_rules()],
        )
        self.assertIsNone(db_rule.get_rule_by_uuid(kept.uuid).updated_at)
        self.assertEqual(
            {
                changed.uuid: 'updated',
                kept.uuid: 'moved',
                gone.uuid: 'deleted',
                made['uuid']: 'created',
            },
            {
                each['uuid']: each['outcome']
                for each in db_rule.list_revisions(1)[0].changes
            },
        )

    def test_what_does_not_change_of_a_rule_stays(self):
        fields = values(
            description='d',
            scope='s',
            sensitive=True,
            phase='early',
            conditions=[{'op': 'x'}],
        )
        changed, moved = (
            db_rule.create_rule({**fields, 'uuid': uuidutils.generate_uuid()})
            for _ in range(2)
        )
        names = set(changed.keys()) - {'revision', 'updated_at'}

        db_rule.change_rules(
            database.read_revision(),
            [],
            {
                changed.uuid: {'priority': 5},
                moved.uuid: {'position': 0.5},
            },
            [],
            rule_set.UNKNOWN,
        )

        for before, new in (
            (changed, {'priority': 5}),
            (moved, {'position': 0.5}),
        ):
            after = db_rule.get_rule_by_uuid(before.uuid)
            self.assertEqual(
                {name: before[name] for name in names} | new,
                {name: after[name] for name in names},
            )
        self.assertIsNotNone(db_rule.get_rule_by_uuid(changed.uuid).updated_at)

    def test_a_value_of_another_type_is_a_change(self):
        row = db_rule.create_rule(values(actions=[{'op': 'x', 'args': [1]}]))

        db_rule.update_rule(
            row.uuid, {'actions': [{'op': 'x', 'args': [True]}]}, row.revision
        )

        self.assertIs(
            True, db_rule.get_rule_by_uuid(row.uuid).actions[0]['args'][0]
        )

    def test_many_rules_change_all_or_none(self):
        row = db_rule.create_rule(values())
        before = database.read_revision()

        self.assertRaises(
            exceptions.RuleAlreadyExists,
            db_rule.change_rules,
            before,
            [values(), values(uuid=row.uuid)],
            {row.uuid: {'priority': 5}},
            [],
            rule_set.UNKNOWN,
        )

        self.assertEqual(
            [(row.uuid, 0)],
            [(each.uuid, each.priority) for each in db_rule.list_rules()],
        )
        self.assertEqual([before], revisions())

    def test_two_new_rules_with_one_uuid_are_a_conflict(self):
        given = values()

        self.assertRaises(
            exceptions.RuleAlreadyExists,
            db_rule.change_rules,
            database.read_revision(),
            [given, given],
            {},
            [],
            rule_set.UNKNOWN,
        )

    def test_of_changes_at_once_on_one_revision_one_wins(self):
        before = database.read_revision()

        def change(number):
            rules = [values(priority=number) for _ in range(3)]
            try:
                return (
                    db_rule.change_rules(
                        before, rules, {}, [], rule_set.UNKNOWN
                    )
                    and rules
                )
            except exceptions.RuleSetChanged:
                return None

        with futures.ThreadPoolExecutor(8) as pool:
            won = [rules for rules in pool.map(change, range(8)) if rules]

        self.assertEqual(1, len(won))
        self.assertEqual(
            [rule['uuid'] for rule in won[0]],
            [row.uuid for row in db_rule.list_rules()],
        )
        self.assertEqual([before + 1], revisions())

    def test_a_refused_change_makes_no_new_revision(self):
        row = db_rule.create_rule(values())
        before = database.read_revision()

        self.assertRaises(
            exceptions.RuleAlreadyExists,
            db_rule.create_rule,
            values(uuid=row.uuid),
        )
        self.assertRaises(
            exceptions.Conflict,
            db_rule.update_rule,
            row.uuid,
            {'priority': 1},
            row.revision - 1,
        )

        self.assertEqual(before, database.read_revision())

    def test_fifty_rules_created_at_once_are_all_stored(self):
        given = [values() for _ in range(50)]
        before = database.read_revision()

        with futures.ThreadPoolExecutor(25) as pool:
            list(pool.map(db_rule.create_rule, given))

        self.assertEqual(
            {rule['uuid'] for rule in given},
            {row.uuid for row in db_rule.list_rules()},
        )
        self.assertEqual(before + 50, database.read_revision())

    def test_of_updates_at_once_on_one_view_one_wins(self):
        row = db_rule.create_rule(values())

        def update(priority):
            try:
                db_rule.update_rule(
                    row.uuid, {'priority': priority}, row.revision
                )
            except exceptions.Conflict:
                return None
            return priority

        with futures.ThreadPoolExecutor(10) as pool:
            won = [
                priority
                for priority in pool.map(update, range(1, 11))
                if priority
            ]

        self.assertEqual([db_rule.get_rule_by_uuid(row.uuid).priority], won)


class SQLiteRulesTestCase(RulesMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
