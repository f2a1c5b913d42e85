# SPDX-License-Identifier: Apache-2.0

"""What ramdisks posted, as rows and by content, on SQLite.

``tests/functional/db`` repeats it on the database servers.
"""

from concurrent import futures
import threading
from unittest import mock

from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

NODE = 'node-1'


def inventory(number=0):
    return {'cpu': {'flags': ['x' * 40] * 100}, 'number': number}


class UnprocessedMixin:
    """Tests that hold on every kind of database."""

    def setUp(self):
        super().setUp()
        self.queue = database_queue.DatabaseQueue(60.0)

    def rows(self, table):
        with transaction.reader() as session:
            return session.execute(
                sa.select(sa.func.count()).select_from(table)
            ).scalar()

    def counts(self):
        """How many data are in their rows, how many are by content."""
        content_of = models.InspectionDataRow.content
        with transaction.reader() as session:
            whole, stored = session.execute(
                sa.select(
                    sa.func.count(), sa.func.count(content_of)
                ).select_from(models.InspectionDataRow)
            ).one()
        return whole - stored, stored

    def post(self, number=0, node=NODE):
        return self.queue.put(
            node,
            queue_request.CONTINUE,
            inventory(number),
            {'logs': 'L' * 5000},
        )

    def reapply(self, number):
        self.queue.put(NODE, queue_request.REAPPLY, inventory(number), {})

    def work(self):
        """End the request that is due.

        :returns: it, as it was processed; None if none is due.
        """
        claimed = self.queue.get('w')
        if claimed is not None:
            self.queue.consume(self.queue.begin(claimed, state.PROCESSING))
        return claimed

    def read(self, node=NODE):
        found = unprocessed.get_unprocessed(node)
        return found and found['inventory']

    def age(self):
        with transaction.writer_without_session() as connection:
            for table in (models.ContentRow, models.SectionRow):
                connection.execute(
                    sa.update(table).values(
                        used_at=clock.now() - content.GRACE - 1
                    )
                )

    def sweep(self):
        self.age()
        while content.sweep():
            pass

    def test_data_of_an_ended_request_are_stored_by_content(self):
        self.post()
        before = unprocessed.get_unprocessed(NODE)
        self.work()

        self.assertEqual(0, unprocessed.store_by_content(9))
        self.assertEqual((0, 1), self.counts())
        self.assertEqual(before, unprocessed.get_unprocessed(NODE))

    def test_data_of_an_open_request_stay_where_they_are(self):
        self.post()

        self.assertEqual(0, unprocessed.store_by_content(9))
        self.assertEqual((1, 0), self.counts())
        self.assertEqual(inventory(), self.queue.get('w').inventory)

    def test_stored_data_are_not_looked_at_again(self):
        self.post()
        self.work()
        unprocessed.store_by_content(9)

        self.assertEqual([], unprocessed._list_not_yet_moved(0))

    def test_data_are_read_by_the_number_that_a_request_has(self):
        self.post()
        with transaction.reader() as session:
            number = session.execute(
                sa.select(models.RequestRow.unprocessed_id)
            ).scalar_one()
        before = unprocessed.get(number)
        self.work()
        unprocessed.store_by_content(9)

        self.assertEqual(inventory(), before['inventory'])
        self.assertEqual(before, unprocessed.get(number))
        self.assertIsNone(unprocessed.get(number + 1))

    def test_equal_machines_share_what_is_stored(self):
        for number in range(3):
            self.post(node=f'node-{number}')
            self.work()
        unprocessed.store_by_content(9)

        self.assertEqual((0, 3), self.counts())
        self.assertEqual(1, self.rows(models.ContentRow))

    def test_stored_data_stay_however_old_they_are(self):
        self.post()
        self.work()
        unprocessed.store_by_content(9)
        self.sweep()

        self.assertEqual(inventory(), self.read())

    def test_stored_data_are_reapplied(self):
        self.post()
        self.work()
        unprocessed.store_by_content(9)
        self.queue.put(NODE, queue_request.REAPPLY)

        self.assertEqual(inventory(), self.work().inventory)
        unprocessed.store_by_content(9)
        self.assertEqual((0, 1), self.counts())
        self.assertEqual(inventory(), self.read())

    def test_what_was_given_for_one_reapplication_is_removed(self):
        self.post()
        self.work()
        self.reapply(5)
        self.work()
        unprocessed.store_by_content(9)

        self.assertEqual((0, 1), self.counts())
        self.assertEqual(inventory(), self.read())

    def test_requests_that_need_no_data_get_none(self):
        self.post()
        self.work()
        for event in (queue_request.POWER_ON, queue_request.TIMEOUT):
            self.queue.put(NODE, event)
            taken = self.queue.get('w') or self.queue.get_power_on('w')
            self.assertEqual({}, taken.inventory)
            self.queue.consume(self.queue.begin(taken, state.PROCESSING))

    def test_posted_data_take_the_place_of_stored_ones(self):
        for number in (1, 2):
            self.post(number)
            self.assertEqual(inventory(number), self.read())
            self.work()
            unprocessed.store_by_content(9)
        self.assertEqual(inventory(2), self.read())
        self.sweep()

        self.assertEqual((0, 1), self.counts())
        self.assertEqual(1, self.rows(models.ContentRow))

    def store_while(self, happens):
        """Something happens between the copy and the removal of data."""
        store = content.store

        def store_slowly(document):
            digest = store(document)
            happens()
            return digest

        with mock.patch.object(content, 'store', store_slowly):
            unprocessed.store_by_content(9)

    def test_a_lock_conflict_repeats_one_query_only(self):
        for number in range(3):
            self.post(number, f'node-{number}')
        reader = transaction.reader
        failures = iter([None, db_exc.DBDeadlock()])
        calls = []

        def read():
            calls.append(1)
            failure = next(failures, None)
            if failure is not None:
                raise failure
            return reader()

        with (
            mock.patch.object(unprocessed, 'CHUNK', 1),
            mock.patch.object(transaction, 'reader', read),
        ):
            self.assertEqual(0, unprocessed.store_by_content(9))
        # Three rows, the end, and the second row once more.
        self.assertEqual(5, len(calls))

    def test_data_that_come_meanwhile_stay_where_they_are(self):
        self.post()
        self.work()
        self.store_while(lambda: self.post(1))

        self.assertEqual((1, 0), self.counts())
        self.assertEqual(inventory(1), self.work().inventory)

    def test_data_that_come_and_are_processed_meanwhile_stay(self):
        self.post()
        self.work()
        self.store_while(lambda: (self.post(1), self.work()))

        self.assertEqual((1, 0), self.counts())
        self.assertEqual(inventory(1), self.read())

    def store_too_late(self):
        """Return a function that stores what was read and is gone."""
        looked_at = unprocessed._list_not_yet_moved(0)
        with transaction.writer() as session:
            session.execute(sa.delete(models.InspectionDataRow))

        def store():
            with mock.patch.object(
                unprocessed, '_list_not_yet_moved', lambda after: looked_at
            ):
                unprocessed.store_by_content(9)

        return store

    def test_data_that_come_in_the_place_of_a_copy_stay(self):
        self.reapply(1)
        self.work()
        store = self.store_too_late()
        self.post(2)
        self.work()
        store()

        self.assertEqual((1, 0), self.counts())
        self.assertEqual(inventory(2), self.read())

    def test_a_copy_in_use_that_comes_in_the_place_of_another_stays(self):
        self.reapply(1)
        self.work()
        store = self.store_too_late()
        self.reapply(2)
        store()

        self.assertEqual(inventory(2), self.work().inventory)

    def test_a_copy_that_comes_in_the_place_of_data_is_not_stored(self):
        self.post()
        self.work()
        store = self.store_too_late()
        self.reapply(5)
        self.work()
        store()

        self.assertEqual((1, 0), self.counts())

    def test_stored_data_go_with_their_node(self):
        for node in ('a', 'b'):
            self.post(node=node)
            self.work()
        unprocessed.store_by_content(9)
        with transaction.writer() as session:
            session.execute(sa.delete(models.RequestRow))
        self.assertEqual(['a', 'b'], unprocessed.list_nodes('', 9))
        unprocessed.destroy_nodes(['a'])
        self.sweep()

        self.assertIsNone(self.read('a'))
        self.assertEqual(inventory(), self.read('b'))
        self.assertEqual(['b'], unprocessed.list_nodes('', 9))

    def test_a_round_stores_a_bounded_number(self):
        for number in range(3):
            self.post(node=f'node-{number}')
            self.work()

        after, left = 0, []
        for _round in range(2):
            after = unprocessed.store_by_content(2, after)
            left.append(self.counts())
        self.assertEqual([(1, 2), (0, 3)], left)
        self.assertEqual(0, after)

    def test_a_round_looks_at_a_bounded_number(self):
        for number in range(6):
            self.post(node=f'node-{number}')
        self.queue.abort(self.queue.find_open('node-4').uuid, 'enough')

        after, left = 0, []
        with (
            mock.patch.object(unprocessed, '_MOST_CHUNKS', 2),
            mock.patch.object(unprocessed, 'CHUNK', 1),
        ):
            for _round in range(4):
                after = unprocessed.store_by_content(9, after)
                left.append((self.counts(), bool(after)))
        self.assertEqual(
            [((6, 0), True), ((6, 0), True), ((5, 1), True), ((5, 1), False)],
            left,
        )

    def post_and_work(self, number):
        node = f'node-{number}'
        for turn in range(8):
            self.post(turn % 3, node)
            self.assertEqual(inventory(turn % 3), self.read(node))
            while self.queue.find_open(node):
                self.work()
            self.assertEqual(inventory(turn % 3), self.read(node))

    def store_until(self, done, in_use):
        while not done.wait(0.01):
            with in_use:
                unprocessed.store_by_content(9)

    def sweep_until(self, done, in_use):
        while not done.wait(0.01):
            # What is in use now never ages that much.
            with in_use[0], in_use[1]:
                self.age()
            content.sweep()

    def test_ramdisks_leaders_and_sweepers_do_not_disturb_one_another(self):
        done, in_use = threading.Event(), [threading.Lock(), threading.Lock()]
        with futures.ThreadPoolExecutor(6) as pool:
            others = [
                pool.submit(self.sweep_until, done, in_use),
                *(
                    pool.submit(self.store_until, done, lock)
                    for lock in in_use
                ),
            ]
            problems = [
                each.exception()
                for each in [
                    pool.submit(self.post_and_work, number)
                    for number in range(3)
                ]
            ]
            done.set()
            problems += [each.exception() for each in others]
        while unprocessed.store_by_content(9):
            pass
        self.sweep()

        self.assertEqual([None] * 6, problems)
        self.assertEqual((0, 3), self.counts())
        self.assertEqual(
            [inventory(1)] * 3,
            [self.read(f'node-{number}') for number in range(3)],
        )
        self.assertEqual(1, self.rows(models.ContentRow))


class UnprocessedTestCase(UnprocessedMixin, base.TestCase):
    def setUp(self):
        self.useFixture(database.Database())
        super().setUp()
