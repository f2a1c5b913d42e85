# SPDX-License-Identifier: Apache-2.0

"""Stored tables as a process has them."""

import json

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.rule_set import table_store
from ironic_inspection_rules.tests.unit import base

DEFINITION = {
    'key': 'serial',
    'of': None,
    'types': {},
    'secret': [],
    'expect': {},
    'columns': ['serial', 'rack'],
}


def pairs(*serials):
    return [
        [serial, {'serial': serial, 'rack': 'rack 1'}] for serial in serials
    ]


class Source:
    """A database with one table.

    :ivar chunks: pairs of key and row by digest.
    :ivar read: the digests that were read.
    """

    def __init__(self):
        self.chunks = {'a': pairs('a1', 'a2'), 'b': pairs('b1')}
        self.revision = 1
        self.read = []

    def list_plain(self, _context, revision=None):
        return [
            {
                'name': 'machines',
                'revision': revision or self.revision,
                'definition': DEFINITION,
            }
        ]

    def list_digests(self, _context, _name, _revision=None):
        return list(self.chunks)

    def read_chunks(self, _context, _name, digests, _revision=None):
        self.read += digests
        # Each answer of a database has texts of its own.
        return {
            digest: json.loads(json.dumps(self.chunks[digest]))
            for digest in digests
            if digest in self.chunks
        }


class TableStoreTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.source = Source()
        self.store = table_store.TableStore(self.source)

    def refresh(self):
        return self.store.refresh(None)['machines']

    def test_rows_are_read_in_their_order(self):
        self.assertEqual(['a1', 'a2', 'b1'], list(self.refresh().table.keys))
        self.assertEqual(
            [('b1', {'serial': 'b1', 'rack': 'rack 1'})],
            self.refresh().pairs('b'),
        )

    def test_only_new_chunks_are_read(self):
        before = self.refresh()
        self.source.chunks = {'b': self.source.chunks['b'], 'c': pairs('c1')}
        self.source.revision = 2
        after = self.refresh()
        self.assertEqual(['a', 'b', 'c'], self.source.read)
        self.assertEqual(['b1', 'c1'], list(after.table.keys))
        self.assertIs(before.table.row('b1'), after.table.row('b1'))

    def test_equal_values_are_one(self):
        racks = {id(row['rack']) for row in self.refresh().table.rows}
        self.assertEqual(1, len(racks))

    def test_rows_that_another_process_replaced_are_a_conflict(self):
        self.source.list_digests = lambda *_asked: ['a', 'z']
        self.assertRaises(exceptions.Conflict, self.refresh)
