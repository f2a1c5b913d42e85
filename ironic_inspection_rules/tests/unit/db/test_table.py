# SPDX-License-Identifier: Apache-2.0

"""What the storage of tables must do, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

import sqlalchemy as sa

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.db import table as db_table
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

DEFINITION = {
    'key': 'n',
    'of': None,
    'types': {},
    'secret': ['pin'],
    'expect': {},
    'columns': ['n', 'pin'],
}
COUNTS = {'new': 1, 'changed': 2, 'gone': 3}


def pairs(count):
    """Return the pairs of key and row of a table."""
    return [
        [f'key-{number}', {'n': f'key-{number}', 'pin': '\N{SNOWMAN}'}]
        for number in range(count)
    ]


def put(given, definition=DEFINITION, keep=100, name='machines'):
    """Store a table, or remove it where the definition is None."""
    known = db_table.list_digests(name)
    chunks = [
        [chunk.digest, None if chunk.digest in known else chunk.text]
        for chunk in db_table.split(given)
    ]
    return db_rule.change_rules(
        database.read_revision(),
        [],
        {},
        [],
        rule_set.ChangeOrigin(keep_revisions=keep),
        [
            {
                'name': name,
                'definition': definition,
                'size': len(given),
                'chunks': chunks,
                'rows': COUNTS,
            }
        ],
    )


def rows(revision=None, name='machines'):
    """Read the rows of the table back."""
    digests = db_table.list_digests(name, revision)
    read = db_table.read_chunks(name, digests, revision)
    return [pair for digest in digests for pair in read[digest]]


def stored_chunks():
    return transaction.read(sa.select(models.TableChunkRow.digest))


class TablesMixin:
    """Tests that hold on every kind of database."""

    def test_a_table_reads_back_as_it_was(self):
        given = pairs(1000)
        self.assertEqual(1, put(given))
        self.assertEqual(given, rows())
        self.assertEqual(
            [
                {
                    'name': 'machines',
                    'revision': 1,
                    'size': 1000,
                    'definition': DEFINITION,
                }
            ],
            db_table.list_tables(),
        )

    def test_an_unchanged_table_costs_nothing(self):
        put(pairs(1000))
        before = stored_chunks()
        self.assertEqual(1, put(pairs(1000)))
        self.assertEqual(before, stored_chunks())

    def test_a_changed_row_makes_one_chunk(self):
        given = pairs(2000)
        put(given)
        before = len(stored_chunks())
        given[700] = [given[700][0], {'n': 'x'}]
        put(given)
        self.assertEqual(before + 1, len(stored_chunks()))
        self.assertEqual(given, rows())
        self.assertEqual(pairs(2000), rows(1))

    def test_rows_are_added_and_removed_anywhere(self):
        given = pairs(500)
        expected = {}
        for number, place in enumerate((0, 250, 249, 250, 500, 499), start=1):
            row = [f'new-{number}', {'n': f'new-{number}'}]
            given = [*given[:place], row, *given[place:]]
            put(given)
            expected[number] = given
            self.assertEqual(given, rows())
        put(given[100:])
        self.assertEqual(given[100:], rows())
        for revision, known in expected.items():
            self.assertEqual(known, rows(revision))

    def test_the_order_of_rows_is_kept(self):
        put(pairs(300))
        put(pairs(300)[::-1])
        self.assertEqual(pairs(300)[::-1], rows())
        self.assertEqual(pairs(300), rows(1))

    def test_rows_that_move_are_stored_again_as_they_are(self):
        put(pairs(1000))
        moved = [*pairs(1000)[600:], *pairs(1000)[:600]]
        put(moved)
        self.assertEqual(moved, rows())
        self.assertEqual(pairs(1000), rows(1))

    def test_a_row_may_be_added_at_one_place_again_and_again(self):
        given = pairs(200)
        for number in range(70):
            given = [*given[:100], [f'new-{number}', {}], *given[100:]]
            put(given)
            self.assertEqual(given, rows())

    def test_a_removed_table_is_kept_in_its_revisions(self):
        put(pairs(10))
        self.assertEqual(2, put([], None))
        self.assertEqual([], db_table.list_tables())
        self.assertEqual(pairs(10), rows(1))
        self.assertEqual(2, put([], None))

    def test_a_table_does_not_depend_on_another_with_the_same_rows(self):
        put(pairs(3), name='machines')
        put(pairs(3), name='orders')
        self.assertEqual(pairs(3), rows(name='orders'))

        put([], None, name='machines')

        self.assertEqual([], rows(name='machines'))
        self.assertEqual(pairs(3), rows(name='orders'))

    def test_what_no_revision_has_is_removed(self):
        put(pairs(10))
        put(pairs(11))
        put(pairs(12), keep=1)
        self.assertEqual(db_table.list_digests('machines'), stored_chunks())

    def test_a_table_may_be_empty(self):
        put([])
        self.assertEqual(([], 0), (rows(), db_table.list_tables()[0]['size']))

    def test_the_revision_says_what_changed(self):
        put(pairs(3))
        put(pairs(2))
        put([], None)
        self.assertEqual(
            [
                [{'table': 'machines', 'outcome': outcome, 'rows': COUNTS}]
                for outcome in ('deleted', 'updated', 'created')
            ],
            [row.changes for row in db_rule.list_revisions(9)],
        )

    def test_a_changed_definition_is_a_change(self):
        put(pairs(3))
        before = stored_chunks()
        self.assertEqual(2, put(pairs(3), {**DEFINITION, 'secret': []}))
        self.assertEqual(before, stored_chunks())


class TableTestCase(TablesMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())


class SplitTestCase(base.TestCase):
    def test_chunks_do_not_depend_on_what_is_before_them(self):
        whole = {chunk.digest for chunk in db_table.split(pairs(2000))}
        later = {chunk.digest for chunk in db_table.split(pairs(2000)[1:])}
        self.assertEqual((1, 1), (len(whole - later), len(later - whole)))

    def test_large_rows_are_few_in_a_chunk(self):
        given = [[key, {'x': 'x' * 10_000}] for key, _row in pairs(100)]
        for chunk in db_table.split(given):
            self.assertLess(len(chunk.text), 100_000)
