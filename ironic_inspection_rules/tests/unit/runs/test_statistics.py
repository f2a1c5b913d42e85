# SPDX-License-Identifier: Apache-2.0

"""What is counted of rules until it is written."""

import dataclasses
import threading

import fixtures
from oslo_db import exception as db_exc

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.runs import statistics
from ironic_inspection_rules.tests.unit import base

NEVER = 3600
PATIENCE = 60


def outcome(*matched, audited=(), **seconds):
    """The outcome of a phase: rules by their UUID."""

    def traces(uuids):
        return tuple(
            trace.RuleTrace(
                model.Rule(uuid=uuid, description='the rule', actions=()), True
            )
            for uuid in uuids
        )

    return runner.PhaseOutcome(
        traces(matched), audited=traces(audited), timings=seconds
    )


def failure(uuid, description=None):
    """The error of a rule that failed the inspection."""
    label = uuid
    if description:
        label = f'{uuid} ({description})'
    return exceptions.RuleError(uuid, label, 'fail', None)


class RuleCounterTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.written = []
        self.error = None
        self.counter = self.make(NEVER)

    def make(self, period):
        return statistics.RuleCounter(self.write, period)

    def write(self, rows):
        if self.error:
            raise self.error
        self.written.append({row['rule_uuid']: row for row in rows})

    def test_phases_are_summed_and_written_at_once(self):
        self.counter.count(outcome('a', a=1.0, b=0.5), 'one')
        self.counter.count(outcome('b', a=1.0, b=0.5), 'two')
        self.assertEqual([], self.written)

        self.counter.flush()
        (rows,) = self.written
        self.assertEqual(
            {'a': (2, 1, 2.0, 'one'), 'b': (2, 1, 1.0, 'two')},
            {
                uuid: (
                    row['runs'],
                    row['matched'],
                    row['seconds'],
                    row['last_matched_node'],
                )
                for uuid, row in rows.items()
            },
        )

    def test_a_rule_that_did_something_has_its_name(self):
        self.counter.count(outcome('a', a=1.0, b=0.5), 'one')
        self.counter.flush()
        self.counter.count(outcome(c=1.0), 'one', failure('c', 'Fails'))
        self.counter.flush()
        first, second = self.written
        self.assertEqual(
            ('a (the rule)', 'b', 'c (Fails)'),
            tuple(row['label'] for row in (*first.values(), *second.values())),
        )

    def test_only_what_happened_is_counted(self):
        self.counter.count(
            outcome('b', audited='c', a=1.0, b=1.0, c=1.0), 'one'
        )
        self.counter.count(outcome(a=1.0, b=1.0), 'two', failure('b'))
        self.counter.count(outcome(a=1.0), 'two', failure('other'))
        self.counter.count(outcome(a=1.0), 'two', OSError('gone'))
        self.counter.flush()
        (rows,) = self.written
        self.assertEqual(
            {
                'a': (4, 0, 0, 0, None),
                'b': (2, 1, 1, 0, 'one'),
                'c': (1, 1, 0, 1, 'one'),
            },
            {
                uuid: tuple(
                    row[name]
                    for name in (
                        'runs',
                        'matched',
                        'failed',
                        'audited',
                        'last_matched_node',
                    )
                )
                for uuid, row in rows.items()
            },
        )
        self.assertEqual(
            [True, False, False],
            [rows[uuid]['last_matched_at'] is None for uuid in 'abc'],
        )

    def test_an_audit_that_failed_is_counted_as_failed(self):
        told = outcome(audited='a', a=1.0)
        self.counter.count(
            dataclasses.replace(
                told,
                audited=(told.audited[0]._replace(error='no such field'),),
            ),
            'one',
        )
        self.counter.flush()
        self.assertEqual(
            (1, 1),
            tuple(
                self.written[0]['a'][name] for name in ('failed', 'would_fail')
            ),
        )

    def test_an_audit_that_did_not_match_is_not_counted_as_matched(self):
        told = outcome(audited='a', a=1.0)
        self.counter.count(
            dataclasses.replace(
                told,
                audited=(
                    told.audited[0]._replace(matched=False, error='no field'),
                ),
            ),
            'one',
        )
        self.counter.flush()
        self.assertEqual(
            (1, 1, 0, 0, 'a (the rule)'),
            tuple(
                self.written[0]['a'][name]
                for name in (
                    'failed',
                    'would_fail',
                    'matched',
                    'audited',
                    'label',
                )
            ),
        )

    def test_a_timer_that_cannot_start_fails_nothing_and_is_tried_again(self):
        self.counter = self.make(0)
        written = threading.Event()
        write = self.counter._write

        def note(rows):
            write(rows)
            written.set()

        self.counter._write = note

        def fail(_thread):
            raise RuntimeError("can't start new thread")

        with fixtures.MonkeyPatch('threading.Thread.start', fail):
            self.counter.count(outcome('a', a=1.0), 'one')
        self.assertEqual([], self.written)

        self.counter.count(outcome('a', a=1.0), 'one')
        self.assertTrue(written.wait(PATIENCE))
        self.assertEqual(2, self.written[0]['a']['runs'])

    def test_what_is_written_later_begins_anew(self):
        for _each in range(2):
            self.counter.count(outcome('a', a=1.0), 'one')
            self.counter.flush()
        self.assertEqual(
            [(1, 1)] * 2,
            [
                (rows['a']['runs'], rows['a']['matched'])
                for rows in self.written
            ],
        )

    def test_nothing_is_written_twice_or_without_need(self):
        self.counter.flush()
        self.counter.count(outcome(a=1.0), 'one')
        self.counter.flush()
        self.counter.flush()
        self.assertEqual(1, len(self.written))

    def test_what_could_not_be_written_is_written_with_the_next(self):
        self.counter.count(outcome('a', a=1.0), 'one')
        self.error = OSError('gone')
        self.counter.flush()
        self.counter.count(outcome('b', audited='a', a=1.0, b=1.0), 'two')
        self.error = None
        self.counter.flush()

        (rows,) = self.written
        self.assertEqual(
            (2, 2, 1, 'two'),
            tuple(
                rows['a'][name]
                for name in ('runs', 'matched', 'audited', 'last_matched_node')
            ),
        )
        self.assertEqual((1, 1), (rows['b']['runs'], rows['b']['matched']))

    def test_a_rule_keeps_its_name_when_it_does_nothing_meanwhile(self):
        def count_and_fail(rows):
            self.counter.count(outcome(a=1.0), 'two')
            raise OSError('gone')

        self.counter = statistics.RuleCounter(count_and_fail, NEVER)
        self.counter.count(outcome('a', a=1.0), 'one')
        self.counter.flush()
        self.counter._write = self.write
        self.counter.flush()

        (rows,) = self.written
        self.assertEqual(
            (2, 1, 'a (the rule)'),
            tuple(rows['a'][name] for name in ('runs', 'matched', 'label')),
        )

    def test_the_log_has_the_place_of_what_is_no_error_of_the_database(self):
        for error, is_shown in (
            (db_exc.DBError(), False),
            (KeyError('gone'), True),
        ):
            logs = self.useFixture(fixtures.FakeLogger())
            self.counter.count(outcome('a', a=1.0), 'one')
            self.error = error
            self.counter.flush()
            self.assertIn('not written yet', logs.output)
            self.assertIs(is_shown, 'Traceback' in logs.output)

    def test_what_is_counted_while_writing_fails_is_added(self):
        def write(rows):
            counter.count(outcome(a=1.0), None)
            counter._write = self.write
            raise OSError('gone')

        counter = statistics.RuleCounter(write, NEVER)
        counter.count(outcome('a', a=1.0), 'one')
        counter.flush()
        counter.flush()

        (rows,) = self.written
        self.assertEqual(
            (2, 1, 'one'),
            tuple(
                rows['a'][name]
                for name in ('runs', 'matched', 'last_matched_node')
            ),
        )

    def test_it_is_written_by_itself(self):
        done = threading.Event()
        counter = statistics.RuleCounter(lambda rows: done.set(), 0.01)
        counter.count(outcome('a', a=1.0), 'one')
        self.assertTrue(done.wait(PATIENCE))

    def test_no_count_of_many_threads_is_lost(self):
        def count():
            for _each in range(100):
                self.counter.count(outcome('a', a=1.0), 'one')
                self.counter.flush()

        threads = [threading.Thread(target=count) for _each in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(400, sum(rows['a']['runs'] for rows in self.written))
