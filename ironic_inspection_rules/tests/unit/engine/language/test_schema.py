# SPDX-License-Identifier: Apache-2.0

"""The shape of rules, and what is said where it does not fit."""

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base

LOG = {'op': 'log', 'args': ['a']}


class ShapeTestCase(base.TestCase):
    def messages(self, **fields):
        return {
            each.pointer: each.sentence
            for each in validation.validate(
                {'actions': [LOG], **fields}, registry.installed()
            )
        }

    def test_text_that_yaml_read_as_something_else_needs_quotes(self):
        self.assertEqual(
            {
                '/description': 'must be a string of at most 255 characters, '
                'not false; put it in quotes if it is meant as text',
                '/scope': 'must be a string of at most 255 characters, '
                'not 750; put it in quotes if it is meant as text',
            },
            self.messages(description=False, scope=750),
        )

    def test_text_that_is_too_long_is_not_repeated(self):
        self.assertEqual(
            {'/scope': 'must be a string of at most 255 characters'},
            self.messages(scope='x' * 256),
        )

    def test_text_that_no_database_takes_is_told_once(self):
        for text in ('\0', 'a\ud800'):
            self.assertEqual(
                {
                    '/description': 'must not hold the characters NUL and '
                    'U+D800 to U+DFFF'
                },
                self.messages(description=text),
            )

    def test_each_field_says_what_it_should_be(self):
        self.assertEqual(
            {
                '/uuid': 'must be a UUID, not "x"',
                '/priority': 'must be an integer from 0 to 9999, not 10000',
                '/sensitive': 'must be true or false, not "perhaps"',
                '/phase': 'must be one of early, preprocess, main, not '
                '"manin"; did you mean "main"?',
                '/mode': 'must be one of enforce, audit, off, not true',
                '/conditions': 'must be a list',
                '/vars': 'the name "a b" must be made of letters, digits, "_" '
                'and "-"',
                '/prioriti': 'unknown field "prioriti"; did you mean '
                '"priority"?',
            },
            self.messages(
                uuid='x',
                priority=10000,
                sensitive='perhaps',
                phase='manin',
                mode=True,
                conditions={},
                vars={'a b': 1},
                prioriti=1,
            ),
        )

    def test_an_operation_says_what_it_should_be(self):
        self.assertEqual(
            {
                '/conditions/0/op': 'the name of an op is required',
                '/conditions/1': 'must be a mapping',
                '/conditions/2/conditions': 'at least one condition is '
                'required',
                '/conditions/3/conditions': 'must be a list',
                '/conditions/4/loop': 'a loop must be a list, a mapping or a '
                'replacement field, not 5',
                '/actions': 'at least one action is required',
            },
            self.messages(
                actions=None,
                conditions=[
                    {},
                    5,
                    {'op': 'any-of'},
                    {'op': 'any-of', 'conditions': 'x'},
                    {'op': 'is-none', 'args': {'value': 1}, 'loop': 5},
                ],
            ),
        )

    def test_a_list_has_no_item_before_its_first(self):
        for path, is_refused in (
            ('/l/-1', True),
            ('l/-1', True),
            ('l.-2', True),
            ('/l/-1/a', True),
            ('/l/-', False),
            ('/-1', False),
            ('/a/b.-1', False),
            ('/l/-1x', False),
        ):
            self.assertEqual(
                is_refused,
                bool(
                    self.messages(
                        actions=[
                            {
                                'op': 'set-plugin-data',
                                'args': {'path': path, 'value': 1},
                            }
                        ]
                    )
                ),
                path,
            )

    def test_a_huge_number_as_text_is_no_priority(self):
        self.assertEqual(
            ['/priority'],
            [
                each.pointer
                for each in (
                    validation.validate(
                        {'actions': [LOG], 'priority': '9' * 5000},
                        registry.installed(),
                        built_in=True,
                    )
                )
            ],
        )
