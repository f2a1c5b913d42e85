# SPDX-License-Identifier: Apache-2.0

"""What is kept of a phase, and what is not."""

import json

from ironic_inspection_rules.engine import journal
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.tests.unit import base

LONG = 'x' * 5000
CUT = 'x' * 10 + record.ELLIPSIS


class RecordTestCase(base.TestCase):

    def record(self, *changes, reason=None, error=None, **fields):
        """Make the record of one rule that matched."""
        rule = validation.parse({
            'uuid': '11111111-1111-4111-8111-111111111111',
            'actions': [{'op': 'log', 'args': ['x']}], **fields},
            registry.installed())
        told = trace.RuleTrace(
            rule, True, (trace.ConditionTrace('eq', True, reason),),
            (trace.ActionTrace('set-attribute', changes),), error)
        audits = fields.get('mode') == 'audit'
        return record.of_phase(runner.Outcome(
            () if audits else (told,), audited=(told,) if audits else ()), 1)

    def test_secrets_are_hidden_that_rules_may_see(self):
        made = self.record(
            journal.Change('node', 'replace', '/driver_info/a_password',
                           'new', 'old'),
            journal.Change('node', 'replace', '/driver_info',
                           {'a_password': 'new', 'a': 1},
                           {'a_password': 'old'}))
        password, mapping = made['rules'][0]['changes']
        self.assertEqual([masking.MASK] * 2,
                         [password['before'], password['after']])
        self.assertEqual({'a_password': masking.MASK}, mapping['before'])
        self.assertEqual({'a_password': masking.MASK, 'a': 1},
                         mapping['after'])

    def test_what_is_too_much_is_left_out(self):
        self.patch(record, 'LONGEST_RECORD', 26)
        made = self.record(*[
            journal.Change('node', 'add', f'/extra/{name}', 'x' * 8)
            for name in 'abcd'])
        self.assertEqual(['/extra/a', '/extra/b'],
                         [change['path'] for change
                          in made['rules'][0]['changes']])
        self.assertEqual(2, made['left_out'])

    def test_paths_take_room_and_none_is_cut(self):
        self.patch(record, 'LONGEST_RECORD', 100)
        changes = [journal.Change('node', 'remove', path) for path in (
            '/' + 'x' * 60, '/' + 'y' * 60, '/' + 'z' * 30)]
        made = self.record(*changes)
        self.assertEqual([changes[0].path, changes[2].path],
                         [change['path'] for change
                          in made['rules'][0]['changes']])
        self.assertEqual(1, made['left_out'])

    def test_places_of_a_sensitive_rule_take_room(self):
        self.patch(record, 'LONGEST_RECORD', 100)
        changes = [journal.Change('node', 'add', '/******',
                                  place=('extra', name * 60))
                   for name in 'ab']
        made = self.record(*changes, sensitive=True)
        self.assertNotIn(record.PLACES, made['rules'][0])
        self.assertEqual(1, made['left_out'])

    def test_of_a_sensitive_rule_all_places_are_kept_or_none(self):
        changes = [journal.Change('node', 'add', f'/extra/{name}',
                                  place=('extra', name)) for name in 'abcd']
        for most, places in (
                (4, [['node', f'/extra/{name}'] for name in 'abcd']),
                (3, None)):
            self.patch(record, 'MOST_CHANGES', most)
            made = self.record(*changes, sensitive=True)
            self.assertEqual(places, made['rules'][0].get(record.PLACES))
            self.assertEqual(4 - most, made.get('left_out', 0))

    def test_it_tells_whether_changes_were_saved(self):
        self.assertIs(True, self.record()['saved'])
        for saved in (True, False):
            self.assertIs(saved, record.of_phase(
                runner.Outcome(()), 1, saved)['saved'])

    def test_no_more_changes_than_so_many(self):
        self.patch(record, 'MOST_CHANGES', 1)
        change = journal.Change('node', 'add', '/extra/a', 1)
        self.assertEqual(2, self.record(change, change, change)['left_out'])

    def test_ten_thousand_changes_are_kept(self):
        change = journal.Change('node', 'add', '/extra/a', 1)
        self.assertNotIn('left_out', self.record(*[change] * 10_000))
        self.assertEqual(1, self.record(*[change] * 10_001)['left_out'])

    def test_what_was_not_there_takes_no_room(self):
        self.patch(record, 'LONGEST_RECORD', 26)
        made = self.record(*[
            journal.Change('node', op, '/extra/a', value, before)
            for op, value, before in (('add', 'x' * 9, None),
                                      ('remove', None, 'x' * 9),
                                      ('add', 'x', None))])
        self.assertEqual(
            [(None, 'x' * 9), ('x' * 9, None)],
            [(change['before'], change['after'])
             for change in made['rules'][0]['changes']])
        self.assertEqual(1, made['left_out'])

    def test_it_tells_of_an_audit_whether_it_matched(self):
        audited, = self.record(mode='audit')['audit']
        self.assertIs(True, audited['matched'])
        self.assertTrue(record.was_matched('audit', audited))
        self.assertFalse(record.was_matched('audit', {
            **audited, 'matched': False}))
        # An older release recorded what it would have done, or nothing.
        for actions, matched in ((['log'], True), ([], False)):
            self.assertIs(matched, record.was_matched(
                'audit', {'uuid': 'a', 'actions': actions}))

    def test_reasons_and_errors_are_cut(self):
        condition, = self.record(reason=LONG)['rules'][0]['conditions']
        audited, = self.record(error=LONG, mode='audit')['audit']
        for text in (condition['reason'], audited['error']):
            self.assertEqual(record.shorten_text(LONG), text)
            self.assertLess(len(text), len(LONG))


class ShortenTestCase(base.TestCase):

    def test_what_fits_is_kept_as_it_is(self):
        for value in ('x' * 10, [1, 2, 3], {'a': 'b'}):
            self.assertEqual(value, record.shorten(value, 10)[0])

    def test_it_tells_how_much_it_is(self):
        self.assertEqual(('x' * 9, 9), record.shorten('x' * 9, 10))
        self.assertEqual(([1, 2], 6), record.shorten([1, 2], 10))

    def test_text_that_is_too_long_is_cut(self):
        self.assertEqual((CUT, 10), record.shorten('x' * 11, 10))

    def test_data_that_are_too_long_become_text(self):
        shortened, length = record.shorten({'a': 'b' * 100}, 10)
        self.assertEqual(('{"a": "bbb' + record.ELLIPSIS, 10),
                         (shortened, length))

    def test_numbers_are_kept_however_short_the_limit_is(self):
        for value in (None, True, 10 ** 18, 0.1):
            self.assertEqual(value, record.shorten(value, 1)[0])

    def test_digits_of_long_numbers_are_counted(self):
        self.assertEqual((10 ** 20, 21), record.shorten(10 ** 20))
        self.assertEqual(('1000000000' + record.ELLIPSIS, 10),
                         record.shorten(10 ** 4000, 10))

    def test_characters_are_counted_and_not_their_escapes(self):
        self.assertEqual(['\N{SNOWMAN}' * 6],
                         record.shorten(['\N{SNOWMAN}' * 6], 10)[0])

    def test_a_value_is_whole_or_ends_where_it_is_cut(self):
        for value in ('x' * 10, {'a': 'b'}, {'a' * 9: 1}, ['a', 'b', 'c'],
                      [[[[]]]], {'a': {'b': {}}}, [None] * 9, [10 ** 30],
                      ['x' * 5, {'y' * 5: ['z' * 5]}]):
            text = json.dumps(value) if isinstance(value, list | dict
                                                   ) else value
            for longest in range(1, 60):
                kept, length = record.shorten(value, longest)
                whole = len(text) <= longest
                self.assertEqual(len(text) if whole else longest, length)
                self.assertEqual(
                    value if whole else text[:longest] + record.ELLIPSIS,
                    kept)

    def test_no_more_is_looked_at_than_is_kept(self):
        class Items(list):
            asked = 0

            def __iter__(self):
                for item in super().__iter__():
                    self.asked += 1
                    yield item

        items = Items(range(1000))
        record.shorten(items, 30)
        self.assertLess(items.asked, 30)

    def test_messages_are_cut(self):
        longest = 'x' * record.LONGEST_TEXT
        self.assertIsNone(record.shorten_text(None))
        self.assertEqual(longest, record.shorten_text(longest))
        self.assertEqual(longest + record.ELLIPSIS,
                         record.shorten_text(longest + 'x'))
