# SPDX-License-Identifier: Apache-2.0

"""A sensitive rule can be written, but not read."""

import types

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.tests.unit import base

OPEN = types.SimpleNamespace(sensitive=False)
SENSITIVE = types.SimpleNamespace(sensitive=True)
CONTENT = {'conditions': [1], 'actions': [2], 'vars': {'a': 3}}
NOTHING = dict.fromkeys(CONTENT)


def stored(sensitive=False, **fields):
    return {
        'uuid': 'u',
        **model.DEFAULTS,
        **CONTENT,
        'sensitive': sensitive,
        **fields,
    }


class ShownTestCase(base.TestCase):
    def test_content_is_null_or_what_stands_for_it(self):
        self.assertEqual(CONTENT, stored_rule.content(OPEN, CONTENT))
        self.assertEqual(NOTHING, stored_rule.content(SENSITIVE, CONTENT))
        self.assertEqual(
            {'actions': []},
            stored_rule.content(SENSITIVE, {'actions': [2]}, instead=[]),
        )

    def test_what_is_secret_in_any_revision_is_so_in_all(self):
        rule = stored(secret=True)
        self.assertEqual({**rule, **NOTHING}, stored_rule.of_revision(rule))
        self.assertTrue(stored_rule.mark_if_ever_sensitive(rule)['sensitive'])
        rule = stored(secret=False)
        self.assertEqual(rule, stored_rule.of_revision(rule))
        self.assertFalse(stored_rule.mark_if_ever_sensitive(rule)['sensitive'])

    def test_a_plan_tells_that_content_is_new_but_not_which(self):
        fields = stored(True, priority=1)
        for either in ([fields, {}], [stored(), fields]):
            shown = stored_rule.disclose_side(fields, either, ['actions'])
            self.assertEqual(
                {
                    **fields,
                    **dict.fromkeys(CONTENT, '(withheld)'),
                    'actions': '(withheld, new)',
                },
                shown,
            )
        self.assertEqual(
            stored(), stored_rule.disclose_side(stored(), [stored()])
        )

    def test_which_parts_of_content_differ_is_withheld(self):
        names = ['priority', 'vars']
        self.assertEqual(
            {'priority', *CONTENT},
            stored_rule.disclose_differing(stored(True), names),
        )
        self.assertEqual(
            {'priority'},
            stored_rule.disclose_differing(stored(True), ['priority']),
        )
        for before in (None, stored()):
            self.assertEqual(
                set(names), stored_rule.disclose_differing(before, names)
            )


class ChangedTestCase(base.TestCase):
    def test_what_was_sensitive_once_is_restored_so(self):
        rules = [
            stored(secret=secret, uuid=uuid)
            for uuid, secret in (('a', True), ('b', False), ('c', False))
        ]
        present = [stored(uuid='b'), stored(True, uuid='c')]
        self.assertEqual(
            [True, False, True],
            [
                rule['sensitive']
                for rule in stored_rule.keep_restored_sensitive(rules, present)
            ],
        )
        self.assertEqual(
            {*model.WRITABLE},
            {*stored_rule.keep_restored_sensitive(rules, present)[0]},
        )

    def test_only_what_was_sensitive_can_be_opened(self):
        for before, after, opens in (
            (stored(True), stored(), True),
            (stored(True), stored(True), False),
            (stored(), stored(), False),
            (None, stored(), False),
        ):
            self.assertIs(opens, stored_rule.would_reveal(before, after))

    def test_a_rule_without_content_gets_that_of_the_stored_one(self):
        posted = {'uuid': 'u', 'sensitive': True, 'priority': 5}
        self.assertEqual(
            ({**posted, **CONTENT}, True),
            stored_rule.complete(posted, stored(True), False),
        )
        for before in (None, stored()):
            self.assertRaises(
                exceptions.InvalidRule,
                stored_rule.complete,
                posted,
                before,
                False,
            )
        plain = {'uuid': 'u'}
        self.assertEqual(
            (plain, False), stored_rule.complete(plain, stored(), False)
        )

    def test_one_with_content_keeps_it_and_who_restores_has_not_read_it(self):
        for restored in (True, False):
            posted = stored(True)
            self.assertEqual(
                (posted, restored),
                stored_rule.complete(posted, stored(True), restored),
            )

    def test_content_that_is_not_shown_is_no_default(self):
        shown = {'uuid': 'u', 'actions': [1], 'sensitive': False}
        self.assertEqual({}, stored_rule.with_defaults(shown)['vars'])
        shown = {'uuid': 'u', 'sensitive': True}
        self.assertIsNone(stored_rule.with_defaults(shown)['vars'])
        self.assertEqual(0, stored_rule.with_defaults(shown)['priority'])

    def test_a_patch_writes_content_whole_or_not_at_all(self):
        for op, *parts in (
            ('copy', 'vars'),
            ('test', 'actions'),
            ('move', 'conditions', '0'),
            ('replace', 'actions', '0'),
            ('test',),
        ):
            self.assertRaises(
                exceptions.Invalid,
                stored_rule.check_patch,
                stored(True),
                op,
                [parts],
            )
            stored_rule.check_patch(stored(), op, [parts])
        for op, *parts in (
            ('replace', 'actions'),
            ('remove', 'vars'),
            ('test', 'priority'),
            ('replace',),
        ):
            stored_rule.check_patch(stored(True), op, [parts])

    def test_a_patch_is_refused_by_the_names_of_all_content(self):
        error = self.assertRaises(
            exceptions.Invalid,
            stored_rule.check_patch,
            stored(True),
            'test',
            [('vars', 'a')],
        )
        for name in model.CONTENT:
            self.assertIn(name, str(error))


class ProblemsTestCase(base.TestCase):
    def test_a_refusal_is_without_content_and_cause(self):
        exc = exceptions.InvalidRule(
            [exceptions.Problem('/actions/0/args', 's3cret')]
        )
        exc.__cause__ = ValueError('s3cret')
        self.assertIs(exc, stored_rule.disclose_error(OPEN, exc))
        refused = stored_rule.disclose_error(SENSITIVE, exc)
        self.assertNotIn('s3cret', str(refused))
        self.assertIsNone(refused.__cause__)

    def test_operations_are_named_by_position_only(self):
        problems = [
            exceptions.Problem('/priority', 'must be an integer'),
            exceptions.Problem('/actions', 'at least one is required'),
            exceptions.Problem('/actions/1/args/s3cret', 's3cret is no path'),
            exceptions.Problem('/actions/1/op', 'unknown op "s3cret"'),
            exceptions.Problem('/conditions/0', 's3cret'),
            exceptions.Problem('/vars/s3cret', 'is not valid'),
        ]

        shown = stored_rule.without_content(problems)

        self.assertEqual(problems[:2], shown[:2])
        self.assertEqual(
            ['/actions/1', '/conditions/0', '/vars'],
            [problem.pointer for problem in shown[2:]],
        )
        self.assertNotIn('s3cret', str(shown))
