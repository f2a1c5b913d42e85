# SPDX-License-Identifier: Apache-2.0

"""Documents that are stored by content, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

import contextlib
import threading
import types

import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.db import test_run


def document(number=0, size=3000):
    """A document with two sections, one of them its own."""
    return {
        'inventory': {
            'cpu': {'flags': ['x' * 40] * (size // 40)},
            'disks': [
                {'serial': f'{number} {place}', 'model': 'm' * 100}
                for place in range(size // 100)
            ],
        },
        'plugin_data': {'number': number},
    }


class ContentMixin:
    """Tests that hold on every kind of database."""

    def rows(self, table):
        with transaction.reader() as session:
            return session.execute(
                sa.select(sa.func.count()).select_from(table)
            ).scalar()

    def age(self, seconds=content.GRACE + 1):
        with transaction.writer_without_session() as connection:
            for table in (models.ContentRow, models.SectionRow):
                connection.execute(
                    sa.update(table).values(used_at=clock.now() - seconds)
                )

    def sweep(self):
        while content.sweep():
            pass

    def load(self, digest):
        return content.load([digest]).get(digest)

    def test_what_was_stored_is_read(self):
        documents = [
            document(),
            {},
            {
                'a': [
                    1,
                    None,
                    True,
                    1.5,
                    'ü\N{GRINNING FACE}\0',
                    float('1e300'),
                ]
            },
            {'\0': {'\0': 'x' * 2000}, 'b': {'\0': 3}},
            {'long': 'x' * 20000, 'list': [['y' * 2000] * 9]},
        ]
        digests = [content.store(each) for each in documents]

        self.assertEqual(documents, list(map(self.load, digests)))

    def test_the_order_of_names_is_kept(self):
        there = {'b': 1, 'a': {'z': 'x' * 2000, 'y': 2}}

        found = self.load(content.store(there))

        self.assertEqual(['b', 'a', 'z', 'y'], [*found, *found['a']])

    def test_the_same_is_stored_once(self):
        first = content.store(document())
        rows = [
            self.rows(table)
            for table in (
                models.ContentRow,
                models.SectionRow,
                models.ContentSectionRow,
            )
        ]

        self.assertEqual(first, content.store(document()))
        self.assertEqual(
            rows,
            [
                self.rows(table)
                for table in (
                    models.ContentRow,
                    models.SectionRow,
                    models.ContentSectionRow,
                )
            ],
        )

    def test_documents_share_the_sections_that_are_the_same(self):
        content.store(document(1))
        sections = self.rows(models.SectionRow)
        content.store(document(2))

        self.assertEqual(sections + 1, self.rows(models.SectionRow))

    def test_what_nobody_names_goes_when_it_is_old(self):
        digest = content.store(document())
        self.sweep()
        self.assertIsNotNone(self.load(digest), 'somebody may be about to')
        self.age()
        self.sweep()

        self.assertEqual(
            [0, 0, 0],
            [
                self.rows(table)
                for table in (
                    models.ContentRow,
                    models.SectionRow,
                    models.ContentSectionRow,
                )
            ],
        )

    def test_what_a_run_names_stays_with_its_sections(self):
        kept, gone = (content.store(document(each)) for each in (1, 2))
        database.record_run(test_run.values(content=kept), 1)
        self.age()
        self.sweep()

        self.assertEqual(document(1), self.load(kept))
        self.assertIsNone(self.load(gone))

    def test_what_is_used_again_does_not_go(self):
        digest = content.store(document())
        self.age()
        content.store(document())
        self.sweep()

        self.assertEqual(document(), self.load(digest))

    def test_what_another_document_has_is_used_again(self):
        content.store(document(1))
        self.age()
        digest = content.store(document(2))
        self.sweep()

        self.assertEqual(document(2), self.load(digest))

    def test_writers_and_sweepers_do_not_disturb_one_another(self):
        problems = []

        def work(number):
            try:
                for turn in range(8):
                    with unnamed[number]:
                        name = content.store(document(turn % 3))
                        database.record_run(
                            test_run.values(
                                node_uuid=f'node {number}', content=name
                            ),
                            1,
                        )
                    if self.load(name) != document(turn % 3):
                        problems.append(f'{number}: {turn} is not there')
            except Exception as exc:
                problems.append(repr(exc))

        def sweep():
            try:
                while not done.wait(0.01):
                    with contextlib.ExitStack() as stack:
                        # What is in use now never ages that much.
                        for lock in unnamed:
                            stack.enter_context(lock)
                        self.age()
                    content.sweep()
            except Exception as exc:
                problems.append(repr(exc))

        done = threading.Event()
        unnamed = [threading.Lock() for _ in range(3)]
        workers = [
            threading.Thread(target=work, args=(number,))
            for number in range(3)
        ]
        sweeper = threading.Thread(target=sweep)
        for each in (*workers, sweeper):
            each.start()
        for each in workers:
            each.join()
        done.set()
        sweeper.join()
        self.age()
        self.sweep()

        self.assertEqual([], problems)
        self.assertEqual(1, self.rows(models.ContentRow))


class ContentTestCase(ContentMixin, base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())

    def test_what_a_sweep_removes_before_the_mark_is_missing(self):
        digest = content.store(document())
        self.age()

        with transaction.writer_without_session() as connection:

            def execute(statement):
                if statement.is_update:
                    connection.execute(sa.delete(models.ContentRow))
                return connection.execute(statement)

            missing = content._mark_as_used(
                types.SimpleNamespace(execute=execute),
                models.ContentRow.__table__,
                [digest],
            )

        self.assertEqual([digest], missing)
